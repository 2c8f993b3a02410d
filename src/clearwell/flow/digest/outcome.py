"""What is to be said of a digest that is done: what came of it, and what became of the rest."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.flow.digest.drafting import Drafts
from clearwell.flow.digest.material import DigestRows
from clearwell.flow.digest.summaries import Texts, problem_params
from clearwell.records import Digest, Json, Note
from clearwell.settings import Settings

AGENTS_NAMED = 5


class DigestOutcomes:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ended(self, digest: Digest, gathered: DigestRows, drafts: Drafts, texts: Texts) -> Digest:
        """The digest with the most important thing as its note, and what else is to be known after it."""
        note = self._note(digest, gathered, texts)
        more = self._more(gathered, drafts, texts)
        if note.code == "digest_done_few" and _capped(drafts):
            # There is material for more: that it is one agent's is said after it.
            note = replace(note, code="digest_done")
        told: list[Json] = [one.to_json() for one in more]
        params = {**note.params, "more": told} if told else note.params
        return replace(digest, note=note.code, note_params=params)

    def _note(self, digest: Digest, gathered: DigestRows, texts: Texts) -> Note:
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

    def _more(self, gathered: DigestRows, drafts: Drafts, texts: Texts) -> list[Note]:
        capped = [*_waiting(drafts), *_capped(drafts)]
        if texts.insights or not gathered.candidates:
            return capped
        return [*_why_none(gathered, drafts), *self._left(gathered), *capped]

    def _left(self, gathered: DigestRows) -> Sequence[Note]:
        """What is looked at again, and what was looked at for the last time."""
        looks = self._settings.digest_looks
        spent = sum(gathered.considered[log_id] + 1 >= looks for log_id in gathered.complete)
        stay = gathered.rows - spent
        told = [Note(code="digest_stay", params={"count": stay})] if stay else []
        return [*told, *([Note(code="digest_spent", params={"count": spent, "looks": looks})] if spent else [])]


def _why_none(gathered: DigestRows, drafts: Drafts) -> list[Note]:
    if drafts.drafts:
        return [Note(code="digest_why_refused")]
    return [] if gathered.without_vector else [Note(code="digest_why_alike")]


def _waiting(drafts: Drafts) -> list[Note]:
    """How many more are supported than shown."""
    count = drafts.report.get("waiting")
    return [Note(code="digest_waiting", params={"count": count})] if isinstance(count, int) and count else []


def _capped(drafts: Drafts) -> list[Note]:
    """Whose insights were left out so that others are heard."""
    found = drafts.report.get("capped")
    counts = {name: count for name, count in found.items() if isinstance(count, int)} if isinstance(found, dict) else {}
    if not counts:
        return []
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{name.removeprefix('agent ') or '–'} ({count})" for name, count in most[:AGENTS_NAMED])
    return [Note(code="digest_capped", params={"agents": named + (" …" if len(most) > AGENTS_NAMED else "")})]
