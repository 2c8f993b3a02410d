"""What Ctrl-C, SIGTERM and a closed terminal mean."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ASKED_TO_STOP = (signal.SIGINT, signal.SIGTERM)
_ALL = (*_ASKED_TO_STOP, *(getattr(signal, name) for name in ("SIGHUP", "SIGBREAK") if hasattr(signal, name)))


@contextmanager
def on_stop_signal(stop: Callable[[], object], *, even_if_ignored: bool) -> Iterator[None]:
    """Call ``stop`` for each signal that asks the program to end, as long as this lasts.

    A shell starts its background jobs with SIGINT ignored. With ``even_if_ignored`` SIGINT and SIGTERM count then
    too; SIGHUP that is ignored stays so, which is what ``nohup`` is for.
    """

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop()

    wanted = [
        number
        for number in _ALL
        if signal.getsignal(number) is not signal.SIG_IGN or (even_if_ignored and number in _ASKED_TO_STOP)
    ]
    before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
