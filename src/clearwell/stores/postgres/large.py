"""Search in groups that are too large to compare every row: which they are, and what is asked there instead."""

import asyncio
import time
from typing import Any, Final

import structlog

from clearwell.errors import Unavailable
from clearwell.ports import SearchQuery
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.exchange import Statement
from clearwell.stores.postgres.queries import query

NEAR: Final = 400
"""So many chunks are taken from the index of vectors, which looks at as many at least."""
TELLING: Final = 2000
"""Words of the query are looked up, rarest first, as long as so few chunks have them; the rarest one in any case."""
LOOK_EVERY: Final = 15.0

log = structlog.get_logger(__name__)


class LargeGroups:
    """The groups that have indexes of their own. A search asks this and not the database: small groups pay nothing.

    What is known may be old for a moment. Either way of searching finds the same, in another time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dimensions: dict[tuple[str, str], int] = {}
        self._looked_at: float | None = None
        self._looking: asyncio.Task[None] | None = None

    def dimensions_for(self, wanted: SearchQuery, limit: int) -> int | None:
        """The length of the indexed vectors, where this search can be made by an index.

        Conditions leave few rows to compare, and words without a vector have an order of their own: both are searched
        exactly.
        """
        if self._looked_at is None or time.monotonic() - self._looked_at > LOOK_EVERY:
            self._look_soon()
        if wanted.embedding is None or not wanted.where.everything or limit >= NEAR:
            return None
        return self._dimensions.get((wanted.group_id, wanted.model))

    @property
    def known(self) -> frozenset[tuple[str, str]]:
        """The groups, each with the model of its index."""
        return frozenset(self._dimensions)

    async def look(self) -> None:
        """Learn which groups have indexes now."""
        self._looked_at = time.monotonic()
        rows = await self._database.run(Role.WORKER, None, query("groups_with_indexes"))
        self._dimensions = {(row["group_id"], row["model"]): row["dimensions"] for row in rows}

    async def close(self) -> None:
        if self._looking is not None:
            await asyncio.wait([self._looking])

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._looked(), name="large groups")

    async def _looked(self) -> None:
        try:
            await self.look()
        except Unavailable as error:
            log.warning("large groups not looked for", reason=error.code)


def search_by_index(name: str, params: dict[str, Any], dimensions: int) -> list[Statement]:
    """The statement by that name with what it needs beside the parameters of the exact search, and how to plan it."""
    more = {"size": dimensions, "near": NEAR, "telling": TELLING}
    return [(query("plan_by_index"), {"effort": str(NEAR)}), (query(name), params | more)]
