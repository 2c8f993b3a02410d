"""What groups share inside the program tells nothing: checks, caches, streams, background jobs and labels.

``tests/integration/http/test_isolation.py`` asks every route. Here another group knows the very same texts.
"""

import asyncio
from uuid import UUID

import pytest

from clearwell.app import Clearwell
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Admission, EventType, NewCapture, Principal, Right
from clearwell.worker import run_due_digests
from tests.integration.http.test_isolation import VARYING

OWN, OTHER, EMPTY = "leak-own", "leak-other", "leak-empty"
PERSON = Principal.local()
READER = Principal(name="r", rights=frozenset({Right.CAPTURE, Right.READ}), groups=frozenset({OWN, EMPTY}))
VERIFIED = "The lease of the warehouse in Rotterdam ends on the last day of March in 2027."
REJECTED = "Visitors may enter the server room of the plant without anybody from the staff."
LIVE = "Nightly backups of the billing database take eleven minutes since the last upgrade."
TEXTS = (VERIFIED, REJECTED, LIVE)
QUESTION = "How long do the nightly backups of the billing database take?"


def said(text: str, group: str) -> NewCapture:
    return NewCapture(
        content=text, group_id=group, agent_id="a1", session_id="s1", node_id="n1", metadata={"confidence": 0.9}
    )


@pytest.fixture
async def other(clearwell: Clearwell) -> list[str]:
    """Everything that another group knows: verified, rejected and unverified texts, which its agent was given."""
    memory = clearwell.memory.acting_as(PERSON)
    ids: list[UUID | None] = [(await memory.promote(VERIFIED, group=OTHER)).id]
    ids.append((await memory.add_tombstone(REJECTED, group=OTHER, reason="a rule of otherland")).id)
    ids.append((await memory.capture(said(LIVE, OTHER), wait=True)).id)
    await memory.put_agent("a1", group=OTHER, persona="You are the keeper of otherland.")
    await memory.retrieve(QUESTION, group=OTHER, options=RetrieveOptions(agent_id="a1"))
    await clearwell.recalls.flush()
    return [str(one) for one in ids]


async def test_the_checks_say_what_they_say_in_an_empty_program(clearwell: Clearwell, other: list[str]) -> None:
    """Neither a duplicate, nor an echo, nor a rejected value: the other group alone knows that it is one."""
    memory = clearwell.memory.acting_as(READER)
    for text in TEXTS:
        assert (await clearwell.memory.acting_as(PERSON).check(said(text, OTHER))).admission is Admission.REFUSED
        found = await memory.check(said(text, OWN))
        assert found.admission is Admission.ADMITTED
        assert not [one for one in (*other, OTHER, "otherland") if one in repr(found)]
        receipt = await memory.capture(said(text, OWN), wait=True)
        assert receipt.admission is Admission.ADMITTED
        assert not [one for one in (*other, OTHER, "otherland") if one in repr(receipt)]


async def test_caches_give_nothing_of_another_group(clearwell: Clearwell, other: list[str]) -> None:
    """The same question was answered in the other group a moment ago."""
    memory = clearwell.memory.acting_as(READER)
    assert (await memory.retrieve(QUESTION, group=EMPTY)).items == ()
    await memory.capture(said(LIVE, OWN), wait=True)
    for _ in range(2):
        (item,) = (await memory.retrieve(QUESTION, group=OWN)).items
        assert str(item.id) not in other
        assert item.agent_name is None, "an operator of the other group has named this agent"
        named = await clearwell.memory.acting_as(PERSON).retrieve(QUESTION, group=OTHER)
        assert [one.agent_name for one in named.items if not one.verified] == ["a1"]
    built = await memory.build_context(
        ContextRequest(proposal=QUESTION, options=RetrieveOptions(agent_id="a1")), group=OWN
    )
    assert "otherland" not in built.text


async def test_a_stream_has_no_event_of_another_group(clearwell: Clearwell) -> None:
    """What happens in the other group comes before what the reader waits for."""
    events = clearwell.memory.acting_as(READER).events(group=OWN)
    assert (await anext(events)).type is EventType.SUBSCRIBED
    strange = (await clearwell.memory.acting_as(PERSON).capture(said(LIVE, OTHER), wait=True)).id
    await clearwell.memory.acting_as(PERSON).promote(VERIFIED, group=OTHER)
    own = (await clearwell.memory.acting_as(PERSON).capture(said(LIVE, OWN), wait=True)).id
    async with asyncio.timeout(30):
        event = await anext(events)
    await events.aclose()
    assert str(own) in repr(event)
    assert str(strange) not in repr(event)
    assert OTHER not in repr(event)


async def test_a_digest_counts_no_support_of_another_group(clearwell: Clearwell) -> None:
    """Three agents of the other group say what one agent says in its own."""
    memory = clearwell.memory.acting_as(PERSON)
    for agent in ("b1", "b2", "b3"):
        new = NewCapture(content=LIVE, group_id=OTHER, agent_id=agent, session_id=agent, metadata={"confidence": 0.9})
        await memory.capture(new, wait=True)
    own = (await memory.capture(said(LIVE, OWN), wait=True)).id
    digest_id, _ = await memory.request_digest(group=OWN)
    await run_due_digests(clearwell)
    digest = await memory.digest(digest_id, group=OWN)
    assert {source.log_id for insight in digest.insights for source in insight.sources} <= {own}
    assert {insight.support.agents for insight in digest.insights} <= {1}
    assert digest.report["rows"] == 1


async def test_two_callers_with_one_idempotency_key_do_not_meet(clearwell: Clearwell) -> None:
    first = Principal(name="key-1", rights=frozenset({Right.CAPTURE}), groups=frozenset({OTHER}))
    second = Principal(name="key-2", rights=frozenset({Right.CAPTURE}), groups=frozenset({OWN}))
    receipts = [
        await clearwell.memory.acting_as(by).capture(said(LIVE, group), idempotency_key="the same")
        for by, group in ((first, OTHER), (second, OWN))
    ]
    assert [one.group_id for one in receipts] == [OTHER, OWN]
    assert receipts[0].id != receipts[1].id


async def test_a_refusal_says_the_same_of_a_group_that_exists(clearwell: Clearwell, other: list[str]) -> None:
    stranger = clearwell.memory.acting_as(READER)
    answers = []
    for group in (OTHER, "leak-nowhere"):
        with pytest.raises(Exception, match="group") as refused:
            await stranger.retrieve(QUESTION, group=group)
        answers.append(VARYING.sub("…", str(refused.value)).replace(group, "…"))
    assert answers[0] == answers[1]
    assert not [one for one in other if one in answers[0]]
