"""Retraction and provenance on PostgreSQL: what rests on a source is withdrawn as previewed, and undone as decided."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from clearwell.app import Clearwell
from clearwell.errors import Conflict, EmbedderUnavailable
from clearwell.records import (
    Action,
    DecisionRequest,
    ForgetSelector,
    NewMemory,
    PromotionResult,
    SourceSelector,
    Vector,
)
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from tests.conftest import opened
from tests.insights import put_insight, rows
from tests.path import LONG, OTHER, PERSON, said

SESSION = SourceSelector(session_id="s1")
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
    clearwell: Clearwell
    model: Weak

    async def capture(self, text: str = LONG) -> UUID:
        return (await self.clearwell.memory.acting_as(PERSON).capture(said(text), wait=True)).id

    async def promote(self, row: UUID) -> PromotionResult:
        return await self.clearwell.review.acting_as(PERSON).promote_row(row, AS_IT_IS, group="g")

    async def retract(self) -> UUID:
        preview = await self.clearwell.review.acting_as(PERSON).preview_retraction(SESSION, group="g")
        done = await self.clearwell.review.acting_as(PERSON).retract(SESSION, token=preview.token, group="g")
        return decision_of(done.decision_id)

    async def verified(self) -> list[object]:
        found = await rows(
            self.clearwell, "SELECT content FROM memories WHERE valid_to IS NULL ORDER BY promoted_at, id"
        )
        return [content for (content,) in found]


@pytest.fixture
async def program(settings: Settings) -> AsyncIterator[Program]:
    model = Weak()
    async with opened(settings, model) as clearwell:
        yield Program(clearwell, model)


def decision_of(given: UUID | None) -> UUID:
    assert given is not None
    return given


async def test_what_rests_on_a_session_is_withdrawn_as_listed_or_not_at_all(program: Program) -> None:
    review = program.clearwell.review
    one = await put_insight(program.clearwell, "g", LONG, [said(LONG)])
    await review.acting_as(PERSON).decide(DecisionRequest(action=Action.PROMOTE, id=one), group="g")
    listed = await review.acting_as(PERSON).preview_retraction(SESSION, group="g")
    await program.promote(await program.capture(OTHER))
    with pytest.raises(Conflict) as changed:
        await review.acting_as(PERSON).retract(SESSION, token=listed.token, group="g")
    assert changed.value.code == "retract_changed"
    assert changed.value.current is not None
    token = str(changed.value.current["token"])
    gone = await review.acting_as(PERSON).retract(SESSION, token=token, group="g")
    assert (len(gone.memories), await program.verified()) == (2, [])
    await review.acting_as(PERSON).undo(decision_of(gone.decision_id), group="g")
    assert await program.verified() == [LONG, OTHER]


async def test_a_retraction_of_what_waits_is_undone_too(program: Program) -> None:
    clearwell = program.clearwell
    row = await program.capture()
    program.model.down = True
    await program.promote(row)
    retraction = await program.retract()
    program.model.down = False
    assert await clearwell.promotion_completer.complete_due() == 0
    await clearwell.review.acting_as(PERSON).undo(retraction, group="g")
    assert (await clearwell.promotion_completer.complete_due(), await program.verified()) == (1, [LONG])


async def test_a_retraction_rejects_values_without_the_model_and_logs_it(program: Program) -> None:
    review = program.clearwell.review.acting_as(PERSON)
    await program.promote(await program.capture())
    preview = await review.preview_retraction(SESSION, group="g")
    program.model.down = True
    with capture_logs() as logged:
        await review.retract(SESSION, token=preview.token, reason="made up", tombstones=True, group="g")
    program.model.down = False
    warning = {"event": "values rejected without vectors", "values": 1, "reason": "embedder_unavailable"}
    assert [line for line in logged if line.items() >= warning.items()]
    with pytest.raises(Conflict):
        await program.clearwell.memory.acting_as(PERSON).promote(LONG, group="g")


async def test_what_was_retracted_and_promoted_again_is_one_memory_after_the_undo(program: Program) -> None:
    review, row = program.clearwell.review, await program.capture()
    first = await program.promote(row)
    retraction = await program.retract()
    second = await program.promote(row)
    undone = await review.acting_as(PERSON).undo(retraction, group="g")
    assert (undone.memories, await program.verified()) == ((), [LONG])
    gone = await review.acting_as(PERSON).undo(decision_of(second.decision_id), group="g")
    assert (gone.withdrawn, gone.memories, await program.verified()) == (second.id, (first.id,), [LONG])
    await review.acting_as(PERSON).undo(decision_of(first.decision_id), group="g")
    assert await program.verified() == []


async def test_what_is_still_retracted_does_not_come_back_for_another_reason(program: Program) -> None:
    row = await program.capture()
    await program.promote(row)
    await program.retract()
    second = await program.promote(row)
    gone = await program.clearwell.review.acting_as(PERSON).undo(decision_of(second.decision_id), group="g")
    assert (gone.memories, await program.verified()) == ((), [])


async def test_what_was_retracted_while_its_replacement_waited_stays_replaced(program: Program) -> None:
    clearwell = program.clearwell
    old = await program.promote(await program.capture())
    program.model.down = True
    await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g", supersedes=old.id)
    retraction = await program.retract()
    program.model.down = False
    assert await clearwell.promotion_completer.complete_due() == 1
    assert (await clearwell.review.acting_as(PERSON).undo(retraction, group="g")).memories == ()
    assert await program.verified() == [OTHER]


async def test_only_what_comes_back_is_told_to_come_back(program: Program) -> None:
    review = program.clearwell.review
    made = [await program.promote(await program.capture(text)) for text in (LONG, OTHER)]
    retraction = await program.retract()
    await review.acting_as(PERSON).undo(decision_of(made[0].decision_id), group="g")
    with pytest.raises(Conflict) as refused:
        await review.acting_as(PERSON).undo(decision_of(made[1].decision_id), group="g", only=Action.RETRACT)
    assert refused.value.code == "undo_of_another_kind"
    undone = await review.acting_as(PERSON).undo(retraction, group="g", only=Action.RETRACT)
    assert (undone.memories, await program.verified()) == ((made[1].id,), [OTHER])


async def test_an_output_whose_words_were_known_leads_to_the_memory_and_back(program: Program) -> None:
    review = program.clearwell.review
    typed = await program.clearwell.memory.acting_as(PERSON).promote(LONG, group="g")
    row = await program.capture()
    assert (await program.promote(row)).id == typed.id
    origin = await review.acting_as(PERSON).origin(typed.id, group="g")
    assert [one.capture.id for one in origin.rows] == [row]
    influence = await review.acting_as(PERSON).influence(row, group="g")
    assert [one.promotion.memory_id for one in influence.promotions] == [typed.id]


async def test_an_insight_promoted_in_other_words_leads_to_its_outputs(program: Program) -> None:
    review = program.clearwell.review
    one = await put_insight(program.clearwell, "g", LONG, [said(LONG)])
    done = await review.acting_as(PERSON).promote(one, group="g", text=OTHER, version=1)
    assert [row.capture.content for row in (await review.acting_as(PERSON).origin(done.id, group="g")).rows] == [LONG]


async def put_dispute(program: Program) -> tuple[UUID, UUID, UUID]:
    """An insight with two sides, and the outputs of both: by the agents ``ops`` and ``facilities``."""
    memory = program.clearwell.memory.acting_as(PERSON)
    first = (await memory.capture(replace(said(LONG), agent_id="ops", session_id="s-ops"), wait=True)).id
    second = (await memory.capture(replace(said(OTHER), agent_id="facilities", session_id="s-fac"), wait=True)).id
    one = await put_insight(program.clearwell, "g", f"{LONG} {OTHER}", [first, second])
    voice = {"agents": 1, "sessions": 1, "days": 1, "rows": 1}
    sides = [
        {"statement": text, "log_ids": [str(log_id)], "support": voice}
        for text, log_id in ((LONG, first), (OTHER, second))
    ]
    url = program.clearwell.settings.database_url
    assert url is not None
    async with await psycopg.AsyncConnection.connect(url.get_secret_value()) as owner:
        await owner.execute("UPDATE insights SET sides = %s WHERE id = %s", (Jsonb(sides), one))
    return one, first, second


async def test_the_other_side_of_a_dispute_is_no_source(program: Program) -> None:
    review = program.clearwell.review.acting_as(PERSON)
    one, chosen, other = await put_dispute(program)
    made = await review.promote(one, group="g", side=0)
    origin = await review.origin(made.id, group="g")
    assert [row.capture.id for row in origin.rows] == [chosen]
    assert [source.log_id for insight in origin.insights for source in insight.sources] == [chosen]
    public = await program.clearwell.memory.acting_as(PERSON).memory_origin(made.id, group="g")
    assert (public.agents, public.outputs) == (("ops",), 1)
    for selector in (SourceSelector(agent_id="facilities"), SourceSelector(source=other)):
        assert not (await review.preview_retraction(selector, group="g")).memories
    assert not (await review.influence(other, group="g")).promotions
    (dependent,) = (await review.preview_retraction(SourceSelector(agent_id="ops"), group="g")).memories
    assert (dependent.memory_id, dependent.matching, dependent.others) == (made.id, 1, 0)


async def test_forgetting_the_other_side_of_a_dispute_keeps_the_memory(program: Program) -> None:
    memory = program.clearwell.memory.acting_as(PERSON)
    one, chosen, other = await put_dispute(program)
    made = await program.clearwell.review.acting_as(PERSON).promote(one, group="g", side=0)
    kept = await memory.preview_forget(ForgetSelector(log_id=other), group="g")
    assert (kept.memories, kept.insights) == ((), (one,))
    lost = await memory.preview_forget(ForgetSelector(memory_id=made.id), group="g")
    assert (lost.memories, lost.outputs) == ((made.id,), (chosen,))
