"""What a text becomes for the lexical side of retrieval."""

import subprocess
import sys

import pytest

from clearwell.text.languages.english import stem
from clearwell.text.terms import DIMENSIONS, PAIR, PAIR_WEIGHT, count_terms, dimension, weigh_terms


def found(query: str, text: str) -> bool:
    """Every term of the query is a term of the text."""
    return bool(count_terms(query)) and count_terms(query).keys() <= count_terms(text).keys()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("plastered", "plaster")],
        *[("hopping", "hop"), ("filing", "file"), ("happy", "happi"), ("relational", "relat"), ("sky", "sky")],
        *[("digitizer", "digit"), ("hopefulness", "hope"), ("adoption", "adopt"), ("controlling", "control")],
        *[("news", "news"), ("go", "go"), ("naïve", "naïve")],
    ],
)
def test_words_lose_their_endings(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("RESTARTING services", "She restarted the service."),
        ("Caroline", "That was Caroline’s idea"),
        ("ＣＡＦＥ", "a cafe"),
        ("v2.0.1", "released v2.0.1 today"),
        ("2.0.1", "released v2.0.1, at last"),
        ("snake_case_name", "call snake_case_name()"),
        ("snake name", "call snake_case_name()"),
        ("kebab-case", "a kebab-case key"),
        ("getHTTPResponse", "use getHTTPResponse."),
        ("http response", "use getHTTPResponse."),
        ("ann@example.com", "write to Ann@Example.com!"),
        ("/etc/clearwell/settings.toml", "in /etc/clearwell/settings.toml"),
        ("settings.toml", "open settings.toml"),
        ("13603907089", "电话13603907089，晚上打"),
        ("1234567", "1,234,567 rows"),
        ("C++", "written in C++."),
        ("10.0.0.1:8080", "at 10.0.0.1:8080"),
        ("ERR-4012", "it says err-4012"),
        ("2023-05-08", "on 8 May, 2023"),
        ("May 8th", "2023年5月8日"),
        ("5月8号", "8 May 2023"),
        ("in July", "3 Jul 2024"),
        ("2024年", "2024-04-16 19:00的活动"),
    ],
)
def test_what_is_typed_is_found(query: str, text: str) -> None:
    assert found(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("上司", "我的上司就只有高中学历。"),
        ("邮箱地址", "我表哥的邮箱地址是li_ming1108@westlakesales.com。"),
        ("赵雅琳", "我的上司名叫赵雅琳。"),
        ("ＡＩ论坛", "AI论坛在周五"),
        ("Kafka 集群", "把Kafka集群迁走"),
    ],
)
def test_chinese_and_mixed_text_are_found(query: str, text: str) -> None:
    assert found(query, text)


@pytest.mark.parametrize("text", ["", "the of and", "的了吗", "，。!?", "~~~"])
def test_what_says_nothing_has_no_terms(text: str) -> None:
    assert not count_terms(text)


def test_words_are_counted() -> None:
    assert count_terms("cat, cats and a dog") == {"cat": 2, "dog": 1}


def test_sentences_are_not_glued_together() -> None:
    assert {"right", "mari"} <= count_terms("right,Mary").keys()
    assert "8日" not in count_terms("18 rows")
    assert "5月" not in count_terms("mayor")


def test_a_pair_of_characters_counts_less_than_a_word() -> None:
    found = weigh_terms("海淀上班")
    assert {found[term] for term in found if term.startswith(PAIR)} == {PAIR_WEIGHT}
    assert found["上班"] == 1.0


def test_a_blob_is_not_a_term() -> None:
    assert all(len(term) <= 64 for term in count_terms("A1_" * 5000))


def test_a_terms_place_is_the_same_in_every_process() -> None:
    code = "from clearwell.text.terms import dimension; print(dimension('上司'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(told) == dimension("上司")
    assert 1 <= dimension("x") <= DIMENSIONS


@pytest.mark.parametrize(("adverb", "noun"), [("namely", "name"), ("partly", "part"), ("optionally", "option")])
def test_an_adverb_that_qualifies_is_not_the_noun_it_looks_like(adverb: str, noun: str) -> None:
    assert stem(adverb) != stem(noun)
