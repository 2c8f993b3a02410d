"""A long item is shown as the passage around the place that answers the query."""

import pytest

from clearwell.flow.context.fencing import format_item
from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.flow.retrieval.passages import find_sentence, shorten_item
from clearwell.settings import Settings
from clearwell.text.sentences import cut_around
from tests.path import AGENT, Path, said

BEFORE = " ".join(f"Item {number} of the agenda was closed without any remark." for number in range(12))
NEEDLE = "The boiler in hall four is replaced in February."
AFTER = " ".join(f"Guest {number} signed the book at the entrance." for number in range(12))
TEXT = f"{BEFORE} {NEEDLE} {AFTER}"
QUERY = "When is the boiler in hall four replaced?"
SHORT = RetrieveOptions(max_chars=240)


@pytest.mark.parametrize("most", [60, 120, 300, 500])
def test_the_passage_holds_the_place_and_begins_and_ends_with_sentences(most: int) -> None:
    start = TEXT.index(NEEDLE)
    first, last = cut_around(TEXT, start, start + len(NEEDLE), most)
    passage = TEXT[first:last]
    assert NEEDLE in passage
    assert len(passage) <= most
    assert passage[0].isupper()
    assert passage.endswith(".")
    assert first == 0 or TEXT[first - 2 : first] == ". "


def test_a_place_in_the_beginning_leaves_the_beginning() -> None:
    assert cut_around(TEXT, 0, 10, 100) == (0, len(TEXT[:100].rpartition(". ")[0]) + 1)
    assert cut_around("Short.", 0, 6, 100) == (0, 6)


def test_a_sentence_that_is_too_long_is_cut_from_the_place_on() -> None:
    text = "word " * 100 + "needle " + "word " * 100
    start = text.index("needle")
    first, last = cut_around(text, start, start + 6, 50)
    assert text[first:last].startswith("needle")
    assert last - first <= 50


def test_chinese_passages_end_with_chinese_sentences() -> None:
    text = "会议开始前大家互相问候。" * 10 + "四号厅的锅炉将于二月更换。" + "会后合影留念。" * 10
    start = text.index("四号厅")
    first, last = cut_around(text, start, start + 13, 60)
    assert "四号厅的锅炉将于二月更换。" in text[first:last]
    assert text[first:last].endswith("。")
    assert text[first - 1] == "。"


def test_the_sentence_with_most_words_of_the_query_is_the_place() -> None:
    place, share = find_sentence(TEXT, analyse_query(QUERY))
    assert place is not None
    assert TEXT[slice(*place)] == NEEDLE
    assert share > 0.5
    assert find_sentence(TEXT, analyse_query("zeppelin")) == (None, 0.0)


async def test_an_unverified_item_is_cut_around_its_match() -> None:
    path = Path(settings=Settings(min_width=0, ingress_checks=("confidence",)))
    await path.memory.acting_as(AGENT).capture(said(TEXT), wait=True)
    (item,) = (await path.memory.acting_as(AGENT).retrieve(QUERY, group="g")).items
    assert item.match is not None
    assert item.content[slice(*item.match)] == NEEDLE
    assert (item.cut, item.cut_before, len(item.content) <= 500) == (True, True, True)
    line = format_item(1, item, "en")
    assert line.count("…") == 2
    whole = (await path.memory.acting_as(AGENT).retrieve(QUERY, group="g", options=RetrieveOptions(max_chars=0))).items[
        0
    ]
    assert (whole.content, whole.cut, whole.cut_before) == (TEXT, False, False)
    assert whole.match is not None
    assert TEXT[slice(*whole.match)] == NEEDLE


async def test_a_verified_item_is_cut_around_its_match() -> None:
    path = Path(settings=Settings(chunk_size=4000))
    await path.memory.promote(TEXT, group="g")
    (item,) = (
        await path.memory.acting_as(AGENT).retrieve(QUERY, group="g", options=RetrieveOptions(max_chars=200))
    ).items
    assert NEEDLE in item.content
    assert (item.verified, item.cut_before, len(item.content) <= 200) == (True, True, True)


async def test_an_echo_of_a_passage_is_recognised_as_the_memory() -> None:
    path = Path(settings=Settings(chunk_size=4000))
    await path.memory.promote(TEXT, group="g")
    (item,) = (await path.memory.acting_as(AGENT).retrieve(QUERY, group="g")).items
    captured = await path.memory.acting_as(AGENT).capture(said(format_item(1, item, "en")), wait=True)
    assert captured.admission == "refused"


async def test_a_row_of_a_table_is_shown_with_its_header() -> None:
    header = "| part | days to order | supplier |\n|---|---|---|\n"
    rows = [f"| valve number {number} | {number + 200} | Brandt and Sons |" for number in range(40)]
    path = Path()
    report = f"We asked for offers.\n\n{header}" + "\n".join(rows) + "\n\nThat is all for now."
    await path.memory.capture(said(report), wait=True)
    answer = await path.memory.acting_as(AGENT).retrieve("valve number 31", group="g", options=SHORT)
    (item,) = answer.items
    assert item.content.startswith(header)
    assert rows[31] in item.content
    assert len(item.content) <= 240
    assert item.cut_before
    assert item.match is not None
    assert "31" in item.content[slice(*item.match)]
    again = shorten_item(item, 160)
    assert again.content.startswith(header)
    assert rows[31] in again.content
