"""A text becomes chunks with vectors. Without the model it becomes chunks that wait for theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.reembedding.models import EmbeddingModels
from clearwell.offload import offload
from clearwell.ports import Embedder
from clearwell.records import Memory, NewMemory, Promotion, Scope, Vector
from clearwell.settings import Settings
from clearwell.text.splitter import split

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors, and the model that made them."""

    model: str
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Chunked:
    """A text and its chunks; ``embedded`` is None where the model did not answer."""

    text: NewMemory
    chunks: tuple[str, ...]
    embedded: Embedded | None


class Chunker:
    def __init__(self, embedder: Embedder, settings: Settings, models: EmbeddingModels | None = None) -> None:
        self._embedder = embedder
        self._settings = settings
        self._models = models

    async def chunked(self, texts: Sequence[NewMemory]) -> list[Chunked]:
        """All in one batch. A model that is down keeps nobody from deciding."""
        parts = [await self.split(text.content) for text in texts]
        try:
            embedded = await self.embed([chunk for chunks in parts for chunk in chunks])
        except EmbedderUnavailable as error:
            log.warning("promotion waits for the model", reason=error.code, texts=len(texts))
            return [Chunked(text, chunks, None) for text, chunks in zip(texts, parts, strict=True)]
        vectors = iter(embedded.vectors)
        return [
            Chunked(text, chunks, Embedded(embedded.model, tuple(next(vectors) for _ in chunks)))
            for text, chunks in zip(texts, parts, strict=True)
        ]

    async def embed(self, chunks: Sequence[str]) -> Embedded:
        """By the model that new rows are to have: while a database moves, that is the other one."""
        embedder = self._embedder if self._models is None else await self._models.fetch_current()
        return Embedded(embedder.model, tuple(await embedder.embed(chunks)) if chunks else ())

    async def split(self, content: str) -> tuple[str, ...]:
        chunks = await offload(
            len(content),
            split,
            content,
            size=self._settings.chunk_size,
            overlap=self._settings.chunk_overlap,
            separators=self._settings.chunk_separators,
        )
        return tuple(chunks)

    def memories(
        self, promotion: Promotion, chunks: Sequence[str], embedded: Embedded, *, at: datetime | None = None
    ) -> list[Memory]:
        """The chunks as they are stored. ``at``: when they become knowledge, where that is later than the decision."""
        text, known_at = promotion.text, at or promotion.decided_at
        return [
            Memory(
                id=promotion.memory_id,
                group_id=promotion.group_id,
                chunk_no=number,
                promotion_id=promotion.id,
                scope=Scope.GROUP if text.agent_id is None else Scope.AGENT,
                agent_id=text.agent_id,
                content=content,
                embedding=vector,
                embedding_model=embedded.model,
                session_id=text.session_id,
                author=text.author,
                occurred_at=text.occurred_at,
                metadata=text.metadata,
                created_at=known_at,
                promoted_at=known_at,
            )
            for number, (content, vector) in enumerate(zip(chunks, embedded.vectors, strict=True))
        ]
