"""The order of a search with words, computed plainly: what the database's one statement must give."""

from collections.abc import Sequence
from dataclasses import replace

from clearwell.flow.retrieval.bm25 import is_question
from clearwell.flow.retrieval.fusion import NEIGHBOURS, SessionOrder, choose_pool, find_named, weigh_by_rarity
from clearwell.ports import Fusion, QueryTerms, SparseEncoder
from clearwell.records import ChunkKey, FoundChunk, Memory, Parts


class Ranking:
    """The words of one group's chunks, in the order of their arrival. Those ``counted`` say how rare a word is."""

    def __init__(self, encoder: SparseEncoder, chunks: Sequence[Memory], counted: Sequence[Memory]) -> None:
        self._encoder = encoder
        self._counted = counted
        self._chunks = {_key(chunk): chunk for chunk in chunks}
        self._order = SessionOrder(
            (_key(chunk), None if chunk.session_id is None else (chunk.session_id, chunk.agent_id)) for chunk in chunks
        )

    def rank(self, found: Sequence[FoundChunk], asked: QueryTerms, fusion: Fusion) -> list[FoundChunk]:
        words, named = self._words(asked), self._find_named_speaker(asked)
        shares = {_key(one.memory): self._share(one.memory, words) for one in found}
        own = {
            _key(one.memory): Parts(
                dense=fusion.dense * (one.similarity or 0.0),
                lexical=fusion.lexical * shares[_key(one.memory)],
                author=fusion.author if named is not None and one.memory.author == named else 0.0,
                neighbour=0.0,
                answer=0.0,
                session=0.0,
            )
            for one in found
        }
        pool = choose_pool({key: parts.total for key, parts in own.items()}, fusion.pool)
        lifts = self._order.lift(pool, lambda key: is_question(self._chunks[key].content), fusion)
        lifted = {key: replace(own[key], **lift._asdict()) for key, lift in lifts.items()}
        return [
            replace(one, words=shares[key], rank=lifted[key].total, parts=lifted[key])
            for one in found
            if (key := _key(one.memory)) in lifted
        ]

    def _words(self, asked: QueryTerms) -> dict[int, float]:
        standing = [self._encoder.dimensions(chunk.content) for chunk in self._counted]
        counts = [sum(place in terms for terms in standing) for place in asked.weights]
        return weigh_by_rarity(asked, counts, len(standing))

    def _find_named_speaker(self, asked: QueryTerms) -> str | None:
        return find_named({one.author: self._encoder.name(one.author) for one in self._counted if one.author}, asked)

    def _share(self, chunk: Memory, words: dict[int, float]) -> float:
        near = [self._chunks[key].content for key in self._order.list_near(_key(chunk), NEIGHBOURS)]
        lexemes = self._encoder.lexemes(chunk.content, near)
        return sum(weight * lexemes.get(place, 0.0) for place, weight in words.items())


def _key(memory: Memory) -> ChunkKey:
    return memory.id, memory.chunk_no
