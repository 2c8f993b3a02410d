"""Structured logs on stderr. They never contain the text of a memory or a key."""

import logging
import sys
import traceback
from collections.abc import Iterator
from typing import TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from clearwell.messages import Language, catalogue, say


def configure_logs(language: Language, *, level: int, colors: bool) -> None:
    """Configure one format for the log lines of Clearwell and of its libraries."""
    shared, renderer = _configure_structlog(language, level=level, colors=colors)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


def ensure_logs_configured() -> None:
    """Configure the log lines of Clearwell unless the application has. Those of other libraries are left alone.

    By default, structlog prints the variables of every frame of an exception, which can contain the text of memories.
    """
    if not structlog.is_configured():
        _configure_structlog("en", level=logging.INFO, colors=False)


def _configure_structlog(language: Language, *, level: int, colors: bool) -> tuple[list[Processor], Processor]:
    """Configure structlog, and return what makes the lines of other libraries look the same."""

    def describe_event(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Replace an event that is a message code by the message."""
        if event.get("event") in catalogue():
            event["event"] = say(event["event"], language, **event)
        return event

    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        describe_event,
    ]
    renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=write_exception)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    return shared, renderer


def write_exception(stream: TextIO, exc_info: ExcInfo) -> None:
    """Write the traceback of an exception and the first line of its message.

    Drivers and validators quote the row or the input that failed after the first line.
    """
    _, error, _ = exc_info
    for one in _chain(error):
        said = str(one).strip().partition("\n")[0]
        stream.write("".join(traceback.format_tb(one.__traceback__)))
        stream.write(f"{type(one).__module__}.{type(one).__qualname__}: {said}\n")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception after its causes."""
    if error is not None:
        yield from _chain(error.__cause__ or (None if error.__suppress_context__ else error.__context__))
        yield error
