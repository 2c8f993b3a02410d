"""Stored answers by Idempotency-Key, so that a repeated request is answered without being done again."""

from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from clearwell.errors import IdempotencyMismatch, RequestInProgress
from clearwell.ports import FAR_AHEAD, Claim, Clock, IdempotencyStore, Ids
from clearwell.records import IdempotencyKey, Json
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.queries import query

LEASE = timedelta(minutes=2)
"""After this time a request that has not ended counts as dead, and its key can be claimed again."""


class PostgresIdempotency(IdempotencyStore):
    def __init__(self, database: Database, clock: Clock, ids: Ids, *, keep: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._keep = keep

    async def claim(self, request: IdempotencyKey) -> Claim | Json:
        now, token = self._clock.now(), self._ids.new()
        params = {
            **claim_params(request),
            "request_hash": request.request_hash,
            "token": token,
            "now": now,
            "lease_until": now + LEASE,
            "ahead": now + FAR_AHEAD,
            "expires_at": now + self._keep,
        }
        if await self._database.run(Role.REVIEWER, None, query("claim"), params):
            return Claim(request=request, token=token)
        return await self._earlier_answer(request)

    async def _earlier_answer(self, request: IdempotencyKey) -> Json:
        rows = await self._database.run(Role.REVIEWER, None, query("claimed"), claim_params(request))
        if rows and bytes(rows[0]["request_hash"]) != request.request_hash:
            raise IdempotencyMismatch("idempotency_mismatch", field="Idempotency-Key", key=request.key)
        if not rows or rows[0]["status"] == "running":
            raise RequestInProgress("idempotency_running", key=request.key)
        answer: Json = rows[0]["answer"]
        return answer

    async def complete(self, claim: Claim, answer: Json) -> None:
        params = {**claim_params(claim.request), "token": claim.token, "answer": Jsonb(answer)}
        rows = await self._database.run(Role.REVIEWER, None, query("complete_claim"), params)
        if not rows[0]["rowcount"]:
            raise RequestInProgress("idempotency_running", key=claim.request.key)

    async def release(self, claim: Claim) -> None:
        params = {**claim_params(claim.request), "token": claim.token}
        await self._database.run(Role.REVIEWER, None, query("release_claim"), params)

    async def expire(self) -> int:
        """Delete expired answers and return how many there were."""
        rows = await self._database.run(Role.WORKER, None, query("expire_claims"), {"now": self._clock.now()})
        return int(rows[0]["rowcount"])


def claim_params(request: IdempotencyKey) -> dict[str, Any]:
    return {"principal": request.principal, "route": request.route, "key": request.key}
