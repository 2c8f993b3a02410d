"""Values are the same in every form that people write them in, and only then."""

import unicodedata

import pytest

from clearwell.comparison import RuleComparison
from clearwell.comparison.value_rules import Value
from clearwell.comparison.values import agree, find_values
from clearwell.records import Relation


def read(text: str) -> list[Value]:
    return [value for _, _, value in find_values(unicodedata.normalize("NFKC", text).lower())]


def keys(text: str) -> list[str]:
    return [value.key for value in read(text)]


SAME_FORMS = {
    "count=3": "3|three|三个|３",
    "count=1000": "1,000|1000|1k|one thousand|a thousand|一千|1千",
    "count=12000": "12,000|12k|一万二千|1.2万|1.2 万|12000 件",
    "count=1500000": "1.5 million|1,500,000|150万|150 万|一百五十万|one and a half million",
    "count=320": "320|three hundred and twenty|三百二十|三百二十张",
    "count=22": "22|twenty-two|二十二|二十二个",
    "count=2500": "2500|两千五|2,500",
    "count=2": "v2.0|2.0|version 2.0|2.0版本|twice|两次|two times|翻倍",
    "version=3.0.14": "3.0.14|v3.0.14|V3.0.14",
    "ratio=0.5": "50%|50 percent|50 per cent|half|百分之五十|一半|五成|1/2|５０％|halved|减半",
    "ratio=0.25": "25%|两成半|四分之一|a quarter of",
    "ratio=0.3333333333": "1/3|a third|one third|one-third|三分之一",
    "ratio=0.75": "75%|3/4|three quarters of|3 in 4|three out of four|四分之三",
    "ratio=0.05": "5%|one in twenty|百分之五|二十分之一",
    "month=6": "6 months|six months|half a year|半年|六个月|6个月",
    "month=18": "18 months|one and a half years|一年半|18个月",
    "second=7200": "2 h|2 hours|two hours|120 min|120 minutes|120-minute|两小时|2个小时|120分钟",
    "second=5400": "90 min|1.5 hours|1 h 30 min|an hour and a half|一个半小时|1小时30分|九十分钟",
    "second=2700": "45 minutes|three quarters of an hour|三刻钟|45分钟",
    "second=1209600": "2 weeks|14 days|two-week|两周|14天|两个星期",
    "second=0.3": "300 ms|0.3 s|300 milliseconds|300毫秒|0.3秒",
    "byte=1610612736": "1.5 GB|1.5GB|1536 MB",
    "metre=100000": "100 km|100 kilometres|100公里|100千米",
    "degree=-20": "-20 degrees|minus twenty degrees|-20°C|零下二十度|零下20℃",
    "usd=4200000": "$4.2 million|$4.2m|USD 4.2 million|4.2 million dollars|420万美元",
    "cny=12000": "12000元|一万二千元|1.2万元|¥12,000|RMB 12000",
    "cny=0.8": "0.8元|八毛钱|八毛|8毛|8角|¥0.8",
    "cny=1.5": "1.5元|一块五|一块五毛|1块5毛|一块五毛钱|一元五角",
    "cny=3.25": "3.25元|三块二毛五|3块2毛5分",
    "cny=0.05": "0.05元|五分钱",
    "eur=2500": "2,500 euros|€2,500|EUR 2500|2500欧元",
    "date=2026-01-05": "2026-01-05|2026/1/5|Jan 5, 2026|January 5th 2026|5 January 2026|2026年1月5日",
    "date=*-03-24": "24 March|March 24th|the 24th of March|3月24日|三月二十四日",
    "date=*-11-mid": "mid-November|mid November|the middle of November|11月中旬|十一月中旬",
    "date=*-11-early": "early November|the beginning of November|11月上旬|11月初",
    "date=2026-11-late": "late November 2026|the end of November 2026|2026年11月底|2026年11月下旬",
    "date=*-09-late": "the last day of September|the last week of September|9月最后一天|九月最后几天|9月底",
    "week=*-46": "week 46|calendar week 46|CW46|CW 46|week forty-six|the 46th week|第46周|第四十六周",
    "week=2026-46": "2026-W46|week 46 of 2026|week 46, 2026|2026年第46周",
    "time=930": "15:30|3:30 pm|3:30 p.m.|half past three in the afternoon|下午三点半|下午3:30|15时30分",
    "time=1320": "22:00|10 pm|10pm|晚上十点|晚上10点",
    "time=1365": "22:45|a quarter to eleven at night|晚上十点三刻",
    "weekday=5": "Friday|Fridays|周五|星期五|礼拜五",
    "quarter=4": "Q4|fourth quarter|第四季度|四季度",
    "quarter=2": "Q2|second quarter|2nd quarter|第二季度|二季度",
    "ordinal=1": "1st|first|第一|第1",
    "relative=day+1": "tomorrow|明天",
    "relative=week+1": "next week|下周|下个星期",
    "season=4": "winter|winters|冬天|冬季",
}


@pytest.mark.parametrize(
    ("key", "text"), [(key, form) for key, forms in SAME_FORMS.items() for form in forms.split("|")]
)
def test_one_key_for_every_form(key: str, text: str) -> None:
    assert keys(text) == [key]


@pytest.mark.parametrize(
    "text",
    [
        "db-prod-07", "sha256", "gpt-4", "x86_64", "3fa8", "http/2", "24/7", "the 1980s",
        "统一处理", "一旦失败", "一些人", "十分满意", "第一时间", "万一", "半导体", "二手", "进一步",
        "you may march on", "one by one", "end of the line", "the middle of the road", "early in the morning",
    ],
)  # fmt: skip
def test_words_and_identifiers_that_only_look_like_values(text: str) -> None:
    assert keys(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("一块五米长的木板", ["count=1", "metre=5"]),
        ("不到一块五没法做", ["cny=1.5"]),
        ("11月初步完成", ["date=*-11"]),
        ("第三周期", ["ordinal=3"]),
        ("46周", ["second=27820800"]),
        ("three hours a week 40 people", ["second=10800", "count=40"]),
    ],
)
def test_forms_that_only_begin_like_another_value(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


def test_a_little_is_no_time() -> None:
    assert keys("整晚一点没动静") == []
    assert keys("晚一点再说") == []
    assert keys("凌晨一点") == ["time=60"]
    assert keys("下午一点半") == ["time=810"]


def test_a_range_has_its_unit_on_both_ends() -> None:
    assert keys("between 2 and 8 degrees") == keys("2 to 8 °C") == keys("2到8度") == ["degree=2", "degree=8"]


def test_a_rate_is_no_amount() -> None:
    assert keys("three days a week") == ["second=259200"]
    assert keys("每周三次") == ["count=3"]
    assert keys("每周三开会") == ["weekday=3"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Jan 5", "2026-01-05", True),
        ("Jan 5", "2026-01-06", False),
        ("in March", "24 March", True),
        ("3:30", "15:30", True),
        ("3:30 am", "15:30", False),
        ("1 GB", "1000 MB", True),
        ("1536 MB", "1516 MB", False),
        ("33 percent", "a third", True),
        ("34 percent", "a third", False),
        ("3.71 %", "3.7 %", True),
        ("3.76 %", "3.7 %", False),
        ("1.86 million euros", "1.9 million euros", False),
        ("2.54 kg", "2540 g", True),
        ("0.54 kg", "0.5 kg", False),
        ("3.10", "3.1", False),
        ("almost two seconds", "1.8 seconds", True),
        ("two seconds", "1.8 seconds", False),
        ("about 40 files", "41 files", True),
        ("about 45 files", "47 files", False),
        ("约100人", "92人", True),
        ("100人左右", "80人", False),
        ("about half", "52 %", True),
        ("38 分 06 秒", "38 分钟", True),
        ("38 min 40 s", "38 minutes", False),
        ("1 h 10 min", "1 h", False),
        ("38 seconds", "38 minutes", False),
        ("3.0", "3", True),
        ("Friday", "last Friday", True),
        ("next Friday", "last Friday", False),
        ("3.6万", "3.6万元", True),
        ("250 mg", "250 ml", False),
        ("6 months", "180 days", False),
        ("八毛钱", "0.8元", True),
        ("八毛钱", "8元", False),
        ("一块五", "1.5元", True),
        ("一块五", "1.05元", False),
        ("一百块", "100元", True),
        ("mid-November", "15 November", True),
        ("mid-November", "24 November", False),
        ("mid-November", "in November", True),
        ("mid-November", "11月中旬", True),
        ("mid-November", "late November", False),
        ("11月底", "30 November 2026", True),
        ("11月底", "11月3日", False),
        ("week 46", "第46周", True),
        ("week 46", "2026-W46", True),
        ("week 46", "week 47", False),
        ("week 46", "46 weeks", False),
        ("2025-W46", "2026-W46", False),
        ("week 46", "12 November", True),
        ("week 46", "mid-November", True),
        ("week 46", "2 December", False),
        ("2026-W46", "12 November 2025", False),
    ],
)
def test_values_that_may_be_the_same(one: str, other: str, same: bool) -> None:
    (left,), (right,) = read(one), read(other)
    assert agree(left, right) is agree(right, left) is same


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("The pilot in Bergen starts in mid-November.", "The pilot in Bergen starts on 14 November.", Relation.SAME),
        ("The pilot in Bergen starts in mid-November.", "The pilot in Bergen starts on 2 Dec.", Relation.CONFLICT),
        ("The audit takes place in week 46.", "The audit takes place in CW46.", Relation.SAME),
        ("The audit takes place in week 46.", "The audit takes place in week 48.", Relation.CONFLICT),
        ("The audit takes place in week 46.", "The audit takes place on 2 December.", Relation.CONFLICT),
        ("The audit takes place in week 3.", "The audit takes place on 2 December.", Relation.DIFFERENT),
        ("电费每度八毛钱。", "电费每度0.8元。", Relation.SAME),
        ("电费每度八毛钱。", "电费每度0.9元。", Relation.CONFLICT),
        ("这种螺丝每个一块五。", "这种螺丝每个1.5元。", Relation.SAME),
        ("这种螺丝每个一块五。", "这种螺丝每个1.8元。", Relation.CONFLICT),
        ("The ferry keeps its generators.", "The ferry loses its generators.", Relation.CONFLICT),
        (
            "The API returns 404 if the order does not exist and 403 if it is foreign.",
            "The API returns 403 if the order does not exist and 404 if it is foreign.",
            Relation.CONFLICT,
        ),
        ("The ports are 404, 403 and 80.", "The ports are 80, 403 and 404.", Relation.SAME),
        (
            "The library is safe to use in production, as no open vulnerability is known.",
            "The library has an open vulnerability, so it must not be used in production.",
            Relation.DIFFERENT,
        ),
        ("验收安排在第46周。", "验收安排在第四十六周。", Relation.SAME),
        ("验收安排在第46周。", "验收安排在第47周。", Relation.CONFLICT),
    ],
)
def test_statements_with_values_in_words(one: str, other: str, relation: Relation) -> None:
    assert RuleComparison().compare(one, other, 0.95).relation is relation
    assert RuleComparison().compare(other, one, 0.95).relation is relation
