"""The statements of outputs: segments with their places, and vectors of claims and decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from clearwell.records import Capture, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedOutput:
    """The segments of an output, the version of the segmenter, and the model of their vectors.

    The model is "" as long as vectors are missing, and the model in use for an output that needs none.
    """

    log_id: UUID
    version: int
    model: str
    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedOutput:
    """The ids of an output without segments or vectors, or with those of another segmenter or model."""

    group_id: str
    log_id: UUID


class StatementStore(Protocol):
    """The statements of settled outputs, for the worker."""

    async def put(self, group_id: str, outputs: Sequence[SegmentedOutput]) -> None:
        """Store the statements of these outputs in one transaction. They replace earlier ones."""
        ...

    async def read(self, group_id: str, log_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Statement]]:
        """Return the statements of these outputs in their order. An output that was not segmented is left out."""
        ...

    async def find_outdated(self, *, version: int, model: str, limit: int) -> Sequence[OutdatedOutput]:
        """Return settled outputs of any group of an older version, or of this version with another model."""
        ...

    async def read_outputs(self, group_id: str, log_ids: Sequence[UUID]) -> Sequence[Capture]:
        """Return the settled outputs among these, to segment them."""
        ...
