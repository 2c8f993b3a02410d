"""What is printed lines up, hides nothing and steers nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len

from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.terminal import Terminal, make_visible, size
from clearwell.errors import SchemaError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\nlines\tand 中文 and 🙂", "plain\nlines\tand 中文 and 🙂"),
        ("\x1b]0;title\x07", "⟦U+001B⟧]0;title⟦U+0007⟧"),
        ("a\rb\x9b2J\x7f\r\nc", "a⟦U+000D⟧b⟦U+009B⟧2J⟦U+007F⟧\nc"),
        ("\u202etxt.exe\u2066", "⟦U+202E⟧txt.exe⟦U+2066⟧"),
        ("ze\u200bro ⚡️ \ufeff\u3164", "ze⟦U+200B⟧ro ⚡️ ⟦U+FEFF⟧⟦U+3164⟧"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert make_visible(text) == shown


def test_columns_line_up_with_chinese_names(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal("zh").pairs([("API", "one"), ("嵌入模型", "two"), ("数据", "three")])
    lines = capsys.readouterr().out.splitlines()
    values = ("one", "two", "three")
    assert len({cell_len(line[: line.index(value)]) for line, value in zip(lines, values, strict=True)}) == 1


def test_a_long_line_is_left_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal("en").line("x " * 500)
    assert capsys.readouterr().out.count("\n") == 1


def test_sizes_and_ages_are_in_the_largest_unit_that_fits() -> None:
    assert [size(count) for count in (0, 1023, 1024, 5 << 20, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 GiB",
    ]
    now = datetime.now(UTC)
    terminal = Terminal("zh")
    ages = [terminal.age(now - timedelta(seconds=seconds)) for seconds in (-5, 59, 61, 3 * 3600 + 5, 9 * 86400 + 5)]
    assert ages == ["刚刚", "刚刚", "1 分钟前", "3 小时前", "9 天前"]


def test_findings_bring_their_advice_and_decide_on_health() -> None:
    findings = Findings(Terminal("en"))
    findings.good("schema", "doctor_schema", version=5)
    findings.warn("persistence", "doctor_not_append_only", name="Redis")
    assert findings.healthy
    assert findings.found[0].advice is None
    assert findings.found[1].advice == "Set in the server: appendonly yes"
    findings.error("schema", SchemaError("schema_missing"))
    assert not findings.healthy
