"""The fact check on real stores with the bundled model: ratings, capture, digest, and its figures."""

from collections import Counter
from dataclasses import replace

import pytest
from bench.fact_check import AIMS, CheckedClaim, check_cases, figures, load_cases
from pydantic import SecretStr

from clearwell.app import Clearwell
from clearwell.messages import Language
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, ClaimRating, EventType, FactCheckMethod, NewCapture, Outcome, Stance
from clearwell.settings import Settings
from tests.conftest import opened
from tests.path import AGENT, PERSON

KNOWN = "支付网关与银行的合同规定，每次停机不得超过十分钟，且须提前三天通知。"
UNRELATED = "食堂从下周一开始供应早餐，时间是七点到九点。"
SAID = "The load test of the payment gateway showed timeouts above five hundred concurrent requests."
WRONG = KNOWN.replace("十分钟", "三十分钟")


def output(text: str, **changed: str) -> NewCapture:
    return replace(NewCapture(content=text, group_id="g", session_id="s1", agent_id="a1"), **changed)  # type: ignore[arg-type]


async def fill(clearwell: Clearwell) -> None:
    memory = clearwell.memory.acting_as(PERSON)
    for text in (KNOWN, UNRELATED):
        await memory.promote(text, group="g")
    assert (await memory.capture(output(SAID), wait=True)).admission is Admission.ADMITTED


async def test_claims_are_rated_from_both_tiers(clearwell: Clearwell) -> None:
    await fill(clearwell)
    memory = clearwell.memory.acting_as(AGENT)
    changed = SAID.replace("five hundred", "nine hundred")
    check = await memory.fact_check([KNOWN, WRONG, SAID, changed, "月球是由奶酪构成的。"], group="g")
    ratings = [claim.rating.value for claim in check.claims]
    assert ratings == ["supported", "contradicted", "supported", "contradicted", "unknown"]
    assert check.method is FactCheckMethod.RULES
    assert [claim.citations[0].verified for claim in check.claims[:4]] == [True, True, False, False]
    assert all(citation.sentence != UNRELATED for claim in check.claims for citation in claim.citations)
    for claim in check.claims[:4]:
        ((start, end), sentence) = claim.citations[0].span or (0, 0), claim.citations[0].sentence
        assert (KNOWN if claim.citations[0].verified else SAID)[start:end] == sentence


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_captured_fact_check_is_no_echo_and_confirms_no_memory(
    clearwell: Clearwell, language: Language
) -> None:
    await fill(clearwell)
    memory = clearwell.memory.acting_as(AGENT)
    node = memory.fact_check_node(group="g", language=language)
    for claim in (KNOWN, WRONG, SAID):
        run = await node.run({"claim": claim, "session_id": "s2"})
        await clearwell.recalls.flush()
        text = str(run.output["fact_check"])
        receipt = await memory.capture(output(text, node_type="fact_check", agent_id="checker"), wait=True)
        assert receipt.admission is Admission.ADMITTED, [one.reason for one in receipt.verdicts]
        assert not [one for one in receipt.verdicts if one.outcome in (Outcome.FAIL, Outcome.FLAG)]
    again = await memory.capture(output(text, node_type="fact_check", agent_id="checker-2"), wait=True)
    assert again.admission is Admission.REFUSED, "the same fact check is one entry"
    rows = await clearwell.memory.acting_as(PERSON).working_memory(group="g")
    assert {row.node_type for row in rows} == {"agent", "fact_check"}
    agent = next(row for row in rows if row.node_type == "agent")
    row = await clearwell.memory.acting_as(PERSON).quarantine_row(agent.id, group="g")
    assert not row.sightings, "a fact check is no corroboration"


async def test_what_a_fact_check_quotes_keeps_no_agent_from_saying_it(clearwell: Clearwell) -> None:
    memory = clearwell.memory.acting_as(AGENT)
    check = await memory.fact_check(SAID, group="g")
    await memory.capture(output(check.text, node_type="fact_check", agent_id="checker"), wait=True)
    receipt = await memory.capture(output(SAID), wait=True)
    assert receipt.admission is Admission.ADMITTED
    after = await memory.fact_check(SAID, group="g")
    assert [one.agent_id for one in after.claims[0].citations] == ["a1"], "a fact check is no evidence for another"


async def test_an_agent_that_repeats_a_fact_check_says_nothing_new(clearwell: Clearwell) -> None:
    await fill(clearwell)
    memory = clearwell.memory.acting_as(AGENT)
    text = (await memory.fact_check("The freight lift in hall four is open again.", group="g")).text
    assert (await memory.capture(output(text, node_type="fact_check"), wait=True)).admission is Admission.ADMITTED
    repeated = await memory.capture(output(text, agent_id="a2"), wait=True)
    assert repeated.admission is Admission.REFUSED


@pytest.mark.parametrize(("claim", "language"), [(SAID, "en"), (SAID, "zh"), (UNRELATED, "en"), (UNRELATED, "zh")])
async def test_a_fact_check_does_not_bring_back_a_rejected_text(
    clearwell: Clearwell, claim: str, language: Language
) -> None:
    memory = clearwell.memory.acting_as(AGENT)
    await clearwell.memory.acting_as(PERSON).add_tombstone(claim, group="g", reason="wrong")
    text = (await memory.fact_check(claim, group="g", language=language)).text
    receipt = await memory.capture(output(text, node_type="fact_check"), wait=True)
    assert (receipt.admission, receipt.verdicts[-1].outcome) == (Admission.REFUSED, Outcome.NOT_CHECKED)
    assert "verdict_tombstone_rejected_brief" in [one.reason for one in receipt.verdicts]


async def test_a_dead_working_memory_is_named_and_verified_evidence_decides(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    """Nothing listens at port 1."""
    async with opened(settings, offline_embedder) as whole:
        await fill(whole)
    down = settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with opened(down, offline_embedder) as clearwell:
        run = await clearwell.memory.acting_as(AGENT).fact_check_node(group="g").run({"claim": WRONG})
    (told,) = [event for event in run.events if event.type is EventType.FACT_CHECKED]
    assert (told.data["rating"], told.data["degraded"]) == ("contradicted", ["working_memory"])


@pytest.fixture(scope="module")
async def results() -> list[CheckedClaim]:
    embedder = OfflineEmbedder()
    try:
        return await check_cases(embedder)
    finally:
        await embedder.close()


def test_the_cases_are_many_and_of_all_kinds() -> None:
    memories, claims = load_cases()
    counts = Counter((claim.language, claim.rating) for claim in claims)
    assert len(memories) >= 20
    assert len({claim.text for claim in claims}) == len(claims) >= 40
    assert len(counts) == 6
    assert min(counts.values()) >= 7


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_rules_are_right_when_they_rate_a_claim(results: list[CheckedClaim], language: str) -> None:
    reached = figures(one for one in results if one.case.language == language)
    assert not {name: reached[name] for name, aim in AIMS.items() if reached[name] < aim}


def test_a_memory_about_something_else_never_settles_a_claim(results: list[CheckedClaim]) -> None:
    unsettled = [one for one in results if one.case.rating is ClaimRating.UNKNOWN]
    assert not [one.case.text for one in unsettled if one.cited]
    assert not [one.case.text for one in results if set(one.cited) - {one.case.memory}]
    stances = {citation.stance for one in results for citation in one.check.citations}
    assert stances == set(Stance)
