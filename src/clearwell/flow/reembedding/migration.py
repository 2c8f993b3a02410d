"""The move itself: every chunk gets a vector of the new model, a page at a time, while everybody goes on.

It can be killed at any moment and begun again: what is done is seen by the rows themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.ports import Clock, Embedder, MoveStore
from clearwell.records import ModelChoice, Move, NewMove, StoredText

PAGE: Final = 32
Progress = Callable[[int, int], None]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reembedded:
    """What came of it: the chunks that got a vector now. ``move`` is None where there was nothing to move from."""

    move: Move | None
    chunks: int


class Reembedder:
    """``loading_seconds``: how long programs that run may need to learn of a move and to load the other model.

    ``search_seconds``: how long a search may take that was begun before rows move.
    """

    def __init__(
        self,
        moves: MoveStore,
        clock: Clock,
        *,
        loading_seconds: float,
        search_seconds: float,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._moves = moves
        self._clock = clock
        self._loading_seconds = loading_seconds
        self._search_seconds = search_seconds
        self._sleep = sleep

    async def known(self, named: ModelChoice) -> ModelChoice:
        """What was named, with the address and the dimensions that the last move recorded for it, where it did.

        Raises InvalidInput where others are named for a model of a move that is under way.
        """
        last = await self._moves.last()
        if last is None:
            return named
        under_way = last.finished_at is None
        choices = (last.to_choice, last.from_choice) if under_way else (last.to_choice,)
        meant = [choice for choice in choices if named.model in (choice.model, choice.stored_name)]
        agreeing = [choice for choice in meant if _agree(named, choice)]
        if meant and not agreeing and under_way:
            raise _under_way(last)
        return agreeing[0] if agreeing else named

    async def plan(
        self, configured: tuple[str, ModelChoice], wanted: tuple[str, ModelChoice], *, by: str
    ) -> NewMove | Move | None:
        """The move to make, the one to go on with, or None where there is nothing to move."""
        (model, choice), (to_model, to_choice) = configured, wanted
        last = await self._moves.last()
        new = NewMove(
            from_model=model,
            from_choice=choice,
            to_model=to_model,
            to_choice=to_choice,
            started_by=by,
            started_at=self._clock.now(),
        )
        if last is None:
            stored = await self._moves.models()
            return self._first(new, stored)
        if to_model == last.to_model:
            return last
        if last.finished_at is None:
            return self._back(new, last)
        if model != last.to_model:
            raise _not_configured(last.to_model, last.to_choice, model)
        return new

    async def run(self, planned: NewMove | Move | None, embedder: Embedder, progress: Progress) -> Reembedded:
        if planned is None:
            return Reembedded(None, 0)
        await embedder.embed(["does the model answer?"])
        move = await self._moves.begin(planned) if isinstance(planned, NewMove) else planned
        await self._set_off(move)
        chunks = await self._all(move, embedder, progress)
        await self._moves.finish(move.id, at=self._clock.now())
        return Reembedded(move, chunks)

    async def _set_off(self, move: Move) -> None:
        if move.moving_at is None:
            await self._sleep(self._loading_seconds)
            await self._moves.set_off(move.id, at=self._clock.now())
        if move.finished_at is None:
            await self._sleep(self._search_seconds)

    def _first(self, new: NewMove, stored: dict[str, int]) -> NewMove | None:
        if not stored or [*stored] == [new.to_model]:
            return None
        if new.from_model not in stored:
            raise _not_configured(", ".join(sorted(stored)), ModelChoice.named(min(stored)), new.from_model)
        return None if new.to_model == new.from_model else new

    def _back(self, new: NewMove, last: Move) -> NewMove:
        """A move under way can be taken back. A third model has to wait."""
        if new.to_model != last.from_model:
            raise _under_way(last)
        return NewMove(
            from_model=last.to_model,
            from_choice=last.to_choice,
            to_model=new.to_model,
            to_choice=last.from_choice,
            started_by=new.started_by,
            started_at=new.started_at,
            at_once=last.moving_at is not None,
        )

    async def _all(self, move: Move, embedder: Embedder, progress: Progress) -> int:
        """Group by group, and again where a program that had not noticed yet has added rows of the old model."""
        done = 0
        while left := await self._left(move):
            total = done + sum(left.values())
            progress(done, total)
            for group_id in left:
                async for moved in self._group(group_id, move, embedder):
                    done += moved
                    progress(min(done, total), total)
        return done

    async def _left(self, move: Move) -> dict[str, int]:
        counts = {group_id: await self._moves.left(group_id, move.to_model) for group_id in await self._moves.groups()}
        return {group_id: count for group_id, count in counts.items() if count}

    async def _group(self, group_id: str, move: Move, embedder: Embedder) -> AsyncIterator[int]:
        after: StoredText | None = None
        while texts := await self._moves.texts(group_id, move.to_model, after=after, limit=PAGE):
            vectors = await embedder.embed([text.content for text in texts])
            made = list(zip(texts, vectors, strict=True))
            yield await self._moves.put(group_id, move.to_model, made, at=self._clock.now())
            after = texts[-1]


def _agree(named: ModelChoice, recorded: ModelChoice) -> bool:
    """Whether nothing was named that the move has otherwise."""
    address = recorded.base_url or ""
    return (
        named.embedder == recorded.embedder
        and (named.base_url or address).rstrip("/") == address.rstrip("/")
        and named.dimensions in (None, recorded.dimensions)
    )


def _under_way(last: Move) -> InvalidInput:
    return InvalidInput(
        "reembed_under_way",
        field="model",
        from_model=last.from_model,
        to_model=last.to_model,
        finish=last.to_choice.command(),
        back=last.from_choice.command(),
    )


def _not_configured(stored: str, choice: ModelChoice, configured: str) -> InvalidInput:
    return InvalidInput(
        "reembed_not_configured", field="model", stored=stored, configured=configured, settings=choice.assignments()
    )
