"""A promotion that supersedes a memory removes from working memory what says the superseded text."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from pydantic import SecretStr

from clearwell.app import Clearwell
from clearwell.errors import EmbedderUnavailable
from clearwell.flow.promotion.copies import WORKING_MEMORY
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Action, DecisionRequest, NewCapture, NewMemory, Origin, PromotionResult, Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from clearwell.views.memories import PromotionResultView
from clearwell.vocabulary import AuditAction
from tests.conftest import opened
from tests.insights import put_insight, rows
from tests.path import AGENT, LONG, PERSON
from tests.servers.proxy import Address, FaultyProxy, Trouble, faulty_proxy

WRONG = "The deposit for a berth in the harbour is 7431 crowns and is due on the first of June."
RIGHT = "The deposit for a berth in the harbour is 8800 crowns and is due on the first of June."
AS_IT_IS = NewMemory(content="")


class Weak(WordEmbedder):
    """A model that can be switched off."""

    down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("embedder_unavailable", problem="down")
        return await super().embed(texts)


@dataclass(frozen=True)
class Program:
    """The program with one promoted output, which says the wrong value, and a proxy in front of its Valkey."""

    clearwell: Clearwell
    model: Weak
    valkey: FaultyProxy
    row: UUID
    old: UUID

    async def capture(self, content: str, session: str = "s2") -> UUID:
        return await capture(self.clearwell, content, session)

    async def working(self) -> set[str]:
        found = await self.clearwell.memory.acting_as(AGENT).working_memory(group="g")
        return {entry.content for entry in found}

    async def retrieved(self) -> set[str]:
        options = RetrieveOptions(hot_threshold=0, relevance_threshold=0)
        found = await self.clearwell.memory.acting_as(AGENT).retrieve("deposit berth", group="g", options=options)
        return {item.content for item in found.items}

    async def promote(self, text: str = RIGHT, key: str | None = None) -> PromotionResult:
        memory = self.clearwell.memory.acting_as(PERSON)
        return await memory.promote(text, group="g", supersedes=self.old, idempotency_key=key)


async def capture(clearwell: Clearwell, content: str, session: str = "s1") -> UUID:
    said = NewCapture(content=content, group_id="g", session_id=session, agent_id="a1", metadata={"confidence": 0.95})
    stored = await clearwell.memory.acting_as(AGENT).capture(said, wait=True)
    assert stored.admission == "admitted"
    return stored.id


@pytest.fixture
async def program(settings: Settings) -> AsyncIterator[Program]:
    assert settings.redis_url is not None
    url = settings.redis_url.get_secret_value()
    database, model = parse_qs(urlsplit(url).query)["db"][0], Weak()
    async with faulty_proxy(Address.of_valkey(url), Random(1)) as proxy:
        behind = SecretStr(f"redis://127.0.0.1:{proxy.port}/{database}")
        async with opened(settings.model_copy(update={"redis_url": behind}), model) as clearwell:
            row = await capture(clearwell, WRONG)
            old = await clearwell.review.acting_as(PERSON).promote_row(row, AS_IT_IS, group="g")
            yield Program(clearwell, model, proxy, row, old.id)


async def require_corrected(program: Program) -> None:
    """The wrong value is in neither tier, is no evidence, and does not come back with a rebuild."""
    memory = program.clearwell.memory.acting_as(PERSON)
    assert WRONG not in await program.working() | await program.retrieved()
    assert RIGHT in await program.retrieved()
    await memory.rebuild_working_memory(group="g")
    assert WRONG not in await program.working()
    removed = "SELECT subject FROM audit_events WHERE action = %s"
    subjects = await rows(program.clearwell, removed, AuditAction.REMOVE_WORKING_ENTRY.value)
    assert subjects == [(f"quarantine {program.row}",)]


async def test_a_typed_text_removes_what_says_the_superseded_one(program: Program) -> None:
    await program.capture(LONG)
    done = await program.promote()
    assert (done.removed, done.degraded) == ((program.row,), ())
    assert PromotionResultView.from_record(done).removed == (program.row,)
    await require_corrected(program)
    assert await program.working() == {LONG}
    checked = await program.clearwell.memory.acting_as(AGENT).fact_check(WRONG, group="g")
    assert checked.rating != "supported"


async def test_an_output_removes_what_says_the_superseded_text(program: Program) -> None:
    row = await program.capture(RIGHT)
    review = program.clearwell.review.acting_as(PERSON)
    done = await review.promote_row(row, replace(AS_IT_IS, supersedes=program.old), group="g")
    assert done.removed == (program.row,)
    await require_corrected(program)
    assert await program.working() == {RIGHT}


async def test_an_insight_removes_what_says_the_superseded_text(program: Program) -> None:
    insight = await put_insight(program.clearwell, "g", RIGHT, [])
    review = program.clearwell.review.acting_as(PERSON)
    request = DecisionRequest(action=Action.PROMOTE, id=insight, supersedes=program.old)
    done = await review.decide(request, group="g", idempotency_key="once")
    assert (done.superseded, done.removed, done.degraded) == (program.old, (program.row,), ())
    again = await review.decide(request, group="g", idempotency_key="once")
    assert (again.replayed, again.removed, again.degraded) == (True, (program.row,), ())
    await require_corrected(program)


async def test_a_waiting_promotion_removes_it_when_it_is_completed(program: Program) -> None:
    complete = program.clearwell.promotion_completer.complete_due
    program.model.down = True
    done = await program.promote()
    assert (done.waiting, done.removed, await program.working()) == (True, (), {WRONG})
    program.model.down = False
    program.valkey.begin(Trouble.REFUSE)
    assert await complete() == 0
    origin = await program.clearwell.review.acting_as(PERSON).origin(done.id, group="g")
    assert "Working memory" in str(origin.promotions[0].explanation())
    program.valkey.end()
    await rows(program.clearwell, "UPDATE promotion_work SET next_try_at = now() RETURNING 1")
    assert await complete() == 1
    await require_corrected(program)


async def test_a_promotion_succeeds_without_working_memory_and_is_finished_when_repeated(program: Program) -> None:
    program.valkey.begin(Trouble.REFUSE)
    keyed, plain = await program.promote(key="once"), await program.promote()
    assert (keyed.recorded, keyed.degraded, plain.degraded) == (True, (WORKING_MEMORY,), (WORKING_MEMORY,))
    program.valkey.end()
    assert WRONG in await program.working()
    again = await program.promote(key="once")
    assert (again.replayed, again.removed, again.degraded) == (True, (program.row,), ())
    await require_corrected(program)


async def test_an_insight_is_promoted_without_working_memory_and_finished_later(program: Program) -> None:
    insight = await put_insight(program.clearwell, "g", RIGHT, [])
    review = program.clearwell.review.acting_as(PERSON)
    request = DecisionRequest(action=Action.PROMOTE, id=insight, supersedes=program.old)
    program.valkey.begin(Trouble.REFUSE)
    (first,) = await review.decide_many([request], group="g", idempotency_key="once")
    assert getattr(first, "degraded", None) == (WORKING_MEMORY,)
    program.valkey.end()
    (again,) = await review.decide_many([request], group="g", idempotency_key="once")
    assert getattr(again, "removed", None) == (program.row,)
    assert (await review.decide(request, group="g")).degraded == ()
    await require_corrected(program)


async def test_an_undo_restores_the_memory_and_not_the_entries(program: Program) -> None:
    program.valkey.begin(Trouble.REFUSE)
    done = await program.promote(key="once")
    program.valkey.end()
    assert done.decision_id is not None
    review = program.clearwell.review.acting_as(PERSON)
    await review.undo(done.decision_id, group="g")
    assert (await program.promote(key="once")).removed == (), "what is verified again stays"
    redone = await program.promote()
    assert (redone.removed, await program.working()) == ((program.row,), set())
    assert redone.decision_id is not None
    undone = await review.undo(redone.decision_id, group="g")
    assert (undone.memories, await program.working()) == ((program.old,), set())
    assert await program.retrieved() == {WRONG}


async def test_a_text_that_shares_only_a_sentence_stays(program: Program) -> None:
    both, shared = f"{WRONG} {LONG}", f"{LONG} The harbour office is closed on Sundays and on public holidays."
    row, beside = await program.capture(both), await program.capture(shared, "s3")
    review = program.clearwell.review.acting_as(PERSON)
    old = await review.promote_row(row, AS_IT_IS, group="g")
    memory = program.clearwell.memory.acting_as(PERSON)
    done = await memory.promote(f"{RIGHT} {LONG}", group="g", supersedes=old.id)
    assert done.removed == (row,)
    entries = await program.clearwell.memory.acting_as(AGENT).working_memory(group="g")
    assert {entry.id for entry in entries} == {beside, program.row}


async def test_nothing_is_removed_where_the_new_text_repeats_the_old_one(program: Program) -> None:
    done = await program.promote(f"{WRONG} {LONG}")
    assert (done.removed, await program.working()) == ((), {WRONG})


async def test_a_promoted_entry_can_replace_what_it_says(program: Program) -> None:
    row = await program.capture(RIGHT)
    text = replace(AS_IT_IS, supersedes=program.old, origin=Origin.WORKING)
    done = await program.clearwell.review.acting_as(PERSON).promote_entry(row, text, group="g")
    assert (done.removed, await program.working()) == ((program.row,), {RIGHT})
