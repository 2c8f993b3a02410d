"""What a digest makes of statements about one subject, with vectors at a stated cosine."""

import math
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from clearwell.comparison import RuleComparison
from clearwell.flow.digest.drafting import CONTRADICTION, Draft, draft
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.records import Admission, DigestCandidate, SegmentKind, Vector

START = datetime(2026, 3, 2, tzinfo=UTC)
LOW = Thresholds(worthy=1.0)
GAUGE = "The river gauge at Lindau sends its readings over the mobile network."
GAUGE_ZH = "临江水位站通过移动网络上传读数。"
LAUNCH = "Anna Berg leads the migration of the customer database."


def vector(cosine: float) -> Vector:
    """At this cosine to ``vector(1.0)``."""
    return np.array([cosine, math.sqrt(1 - cosine**2), 0, 0], dtype=np.float32)


def row(number: int, text: str, cosine: float, agent: str) -> DigestCandidate:
    return DigestCandidate(
        log_id=UUID(int=number + 1),
        number=0,
        span=(0, len(text)),
        kind=SegmentKind.CLAIM,
        statement=text,
        text=text,
        headline=text,
        agent_id=agent,
        session_id=f"session-{number}",
        node_id=None,
        node_type="agent",
        occurred_at=START + timedelta(days=number),
        confidence=0.9,
        admission=Admission.ADMITTED,
        embedding=vector(cosine),
    )


def find_joint(*said: tuple[str, float]) -> list[Draft]:
    """The insights that rest on more than one statement, each by an agent of its own."""
    rows = [row(number, text, cosine, f"a{number}") for number, (text, cosine) in enumerate(said)]
    made = draft(rows, similarity=lambda one: max(0.0, one), comparison=RuleComparison(), thresholds=LOW).drafts
    return [one for one in made if len(one.sources) > 1]


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        (GAUGE, "The river gauge at Lindau was hit by a floating log and repaired.", 0.54),
        ("The pilot line in hall 4 produces the new casing.", "The pilot line in hall 4 is run by two people.", 0.52),
        (GAUGE_ZH, "临江水位站被漂木撞坏后已经修好。", 0.52),
        ("四号车间的试验线生产新款电池外壳。", "四号车间的试验线每班由两个人操作。", 0.52),
    ],
)
def test_another_fact_about_the_same_subject_is_no_support(one: str, other: str, cosine: float) -> None:
    assert find_joint((one, 1.0), (other, cosine)) == []


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        (
            "The ferry Aurora burns 380 litres of diesel a trip.",
            "The ferry Aurora carries 120 litres of lubricating oil.",
            0.54,
        ),
        ("The cache of the image service holds 64 GB.", "The image service delivers 900 GB of pictures a day.", 0.58),
        ("曙光号渡轮每个航次消耗柴油 380 升。", "曙光号渡轮携带润滑油 120 升。", 0.63),
        ("冲压线因液压泵故障停了 35 分钟。", "冲压线每班结束时清洁 20 分钟。", 0.4),
    ],
)
def test_amounts_of_two_things_are_no_contradiction(one: str, other: str, cosine: float) -> None:
    assert find_joint((one, 1.0), (other, cosine)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (GAUGE, "Over the mobile network we get the readings of the gauge at Lindau on the river."),
        (GAUGE_ZH, "读数由临江水位站用移动网络传上来。"),
    ],
)
def test_one_fact_in_other_words_is_support(one: str, other: str) -> None:
    (insight,) = find_joint((one, 1.0), (other, 0.6))
    assert insight.flags == ()


def test_two_facts_about_one_subject_are_two_insights() -> None:
    hit = "The river gauge at Lindau was hit by a floating log and repaired."
    insights = find_joint((GAUGE, 1.0), (f"We saw it: {GAUGE}", 1.0), (hit, 0.54), (f"The mayor wrote: {hit}", 0.54))
    assert {frozenset(source.agent_id for source in one.sources) for one in insights} == {
        frozenset({"a0", "a1"}),
        frozenset({"a2", "a3"}),
    }


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        (LAUNCH, "The customer database migration is led by Tom Reuter.", 0.7),
        ("账本的备份保留 90 天。", "账本备份我们只留 30 天。", 0.73),
    ],
)
def test_two_answers_to_one_question_contradict_each_other(one: str, other: str, cosine: float) -> None:
    (insight,) = find_joint((one, 1.0), (other, cosine))
    assert CONTRADICTION in insight.flags
    assert len(insight.sides) == 2


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        (
            (
                "The Miller bridge is open to trucks heavier than 18 tonnes.",
                "Trucks above 18 tonnes may cross the Miller bridge.",
            ),
            "Trucks over 18 tonnes are not allowed on the Miller bridge.",
        ),
        (
            ("米勒桥对 18 吨以上的货车开放。", "县里确认，18 吨以上的货车允许走米勒桥。"),
            "18 吨以上的货车不可以通过米勒桥。",
        ),
        (
            ("订单数据库只以密文形式保存卡号。", "订单库中的卡号是加密存储的。"),
            "订单库中的卡号不是加密存储的。",
        ),
    ],
)
def test_a_denial_in_other_words_is_a_contradiction(said: tuple[str, ...], denied: str) -> None:
    (insight,) = find_joint(*((text, 1.0) for text in said), (denied, 0.9))
    assert CONTRADICTION in insight.flags
    assert [source.agent_id for source in insight.sides[-1].statements] == [f"a{len(said)}"]


@pytest.mark.parametrize(
    "said",
    [
        (
            "日元没有小数，但总额存了两位小数，导致退款舍入出错。",
            "日元总额按两位小数保存，退款时会产生舍入误差。",
            "退款舍入出错，因为日元没有小数，总额却存了两位。",
        ),
        (
            "Root cause of the lost orders: a retry storm, no exponential back-off in the mobile client.",
            "Lost orders come from the mobile client, which retries without any back-off.",
            "The mobile client has to get an exponential back-off, or orders get lost.",
        ),
        (
            "Fires in the boiler room of the town hall go unseen since there is no smoke detector.",
            "The boiler room of the town hall lacks a smoke detector, which the fire brigade calls a risk.",
            "Whoever heats the town hall is in danger; the boiler room needs a smoke detector.",
        ),
        (
            "市政厅锅炉房没有烟雾探测器，起火也发现不了。",
            "消防队认为有风险：市政厅的锅炉房缺少烟雾探测器。",
            "锅炉房起火会波及整个市政厅，必须安装烟雾探测器。",
        ),
    ],
)
def test_two_halves_of_one_matter_are_no_contradiction(said: tuple[str, ...]) -> None:
    (insight,) = find_joint(*((text, 1.0) for text in said))
    assert insight.flags == ()


@pytest.mark.parametrize(
    ("filler", "text"), [("As I said, {}", GAUGE), ("Let me repeat: {}", GAUGE), ("正如我所说，{}", GAUGE_ZH)]
)
def test_a_headline_begins_without_filler_if_a_source_does(filler: str, text: str) -> None:
    (insight,) = find_joint((filler.format(text[0].lower() + text[1:]), 1.0), (text, 1.0))
    assert insight.summary == text


def test_a_denial_among_statements_that_confirm_nothing_is_no_contradiction() -> None:
    said = (
        "Read the ticket about the parser and left 12 comments for Tim.",
        "Read the notes on the parser and wrote 4 comments for Ruth.",
        "The comments for Tim on the ticket are not open any more.",
    )
    assert all(CONTRADICTION not in one.flags for one in find_joint(*((text, 1.0) for text in said)))
