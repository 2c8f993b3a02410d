"""Decisions on real servers: many at once, a model that is down, and what superseding does to search."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import psycopg

from clearwell.app import Clearwell
from clearwell.errors import EmbedderUnavailable
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.records import Action, DecisionRequest, InsightState, Label, Principal, Right, SourceSelector, Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from clearwell.views.dossiers import DossierView
from clearwell.views.memories import IngestedBatchView
from tests.conftest import opened
from tests.insights import put_insight, rows
from tests.path import LONG, OTHER, PERSON, said

WORDS = "SELECT id, chunk_no, position, lexemes::text FROM memories WHERE valid_to IS NULL ORDER BY id, chunk_no"
COUNTS = "SELECT dimension, chunks FROM group_terms WHERE chunks <> 0 ORDER BY dimension"
AUTHORS = "SELECT author, chunks FROM group_authors WHERE chunks <> 0 ORDER BY author"


class Weak(WordEmbedder):
    """A model that can be switched off."""

    down = True

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("embedder_unavailable", problem="down")
        return await super().embed(texts)


async def test_eight_reviewers_at_once_lose_and_double_nothing(settings: Settings) -> None:
    async with opened(settings, WordEmbedder()) as clearwell:
        ids = [await put_insight(clearwell, "g", f"Fact number {number} of many.", []) for number in range(25)]

        async def reviewer(number: int) -> list[UUID]:
            by, results = Principal.local(f"r{number}"), list[UUID]()
            for one in (*ids[number * 3 :], *ids[: number * 3]):
                results.append(
                    (
                        await clearwell.review.acting_as(by).decide(
                            DecisionRequest(action=Action.PROMOTE, id=one), group="g"
                        )
                    ).id
                )
            for text in range(10):
                results.append(
                    (await clearwell.memory.acting_as(by).promote(f"Typed text number {text}.", group="g")).id
                )
            return results

        answers = await asyncio.gather(*(reviewer(number) for number in range(8)))
        assert len({one for answer in answers for one in answer}) == 35
        assert await rows(clearwell, "SELECT count(*), count(DISTINCT id) FROM memories") == [(35, 35)]
        # An insight is decided on once; a typed text is each reviewer's own decision.
        assert await rows(clearwell, "SELECT count(*) FROM decisions") == [(25 + 8 * 10,)]


async def test_a_decision_waits_for_the_model_and_can_be_undone_meanwhile(settings: Settings) -> None:
    model = Weak()
    async with opened(settings, model) as clearwell:
        insight = await put_insight(clearwell, "g", LONG, [])
        done = await clearwell.review.acting_as(PERSON).decide(
            DecisionRequest(action=Action.PROMOTE, id=insight), group="g"
        )
        typed = await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g")
        assert (done.status, typed.waiting) == ("promoting", True)
        assert IngestedBatchView.from_records([typed], "en").status == "promoting"
        (state,) = (await clearwell.review.acting_as(PERSON).origin(done.id, group="g")).promotions
        assert state.state == "promoting"
        assert (await clearwell.review.acting_as(PERSON).statistics(group="g")).promoting == 2
        shown = DossierView.from_dossier(await clearwell.review.acting_as(PERSON).insight(insight, group="g"), "en", {})
        assert shown.state == "promoting"
        assert (done.insight is not None and done.insight.state) == InsightState.PROMOTING
        assert [
            one.id for one in await clearwell.review.acting_as(PERSON).insights(group="g", state=InsightState.PROMOTING)
        ] == [insight]
        assert await clearwell.review.acting_as(PERSON).insights(group="g", state=InsightState.PROMOTED) == []
        assert shown.promotion is not None
        waits = {
            "id": done.promotion_id,
            "memory_id": done.id,
            "state": "promoting",
            "problem": None,
            "problem_code": None,
            "chunks": 0,
        }
        assert shown.promotion.model_dump(include={*waits}) == waits
        assert await clearwell.promotion_completer.complete_due() == 0
        assert (
            await rows(clearwell, "SELECT attempts, problem FROM promotion_work") == [(1, "embedder_unavailable")] * 2
        )
        shown = DossierView.from_dossier(await clearwell.review.acting_as(PERSON).insight(insight, group="g"), "en", {})
        assert "The embedding model did not respond" in str(shown.promotion)
        await clearwell.review.acting_as(PERSON).decide(DecisionRequest(action=Action.UNDO, id=insight), group="g")
        model.down = False
        await rows_changed(clearwell, "UPDATE promotion_work SET next_try_at = now()")
        assert await clearwell.promotion_completer.complete_due() == 1
        assert await clearwell.promotion_completer.complete_due() == 0
        items = (await clearwell.memory.acting_as(PERSON).retrieve("backups payment", group="g")).items
        assert [item.id for item in items] == [typed.id]


async def test_what_is_replaced_without_the_model_holds_until_the_other_is_there(settings: Settings) -> None:
    model = Weak()
    async with opened(settings, model) as clearwell:
        model.down = False
        old = await clearwell.memory.acting_as(PERSON).promote(LONG, group="g", session_id="s")
        model.down = True
        new = await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g", session_id="s", supersedes=old.id)
        assert new.waiting
        assert await living(clearwell) == [(old.id,)]
        model.down = False
        assert await clearwell.promotion_completer.complete_due() == 1
        assert await living(clearwell) == [(new.id,)]
        kept = [await rows(clearwell, one) for one in (WORDS, COUNTS)]
        await clearwell.stores.lexical_index.rebuild_group("g")
        assert kept == [await rows(clearwell, one) for one in (WORDS, COUNTS)]
        seams = "SELECT count(DISTINCT coalesce(valid_to, promoted_at)) FROM memories"
        assert await rows(clearwell, seams) == [(1,)], "one ends when the other begins"


async def living(clearwell: Clearwell) -> list[tuple[object, ...]]:
    return await rows(clearwell, "SELECT id FROM memories WHERE valid_to IS NULL")


async def test_as_of_a_time_that_was_undone_tells_what_was_verified_then(clearwell: Clearwell) -> None:
    async def told(at: datetime | None) -> list[UUID]:
        options = RetrieveOptions(as_of=at, sources=["cold"])
        found = await clearwell.memory.acting_as(PERSON).retrieve("backups payment", group="g", options=options)
        return [item.id for item in found.items]

    old = await clearwell.memory.acting_as(PERSON).promote(LONG, group="g")
    new = await clearwell.memory.acting_as(PERSON).promote(OTHER, group="g", supersedes=old.id)
    replaced = datetime.now(UTC)
    assert new.decision_id is not None
    await clearwell.review.acting_as(PERSON).undo(new.decision_id, group="g")
    assert (await told(replaced), await told(None)) == ([new.id], [old.id])


async def test_a_superseded_memory_is_found_in_the_past_by_agents_and_a_withdrawn_one_is_not(
    clearwell: Clearwell,
) -> None:
    memory, review = clearwell.memory.acting_as(PERSON), clearwell.review.acting_as(PERSON)
    old = await memory.promote(LONG, group="g")
    gone = await memory.promote(OTHER, group="g")
    then = datetime.now(UTC)
    new = await memory.promote(f"{LONG} It was changed.", group="g", supersedes=old.id)
    selector = SourceSelector(memory_id=gone.id)
    preview = await review.preview_retraction(selector, group="g")
    await review.retract(selector, token=preview.token, group="g")

    async def told(by: Principal, at: datetime | None = then) -> dict[UUID, Label]:
        options = RetrieveOptions(as_of=at, sources=["cold"])
        found = await clearwell.memory.acting_as(by).retrieve("backups payment", group="g", options=options)
        return {item.id: item.label for item in found.items}

    agent = Principal(name="bot", rights=frozenset({Right.READ}))
    assert await told(PERSON) == {old.id: Label.SUPERSEDED, gone.id: Label.WITHDRAWN}
    assert await told(agent) == {old.id: Label.SUPERSEDED}
    assert await told(agent, None) == {new.id: Label.VERIFIED}
    tombstone = await memory.add_tombstone(LONG, group="g", reason="wrong", withdraw=False)
    assert await told(agent) == {}
    await memory.lift_tombstone(tombstone.id, group="g")
    assert new.decision_id is not None
    await review.undo(new.decision_id, group="g")
    assert await told(agent) == {old.id: Label.VERIFIED}


async def rows_changed(clearwell: Clearwell, statement: str) -> None:
    assert clearwell.settings.database_url is not None
    url = clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute(statement.encode())


async def test_words_are_as_if_made_anew_after_memories_left_and_came_back(clearwell: Clearwell) -> None:
    made = [
        await clearwell.memory.acting_as(PERSON).promote(
            f"{OTHER} Part {number}.", group="g", session_id="s", author=f"A{number % 2}"
        )
        for number in range(9)
    ]
    changes = [(made[0], None), (made[4], made[0]), (made[8], made[4]), (None, made[8])]
    decisions = {}
    for gone, back in changes:
        if gone is not None:
            new = await clearwell.memory.acting_as(PERSON).promote(f"{LONG} {gone.id}", group="g", supersedes=gone.id)
            decisions[gone.id] = new.decision_id
        if back is not None:
            undone = decisions[back.id]
            assert undone is not None
            await clearwell.review.acting_as(PERSON).undo(undone, group="g")
        kept = [await rows(clearwell, one) for one in (WORDS, COUNTS, AUTHORS)]
        await clearwell.stores.lexical_index.rebuild_group("g")
        assert kept == [await rows(clearwell, one) for one in (WORDS, COUNTS, AUTHORS)]


async def test_the_same_text_promoted_at_the_same_moment_is_one_memory(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    async with opened(settings, offline_embedder) as one, opened(settings, offline_embedder) as two:
        made = await asyncio.gather(
            *(running.memory.acting_as(PERSON).promote(LONG, group="g") for running in (one, two) for _ in range(5))
        )
        assert len({each.id for each in made}) == 1
        assert sum(not each.already for each in made) == 1


async def test_a_memory_that_two_insights_hold_goes_with_the_last(clearwell: Clearwell) -> None:
    first = await put_insight(clearwell, "g", LONG, [])
    second = await put_insight(clearwell, "g", LONG, [])
    held = [
        await clearwell.review.acting_as(PERSON).decide(DecisionRequest(action=Action.PROMOTE, id=one), group="g")
        for one in (first, second)
    ]
    assert held[0].id == held[1].id
    for one, left in ((first, 1), (second, 0)):
        await clearwell.review.acting_as(PERSON).decide(DecisionRequest(action=Action.UNDO, id=one), group="g")
        assert len((await clearwell.memory.acting_as(PERSON).retrieve("payment", group="g")).items) == left


async def test_a_snoozed_insight_wakes_when_its_time_has_come(clearwell: Clearwell) -> None:
    insight = await put_insight(clearwell, "g", LONG, [said(LONG)])
    await clearwell.review.acting_as(PERSON).decide(
        DecisionRequest(action=Action.SNOOZE, id=insight, days=1), group="g"
    )
    assert await clearwell.review.acting_as(PERSON).insights(group="g", state=InsightState.PENDING) == []
    await rows_changed(clearwell, "UPDATE insights SET snoozed_until = now() - interval '1 minute'")
    (found,) = await clearwell.review.acting_as(PERSON).insights(group="g", state=InsightState.PENDING)
    assert (found.id, found.state) == (insight, InsightState.PENDING)
