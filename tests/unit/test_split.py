"""The splitter loses nothing, keeps its bounds and prefers to cut where the text pauses."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearwell.settings import Settings
from clearwell.text.splitter import split

SEPARATORS = Settings().chunk_separators
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"

pieces = st.sampled_from(
    ["word", "另一句话", "。", "！", "\n", "\n\n", " ", "   ", "e\u0301", FAMILY, "\r\n", "，", "\u3000"]
)
texts = st.one_of(st.text(max_size=300), st.lists(pieces, max_size=120).map("".join))
sizes = st.integers(1, 60).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def visible(text: str) -> str:
    return "".join(text.split())


def places(text: str, chunks: list[str]) -> list[tuple[int, int]]:
    """Where each chunk is in a text whose visible characters are all different."""
    return [(text.index(visible(chunk)[0]), text.index(visible(chunk)[-1]) + 1) for chunk in chunks]


@given(texts, sizes)
@example("a" + "\u0301" * 50, (10, 3))
@example(" " * 100 + "a" + " " * 100 + "b", (10, 9))
@example("\r\n" * 30 + "x", (1, 0))
def test_chunks_are_visible_parts_of_the_text_within_the_size(text: str, bounds: tuple[int, int]) -> None:
    size, overlap = bounds
    for chunk in split(text, size=size, overlap=overlap, separators=SEPARATORS):
        assert len(chunk) <= size
        assert chunk.strip()
        assert chunk in text


@given(texts, st.integers(1, 60))
def test_without_overlap_the_chunks_are_the_text_less_its_white_space(text: str, size: int) -> None:
    chunks = split(text, size=size, overlap=0, separators=SEPARATORS)
    assert visible("".join(chunks)) == visible(text)


@given(st.lists(st.integers(0x4E00, 0x9FFF), unique=True, max_size=300), st.data(), sizes)
def test_chunks_follow_one_another_and_share_no_more_than_the_overlap(
    codes: list[int], data: st.DataObject, bounds: tuple[int, int]
) -> None:
    size, overlap = bounds
    gaps = data.draw(st.lists(st.sampled_from(["", "", "", " ", "\n", "\n\n", "   "]), min_size=len(codes)))
    text = "".join(chr(code) + gap for code, gap in zip(codes, gaps, strict=False))
    spans = places(text, split(text, size=size, overlap=overlap, separators=SEPARATORS))
    covered = 0
    for number, (start, end) in enumerate(spans):
        assert not text[covered:start].strip(), "nothing is lost between two chunks"
        assert end > covered, "each chunk brings something new"
        if number and len(text) > size:
            assert covered - start <= overlap
        covered = end
    assert not text[covered:].strip()


@given(st.text(max_size=50))
def test_text_that_fits_is_kept_as_it_is(text: str) -> None:
    assert split(text, size=50, overlap=5, separators=SEPARATORS) == ([text] if text.strip() else [])


@given(st.lists(st.sampled_from(["e\u0301", FAMILY, "字", "\U0001f44d\U0001f3fd"]), max_size=80).map("".join))
def test_what_is_drawn_as_one_character_stays_whole(text: str) -> None:
    for chunk in split(text, size=40, overlap=10, separators=SEPARATORS):
        assert chunk[0] not in "\u0301\u200d\U0001f3fd"
        assert chunk[-1] not in "\u200d"
        assert chunk.count("\U0001f468") == chunk.count("\U0001f466"), "no family is parted"


def test_a_paragraph_end_is_better_than_a_sentence_end() -> None:
    first, second = "第一段。" * 8, "第二段。" * 8
    assert split(f"{first}\n\n{second}", size=40, overlap=0, separators=SEPARATORS) == [first, second]


def test_chinese_sentences_are_kept_whole() -> None:
    sentences = [f"这是第{number}个句子，说的是另一件事。" for number in "一二三四五六七八"]
    chunks = split("".join(sentences), size=45, overlap=0, separators=SEPARATORS)
    assert all(chunk.startswith("这是") and chunk.endswith("。") for chunk in chunks)


def test_english_words_are_kept_whole() -> None:
    words = [f"word{number}" for number in range(100)]
    chunks = split(" ".join(words), size=50, overlap=10, separators=SEPARATORS)
    assert {word for chunk in chunks for word in chunk.split()} == set(words)


def test_english_sentence_ends_are_used_where_the_caller_names_them() -> None:
    text = "One thing happened here. Another thing happened there. A third was seen."
    chunks = split(text, size=55, overlap=0, separators=("\n", ". ", " "))
    assert chunks == ["One thing happened here. Another thing happened there.", "A third was seen."]


def test_a_heading_stays_with_the_text_below_it() -> None:
    text = "标题\n\n" + "正文的一句话很长。" * 20
    assert split(text, size=60, overlap=0, separators=SEPARATORS)[0].startswith("标题\n\n正文")


def test_the_overlap_begins_at_a_sentence() -> None:
    sentences = [f"第{number}句讲一件小事。" for number in "一二三四五六七八九"]
    chunks = split("".join(sentences), size=30, overlap=12, separators=SEPARATORS)
    assert all(chunk.startswith("第") for chunk in chunks)
    assert chunks[1].startswith(chunks[0][-9:])


def test_text_without_any_separator_is_cut_where_the_chunk_is_full() -> None:
    text = "字" * 1_200
    assert [len(chunk) for chunk in split(text, size=500, overlap=50, separators=SEPARATORS)] == [500, 500, 300]


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, -1), (0, 0)])
def test_an_overlap_that_leaves_no_room_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        split("text", size=size, overlap=overlap, separators=SEPARATORS)


@pytest.mark.parametrize("unit", ["字", " ", "\n", "。", "e\u0301", "\u0301", "\U0001f1e9", "\u200d", "a "])
def test_a_megabyte_of_anything_is_split_in_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + "end"
    started = time.process_time()
    chunks = split(text, size=500, overlap=50, separators=SEPARATORS)
    assert chunks[-1].endswith("end")
    assert time.process_time() - started < 5
