"""Statements by the digest model: asked after admission about outputs that the rules have segmented.

The model quotes the claims and decisions. What does not stand in the output word for word is dropped; the rest replaces
the statements of the rules, whose other segments, headings and lead-ins stay.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import Final

import structlog

from clearwell.errors import WriterUnavailable
from clearwell.flow.ingress.echo import blank_fences
from clearwell.flow.ingress.segmentation import StatementMaker
from clearwell.ports import Clock, DueOutput, SegmentedOutput, Segmenter, StatementStore
from clearwell.records import Capture, FoundStatement, Segment, SegmentKind
from clearwell.text.segments import SEGMENTER_VERSION
from clearwell.text.sentences import strip_span

log = structlog.get_logger(__name__)

OUTPUTS_AT_ONCE: Final = 4
LEASE: Final = timedelta(minutes=10)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)
MAX_ATTEMPTS: Final = 10
"""With pauses that double up to an hour, about five hours."""
ABOUT_ONE_OUTPUT: Final = frozenset(
    {"writer_nonsense", "writer_cut", "writer_declined", "segmenter_not_verbatim", "segmenter_output_too_long"}
)
"""The model answered, and would answer the same again."""
SHORTEST: Final = 2


class StatementRefiner:
    """Asks the digest model for the statements of outputs that are due."""

    def __init__(
        self, statements: StatementStore, maker: StatementMaker, segmenter: Segmenter | None, clock: Clock
    ) -> None:
        self._statements = statements
        self._maker = maker
        self._segmenter = segmenter
        self._clock = clock

    async def refine_due(self) -> int:
        """Ask about all outputs that are due, a few at a time. Returns how many have statements of the model now.

        After an answer that says that the model does not work, the rest is left for the next time.
        """
        refined = 0
        while self._segmenter is not None:
            due = await self._statements.find_due(now=self._clock.now(), limit=OUTPUTS_AT_ONCE)
            problems = await asyncio.gather(*(self._refine(self._segmenter, one) for one in due))
            refined += problems.count(None)
            if not due or any(problem is not None and problem not in ABOUT_ONE_OUTPUT for problem in problems):
                break
        return refined

    async def _refine(self, segmenter: Segmenter, due: DueOutput) -> str | None:
        """Ask about one output. Returns the code of the problem; "" if somebody else has it."""
        now = self._clock.now()
        if not await self._statements.lease(due.group_id, due.log_id, now=now, until=now + LEASE):
            return ""
        captures = await self._statements.read_outputs(due.group_id, [due.log_id])
        if not captures:
            return ""
        try:
            await self._put(captures[0], await self._find_segments(segmenter, captures[0]), segmenter.model)
        except WriterUnavailable as error:
            await self._postpone(due, error.code)
            return error.code
        return None

    async def _find_segments(self, segmenter: Segmenter, capture: Capture) -> tuple[Segment, ...]:
        content = blank_fences(capture.content)
        if not segmenter.accepts(content):
            raise WriterUnavailable("segmenter_output_too_long", model=segmenter.model, count=len(content))
        found = await segmenter.find_statements(content)
        placed = place_quotations(content, found)
        if found and not placed:
            raise WriterUnavailable("segmenter_not_verbatim", model=segmenter.model, count=len(found))
        if len(placed) < len(found):
            log.info("statements dropped: not in the output", log_id=str(capture.id), count=len(found) - len(placed))
        segments = merge_segments(content, await self._maker.read_segments(capture), placed)
        return await self._maker.mark_quotations(capture, segments)

    async def _put(self, capture: Capture, segments: Sequence[Segment], segmenter: str) -> None:
        (statements,) = await self._maker.make([(capture, segments)])
        output = SegmentedOutput(
            log_id=capture.id,
            version=SEGMENTER_VERSION,
            model=self._maker.model,
            statements=statements,
            segmenter=segmenter,
        )
        await self._statements.put(capture.group_id, [output])

    async def _postpone(self, due: DueOutput, problem: str) -> None:
        last = problem in ABOUT_ONE_OUTPUT or due.attempts + 1 >= MAX_ATTEMPTS
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**due.attempts)
        log.warning("statements not found by the model", log_id=str(due.log_id), reason=problem, retried=not last)
        await self._statements.postpone(
            due.group_id, due.log_id, problem=problem, due_at=None if last else self._clock.now() + pause
        )


def place_quotations(content: str, found: Sequence[FoundStatement]) -> list[Segment]:
    """The quotations that stand in the output, in its order; none overlaps another.

    White space may differ, since a model joins the lines of a sentence.
    """
    placed: list[Segment] = []
    cursor = 0
    for one in found:
        words = [re.escape(word) for word in one.text.split()]
        if sum(map(len, words)) < SHORTEST:
            continue
        pattern = re.compile(r"\s+".join(words))
        for match in chain(pattern.finditer(content, cursor), pattern.finditer(content)):
            if not any(other.start < match.end() and match.start() < other.end for other in placed):
                placed.append(Segment(start=match.start(), end=match.end(), kind=one.kind))
                cursor = match.end()
                break
    return sorted(placed, key=lambda segment: segment.start)


def merge_segments(content: str, segments: Sequence[Segment], placed: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments of the rules with the statements of the model in their places.

    A statement has the headings and the lead-in of the segment in which it begins. What is left of segments keeps its
    kind, and a statement that the model does not make is a fragment.
    """
    rest = [part for segment in segments for part in _remove(content, segment, placed)]
    stated = [replace(_find_context(one, segments), start=one.start, end=one.end, kind=one.kind) for one in placed]
    return tuple(sorted((*rest, *stated), key=lambda segment: segment.start))


def _find_context(statement: Segment, segments: Sequence[Segment]) -> Segment:
    return next((segment for segment in segments if statement.start < segment.end), statement)


def _remove(content: str, segment: Segment, placed: Sequence[Segment]) -> Iterator[Segment]:
    """What is left of a segment without the statements that are placed in it."""
    rest = replace(segment, kind=SegmentKind.FRAGMENT) if segment.is_statement else segment
    cursor = segment.start
    for one in placed:
        if one.end > segment.start and one.start < segment.end:
            yield from _cut(content, rest, cursor, one.start)
            cursor = one.end
    yield from _cut(content, rest, cursor, segment.end)


def _cut(content: str, segment: Segment, start: int, end: int) -> Iterator[Segment]:
    """A part of a segment, unless nothing but marks is in it."""
    for first, last in strip_span(content, start, max(start, end)):
        if any(char.isalnum() for char in content[first:last]):
            yield replace(segment, start=first, end=last)
