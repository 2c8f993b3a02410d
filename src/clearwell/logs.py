"""Log lines go to stderr, with fields, and never with memory content or keys."""

import logging
import sys
import traceback
from collections.abc import Iterator
from typing import TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from clearwell.messages import Language, catalogue, say


def configure_logs(language: Language, *, level: int, colors: bool) -> None:
    """Our own lines and those of the libraries, in one form."""

    def in_words(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """An event that is a message's code is said as that message."""
        if event.get("event") in catalogue():
            event["event"] = say(event["event"], language, **event)
        return event

    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        in_words,
    ]
    renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=write_exception)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


def configure_logs_if_nobody_has() -> None:
    """Without this, structlog prints the variables of every frame of an exception, and memory content with them."""
    if not structlog.is_configured():
        configure_logs("en", level=logging.INFO, colors=False)


def write_exception(stream: TextIO, exc_info: ExcInfo) -> None:
    """The places of an exception and the first line of what it says.

    The lines after the first are where drivers and validators quote the row or the input that failed.
    """
    _, error, _ = exc_info
    for one in _chain(error):
        said = str(one).strip().partition("\n")[0]
        stream.write("".join(traceback.format_tb(one.__traceback__)))
        stream.write(f"{type(one).__module__}.{type(one).__qualname__}: {said}\n")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The causes first."""
    if error is not None:
        yield from _chain(error.__cause__ or (None if error.__suppress_context__ else error.__context__))
        yield error
