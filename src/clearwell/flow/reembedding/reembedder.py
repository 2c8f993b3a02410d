"""Gives every chunk a vector of the new model, page by page, while the program is in use.

A re-embedding can be interrupted at any time and resumed: the rows themselves show what is done.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.ports import Clock, Embedder, ReembeddingStore
from clearwell.records import ModelChoice, NewReembedding, Reembedding, StoredText

PAGE: Final = 32
Progress = Callable[[int, int], None]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReembeddingResult:
    """How many chunks got a new vector in this run. ``reembedding`` is None if there was nothing to do."""

    reembedding: Reembedding | None
    chunks: int


class Reembedder:
    """Plans and runs re-embeddings.

    ``loading_seconds`` is how long running programs may need to notice a re-embedding and load the other model,
    and ``search_seconds`` how long a search may take that started before the first vector is replaced.
    """

    def __init__(
        self,
        reembeddings: ReembeddingStore,
        clock: Clock,
        *,
        loading_seconds: float,
        search_seconds: float,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._reembeddings = reembeddings
        self._clock = clock
        self._loading_seconds = loading_seconds
        self._search_seconds = search_seconds
        self._sleep = sleep

    async def complete_choice(self, named: ModelChoice) -> ModelChoice:
        """Add the address and the dimensions that the last re-embedding recorded for the named model, if it did.

        Raises InvalidInput if they differ from those of a re-embedding that is under way.
        """
        last = await self._reembeddings.last()
        if last is None:
            return named
        under_way = last.finished_at is None
        choices = (last.to_choice, last.from_choice) if under_way else (last.to_choice,)
        same_model = [choice for choice in choices if named.model in (choice.model, choice.stored_name)]
        matching = [choice for choice in same_model if _is_compatible(named, choice)]
        if same_model and not matching and under_way:
            raise _error_under_way(last)
        return matching[0] if matching else named

    async def plan(
        self, configured: tuple[str, ModelChoice], target: tuple[str, ModelChoice], *, by: str
    ) -> NewReembedding | Reembedding | None:
        """Return the re-embedding to start or to resume, or None if there is nothing to do. Raises InvalidInput.

        Both models are given by the name that is stored with their vectors and by how to reach them.
        """
        (model, choice), (to_model, to_choice) = configured, target
        last = await self._reembeddings.last()
        new = NewReembedding(
            from_model=model,
            from_choice=choice,
            to_model=to_model,
            to_choice=to_choice,
            started_by=by,
            started_at=self._clock.now(),
        )
        if last is None:
            stored = await self._reembeddings.models()
            return self._plan_first(new, stored)
        if to_model == last.to_model:
            return last
        if last.finished_at is None:
            return self._plan_reversal(new, last)
        if model != last.to_model:
            raise _error_not_configured(last.to_model, last.to_choice, model)
        return new

    async def run(
        self, planned: NewReembedding | Reembedding | None, embedder: Embedder, progress: Progress
    ) -> ReembeddingResult:
        """Run a planned re-embedding to its end. ``progress`` is called with the chunks done and the total."""
        if planned is None:
            return ReembeddingResult(None, 0)
        await embedder.embed(["does the model answer?"])  # fail before anything is recorded
        reembedding = await self._reembeddings.begin(planned) if isinstance(planned, NewReembedding) else planned
        await self._announce(reembedding)
        chunks = await self._reembed_all(reembedding, embedder, progress)
        await self._reembeddings.finish(reembedding.id, at=self._clock.now())
        return ReembeddingResult(reembedding, chunks)

    async def _announce(self, reembedding: Reembedding) -> None:
        """Wait until running programs know of it, and until searches that do not know of it have ended."""
        if reembedding.moving_at is None:
            await self._sleep(self._loading_seconds)
            await self._reembeddings.set_off(reembedding.id, at=self._clock.now())
        if reembedding.finished_at is None:
            await self._sleep(self._search_seconds)

    def _plan_first(self, new: NewReembedding, stored: dict[str, int]) -> NewReembedding | None:
        if not stored or [*stored] == [new.to_model]:
            return None
        if new.from_model not in stored:
            raise _error_not_configured(", ".join(sorted(stored)), ModelChoice.parse(min(stored)), new.from_model)
        return None if new.to_model == new.from_model else new

    def _plan_reversal(self, new: NewReembedding, last: Reembedding) -> NewReembedding:
        """Reverse the one that is under way. A change to a third model has to wait until it has finished."""
        if new.to_model != last.from_model:
            raise _error_under_way(last)
        return NewReembedding(
            from_model=last.to_model,
            from_choice=last.to_choice,
            to_model=new.to_model,
            to_choice=last.from_choice,
            started_by=new.started_by,
            started_at=new.started_at,
            at_once=last.moving_at is not None,
        )

    async def _reembed_all(self, reembedding: Reembedding, embedder: Embedder, progress: Progress) -> int:
        """Re-embed each group, and repeat while programs that have not noticed it add rows of the old model."""
        done = 0
        while remaining := await self._count_remaining(reembedding):
            total = done + sum(remaining.values())
            progress(done, total)
            for group_id in remaining:
                async for changed in self._reembed_group(group_id, reembedding, embedder):
                    done += changed
                    progress(min(done, total), total)
        return done

    async def _count_remaining(self, reembedding: Reembedding) -> dict[str, int]:
        counts = {
            group_id: await self._reembeddings.count_remaining(group_id, reembedding.to_model)
            for group_id in await self._reembeddings.groups()
        }
        return {group_id: count for group_id, count in counts.items() if count}

    async def _reembed_group(self, group_id: str, reembedding: Reembedding, embedder: Embedder) -> AsyncIterator[int]:
        after: StoredText | None = None
        while texts := await self._reembeddings.texts(group_id, reembedding.to_model, after=after, limit=PAGE):
            vectors = await embedder.embed([text.content for text in texts])
            vectors_of_texts = list(zip(texts, vectors, strict=True))
            yield await self._reembeddings.put(group_id, reembedding.to_model, vectors_of_texts, at=self._clock.now())
            after = texts[-1]


def _is_compatible(named: ModelChoice, recorded: ModelChoice) -> bool:
    """Whether nothing was named that differs from the record."""
    address = recorded.base_url or ""
    return (
        named.embedder == recorded.embedder
        and (named.base_url or address).rstrip("/") == address.rstrip("/")
        and named.dimensions in (None, recorded.dimensions)
    )


def _error_under_way(last: Reembedding) -> InvalidInput:
    return InvalidInput(
        "reembed_under_way",
        field="model",
        from_model=last.from_model,
        to_model=last.to_model,
        finish=last.to_choice.command(),
        back=last.from_choice.command(),
    )


def _error_not_configured(stored: str, choice: ModelChoice, configured: str) -> InvalidInput:
    return InvalidInput(
        "reembed_not_configured", field="model", stored=stored, configured=configured, settings=choice.assignments()
    )
