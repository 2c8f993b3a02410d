"""Forget: preview, erase, and a signed receipt.

The rows are erased in one transaction, with the receipt. Working memory and the streams follow; if the process ends
between the two, a worker finishes. Every process drops the texts that it keeps when it notices a forget.
"""

import asyncio
from dataclasses import replace
from typing import Final

import structlog

from clearwell.caches import clear_text_caches
from clearwell.errors import Conflict, InvalidInput, NotAllowed, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_right
from clearwell.flow.audit.events import AuditEvents
from clearwell.flow.erasure.planning import ErasurePlanner
from clearwell.ports import Clock, ErasureStore, EventStore, Ids, RecallStore, Signer, WorkingStore
from clearwell.records import (
    UNASSIGNED,
    ErasurePlan,
    ForgetReceipt,
    ForgetSelector,
    Json,
    Principal,
    Right,
    StoredForget,
    read_token_moment,
)
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)
WATCH_SECONDS: Final = 2.0
"""How often a process asks whether something was forgotten elsewhere."""
SUBJECT_BYTES: Final = 1000
SHORTEST_SUBJECT: Final = 2


class Forgetter:
    """Forgets what an operator names. No agent may."""

    def __init__(
        self,
        *,
        planner: ErasurePlanner,
        erasure: ErasureStore,
        working: WorkingStore,
        recalls: RecallStore,
        events: EventStore,
        signer: Signer,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._planner = planner
        self._erasure = erasure
        self._working = working
        self._recalls = recalls
        self._events = events
        self._signer = signer
        self._clock = clock
        self._ids = ids
        self._audit_events = AuditEvents(clock, ids)
        self._generation: int | None = None

    async def preview(self, group_id: str, selector: ForgetSelector, *, by: Principal) -> ErasurePlan:
        """Return everything that ``forget`` would touch, with the token to do so."""
        _require_operator(by, group_id)
        _check(selector)
        plan = await self._planner.plan(group_id, selector, until=self._ids.new(), groups=by.groups)
        return replace(plan, copies=await self._count_copies(group_id, plan)) if plan.things else plan

    async def _count_copies(self, group_id: str, plan: ErasurePlan) -> dict[str, int]:
        """Count what goes with the rows. A forget does not need working memory, so that its counts may be missing."""
        counted = dict(await self._erasure.count_copies(group_id, plan))
        removed = {*plan.outputs, *plan.later}
        try:
            entries = await self._working.entries(group_id)
            recalls = await self._recalls.count(group_id, [*removed, *plan.memories], agents=plan.agents)
            events = await self._events.count(group_id)
        except Unavailable as error:
            log.warning("copies not counted", reason=error.code)
            return counted
        working = sum(entry.id in removed for entry in entries)
        return {**counted, "working_entries": working, "recalls": recalls, "events": events}

    async def forget(self, group_id: str, selector: ForgetSelector, *, token: str, by: Principal) -> ForgetReceipt:
        """Forget what was previewed, and outputs that came later and are named by the selector or copy it.

        Raises Conflict, and forgets nothing, if memories, insights, decisions or older outputs were added that the
        preview did not have. A repeated or concurrent call with the same token returns the same receipt.
        """
        _require_operator(by, group_id)
        _check(selector)
        done = await self._erasure.find(group_id, token)
        if done is not None:
            return await self._finish(done)
        until = read_token_moment(token) or self._ids.new()
        plan = await self._planner.plan(group_id, selector, until=until, groups=by.groups)
        if plan.token != token or not plan.things:
            done = await self._erasure.find(group_id, token)
            if done is not None:
                return await self._finish(done)
            current = await self._planner.plan(group_id, selector, until=self._ids.new(), groups=by.groups)
            raise Conflict("forget_changed", current={"token": current.token, "things": current.things})
        receipt = self._make_receipt(group_id, selector, plan, by)
        counts: dict[str, Json] = {**plan.counts}
        event = self._audit_events.make(
            AuditAction.FORGET,
            f"forget {receipt.id}",
            group_id,
            by=by.name,
            at=receipt.at,
            kind=receipt.kind,
            counts=counts,
        )
        stored = await self._erasure.erase(plan, receipt, event=event)
        clear_text_caches()
        return await self._finish(stored)

    async def finish_all(self) -> int:
        """Finish what another process left unfinished; returns how many there were."""
        unfinished = await self._erasure.find_unfinished()
        for stored in unfinished:
            await self._finish(stored)
        return len(unfinished)

    async def watch(self, *, seconds: float = WATCH_SECONDS) -> None:
        """Drop the texts of this process whenever something was forgotten in any process, until cancelled."""
        unread = False
        while True:
            try:
                await self.notice()
                unread = False
            except Unavailable as error:
                if not unread:
                    log.warning("forgets not read", reason=error.code)
                unread = True
            except Exception:
                # The watch must outlive a failure. Until it can read again, nothing that was forgotten may be kept.
                clear_text_caches()
                if not unread:
                    log.exception("forgets not read")
                unread = True
            await asyncio.sleep(seconds)

    async def notice(self) -> bool:
        """Drop the texts of this process if something was forgotten since the last call."""
        generation = await self._erasure.generation()
        changed = self._generation is not None and generation != self._generation
        self._generation = generation
        if changed:
            clear_text_caches()
        return changed

    async def _finish(self, stored: StoredForget) -> ForgetReceipt:
        """Erase what is outside of the database. It can be repeated."""
        receipt = stored.receipt
        if not stored.done:
            for log_id in receipt.outputs:
                await self._working.remove(receipt.group_id, log_id)
            await self._recalls.forget(receipt.group_id, [*receipt.outputs, *receipt.memories], agents=stored.agents)
            await self._events.delete(receipt.group_id)
            if receipt.originals:
                await self._events.delete(UNASSIGNED)
            await self._erasure.finish(receipt.group_id, receipt.id, at=self._clock.now())
        return receipt

    def _make_receipt(self, group_id: str, selector: ForgetSelector, plan: ErasurePlan, by: Principal) -> ForgetReceipt:
        unsigned = ForgetReceipt(
            id=self._ids.new(),
            group_id=group_id,
            kind=selector.kind,
            at=self._clock.now(),
            by=by.name,
            counts=plan.counts,
            outputs=(*plan.outputs, *plan.later),
            memories=plan.memories,
            released=plan.released,
            originals=plan.originals,
            tombstones=len(plan.value_hashes),
            public_key=self._signer.public_key,
        )
        return replace(unsigned, signature=self._signer.sign(unsigned.to_bytes()).hex())


def _require_operator(by: Principal, group_id: str) -> None:
    """Require a person with the right to administer the group. The reserved group is allowed, too."""
    require_right(by, Right.ADMIN)
    if by.agent_id is not None:
        raise NotAllowed("agent_forgets_nothing", name=by.title, agent=by.agent_id)
    limits.require_id(group_id, "group_id")
    require_group_covered(by, group_id)


def _check(selector: ForgetSelector) -> None:
    if not selector.kind:
        raise InvalidInput(
            "forget_what", field="log_id", limit="log_id, session_id, agent_id, memory_id, subject, everything"
        )
    limits.require_id(selector.session_id, "session_id")
    limits.require_id(selector.agent_id, "agent_id")
    if selector.subject is not None:
        limits.require_text(selector.subject, "subject", max_bytes=SUBJECT_BYTES)
        if len(selector.subject.strip()) < SHORTEST_SUBJECT:
            raise InvalidInput("forget_subject_short", field="subject", limit=SHORTEST_SUBJECT)
