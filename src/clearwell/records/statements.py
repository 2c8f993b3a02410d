"""Segments of outputs, and the statements among them."""

from dataclasses import dataclass, field
from uuid import UUID

from clearwell.records.values import Vector
from clearwell.vocabulary import STATEMENT_KINDS, SegmentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A piece of an output: ``content[start:end]``, with the headings and the lead-in above it.

    A list item or a table row often cannot be understood without them. The lead-in of a table row is the table header.
    """

    start: int
    end: int
    kind: SegmentKind
    headings: tuple[str, ...] = ()
    lead_in: str = ""

    @property
    def is_statement(self) -> bool:
        """Whether the segment is a claim or a decision."""
        return self.kind in STATEMENT_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A stored segment. Claims and decisions have the vector of their bare text, without headings or lead-in.

    ``number`` counts the segments of the output from 0.
    """

    log_id: UUID
    number: int
    segment: Segment
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    embedding_model: str | None = None


@dataclass(frozen=True, slots=True)
class FoundStatement:
    """A claim or decision as a language model quotes it from an output."""

    text: str
    kind: SegmentKind
