"""Working memory: one list per group, newest first, every change one atomic script."""

from collections.abc import Sequence
from uuid import UUID

import redis.asyncio as redis
import structlog
from redis.exceptions import ResponseError

from clearwell.ports import Clock, WorkingStore
from clearwell.records import WorkingCapacity, WorkingEntry
from clearwell.stores.valkey.client import is_wrong_type, script, translate_errors
from clearwell.stores.valkey.entries import HEAD_BYTES, encode, head, known_entries, read_element, to_ms
from clearwell.stores.valkey.pauses import ValkeyPauses

log = structlog.get_logger(__name__)
KEYS, SEEN = "wm:", "clearwell:seen"
REBUILDING = "rebuilding"
LARGE_BYTES = 200_000
"""Above this, the heads of a list are read first, so that only entries that are new to this process are transferred."""


class ValkeyWorkingStore(WorkingStore):
    """Working memory on Redis or Valkey."""

    def __init__(self, client: redis.Redis, clock: Clock, *, capacity: WorkingCapacity, content_bytes: int) -> None:
        self._client = client
        self._clock = clock
        self._capacity = capacity
        self._content_bytes = content_bytes
        self._damaged: set[str] = set()
        self._large: set[str] = set()
        self._pauses = ValkeyPauses(client)
        self._heads = client.register_script(script("heads"))
        self._push = client.register_script(script("push"))
        self._remove = client.register_script(script("remove"))
        self._cleanup = client.register_script(script("cleanup"))
        self._replace = client.register_script(script("replace"))

    async def push(self, entry: WorkingEntry) -> None:
        if entry.expires_at is None or entry.expires_at <= self._clock.now():
            return
        lives = to_ms(entry.expires_at) - to_ms(self._clock.now())
        element = encode(entry, max_bytes=self._content_bytes)
        with translate_errors(KEYS, entry.group_id):
            await self._push(
                keys=[KEYS + entry.group_id],
                args=[element, head(entry.id), self._capacity.size, lives, self._capacity.agent_size],
            )

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        with translate_errors():
            found = await self._read(group_id)
        now, entries = self._clock.now(), [entry for entry in found if entry is not None]
        self._note_damage(group_id, len(found) - len(entries))
        return [entry for entry in entries if entry.expires_at is not None and entry.expires_at > now]

    async def _read(self, group_id: str) -> list[WorkingEntry | None]:
        """Return the entries of the list, None for an unreadable element. A key of another type counts as one."""
        try:
            known = await self._read_known(group_id) if group_id in self._large else None
            return await self._read_all(group_id) if known is None else known
        except ResponseError as error:
            if not is_wrong_type(error):
                raise
            return [None]

    async def _read_all(self, group_id: str) -> list[WorkingEntry | None]:
        elements = await self._range(group_id, -1)
        (self._large.add if sum(map(len, elements)) > LARGE_BYTES else self._large.discard)(group_id)
        return [read_element(element) for element in elements]

    async def _read_known(self, group_id: str) -> list[WorkingEntry | None] | None:
        """Read the heads of a large list, and the elements up to the last one that this process has not read before.

        None if the list has changed between the two reads.
        """
        heads: list[bytes] = await self._heads(keys=[KEYS + group_id], args=[HEAD_BYTES])
        known = {head: known_entries[head] for head in heads if head in known_entries}
        unknown = [place for place, head in enumerate(heads) if head not in known]
        if unknown:
            known |= {one[:HEAD_BYTES]: read_element(one) for one in await self._range(group_id, unknown[-1])}
        return [known[head] for head in heads] if all(head in known for head in heads) else None

    async def _range(self, group_id: str, last: int) -> list[bytes]:
        found = await self._client.lrange(KEYS + group_id, 0, last)
        return [element for element in found if isinstance(element, bytes)]

    def is_damaged(self, group_id: str) -> bool:
        """Whether the last read of a group found unreadable elements."""
        return group_id in self._damaged

    def _note_damage(self, group_id: str, unreadable: int) -> None:
        if not unreadable:
            self._damaged.discard(group_id)
        elif group_id not in self._damaged:
            self._damaged.add(group_id)
            log.warning("unreadable elements in working memory", elements=unreadable)

    async def remove(self, group_id: str, entry_id: UUID) -> bool:
        with translate_errors(KEYS, group_id):
            return bool(await self._remove(keys=[KEYS + group_id], args=[head(entry_id)]))

    async def replace(self, group_id: str, entries: Sequence[WorkingEntry]) -> None:
        now = self._clock.now()
        live = [entry for entry in entries if entry.expires_at is not None and entry.expires_at > now]
        live = self._capacity.choose(live)
        lives = max((to_ms(entry.expires_at) - to_ms(now) for entry in live if entry.expires_at is not None), default=0)
        elements = [encode(entry, max_bytes=self._content_bytes) for entry in live]
        with translate_errors():
            await self._replace(keys=[KEYS + group_id], args=[lives, *elements])
        self._damaged.discard(group_id)

    async def find_loss(self) -> str | None:
        with translate_errors():
            run = str((await self._client.info("server"))["run_id"])
            if await self._client.get(SEEN) == run.encode():
                return None
            # A rebuild that is interrupted leaves this, and is repeated.
            await self._client.set(SEEN, REBUILDING)
        return run

    async def note_rebuilt(self, run: str) -> None:
        with translate_errors():
            # A server that was emptied meanwhile has lost the mark, too.
            await self._client.set(SEEN, run, xx=True)

    async def cleanup(self, group_id: str | None = None) -> int:
        now = to_ms(self._clock.now())
        with translate_errors():
            groups = [group_id] if group_id is not None else await self._list_groups()
            return sum([int(await self._cleanup(keys=[KEYS + group], args=[now])) for group in groups])

    async def _list_groups(self) -> list[str]:
        """The groups with a list, except those that are paused: they live by another clock."""
        groups = {str(key, "utf-8").removeprefix(KEYS) async for key in self._client.scan_iter(KEYS + "*")}
        return sorted(groups - await self._pauses.find_paused(groups))

    async def ping(self) -> None:
        with translate_errors():
            await self._client.ping()

    async def close(self) -> None:
        await self._client.aclose()
