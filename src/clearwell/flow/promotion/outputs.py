"""Promote outputs of agents from quarantine or working memory, without an insight."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from clearwell.errors import ClearwellError, Conflict, InvalidInput, NotFound
from clearwell.flow.access.gate import AccessGate
from clearwell.flow.idempotency import StoredAnswer, claim_key
from clearwell.flow.ingress.policies import describe_speakers
from clearwell.flow.promotion.texts import TextPromoter
from clearwell.offload import offload
from clearwell.ports import IdempotencyStore, QuarantineStore, WorkingStore
from clearwell.records import IdempotencyKey, Json, NewMemory, Origin, Principal, PromotionResult, QuarantineRow
from clearwell.text.flags import find_flags
from clearwell.text.hidden_text import escape_hidden

MAX_ID_CHARACTERS = 100
"""How much of something that is no id is repeated in a message."""


class OutputPromoter:
    """Promotes outputs with their session, agent and time."""

    def __init__(
        self,
        *,
        gate: AccessGate,
        texts: TextPromoter,
        quarantine: QuarantineStore,
        working: WorkingStore,
        idempotency: IdempotencyStore,
    ) -> None:
        self._gate = gate
        self._texts = texts
        self._quarantine = quarantine
        self._working = working
        self._idempotency = idempotency

    async def promote_row(
        self, group_id: str, log_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote a row of quarantine. ``text`` has the changes: content, agent, or the memory to supersede."""
        await self._gate.require_person(by, group_id, f"promote quarantine {log_id}")
        return await self._promote_one(group_id, log_id, text, Origin.QUARANTINE, by=by, request=request)

    async def promote_entry(
        self, group_id: str, entry_id: UUID, text: NewMemory, *, by: Principal, request: IdempotencyKey | None = None
    ) -> PromotionResult:
        """Promote an entry of working memory that has not expired."""
        await self._gate.require_person(by, group_id, f"promote working entry {entry_id}")
        return await self._promote_one(group_id, entry_id, text, Origin.WORKING, by=by, request=request)

    async def promote_many(
        self,
        group_id: str,
        ids: Sequence[str],
        *,
        origin: Origin,
        by: Principal,
        acknowledge: Sequence[str] = (),
        keep_invisible: bool = False,
        request: IdempotencyKey | None = None,
    ) -> list[PromotionResult | ClearwellError]:
        """Promote many outputs as they are, in one transaction. Returns a result or an error for each, in order."""
        await self._gate.require_person(by, group_id, f"promote {len(ids)} outputs")
        if origin not in (Origin.QUARANTINE, Origin.WORKING):
            raise InvalidInput("action_unknown", field="origin", limit="quarantine, working")
        async with claim_key(self._idempotency, request) as claim:
            if isinstance(claim, StoredAnswer):
                stored = claim.value if isinstance(claim.value, list) else []
                return [_replay_result(one) for one in stored]
            text = NewMemory(content="", acknowledge=tuple(acknowledge), keep_invisible=keep_invisible)
            results = await self._promote_many(group_id, ids, text, origin, by)
            if claim is not None:
                await self._idempotency.complete(claim, [_store_result(one) for one in results])
            return results

    async def _promote_one(
        self,
        group_id: str,
        log_id: UUID,
        text: NewMemory,
        origin: Origin,
        *,
        by: Principal,
        request: IdempotencyKey | None,
    ) -> PromotionResult:
        (output,) = await self._read_outputs(group_id, [log_id], text, origin)
        if isinstance(output, ClearwellError):
            raise output
        (result,) = await self._texts.promote(group_id, [output], by=by, request=request)
        if isinstance(result, ClearwellError):
            raise result
        return result

    async def _promote_many(
        self, group_id: str, given: Sequence[str], text: NewMemory, origin: Origin, by: Principal
    ) -> list[PromotionResult | ClearwellError]:
        ids = [_parse_id(one, group_id) for one in given]
        found = [one for one in ids if isinstance(one, UUID)]
        read = iter(await self._read_outputs(group_id, found, text, origin))
        outputs = [next(read) if isinstance(one, UUID) else one for one in ids]
        texts = [one for one in outputs if isinstance(one, NewMemory)]
        promoted = iter(await self._texts.promote(group_id, texts, by=by) if texts else ())
        return [next(promoted) if isinstance(one, NewMemory) else one for one in outputs]

    async def _read_outputs(
        self, group_id: str, ids: Sequence[UUID], text: NewMemory, origin: Origin
    ) -> list[NewMemory | ClearwellError]:
        """Read each output as a text with its session, agent and time; from working memory, only valid entries."""
        live = set(ids)
        if origin is Origin.WORKING:
            live = {entry.id for entry in await self._working.entries(group_id)}
        rows = await self._quarantine.find(group_id, [one for one in ids if one in live])
        return [
            NotFound("entry_not_found", id=one, group=group_id)
            if one not in live
            else NotFound("row_not_found", id=one, group=group_id)
            if one not in rows
            else await _build_text(rows[one], text, origin)
            for one in ids
        ]


async def _build_text(row: QuarantineRow, text: NewMemory, origin: Origin) -> NewMemory:
    """The text of an output, with its flags, or the words of a person, which have flags of their own."""
    capture = row.capture
    found = await offload(len(capture.content), find_flags, capture.content, capture.metadata)
    return replace(
        text,
        content=text.content or capture.content,
        flags=() if text.content else (*row.flags, *found),
        session_id=capture.session_id,
        author=capture.agent_id,
        occurred_at=capture.occurred_at,
        metadata={**describe_speakers([capture.node_type]), **text.metadata},
        origin=origin,
        origin_id=capture.id,
    )


def _parse_id(given: str, group_id: str) -> UUID | NotFound:
    """Parse an id. An invalid one is reported as not found."""
    try:
        return UUID(given)
    except ValueError:
        return NotFound("row_not_found", id=escape_hidden(given[:MAX_ID_CHARACTERS]), group=group_id)


def _store_result(result: PromotionResult | ClearwellError) -> Json:
    """The answer for a repeated request. Of an error only the code, since its text may quote what has changed."""
    return {"problem": result.code} if isinstance(result, ClearwellError) else result.to_json()


def _replay_result(stored: Json) -> PromotionResult | Conflict:
    if isinstance(stored, dict) and "problem" in stored:
        return Conflict("decided_in_vain", problem=stored["problem"])
    return PromotionResult.from_json(stored)
