"""Rejection of values: a tombstone has the hash by which its value is refused, and the vector by which similar text is
flagged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.ports import DecisionTransaction, Embedder, Ids
from clearwell.records import Principal, Tombstone, TombstoneKind, Vector

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedValue:
    """A value that a person rejects, normalised, and the text that says it. The text may have a vector already."""

    value: str
    text: str
    vector: Vector | None = field(default=None, compare=False, repr=False)
    vector_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTombstone:
    """What a tombstone stores of its value: the hash, and the vector with its model, or neither of these two."""

    value_hash: bytes
    vector: Vector | None = field(compare=False, repr=False)
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTombstone:
    """The tombstone that is in force for a value. It is not new if the value was rejected or forgotten before."""

    id: UUID
    is_new: bool


class ValueRejection:
    """Rejects values at a person's request: hashes and embeds them, then adds their tombstones in a transaction."""

    def __init__(self, hasher: ValueHasher, embedder: Embedder, ids: Ids) -> None:
        self._hasher = hasher
        self._embedder = embedder
        self._ids = ids

    async def prepare(self, group_id: str, values: Sequence[RejectedValue]) -> list[PreparedTombstone]:
        """Hash and embed values. If the model does not answer, they are refused, but similar text is not flagged.

        This reads the database and asks the model, so it must not be awaited inside a transaction.
        """
        vectors = await self._embed(values)
        return [
            PreparedTombstone(
                value_hash=await self._hasher.hash_value(group_id, one.value),
                vector=vector,
                model=None if vector is None else self._embedder.model,
            )
            for one, vector in zip(values, vectors, strict=True)
        ]

    async def apply(
        self,
        transaction: DecisionTransaction,
        group_id: str,
        prepared: PreparedTombstone,
        *,
        reason: str,
        by: Principal,
        at: datetime,
    ) -> StandingTombstone:
        """Add the tombstone of a value, unless one is in force."""
        tombstone = Tombstone(
            id=self._ids.new(),
            group_id=group_id,
            kind=TombstoneKind.REJECTED,
            reason=reason,
            made_by=by.name,
            made_at=at,
        )
        value_hash, vector, model = prepared.value_hash, prepared.vector, prepared.model
        while not await transaction.insert_tombstone(tombstone, value_hash, embedding=vector, model=model):
            # The tombstone that prevented the insert may have been lifted in the meantime. Then insert again.
            if in_force := (await transaction.find_tombstones([value_hash])).get(value_hash):
                return StandingTombstone(id=in_force.id, is_new=False)
        return StandingTombstone(id=tombstone.id, is_new=True)

    async def _embed(self, values: Sequence[RejectedValue]) -> list[Vector | None]:
        """A vector of the present model for each value, or None where the model does not answer."""
        vectors = [one.vector if one.vector_model == self._embedder.model else None for one in values]
        missing = list(dict.fromkeys(one.text for one, vector in zip(values, vectors, strict=True) if vector is None))
        if not missing:
            return vectors
        try:
            embedded = dict(zip(missing, await self._embedder.embed(missing), strict=True))
        except EmbedderUnavailable as error:
            log.warning("values rejected without vectors", values=len(missing), reason=error.code)
            return vectors
        return [embedded[one.text] if vector is None else vector for one, vector in zip(values, vectors, strict=True)]
