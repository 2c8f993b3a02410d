"""The ingress pipeline: runs the checks in the order of the settings, up to the first failure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.flow.ingress import checks
from clearwell.flow.ingress.candidates import Candidate, ComparedText, Known
from clearwell.flow.ingress.echo import OwnText, blank_fences, drop_fences
from clearwell.flow.ingress.known_texts import AdmissionEvidence, KnownTextReader
from clearwell.flow.ingress.segmentation import (
    WHOLE,
    average_vectors,
    make_statements,
    mark_quotations,
    read_embedded_texts,
)
from clearwell.offload import offload
from clearwell.ports import Embedder, StatementComparison, TombstoneLookup
from clearwell.records import Capture, Layer, Outcome, Sighting, Tombstone, Vector, Verdict, WorkingEntry
from clearwell.settings import Settings
from clearwell.text.flags import find_flags
from clearwell.text.normalisation import remove_disguise
from clearwell.text.segments import read_context, segment
from clearwell.vocabulary import Flag, IngressCheck


class IngressPipeline:
    """Runs the checks and changes nothing. Admission and the dry run share it."""

    def __init__(
        self,
        known_texts: KnownTextReader,
        comparison: StatementComparison,
        embedder: Embedder,
        settings: Settings,
        *,
        judged: bool,
    ) -> None:
        self._known_texts = known_texts
        self._comparison = comparison
        self._embedder = embedder
        self._settings = settings
        self._judged = judged

    async def check_text(self, capture: Capture) -> Candidate:
        """Run the checks that need nothing but the capture."""
        return await offload(len(capture.content), self._run_text_checks, capture)

    def _run_text_checks(self, capture: Capture) -> Candidate:
        unfenced = blank_fences(capture.content)
        candidate = Candidate(
            capture=capture,
            own=OwnText(capture.content),
            segments=segment(unfenced),
            flags=find_flags(drop_fences(capture.content), capture.metadata),
        )
        refusal = checks.check_node_type(capture, self._settings) or checks.check_emptied(capture, self._settings)
        if refusal is not None:
            return replace(candidate, verdicts=(refusal,))
        for name in self._settings.ingress_checks:
            if name in checks.TEXT_CHECKS and not candidate.failed:
                candidate = _add_verdict(candidate, checks.TEXT_CHECKS[name](candidate, self._settings))
        return candidate

    def refuse_forgotten(self, capture: Capture, tombstone: Tombstone) -> Candidate:
        """A capture that says a forgotten value, with the verdicts of that and nothing else.

        No other check is run: what another verdict says could quote the text, and no setting turns this one off.
        """
        verdict = checks.make_standing_verdict(tombstone)
        return Candidate(
            capture=capture,
            own=OwnText(capture.content),
            verdicts=checks.complete_verdicts([verdict], self._settings),
        )

    async def embed(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """With vectors of what the agents said themselves, statement by statement where there are several."""
        own = [await self._remove_fences(one) for one in candidates]
        read = [await offload(len(one.capture.content), _read_texts, one) for one in own]
        unique = list(dict.fromkeys(text for texts in read for text in texts.values()))
        vectors = dict(zip(unique, await self._embedder.embed(unique), strict=True))
        return [
            self._add_vectors(one, {number: vectors[text] for number, text in texts.items()}, texts)
            for one, texts in zip(own, read, strict=True)
        ]

    def _add_vectors(self, candidate: Candidate, vectors: Mapping[int, Vector], texts: Mapping[int, str]) -> Candidate:
        """The vector of a longer output is the mean of those of its statements."""
        statements = make_statements(candidate.capture.id, candidate.segments, vectors, self._embedder.model)
        whole = vectors[WHOLE] if WHOLE in vectors else average_vectors(statements)
        content = candidate.capture.content
        said = [
            ComparedText(text, vectors[number], read_context(content, candidate.segments[number]))
            for number, text in texts.items()
            if number != WHOLE
        ]
        compared = list(dict.fromkeys(said)) or [ComparedText(candidate.own.text, whole)]
        return replace(candidate, vector=whole, statements=statements, compared=compared)

    async def _remove_fences(self, candidate: Candidate) -> Candidate:
        """Return the candidate without the memories that its text quotes between fences.

        A fence whose content is not the memory that it names was made up, and stays in the text.
        """
        capture = candidate.capture
        own = await self._known_texts.remove_fences(
            capture.group_id, capture.id, capture.content, agent_id=capture.agent_id
        )
        flags = (*candidate.flags, Flag.CITES_MEMORY) if own.cited else candidate.flags
        plain = await offload(len(own.text), remove_disguise, own.text)
        segments = mark_quotations(candidate.segments, own)
        return replace(candidate, own=replace(own, text=plain), segments=segments, flags=flags)

    async def compare(
        self,
        candidate: Candidate,
        gathered: AdmissionEvidence,
        live: Sequence[WorkingEntry],
        tombstones: TombstoneLookup | None = None,
    ) -> Candidate:
        """The checks that need to know the group."""
        known = await self._known_texts.look_up(candidate, gathered, live, tombstones)
        return await offload(len(candidate.own.text) + known.size, self._run_group_checks, candidate, known)

    def _run_group_checks(self, candidate: Candidate, known: Known) -> Candidate:
        for name in self._settings.ingress_checks:
            if name in checks.GROUP_CHECKS and not candidate.failed:
                verdict = checks.GROUP_CHECKS[name](candidate, known, self._comparison, self._settings)
                candidate = _add_verdict(candidate, verdict)
        return candidate

    def awaits_judge(self, candidate: Candidate) -> bool:
        wanted = IngressCheck.SELF_CONSISTENCY in self._settings.ingress_checks and self._judged
        return wanted and not candidate.failed and candidate.judgement is None and candidate.given_up is None

    def conclude(self, candidate: Candidate) -> Candidate:
        """The last check, and a verdict for each that was not reached."""
        if not candidate.failed and IngressCheck.SELF_CONSISTENCY in self._settings.ingress_checks:
            verdict = candidate.given_up or checks.check_self_consistency(candidate.judgement, self._settings)
            candidate = _add_verdict(candidate, verdict)
        return replace(candidate, verdicts=checks.complete_verdicts(candidate.verdicts, self._settings))


def _read_texts(candidate: Candidate) -> dict[int, str]:
    """The texts to embed, by the numbers of the statements."""
    content = candidate.capture.content
    return read_embedded_texts(content, candidate.segments, candidate.own.text or content)


def _add_verdict(candidate: Candidate, verdict: Verdict) -> Candidate:
    """The candidate after one more verdict, with the flags and the sightings that follow from it."""
    flags, sightings = list(candidate.flags), candidate.sightings
    if verdict.check == IngressCheck.TOMBSTONE and verdict.outcome is Outcome.FLAG:
        flags.append(Flag.NEAR_REJECTED)
    if verdict.check == IngressCheck.NON_DUPLICATE and verdict.outcome is Outcome.FLAG:
        flags.append(Flag.CONFLICT)
    if verdict.check == IngressCheck.NON_DUPLICATE and verdict.outcome is Outcome.FAIL:
        sightings = _make_sightings(verdict)
    if verdict.reason == "verdict_no_judge":
        flags.append(Flag.SELF_CONSISTENCY_NOT_CHECKED)
    return replace(candidate, verdicts=(*candidate.verdicts, verdict), flags=tuple(flags), sightings=sightings)


def _make_sightings(verdict: Verdict) -> list[Sighting]:
    """What an output repeats: one entry or memory, or one for each of its statements."""
    others = verdict.params.get("others")
    named = others if isinstance(others, list) else [dict(verdict.params)]
    return [
        Sighting(entry_id=UUID(str(one["other"])), layer=Layer(str(one["layer"])))
        for one in named
        if isinstance(one, dict)
    ]
