"""``ClearwellStore``: memory as a store of LangGraph.

A store is for programs that put and search by themselves. What they put is an output like any other: it is captured
into quarantine, and can be searched in working memory once the ingress pipeline has admitted it. Long-term memory is
read-only, because only people promote.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, cast
from uuid import UUID

import structlog
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from clearwell.adapters.chat.runs import read_node_name, read_session_id
from clearwell.adapters.langgraph.namespaces import Place, Tier, list_namespaces, read_namespace, read_prefix
from clearwell.adapters.langgraph.store_values import (
    drop_score,
    make_capture,
    make_item,
    make_verified_item,
    read_filter,
)
from clearwell.errors import ClearwellError, InvalidInput, NotAllowed, NotFound
from clearwell.flow.retrieval.options import MAX_RESULTS, RetrieveOptions
from clearwell.middleware.bridge import LoopBridge
from clearwell.records import Admission, CaptureReceipt, Group, NewCapture, Outcome, Retrieval, VerifiedMemory
from clearwell.sync.client import Client
from clearwell.sync.face import find_counterpart, find_loop_thread
from clearwell.sync.memory import SyncMemoryManager

log = structlog.get_logger(__name__)
RunIds: TypeAlias = tuple[str | None, str | None]
"""The session and the agent that put something."""


class StoreMemory(Protocol):
    """The memory of a store: ``MemoryManager`` of the library, or a client of a server."""

    async def capture_many(
        self, news: Sequence[NewCapture], *, wait: bool = False
    ) -> Sequence[CaptureReceipt | ClearwellError]:
        """Capture many outputs; a receipt or an error in the place of each."""
        ...

    async def retrieve(self, query: str, *, group: str, options: RetrieveOptions | None = None) -> Retrieval:
        """Search working and long-term memory together."""
        ...

    async def memory(self, memory_id: UUID, *, group: str) -> VerifiedMemory:
        """One verified memory of the group, whole. Raises NotFound."""
        ...

    async def remove_working_entry(self, entry_id: UUID, *, group: str) -> None:
        """Remove one entry from working memory."""
        ...

    async def groups(self) -> Sequence[Group]:
        """The groups that the caller covers."""
        ...


class ClearwellStore(BaseStore):
    """A store with two namespaces for each group: ``(group, "verified")`` is read-only, ``(group, "working")`` is not.

    ``put`` captures the value: its ``content`` (or ``text``, ``memory``, ``data``) is the output, other fields are its
    metadata. With ``wait`` it returns when the output is admitted or refused. A refused output stays in quarantine,
    where a person can see it, and cannot be read from the store. ``search`` retrieves; values have ``tier`` and
    ``verified``. ``delete`` removes an entry of working memory, if the caller may review. Entries of working memory
    expire after a day.
    """

    def __init__(self, memory: StoreMemory | SyncMemoryManager | Client, *, wait: bool = True) -> None:
        self._memory = cast(StoreMemory, find_counterpart(memory))
        self._wait = wait
        self._bridge = LoopBridge(find_loop_thread(memory))
        self._groups: set[str] = set()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Reads see what was there before the writes of the batch."""
        return self._bridge.call_sync(self._run, list(ops), _read_run_ids())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Reads see what was there before the writes of the batch."""
        return await self._bridge.call(self._run, list(ops), _read_run_ids())

    async def _run(self, ops: Sequence[Op], run_ids: RunIds) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for namespace, _ in puts:
            self._require_writable(namespace)
        results = [await self._read(op) for op in ops]
        await self._write(list(puts.values()), run_ids)
        return results

    async def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return await self._get(read_namespace(op.namespace), op.key)
            case SearchOp():
                return list(await self._search(read_prefix(op.namespace_prefix), op))
            case ListNamespacesOp():
                return list_namespaces(await self._list_groups(), op)
        return None

    async def _get(self, place: Place, key: str) -> Item | None:
        """Find an entry of working memory by the key that it was put with, else by its id; a memory by its id."""
        if place.tier is Tier.VERIFIED:
            return await self._get_verified(place.group, key)
        found = await self._find_entry(place, key)
        return None if found is None else drop_score(found)

    async def _get_verified(self, group: str, key: str) -> Item | None:
        self._groups.add(group)
        if not _is_id(key):
            raise InvalidInput("store_verified_by_key", field="key", group=group)
        try:
            return make_verified_item(await self._memory.memory(UUID(key), group=group))
        except NotFound:
            return None

    async def _find_entry(self, place: Place, key: str) -> SearchItem | None:
        self._groups.add(place.group)
        named = RetrieveOptions(
            recent=1, sources=place.sources, max_chars=0, filters=[{"key": ["store_key"], "op": "eq", "value": key}]
        )
        newest = RetrieveOptions(recent=MAX_RESULTS, max_results=MAX_RESULTS, sources=place.sources, max_chars=0)
        for options in (named, newest) if _is_id(key) else (named,):
            found = await self._memory.retrieve("", group=place.group, options=options)
            for item in found.items:
                if options is named or str(item.id) == key:
                    return make_item(item, scored=False)
        return None

    async def _search(self, place: Place, op: SearchOp) -> list[SearchItem]:
        self._groups.add(place.group)
        query = (op.query or "").strip()
        if not query and place.tier is Tier.VERIFIED:
            raise InvalidInput("store_verified_no_query", field="query", group=place.group)
        most = min(MAX_RESULTS, op.offset + op.limit)
        if most <= op.offset:
            return []
        options = RetrieveOptions(
            max_results=most,
            hot_limit=most,
            cold_limit=most if query else 0,
            recent=None if query else most,
            sources=place.sources,
            filters=read_filter(op.filter),
            max_chars=0,
        )
        found = await self._memory.retrieve(query, group=place.group, options=options)
        return [make_item(item, scored=bool(query)) for item in found.items[op.offset : most]]

    async def _list_groups(self) -> set[str]:
        """The groups that have a profile, and those that this store has used."""
        return self._groups | {group.group_id for group in await self._memory.groups()}

    def _require_writable(self, namespace: tuple[str, ...]) -> None:
        place = read_namespace(namespace)
        if place.tier is Tier.VERIFIED:
            raise NotAllowed("store_verified_read_only", group=place.group)
        self._groups.add(place.group)

    async def _write(self, puts: Sequence[PutOp], run_ids: RunIds) -> None:
        news = [
            make_capture(put.namespace[0], put.key, put.value, session_id=run_ids[0], agent_id=run_ids[1])
            for put in puts
            if put.value is not None
        ]
        for receipt in await self._memory.capture_many(news, wait=self._wait) if news else ():
            if isinstance(receipt, ClearwellError):
                raise receipt
            if receipt.admission is Admission.REFUSED:
                reasons = [verdict.reason for verdict in receipt.verdicts if verdict.outcome is Outcome.FAIL]
                log.warning("put refused", id=str(receipt.id), group_id=receipt.group_id, reasons=reasons)
        for put in puts:
            if put.value is None:
                await self._delete(read_namespace(put.namespace), put.key)

    async def _delete(self, place: Place, key: str) -> None:
        found = await self._find_entry(place, key)
        if found is None:
            return
        try:
            await self._memory.remove_working_entry(UUID(found.value["id"]), group=place.group)
        except NotAllowed as error:
            raise NotAllowed("store_delete_not_allowed", group=place.group, id=found.value["id"]) from error


def _read_run_ids() -> RunIds:
    """The session and the node of the run that calls, if a graph runs."""
    config = var_child_runnable_config.get() or {}
    return read_session_id(config), read_node_name(config)


def _is_id(key: str) -> bool:
    try:
        UUID(key)
    except ValueError:
        return False
    return True
