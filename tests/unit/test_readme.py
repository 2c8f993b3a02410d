"""The two READMEs say the same: as many headings of the same depth, and the very same commands."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+(?= )", FENCE.sub("", text), re.MULTILINE)


def inline_code(text: str) -> list[str]:
    return sorted(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))


def links(text: str) -> list[str]:
    return sorted(re.findall(r"\]\(((?!README)[^)]+)\)", text))


def test_the_commands_are_the_same() -> None:
    assert FENCE.findall(ENGLISH) == FENCE.findall(CHINESE)
    assert len(FENCE.findall(ENGLISH)) >= 8


def test_the_headings_tables_and_lists_are_the_same_in_number_and_depth() -> None:
    assert headings(ENGLISH) == headings(CHINESE)
    for mark in (r"^\* ", r"^\|"):
        assert len(re.findall(mark, ENGLISH, re.MULTILINE)) == len(re.findall(mark, CHINESE, re.MULTILINE))


def test_names_and_links_are_the_same() -> None:
    assert inline_code(ENGLISH) == inline_code(CHINESE)
    assert links(ENGLISH) == links(CHINESE)


def test_every_linked_file_is_there() -> None:
    assert [link for link in links(ENGLISH) if not link.startswith("http") and not (ROOT / link).exists()] == []
