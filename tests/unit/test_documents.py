"""The READMEs and the pages of docs/ say the same in both languages: the same headings, commands, names and links."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```(\w*).*?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LONGEST_README = 200
TRANSLATED = ("tutorial", "how-to/", "explanation/", "index")


@dataclass(frozen=True)
class Pair:
    """A document in both languages."""

    english: Path
    chinese: Path

    def texts(self) -> tuple[str, str]:
        return self.english.read_text(encoding="utf-8"), self.chinese.read_text(encoding="utf-8")

    def __str__(self) -> str:
        return self.english.relative_to(ROOT).as_posix()


def english_pages() -> list[Path]:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [page for page in pages if not page.name.endswith(".zh.md") and page != ROOT / "docs" / "README.md"]


def pairs() -> list[Pair]:
    readme = Pair(ROOT / "README.md", ROOT / "README.zh-CN.md")
    pages = [Pair(page, page.with_suffix(".zh.md")) for page in english_pages()]
    return [readme, *(pair for pair in pages if pair.chinese.exists())]


PAIRS = pairs()
both = pytest.mark.parametrize("pair", PAIRS, ids=str)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+(?= )", FENCE.sub("", text), re.MULTILINE)


def code(text: str) -> list[tuple[str, set[str]]]:
    """The names in each block, without its texts and its output, which are in the language of the page."""
    return [
        (kind, set() if kind == "text" else set(re.findall(r"[a-z_]\w*", re.sub(r'"[^"]*"', "", block))) - {"language"})
        for kind, block in FENCE.findall(text)
    ]


def inline_code(text: str) -> list[str]:
    return sorted(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))


def links(text: str) -> list[str]:
    """Where the links go, whatever the language of the page there and of its headings."""
    found = re.findall(r"\]\(((?!README)[^)]+)\)", FENCE.sub("", text))
    return sorted(link.partition("#")[0].replace(".zh.md", ".md") for link in found)


@both
def test_the_commands_are_the_same(pair: Pair) -> None:
    english, chinese = pair.texts()
    assert code(english) == code(chinese)


@both
def test_the_headings_tables_and_lists_are_the_same_in_number_and_depth(pair: Pair) -> None:
    english, chinese = pair.texts()
    assert headings(english) == headings(chinese)
    for mark in (r"^\* ", r"^\d+\. ", r"^\|"):
        found = [re.findall(mark, FENCE.sub("", text), re.MULTILINE) for text in (english, chinese)]
        assert len(found[0]) == len(found[1])


@both
def test_names_and_links_are_the_same(pair: Pair) -> None:
    english, chinese = pair.texts()
    assert inline_code(english) == inline_code(chinese)
    assert links(english) == links(chinese)


@pytest.mark.parametrize(
    "path", [path for pair in PAIRS for path in (pair.english, pair.chinese)], ids=lambda p: p.name
)
def test_every_linked_file_is_there(path: Path) -> None:
    found = re.findall(r"\]\(([^)#]+)[^)]*\)", FENCE.sub("", path.read_text(encoding="utf-8")))
    assert [link for link in found if not link.startswith("http") and not (path.parent / link).exists()] == []


def test_the_readme_is_short() -> None:
    assert [len(text.splitlines()) for text in PAIRS[0].texts() if len(text.splitlines()) > LONGEST_README] == []


def test_every_page_for_readers_is_translated() -> None:
    names = [page.relative_to(ROOT / "docs").as_posix() for page in english_pages()]
    readers = [name for name in names if name.startswith(TRANSLATED)]
    assert [name for name in readers if not (ROOT / "docs" / name).with_suffix(".zh.md").exists()] == []


def test_a_chinese_page_links_to_chinese_pages() -> None:
    wrong = [
        (pair.chinese.name, link)
        for pair in PAIRS
        for link in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", pair.chinese.read_text(encoding="utf-8"))
        if not link.endswith(".zh.md") and (pair.chinese.parent / link).with_suffix(".zh.md").exists()
    ]
    assert wrong == []
