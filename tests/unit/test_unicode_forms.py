"""Normal forms of hostile text take no time, and ordinary text is normalised as ever."""

import time
import unicodedata

import pytest

from clearwell.text.unicode_forms import _MAY_BE_MARKS, MAX_MARKS, limit_marks, normalise_form

MARKS = [code for code in range(0x110000) if unicodedata.combining(chr(code))]


@pytest.mark.parametrize(
    "text", ["Naïve café, 5 ½ m²", "ﬁne ＡＢＣ", "각 한글", "क्षि नमस्ते", "שָׁלוֹם", "e\u0301\u0316\u0327", "法国 ①"]
)
def test_ordinary_text_is_normalised_as_by_the_standard_library(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert normalise_form(form, text) == unicodedata.normalize(form, text)


def test_a_run_of_marks_is_limited_whatever_they_are() -> None:
    for start in range(0, len(MARKS), 40):
        run = "".join(map(chr, MARKS[start : start + 40]))
        assert limit_marks(f"a{run * 2}b") == f"a{(run * 2)[:MAX_MARKS]}b"
        assert limit_marks(f"a{run[:MAX_MARKS]}b") == f"a{run[:MAX_MARKS]}b"
    assert all(_MAY_BE_MARKS.search(chr(code) * (MAX_MARKS + 1)) for code in MARKS)


def test_a_million_marks_are_normalised_at_once() -> None:
    hostile = "e" + "\u0301\u0316" * 500_000
    started = time.process_time()
    assert len(normalise_form("NFKC", hostile)) <= MAX_MARKS + 1
    assert time.process_time() - started < 1, "sorting them all takes minutes"
