"""The statements of outputs: segments with their places, and vectors of claims and decisions."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from clearwell.records import Capture, Statement
from clearwell.vocabulary import RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedOutput:
    """The segments of an output, the version of the segmenter, and the model of their vectors.

    The model is "" as long as vectors are missing, and the model in use for an output that needs none. ``segmenter`` is
    the language model that found the statements, or ``RULES``; it is to be asked from ``due_at`` on, if that is set.
    """

    log_id: UUID
    version: int
    model: str
    statements: Sequence[Statement]
    segmenter: str = RULES
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedOutput:
    """The ids of an output without segments or vectors, or with those of another segmenter or model.

    ``keeps_segments``: the configured language model found them, and only the vectors are of another model.
    """

    group_id: str
    log_id: UUID
    keeps_segments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DueOutput:
    """An output that a language model is to be asked about, and how often that failed."""

    group_id: str
    log_id: UUID
    attempts: int


class StatementStore(Protocol):
    """The statements of settled outputs, for the worker."""

    async def put(self, group_id: str, outputs: Sequence[SegmentedOutput]) -> None:
        """Store the statements of these outputs in one transaction. They replace earlier ones."""
        ...

    async def read(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Statement]]:
        """Return the statements of these outputs in their order. An output that was not segmented is left out."""
        ...

    async def find_outdated(
        self, *, version: int, model: str, limit: int, segmenter: str = RULES
    ) -> Sequence[OutdatedOutput]:
        """Return settled outputs of any group of an older version, or of this version with another model.

        Also those that another language model than ``segmenter`` segmented.
        """
        ...

    async def find_due(self, *, now: datetime, limit: int) -> Sequence[DueOutput]:
        """Return settled outputs of any group that a language model is to be asked about."""
        ...

    async def lease(self, group_id: str, log_id: UUID, *, now: datetime, until: datetime) -> bool:
        """Take an output that is due, so that nobody else asks about it until then. False if somebody else has it."""
        ...

    async def postpone(self, group_id: str, log_id: UUID, *, problem: str, due_at: datetime | None) -> None:
        """Record a failed attempt and the time of the next one; None if there is to be none."""
        ...

    async def find_admitted(self, group_id: str, log_ids: Sequence[UUID]) -> AbstractSet[UUID]:
        """Return those of the outputs that were admitted."""
        ...

    async def read_outputs(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[Capture]:
        """Return the settled outputs among these, to segment them."""
        ...
