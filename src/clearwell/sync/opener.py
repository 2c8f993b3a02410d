"""The library while it is open, for asynchronous and for synchronous programs."""

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType

from clearwell import app
from clearwell.records import Principal
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.sync.loop_thread import LoopThread
from clearwell.sync.memory import SyncMemoryManager

Kind = type[BaseException] | None


class MemoryOpener(AbstractAsyncContextManager[MemoryManager], AbstractContextManager[SyncMemoryManager]):
    """The library while it is open: ``async with`` gives the memory manager, ``with`` its synchronous face."""

    def __init__(self, settings: Settings | None, by: Principal | None) -> None:
        self._context = app.open_memory(settings, by=by)
        self._loop = LoopThread()
        self._held = self._loop.enter(self._context)

    async def __aenter__(self) -> MemoryManager:
        return await self._context.__aenter__()

    async def __aexit__(self, kind: Kind, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._context.__aexit__(kind, error, trace)

    def __enter__(self) -> SyncMemoryManager:
        try:
            return SyncMemoryManager(self._held.__enter__(), self._loop)
        except BaseException:
            self._loop.close()
            raise

    def __exit__(self, kind: Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._held.__exit__(kind, error, trace)
        finally:
            self._loop.close()


def open_memory(settings: Settings | None = None, *, by: Principal | None = None) -> MemoryOpener:
    """Open the memory manager by the settings of the environment; on bundled servers if no address is set.

    ``async with open_memory() as memory`` in asynchronous programs, ``with open_memory() as memory`` in others. It is
    bound to the local person, or to ``by``.
    """
    return MemoryOpener(settings, by)
