"""The memories that retrieval returned to each agent in the last day: one sorted set per group, by time."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from clearwell.ports import Clock, Recall, Recalls, RecallStore
from clearwell.stores.valkey.client import ScriptCall, TimedClient, script, translate_errors
from clearwell.stores.valkey.entries import from_ms, to_ms

KEYS = "recalled:"
MOST = 500
ANYBODY = ""


class ValkeyRecalls(RecallStore):
    def __init__(self, client: TimedClient, clock: Clock, *, remember: timedelta) -> None:
        self._client = client
        self._clock = clock
        self._remember = remember
        self._remember_ms = remember // timedelta(milliseconds=1)
        self._record = client.register_script(script("note"))

    async def record(self, recalls: Recalls) -> None:
        now = to_ms(self._clock.now())
        calls: list[ScriptCall] = [
            (KEYS + group_id, [now, MOST, self._remember_ms, *(f"{one} {agent_id or ANYBODY}" for one in ids)])
            for (group_id, agent_id), ids in recalls.items()
            if ids
        ]
        if calls:
            with translate_errors():
                await self._client.run_on_keys(self._record, calls)

    async def count(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> int:
        return len(await self._find_members(group_id, ids, agents))

    async def forget(self, group_id: str, ids: Sequence[UUID], *, agents: Sequence[str]) -> None:
        gone = await self._find_members(group_id, ids, agents)
        if gone:
            with translate_errors():
                await self._client.zrem(KEYS + group_id, *gone)

    async def _find_members(self, group_id: str, ids: Sequence[UUID], agents: Sequence[str]) -> list[bytes]:
        named, recalled = set(agents), {str(one) for one in ids}
        with translate_errors():
            members = await self._client.zrange(KEYS + group_id, 0, -1)
        return [one for one in members if isinstance(one, bytes) and _is_of(str(one, "utf-8"), recalled, named)]

    async def find_recalled(self, group_id: str, *, agent_id: str | None) -> frozenset[UUID]:
        since = to_ms(self._clock.now() - self._remember)
        with translate_errors():
            members = await self._client.zrangebyscore(KEYS + group_id, f"({since}", "+inf")
        found = (str(member, "utf-8").partition(" ") for member in members if isinstance(member, bytes))
        return frozenset(UUID(one) for one, _, given_to in found if given_to in (ANYBODY, agent_id or ANYBODY))

    async def find_recalled_since(self, moment: datetime) -> Mapping[str, Sequence[Recall]]:
        found: dict[str, Sequence[Recall]] = {}
        with translate_errors():
            async for key in self._client.scan_iter(KEYS + "*"):
                answer = await self._client.zrangebyscore(key, f"({to_ms(moment)}", "+inf", withscores=True)
                if members := cast(list[tuple[bytes, float]], answer):
                    found[str(key, "utf-8").removeprefix(KEYS)] = [_recall_of(*member) for member in members]
        return found


def _recall_of(member: bytes, ms: float) -> Recall:
    return Recall(UUID(str(member, "utf-8").partition(" ")[0]), from_ms(int(ms)))


def _is_of(member: str, ids: AbstractSet[str], agents: AbstractSet[str]) -> bool:
    recalled, _, agent_id = member.partition(" ")
    return recalled in ids or agent_id in agents
