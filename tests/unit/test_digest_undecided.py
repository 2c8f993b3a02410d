"""What a digest makes of statements against undecided insights, of opposites, and of long sentences."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from clearwell.comparison import RuleComparison, features_of
from clearwell.flow.digest.drafting import CONTRADICTION, Drafts, UndecidedInsight, draft
from clearwell.flow.digest.drafting.denials import find_denials
from clearwell.flow.digest.drafting.pipeline import Thresholds
from clearwell.records import DigestCandidate
from clearwell.text.segments import restore_whole
from tests.unit.test_digest_draft import row, similarity, vector

LOW = Thresholds(worthy=1.0)
EARLIER = UUID(int=500)
JUNE = "The certificate of the partner portal is renewed on 3 June."
ON_JUNE = "On 3 June the certificate of the partner portal is renewed."
MAY = "The certificate of the partner portal is renewed on 9 May."


def drafted(rows: Sequence[DigestCandidate], *undecided: UndecidedInsight) -> Drafts:
    return draft(rows, similarity=similarity, comparison=RuleComparison(), undecided=undecided, thresholds=LOW)


def insight(*statements: DigestCandidate, has_sides: bool = False) -> UndecidedInsight:
    return UndecidedInsight(
        id=EARLIER,
        content=statements[0].text,
        embedding=vector("certificate"),
        statements=statements,
        has_sides=has_sides,
    )


def earlier() -> tuple[DigestCandidate, ...]:
    return row(1, "certificate", JUNE, "a1"), row(2, "certificate", ON_JUNE, "a2")


def test_one_output_against_an_undecided_insight_makes_a_dispute_that_replaces_it() -> None:
    (made,) = drafted([row(3, "certificate", MAY, "a3")], insight(*earlier())).drafts
    assert CONTRADICTION in made.flags
    assert made.replaces == EARLIER
    assert sorted(sorted(one.log_id.int for one in side.statements) for side in made.sides) == [[2, 3], [4]]


def test_what_an_undecided_insight_says_is_not_shown_again() -> None:
    rows = [row(3, "certificate", JUNE, "a3"), row(4, "certificate", ON_JUNE, "a4")]
    assert len(drafted(rows).drafts) == 1
    repeating = drafted(rows, insight(*earlier()))
    assert (repeating.report["repeated"], repeating.report["insights"]) == (1, 0)


def test_who_joins_an_undecided_dispute_is_not_shown_as_agreement() -> None:
    sides = insight(*earlier(), row(5, "certificate", MAY, "a5"), has_sides=True)
    rows = [row(3, "certificate", MAY, "a3"), row(4, "certificate", MAY, "a4")]
    assert drafted(rows, sides).drafts == ()


def test_one_speaker_who_changed_their_mind_is_no_dispute() -> None:
    alone = insight(row(1, "certificate", JUNE, "a1"))
    assert all(CONTRADICTION not in made.flags for made in drafted([row(3, "certificate", MAY, "a1")], alone).drafts)


@pytest.mark.parametrize(
    ("kept", "also_kept", "removed"),
    [
        (
            "The backup generator at the mill is kept as a reserve after the conversion.",
            "After the conversion the backup generator at the mill stays where it is.",
            "The backup generator at the mill gets scrapped once the conversion is done.",
        ),
        (
            "改造之后，磨坊的备用发电机继续使用，作为应急电源。",
            "磨坊的备用发电机，改造后保留。",
            "磨坊的备用发电机在改造时拆除。",
        ),
        (
            "The board approved the lease of the second warehouse.",
            "The lease of the second warehouse was approved by the board in March.",
            "The board rejected the lease of the second warehouse.",
        ),
    ],
)
def test_opposite_things_that_become_of_one_thing_are_a_dispute(kept: str, also_kept: str, removed: str) -> None:
    rows = [row(1, "backup", kept, "a1"), row(2, "backup", also_kept, "a2"), row(3, "backup", removed, "a3")]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert sorted(len(side.statements) for side in made.sides) == [1, 2]


@pytest.mark.parametrize(
    "third",
    [
        "The backup generator at the mill is not removed after the conversion.",
        "The letter excludes that the backup generator at the mill is removed after the conversion.",
        "The backup generator at the mill is kept, and only its old tank is removed after the conversion.",
    ],
)
def test_a_denied_opposite_is_no_dispute(third: str) -> None:
    rows = [
        row(1, "backup", "The backup generator at the mill is kept after the conversion.", "a1"),
        row(2, "backup", "After the conversion the backup generator at the mill is kept.", "a2"),
        row(3, "backup", third, "a3"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


def test_a_licence_that_runs_out_is_not_denied_by_there_being_none() -> None:
    rows = [
        row(1, "gateway", "The radio licence runs out on 30 November and is not renewed.", "a1"),
        row(2, "gateway", "The letter excludes that the radio licence is renewed after 30 November.", "a2"),
        row(3, "gateway", "After 30 November there is no radio licence, and it is not renewed.", "a3"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


@pytest.mark.parametrize(
    ("stated", "disputes"),
    [
        ("The contracts office of the harbour promised an answer.", 0),
        ("The contracts office of the harbour answered.", 1),
    ],
)
def test_a_verb_that_is_denied_is_not_stated_by_its_noun(stated: str, disputes: int) -> None:
    texts = ("The contracts office of the harbour has not answered.", stated, stated)
    voices = [frozenset({agent}) for agent in ("a1", "a2", "a3")]
    topic = frozenset({"answer", "contract", "offic", "harbour"})
    found = find_denials([features_of[text] for text in texts], voices, topic=topic)
    assert len(list(found)) == disputes


def test_owners_whose_names_the_dictionary_cuts_are_a_dispute() -> None:
    rows = [
        row(1, "refund", "温湿度平台的夜间告警由周颖负责。", "a1"),
        row(2, "refund", "夜间告警归周颖处理，温湿度平台的管理员也是她。", "a2"),
        row(3, "refund", "温湿度平台的夜间告警由韩志强负责。", "a3"),
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags


@pytest.mark.parametrize(
    ("done", "again", "undone"),
    [
        (
            "The temperature mapping of the north vault has been carried out and signed.",
            "In the north vault they completed the temperature mapping.",
            "As of today the temperature mapping of the north vault has not been started.",
        ),
        (
            "We ran the recovery drill of the billing cluster on Sunday.",
            "The recovery drill of the billing cluster took place, with two observers.",
            "The recovery drill of the billing cluster never happened; the ticket was withdrawn.",
        ),
        (
            "西区冷库的温控验收已经通过。",
            "西区冷库已拿到温控验收的合格报告。",
            "西区冷库的温控验收到今天还没有做。",
        ),
        (
            "调度系统的等保测评已经完成，证书在手。",
            "调度系统的等保测评做完了。",
            "调度系统的等保测评仍在整改阶段。",
        ),
    ],
)
def test_done_and_not_done_are_a_dispute(done: str, again: str, undone: str) -> None:
    rows = [row(1, "backup", done, "a1"), row(2, "backup", again, "a2"), row(3, "backup", undone, "a3")]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert [len(side.statements) for side in made.sides] == [2, 1]


@pytest.mark.parametrize(
    "third",
    [
        "The temperature mapping of the north vault will be signed after the audit.",
        "Once the temperature mapping of the north vault has been signed, the keys are handed out.",
        "The temperature mapping of the north vault covers nine points; the lift has not been tested.",
    ],
)
def test_what_is_planned_or_about_something_else_is_no_dispute_about_what_was_done(third: str) -> None:
    rows = [
        row(1, "backup", "The temperature mapping of the north vault has been carried out.", "a1"),
        row(2, "backup", "In the north vault they completed the temperature mapping.", "a2"),
        row(3, "backup", third, "a3"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


@pytest.mark.parametrize(
    ("one", "again", "other"),
    [
        (
            "The outage of the ticket gates in May was caused by an expired certificate.",
            "An expired certificate: the outage of the ticket gates in May is due to this expired certificate.",
            "The outage of the ticket gates in May came from a full disk.",
        ),
        (
            "The outage of the ticket gates in May had one reason: the certificate had expired.",
            "In May the ticket gates had their outage because the certificate had expired.",
            "The ticket gates had their outage in May because a disk was full.",
        ),
        (
            "五月闸机停摆的原因是证书过期。",
            "五月闸机停摆是由证书过期引起的。",
            "五月闸机停摆是因磁盘写满造成的。",
        ),
    ],
)
def test_two_causes_of_one_event_are_a_dispute(one: str, again: str, other: str) -> None:
    rows = [row(1, "report", one, "a1"), row(2, "report", again, "a2"), row(3, "report", other, "a3")]
    (made,) = drafted(rows).drafts
    assert made.contradictions[0].reason == "conflict_cause"
    assert [len(side.statements) for side in made.sides] == [2, 1]


@pytest.mark.parametrize("counts", [("24", "24", "18"), ("二十四", "24", "18")])
def test_two_numbers_of_one_thing_are_a_dispute(counts: Sequence[str]) -> None:
    first, again, other = counts
    rows = [
        row(1, "gateway", f"首批交付的无人集卡是{first}台，验收完才上线。", "a1"),
        row(2, "gateway", f"无人集卡首批交付{again}台。", "a2"),
        row(3, "gateway", f"合同约定首批交付{other}台无人集卡，到货就付款。", "a3"),
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags


def test_values_that_few_statements_mention_are_no_dispute() -> None:
    rows = [
        row(1, "gateway", "Radek Olin takes charge of the migration of the recipe set.", "a1"),
        row(2, "gateway", "The migration of the recipe set is the task of Radek Olin, two days a week.", "a2"),
        row(3, "gateway", "Radek Olin, who does the migration of the recipe set, showed a list.", "a3"),
        row(4, "gateway", "Radek Olin explained the migration of the recipe set for two hours.", "a4"),
        row(5, "gateway", "For the migration of the recipe set, Radek Olin is responsible.", "a5"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


def test_a_correction_of_a_detail_is_no_denial() -> None:
    rows = [
        row(1, "gateway", "The carrier grants us 450 requests a second, counted over both regions together.", "a1"),
        row(2, "gateway", "The ceiling at the carrier is 450 requests a second for the two regions as one.", "a2"),
        row(3, "gateway", "The 450 requests a second of the carrier are for us as a whole, not for each region.", "a3"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


def test_a_season_mentioned_in_passing_is_no_dispute_about_a_date() -> None:
    rows = [
        row(1, "report", "The revenue report for the north region is due on 20 January.", "a1"),
        row(2, "report", "It gets hot in the north region in summer, so the revenue report is printed at night.", "a2"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


LONG = (
    "I walked over to the workshop because they wanted a hand with the fence, and while we stood there, with the rain "
    "coming in from the west, somebody mentioned the old story about the keys again, and only then, after coffee, I "
    "learned that the freight lift in hall four stays closed until the inspector has signed the brake report"
)


def test_the_headline_of_a_long_sentence_is_the_part_that_others_say_too() -> None:
    cut = f"{LONG[:150]}…"
    rows = [
        row(1, "coupon", LONG, "a1", headline=cut),
        row(2, "coupon", LONG.replace("I walked", "We walked"), "a2", headline=f"We{cut[1:]}"),
        row(3, "coupon", "freight lift hall four closed; inspector brake report", "a3"),
    ]
    (made,) = drafted(rows).drafts
    assert made.summary.startswith("…") or made.summary == rows[2].headline
    assert "freight lift in hall four" in made.summary or made.summary == rows[2].headline
    assert len(made.summary) <= 200


def test_a_headline_with_a_part_left_out_is_restored() -> None:
    assert restore_whole("…stays closed until the inspector has signed…", [LONG]) == LONG
    assert restore_whole("…nobody said this…", [LONG]) == "…nobody said this…"


@pytest.mark.parametrize(
    ("one", "again", "against"),
    [
        (
            "The clean-up of the alarm list in the control room belongs to Dana Whitlock.",
            "Dana Whitlock is responsible for the clean-up of the alarm list in the control room.",
            "For the clean-up of the alarm list in the control room, the vendor's integration team is responsible.",
        ),
        (
            "冷库温度记录仪的校准由设备二组负责。",
            "冷库温度记录仪的校准，一直是设备二组负责。",
            "冷库温度记录仪的校准已经交给外聘技师处理。",
        ),
    ],
)
def test_two_owners_of_one_task_are_a_dispute(one: str, again: str, against: str) -> None:
    rows = [row(1, "gateway", one, "a1"), row(2, "gateway", again, "a2"), row(3, "gateway", against, "a3")]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert sorted(len(side.statements) for side in made.sides) == [1, 2]


def test_an_owner_and_their_team_are_no_dispute() -> None:
    rows = [
        row(1, "gateway", "The clean-up of the alarm list is Dana Whitlock's job.", "a1"),
        row(2, "gateway", "Dana Whitlock of the night shift owns the clean-up of the alarm list.", "a2"),
        row(3, "gateway", "The clean-up of the alarm list belongs to Dana Whitlock and nobody else.", "a3"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


def test_a_time_within_a_range_is_no_dispute() -> None:
    rows = [
        row(1, "coupon", "Lunch on the east wing is late, since the laundry blocks the lift around noon.", "a1"),
        row(2, "coupon", "The laundry blocks the lift of the east wing from 11:30 to 12:30, so lunch is late.", "a2"),
    ]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)


def test_two_voices_with_opposite_words_are_not_shown_as_agreement() -> None:
    rows = [
        row(1, "refund", "The contract with Hengrun allows subcontracting of the trunk transport.", "a1"),
        row(2, "refund", "Subcontracting of the trunk transport is forbidden by the contract with Hengrun.", "a2"),
    ]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags


@pytest.mark.parametrize(
    ("one", "again", "other"),
    [
        (
            "The outage of the ticket gates in May was caused by an expired certificate.",
            "It was the expired certificate that brought the outage of the ticket gates in May.",
            "The outage of the ticket gates in May: the expired certificate had nothing to do with it.",
        ),
        (
            "The cracks in the wall of house five were caused by the drilling.",
            "The drilling caused the cracks in the wall of house five, they were caused by the drilling.",
            "The surveyor rules out the drilling for the cracks in the wall of house five.",
        ),
        (
            "The studio link lost packets, and that's what produced the silence on the test weekend.",
            "The silence on the test weekend was caused by the studio link.",
            "On the test weekend the silence did not come from the studio link.",
        ),
        (
            "五号楼外墙的裂缝是由勘察钻孔引起的。",
            "五号楼外墙的裂缝就是勘察钻孔振出来的。",
            "五号楼外墙的裂缝跟勘察钻孔没有关系。",
        ),
        (
            "五号楼外墙的裂缝是由勘察钻孔引起的。",
            "五号楼外墙的裂缝，原因是勘察钻孔。",
            "五号楼外墙的裂缝是多年的旧伤，不是勘察钻孔造成的。",
        ),
    ],
)
def test_a_cause_and_its_denial_are_a_dispute(one: str, again: str, other: str) -> None:
    rows = [row(1, "report", one, "a1"), row(2, "report", again, "a2"), row(3, "report", other, "a3")]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert [len(side.statements) for side in made.sides] == [2, 1]


@pytest.mark.parametrize(
    ("free", "bound"),
    [
        (
            "Moderators of the registry may yank a malicious package on their own authority.",
            "Moderators of the registry need a vote of the council to yank a malicious package.",
        ),
        (
            "A moderator of the registry yanks a malicious package without asking anybody.",
            "The moderators of the registry cannot yank a malicious package before the council has voted.",
        ),
        (
            "On the new line the shift leader releases a tank for filling, there is no need to wait for the lab.",
            "A tank is released for filling on the new line by the lab and by no one else.",
        ),
        ("外部贡献者自己就可以触发集成测试，不用找人帮忙。", "集成测试要动用共享机器，只有维护者能触发。"),
        ("仓库管理员可以自行决定下架恶意软件包。", "仓库管理员下架恶意软件包须经委员会表决。"),
        ("仓库管理员下架恶意软件包无需委员会批准。", "仓库管理员下架恶意软件包要先报委员会批准。"),
    ],
)
def test_who_decides_alone_and_who_needs_approval_are_a_dispute(free: str, bound: str) -> None:
    rows = [row(1, "report", free, "a1"), row(2, "report", bound, "a2")]
    (made,) = drafted(rows).drafts
    assert CONTRADICTION in made.flags
    assert [len(side.statements) for side in made.sides] == [1, 1]


@pytest.mark.parametrize(
    ("stated", "asked"),
    [
        (
            "The ducks are not part of the application for the new pond.",
            "The authority asked whether the ducks are part of the application for the new pond.",
        ),
        ("新池塘的申请材料不包括鸭子。", "主管部门问新池塘的申请材料是否包括鸭子。"),
    ],
)
def test_what_somebody_asks_contradicts_nothing(stated: str, asked: str) -> None:
    rows = [row(1, "report", stated, "a1"), row(2, "report", asked, "a2")]
    assert all(CONTRADICTION not in made.flags for made in drafted(rows).drafts)
