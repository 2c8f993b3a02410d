"""The council: runs the meetings on ``MemoryMiddleware``, has a digest made, and reviews it in place of a person."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from uuid import UUID

from clearwell.app import Clearwell, SystemClock, make_writing_chat, open_clearwell
from clearwell.demo.clock import MeetingClock, plan_meetings
from clearwell.demo.script import CouncilScript, Meeting, Turn, load_script
from clearwell.demo.speakers import ModelSpeaker, ScriptedSpeaker, Speaker
from clearwell.demo.steps import (
    DecisionStep,
    DigestStep,
    FactCheckStep,
    InsightLine,
    MeetingStep,
    OutputFate,
    OutputStep,
    RecallStep,
    Step,
    SummaryStep,
)
from clearwell.flow.factcheck.checker import FactCheckOptions
from clearwell.messages import Language
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.records import GroupChange, Insight, Principal
from clearwell.servers import Servers
from clearwell.settings import Settings

REVIEWER = "demo"
"""Who plays the person in the review, as the audit records it."""
PAUSE = timedelta(minutes=5)
"""How long workers leave the group alone if this process is killed."""
RETRIEVAL, FACT_CHECK = "memory_retrieval", "fact_check"


class Council:
    """A council with its own group. The agents have the rights of agents; the review is that of a person."""

    def __init__(
        self,
        clearwell: Clearwell,
        clock: MeetingClock,
        script: CouncilScript,
        speaker: Speaker,
        *,
        group: str,
        language: Language,
    ) -> None:
        self._clearwell = clearwell
        self._clock = clock
        self._script = script
        self._speaker = speaker
        self._group = group
        self._language: Language = language
        self._person = clearwell.memory.acting_as(Principal.local(REVIEWER))
        self._agents = clearwell.memory.acting_as(Principal.local(REVIEWER).lowered())
        self._middleware = MemoryMiddleware(self._agents, group=group, language=language, spool=False, clock=clock)
        self._outputs: dict[UUID, OutputStep] = {}
        self._memories: dict[UUID, list[UUID]] = {}

    async def hold(self, end: datetime) -> AsyncIterator[Step]:
        """Hold all meetings, the last one shortly before ``end``, with a review before the last one."""
        started = time.monotonic()
        begins = plan_meetings(end, len(self._script.meetings))
        self._clock.move_to(begins[0])
        await self._introduce()
        for place, (meeting, begin) in enumerate(zip(self._script.meetings, begins, strict=True)):
            if place == len(begins) - 1:
                self._clock.move_to(begin - timedelta(hours=2))
                async for step in self._review():
                    yield step
            self._clock.move_to(begin)
            async for step in self._meet(meeting):
                yield step
        await self._clearwell.uses.record()
        yield await self._summarise(time.monotonic() - started)

    async def close(self) -> None:
        await self._middleware.aclose()

    async def _introduce(self) -> None:
        """Write the prompt of the group and the personas of its agents."""
        await self._person.change_group(GroupChange(system_prompt=self._script.prompt), group=self._group)
        for agent, persona in self._script.personas.items():
            await self._person.put_agent(agent, group=self._group, persona=persona)

    async def _meet(self, meeting: Meeting) -> AsyncIterator[Step]:
        session = Session(meeting.session, group_id=self._group, state={"topic": meeting.topic})
        yield MeetingStep(session_id=meeting.session, topic=meeting.topic, at=self._clock.now())
        yield await self._recall(session)
        texts = await asyncio.gather(*(self._speak(session, meeting, turn) for turn in meeting.debate))
        for turn, text in zip(meeting.debate, texts, strict=True):  # in their order, so that every meeting is the same
            await self._capture(session, turn, text)
        spoken = {step.node_id: step for step in await self._settle()}
        for turn in meeting.debate:
            yield spoken[turn.node]
        for turn in meeting.asides:
            await self._take_turn(session, meeting, turn)
            for step in await self._settle():
                yield step
        yield await self._check(session, meeting.claim)
        await self._take_turn(session, meeting, meeting.verdict)
        for step in await self._settle():
            yield step

    async def _recall(self, session: Session) -> RecallStep:
        """What the memory-retrieval node adds to the state of the meeting."""
        context = await self._middleware.before_node_execution(session, Node(RETRIEVAL, type=RETRIEVAL))
        history = str(context.state.get("history_context", ""))
        problem = None if context.problem is None else str(context.problem)
        return RecallStep.read_history(session.id or "", history, problem)

    async def _take_turn(self, session: Session, meeting: Meeting, turn: Turn) -> None:
        """One node: read the context, speak, and have the output captured."""
        await self._capture(session, turn, await self._speak(session, meeting, turn))

    async def _speak(self, session: Session, meeting: Meeting, turn: Turn) -> str:
        context = await self._middleware.before_node_execution(session, _make_node(turn))
        return await self._speaker.speak(meeting, turn, context)

    async def _capture(self, session: Session, turn: Turn, text: str) -> None:
        stated = {} if turn.confidence is None else {"confidence": turn.confidence}
        output = {"content": text, "metadata": {"topic": session.state["topic"], **stated}}
        await self._middleware.after_node_execution(session, _make_node(turn), output)

    async def _settle(self) -> list[OutputStep]:
        """Wait until what was said is captured and decided on, and return what is new."""
        await self._middleware.flush()
        await self._clearwell.queue.join()
        rows = await self._person.quarantine_rows(group=self._group, limit=100)
        steps = [OutputStep.from_record(row, self._language) for row in reversed(rows)]
        new = [step for step in steps if step.id not in self._outputs and step.node_type != FACT_CHECK]
        self._outputs.update((step.id, step) for step in steps)
        return new

    async def _check(self, session: Session, claim: str) -> FactCheckStep:
        """Rate the claim by what memory says. The result is captured as evidence."""
        node = Node("fact-check", type=FACT_CHECK, agent_id="fact-checker")
        options = FactCheckOptions(session_id=session.id)
        checked = await self._agents.fact_check(claim, group=self._group, options=options, language=self._language)
        await self._middleware.after_node_execution(session, node, {"content": checked.text})
        await self._settle()
        return FactCheckStep.from_record(session.id or "", checked, self._language)

    async def _review(self) -> AsyncIterator[Step]:
        """Have a digest made and promote what it found, as a person would."""
        digest_id, _ = await self._person.request_digest(group=self._group)
        await self._clearwell.digests.runner.run(self._group, digest_id)
        digest = await self._person.digest(digest_id, group=self._group)
        lines = tuple(InsightLine.from_record(insight) for insight in digest.insights)
        yield DigestStep(id=digest_id, at=self._clock.now(), outputs=len(self._outputs), insights=lines)
        for insight in digest.insights:
            yield await self._decide(insight)

    async def _decide(self, insight: Insight) -> DecisionStep:
        """Promote an insight. Of two sides choose the one that the script names, else the first."""
        side = self._choose_side(insight) if insight.sides else None
        done = await self._person.review.promote(insight.id, group=self._group, side=side)
        for source in insight.sources:
            self._memories.setdefault(source.log_id, []).append(done.id)
        text = insight.summary if side is None else insight.sides[side].statement
        return DecisionStep(insight_id=insight.id, by=REVIEWER, side=side, text=text, memory_id=done.id)

    def _choose_side(self, insight: Insight) -> int:
        named = (
            place
            for place, side in enumerate(insight.sides)
            if any(words in side.statement for words in self._script.sides)
        )
        return next(named, 0)

    async def _summarise(self, seconds: float) -> SummaryStep:
        live = {entry.id for entry in await self._person.working_memory(group=self._group)}
        fates = [
            OutputFate(
                id=output.id,
                session_id=output.session_id,
                node_id=output.node_id,
                admission=output.admission,
                check=output.check,
                live=output.id in live,
                memory_ids=tuple(self._memories.get(output.id, ())),
            )
            for output in self._outputs.values()
        ]
        speaks = self._speaker if isinstance(self._speaker, ModelSpeaker) else None
        return SummaryStep(
            group_id=self._group,
            scripted=speaks is None,
            problem=None if speaks is None else speaks.problem,
            outputs=tuple(fates),
            memories=len({memory for memories in self._memories.values() for memory in memories}),
            seconds=round(seconds, 1),
        )


async def hold_meetings(
    settings: Settings, servers: Servers, *, group: str, language: Language, scripted: bool = False
) -> AsyncIterator[Step]:
    """Open the program by the clock of the meetings, hold them in a new group, and return the steps.

    The language model of digests speaks for the agents, unless there is none or ``scripted`` is set.
    """
    end = SystemClock().now()
    script = load_script(language)
    clock = MeetingClock(plan_meetings(end, len(script.meetings))[0])
    async with AsyncExitStack() as stack:
        clearwell = await stack.enter_async_context(open_clearwell(settings, servers, clock=clock))
        chat = None if scripted else make_writing_chat(settings)
        if chat is not None:
            stack.push_async_callback(chat.close)
        speaker = ScriptedSpeaker() if chat is None else ModelSpeaker(chat, language)
        await clearwell.stores.pauses.pause(group, lasts=PAUSE)
        stack.push_async_callback(clearwell.stores.pauses.resume, group)
        council = Council(clearwell, clock, script, speaker, group=group, language=language)
        stack.push_async_callback(council.close)
        async for step in council.hold(end):
            yield step


def _make_node(turn: Turn) -> Node:
    return Node(turn.node, type=turn.type, agent_id=turn.agent)
