"""Lines that fit a terminal: no word, number, id or command is broken."""

import pytest
from rich.cells import cell_len

from clearwell.adapters.cli.terminal import shorten
from clearwell.adapters.cli.wrapping import fit_columns, wrap


def test_a_sentence_is_broken_between_words() -> None:
    assert wrap("The memory 56344c42 is withdrawn.", 16) == ["The memory", "56344c42 is", "withdrawn."]


def test_a_number_stays_with_what_it_counts() -> None:
    assert wrap("It answered in 310 ms inside the monolith.", 18) == [
        "It answered in",
        "310 ms inside the",
        "monolith.",
    ]


def test_chinese_is_broken_between_characters_but_not_before_a_full_stop() -> None:
    lines = wrap("群组中没有符合条件的记忆。请先晋升一条洞察。", 24)
    assert "".join(lines) == "群组中没有符合条件的记忆。请先晋升一条洞察。"
    assert all(cell_len(line) <= 24 and not line.startswith("。") for line in lines)


def test_a_word_in_chinese_text_is_not_broken() -> None:
    assert wrap("已撤回记忆 56344c42，智能体不再获得它。", 16) == ["已撤回记忆", "56344c42，智能体", "不再获得它。"]


def test_a_command_between_backticks_is_not_broken() -> None:
    assert wrap("See `clearwell audit head` first.", 24) == ["See", "`clearwell audit head`", "first."]


def test_the_lines_of_an_item_are_indented_below_its_text() -> None:
    assert wrap(" 1. one two three", 12) == [" 1. one two", "    three"]


def test_facts_are_broken_between_facts() -> None:
    assert wrap("56344c42 · 2 outputs, 1 agent · 6 min ago", 34) == ["56344c42 · 2 outputs, 1 agent ·", "6 min ago"]


def test_a_word_that_is_longer_than_a_line_is_broken() -> None:
    assert wrap("see abcdefghij", 6) == ["see", "abcdef", "ghij"]


@pytest.mark.parametrize("width", [60, 40, 30])
def test_columns_share_what_the_first_one_leaves(width: int) -> None:
    rows = [["ID", "By", "Reason"], ["56344c42", "local:root", "It was measured again in October and is wrong."]]
    widths = fit_columns(rows, width)
    assert sum(widths) <= width
    assert widths[:2] == [8, 10]


def test_a_text_is_shortened_between_two_words() -> None:
    assert shorten("The rollback of the service takes minutes", 30) == "The rollback of the service…"
    assert shorten("账单服务在预发环境回滚一次需要四分钟", 13) == "账单服务在预…"
    assert shorten("short", 13) == "short"
