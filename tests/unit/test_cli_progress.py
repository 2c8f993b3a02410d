"""The bar of a digest that is being made, on terminals of every width."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from clearwell.adapters.cli.digests import bar_columns, fit_beside_bar

NOTES = (
    "Computing missing vectors: 37 of 100 outputs.",
    "正在为缺少向量的产出计算向量：37 / 100 条。",
    "[red]x[/red]",
)


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
