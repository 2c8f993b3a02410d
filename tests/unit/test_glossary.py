"""Messages, READMEs and pages use the words of docs/glossary.md, and Chinese text is spaced in one way."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from clearwell.messages import catalogue

ROOT = Path(__file__).parents[2]
SEPARATOR = "、"
CJK = "\u4e00-\u9fff"
UNSPACED = re.compile(rf"[{CJK}][A-Za-z0-9`]|[A-Za-z0-9`%][{CJK}]")


@dataclass(frozen=True)
class Row:
    """One line of a table: the words to use and the words not to use."""

    words: tuple[str, ...]
    forbidden: tuple[str, ...]


def rows() -> list[Row]:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    table = [row for row in cells if row[0] != "term"]
    assert all(len(row) == 5 for row in table)
    return [Row(words_of(f"{row[1]}{SEPARATOR}{row[2]}"), words_of(row[4])) for row in table]


def words_of(cell: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in re.split(rf"[{SEPARATOR},]", cell) if word.strip())


ROWS = rows()
FORBIDDEN = [word for row in ROWS for word in row.forbidden]
LONGER = [word for row in ROWS for word in row.words if any(other in word and other != word for other in FORBIDDEN)]


def texts() -> dict[str, str]:
    sentences = {f"{code}.{language}": text for code, entry in catalogue().items() for language, text in entry.items()}
    readmes = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
    pages = [page for folder in ("how-to", "explanation") for page in (ROOT / "docs" / folder).glob("*.md")]
    own = [*readmes, *pages, ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial.zh.md"]
    return sentences | {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in own}


TEXTS = texts()


def test_no_word_is_both_used_and_forbidden() -> None:
    used = {word for row in ROWS for word in row.words}
    assert not used & set(FORBIDDEN)


@pytest.mark.parametrize("word", FORBIDDEN)
def test_a_forbidden_word_is_not_used(word: str) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word), re.IGNORECASE)
    places = [place for place, text in TEXTS.items() if pattern.search(without_longer_terms(text, word))]
    assert not places


def without_longer_terms(text: str, word: str) -> str:
    for term in LONGER:
        if word in term:
            text = text.replace(term, "")
    return text


def test_chinese_and_latin_are_separated_by_a_space() -> None:
    chinese = {place: text for place, text in TEXTS.items() if place.endswith((".zh", ".zh.md", "README.zh-CN.md"))}
    assert not [(place, found.group()) for place, text in chinese.items() for found in UNSPACED.finditer(text)]
