"""``Memory``: the methods of ``AsyncMemory`` without ``await``, on a loop in a thread of its own."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn, Self, cast

from clearwell.adapters.mem0.memory import DEFAULT_GROUP, THRESHOLD, TOP_K, AsyncMemory, FacadeMemory
from clearwell.adapters.mem0.messages import Messages
from clearwell.adapters.mem0.results import Result
from clearwell.errors import ConfigurationError
from clearwell.messages import Language
from clearwell.settings import Settings
from clearwell.sync.client import Client
from clearwell.sync.face import find_counterpart, find_loop_thread
from clearwell.sync.loop_thread import LoopThread
from clearwell.sync.memory import SyncMemoryManager


class Memory:
    """Memory in the form of mem0, for synchronous programs. It can be used from several threads.

    Without ``memory`` it opens the library with the first call, and closes it with ``close``, at the latest with the
    process. ``memory`` is what ``with open_memory()`` gives, or a ``Client``; see ``AsyncMemory`` for the rest.
    """

    def __init__(
        self,
        memory: SyncMemoryManager | Client | None = None,
        *,
        agent: bool = True,
        group: str = DEFAULT_GROUP,
        language: Language = "en",
        settings: Settings | None = None,
    ) -> None:
        loop = None if memory is None else find_loop_thread(memory)
        if memory is not None and loop is None:
            raise ConfigurationError("mem0_memory", memory=type(memory).__name__)
        inner = None if memory is None else cast(FacadeMemory, find_counterpart(memory))
        self._inner = AsyncMemory(inner, agent=agent, group=group, language=language, settings=settings)
        self._owned = LoopThread(self._inner.close) if loop is None else None
        self._loop = loop or cast(LoopThread, self._owned)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> NoReturn:
        """Refused: stores and models are settings of Clearwell."""
        AsyncMemory.from_config(config_dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the library, if this object opened it."""
        if self._owned is not None:
            self._owned.close()

    def add(
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
        """Capture a text, a message or a list of messages, each as it is, and wait for the verdicts."""
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return self._loop.run(self._inner.add(messages, **ids, metadata=metadata, infer=infer, **unsupported))

    def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        **ids: Any,
    ) -> Result:
        """Search working and long-term memory together."""
        return self._loop.run(self._inner.search(query, top_k=top_k, filters=filters, threshold=threshold, **ids))

    def get_all(self, *, filters: Mapping[str, Any] | None = None, top_k: int = TOP_K, **ids: Any) -> Result:
        """List working memory, newest first. Verified memories are found by ``search``."""
        return self._loop.run(self._inner.get_all(filters=filters, top_k=top_k, **ids))

    def get(self, memory_id: str) -> Result | None:
        """Read one result again by its id. Returns None if there is none any more."""
        return self._loop.run(self._inner.get(memory_id))

    def delete(self, memory_id: str) -> Result:
        """Remove an entry of working memory, if the caller may review."""
        return self._loop.run(self._inner.delete(memory_id))

    def update(self, memory_id: str, *args: object, **kwargs: object) -> NoReturn:
        """Refused: what was said stays as it was said."""
        self._loop.run(self._inner.update(memory_id, *args, **kwargs))

    def delete_all(self, *args: object, **kwargs: object) -> NoReturn:
        """Refused: memories are withdrawn in review, by their session or agent."""
        self._loop.run(self._inner.delete_all(*args, **kwargs))

    def history(self, memory_id: str) -> NoReturn:
        """Refused: the origin of a memory quotes quarantine, which agents may not read."""
        self._loop.run(self._inner.history(memory_id))

    def reset(self) -> NoReturn:
        """Refused: nothing is deleted by a program."""
        self._loop.run(self._inner.reset())
