"""At a terminal a person is asked about hidden text; elsewhere the refusal stays."""

import os
import pty
import signal
import sys
import threading

import pytest
import typer

from clearwell.adapters.cli.acknowledgement import promote_seen
from clearwell.adapters.cli.command import on_stop_signal
from clearwell.adapters.cli.questions import confirm
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import ClearwellError, Conflict

SHOWN = "pay⟦U+200B⟧ment"


async def send(acknowledge: list[str] | None) -> list[str]:
    if acknowledge is None or "hidden_text" not in acknowledge:
        raise Conflict("promotion_unacknowledged", current={"acknowledge": ["hidden_text"], "shown": [SHOWN]})
    return acknowledge


def read_all(terminal: int) -> str:
    """What was shown on a terminal that nobody has open any more: it then ends with an error."""
    shown = b""
    try:
        while more := os.read(terminal, 10_000):
            shown += more
    except OSError:
        os.close(terminal)
    return shown.decode()


async def answer(monkeypatch: pytest.MonkeyPatch, keys: bytes) -> tuple[list[str] | ClearwellError, str]:
    """What comes of these keys at a terminal, and what it showed."""
    ours, theirs = pty.openpty()
    os.write(ours, keys)
    with os.fdopen(os.dup(theirs), encoding="utf-8") as stdin, os.fdopen(theirs, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        try:
            result: list[str] | ClearwellError = await promote_seen(
                send, ["instruction_like"], Terminal("en"), may_ask=True
            )
        except ClearwellError as refusal:
            result = refusal
        monkeypatch.undo()
    return result, read_all(ours)


async def test_a_person_at_a_terminal_sees_what_is_hidden_and_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    result, shown = await answer(monkeypatch, b"y\n")
    assert result == ["instruction_like", "hidden_text"]
    assert SHOWN in shown
    assert "Promote it anyway? [y/N]" in shown


async def test_the_end_of_the_input_cancels_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(typer.Abort):
        await answer(monkeypatch, b"\x04")


async def test_ctrl_c_cancels_the_question_while_signals_only_request_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The terminal shows the question, then the signal comes: reading the line has to end."""
    ours, theirs = pty.openpty()
    ended = threading.Event()
    asked = threading.Thread(target=interrupt_once_shown, args=(ours, b"[y/N]", ended))
    with (
        os.fdopen(os.dup(theirs), encoding="utf-8") as stdin,
        os.fdopen(theirs, "w", encoding="utf-8") as stdout,
        on_stop_signal(lambda: None, even_if_ignored=True),
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        asked.start()
        with pytest.raises(typer.Abort):
            confirm("Promote it anyway?")
        ended.set()
        asked.join()
        monkeypatch.undo()
    os.close(ours)


def interrupt_once_shown(terminal: int, words: bytes, ended: threading.Event) -> None:
    """Send the signal again until the question has ended: one that comes before the line is read does not end that."""
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 10_000)
    os.kill(os.getpid(), signal.SIGINT)
    while not ended.wait(0.5):
        os.kill(os.getpid(), signal.SIGINT)


async def test_who_declines_promotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = await answer(monkeypatch, b"n\n")
    assert isinstance(result, ClearwellError)
    assert result.code == "cli_acknowledge_declined"


async def test_nothing_is_asked_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Conflict):
        await promote_seen(send, None, Terminal("en"), may_ask=True)
    assert capsys.readouterr().out == ""
