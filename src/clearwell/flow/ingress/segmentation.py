"""The statements of outputs: made at admission, and made again by the worker when the segmenter or the model changes.

An output is segmented as it was captured, so that the places of its statements hold for the stored text. What stands
between fences and is the memory that the fence names is a quotation, not a statement of the output.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

import numpy as np
import structlog

from clearwell.errors import Unavailable
from clearwell.flow.ingress.echo import OwnText, blank_fences
from clearwell.flow.ingress.known_texts import KnownTextReader
from clearwell.flow.ingress.policies import policy_of
from clearwell.offload import offload
from clearwell.ports import Clock, Embedder, OutdatedOutput, SegmentedOutput, StatementStore
from clearwell.records import Capture, EntryStatement, Segment, SegmentKind, Statement, Vector
from clearwell.settings import Settings
from clearwell.text.normalisation import remove_disguise
from clearwell.text.segments import SEGMENTER_VERSION, bare_text, segment
from clearwell.vocabulary import RULES

log = structlog.get_logger(__name__)

MAX_VECTORS: Final = 40
"""How many statements of an output get vectors: the first ones. Of 1,738 outputs of real agents and of council meetings
none has more than 28; English reports have about 25 in 3,000 characters."""
SHORT: Final = 3
"""An output of at most this many statements also has a vector of the whole text, which finds more than the mean of
theirs (`python -m bench hot`). For a longer one it would cost as much as all of them."""
WHOLE: Final = -1
"""Stands for the whole text among the numbers of statements."""
OUTPUTS_AT_ONCE: Final = 50
ABOUT_ONE_TEXT: Final = frozenset({"embedder_refused", "embedder_failed", "embedder_answer_numbers"})
"""Errors of the embedder that may be about one text of a batch, while it embeds the others."""
ASKED_ANEW: Final = timedelta(days=7)
"""The model is asked about older outputs once only: when the segmenter changes, the rules segment them."""
PROBE: Final = "Is the embedder available?"


def segment_output(content: str) -> tuple[Segment, ...]:
    """The segments of an output. The marks of fences belong to none of them."""
    return segment(blank_fences(content))


def mark_quotations(segments: Sequence[Segment], own: OwnText) -> tuple[Segment, ...]:
    """The segments, where those that quote a memory between its fences are page text."""
    starts, ends = [start for start, _ in own.quoted], [0, *(end for _, end in own.quoted)]
    return tuple(
        replace(one, kind=SegmentKind.PAGE) if ends[bisect_left(starts, one.end)] > one.start else one
        for one in segments
    )


def read_statements(content: str, segments: Sequence[Segment]) -> dict[int, str]:
    """The texts of the claims and decisions that get vectors, by the number of their segment."""
    numbered = ((number, one) for number, one in enumerate(segments) if one.is_statement)
    return {number: remove_disguise(bare_text(content, one)) for number, one in islice(numbered, MAX_VECTORS)}


def read_compared_texts(content: str, segments: Sequence[Segment], whole: str) -> dict[int, str]:
    """The texts that an output is compared by: its statements or, if it has none, the ``whole`` text."""
    return read_statements(content, segments) or {WHOLE: whole}


def read_embedded_texts(content: str, segments: Sequence[Segment], whole: str) -> dict[int, str]:
    """The texts of an output that get vectors: its statements and, if it is short, the ``whole`` text."""
    texts = read_statements(content, segments)
    return {**texts, WHOLE: whole} if len(texts) <= SHORT else texts


def make_statements(
    log_id: UUID, segments: Sequence[Segment], vectors: Mapping[int, Vector], model: str
) -> tuple[Statement, ...]:
    return tuple(
        Statement(
            log_id=log_id,
            number=number,
            segment=one,
            embedding=vectors.get(number),
            embedding_model=model if number in vectors else None,
        )
        for number, one in enumerate(segments)
    )


def average_vectors(statements: Sequence[Statement]) -> Vector | None:
    """The mean of the vectors of statements, as a unit vector; None where there are none."""
    vectors = [one.embedding for one in statements if one.embedding is not None]
    if not vectors:
        return None
    mean: Vector = np.mean(vectors, axis=0, dtype=np.float32)
    length = float(np.linalg.norm(mean))
    return mean / length if length else vectors[0]


def place_statements(content: str, shown: str, statements: Sequence[Statement]) -> tuple[EntryStatement, ...]:
    """The statements with vectors in an entry. ``shown`` is its text, which has marks in the place of quotations."""
    placed: list[EntryStatement] = []
    cursor = 0
    for one in statements:
        text = content[one.segment.start : one.segment.end]
        start = one.segment.start if shown == content else shown.find(text, cursor)
        if one.embedding is not None and start >= 0:
            cursor = start + len(text)
            placed.append(EntryStatement(start=start, end=cursor, embedding=one.embedding))
    return tuple(placed)


def awaits_model(node_type: str, settings: Settings) -> bool:
    """Whether the digest model is to find the statements of admitted outputs of this node type."""
    configured = settings.digest_llm_base_url is not None and settings.digest_llm_finds_statements
    return configured and policy_of(node_type, settings).digest


class StatementMaker:
    """Makes the statements of outputs from their segments, with vectors."""

    def __init__(self, known_texts: KnownTextReader, embedder: Embedder, settings: Settings) -> None:
        self._known_texts = known_texts
        self._embedder = embedder
        self._settings = settings

    @property
    def model(self) -> str:
        """The model of the vectors."""
        return self._embedder.model

    async def read_segments(self, capture: Capture) -> tuple[Segment, ...]:
        """The segments of an output by the rules."""
        segments = await offload(len(capture.content), segment_output, capture.content)
        return await self.mark_quotations(capture, segments)

    async def mark_quotations(self, capture: Capture, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        own = await self._known_texts.remove_fences(
            capture.group_id, capture.id, capture.content, agent_id=capture.agent_id
        )
        return mark_quotations(segments, own)

    async def make(self, outputs: Sequence[tuple[Capture, Sequence[Segment]]]) -> list[tuple[Statement, ...]]:
        """The statements of each output. A text that the embedder refuses does not hold up the others."""
        try:
            return await self._make(outputs)
        except Unavailable as error:
            if error.code not in ABOUT_ONE_TEXT:
                raise
            if len(outputs) > 1:
                return [statements for one in outputs for statements in await self.make([one])]
            # Raises where the embedder refuses every text.
            await self._embedder.embed([PROBE])
            log.warning("statements stored without vectors", log_id=str(outputs[0][0].id), reason=error.code)
            return await self._make(outputs, embed=False)

    async def _make(
        self, outputs: Sequence[tuple[Capture, Sequence[Segment]]], *, embed: bool = True
    ) -> list[tuple[Statement, ...]]:
        texts = {
            (capture.id, number): text
            for capture, segments in outputs
            if embed and self._needs_vectors(capture)
            for number, text in read_statements(capture.content, segments).items()
        }
        vectors = dict(zip(texts, await self._embedder.embed(list(texts.values())), strict=True))
        return [
            make_statements(
                capture.id,
                segments,
                {number: vectors[of, number] for of, number in vectors if of == capture.id},
                self._embedder.model,
            )
            for capture, segments in outputs
        ]

    def _needs_vectors(self, capture: Capture) -> bool:
        """Whether the digest or working memory considers outputs of this node type."""
        policy = policy_of(capture.node_type, self._settings)
        return policy.admit or policy.digest


class StatementUpdater:
    """Makes the statements of settled outputs that have none, or those of another segmenter or model."""

    def __init__(
        self, statements: StatementStore, maker: StatementMaker, segmenter: str, clock: Clock, settings: Settings
    ) -> None:
        self._statements = statements
        self._maker = maker
        self._segmenter = segmenter
        self._clock = clock
        self._settings = settings

    async def update_outdated(self) -> int:
        """Update some outputs; returns how many there were."""
        outdated = await self._statements.find_outdated(
            version=SEGMENTER_VERSION, model=self._maker.model, segmenter=self._segmenter, limit=OUTPUTS_AT_ONCE
        )
        by_group: dict[str, list[OutdatedOutput]] = {}
        for one in outdated:
            by_group.setdefault(one.group_id, []).append(one)
        for group_id, outputs in by_group.items():
            await self._update(group_id, outputs)
        return len(outdated)

    async def _update(self, group_id: str, outputs: Sequence[OutdatedOutput]) -> None:
        captures = await self._statements.read_outputs(group_id, [one.log_id for one in outputs])
        kept = await self._statements.read(group_id, [one.log_id for one in outputs if one.keeps_segments])
        admitted = await self._statements.find_admitted(group_id, [one.log_id for one in outputs])
        segments = [
            tuple(statement.segment for statement in kept[capture.id])
            if capture.id in kept
            else await self._maker.read_segments(capture)
            for capture in captures
        ]
        made = await self._maker.make(list(zip(captures, segments, strict=True)))
        await self._statements.put(
            group_id,
            [
                SegmentedOutput(
                    log_id=capture.id,
                    version=SEGMENTER_VERSION,
                    model=self._maker.model,
                    statements=statements,
                    segmenter=self._segmenter if capture.id in kept else RULES,
                    due_at=self._find_due(capture) if capture.id in admitted - kept.keys() else None,
                )
                for capture, statements in zip(captures, made, strict=True)
            ],
        )

    def _find_due(self, capture: Capture) -> datetime | None:
        """When the model is to be asked about an output that was segmented again."""
        now = self._clock.now()
        recent = capture.created_at >= now - ASKED_ANEW
        return now if recent and awaits_model(capture.node_type, self._settings) else None
