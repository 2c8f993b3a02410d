"""A person's decision becomes verified chunks with vectors, in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.errors import ClearwellError
from clearwell.flow import limits
from clearwell.flow.access import agent_for, require_group_covered, require_right
from clearwell.flow.moving import Models
from clearwell.flow.split import split
from clearwell.ports import Claim, Clock, Embedder, IdempotencyStore, Ids, PromotionStore
from clearwell.records import (
    AuditEvent,
    IdempotencyKey,
    Json,
    Memory,
    NewMemory,
    Principal,
    Promoted,
    Promotion,
    Right,
    Scope,
    Vector,
)
from clearwell.settings import Settings


class Promoting:
    """People promote, agents never: the right to review is asked for before anything else."""

    def __init__(
        self,
        promotions: PromotionStore,
        idempotency: IdempotencyStore,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: Settings,
        models: Models | None = None,
    ) -> None:
        self._promotions = promotions
        self._idempotency = idempotency
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._models = models

    async def promote(
        self, group_id: str, texts: Sequence[NewMemory], *, by: Principal, request: IdempotencyKey | None = None
    ) -> list[Promoted | ClearwellError]:
        """One result a text: the memory it became, or what is wrong with it. What can be stored is, or nothing is."""
        require_right(by, Right.REVIEW)
        require_group_covered(by, limits.require_group(group_id))
        checked = [self._checked(text, by) for text in texts]
        if request is None:
            return await self._carry_out(group_id, checked, by, None)
        claim = await self._idempotency.claim(request)
        if not isinstance(claim, Claim):
            return _replayed(claim, checked)
        try:
            return await self._carry_out(group_id, checked, by, claim)
        except BaseException:
            await self._idempotency.release(claim)
            raise

    def _checked(self, text: NewMemory, by: Principal) -> NewMemory | ClearwellError:
        try:
            return replace(
                text,
                content=limits.require_text(text.content, "content", max_bytes=self._settings.max_content_bytes),
                session_id=limits.require_id(text.session_id, "session_id"),
                author=limits.require_id(text.author, "author"),
                agent_id=agent_for(by, limits.require_id(text.agent_id, "agent_id")),
                occurred_at=limits.require_moment(text.occurred_at, "occurred_at"),
                metadata=limits.require_metadata(text.metadata, self._settings),
            )
        except ClearwellError as problem:
            return problem

    async def _carry_out(
        self, group_id: str, texts: Sequence[NewMemory | ClearwellError], by: Principal, claim: Claim | None
    ) -> list[Promoted | ClearwellError]:
        good = [text for text in texts if not isinstance(text, ClearwellError)]
        chunked = [self._split(text) for text in good]
        embedder = self._embedder if self._models is None else await self._models.to_write()
        vectors = iter(await embedder.embed([chunk for chunks in chunked for chunk in chunks]) if good else [])
        made = [
            self._memory(group_id, text, [(chunk, next(vectors)) for chunk in chunks], embedder.model, by)
            for text, chunks in zip(good, chunked, strict=True)
        ]
        results = _in_order(texts, [_promoted(promotion) for promotion, _ in made])
        events = [self._event(promotion) for promotion, _ in made]
        if made or claim is not None:
            await self._promotions.add(group_id, made, events=events, claim=claim, answer=_answer(results))
        return results

    def _split(self, text: NewMemory) -> list[str]:
        return split(
            text.content,
            size=self._settings.chunk_size,
            overlap=self._settings.chunk_overlap,
            separators=self._settings.chunk_separators,
        )

    def _memory(
        self, group_id: str, text: NewMemory, chunks: Sequence[tuple[str, Vector]], model: str, by: Principal
    ) -> tuple[Promotion, list[Memory]]:
        promotion = Promotion(
            id=self._ids.new(),
            memory_id=self._ids.new(),
            group_id=group_id,
            decided_by=by.name,
            decided_at=self._clock.now(),
            text=text,
            chunks=len(chunks),
        )
        return promotion, [self._chunk(promotion, number, *chunk, model) for number, chunk in enumerate(chunks)]

    def _chunk(self, promotion: Promotion, number: int, content: str, vector: Vector, model: str) -> Memory:
        text = promotion.text
        return Memory(
            id=promotion.memory_id,
            group_id=promotion.group_id,
            chunk_no=number,
            promotion_id=promotion.id,
            scope=Scope.GROUP if text.agent_id is None else Scope.AGENT,
            agent_id=text.agent_id,
            content=content,
            embedding=vector,
            embedding_model=model,
            session_id=text.session_id,
            author=text.author,
            occurred_at=text.occurred_at,
            metadata=text.metadata,
            created_at=promotion.decided_at,
            promoted_at=promotion.decided_at,
        )

    def _event(self, promotion: Promotion) -> AuditEvent:
        return AuditEvent(
            id=self._ids.new(),
            group_id=promotion.group_id,
            at=promotion.decided_at,
            actor=promotion.decided_by,
            action="promote",
            subject=f"memory {promotion.memory_id}",
            detail={"promotion": str(promotion.id), "chunks": promotion.chunks, "origin": promotion.text.origin},
        )


def _promoted(promotion: Promotion) -> Promoted:
    return Promoted(id=promotion.memory_id, promotion_id=promotion.id, chunks=promotion.chunks)


def _in_order(
    texts: Sequence[NewMemory | ClearwellError], promoted: Sequence[Promoted]
) -> list[Promoted | ClearwellError]:
    made = iter(promoted)
    return [text if isinstance(text, ClearwellError) else next(made) for text in texts]


def _answer(results: Sequence[Promoted | ClearwellError]) -> Json:
    """What is kept for a repeated request: ids, never content. A problem is found again by checking again."""
    return [None if isinstance(one, ClearwellError) else one.to_json() for one in results]


def _replayed(answer: Json, checked: Sequence[NewMemory | ClearwellError]) -> list[Promoted | ClearwellError]:
    stored = answer if isinstance(answer, list) else []
    return [
        problem if isinstance(problem, ClearwellError) else Promoted.from_json(one)
        for one, problem in zip(stored, checked, strict=True)
    ]
