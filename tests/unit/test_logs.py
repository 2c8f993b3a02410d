"""Log lines tell where and what, never what an agent said."""

import io
import logging
import sys

import pytest
import structlog
from pydantic import BaseModel, ValidationError

from clearwell.logs import configure_logs, ensure_logs_configured, write_exception

SECRET = "what an agent said in confidence"


class Strict(BaseModel):
    content: int


def failing() -> None:
    content = SECRET
    try:
        Strict.model_validate({"content": content})
    except ValidationError as error:
        raise RuntimeError("the row was not stored\nDETAIL: " + content) from error


def test_an_exception_is_told_by_its_places_and_first_lines_only() -> None:
    try:
        failing()
    except RuntimeError:
        stream = io.StringIO()
        write_exception(stream, sys.exc_info())  # type: ignore[arg-type]
    told = stream.getvalue()
    assert "in failing" in told
    assert "RuntimeError: the row was not stored" in told
    assert "1 validation error for Strict" in told
    assert SECRET not in told


@pytest.mark.usefixtures("own_logs")
def test_our_lines_and_those_of_libraries_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("zh", level=logging.INFO, colors=False)
    structlog.get_logger().info("sweep", rows=3)
    structlog.get_logger().warning("embedded_slow_stop", name="Valkey", pid=7, signal="SIGTERM", seconds=30)
    logging.getLogger("psycopg.pool").warning("reconnecting to %s", "db")
    logging.getLogger("psycopg.pool").info("quiet")
    said = capsys.readouterr()
    assert said.out == ""
    assert "rows=3" in said.err
    assert "Valkey（进程 7）在收到 SIGTERM 后 30 秒仍在运行" in said.err
    assert "reconnecting to db" in said.err
    assert "quiet" not in said.err


@pytest.mark.usefixtures("own_logs")
def test_an_exception_that_a_library_logs_is_told_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("en", level=logging.INFO, colors=False)
    try:
        failing()
    except RuntimeError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
        structlog.get_logger().exception("sweep failed")
    said = capsys.readouterr().err
    assert said.count("RuntimeError: the row was not stored") == 2
    assert SECRET not in said


@pytest.mark.usefixtures("own_logs")
def test_a_library_leaves_the_logs_of_the_application_alone(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()
    handlers = logging.getLogger().handlers[:]
    ensure_logs_configured()
    structlog.get_logger().info("sweep", rows=3)
    assert logging.getLogger().handlers == handlers
    said = capsys.readouterr()
    assert (said.out, "rows=3" in said.err) == ("", True)
