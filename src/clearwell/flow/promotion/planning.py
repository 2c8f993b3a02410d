"""Plan promotions: split texts into chunks, embed these and hash what they say, while no transaction is open."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.promotion.conflicts import ConflictFinder, PlannedText
from clearwell.flow.reembedding.models import EmbeddingModels
from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.offload import offload
from clearwell.ports import PromotionKey
from clearwell.records import Memory, NewMemory, Origin, Promotion, Scope, Vector
from clearwell.settings import Settings
from clearwell.text.normalisation import normalise
from clearwell.text.splitter import split

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors, and the model that made them."""

    model: str
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionPlan:
    """A text that is ready to be promoted.

    ``embeddings`` is None if the model did not respond: the promotion then waits for its chunks. ``value_hashes``
    stand for everything the text says, ``metadata_hashes`` for what its metadata and its author say, and the
    fingerprint for what makes another text the same as this one.
    ``conflicts_with`` are the verified memories that it contradicts.
    """

    text: NewMemory
    chunks: tuple[str, ...]
    embeddings: Embeddings | None
    value_hashes: tuple[bytes, ...]
    fingerprint: bytes
    conflicts_with: tuple[UUID, ...] = ()
    metadata_hashes: tuple[bytes, ...] = ()

    @property
    def key(self) -> PromotionKey:
        return PromotionKey(self.fingerprint, self.text.origin_id)


class Chunker:
    """Splits texts and embeds the chunks."""

    def __init__(self, models: EmbeddingModels, settings: Settings) -> None:
        self._models = models
        self._settings = settings

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

    async def embed(self, chunks: Sequence[str]) -> Embeddings:
        """Embed chunks with the model for new rows: during a re-embedding, that is the new one."""
        embedder = await self._models.fetch_current()
        return Embeddings(embedder.model, tuple(await embedder.embed(chunks)) if chunks else ())

    async def embed_texts(self, texts: Sequence[Sequence[str]]) -> list[Embeddings | None]:
        """Embed the chunks of several texts in one call. Returns None for each if the model does not respond."""
        try:
            embeddings = await self.embed([chunk for chunks in texts for chunk in chunks])
        except EmbedderUnavailable as error:
            log.warning("promotion waits for the embedding model", reason=error.code, texts=len(texts))
            return [None for _ in texts]
        vectors = iter(embeddings.vectors)
        return [Embeddings(embeddings.model, tuple(next(vectors) for _ in chunks)) for chunks in texts]


class PromotionPlanner:
    """Plans the promotion of texts. Everything that takes time is done here."""

    def __init__(self, chunker: Chunker, hasher: ValueHasher, conflicts: ConflictFinder) -> None:
        self._chunker = chunker
        self._hasher = hasher
        self._conflicts = conflicts

    async def plan(self, group_id: str, texts: Sequence[NewMemory]) -> list[PromotionPlan]:
        """One plan for each text, in order. All texts are embedded in one call."""
        chunks = [await self._chunker.split(text.content) for text in texts]
        embeddings = await self._chunker.embed_texts(chunks)
        conflicts = await self._find_conflicts(group_id, texts, embeddings)
        return [
            PromotionPlan(
                text=text,
                chunks=of_text,
                embeddings=embedded,
                value_hashes=tuple(await self._hasher.hash_promotable_values(group_id, text.content)),
                fingerprint=await self._fingerprint(group_id, text),
                conflicts_with=conflicting,
                metadata_hashes=tuple(await self._hasher.hash_metadata(group_id, text.metadata, text.author)),
            )
            for text, of_text, embedded, conflicting in zip(texts, chunks, embeddings, conflicts, strict=True)
        ]

    async def _find_conflicts(
        self, group_id: str, texts: Sequence[NewMemory], embeddings: Sequence[Embeddings | None]
    ) -> list[tuple[UUID, ...]]:
        """The memories that each text contradicts. Without the model they are found when the promotion is completed."""
        if any(embedded is None for embedded in embeddings):
            return [() for _ in texts]
        return await self._conflicts.find(
            group_id,
            [
                PlannedText(text, find_single_vector(embedded, self._conflicts.model))
                for text, embedded in zip(texts, embeddings, strict=True)
            ],
        )

    async def _fingerprint(self, group_id: str, text: NewMemory) -> bytes:
        """Hash what makes a text the same as another one.

        Outputs and insights are the same by what they say and for whom. A typed text is also told apart by who said
        it, when and where: two turns of a session may have the same words.
        """
        value = await offload(len(text.content), normalise, text.content)
        parts = (value, text.agent_id or "", *_statement_context(text))
        return await self._hasher.hash_value(group_id, "\x1f".join(parts))


def find_single_vector(embeddings: Embeddings | None, model: str) -> Vector | None:
    """The vector of a text with one chunk, if it is of this model."""
    if embeddings is None or embeddings.model != model or len(embeddings.vectors) != 1:
        return None
    return embeddings.vectors[0]


def build_chunks(
    promotion: Promotion, chunks: Sequence[str], embeddings: Embeddings, *, at: datetime | None = None
) -> list[Memory]:
    """The chunks of a promotion as long-term memory stores them.

    ``at`` is when they become knowledge, where that is later than the decision.
    """
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
            embedding_model=embeddings.model,
            session_id=text.session_id,
            author=text.author,
            occurred_at=text.occurred_at,
            metadata=text.metadata,
            flags=text.flags,
            created_at=known_at,
            promoted_at=known_at,
        )
        for number, (content, vector) in enumerate(zip(chunks, embeddings.vectors, strict=True))
    ]


def _statement_context(text: NewMemory) -> tuple[str, str, str, str]:
    """Session, author, time and metadata of a typed text; nothing of these for an output or an insight."""
    if text.origin is not Origin.TYPED:
        return ("", "", "", "")
    moment = "" if text.occurred_at is None else text.occurred_at.isoformat()
    turn = "" if text.session_id is None else json.dumps(dict(text.metadata), sort_keys=True)
    return (text.session_id or "", text.author or "", moment, turn)
