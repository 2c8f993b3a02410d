"""What a digest makes of statements, with vectors made by hand: each word of a subject is a direction of its own."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from clearwell.comparison import RuleComparison, features_of
from clearwell.flow.digest.drafting import (
    CONFLICTS_WITH_VERIFIED,
    CONTRADICTION,
    DUPLICATES_VERIFIED,
    NEAR_REJECTED,
    SINGLE_AUTHOR,
    DraftLimits,
    Drafts,
    KnownText,
    RejectedText,
    draft,
    scores,
)
from clearwell.flow.digest.drafting.clusters import make_cluster
from clearwell.flow.digest.drafting.disputes import find_dispute
from clearwell.flow.digest.drafting.oppositions import Opposition
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.flow.digest.drafting.space import Space
from clearwell.records import Admission, DigestCandidate, Layer, SegmentKind, Vector

START = datetime(2026, 3, 2, tzinfo=UTC)
LOW = Thresholds(worthy=1.0)
"""What two agents say in a few words is shown as well."""
SUBJECTS = ("certificate", "retention", "refund", "report", "invoice", "backup", "coupon", "gateway")
SAYINGS = {
    "certificate": ("The certificate of the partner portal ends on 3 June.", "合作门户的证书 6 月 3 日到期。"),
    "retention": ("Click events are kept for 90 days, then deleted.", "点击事件保留 90 天，之后删除。"),
    "refund": ("Large refunds are approved by Marta Lindqvist.", "大额退款由 Marta Lindqvist 审批。"),
    "report": ("The revenue report scans the whole ledger table.", "营收报表会扫描整个总账表。"),
    "invoice": ("Invoices for Sydney carry yesterday's date.", "悉尼客户的发票日期早了一天。"),
    "backup": ("Restoring the wiki from its backup takes two hours.", "用备份恢复知识库需要两小时。"),
    "coupon": ("The coupon test reads the real clock and is flaky.", "优惠券测试读取真实时钟，不稳定。"),
    "gateway": ("The payment gateway retries without any back-off.", "支付网关没有退避就重试。"),
}


def similarity(cosine: float) -> float:
    return max(0.0, min(1.0, cosine))


def vector(subject: str, number: int = 0) -> Vector:
    """Near the other vectors of its subject (cosine .9), far from all others."""
    own = np.random.default_rng(sum(map(ord, subject))).normal(size=64)
    noise = np.random.default_rng([number, len(subject)]).normal(size=64)
    mixed = own / np.linalg.norm(own) + 0.3 * noise / np.linalg.norm(noise)
    made: Vector = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    return made


def row(number: int, subject: str, content: str, agent: str | None, **changes: object) -> DigestCandidate:
    made = DigestCandidate(
        log_id=UUID(int=number + 1),
        number=0,
        span=(0, len(content)),
        kind=SegmentKind.CLAIM,
        statement=content,
        text=content,
        headline=content,
        agent_id=agent,
        session_id=f"session-{number}",
        node_id=None,
        node_type="agent",
        occurred_at=START + timedelta(days=number % 20),
        confidence=0.9,
        admission=Admission.ADMITTED,
        embedding=vector(subject, number),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def said(subject: str, agents: Sequence[str], start: int = 0) -> list[DigestCandidate]:
    texts = SAYINGS[subject]
    return [row(start + at, subject, texts[at % 2], agent) for at, agent in enumerate(agents)]


def everything() -> list[DigestCandidate]:
    rows: list[DigestCandidate] = []
    for at, subject in enumerate(SUBJECTS):
        rows += said(subject, [f"agent-{(at + step) % 7}" for step in range(4)], start=10 * at)
    return rows


def drafted(rows: Sequence[DigestCandidate], **changes: object) -> Drafts:
    return draft(rows, similarity=similarity, comparison=RuleComparison(), **changes)  # type: ignore[arg-type]


def test_the_order_of_rows_makes_no_difference() -> None:
    rows = everything()
    first = drafted(rows)
    for seed in range(3):
        shuffled = random.Random(seed).sample(rows, len(rows))
        again = drafted(shuffled)
        assert [[one.log_id for one in made.sources] for made in again.drafts] == [
            [one.log_id for one in made.sources] for made in first.drafts
        ]
        assert again.report == first.report
    assert len(first.drafts) == len(SUBJECTS)


def test_two_languages_make_one_insight() -> None:
    made = drafted(said("retention", ["a", "b", "c", "d"])).drafts
    assert len(made) == 1
    assert {source.text for source in made[0].sources} == set(SAYINGS["retention"])
    assert made[0].support.agents == 4


def in_one_session(rows: Sequence[DigestCandidate]) -> list[DigestCandidate]:
    return [replace(one, session_id="meeting") for one in rows]


def score_of(subject: str, rows: Sequence[DigestCandidate]) -> float:
    (made,) = (one for one in drafted(rows, thresholds=LOW).drafts if one.sources[0].text in SAYINGS[subject])
    return made.score


def test_what_is_from_one_session_counts_less_beside_what_is_from_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MANY_TEXTS", 1)
    invoices, reports = said("invoice", ["a", "b"]), said("report", ["a", "b"], start=20)
    alike = score_of("invoice", [*invoices, *reports])
    assert score_of("invoice", [*in_one_session(invoices), *reports]) == pytest.approx(0.8 * alike, rel=0.01)
    alone = [*in_one_session(invoices), *in_one_session(reports)]
    assert score_of("invoice", alone) == pytest.approx(alike, rel=0.01)


@pytest.mark.parametrize(
    ("fact", "own"),
    [
        (
            ("The refund queue is read twice a day.", "Twice a day, the refund queue is read."),
            ("I read the refund queue twice a day.", "Twice a day, the refund queue is read by me."),
        ),
        (("退款队列每天读两次。", "每天两次读取退款队列。"), ("我每天读两次退款队列。", "退款队列每天由我读两次。")),
    ],
)
def test_statements_in_the_first_person_count_less(fact: Sequence[str], own: Sequence[str]) -> None:
    def score(texts: Sequence[str]) -> float:
        rows = [row(at, "refund", text, f"agent-{at}") for at, text in enumerate(texts)]
        made = drafted([*rows, *said("report", ["x", "y"], start=20)], thresholds=Thresholds(worthy=0.1)).drafts
        return next(one.score for one in made if one.sources[0].text in texts)

    assert score(own) < 0.8 * score(fact)


def test_the_keys_behind_the_names_of_agents_are_counted() -> None:
    """Names are free: what one key says under four names has four agents and one key."""
    rows = said("invoice", ["a", "b", "c", "d"])

    def count(*callers: str) -> tuple[int, int]:
        behind = [replace(row, captured_by=by) for row, by in zip(rows, callers, strict=True)]
        (made,) = drafted(behind).drafts
        return made.support.agents, made.support.keys

    one, two = f"key:{UUID(int=1)}", f"key:{UUID(int=2)}"
    assert count(one, one, f"{one}/agent", one) == (4, 1)
    assert count(one, two, one, "local") == (4, 2)
    assert count("local", "local", "local/agent", "local") == (4, 0)


def test_one_agents_copies_are_one_voice_and_no_insight_beside_supported_ones() -> None:
    flood = [row(500 + at, "flood", f"Everybody must buy the Quasar tool now{'!' * at}", "loud") for at in range(9)]
    rows = [*said("report", ["a", "b", "c"]), *flood]
    made = drafted(rows).drafts
    assert [one.support.agents for one in made] == [3]
    assert all(source.agent_id != "loud" for one in made for source in one.sources)


def test_with_nobody_agreeing_single_statements_are_shown_and_marked() -> None:
    rows = [row(at, subject, SAYINGS[subject][0], "only") for at, subject in enumerate(SUBJECTS)]
    result = drafted(rows)
    assert 1 <= len(result.drafts) <= DraftLimits().min_insights
    assert all(SINGLE_AUTHOR in one.flags for one in result.drafts)
    assert result.report["fallback"] is True


def test_a_contradiction_is_flagged_and_has_two_sides() -> None:
    rows = said("retention", ["a", "b", "c", "d"])
    rows.append(row(50, "retention", "Click events are kept for 30 days, then deleted.", "e"))
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert any(found.of == UUID(int=51) and found.layer is Layer.QUARANTINE for found in made.contradictions)
    assert [side.support.agents for side in made.sides] == [4, 1]
    assert made.best is made.sides[0].best
    assert "90" in made.summary
    assert "30 days" in made.sides[1].best.headline
    assert made.support.agents == 5


def test_a_mark_of_admission_is_no_contradiction_between_sources() -> None:
    rows = [replace(one, flags=(CONTRADICTION, "conflict")) for one in said("retention", ["a", "b", "c", "d"])]
    (made,) = drafted(rows).drafts
    assert made.flags == ()
    assert made.sides == ()


def test_what_is_verified_is_compared() -> None:
    def memory(content: str) -> KnownText:
        return KnownText(id=UUID(int=900), content=content, embedding=vector("retention", 77))

    rows = said("retention", ["a", "b", "c", "d"])
    same = drafted(rows, known=[memory("Click events are kept for 90 days, then deleted.")]).drafts[0]
    other = drafted(rows, known=[memory("Click events are kept for 14 days, then deleted.")]).drafts[0]
    assert DUPLICATES_VERIFIED in same.flags
    assert CONFLICTS_WITH_VERIFIED in other.flags
    assert [found.against for found in other.contradictions if found.layer is Layer.LONGTERM] == [UUID(int=900)]
    assert [near.id for near in other.nearest] == [UUID(int=900)]
    assert other.score > same.score


def test_what_is_near_a_rejected_value_comes_last_and_says_why() -> None:
    rejected = RejectedText(reason="hearsay", at=START, embedding=vector("backup", 99))
    made = drafted(everything(), rejected=[rejected]).drafts
    assert [NEAR_REJECTED in one.flags for one in made] == [False] * (len(made) - 1) + [True]
    assert made[-1].near_rejected is not None
    assert (made[-1].near_rejected.reason, made[-1].near_rejected.at) == ("hearsay", START)


def test_one_agent_never_fills_a_digest_and_the_cap_is_reported() -> None:
    rows: list[DigestCandidate] = []
    for at, subject in enumerate(SUBJECTS):
        rows += [row(100 * at + step, subject, SAYINGS[subject][step % 2], "loud") for step in range(3)]
        rows.append(row(100 * at + 50, subject, SAYINGS[subject][0], f"quiet-{at}"))
    result = drafted(rows, limits=DraftLimits(max_insights=4, agent_share=0.5), thresholds=LOW)
    assert len(result.drafts) == 2
    assert result.report["capped"] == {"agent loud": 6}


def test_a_reliable_agent_weighs_more() -> None:
    rows = said("report", ["a", "b"]) + said("coupon", ["c", "d"], start=20)
    made = drafted(rows, reliability={"a": 0.1, "b": 0.1, "c": 1.0, "d": 1.0}).drafts
    assert made[0].sources[0].agent_id in {"c", "d"}


def test_flags_of_sources_are_carried_up() -> None:
    rows = said("report", ["a", "b", "c"])
    rows[0] = replace(rows[0], flags=("hidden_text",))
    (made,) = drafted(rows).drafts
    assert "hidden_text" in made.flags


@pytest.mark.parametrize(
    ("whole", "piece"),
    [
        (
            "The gateway of the north mill restarts itself when the line drops.",
            "Gateway of the north mill, restarts itself when the line drops, north mill gateway line",
        ),
        (
            "The gateway of the north mill restarts itself when the line drops.",
            "This is why the gateway of the north mill restarts itself when the line drops, north mill gateway line.",
        ),
        ("北磨坊的网关在线路中断时会自动重启。", "北磨坊网关, 线路中断, 自动重启, 北磨坊网关线路中断时重启"),
    ],
)
def test_the_headline_is_a_whole_sentence_that_can_be_read_alone(whole: str, piece: str) -> None:
    (made,) = drafted([row(1, "gateway", piece, "a"), row(2, "gateway", whole, "b")]).drafts
    assert made.summary == whole


def test_the_headline_is_that_of_a_source_and_a_whole_one_where_there_is_one() -> None:
    for made in drafted(everything()).drafts:
        assert made.summary in {source.headline for source in made.sources}
    rows = said("report", ["a", "b", "c", "d"])
    long = "As the whole team knows from years of closing the books by hand, night after night, " * 3
    cut = [
        replace(one, statement=long + one.text, headline=f"{long[:150]}…") if one.agent_id != "c" else one
        for one in rows
    ]
    (made,) = drafted(cut).drafts
    assert made.best.agent_id == "c"


def test_of_one_row_the_best_statement_is_a_source() -> None:
    rows = said("report", ["a", "b", "c"])
    again = replace(rows[0], number=1, text="The report scans the ledger table, as I said, the whole ledger table.")
    (made,) = drafted([*rows, again]).drafts
    assert sorted(source.log_id for source in made.sources) == [one.log_id for one in rows]


def test_who_repeats_a_text_in_one_session_quotes_it() -> None:
    alone = row(1, "report", SAYINGS["report"][0], "a", session_id="s")
    quoted = row(2, "report", SAYINGS["report"][0], "b", session_id="s")
    elsewhere = row(3, "report", SAYINGS["report"][0], "b", session_id="t")
    others = said("coupon", ["c", "d"], start=20)
    assert [one.sources[0].agent_id for one in drafted([alone, quoted, *others], thresholds=LOW).drafts] == ["c"]
    assert len(drafted([alone, elsewhere, *others], thresholds=LOW).drafts) == 2


def test_evidence_supports_and_is_no_insight_by_itself() -> None:
    rows = [replace(one, evidence=True) for one in said("report", ["a", "b", "c", "d"])]
    agreed = said("coupon", ["c", "d"], start=20)
    (made,) = drafted([*rows, *agreed], thresholds=LOW).drafts
    assert made.sources[0].text in SAYINGS["coupon"]
    own = row(60, "report", "The revenue report scans all of the ledger table.", "e")
    both = drafted([*rows, own, *agreed], thresholds=LOW).drafts
    assert {len(one.sources) for one in both} == {5, 2}


def test_a_decision_of_the_chair_ranks_up() -> None:
    rows = said("report", ["a", "b"]) + said("coupon", ["a", "b"], start=20)
    for subject in ("report", "coupon"):
        led = [replace(one, node_type="chair") if one.text in SAYINGS[subject] else one for one in rows]
        assert drafted(led).drafts[0].sources[0].text in SAYINGS[subject]


def test_what_is_supported_and_not_shown_is_counted() -> None:
    result = drafted(everything(), limits=DraftLimits(max_insights=3))
    assert (len(result.drafts), result.report["waiting"]) == (3, len(SUBJECTS) - 3)


def test_no_rows_and_rows_without_vectors_make_no_insight() -> None:
    assert drafted([]).drafts == ()
    result = drafted([replace(one, embedding=None) for one in everything()])
    assert result.drafts == ()
    assert result.report["without_vector"] == len(everything())


def test_one_text_that_several_agents_say_is_agreement() -> None:
    rows = [row(at, "report", SAYINGS["report"][0], f"agent-{at}", embedding=vector("report")) for at in range(3)]
    rows += [row(20 + at, subject, SAYINGS[subject][0], "a") for at, subject in enumerate(SUBJECTS) if at != 3]
    (made,) = drafted(rows).drafts
    assert made.support.agents == 3


def test_a_series_is_no_agreement() -> None:
    rows = [
        row(at, "gateway", f"Finished step {at + 3} of the import, {7 * at + 5} rows looked at.", f"agent-{at % 6}")
        for at in range(12)
    ]
    rows += said("report", ["x", "y", "z"], start=40)
    result = drafted(rows)
    assert [one.support.agents for one in result.drafts] == [3]
    assert result.report["series"] == 1


def test_what_has_more_than_four_values_is_a_series_and_no_dispute() -> None:
    things = ("quarterly slides", "glossary", "newsletter", "printer on floor two")
    texts = [f"I have summarised the {things[at % 4]} in {10 + at} bullet points as requested." for at in range(12)]
    rows = [row(at, "gateway", text, f"agent-{at}") for at, text in enumerate(texts)]
    result = drafted([*rows, *said("report", ["x", "y", "z"], start=40)])
    assert [one.support.agents for one in result.drafts] == [3]
    assert result.report["series"] == 1


def test_a_dispute_without_agreement_is_shown_and_flagged() -> None:
    rows = [
        row(at, "retention", f"Compliance requires that we retain audit logs for {days} days.", f"agent-{at}")
        for at, days in enumerate((30, 60, 90, 180))
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert len(made.sources) == 4


def test_a_disputed_day_is_shown_with_who_departs() -> None:
    texts = (
        "Deployments to production are frozen on Fridays.",
        "On Fridays no deployments to production are allowed.",
        "There is a production deployment freeze every Friday.",
        "Deployments to production are frozen on Mondays.",
    )
    (made,) = drafted([row(at, "gateway", text, f"agent-{at}") for at, text in enumerate(texts)]).drafts
    assert any(found.of == UUID(int=4) and found.reason == "conflict_date" for found in made.contradictions)


def test_rows_that_name_nobody_are_one_voice() -> None:
    rows = [row(at, "report", SAYINGS["report"][at % 2], None, session_id=None) for at in range(4)]
    result = drafted(rows)
    assert result.report["fallback"] is True
    assert [(one.support.agents, one.support.sessions) for one in result.drafts] == [(1, 1)]
    (made,) = drafted([*rows, row(9, "report", SAYINGS["report"][0], "a")]).drafts
    assert made.support.agents == 2


def test_names_that_differ_in_case_or_width_are_one_agent() -> None:
    rows = said("report", ["Scout", "SCOUT", "ｓｃｏｕｔ", "writer"])
    (made,) = drafted(rows).drafts
    assert made.support.agents == 2


def test_a_flood_waits_while_anybody_else_has_something_to_say() -> None:
    flood = [row(at, "flood", f"Everybody must buy the Quasar tool now{'!' * at}", "loud") for at in range(20)]
    other = row(50, "gateway", SAYINGS["gateway"][0], "quiet")
    (made,) = drafted([*flood, other]).drafts
    assert [source.agent_id for source in made.sources] == ["quiet"]
    (made,) = drafted(flood).drafts
    assert SINGLE_AUTHOR in made.flags
    assert made.support.agents == 1


def opposed(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The places of texts, each of an agent of its own, that a digest holds against each other."""
    made = drafted([row(at, "gateway", text, f"agent-{at}") for at, text in enumerate(texts)]).drafts
    return [(found.of.int - 1, found.against.int - 1) for one in made for found in one.contradictions]


def test_a_date_without_its_day_hides_no_departure() -> None:
    texts = (
        "Spain gets the loyalty programme on May 3rd.",
        "Launch of loyalty in Spain: May 3.",
        "Spain has the loyalty programme in May.",
        "Marketing told me the Spanish launch of the loyalty programme is on May 17th.",
    )
    found = opposed(texts)
    assert found
    assert all(3 in pair for pair in found)


def test_other_subjects_in_the_same_frame_are_not_opposed() -> None:
    texts = (
        "The contract with the cloud vendor expires on 30 September 2027.",
        "与云厂商的合同将于2027年9月30日到期。",
        "我们和云厂商签的合同 2027-09-30 到期。",
        "The contract with the catering company expires on 31 January 2027.",
    )
    assert opposed(texts) == []


def test_three_names_for_one_post_are_a_dispute() -> None:
    texts = [f"The lead of the Atlas project is {name}." for name in ("Mia Chen", "Omar Diaz", "Ines Roth")]
    assert opposed(texts)


def test_each_with_a_value_of_its_own_contradicts_nobody() -> None:
    """However alike they look: a record for each event, and nobody confirms one."""
    for texts in (
        [f"Stock count in aisle {at + 3}: {at * 71 + 40} pieces." for at in range(6)],
        [f"The weather looks bad for {day}, take a coat." for day in ("Monday", "Tuesday", "Friday", "Sunday") * 3],
        [f"来自112.204.{at}.22{at}的请求返回{3441 + at * 17}字节。" for at in range(6)],
        [f"Merged commit {at}f9d5ca{at} into main." for at in range(6)],
    ):
        assert not opposed(texts)


def test_one_sentence_about_several_things_contradicts_nothing() -> None:
    kept = [f"Schema changes of the {name} cluster are rolled out before the deploy." for name in ("orders",) * 3]
    others = [f"Schema changes of the {name} cluster are rolled out after the deploy." for name in ("mail", "chat")]
    assert not opposed([*kept, *others])
    assert opposed([*kept, "Schema changes of the orders cluster are rolled out after the deploy."])


def test_two_persons_for_one_duty_are_a_dispute_though_both_texts_have_a_word_like_a_name() -> None:
    """The dictionary of the segmenter has 安保 as a name, and not 马继东."""
    texts = (
        "搬运期间现场安保由保卫科马继东统一负责，岗位表他已经排出来了。",
        "现场安保的补贴由马继东签字，因为搬运期间的现场安保归他负责。",
        "合同写明搬运期间现场安保由项目经理梁珊全面负责。",
        "搬运期间管现场安保的是项目经理梁珊，由她负责。",
    )
    assert opposed(texts)


def test_a_given_name_that_the_dictionary_has_as_a_noun_is_a_name_and_a_title_is_none() -> None:
    texts = (
        "秤的接口联调归信息部罗志远负责。",
        "秤和地磅的接口联调，信息部罗志远在管。",
        "秤的接口联调由设备部的邱建平来做。",
    )
    assert opposed(texts)
    assert not opposed([text.replace("邱建平", "邱主任") for text in texts])


@pytest.mark.parametrize(
    "texts",
    [
        (
            "We buy the cabinet with 168 lockers, two of them for heavy parcels.",
            "The cabinet in the hall: 168 lockers, one row less does not pay.",
            "I was there when the maker measured: the cabinet has 216 lockers in 6 groups.",
        ),
        (
            "综合门厅宽度和招标参数，首批取餐柜按168格采购，放在一楼。",
            "取餐柜首批168格，多一列都摆不下。",
            "厂家来复尺时我在场，首批取餐柜216格，分六组。",
        ),
    ],
)
def test_numbers_of_one_thing_are_compared_beside_other_numbers(texts: Sequence[str]) -> None:
    assert opposed(texts)


def test_a_word_that_opens_a_sentence_is_no_given_name() -> None:
    texts = (
        "Since Brandl has the transport contract, all crews are checked.",
        "The Brandl crews are checked, since Brandl has the transport contract.",
        "With the transport contract at Brandl all crews are checked.",
    )
    assert not opposed(texts)


@pytest.mark.parametrize(
    "texts",
    [
        (
            "We use PostgreSQL as the database of the order service.",
            "We use MongoDB as the database of the order service, as the board decided.",
        ),
        (
            "All integration tests of the payment module pass on the release branch.",
            "Four integration tests of the payment module fail on the release branch.",
        ),
        ("订单数据必须保留 7 年，这是税务局的要求。", "订单数据的保留期限是 10 年，不是 7 年，法务已经确认过。"),
        ("新版支付网关上线之前必须完成渗透测试。", "新版支付网关上线之前不需要做渗透测试，安全部同意豁免。"),
        ("运维团队共有 8 人，其中两人负责夜间值班。", "运维团队现有十二人，其中两人负责夜间值班。"),
    ],
)
def test_two_agents_that_contradict_each_other_are_a_dispute(texts: Sequence[str]) -> None:
    assert opposed(texts)


def test_an_agent_that_changed_its_mind_is_on_the_side_of_its_latest_statement() -> None:
    early, late = "The migration to Lyon starts on 2 March.", "The migration to Lyon starts on 23 March."
    rows = [
        row(at, "gateway", text, agent) for at, (text, agent) in enumerate([(early, "a"), (early, "b"), (late, "a")])
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    back = [
        row(at, "gateway", text, agent) for at, (text, agent) in enumerate([(late, "a"), (early, "b"), (early, "a")])
    ]
    assert all(CONTRADICTION not in one.flags for one in drafted(back).drafts)


def test_what_stands_below_two_headings_is_about_two_things() -> None:
    said = [("Leipzig", "It has 14 docks for trucks."), ("Dresden", "It has 9 docks for trucks.")]
    said += [("Leipzig", "It opens at six."), ("Dresden", "It opens at six.")]
    rows = [
        row(at, "gateway" if "docks" in text else "coupon", text, f"agent-{at % 2}", headline=f"{heading}: {text}")
        for at, (heading, text) in enumerate(said)
    ]
    made = drafted(rows).drafts
    assert all(one.flags == (SINGLE_AUTHOR,) and len(one.sources) == 1 for one in made)


def test_a_slip_of_the_pen_contradicts_nothing() -> None:
    texts = ["The orders cluster moves to Zurich.", "The orders cluster moves to Zurich now."]
    for slip in ("The orders clsuter moves to Zurich.", "The orrders cluster moves to Zurich.", "订单集群迁往黎世。"):
        assert not opposed([*texts, "订单集群迁往苏黎世。", slip])


def test_what_one_agent_says_twice_in_two_ways_needs_another_to_be_a_dispute() -> None:
    same = [row(at, "backup", f"Restoring the wiki takes {hours} hours.", "a") for at, hours in enumerate((2, 2, 3))]
    other = row(5, "backup", "Restoring the wiki needs a ticket first.", "b")
    assert not any(one.contradictions for one in drafted([*same, other]).drafts)


def test_one_agent_fills_no_digest_in_which_nobody_confirms_anything() -> None:
    solo = [row(at, subject, SAYINGS[subject][0], "solo") for at, subject in enumerate(SUBJECTS[:6])]
    other = [row(20 + at, subject, SAYINGS[subject][0], "other") for at, subject in enumerate(SUBJECTS[6:])]
    made = drafted([*solo, *other])
    assert sorted(one.sources[0].agent_id or "" for one in made.drafts) == ["other", "other", "solo", "solo"]
    assert made.report["capped"] == {"agent solo": 4}
    assert len(drafted(solo).drafts) == 5


def test_among_many_texts_single_statements_are_not_shown_in_place_of_supported_ones() -> None:
    rows = [row(at, f"subject {at}", f"Part {at} of the depot has the number {7 * at}.", "a1") for at in range(220)]
    rows += [row(300 + at, "coffee", "The coffee is good today.", f"agent-{at}") for at in range(2)]
    found = drafted(rows)
    assert (len(found.drafts), found.report["fallback"]) == (0, False)


def test_only_what_is_worth_it_is_shown() -> None:
    chatter = [
        row(100 + 10 * at + who, f"chatter {at}", text, f"agent-{who}")
        for at, text in enumerate(("ok, thanks", "收到，谢谢", "done", "see you"))
        for who in range(2)
    ]
    assert len(drafted([*everything(), *chatter]).drafts) == len(SUBJECTS)
    assert len(drafted([*said("refund", ["a", "b", "c"]), *chatter]).drafts) == 1


def test_a_statement_that_says_more_comes_before_a_remark_that_shares_as_much() -> None:
    remarks = ["Brackets row nine mounted.", "Row nine brackets are mounted."]
    specific = [
        "The landlord takes the warehouse back on 30 November, swept, painted and without our racking or cables.",
        "Our lawyer reads the contract so: on 30 November the keys of this warehouse return to the landlord.",
    ]
    rows = [row(at, "gateway", text, f"agent-{at}") for at, text in enumerate(remarks)]
    rows += [row(10 + at, "backup", text, f"agent-{at}") for at, text in enumerate(specific)]
    assert drafted(rows).drafts[0].summary in specific


def test_what_is_told_of_other_things_is_left_out_of_a_cluster() -> None:
    texts = [f"The {name} cluster rejects certificates older than {days} days." for name, days in (("orders", 90),) * 3]
    texts += [
        f"The {name} cluster rejects certificates older than {days} days."
        for name, days in (("mail", 30), ("chat", 60))
    ]
    (made,) = drafted([row(at, "gateway", text, f"agent-{at}") for at, text in enumerate(texts)]).drafts
    assert {source.text for source in made.sources} == {texts[0]}
    assert not made.contradictions


def test_another_name_or_date_in_free_words_is_found() -> None:
    assert opposed(
        (
            "The crane course of the riggers is run by Olga Petersen this year.",
            "Olga Petersen, who knows the yard, gives the riggers their crane course.",
            "According to the new chart the crane course for riggers is Pavel Novak's to run.",
        )
    )
    assert opposed(
        (
            "The gearboxes for the north mill arrive on 12 May, says the forwarder.",
            "North mill: the yard expects its gearboxes by 12 May.",
            "The ship with the gearboxes of the north mill docks no earlier than 30 June.",
        )
    )


def test_the_other_side_is_found_outside_of_the_cluster() -> None:
    """Each side agrees with itself more than with the other, and yet they answer one question."""
    texts = (
        "The tide gate at Holm is repaired by Anna Weber, who has drawings and a permit.",
        "Anna Weber, with drawings and a permit in hand, repairs the tide gate at Holm.",
        "The tide gate at Holm belongs to Piet Kramer of the harbour office since spring.",
        "Since spring Piet Kramer of the harbour office looks after the tide gate at Holm.",
    )
    away = 0.4 * vector("gate") + vector("office")
    rows = [
        row(200 + at, "gate", text, f"agent-{at}", embedding=vector("gate", at) if at < 2 else away)
        for at, text in enumerate(texts)
    ]
    made = drafted([*rows, *everything()]).drafts
    (found,) = [one for one in made if CONTRADICTION in one.flags]
    assert [side.support.agents for side in found.sides] == [2, 2]
    assert not any("Holm" in one.summary for one in made if one is not found)


def test_supporters_of_both_sides_are_found_outside_of_the_cluster() -> None:
    """The cluster holds one text of each side; who else takes a side belongs to it, whichever it is."""
    texts = (
        "The old tide gate at Holm is closed for good at the end of September, says the plan.",
        "The old tide gate at Holm stays in use until the end of May, says the harbour office.",
        "My note on the lock keeper's letter: on the last day of September Holm loses its gate.",
    )
    away = 0.5 * vector("gate") + vector("office")
    rows = [
        row(200 + at, "gate", text, f"agent-{at}", embedding=vector("gate", at) if at < 2 else away)
        for at, text in enumerate(texts)
    ]
    (found,) = [one for one in drafted([*rows, *everything()]).drafts if CONTRADICTION in one.flags]
    assert [side.support.agents for side in found.sides] == [2, 1]


def test_a_season_and_a_month_outside_of_it_are_opposed() -> None:
    says = "The old archive server of the registry is switched off at the end of {}."
    assert opposed((says.format("September"), says.format("September") + " Yes.", says.format("spring")))
    assert not opposed((says.format("September"), says.format("September") + " Yes.", says.format("autumn")))


def test_a_name_in_two_scripts_is_no_dispute() -> None:
    assert not opposed(
        (
            "The keys of the boat house are kept by Rosa Lindt.",
            "Rosa Lindt keeps the keys of the boat house.",
            "船屋的钥匙由罗莎保管。",
            "船屋钥匙归罗莎保管。",
        )
    )


def test_a_bound_denies_no_value() -> None:
    assert not opposed(
        (
            "A stop at the north quay leaves no more than 14 minutes for refuelling the launch.",
            "Refuelling the launch has to fit into 14 minutes whenever it calls at the north quay.",
            "North quay, refuelling: 14 minutes, as measured on the launch last week.",
        )
    )


def test_values_that_one_statement_has_together_are_not_opposed() -> None:
    assert not opposed(
        (
            "The trial used 1,180 kWh a trip, against a design value of 1,035 kWh.",
            "In the trial a trip took 1,180 kWh of energy.",
            "The design value for a trip was 1,035 kWh of energy.",
        )
    )


def test_one_agent_who_contradicts_itself_is_no_dispute() -> None:
    flood = [row(90 + at, "falcon", f"The Falcon tool saves {at + 2} hours a week, buy it.", "loud") for at in range(3)]
    made = drafted([*everything(), *flood]).drafts
    assert not any(source.agent_id == "loud" for one in made for source in one.sources)


def test_who_is_only_near_a_flood_supports_nothing() -> None:
    praise = ("by far", "clearly", "certainly", "really", "truly", "surely", "plainly", "simply")
    flood = [row(100 + at, "falcon", f"The Falcon tool is {word} the best.", "loud") for at, word in enumerate(praise)]
    near = row(130, "falcon", "Falcons nest on the roof of the office again.", "quiet")
    same = row(131, "falcon", "The Falcon tool is clearly the best.", "quiet")
    assert not any(
        one.sources[0].agent_id == "loud" for one in drafted([*everything(), *flood, near], thresholds=LOW).drafts
    )
    assert any(
        one.sources[0].agent_id == "loud" for one in drafted([*everything(), *flood, same], thresholds=LOW).drafts
    )


def test_a_value_in_common_settles_no_dispute_about_another_one() -> None:
    texts = (
        "Since 4 March the kiln of the north shed should take 30 trays a batch; with more, the glaze cracks.",
        "The kiln of the north shed takes 30 trays a batch since 4 March.",
        "Since 4 March the kiln of the north shed should take 45 trays a batch; with fewer, it wastes gas.",
    )
    assert any(2 in pair for pair in opposed(texts))


def test_a_season_beside_a_day_hides_no_other_day() -> None:
    texts = (
        "The new boilers of the mill come on 12 November, which leaves the whole winter for the fitting.",
        "Boilers for the mill: the yard has them on 12 November.",
        "The boilers of the mill come on 28 January at the earliest, says the forwarder.",
    )
    assert any(2 in pair for pair in opposed(texts))


def test_a_denial_among_many_wordings_is_found() -> None:
    """Those who deny it are far from the middle of a large cluster, of which only so many texts are compared."""
    ways = ("Note {}: ", "Seen {} times: ", "Report {}: ", "Shift {}: ")
    says = "Vans above nine tonnes are{} allowed on the mill bridge."
    many = [
        row(at, "gateway", ways[at % 4].format(at) + says.format(""), f"agent-{at % 9}", embedding=vector("gateway"))
        for at in range(60)
    ]
    against = row(90, "gateway", says.format(" not"), "agent-20", embedding=vector("gateway", 7))
    (made,) = drafted([*many, against]).drafts
    assert CONTRADICTION in made.flags
    assert sorted(side.support.agents for side in made.sides)[0] == 1


@pytest.mark.parametrize(("reason", "sure"), [("conflict_negation", True), ("conflict_name", False)])
def test_a_denial_in_one_frame_is_no_series(reason: str, sure: bool) -> None:
    texts = ("Night work at the Porto depot is allowed.", "Night work at the Porto depot is not allowed.")
    found = find_dispute(
        [features_of[text] for text in texts],
        [frozenset({"a"}), frozenset({"b"})],
        topic=frozenset(),
        groups=(0, 1),
        opposed=[Opposition(of=1, against=0, reason=reason, params={"new": "not allowed", "known": "allowed"})],
    )
    assert found.sides == ((0,), (1,))
    assert found.sure is sure


def test_who_speaks_for_both_sides_shows_that_they_go_together() -> None:
    lacks = "Reads of the parcels table are slow, because it has no index on the sender."
    needs = "The parcels table needs an index on the sender, or reads stay slow."
    rows = [
        row(at, "gateway", text, agent)
        for at, (text, agent) in enumerate([(lacks, "a"), (lacks + " Yes.", "b"), (needs, "a"), (needs + " Yes.", "c")])
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION not in made.flags


@pytest.mark.parametrize("noise", [1e-6, -1e-6])
def test_two_texts_keep_their_order_whatever_is_rounded(noise: float) -> None:
    """Both are equally near to their mean: what is left is rounding, which differs between machines and loads."""
    joint = np.array([[1.0 + noise, 0.2, 0.0], [1.0, -0.2, 0.0]], dtype=np.float32)
    space = Space(
        meaning=joint,
        joint=joint,
        originals=np.array([0, 1]),
        terms=((), ()),
        weights=np.zeros(0, dtype=np.float32),
        uses=np.zeros(0, dtype=np.int64),
        similarity=float,
    )
    both = np.array([0, 1])
    assert make_cluster(both, both, space).members == (0, 1)


@pytest.mark.parametrize("number", range(19))
def test_of_two_texts_the_first_is_the_headline_whatever_is_rounded(number: int) -> None:
    first, second = "Nightly backups take eleven minutes.", "The nightly backup takes eleven minutes."
    (made,) = drafted([row(number, "backup", first, "a"), row(number + 1, "backup", second, "b")]).drafts
    assert made.summary == first
