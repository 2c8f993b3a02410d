"""Describe the outcome of a finished digest: its result, and what happens to the remaining rows."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.flow.digest.drafting import Drafts
from clearwell.flow.digest.material import DigestRows
from clearwell.flow.digest.summaries import Texts, problem_params
from clearwell.records import Digest, Json, Note
from clearwell.settings import Settings

AGENTS_NAMED = 5


class DigestOutcomes:
    """Adds to a finished digest the note that describes its outcome."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def finish(self, digest: Digest, gathered: DigestRows, drafts: Drafts, texts: Texts) -> Digest:
        """Return the digest with its outcome as the note, and further details in the parameters of the note."""
        note = self._choose_note(digest, gathered, texts)
        more = self._list_details(gathered, drafts, texts)
        if note.code == "digest_done_few" and _note_capped(drafts):
            # There is material for more insights. A detail says that it is from one agent.
            note = replace(note, code="digest_done")
        told: list[Json] = [one.to_json() for one in more]
        params = {**note.params, "more": told} if told else note.params
        return replace(digest, note=note.code, note_params=params)

    def _choose_note(self, digest: Digest, gathered: DigestRows, texts: Texts) -> Note:
        rows, insights = gathered.rows, len(texts.insights)
        params: dict[str, Json] = {"insights": insights, "rows": rows, "wanted": self._settings.digest_min_insights}
        if rows == 0 and gathered.unsettled:
            return Note(code="digest_nothing_settled", params={"waiting": gathered.unsettled})
        if gathered.empty:
            return Note(code="digest_no_rows", params={"group": digest.group_id})
        if rows == 0:
            return Note(code="digest_nothing_new")
        if insights == 0:
            return Note(code="digest_no_insight", params=params)
        if gathered.problem is not None:
            missing: dict[str, Json] = {"missing": gathered.without_vector, **problem_params(gathered.problem)}
            return Note(code="digest_done_partly", params=params | missing)
        if texts.problem is not None:
            quoted: dict[str, Json] = {"quoted": texts.quoted, **problem_params(texts.problem)}
            return Note(code="digest_done_quoted", params=params | quoted)
        few = insights < self._settings.digest_min_insights
        return Note(code="digest_done_few" if few else "digest_done", params=params)

    def _list_details(self, gathered: DigestRows, drafts: Drafts, texts: Texts) -> list[Note]:
        capped = [*_note_waiting(drafts), *_note_slight(drafts), *_note_capped(drafts)]
        if texts.insights or not gathered.candidates:
            return capped
        return [*_explain_none(gathered, drafts), *self._note_remaining(gathered), *capped]

    def _note_remaining(self, gathered: DigestRows) -> Sequence[Note]:
        """Return how many rows the next digest considers again, and how many no digest considers any more."""
        looks = self._settings.digest_looks
        spent = sum(gathered.considered[log_id] + 1 >= looks for log_id in gathered.complete)
        stay = gathered.rows - spent
        told = [Note(code="digest_stay", params={"count": stay})] if stay else []
        return [*told, *([Note(code="digest_spent", params={"count": spent, "looks": looks})] if spent else [])]


def _explain_none(gathered: DigestRows, drafts: Drafts) -> list[Note]:
    """Return why there are no insights, if the note does not say so."""
    if drafts.drafts:
        return [Note(code="digest_why_refused")]
    return [] if gathered.without_vector or _note_slight(drafts) else [Note(code="digest_why_alike")]


def _note_waiting(drafts: Drafts) -> list[Note]:
    """Return how many further clusters were good enough for an insight."""
    count = drafts.report.get("waiting")
    return [Note(code="digest_waiting", params={"count": count})] if isinstance(count, int) and count else []


def _note_slight(drafts: Drafts) -> list[Note]:
    """Return how many statements have enough support and say too little for an insight."""
    count = drafts.report.get("slight")
    return [Note(code="digest_slight", params={"count": count})] if isinstance(count, int) and count else []


def _note_capped(drafts: Drafts) -> list[Note]:
    """Return the agents whose insights were left out because of the limit per agent."""
    found = drafts.report.get("capped")
    counts = {name: count for name, count in found.items() if isinstance(count, int)} if isinstance(found, dict) else {}
    if not counts:
        return []
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{name.removeprefix('agent ') or '–'} ({count})" for name, count in most[:AGENTS_NAMED])
    return [Note(code="digest_capped", params={"agents": named + (" …" if len(most) > AGENTS_NAMED else "")})]
