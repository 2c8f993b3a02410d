"""What retrieval gives: an entry or a memory as an item, with its scores and its label."""

from datetime import datetime

import numpy as np

from clearwell.flow.retrieval.options import Wanted
from clearwell.flow.retrieval.relevance import relevance, unverified_relevance
from clearwell.ports import Embedder
from clearwell.records import ContextItem, Explanation, Found, Label, Layer, Scope, Source, Vector, WorkingEntry


class Items:
    """Makes items for those who ask with this embedder."""

    def __init__(self, embedder: Embedder, *, hot_first: float) -> None:
        self._embedder = embedder
        self._hot_first = hot_first

    def of_entry(self, entry: WorkingEntry, vector: Vector | None, share: float, want: Wanted) -> ContextItem:
        """``share`` is how much of the query's words the entry has."""
        cosine = None
        if vector is not None and entry.embedding is not None and entry.embedding_model == self._embedder.model:
            cosine = float(np.dot(vector, entry.embedding))
        return ContextItem(
            content=entry.content,
            source=Source.HOT,
            score=1.0,
            id=entry.id,
            group_id=entry.group_id,
            layer=Layer.WORKING,
            label=Label.EPHEMERAL,
            verified=False,
            relevance=unverified_relevance(self._embedder, cosine, share, first=self._hot_first),
            scope=Scope.GROUP,
            session_id=entry.session_id,
            agent_id=entry.agent_id,
            author=entry.agent_id,
            occurred_at=entry.occurred_at,
            created_at=entry.created_at,
            expires_at=entry.expires_at,
            promoted_at=None,
            chunk_no=None,
            metadata=entry.metadata,
            flags=entry.flags,
            cut=entry.cut,
            explanation=_of_entry(entry, cosine, share, want.now) if want.explain else None,
            node_type=entry.node_type,
        )

    def of_memory(self, found: Found, want: Wanted) -> ContextItem:
        memory, likeness = found.memory, found.words if found.similarity is None else found.similarity
        return ContextItem(
            content=memory.content,
            source=Source.COLD,
            score=min(1.0, max(0.0, likeness)),
            id=memory.id,
            group_id=memory.group_id,
            layer=Layer.LONGTERM,
            label=Label.VERIFIED,
            verified=True,
            relevance=relevance(self._embedder, found.similarity, found.words),
            scope=memory.scope,
            session_id=memory.session_id,
            agent_id=memory.agent_id,
            author=memory.author,
            occurred_at=memory.occurred_at,
            created_at=memory.created_at,
            expires_at=None,
            promoted_at=memory.promoted_at,
            chunk_no=memory.chunk_no,
            metadata=memory.metadata,
            explanation=_of_memory(found) if want.explain else None,
            node_type=node_type if isinstance(node_type := memory.metadata.get("node_type"), str) else None,
        )


def _of_entry(entry: WorkingEntry, cosine: float | None, share: float, now: datetime) -> Explanation:
    return Explanation(cosine=cosine, words=share, age_seconds=(now - entry.created_at).total_seconds())


def _of_memory(found: Found) -> Explanation:
    return Explanation(cosine=found.similarity, words=found.words, parts=found.parts, rank=found.rank)
