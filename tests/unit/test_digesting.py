"""The making of a digest on twins: what it looks at, who writes it, and what becomes of a try that fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from clearwell.errors import Conflict, EmbedderUnavailable, NotAllowed, NotFound, WriterUnavailable
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.digest import find_latest_tick
from clearwell.flow.digest.progress import Progress
from clearwell.flow.digest.schedule import find_next_tick
from clearwell.messages import Language
from clearwell.records import (
    Contradiction,
    Digest,
    DigestStatus,
    GroupChange,
    Json,
    Layer,
    NewCapture,
    Sentence,
    Vector,
    Writer,
    WriterSource,
    WrittenInsight,
)
from clearwell.settings import NodePolicy, Settings
from clearwell.testing import WordEmbedder
from clearwell.vocabulary import AuditAction
from clearwell.worker import run_due_digests
from tests.path import AGENT, PERSON, Path

GATEWAY = "The payment gateway times out above five hundred concurrent requests and must be scaled up before release."
LIFT = "The freight lift in hall four stays closed until the inspector has signed the new brake report."
BACKUPS = "Nightly backups of the billing database now take eleven minutes instead of forty minutes since Monday."

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def says(content: str, agent: str, group_id: str = "g", node_type: str = "agent") -> NewCapture:
    return NewCapture(
        content=content, group_id=group_id, agent_id=agent, session_id=f"s-{agent}", node_id="n", node_type=node_type
    )


def agreed(content: str) -> tuple[NewCapture, NewCapture]:
    """Two agents that say the same, not in the very same words."""
    return says(content, "a1"), says(f"{content} Our own measurement confirms that.", "a2")


def unsure(content: str, agent: str) -> NewCapture:
    """It is refused before it is embedded."""
    return replace(says(content, agent), metadata={"confidence": 0.1})


async def keep(path: Path, *captures: NewCapture) -> list[UUID]:
    kept = [await path.memory.capture(one, wait=True) for one in captures]
    return [one.id for one in kept]


async def made(path: Path, group_id: str = "g") -> Digest:
    """Ask for a digest, do it, and read it."""
    asked, _ = await path.memory.request_digest(group=group_id)
    assert await run_due_digests(path.program) == 1
    return await path.memory.digest(asked)


def shown(digest: Digest) -> set[UUID]:
    return {source.log_id for insight in digest.insights for source in insight.sources}


class FailingEmbedder(WordEmbedder):
    """The model, which is down when it is told to be."""

    def __init__(self) -> None:
        self.down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailable("embedder_unavailable", problem="no route")
        return await super().embed(texts)


@dataclass
class ScriptedWriter:
    """Answers with what the test put in, the last again and again."""

    answers: list[WriterUnavailable | str]
    model: str = "scripted"
    sides: Callable[[Sequence[WriterSource]], tuple[tuple[UUID, ...], ...]] = lambda _: ()
    asked: list[Sequence[WriterSource]] = field(default_factory=list)

    async def write(self, sources: Sequence[WriterSource]) -> WrittenInsight:
        self.asked.append(sources)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, WriterUnavailable):
            raise answer
        sides = self.sides(sources)
        contradictions = [
            Contradiction(
                of=one[0],
                against=other[0],
                layer=Layer.QUARANTINE,
                reason="contradiction_by_model",
                params={"why": "5"},
            )
            for one, other in pairwise(sides)
        ]
        return WrittenInsight(
            sentences=(Sentence(text=answer, sources=(sources[0].log_id,)),),
            contradictions=tuple(contradictions),
            sides=sides,
        )


async def test_agreement_and_repeats_become_one_insight_that_quotes_its_sources() -> None:
    path = Path()
    first, again, alone = await keep(path, *agreed(GATEWAY), says(LIFT, "a3"))
    digest = await made(path)
    assert digest.status is DigestStatus.DONE
    insight = digest.insights[0]
    assert {source.log_id for source in insight.sources} == {first, again}
    assert [source.statement for source in insight.sources] == [GATEWAY, GATEWAY]
    assert [source.span for source in insight.sources] == [(0, len(GATEWAY))] * 2
    assert (insight.written_by, insight.support.agents) == (Writer.EXTRACTIVE, 2)
    assert insight.summary == GATEWAY
    assert insight.embedding_model == "words"
    assert all(one.embedding is not None for one in await path.digest_store.list_undecided("g", "words"))
    assert digest.report["without_vector"] == 0
    assert path.ledger.marks[("g", alone)].considered == 1


async def test_what_was_shown_is_not_shown_again_and_a_digest_with_nothing_says_so() -> None:
    path = Path()
    await keep(path, *agreed(GATEWAY))
    await made(path)
    second = await made(path)
    assert GATEWAY not in [source.statement for insight in second.insights for source in insight.sources]
    assert (await made(path, "empty")).note == "digest_no_rows"
    for _ in range(4):
        nothing = await made(path)
    assert (nothing.status, nothing.insights, nothing.note) == (DigestStatus.DONE, (), "digest_nothing_new")
    assert "nothing new" in str(nothing.explanation("en"))
    assert "没有新内容" in str(nothing.explanation("zh"))


async def test_node_types_decide_what_is_digested() -> None:
    path = Path(Settings(node_policies={"draft": NodePolicy(admit=True, digest=False)}))
    kept = await keep(
        path,
        says(GATEWAY, "a1"),
        says(BACKUPS, "a2", node_type="fact_check"),
        says(BACKUPS + " It is a draft of somebody.", "a3", node_type="draft"),
        says("Somebody else entirely reports other matters from the warehouse in the north.", "a4", node_type="own"),
    )
    await made(path)
    assert {log_id for _, log_id in path.ledger.marks} == {kept[0], kept[1], kept[3]}


async def test_what_a_fact_check_says_supports_an_agent_and_is_no_insight_by_itself() -> None:
    path = Path()
    agent, checked, *_ = await keep(
        path,
        says(GATEWAY, "a1"),
        says(f"{GATEWAY} The load test log shows it.", "checker", node_type="fact_check"),
        says(BACKUPS, "checker", node_type="fact_check"),
        says(f"{BACKUPS} I saw the job log.", "other-checker", node_type="fact_check"),
        says(LIFT, "t1", node_type="tool"),
        says(f"{LIFT} Exit code 0.", "t2", node_type="tool"),
    )
    (insight,) = (await made(path)).insights
    assert {source.log_id for source in insight.sources} == {agent, checked}


async def test_an_output_without_a_group_has_statements_once_it_is_assigned() -> None:
    path = Path()
    captured = await path.memory.capture(replace(says(GATEWAY, "a1"), group_id=None), wait=True)
    assert (await path.memory.quarantine_row(captured.id, group="unassigned")).statements is None
    await keep(path, says(f"{GATEWAY} Our own measurement confirms that.", "a2"))
    assigned = await path.memory.assign(captured.id, group="g")
    await path.queue.join()
    assert assigned.id in shown(await made(path))


async def test_other_statements_of_a_shown_row_stay_candidates() -> None:
    path = Path()
    first, again = await keep(path, says(f"{GATEWAY} {BACKUPS}", "a1"), says(GATEWAY + " We measured it.", "a2"))
    assert shown(await made(path)) == {first, again}
    await keep(path, says(f"{BACKUPS} The dashboard shows it.", "a3"))
    (insight,) = (await made(path)).insights
    assert insight.summary == BACKUPS
    assert first in {source.log_id for source in insight.sources}


async def test_two_sides_of_one_question_are_one_insight_with_sides() -> None:
    path = Path()
    day = "The annual contract with the transport company in Bergen ends on {} according to the signed paper."
    rows = await keep(
        path,
        says(day.format("3 June"), "a1"),
        says("In Bergen the contract with the transport company ends on 3 June, the signed paper says.", "a2"),
        says(day.format("19 August"), "a3"),
    )
    (insight,) = (await made(path)).insights
    assert "contradiction" in insight.flags
    assert [set(side.log_ids) for side in insight.sides] == [set(rows[:2]), {rows[2]}]
    assert [side.support.agents for side in insight.sides] == [2, 1]
    assert "3 June" in insight.sides[0].statement
    assert "19 August" in insight.sides[1].statement
    assert {source.log_id: source.side for source in insight.sources} == {rows[0]: 0, rows[1]: 0, rows[2]: 1}


async def test_a_refused_value_is_in_no_insight_even_where_it_came_before_its_tombstone() -> None:
    path = Path()
    kept = await keep(path, *agreed(GATEWAY), *agreed(BACKUPS))
    await path.memory.add_tombstone(GATEWAY, reason="wrong", group="g")
    digest = await made(path)
    assert shown(digest) == set(kept[2:])
    assert "gateway" not in "".join(one.summary for one in digest.insights)


async def test_memories_that_an_agent_cites_are_not_its_own_words() -> None:
    path = Path()
    moon = "The moon is made of cheese, they say."
    memory = await path.memory.promote(moon, group="g")
    fence = f'<memory id="{memory.id}">{moon}</memory>'
    await keep(path, says(f"{fence} {GATEWAY}", "a3"), *agreed(GATEWAY))
    digest = await made(path)
    assert digest.insights
    assert "cheese" not in "".join(one.summary for one in digest.insights)


async def test_a_model_writes_and_what_it_writes_is_shown_escaped() -> None:
    writer = ScriptedWriter(["The gateway must\u200b be scaled up."])
    path = Path(writer=writer)
    await keep(path, *agreed(GATEWAY))
    (insight, *_) = (await made(path)).insights
    assert (insight.written_by, insight.summary) == (Writer.MODEL, "The gateway must⟦U+200B⟧ be scaled up.")
    assert insight.sentences[0].sources == (insight.sources[0].log_id,)
    assert insight.sources[0].statement == GATEWAY
    assert insight.notes == ()


RECORDED = "Recording of a lecture in the north hall of the school starts on its own, whoever gives the lecture."
ON_REQUEST = "Recording of a lecture in the north hall of the school waits for the hand of whoever gives the lecture."


def each_alone(sources: Sequence[WriterSource]) -> tuple[tuple[UUID, ...], ...]:
    return tuple((one.log_id,) for one in sources)


async def test_sides_that_only_a_model_finds_have_to_be_decided() -> None:
    """No list of words has this dispute."""
    writer = ScriptedWriter(["It is disputed."], sides=each_alone)
    path = Path(writer=writer)
    first, second = await keep(path, says(RECORDED, "a1"), says(ON_REQUEST, "a2"))
    (insight,) = (await made(path)).insights
    assert insight.flags[0] == "contradiction"
    assert {side.log_ids: side.statement for side in insight.sides} == {(first,): RECORDED, (second,): ON_REQUEST}
    assert [source.side for source in insight.sources] == [0, 1]
    with pytest.raises(Conflict):
        await path.memory.review.promote(insight.id, group="g")
    side = next(number for number, one in enumerate(insight.sides) if one.log_ids == (second,))
    await path.memory.review.promote(insight.id, group="g", side=side)
    assert [chunk.content for chunk in path.longterm.chunks] == [ON_REQUEST]


async def test_one_agent_on_two_sides_makes_no_sides() -> None:
    writer = ScriptedWriter(["It is disputed."], sides=each_alone)
    path = Path(writer=writer)
    later = replace(says(ON_REQUEST, "a1"), session_id="s-later")
    await keep(path, says(RECORDED, "a1"), later)
    (insight,) = (await made(path)).insights
    assert (insight.flags[0], insight.sides) == ("contradiction", ())


async def test_a_model_that_makes_up_a_value_is_replaced_by_quotation() -> None:
    writer = ScriptedWriter(["The gateway times out above 700 requests."])
    path = Path(writer=writer)
    await keep(path, *agreed(GATEWAY))
    (insight, *_) = (await made(path)).insights
    assert (insight.written_by, insight.summary) == (Writer.EXTRACTIVE, GATEWAY)
    assert insight.notes[0].params["problem_code"] == "writer_invented"
    assert "700" in insight.notes[0].text("zh")
    assert "Our own measurement confirms that." in writer.asked[0][1].passage


async def test_a_failing_model_is_replaced_by_quotation_with_the_reason() -> None:
    down = WriterUnavailable("writer_unreachable", where="api", said="refused")
    path = Path(writer=ScriptedWriter([down]))
    await keep(path, *agreed(GATEWAY))
    digest = await made(path)
    (insight, *_) = digest.insights
    assert (insight.written_by, insight.notes[0].code) == (Writer.EXTRACTIVE, "insight_quoted_instead")
    assert "could not be reached (refused)" in insight.notes[0].text("en")
    assert (digest.status, digest.note) == (DigestStatus.DONE, "digest_done_quoted")
    assert "无法连接对话 API api" in str(digest.explanation("zh"))


async def test_a_model_that_is_down_is_not_asked_for_every_insight_and_one_bad_answer_changes_nothing() -> None:
    topics = [
        "warehouse north ships pallets tuesdays lorry seven drivers reported yesterday evening twice over",
        "contract renewal vendor signed quarterly discount twelve percent legal department approved finally",
        "office kitchen coffee machine repaired technician visited replaced pump water filter altogether",
        "customer satisfaction survey answered hundred people scored eight average improved slightly again",
        "database replication lag measured seconds dashboards alerting configured grafana panels everywhere",
    ]
    captures = [one for topic in topics for one in agreed(topic)]
    down = ScriptedWriter([WriterUnavailable("writer_timeout", where="api", model="m", seconds=60)])
    path = Path(writer=down)
    await keep(path, *captures)
    digest = await made(path)
    assert len(digest.insights) >= 3
    assert len(down.asked) == 2
    assert {one.written_by for one in digest.insights} == {Writer.EXTRACTIVE}

    bad = ScriptedWriter([WriterUnavailable("writer_nonsense", model="m"), "It is so."])
    path = Path(writer=bad)
    await keep(path, *captures)
    digest = await made(path)
    assert len(bad.asked) == len(digest.insights)
    assert [one.written_by for one in digest.insights].count(Writer.EXTRACTIVE) == 1


async def test_a_refused_value_in_the_words_of_a_model_is_dropped() -> None:
    path = Path(writer=ScriptedWriter([BACKUPS]))
    await keep(path, *agreed(GATEWAY))
    await path.memory.add_tombstone(BACKUPS, reason="wrong", group="g")
    (insight, *_) = (await made(path)).insights
    assert (insight.written_by, insight.notes[0].params["problem_code"]) == (Writer.EXTRACTIVE, "writer_refused_value")


async def test_without_the_embedder_a_try_is_put_off_later_each_time_and_the_last_goes_on_without() -> None:
    embedder = FailingEmbedder()
    path = Path(Settings(digest_attempts=3, digest_retry_seconds=10), embedder=embedder)
    kept = await keep(path, *agreed(GATEWAY), unsure(LIFT, "a3"))
    embedder.down = True
    asked, _ = await path.memory.request_digest(group="g")
    now = path.clock.now()
    assert await path.runner.run("g", asked) == now + timedelta(seconds=10)
    waiting = await path.memory.digest(asked)
    assert (waiting.status, waiting.attempts, waiting.note) == (DigestStatus.QUEUED, 1, "digest_put_off")
    assert "Attempt 1 of 3 failed" in str(waiting.explanation("en"))
    assert await path.runner.run("g", asked) is None, "not before its time"
    path.clock.forward(timedelta(seconds=10))
    assert await path.runner.run("g", asked) == now + timedelta(seconds=30)
    path.clock.forward(timedelta(seconds=20))
    assert await path.runner.run("g", asked) is None
    done = await path.memory.digest(asked)
    assert (done.status, done.note, done.note_params["missing"]) == (DigestStatus.DONE, "digest_done_partly", 1)
    assert shown(done) == set(kept[:2])
    assert ("g", kept[2]) not in path.ledger.marks, "what could not be looked at was not considered"


async def test_without_any_vector_the_last_try_fails_with_the_reason_and_what_to_do() -> None:
    embedder = FailingEmbedder()
    path = Path(Settings(digest_attempts=1), embedder=embedder)
    await keep(path, unsure(LIFT, "a3"))
    embedder.down = True
    failed = await made(path)
    assert (failed.status, failed.note) == (DigestStatus.FAILED, "digest_failed")
    assert "Request a digest again" in str(failed.explanation("en"))
    assert [event.action for event in path.digest_store.events] == ["request digest", "give up digest"]


async def test_a_digest_whose_tries_never_end_is_given_up() -> None:
    path = Path(Settings(digest_attempts=2))
    asked, _ = await path.memory.request_digest(group="g")
    for _ in range(2):
        now = path.clock.now()
        assert await path.digest_store.claim("g", asked, at=now, until=now + timedelta(seconds=30))
        path.clock.forward(timedelta(seconds=30))  # the process was killed, and its lease has ended
    assert await path.runner.run("g", asked) is None
    found = await path.memory.digest(asked)
    assert (found.status, found.note) == (DigestStatus.FAILED, "digest_gave_up")
    assert await path.runner.run("g", asked) is None


class BrokenWriter:
    """A writer with a fault in its code."""

    model = "broken"

    def __init__(self) -> None:
        self.broken = True

    async def write(self, sources: Sequence[WriterSource]) -> WrittenInsight:
        if self.broken:
            raise ZeroDivisionError(sources[0].statement)
        raise WriterUnavailable("writer_nonsense", model=self.model)


async def test_an_unexpected_failure_is_recorded_and_tried_again() -> None:
    writer = BrokenWriter()
    path = Path(Settings(digest_attempts=3, digest_retry_seconds=10), writer=writer)
    await keep(path, *agreed(GATEWAY))
    asked, _ = await path.memory.request_digest(group="g")
    assert await run_due_digests(path.program) == 1
    waiting = await path.memory.digest(asked)
    assert (waiting.status, waiting.attempts, waiting.note) == (DigestStatus.QUEUED, 1, "digest_put_off")
    told = str(waiting.explanation("en"))
    assert "An unexpected error occurred (ZeroDivisionError)" in told
    assert GATEWAY not in told
    assert await run_due_digests(path.program) == 0
    writer.broken = False
    path.clock.forward(timedelta(seconds=10))
    assert await run_due_digests(path.program) == 1
    assert (await path.memory.digest(asked)).status is DigestStatus.DONE


async def test_people_ask_for_digests_and_agents_do_not() -> None:
    path = Path()
    with pytest.raises(NotAllowed):
        await path.memory.acting_as(AGENT).request_digest(group="g")
    first, _ = await path.memory.request_digest(group="g")
    assert await path.memory.request_digest(group="g") == (first, DigestStatus.QUEUED)
    for call in (
        path.memory.acting_as(AGENT).digest(first),
        path.memory.acting_as(AGENT).digest(first, group="g"),
        path.memory.acting_as(AGENT).digests(group="g"),
    ):
        with pytest.raises(NotAllowed):
            await call
    elsewhere = replace(PERSON, groups=frozenset({"other"}))
    with pytest.raises(NotFound):
        await path.memory.acting_as(elsewhere).digest(first)
    assert [event.action for event in path.digest_store.events] == ["request digest"]


# schedules

MONDAY = datetime(2026, 1, 5, 6, tzinfo=UTC)


async def test_a_missed_week_runs_once_and_no_week_before_there_was_anything() -> None:
    path = Path()  # it is Thursday, 2026-01-01
    await keep(path, says(GATEWAY, "a1"))
    assert await path.scheduler.add_due_digests() == []
    path.clock.forward(timedelta(days=20))  # two Mondays were missed, and this is the Wednesday after the third
    (only,) = await path.scheduler.add_due_digests()
    assert (await path.memory.digest(only)).due_at == MONDAY + timedelta(days=14)
    assert [one.digest_id for one in await path.digest_store.find_due(at=path.clock.now())] == [only]
    assert await path.scheduler.add_due_digests() == []
    await path.runner.run("g", only)
    assert await path.scheduler.add_due_digests() == []
    path.clock.forward(timedelta(days=7))
    (following,) = await path.scheduler.add_due_digests()
    assert (await path.memory.digest(following)).due_at == MONDAY + timedelta(days=21)


async def test_a_tick_waits_for_an_open_digest_of_its_group() -> None:
    path = Path()
    await keep(path, says(GATEWAY, "a1"))
    asked, _ = await path.memory.request_digest(group="g")
    path.clock.forward(timedelta(days=5))
    assert await path.scheduler.add_due_digests() == []
    await path.runner.run("g", asked)
    assert len(await path.scheduler.add_due_digests()) == 1


async def test_a_group_has_its_own_schedule_in_its_own_zone_or_none() -> None:
    path = Path()
    await keep(path, says(GATEWAY, "a1"), says(GATEWAY, "a1", "off"), says(GATEWAY, "a1", "broken"))
    for group, cron, zone in (
        ("g", "30 8 * * *", "Asia/Shanghai"),
        ("off", "", None),
        ("broken", "no cron", "Nowhere/Land"),
    ):
        await _schedule(path, group, cron, zone)
    path.clock.forward(timedelta(days=1, hours=1))
    (only,) = await path.scheduler.add_due_digests()
    assert (await path.memory.digest(only)).due_at == datetime(2026, 1, 2, 0, 30, tzinfo=UTC)


async def test_a_new_schedule_asks_for_no_digest_of_the_time_before_it() -> None:
    path = Path()
    await keep(path, says(GATEWAY, "a1"))
    path.clock.forward(timedelta(days=1, hours=4, minutes=6))
    change = GroupChange(digest_cron="0 4 * * *")
    await path.memory.change_group(change, group="g")
    assert await path.scheduler.add_due_digests() == []
    await path.memory.change_group(GroupChange(digest_zone="Asia/Shanghai"), group="g")
    assert await path.scheduler.add_due_digests() == []
    path.clock.forward(timedelta(days=1))
    (only,) = await path.scheduler.add_due_digests()
    assert (await path.memory.digest(only)).due_at == datetime(2026, 1, 2, 20, 0, tzinfo=UTC)


async def _schedule(path: Path, group_id: str, cron: str | None, zone: str | None) -> None:
    """Also one that the facade would refuse, as an older version may have stored it."""
    change = GroupChange(digest_cron=cron, digest_zone=zone)
    event = AuditEvents(path.clock, path.ids).make(AuditAction.CHANGE_GROUP, "x", group_id, by="x")
    await path.groups.change(group_id, change, event=event)


@pytest.mark.parametrize(
    ("cron", "zone", "now", "expected"),
    [
        ("0 6 * * 1", "UTC", "2026-01-05T06:00:00", "2026-01-05T06:00:00"),
        ("0 6 * * 1", "UTC", "2026-01-05T05:59:59", "2025-12-29T06:00:00"),
        ("0 6 * * 1", "Asia/Shanghai", "2026-01-05T00:00:00", "2026-01-04T22:00:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-07-01T12:00:00", "2026-07-01T00:30:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-12-01T12:00:00", "2026-12-01T01:30:00"),
        ("0 12 * * *", "Europe/Berlin", "2026-03-29T12:00:00", "2026-03-29T10:00:00"),
        # Clocks are set forward: the time that is left out counts as the moment of the change.
        ("30 2 * * 0", "Europe/Berlin", "2026-03-29T00:59:59", "2026-03-22T01:30:00"),
        ("30 2 * * 0", "Europe/Berlin", "2026-03-29T01:00:00", "2026-03-29T01:00:00"),
        ("30 2 * * 0", "Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00"),
        # Clocks are set back: what is shown twice counts once.
        ("30 2 * * 0", "Europe/Berlin", "2026-10-25T00:29:59", "2026-10-18T00:30:00"),
        ("30 2 * * 0", "Europe/Berlin", "2026-10-25T00:30:00", "2026-10-25T00:30:00"),
        ("30 2 * * 0", "Europe/Berlin", "2026-10-25T01:30:00", "2026-10-25T00:30:00"),
        ("30 2 * * 0", "Europe/Berlin", "2026-10-25T09:00:00", "2026-10-25T00:30:00"),
        ("15,45 2 * * *", "Europe/Berlin", "2026-10-25T01:20:00", "2026-10-25T00:45:00"),
        ("30 1 * * 0", "America/New_York", "2026-11-01T06:30:00", "2026-11-01T05:30:00"),
        ("45 1 * * 0", "Australia/Lord_Howe", "2026-04-04T15:20:00", "2026-04-04T14:45:00"),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:40:00", "2026-10-25T00:30:00"),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T01:40:00", "2026-10-25T01:30:00"),
        ("0 3 * * *", "Europe/Berlin", "2026-10-25T02:00:00", "2026-10-25T02:00:00"),
        ("", "UTC", "2026-01-05T06:00:00", None),
        ("x", "UTC", "2026-01-05T06:00:00", None),
        ("0 6 * * 1", "Nowhere/Land", "2026-01-05T06:00:00", None),
        ("0 0 31 2 *", "UTC", "2026-01-05T06:00:00", None),
    ],
)
def test_the_latest_tick(cron: str, zone: str, now: str, expected: str | None) -> None:
    found = find_latest_tick(cron, zone, datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert found == (None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC))


@pytest.mark.parametrize("settings", [{"digest_cron": "x"}, {"digest_cron": "* * * * * *"}, {"digest_zone": "Mars"}])
def test_a_schedule_that_cannot_be_read_is_refused_at_start(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        Settings(**settings)  # type: ignore[arg-type]
    assert Settings(digest_cron="").digest_cron == ""


async def test_a_digest_counts_the_outputs_that_wait_for_admission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearwell.flow.digest.material.LOOK_SECONDS", 0)
    embedder = FailingEmbedder()
    path = Path(embedder=embedder)
    embedder.down = True
    await path.memory.capture(says(GATEWAY, "a1"), wait=False)
    digest = await made(path)
    assert (digest.note, digest.note_params) == ("digest_nothing_settled", {"waiting": 1})
    assert "1 captured output has not passed" in str(digest.explanation("en"))


async def test_waiting_is_told_only_where_there_is_something_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    report = Progress.report

    async def heard(self: Progress, stage: str, done: int = 0, of: int = 0, **params: Json) -> None:
        told.append(stage)
        await report(self, stage, done, of, **params)

    monkeypatch.setattr(Progress, "report", heard)
    path = Path()
    await keep(path, *agreed(GATEWAY))
    await made(path)
    assert "digest_stage_settling" not in told
    assert "digest_stage_reading" in told


async def test_rows_are_compared_without_boilerplate_and_with_it_where_the_model_is_down() -> None:
    class Listening(FailingEmbedder):
        heard: list[str]

        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            found = await super().embed(texts)
            self.heard.extend(texts)
            return found

    for down in (False, True):
        embedder = Listening()
        embedder.heard = []
        path = Path(embedder=embedder)
        matters = (GATEWAY, BACKUPS, "Invoices carry yesterday's date, Sydney customers complain about wrong totals.")
        for matter in matters:
            await keep(path, says(f"Before I forget: {matter}", "a1"), says(matter, "a2"))
        embedder.heard.clear()
        asked, _ = await path.memory.request_digest(group="g")
        embedder.down = down
        await path.runner.run("g", asked)
        digest = await path.memory.digest(asked)
        assert set(embedder.heard) >= (set() if down else set(matters))
        assert len(digest.insights) == len(matters)
        assert not any("forget" in one.summary for one in digest.insights)


async def check_claim(path: Path, claim: str) -> list[UUID]:
    """Capture two reports on a claim, in both languages, and a fact check that only says the claim again."""
    repeated = await keep(path, says(claim, "second-checker", node_type="fact_check"))
    reports = [(await path.memory.fact_check(claim, group="g", language=language)).text for language in LANGUAGES]
    return await keep(path, *(says(report, "checker", node_type="fact_check") for report in reports)) + repeated


async def test_a_fact_check_that_repeats_a_claim_is_a_source_and_no_voice() -> None:
    path = Path()
    rows = await keep(path, *agreed(GATEWAY))
    checks = await check_claim(path, GATEWAY)
    (insight,) = (await made(path)).insights
    assert {source.log_id for source in insight.sources} == {*rows, *checks}
    assert (insight.summary, insight.support.agents, insight.support.rows) == (GATEWAY, 2, 2)
    statements = {source.log_id: source.statement for source in insight.sources}
    assert "</claim> is supported" in str(statements[checks[0]])
    assert insight.sides == ()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_fact_check_without_a_rating_is_neither_voice_nor_source(language: Language) -> None:
    path = Path()
    report = (await path.memory.fact_check(GATEWAY, group="g", language=language)).text
    unknown = await keep(path, says(report, "checker", node_type="fact_check"), says(f"{report}\n\n{BACKUPS}", "a4"))
    agents = await keep(path, *agreed(GATEWAY))
    insights = (await made(path)).insights
    assert [({source.log_id for source in one.sources}, one.summary) for one in insights] == [({*agents}, GATEWAY)]
    assert path.ledger.marks[("g", unknown[1])].considered == 1


async def test_fact_checks_do_not_make_the_claim_of_one_agent_supported() -> None:
    path = Path()
    await keep(path, says(GATEWAY, "a1"), *agreed(LIFT))
    await check_claim(path, GATEWAY)
    assert [insight.summary for insight in (await made(path)).insights] == [LIFT]


async def test_an_agent_that_repeats_a_fact_check_is_no_voice_for_the_claim() -> None:
    path = Path()
    await keep(path, says(GATEWAY, "a1"), *agreed(LIFT))
    report = (await path.memory.fact_check(GATEWAY, group="g")).text
    await keep(path, says(report, "checker", node_type="fact_check"), says(f"{report}\n\n{BACKUPS}", "a4"))
    await keep(path, says(f"{BACKUPS} I saw the job log.", "a5"))
    assert {insight.summary for insight in (await made(path)).insights} == {LIFT, BACKUPS}


async def test_fact_checks_alone_make_no_insight() -> None:
    path = Path()
    reports = [await path.memory.fact_check(text, group="g") for text in (GATEWAY, LIFT)]
    await keep(path, *(says(one.text, f"c{at}", node_type="fact_check") for at, one in enumerate([*reports, *reports])))
    assert (await made(path)).insights == ()


@pytest.mark.parametrize(
    ("cron", "zone", "expected"),
    [
        ("0 6 * * 1", "UTC", "2026-11-23T06:00"),
        ("0 6 * * 1", "Asia/Shanghai", "2026-11-22T22:00"),
        ("", "UTC", None),
        ("nonsense", "UTC", None),
        ("0 6 * * 1", "Nowhere/Here", None),
    ],
)
def test_the_next_digest_of_a_schedule(cron: str, zone: str, expected: str | None) -> None:
    found = find_next_tick(cron, zone, datetime(2026, 11, 18, 1, tzinfo=UTC))
    assert found == (None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC))
