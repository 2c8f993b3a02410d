"""``AsyncMemory``: the methods of mem0's class of this name on the memory manager, or on a client of a server."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, Self
from uuid import UUID

from clearwell.adapters.mem0.messages import Messages, make_captures
from clearwell.adapters.mem0.owner import MemoryOwner, Selection, read_id, read_owner, read_selection
from clearwell.adapters.mem0.results import Result, make_added, make_found, make_read
from clearwell.errors import ClearwellError, ConfigurationError, InvalidInput, NotAllowed, NotFound
from clearwell.flow.retrieval.options import MAX_RESULTS, RetrieveOptions
from clearwell.messages import Language
from clearwell.records import CaptureReceipt, ContextItem, NewCapture, Principal, Retrieval, Source, VerifiedMemory
from clearwell.settings import Settings
from clearwell.sync.face import find_loop_thread
from clearwell.sync.opener import open_memory

DEFAULT_GROUP: Final = "mem0"
"""The group of what has an ``agent_id`` or a ``run_id`` and no ``user_id``."""
TOP_K: Final = 20
THRESHOLD: Final = 0.1
"""The defaults of mem0."""


class FacadeMemory(Protocol):
    """The memory behind the facade: ``MemoryManager`` of the library, or a client of a server."""

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


class AsyncMemory:
    """Memory in the form of mem0: ``user_id`` is the group, ``agent_id`` the agent and ``run_id`` the session.

    Without ``memory`` the library is opened with the first call, with the rights of an agent, or with those of the
    local person if ``agent`` is false; ``close`` closes it. A memory manager or an ``AsyncClient`` as ``memory`` has
    the rights of its own caller, and stays open. What has no ``user_id`` is in the group ``group``. ``language`` is
    that of reasons.
    """

    def __init__(
        self,
        memory: FacadeMemory | None = None,
        *,
        agent: bool = True,
        group: str = DEFAULT_GROUP,
        language: Language = "en",
        settings: Settings | None = None,
    ) -> None:
        if memory is not None and (not hasattr(memory, "capture_many") or find_loop_thread(memory) is not None):
            raise ConfigurationError("mem0_memory", memory=type(memory).__name__)
        local = Principal.local("mem0")
        self._by = local.lowered() if agent else local
        self._settings = settings
        self._opening: AbstractAsyncContextManager[FacadeMemory] | None = None
        self._lock = asyncio.Lock()
        self._memory = memory
        self._group = group
        self._language: Language = language

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> NoReturn:  # noqa: ARG003
        """Refused: stores and models are settings of Clearwell."""
        raise ConfigurationError("mem0_config")

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the library, if this object opened it."""
        async with self._lock:
            if self._opening is not None:
                opening, self._opening, self._memory = self._opening, None, None
                await opening.__aexit__(None, None, None)

    async def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = False,
        **unsupported: Any,
    ) -> Result:
        """Capture a text, a message or a list of messages, each as it is, and wait for the verdicts.

        The event of a result is ``ADD`` if it can be found now, ``NONE`` if it was refused and stays in quarantine,
        with the ``reason``, and ``PENDING`` if the admission takes longer.
        """
        _refuse_arguments("add", unsupported)
        if infer:
            raise InvalidInput("mem0_infer", field="infer")
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        owner = read_owner(ids, group=self._group, example='add(…, user_id="alice")')
        news = make_captures(messages, owner, metadata)
        receipts = await (await self._open()).capture_many(news, wait=True)
        return {"results": [self._make_added(new, receipt) for new, receipt in zip(news, receipts, strict=True)]}

    async def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **unsupported: Any,
    ) -> Result:
        """Search working and long-term memory together. ``threshold`` is the least relevance, from 0 to 1."""
        _refuse_arguments("search", unsupported)
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        selection = read_selection(filters, ids, group=self._group, method="search")
        options = RetrieveOptions(
            relevance_threshold=threshold, hot_threshold=threshold, **_limit(selection, top_k), cold_limit=top_k
        )
        return await self._retrieve(query, selection.owner, options, top_k, scored=True)

    async def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = TOP_K,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **unsupported: Any,
    ) -> Result:
        """List working memory, newest first. Verified memories are found by ``search``."""
        _refuse_arguments("get_all", unsupported)
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        selection = read_selection(filters, ids, group=self._group, method="get_all")
        options = RetrieveOptions(recent=MAX_RESULTS, sources=[Source.HOT], **_limit(selection, top_k))
        return await self._retrieve("", selection.owner, options, top_k, scored=False)

    async def get(self, memory_id: str) -> Result | None:
        """Read one result again by its id. Returns None if there is none any more."""
        group, entry_id = read_id(memory_id, group=self._group)
        entry = await self._find_entry(group, entry_id)
        if entry is not None:
            return make_found(entry, default_group=self._group, scored=False)
        try:
            found = await (await self._open()).memory(entry_id, group=group)
        except NotFound:
            return None
        return make_read(found, default_group=self._group)

    async def delete(self, memory_id: str) -> Result:
        """Remove an entry of working memory, if the caller may review. Verified memories are withdrawn in review."""
        group, entry_id = read_id(memory_id, group=self._group)
        found = await self.get(memory_id)
        if found is None:
            raise NotFound("mem0_not_found", id=entry_id, group=group)
        if found["verified"]:
            raise NotAllowed("mem0_delete_verified", id=entry_id, group=group)
        try:
            await (await self._open()).remove_working_entry(entry_id, group=group)
        except NotAllowed as error:
            raise NotAllowed("mem0_delete", id=entry_id, group=group) from error
        return {"message": "Removed from working memory. The output stays in quarantine."}

    # what mem0 has and people decide here

    async def update(self, memory_id: str, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG002
        """Refused: what was said stays as it was said."""
        group, entry_id = read_id(memory_id, group=self._group)
        raise NotAllowed("mem0_update", id=entry_id, group=group)

    async def delete_all(self, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG002
        """Refused: memories are withdrawn in review, by their session or agent."""
        raise NotAllowed("mem0_delete_all")

    async def history(self, memory_id: str) -> NoReturn:
        """Refused: the origin of a memory quotes quarantine, which agents may not read."""
        group, entry_id = read_id(memory_id, group=self._group)
        raise NotAllowed("mem0_history", id=entry_id, group=group)

    async def reset(self) -> NoReturn:
        """Refused: nothing is deleted by a program."""
        raise NotAllowed("mem0_reset")

    async def _open(self) -> FacadeMemory:
        async with self._lock:
            if self._memory is None:
                opening = open_memory(self._settings, by=self._by)
                self._memory = await opening.__aenter__()
                self._opening = opening
            return self._memory

    async def _retrieve(
        self, query: str, owner: MemoryOwner, options: RetrieveOptions, top_k: int, *, scored: bool
    ) -> Result:
        found = await (await self._open()).retrieve(query, group=owner.group, options=options)
        items = [item for item in found.items if _matches(item, owner)][:top_k]
        results = [make_found(item, default_group=self._group, scored=scored) for item in items]
        return {"results": results, **({"degraded": list(found.degraded)} if found.degraded else {})}

    async def _find_entry(self, group: str, entry_id: UUID) -> ContextItem | None:
        options = RetrieveOptions(recent=MAX_RESULTS, max_results=MAX_RESULTS, sources=[Source.HOT], max_chars=0)
        found = await (await self._open()).retrieve("", group=group, options=options)
        return next((item for item in found.items if item.id == entry_id), None)

    def _make_added(self, new: NewCapture, receipt: CaptureReceipt | ClearwellError) -> Result:
        if isinstance(receipt, ClearwellError):
            raise receipt
        return make_added(new, receipt, self._language)


def _limit(selection: Selection, top_k: int) -> dict[str, Any]:
    """The options of a search in this selection. All of working memory is read, because agents are told apart here."""
    if not 1 <= top_k <= MAX_RESULTS:
        raise InvalidInput("option_range", field="top_k", limit=f"1..{MAX_RESULTS}", value=top_k)
    return {
        "max_results": MAX_RESULTS,
        "hot_limit": MAX_RESULTS,
        "agent_id": selection.owner.agent_id,
        "session_id": selection.owner.session_id,
        "filters": selection.conditions,
        "max_chars": 0,
    }


def _matches(item: ContextItem, owner: MemoryOwner) -> bool:
    """Whether an agent asked for this: what it said itself, and what a person has verified, whoever said it."""
    return item.verified or owner.agent_id is None or item.agent_id == owner.agent_id


def _refuse_arguments(method: str, unsupported: Mapping[str, object]) -> None:
    """Raise InvalidInput for an argument of mem0 that has no meaning here. One that asks for nothing is accepted."""
    for name, value in unsupported.items():
        if value is not None and value is not False:
            raise InvalidInput("mem0_argument", field=name, method=method)
