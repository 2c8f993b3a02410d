"""The bars of digests that are being made and of models that are checked, on terminals of every width."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from clearwell.adapters.cli.digests import bar_columns, fit_beside_bar
from clearwell.adapters.cli.models import show_progress
from clearwell.adapters.cli.terminal import Terminal
from clearwell.vocabulary import ModelRole

WIDE = 100
NOTES = (
    "Computing missing vectors: 37 of 100 outputs.",
    "正在为缺少向量的产出计算向量：37 / 100 条。",
    "[red]x[/red]",
)


def make_terminal(*, is_terminal: bool) -> tuple[Terminal, io.StringIO]:
    terminal, written = Terminal("zh"), io.StringIO()
    terminal.err = Console(file=written, force_terminal=is_terminal, width=WIDE, color_system=None)
    return terminal, written


def test_the_check_of_models_shows_a_bar_for_each_model_on_a_terminal() -> None:
    terminal, written = make_terminal(is_terminal=True)
    with show_progress(terminal) as report:
        assert report is not None
        for role in (ModelRole.JUDGE, ModelRole.WRITER):
            report(role)(7, 32)
    assert "评审模型" in written.getvalue()
    assert "简报模型" in written.getvalue()
    assert "7/32" in written.getvalue()


def test_the_check_of_models_shows_no_bar_in_a_file() -> None:
    terminal, written = make_terminal(is_terminal=False)
    with show_progress(terminal) as report:
        assert report is None
    assert written.getvalue() == ""


def drawn(note: str, width: int) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    bar = Progress(*bar_columns(), console=console)
    bar.add_task(fit_beside_bar(note, width), total=100, completed=37)
    with console.capture() as capture:
        console.print(bar.get_renderable())
    return capture.get()


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_bar_and_percentage_stand_beside_a_note_on_one_line(note: str, width: int) -> None:
    (line,) = drawn(note, width).splitlines()
    assert line.startswith("━" * 7)
    assert " 37% " in line
    assert "progress.percentage" not in line
    assert note[:6] in line


def test_a_note_is_no_markup_and_whole_where_it_fits() -> None:
    for note in NOTES:
        assert note in drawn(note, 120)
