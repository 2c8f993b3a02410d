"""Every sentence is there in both languages, can be filled in, and every code that is used has one."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import clearwell.errors
from clearwell.errors import ClearwellError
from clearwell.messages import (
    FOLDER,
    LANGUAGES,
    Catalogue,
    catalogue,
    is_language,
    join_names,
    join_pair,
    join_sentences,
    say,
)
from clearwell.vocabulary import Flag, IngressCheck

SOURCE = Path(clearwell.errors.__file__).parent
CODES = sorted(catalogue())


FILES = sorted(FOLDER.rglob("*.toml"))


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def has_words(sentence: str) -> bool:
    """Whether a sentence has letters outside of its placeholders."""
    return any(char.isalpha() for text, *_ in Formatter().parse(sentence) for char in text)


@pytest.mark.parametrize("code", CODES)
def test_a_sentence_is_there_in_both_languages(code: str) -> None:
    entry = catalogue()[code]
    assert set(entry) == {"en", "zh"}
    assert all(sentence.strip() == sentence != "" for sentence in entry.values())
    if has_words(entry["en"]) and entry["en"] != "ID":
        assert any("\u4e00" <= char <= "\u9fff" for char in entry["zh"])


@pytest.mark.parametrize("code", CODES)
def test_both_languages_have_the_same_valid_placeholders(code: str) -> None:
    entry = catalogue()[code]
    names = placeholders(entry["en"])
    assert names == placeholders(entry["zh"])
    assert all(name.isidentifier() for name in names), "filled in by name, and by nothing but a name"
    for language in ("en", "zh"):
        assert "{" not in say(code, language, **dict.fromkeys(names, "x"))


def test_a_word_has_the_form_that_fits_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert say("cli_forget_listed", things=1) == "This erases 1 thing for good:"
    assert say("cli_forget_listed", things=24) == "This erases 24 things for good:"
    assert say("cli_forget_listed", things=0) == "This erases 0 things for good:"
    assert say("cli_forget_listed", "zh", things=1) == "这将永久清除 1 项内容："


COUNTED_WORD = re.compile(r"\{(?:count|rows|things|entries|memories|outputs|insights|chunks)\} (?:\w+ )?\w+s\b")
"""A number before a word in the plural, as if there were always several."""


@pytest.mark.parametrize("code", CODES)
def test_a_counted_word_has_two_forms(code: str) -> None:
    found = COUNTED_WORD.search(catalogue()[code]["en"])
    assert found is None or " of {" in catalogue()[code]["en"], found


@dataclass(frozen=True)
class Use:
    """A code written out in the source, what it is filled in with, and the error or function that it is passed to.

    ``given`` is None where that cannot be read off.
    """

    code: str
    place: str
    given: frozenset[str] | None
    maker: str = ""


def is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, ClearwellError)


MAKERS = {name for name, kind in vars(clearwell.errors).items() if is_error(kind)} | {"say"}


def lone_codes(path: Path) -> re.Pattern[str]:
    """Codes that stand alone, as in a table of codes. Settings and columns have names like the judge's codes."""
    own = {SOURCE / "models": "|judge", SOURCE / "comparison": "|conflict"}
    kinds = "verdict|embedder" + next((more for folder, more in own.items() if path.is_relative_to(folder)), "")
    return re.compile(rf"({kinds})_[a-z_]+")


def uses_in(path: Path) -> Iterator[Use]:
    lone = lone_codes(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and lone.fullmatch(str(node.value)):
            yield Use(str(node.value), f"{path.relative_to(SOURCE)}:{node.lineno}", None)
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in MAKERS:
            names = [keyword.arg for keyword in node.keywords]
            given = None if None in names else frozenset(name for name in names if name) | {"limit"}
            for code in codes_in(node.args[0]):
                yield Use(code, f"{path.relative_to(SOURCE)}:{node.lineno}", given, maker=name)


def codes_in(argument: ast.expr) -> Iterator[str]:
    """The code that is written out, or both where a condition decides."""
    if isinstance(argument, ast.IfExp):
        yield from codes_in(argument.body)
        yield from codes_in(argument.orelse)
    elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value


@cache
def find_uses() -> list[Use]:
    return [use for path in sorted(SOURCE.rglob("*.py")) for use in uses_in(path)]


def test_every_code_that_is_used_has_a_sentence() -> None:
    assert find_uses(), "the search finds something"
    assert not [use for use in find_uses() if use.code not in catalogue()]


def test_every_placeholder_is_filled_in_where_the_code_is_used() -> None:
    known = [use for use in find_uses() if use.given is not None and use.code in catalogue()]
    assert not [use for use in known if not placeholders(catalogue()[use.code]["en"]) <= (use.given or set())]


def test_every_sentence_is_in_exactly_one_file() -> None:
    codes = [code for path in FILES for code in tomllib.loads(path.read_text(encoding="utf-8"))]
    assert sorted(codes) == CODES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_file_is_longer_than_a_reader_can_follow(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_a_file_is_parsed_when_one_of_its_sentences_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text('[known]\nen = "known"\nzh = "已知"\n', encoding="utf-8")
    (tmp_path / "broken.toml").write_text("[other]\nen = \n", encoding="utf-8")
    sentences = Catalogue(tmp_path)
    assert sorted(sentences) == ["known", "other"]
    assert sentences["known"] == {"en": "known", "zh": "已知"}
    with pytest.raises(tomllib.TOMLDecodeError):
        sentences["other"]


IN_TEMPLATE = re.compile(r"""say\(\s*["'](\w+)["'](\s*~)?""")
"""A code in a template, and whether it is the beginning of several."""


def test_every_check_and_flag_has_a_name() -> None:
    named = {*(f"check_{check}" for check in IngressCheck), *(f"flag_{flag}_name" for flag in Flag)}
    assert not named - {*CODES}
    assert not {f"flag_{flag}" for flag in Flag} - {*CODES}


def codes_in_templates() -> tuple[set[str], set[str]]:
    """The codes that templates name, and the beginnings of those that they put together."""
    found = [match for path in SOURCE.rglob("*.html") for match in IN_TEMPLATE.finditer(path.read_text("utf-8"))]
    return {code[1] for code in found if not code[2]}, {code[1] for code in found if code[2]}


def test_every_code_of_a_template_has_a_sentence() -> None:
    whole, beginnings = codes_in_templates()
    assert whole
    assert not whole - {*CODES}
    assert not [one for one in beginnings if not any(code.startswith(one) for code in CODES)]


COUNTED = ("cli_age_", "cli_left_")
"""Families whose codes are put together from two parts, so that their beginning does not stand in the source."""


def patterns_in(path: Path) -> Iterator[str]:
    """Every text of a module as a pattern: an f-string stands for all the codes that it can make."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr) and sum(isinstance(part, ast.FormattedValue) for part in node.values) == 1:
            yield "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\w+" for p in node.values)


def test_every_sentence_is_used() -> None:
    patterns = {pattern for path in SOURCE.rglob("*.py") for pattern in patterns_in(path)}
    written = {pattern for pattern in patterns if pattern in catalogue()}
    families = re.compile(
        "|".join(pattern for pattern in patterns if re.match(r"[a-z]+_[a-z_]*\\w\+|\\w\+_[a-z]+$", pattern))
    )
    whole, beginnings = codes_in_templates()
    unused = [
        code
        for code in CODES
        if code not in written | whole and not families.fullmatch(code) and not code.startswith(tuple(beginnings))
    ]
    assert not [code for code in unused if not code.startswith(COUNTED)]


def test_a_chinese_value_in_a_chinese_sentence_has_no_spaces_around_it() -> None:
    said = say("conflict_number", "zh", new="五百欧元", known="七百欧元")
    assert said == "数字不同：此处为“五百欧元”，已有内容为“七百欧元”。"


def test_every_language_is_known_and_has_its_punctuation() -> None:
    for language in LANGUAGES:
        assert is_language(language)
        assert join_names(["a", "b"], language) != "ab"
        assert join_pair("a", "b", language) != "ab"
        assert join_sentences(["A.", "B."], language).endswith("B.")
    assert not is_language("xx")
    assert not is_language(None)
