"""The order of a search with words, computed plainly: what the database's one statement must give."""

import math
from collections.abc import Sequence
from dataclasses import replace

from clearwell.flow.retrieval.bm25 import is_question
from clearwell.ports import Fusion, QueryTerms, SparseEncoder
from clearwell.records import ChunkKey, Found, Memory, Parts

NEIGHBOURS = 2


class Ranking:
    """The words of one group's chunks, in the order of their arrival. Those ``counted`` say how rare a word is."""

    def __init__(self, encoder: SparseEncoder, chunks: Sequence[Memory], counted: Sequence[Memory]) -> None:
        self._encoder = encoder
        self._counted = counted
        lines: dict[tuple[str, str | None], list[Memory]] = {}
        for chunk in chunks:
            if chunk.session_id is not None:
                lines.setdefault((chunk.session_id, chunk.agent_id), []).append(chunk)
        self._at = {_key(one): (line, at) for line in lines.values() for at, one in enumerate(line)}

    def rank(self, found: Sequence[Found], asked: QueryTerms, fusion: Fusion) -> list[Found]:
        words, named = self._words(asked), self._find_named_speaker(asked)
        shares = {_key(one.memory): self._share(one.memory, words) for one in found}
        own = {
            _key(one.memory): Parts(
                dense=fusion.dense * (one.similarity or 0.0),
                lexical=fusion.lexical * shares[_key(one.memory)],
                author=fusion.author if named is not None and one.memory.author == named else 0.0,
                beside=0.0,
                answer=0.0,
                session=0.0,
            )
            for one in found
        }
        scored = {key: _sum(parts) for key, parts in own.items()}
        pool = dict(sorted(scored.items(), key=lambda item: (-item[1], item[0]))[: fusion.pool])
        keys = [(one, _key(one.memory)) for one in found if _key(one.memory) in pool]
        lifted = {key: self._lift(own[key], key, pool, fusion) for _, key in keys}
        return [replace(one, words=shares[key], rank=_sum(lifted[key]), parts=lifted[key]) for one, key in keys]

    def _words(self, asked: QueryTerms) -> dict[int, float]:
        """Each term's weight by its rarity, as a share of the best a chunk can reach."""
        standing = [self._encoder.dimensions(chunk.content) for chunk in self._counted]
        weights = {}
        for dimension, weight in asked.weights.items():
            chunks = sum(dimension in terms for terms in standing)
            weights[dimension] = weight * math.log(1 + (len(standing) - chunks + 0.5) / (chunks + 0.5))
        best = 2 * sum(weights.values())
        return {dimension: weight / best for dimension, weight in weights.items()} if best else {}

    def _find_named_speaker(self, asked: QueryTerms) -> str | None:
        """The one speaker whom the query names."""
        authors = {chunk.author for chunk in self._counted if chunk.author}
        named = [one for one in authors if (name := self._encoder.name(one)) and name in asked.spoken]
        return named[0] if len(named) == 1 else None

    def _share(self, chunk: Memory, words: dict[int, float]) -> float:
        lexemes = self._encoder.lexemes(chunk.content, [near.content for near in self._near(_key(chunk), NEIGHBOURS)])
        return sum(weight * lexemes.get(dimension, 0.0) for dimension, weight in words.items())

    def _near(self, key: ChunkKey, reach: int) -> list[Memory]:
        if key not in self._at:
            return []
        line, at = self._at[key]
        return [*line[max(0, at - reach) : at], *line[at + 1 : at + 1 + reach]]

    def _lift(self, own: Parts, key: ChunkKey, pool: dict[ChunkKey, float], fusion: Fusion) -> Parts:
        if key not in self._at:
            return own
        beside = max((pool.get(_key(one), 0.0) for one in self._near(key, 1)), default=0.0)
        line, at = self._at[key]
        session = max(pool.get(_key(one), 0.0) for one in line)
        asked = pool.get(_key(line[at - 1]), 0.0) if at > 0 and is_question(line[at - 1].content) else 0.0
        return replace(
            own,
            beside=fusion.beside * max(beside, 0.0),
            answer=fusion.answer * max(asked, 0.0),
            session=fusion.session * max(session, 0.0),
        )


def _sum(parts: Parts) -> float:
    return parts.dense + parts.lexical + parts.author + parts.beside + parts.answer + parts.session


def _key(memory: Memory) -> ChunkKey:
    return memory.id, memory.chunk_no
