"""What may be asked of retrieval, what it comes to, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clearwell.errors import InvalidInput
from clearwell.flow.retrieval.metadata_filters import MAX_CONDITIONS, MAX_STEPS, MAX_VALUES, read_filters
from clearwell.flow.retrieval.options import RetrieveOptions, plan_retrieval
from clearwell.records import NewMemory, Operator, Origin, Source
from clearwell.settings import Settings
from clearwell.text.sentences import cut_at_sentence
from tests.path import AGENT, LONG, OTHER, Path, said

NOW = datetime(2026, 11, 16, tzinfo=UTC)
DAY = timedelta(days=1)
BAD_FILTERS = [
    ("filters_form", "source=minutes"),
    ("filters_form", 3),
    ("filters_form", [["source", "minutes"]]),
    ("filters_form", [{"op": "eq"}]),
    ("filters_form", [{"key": "a", "value": 1, "sql": "1=1"}]),
    ("filters_operator", {"a": {}}),
    ("filters_operator", {"a": {"$gt": 1}}),
    ("filters_operator", {"a": {"regex": ".*"}}),
    ("filters_operator", [{"key": "a", "op": "= 1; --", "value": 1}]),
    ("filters_key", {"": 1}),
    ("filters_key", {"a..b": 1}),
    ("filters_key", {".".join("a" * (MAX_STEPS + 1)): 1}),
    ("filters_key", {"a" * 201: 1}),
    ("filters_key", [{"key": [], "value": 1}]),
    ("filters_key", [{"key": [1], "value": 1}]),
    ("text_nul", {"a\x00": 1}),
    ("text_nul", {"a": "\x00"}),
    ("text_surrogate", {"a": "\ud800"}),
    ("text_surrogate", {"\ud800": 1}),
    ("text_surrogate", {"a": {"\ud800": 1}}),
    ("text_surrogate", [{"key": "a", "op": "\ud800", "value": 1}]),
    ("filters_form", [{"key": "n"}]),
    ("filters_form", [{"key": "n", "op": "ne"}]),
    ("filters_list", {"a": {"in": "abc"}}),
    ("filters_list", {"a": {"in": []}}),
    ("filters_list", {"a": {"nin": list(range(MAX_VALUES + 1))}}),
    ("filters_bool", {"a": {"exists": 1}}),
    ("filters_order", {"a": {"gt": True}}),
    ("filters_order", {"a": {"lte": None}}),
    ("filters_order", {"a": {"lte": [1]}}),
    ("filters_value", {"a": [1]}),
    ("filters_value", {"a": float("nan")}),
    ("filters_value", {"a": {"eq": {"b": 1}}}),
    ("filters_value", {"a": "x" * 1001}),
    ("filters_many", {f"k{number}": 1 for number in range(MAX_CONDITIONS + 1)}),
]
BAD_OPTIONS = [
    ("time_range_twice", RetrieveOptions(time_range_days=1, since=NOW - DAY)),
    ("time_range_empty", RetrieveOptions(since=NOW, until=NOW)),
    ("time_naive", RetrieveOptions(since=datetime(2026, 1, 1))),  # noqa: DTZ001 - that is what is refused
    ("option_range", RetrieveOptions(time_range_days=0)),
    ("option_range", RetrieveOptions(time_range_days=float("nan"))),
    ("option_range", RetrieveOptions(max_results=0)),
    ("option_range", RetrieveOptions(max_results=101)),
    ("option_range", RetrieveOptions(hot_limit=-1)),
    ("option_range", RetrieveOptions(cold_limit=-1)),
    ("option_range", RetrieveOptions(max_chars=-1)),
    ("option_range", RetrieveOptions(relevance_threshold=1.1)),
    ("option_range", RetrieveOptions(hot_threshold=-0.1)),
    ("option_range", RetrieveOptions(recent=0)),
    ("option_range", RetrieveOptions(recent=101)),
    ("sources_form", RetrieveOptions(sources=[])),
    ("sources_form", RetrieveOptions(sources="hot")),
    ("sources_form", RetrieveOptions(sources=["quarantine"])),
    ("as_of_hot", RetrieveOptions(as_of=NOW - DAY, sources=["hot"])),
    ("id_empty", RetrieveOptions(session_id="")),
]


@pytest.mark.parametrize(("code", "given"), BAD_FILTERS, ids=[f"{n}-{code}" for n, (code, _) in enumerate(BAD_FILTERS)])
def test_what_is_no_filter_is_refused_by_name(code: str, given: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_filters(given)
    assert refused.value.code == code
    assert refused.value.field.startswith("filters")
    assert refused.value.text("en") != refused.value.text("zh")


def test_both_forms_of_filters_say_the_same() -> None:
    assert read_filters({"a.b": {"gte": 1}, "c": "x"}) == read_filters(
        [{"key": ["a", "b"], "op": "gte", "value": 1}, {"key": "c", "value": "x"}]
    )
    assert {one.operator for one in read_filters({"a": {"in": [1], "exists": True}})} == {Operator.IN, Operator.EXISTS}


@pytest.mark.parametrize(("code", "options"), BAD_OPTIONS)
def test_what_cannot_be_asked_is_refused(code: str, options: RetrieveOptions) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan_retrieval(options, Settings(), NOW)
    assert refused.value.code == code


def test_what_is_left_open_is_as_the_settings_say() -> None:
    want = plan_retrieval(RetrieveOptions(), Settings(), NOW)
    assert (want.max_results, want.hot_limit, want.cold_limit, want.max_chars) == (15, 10, 5, 500)
    assert (want.threshold, want.sources, want.where.everything) == (None, (Source.HOT, Source.COLD), True)
    assert plan_retrieval(RetrieveOptions(time_range_days=0.5), Settings(), NOW).where.since == NOW - DAY / 2


def test_what_was_verified_then_is_in_long_term_memory_alone() -> None:
    assert plan_retrieval(RetrieveOptions(as_of=NOW - DAY), Settings(), NOW).sources == (Source.COLD,)
    now = plan_retrieval(RetrieveOptions(as_of=NOW), Settings(), NOW)
    assert (now.sources, now.where.as_of) == ((Source.HOT, Source.COLD), None)


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("Short.", 500, "Short."),
        ("One. Two two. Three three three.", 20, "One. Two two."),
        ("版本 3.5 已发布。大家都很满意！后续计划待定。", 20, "版本 3.5 已发布。大家都很满意！"),
        ("他说：“好的。”然后离开了会议室。", 10, "他说：“好的。”"),
        ("Version 3.5.1 is out and nobody has complained", 20, "Version 3.5.1 is out"),
        ("一二三四五六七八九十", 4, "一二三四"),
        ("x" * 20, 7, "x" * 7),
        ("Yes. " + "y" * 100, 50, "Yes. " + "y" * 45),
        ("e\u0301" * 5, 5, "e\u0301" * 2),
        ("ab👩\u200d💻cd", 4, "ab"),
        ("anything at all", 0, "anything at all"),
    ],
)
def test_text_is_cut_at_a_sentence_else_at_a_word_else_at_a_character(text: str, most: int, shown: str) -> None:
    assert cut_at_sentence(text, most) == shown


async def test_long_items_are_cut_and_marked() -> None:
    path = Path()
    long = " ".join([LONG] * 10)
    await path.memory.acting_as(AGENT).capture(said(long), wait=True)
    (item,) = (await path.memory.acting_as(AGENT).retrieve("payment", group="g")).items
    assert (len(item.content) <= 500, item.content.endswith("."), item.cut) == (True, True, True)
    whole = RetrieveOptions(max_chars=0)
    (item,) = (await path.memory.acting_as(AGENT).retrieve("payment", group="g", options=whole)).items
    assert (item.content, item.cut) == (long, False)


async def test_each_option_is_of_both_tiers() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(replace(said(source="chat"), session_id="s1"), wait=True)
    path.clock.forward(timedelta(hours=2))
    await path.memory.promote(OTHER, group="g", session_id="s2", metadata={"source": "minutes"})

    async def found(options: RetrieveOptions) -> set[str]:
        options = replace(options, hot_threshold=0)
        return {
            item.source.value
            for item in (await path.memory.acting_as(AGENT).retrieve("x", group="g", options=options)).items
        }

    assert await found(RetrieveOptions()) == {"hot", "cold"}
    assert await found(RetrieveOptions(sources=["hot"])) == {"hot"}
    assert await found(RetrieveOptions(sources=["cold"])) == {"cold"}
    assert await found(RetrieveOptions(session_id="s1")) == {"hot"}
    assert await found(RetrieveOptions(session_id="s2")) == {"cold"}
    assert await found(RetrieveOptions(filters={"source": "chat"})) == {"hot"}
    assert await found(RetrieveOptions(filters={"source": {"in": ["chat", "minutes"]}})) == {"hot", "cold"}
    assert await found(RetrieveOptions(time_range_days=1 / 24)) == {"cold"}
    assert await found(RetrieveOptions(until=path.clock.now() - timedelta(hours=1))) == {"hot"}


async def test_as_of_another_time_says_that_working_memory_was_not_asked() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await path.memory.promote(OTHER, group="g")
    path.clock.forward(DAY / 2)
    await path.memory.promote("The backups are now kept for ninety days.", group="g")
    then = RetrieveOptions(as_of=path.clock.now() - DAY / 4)
    found = await path.memory.acting_as(AGENT).retrieve("backups", group="g", options=then)
    assert ([item.content for item in found.items], found.sources) == ([OTHER], (Source.COLD,))


async def test_explained_items_say_what_their_scores_are_made_of() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await path.memory.promote(OTHER, group="g")
    path.clock.forward(timedelta(minutes=1))
    plain = await path.memory.acting_as(AGENT).retrieve("billing backups", group="g")
    assert all(item.explanation is None for item in plain.items)
    options = RetrieveOptions(explain=True, hot_threshold=0)
    found = await path.memory.acting_as(AGENT).retrieve("billing backups", group="g", options=options)
    cold, hot = (item.explanation for item in sorted(found.items, key=lambda one: one.source.value))
    assert cold is not None
    assert cold.parts is not None
    assert cold.rank == pytest.approx(cold.parts.dense + cold.parts.lexical)
    assert (cold.words > 0.5, cold.parts.author, cold.age_seconds) == (True, 0, None)
    assert hot is not None
    assert hot.parts is not None
    assert hot.rank == hot.parts.total
    assert (hot.words, hot.parts.lexical, hot.age_seconds) == (0, 0, 60)


async def test_a_weight_of_zero_switches_its_part_off() -> None:
    path = Path(
        settings=Settings(fusion_lexical=0, fusion_author=0, fusion_neighbour=0, fusion_answer=0, fusion_session=0)
    )
    await path.memory.promote(OTHER, group="g", author="Ann", session_id="s")
    options = RetrieveOptions(explain=True)
    (item,) = (await path.memory.acting_as(AGENT).retrieve("did Ann see billing", group="g", options=options)).items
    assert item.explanation is not None
    parts = item.explanation.parts
    assert parts is not None
    assert (parts.lexical, parts.author, parts.neighbour, parts.answer, parts.session) == (0, 0, 0, 0, 0)
    assert parts.dense > 0


async def test_what_was_promoted_from_an_entry_or_says_the_same_comes_once() -> None:
    path = Path()
    first = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await path.memory.acting_as(AGENT).capture(said(OTHER), wait=True)
    reworded = NewMemory(content="Payments run on the new cluster.", origin=Origin.WORKING, origin_id=first.id)
    await path.memory.promote_many([reworded, NewMemory(content=f"  {OTHER.upper()}\n")], group="g")
    found = await path.memory.acting_as(AGENT).retrieve("payment service cluster billing backups", group="g")
    assert [item.source for item in found.items] == [Source.COLD, Source.COLD]
