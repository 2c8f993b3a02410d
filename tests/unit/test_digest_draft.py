"""What a digest makes of rows, with vectors made by hand: each word of a subject is a direction of its own."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from clearwell.flow.digest import (
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
)
from clearwell.records import Admission, DigestCandidate, Layer, Vector

START = datetime(2026, 3, 2, tzinfo=UTC)
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
        content=content,
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
    return draft(rows, similarity=similarity, **changes)  # type: ignore[arg-type]


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
    assert {source.content for source in made[0].sources} == set(SAYINGS["retention"])
    assert made[0].support.agents == 4


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


def test_a_contradiction_is_flagged_and_both_sides_are_quoted() -> None:
    rows = said("retention", ["a", "b", "c", "d"])
    rows.append(row(50, "retention", "Click events are kept for 30 days, then deleted.", "e"))
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert any(found.of == UUID(int=51) and found.layer is Layer.QUARANTINE for found in made.contradictions)
    assert "90 days" in made.summary
    assert "30 days" in made.summary
    assert made.support.agents == 4


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
    result = drafted(rows, limits=DraftLimits(max_insights=4, agent_share=0.5))
    assert len(result.drafts) == 2
    assert result.report["capped"] == {"agent loud": 6}


def test_a_reliable_agent_weighs_more() -> None:
    rows = said("report", ["a", "b"]) + said("coupon", ["c", "d"], start=20)
    made = drafted(rows, reliability={"a": 0.1, "b": 0.1, "c": 1.0, "d": 1.0}).drafts
    assert made[0].sources[0].agent_id in {"c", "d"}


def test_flags_of_sources_are_carried_up_and_hidden_characters_shown() -> None:
    rows = said("report", ["a", "b", "c"])
    rows[0] = replace(rows[0], flags=("hidden_text",), content="The revenue report\u200b scans the whole ledger table.")
    (made,) = drafted(rows).drafts
    assert "hidden_text" in made.flags
    assert "\u200b" not in made.summary


def test_quotes_stand_in_their_sources_and_are_bounded() -> None:
    for made in drafted(everything()).drafts:
        assert made.quotes
        assert sum(len(quote.text) for quote in made.quotes) <= DraftLimits().summary_chars
        texts = {source.log_id: source.content for source in made.sources}
        assert all(quote.text in texts[quote.log_id] for quote in made.quotes)


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
