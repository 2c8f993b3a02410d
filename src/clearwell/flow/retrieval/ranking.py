"""Ranking: turns entries and memories into items with scores and labels, and puts both tiers into one order."""

from collections.abc import Iterable, Sequence, Set
from typing import Final

from clearwell.caches import MIB, TextCache
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.flow.retrieval.options import RetrievalPlan
from clearwell.flow.retrieval.relevance import compute_relevance
from clearwell.flow.retrieval.working_search import EntryMatch
from clearwell.ports import Embedder, QueryTerms
from clearwell.records import ContextItem, Explanation, FoundChunk, Label, Layer, Scope, Source
from clearwell.text.normalisation import normalise
from clearwell.text.segments import segment

SAME_WORDS: Final = 0.8
"""Minimum share of the words of the shorter text that two texts share if one is a copy of the other."""
ANSWERING: Final = 0.7
"""Minimum relevance of a verified item that answers the query, so that no unverified item comes before it.

``bench/results/poisoning.md`` measures how often the verified item stays first under attack."""

_BM25: Final = Bm25()


class ItemFactory:
    """Makes items, with the relevance that this embedder's calibration gives them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def from_entry(self, match: EntryMatch) -> ContextItem:
        """Make an item of working memory."""
        entry = match.entry
        return ContextItem(
            content=entry.content,
            source=Source.HOT,
            score=1.0,
            id=entry.id,
            group_id=entry.group_id,
            layer=Layer.WORKING,
            label=Label.EPHEMERAL,
            verified=False,
            relevance=match.relevance,
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
            explanation=match.explanation,
            node_type=entry.node_type,
            match=_find_match(match),
        )

    def from_memory(self, found: FoundChunk, plan: RetrievalPlan, terms: QueryTerms) -> ContextItem:
        """Make an item of long-term memory.

        The words of its neighbours count for its relevance only if it has a word of the query itself.
        """
        has_words = not terms.weights.keys().isdisjoint(_BM25.dimensions(found.memory.content))
        memory, score = found.memory, found.words if found.similarity is None else found.similarity
        return ContextItem(
            content=memory.content,
            source=Source.COLD,
            score=min(1.0, max(0.0, score)),
            id=memory.id,
            group_id=memory.group_id,
            layer=Layer.LONGTERM,
            label=_label(found),
            verified=memory.valid_to is None,
            withdrawn_at=memory.valid_to,
            relevance=compute_relevance(self._embedder, found.similarity, found.words if has_words else 0.0),
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
            flags=memory.flags,
            explanation=_explain_memory(found) if plan.explain else None,
            node_type=node_type if isinstance(node_type := memory.metadata.get("node_type"), str) else None,
            conflicts_with=found.conflicts_with,
        )


def _label(found: FoundChunk) -> Label:
    if found.memory.valid_to is None:
        return Label.VERIFIED
    return Label.SUPERSEDED if found.superseded else Label.WITHDRAWN


def _find_match(match: EntryMatch) -> tuple[int, int] | None:
    """The place of the statement that is nearest to the query, if the entry has several."""
    if match.statement is None or len(match.entry.statements) == 1:
        return None
    statement = match.entry.statements[match.statement]
    return statement.start, statement.end


def _explain_memory(found: FoundChunk) -> Explanation:
    return Explanation(cosine=found.similarity, words=found.words, parts=found.parts, rank=found.rank)


def _normalise_statements(text: str) -> frozenset[str]:
    """What a text says: the whole, and each of its statements, in their normal forms."""
    statements = (text[one.start : one.end] for one in segment(text) if one.is_statement)
    return frozenset(filter(None, map(normalise, (text, *statements))))


_normal_forms = TextCache(normalise, max_bytes=4 * MIB, bytes_per_character=8)
_verified_forms = TextCache(_normalise_statements, max_bytes=4 * MIB, bytes_per_character=16)


def filter_relevant(items: list[ContextItem], threshold: float | None) -> list[ContextItem]:
    """The items whose relevance reaches the threshold; all if there is none."""
    return items if threshold is None else [item for item in items if (item.relevance or 0.0) >= threshold]


def drop_verified(
    matches: Sequence[EntryMatch], cold: Sequence[ContextItem], found: Sequence[FoundChunk]
) -> list[EntryMatch]:
    """The matches of working memory without those that are also among the verified items.

    These are entries that a verified memory was promoted from, that have the same text, or whose statement that
    answers the query is one, or a statement of one.
    """
    returned = {item.id for item in cold}
    origins = {chunk.origin_id for chunk in found if chunk.memory.id in returned}
    verified_texts = frozenset().union(*(_verified_forms[item.content] for item in cold))
    unpromoted = [match for match in matches if match.entry.id not in origins]
    if not verified_texts:
        return unpromoted
    return [match for match in unpromoted if not _is_verified(match, verified_texts)]


def _is_verified(match: EntryMatch, verified_texts: Set[str]) -> bool:
    content = match.entry.content
    if _normal_forms[content] in verified_texts:
        return True
    if match.statement is None:
        return False
    statement = match.entry.statements[match.statement]
    return _normal_forms[content[statement.start : statement.end]] in verified_texts


def count_unread(matches: Iterable[EntryMatch], cold: Iterable[ContextItem]) -> int:
    """The characters that ``drop_verified`` would have to normalise: results are cached."""
    entries = _normal_forms.missing_characters(match.entry.content for match in matches)
    return entries + _verified_forms.missing_characters(item.content for item in cold)


def merge_tiers(
    hot: Sequence[ContextItem], cold: Sequence[ContextItem], plan: RetrievalPlan, *, hot_first: float
) -> list[ContextItem]:
    """Put very relevant unverified items after the verified ones that answer the query and before all others.

    The other verified items follow by rank, then the other unverified ones. An unverified item that repeats a
    verified one is among the last. A verified answer comes before every unverified item because anyone can write an
    output that is as near to an expected query as can be.
    The newest entries, if they were asked for, come first in their order.
    """
    if plan.recent is not None:
        return [*hot, *cold][: plan.max_results]
    first = [item for item in hot if (item.relevance or 0) >= hot_first and not _repeats_any(item, cold)]
    if first:
        answers = [item for item in cold if (item.relevance or 0) >= ANSWERING]
        first = [*answers, *first]
    chosen = {item.id for item in first}
    rest = [item for item in (*cold, *hot) if item.id not in chosen]
    return [*first, *rest][: plan.max_results]


def _repeats_any(item: ContextItem, cold: Sequence[ContextItem]) -> bool:
    """Whether an unverified item says in most of its words what a verified one says; it then comes after it."""
    own = _BM25.dimensions(item.content if item.match is None else item.content[slice(*item.match)])
    for verified in cold:
        words = _BM25.dimensions(verified.content)
        if len(own & words) >= SAME_WORDS * max(1, min(len(own), len(words))):
            return True
    return False
