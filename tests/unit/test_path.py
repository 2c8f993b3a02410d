"""The path on twins: what each step does, refuses and survives."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from clearwell.errors import (
    ClearwellError,
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    NotAllowed,
    NotFound,
    WorkingMemoryUnavailable,
)
from clearwell.flow.ingress.redaction import redact_verdicts
from clearwell.flow.ingress.segmentation import MAX_VECTORS
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.ports import QuarantineFilter, SearchQuery
from clearwell.records import (
    Admission,
    CaptureReceipt,
    FoundChunk,
    IdempotencyKey,
    NewMemory,
    Outcome,
    Principal,
    PromotionResult,
    Right,
    Source,
    Vector,
    Verdict,
    WorkingEntry,
)
from clearwell.settings import Settings
from clearwell.testing import ManualClock, MemoryLongTerm, MemoryWorkingStore, WordEmbedder
from tests.path import AGENT, LONG, OTHER, PERSON, Path, said


async def test_what_passes_is_in_working_memory_and_unverified() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said(confidence=0.9), wait=True)
    assert receipt.admission is Admission.ADMITTED
    (item,) = (await path.memory.acting_as(AGENT).retrieve("payment service", group="g")).items
    assert (item.content, item.source, item.score, item.verified) == (LONG, Source.HOT, 1.0, False)
    assert item.flags == ("self_consistency_not_checked",)
    assert item.id == receipt.id


async def test_what_fails_stays_in_quarantine_with_its_reason() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said(confidence=0.5), wait=True)
    assert receipt.admission is Admission.REFUSED
    assert [one.check for one in receipt.verdicts if one.outcome is Outcome.FAIL] == ["confidence"]
    assert (await path.memory.acting_as(AGENT).retrieve("payment", group="g")).items == ()
    row = await path.memory.quarantine_row(receipt.id, group="g")
    assert row.capture.content == LONG


async def test_the_caller_does_not_wait_for_admission() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said())
    assert receipt.admission is Admission.PENDING
    await path.queue.join()
    assert len(await path.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_the_same_again_is_dropped_and_seen() -> None:
    path = Path()
    first = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    again = await path.memory.acting_as(AGENT).capture(said(LONG.upper()), wait=True)
    assert again.admission is Admission.REFUSED
    (failed,) = [one for one in again.verdicts if one.outcome is Outcome.FAIL]
    assert str(first.id) in failed.explanation()
    assert len(await path.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_what_is_already_knowledge_is_not_admitted_again() -> None:
    path = Path()
    promoted = await path.memory.promote(LONG, group="g")
    receipt = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    assert receipt.admission is Admission.REFUSED
    (failed,) = [one for one in receipt.verdicts if one.outcome is Outcome.FAIL]
    assert failed.params["other"] == str(promoted.id)


THIRD = "The archive of the second rack is moved to the basement in December."


def failed_verdict(receipt: CaptureReceipt) -> Verdict:
    (failed,) = [one for one in receipt.verdicts if one.outcome is Outcome.FAIL]
    return failed


async def test_an_output_whose_statements_are_all_known_is_a_sighting_of_each() -> None:
    path = Path()
    first = await path.memory.acting_as(AGENT).capture(said(LONG), wait=True)
    memory = await path.memory.promote(OTHER, group="g")
    both = await path.memory.acting_as(AGENT).capture(said(f"## Report\n\n- {OTHER}\n- {LONG}"), wait=True)
    failed = failed_verdict(both)
    assert (failed.check, failed.reason) == ("non_duplicate", "verdict_same_statements")
    assert failed.params["others"] == [
        {"other": str(memory.id), "layer": "longterm"},
        {"other": str(first.id), "layer": "working"},
    ]
    assert failed.explanation("en").startswith("All 2 statements are already known")
    row = await path.memory.quarantine_row(first.id, group="g")
    assert [one.log_id for one in row.sightings or ()] == [both.id]


async def test_a_report_that_is_repeated_in_another_order_is_a_duplicate() -> None:
    path = Path()
    first = await path.memory.acting_as(AGENT).capture(said(f"{LONG}\n\n{OTHER}"), wait=True)
    for again in (f"{LONG}\n\n{OTHER}", f"Once more:\n\n1. {OTHER}\n2. {LONG}", OTHER):
        receipt = await path.memory.acting_as(AGENT).capture(said(again), wait=True)
        assert failed_verdict(receipt).params["other"] == str(first.id)
    assert len(await path.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_an_output_that_mixes_known_and_new_is_admitted() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(LONG), wait=True)
    mixed = await path.memory.acting_as(AGENT).capture(said(f"{LONG}\n\n{THIRD}"), wait=True)
    assert mixed.admission is Admission.ADMITTED
    (verdict,) = [one for one in mixed.verdicts if one.check == "non_duplicate"]
    assert (verdict.outcome, verdict.reason) == (Outcome.PASS, "verdict_new_partly")
    assert verdict.explanation("en").startswith("1 of 2 statements")


async def test_a_conflict_names_the_two_statements() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(f"{OTHER}\n\n{LONG}"), wait=True)
    changed = LONG.replace("Monday", "Friday")
    receipt = await path.memory.acting_as(AGENT).capture(said(f"{THIRD}\n\n{changed}"), wait=True)
    assert receipt.admission is Admission.ADMITTED
    (verdict,) = [one for one in receipt.verdicts if one.check == "non_duplicate"]
    assert (verdict.outcome, verdict.params["new"], verdict.params["known"]) == (Outcome.FLAG, changed, LONG)
    for explanation in (verdict.explanation("en"), verdict.explanation("zh")):
        assert f"“{changed}”" in explanation
        assert f"“{LONG}”" in explanation
    (brief,) = redact_verdicts([verdict], Principal(name="bot", rights=frozenset({Right.CAPTURE})))
    assert LONG not in brief.explanation("en")


async def test_a_statement_of_a_longer_memory_is_known() -> None:
    path = Path()
    memory = await path.memory.promote(f"{THIRD} {OTHER} {LONG}", group="g")
    for text in (OTHER, f"{LONG}\n\n{OTHER}"):
        receipt = await path.memory.acting_as(AGENT).capture(said(text), wait=True)
        assert failed_verdict(receipt).params["other"] == str(memory.id)


async def test_an_output_of_very_many_statements_is_compared_in_part_and_not_dropped() -> None:
    path = Path()
    lines = [f"Shelf {number} of the archive holds {number + 7} boxes of paper." for number in range(MAX_VECTORS + 1)]
    await path.memory.acting_as(AGENT).capture(said("\n\n".join(lines[:-1])), wait=True)
    more = await path.memory.acting_as(AGENT).capture(said("\n\n".join([*lines[:-1], THIRD])), wait=True)
    assert more.admission is Admission.ADMITTED


async def test_one_statement_that_is_like_a_rejected_value_flags_the_output() -> None:
    path = Path()
    await path.memory.add_tombstone(LONG, reason="not so", group="g")
    near = LONG.replace("without any downtime at all", "with almost no downtime")
    new = said(f"{OTHER}\n\n{THIRD}\n\n{near}")
    receipt = await path.memory.acting_as(AGENT).capture(new, wait=True)
    assert receipt.admission is Admission.ADMITTED
    (entry,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    assert "near_rejected" in entry.flags


async def test_the_same_twice_in_one_batch_is_admitted_once() -> None:
    path = Path()
    receipts = await path.memory.acting_as(AGENT).capture_many([said(), said(), said(OTHER)], wait=True)
    states = [one.admission for one in receipts if isinstance(one, CaptureReceipt)]
    assert states == [Admission.ADMITTED, Admission.REFUSED, Admission.ADMITTED]


async def test_a_batch_keeps_the_good_and_names_the_bad() -> None:
    path = Path()
    results = await path.memory.acting_as(AGENT).capture_many([said(), said(""), said(group_id="other")], wait=True)
    assert isinstance(results[0], CaptureReceipt)
    assert isinstance(results[1], InvalidInput)
    assert isinstance(results[2], NotAllowed)


async def test_without_a_group_it_is_kept_and_refused() -> None:
    path = Path()
    with pytest.raises(NotAllowed, match="group_id"):
        await path.memory.acting_as(AGENT).capture(said(group_id=None))
    receipt = await path.memory.acting_as(replace(AGENT, groups=None)).capture(said(group_id=None))
    assert (receipt.group_id, receipt.admission) == ("unassigned", Admission.REFUSED)
    assert [one.check for one in receipt.verdicts] == ["group"]
    row = await path.memory.quarantine_row(receipt.id, group="unassigned")
    assert row.capture.content == LONG


async def test_the_protocols_own_calls_make_one_row() -> None:
    path = Path()
    log_id = await path.memory.acting_as(AGENT).log_quarantine("s1", "n1", LONG, {"confidence": 0.9}, group="g")
    receipt = await path.memory.acting_as(AGENT).update_working_memory(group="g", log_id=log_id)
    assert receipt.admission is Admission.ADMITTED
    direct = await path.memory.acting_as(AGENT).update_working_memory(OTHER, {"confidence": 0.9}, group="g")
    assert direct.admission is Admission.ADMITTED
    assert len(await path.memory.quarantine_rows(group="g", where=QuarantineFilter())) == 2
    with pytest.raises(NotFound):
        await path.memory.acting_as(AGENT).update_working_memory(group="g", log_id=path.ids.new())


async def test_only_a_reviewer_promotes() -> None:
    path = Path()
    for rights in ({Right.CAPTURE}, {Right.READ}, {Right.CAPTURE, Right.READ}, {Right.ADMIN}):
        caller = Principal(name="x", rights=frozenset(rights))
        with pytest.raises(NotAllowed):
            await path.memory.acting_as(caller).promote(LONG, group="g")
    with pytest.raises(NotAllowed):
        await path.memory.acting_as(PERSON.lowered()).promote(LONG, group="g")
    assert path.longterm.promotions == []
    await path.memory.acting_as(Principal(name="r", rights=frozenset({Right.REVIEW}))).promote(LONG, group="g")
    assert [event.actor for event in path.decisions.events] == ["r"]
    assert [(event.action, event.subject) for event in path.audit.events] == [("refused", "promote")] * 5
    bound = Principal(name="b", rights=frozenset(Right), agent_id="a1")
    with pytest.raises(NotAllowed, match="only people may decide"):
        await path.memory.acting_as(bound).promote(OTHER, group="g")


async def test_a_promoted_text_is_found_as_verified() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g", author="Ann", metadata={"ref": 7})
    (item,) = (await path.memory.acting_as(AGENT).retrieve("payment service", group="g")).items
    assert (item.source, item.verified, item.author, item.metadata) == (Source.COLD, True, "Ann", {"ref": 7})
    assert 0 < item.score < 1


async def test_an_agents_own_memory_is_found_only_for_it() -> None:
    path = Path()
    await path.memory.promote(LONG, group="g", agent_id="a1")
    assert (await path.memory.acting_as(AGENT).retrieve("payment", group="g")).items == ()
    own = await path.memory.acting_as(AGENT).retrieve("payment", group="g", options=RetrieveOptions(agent_id="a1"))
    assert [item.scope for item in own.items] == ["agent"]


async def test_a_key_bound_to_an_agent_can_name_no_other() -> None:
    path = Path()
    bound = replace(AGENT, agent_id="a1")
    await path.memory.acting_as(bound).capture(said(), wait=True)
    with pytest.raises(NotAllowed):
        await path.memory.acting_as(bound).capture(replace(said(), agent_id="a2"))
    with pytest.raises(NotAllowed):
        await path.memory.acting_as(bound).retrieve("x", group="g", options=RetrieveOptions(agent_id="a2"))
    await path.memory.acting_as(bound).capture(replace(said(OTHER), agent_id=None), wait=True)
    assert {entry.agent_id for entry in await path.memory.acting_as(bound).working_memory(group="g")} == {"a1"}


async def test_a_foreign_group_is_refused_everywhere() -> None:
    path, other = Path(), "h"
    calls = [
        path.memory.acting_as(AGENT).capture(said(group_id=other)),
        path.memory.acting_as(AGENT).retrieve("x", group=other),
        path.memory.acting_as(AGENT).working_memory(group=other),
        path.memory.acting_as(AGENT).update_working_memory(LONG, group=other),
        path.memory.acting_as(replace(AGENT, rights=frozenset(Right))).promote(LONG, group=other),
        path.memory.acting_as(replace(AGENT, rights=frozenset(Right))).quarantine_rows(group=other),
        path.memory.acting_as(replace(AGENT, rights=frozenset(Right))).cleanup_working_memory(group=other),
    ]
    for call in calls:
        with pytest.raises(NotAllowed):
            await call


async def test_quarantine_is_for_reviewers() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    with pytest.raises(NotAllowed):
        await path.memory.acting_as(AGENT).quarantine_row(receipt.id, group="g")
    with pytest.raises(NotFound):
        await path.memory.quarantine_row(path.ids.new(), group="g")


async def test_entries_end_after_24_hours_and_cleanup_counts_them() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    path.clock.forward(timedelta(hours=23))
    await path.memory.acting_as(AGENT).capture(said(OTHER), wait=True)
    path.clock.forward(timedelta(hours=1))
    assert [one.content for one in await path.memory.acting_as(AGENT).working_memory(group="g")] == [OTHER]
    assert await path.memory.cleanup_working_memory() == 1


class Down:
    """Parts that do not answer until they are told to."""

    def __init__(self) -> None:
        self.down = True


class DownWorking(Down, MemoryWorkingStore):
    def __init__(self, clock: ManualClock) -> None:
        Down.__init__(self)
        MemoryWorkingStore.__init__(self, clock)

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        if self.down:
            raise WorkingMemoryUnavailable("working_unavailable", problem="refused")
        return await super().entries(group_id)


class DownEmbedder(Down, WordEmbedder):
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("working_unavailable", problem="refused")
        return await super().embed(texts)


class HangingSearch(MemoryLongTerm):
    async def search(self, query: SearchQuery) -> list[FoundChunk]:
        await asyncio.Event().wait()
        return []


async def test_an_outage_of_working_memory_postpones_and_loses_nothing() -> None:
    clock = ManualClock()
    working = DownWorking(clock)
    path = Path(clock=clock, working=working)
    receipt = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    assert receipt.admission is Admission.PENDING
    working.down = False
    clock.forward(timedelta(seconds=5))
    for due in await path.quarantine.find_pending(limit=10):
        path.queue.offer(due.group_id, due.log_id)
    await path.queue.join()
    assert len(await path.memory.acting_as(AGENT).working_memory(group="g")) == 1


async def test_with_the_embedder_down_what_needs_no_vector_is_still_settled() -> None:
    embedder = DownEmbedder()
    path = Path(embedder=embedder)
    kept = await path.memory.acting_as(AGENT).capture_many([said(), said(confidence=0.1)], wait=True)
    states = [one.admission for one in kept if isinstance(one, CaptureReceipt)]
    assert states == [Admission.PENDING, Admission.REFUSED]
    found = await path.memory.acting_as(AGENT).retrieve("x", group="g")
    assert found.degraded == ("embedder",)


async def test_each_side_of_retrieval_answers_without_the_other() -> None:
    clock = ManualClock()
    working = DownWorking(clock)
    path = Path(clock=clock, working=working)
    await path.memory.promote(LONG, group="g")
    cold = await path.memory.acting_as(AGENT).retrieve("payment", group="g")
    assert ([item.source for item in cold.items], cold.degraded) == ([Source.COLD], ("working_memory",))


async def test_a_hanging_side_costs_no_more_than_the_time_limit() -> None:
    settings = Settings(retrieve_timeout_seconds=0.05)
    path = Path(settings=settings)
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    hanging = Path(settings=settings, search=HangingSearch(Bm25()), working=path.admitter._working)
    found = await hanging.memory.acting_as(AGENT).retrieve("payment", group="g")
    assert ([item.source for item in found.items], found.degraded) == ([Source.HOT], ("long_term_memory",))


async def test_the_order_is_relevant_unverified_then_verified_then_the_other_unverified() -> None:
    path = Path()
    texts = [f"{word} {LONG.replace('payment', word)} {word} {word} {word}" for word in ("alpha", "beta", "gamma")]
    for text in texts:
        await path.memory.acting_as(AGENT).capture(said(text), wait=True)
    await path.memory.promote(OTHER, group="g")
    found = await path.memory.acting_as(AGENT).retrieve(texts[0], group="g")
    assert [item.content for item in found.items] == [texts[0], OTHER, texts[1], texts[2]]
    relevances = [item.relevance or 0 for item in found.items if item.source is Source.HOT]
    assert relevances[0] >= 0.85 > relevances[1] >= relevances[2] >= 0.35


async def test_limits_are_upper_bounds() -> None:
    path = Path(settings=Settings(duplicate_similarity=1.0))
    for number in range(12):
        await path.memory.acting_as(AGENT).capture(said(f"{LONG[:-1]} number{number} n{number} m{number}."), wait=True)
        await path.memory.promote(f"{OTHER} number{number}", group="g")
    default = (await path.memory.acting_as(AGENT).retrieve("number", group="g")).items
    assert [sum(item.source is source for item in default) for source in Source] == [10, 5]
    few = RetrieveOptions(max_results=4, hot_limit=3, cold_limit=2)
    assert len((await path.memory.acting_as(AGENT).retrieve("number", group="g", options=few)).items) == 4
    none = RetrieveOptions(hot_limit=0, cold_limit=0)
    assert (await path.memory.acting_as(AGENT).retrieve("number", group="g", options=none)).items == ()


async def test_what_is_in_both_tiers_comes_once_as_verified() -> None:
    path = Path()
    await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await path.memory.promote(LONG, group="g")
    (item,) = (await path.memory.acting_as(AGENT).retrieve(LONG, group="g")).items
    assert item.verified


async def test_a_repeated_promotion_gives_the_first_answer() -> None:
    path = Path()
    request = IdempotencyKey(principal="local", route="r", key="k", request_hash=b"h")
    texts = [NewMemory(content=LONG), NewMemory(content=" "), NewMemory(content=OTHER)]
    first = await path.memory.promote_many(texts, group="g", idempotency_key=request)
    again = await path.memory.promote_many(texts, group="g", idempotency_key=request)
    assert [one.id for one in first if isinstance(one, PromotionResult)] == [
        one.id for one in again if isinstance(one, PromotionResult) and one.replayed
    ]
    assert isinstance(again[1], InvalidInput)
    assert len(path.longterm.promotions) == 2


async def test_a_decision_is_kept_while_the_model_is_down_and_carried_out_when_it_is_back() -> None:
    embedder = DownEmbedder()
    path = Path(embedder=embedder)
    request = IdempotencyKey(principal="local", route="r", key="k", request_hash=b"h")
    decided = await path.memory.promote(LONG, group="g", idempotency_key=request)
    assert (decided.waiting, decided.chunks) == (True, 0)
    again = await path.memory.promote(LONG, group="g")
    assert (again.id, again.already, again.waiting) == (decided.id, True, True)
    assert await path.promotion_completer.complete_due() == 0
    embedder.down = False
    assert await path.promotion_completer.complete_due() == 0, "not before its time"
    path.clock.forward(timedelta(seconds=2))
    assert await path.promotion_completer.complete_due() == 1
    (item,) = (await path.memory.acting_as(AGENT).retrieve("payment service", group="g")).items
    assert item.id == decided.id
    assert (await path.memory.promote(LONG, group="g", idempotency_key=request)).waiting, "as it was answered"
    assert len(path.longterm.promotions) == 1


async def test_what_is_rejected_while_it_waits_is_not_carried_out() -> None:
    embedder = DownEmbedder()
    path = Path(embedder=embedder)
    await path.memory.promote(LONG, group="g")
    embedder.down = False
    await path.memory.add_tombstone(LONG, reason="not so", group="g")
    assert await path.promotion_completer.complete_due() == 0
    path.clock.forward(timedelta(days=1))
    assert await path.promotion_completer.complete_due() == 0
    assert (await path.memory.acting_as(AGENT).retrieve("payment service", group="g")).items == ()


async def test_the_same_thing_is_one_memory_and_the_same_words_elsewhere_are_another() -> None:
    path = Path()
    first = await path.memory.promote(LONG, group="g", session_id="s1")
    again = await path.memory.promote(LONG.upper(), group="g", session_id="s1")
    assert (again.id, again.already) == (first.id, True)
    assert (await path.memory.promote(LONG, group="g", session_id="s2")).id != first.id
    twice = await path.memory.promote_many([NewMemory(content=OTHER), NewMemory(content=OTHER)], group="g")
    assert len({one.id for one in twice if not isinstance(one, ClearwellError)}) == 1


async def test_two_turns_with_the_same_words_are_two_where_their_metadata_differ() -> None:
    path = Path()
    turns = [NewMemory(content=LONG, session_id="s", metadata={"turn": number}) for number in (1, 2, 1)]
    made = [one.id for one in await path.memory.promote_many(turns, group="g") if isinstance(one, PromotionResult)]
    assert made[0] == made[2] != made[1]
    typed = [NewMemory(content=OTHER, metadata={"source": name}) for name in ("mail", "minutes")]
    one, other = await path.memory.promote_many(typed, group="g")
    assert isinstance(one, PromotionResult)
    assert isinstance(other, PromotionResult)
    assert one.id == other.id


async def test_a_rejected_value_is_not_promoted() -> None:
    path = Path()
    await path.memory.add_tombstone(LONG, reason="not so", group="g")
    with pytest.raises(Conflict, match="not so"):
        await path.memory.promote(f"{OTHER} {LONG.upper()}", group="g")
    assert path.longterm.promotions == []


async def test_a_fenced_quotation_of_a_refused_output_is_an_echo_of_it() -> None:
    path = Path()
    refused = await path.memory.acting_as(AGENT).capture(said(confidence=0.1), wait=True)
    quoted = said(f'<memory id="{refused.id}">{LONG}</memory>')
    receipt = await path.memory.acting_as(AGENT).capture(replace(quoted, agent_id="a2"), wait=True)
    assert receipt.admission is Admission.REFUSED
    (failed,) = [one for one in receipt.verdicts if one.outcome is Outcome.FAIL]
    assert (failed.check, failed.params["memories"]) == ("echo", [str(refused.id)])


async def test_a_fenced_quotation_of_a_withdrawn_memory_is_an_echo_of_it() -> None:
    path = Path()
    withdrawn = await path.memory.promote(LONG, group="g")
    await path.memory.promote(OTHER, group="g", supersedes=withdrawn.id)
    quoted = said(f'<memory id="{withdrawn.id}">{LONG}</memory>')
    receipt = await path.memory.acting_as(AGENT).capture(quoted, wait=True)
    assert receipt.admission is Admission.REFUSED
    (failed,) = [one for one in receipt.verdicts if one.outcome is Outcome.FAIL]
    assert (failed.check, failed.params["memories"]) == ("echo", [str(withdrawn.id)])


async def test_a_person_admits_what_was_refused() -> None:
    path = Path()
    refused = await path.memory.acting_as(AGENT).capture(said(confidence=0.1), wait=True)
    receipt = await path.memory.admit_refused(refused.id, group="g", reason="measured twice")
    assert receipt.admission is Admission.ADMITTED
    assert receipt.verdicts[0].outcome is Outcome.FAIL
    assert receipt.verdicts[-1].explanation("en").endswith(f"and {PERSON.name} admitted it: measured twice")
    (entry,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    assert (entry.id, entry.content) == (refused.id, LONG)
    with pytest.raises(Conflict, match="already admitted"):
        await path.memory.admit_refused(refused.id, group="g")
    with pytest.raises(NotFound):
        await path.memory.admit_refused(UUID(int=404), group="g")


async def test_a_person_admits_no_value_that_was_rejected() -> None:
    path = Path()
    tombstone = (await path.memory.add_tombstone(LONG, reason="not so", group="g")).id
    refused = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    with pytest.raises(Conflict, match=str(tombstone)):
        await path.memory.admit_refused(refused.id, group="g")
    await path.memory.lift_tombstone(tombstone, group="g")
    await path.memory.admit_refused(refused.id, group="g")
    assert [entry.id for entry in await path.memory.acting_as(AGENT).working_memory(group="g")] == [refused.id]


async def test_an_output_that_is_still_checked_is_not_admitted_by_a_person() -> None:
    path = Path()
    log_id = await path.memory.log_quarantine("s", "n", LONG, group="g")
    with pytest.raises(Conflict, match="still being checked"):
        await path.memory.admit_refused(log_id, group="g")


async def test_a_thousand_rounds_of_recall_and_repeat_leave_one_entry() -> None:
    path = Path()
    first = await path.memory.acting_as(AGENT).capture(said(), wait=True)
    await path.memory.promote(OTHER, group="g")
    for number in range(1000):
        items = (await path.memory.acting_as(AGENT).retrieve("payment service backups", group="g")).items
        item = items[number % len(items)]
        repeated = item.content if number % 3 else f'<memory id="{item.id}">{item.content}</memory>'
        await path.memory.acting_as(AGENT).capture(said(repeated, confidence=0.95), wait=True)
    assert [entry.id for entry in await path.memory.acting_as(AGENT).working_memory(group="g")] == [first.id]
    rows = await path.memory.quarantine_rows(group="g", limit=2000)
    assert len(rows) == 1001
    assert not any(row.sighting_of for row in rows)
