"""The order of a search with words, computed plainly: what the database's one statement must give."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from clearwell.ports import Asked, Fusion, Lexicon
from clearwell.records import Found, Memory

NEIGHBOURS = 2
Place: TypeAlias = tuple[UUID, int]


class Ranking:
    """The words of one group's chunks, in the order of their arrival."""

    def __init__(self, lexicon: Lexicon, chunks: Sequence[Memory]) -> None:
        self._lexicon = lexicon
        self._chunks = chunks
        lines: dict[tuple[str, str | None], list[Memory]] = {}
        for chunk in chunks:
            if chunk.session_id is not None:
                lines.setdefault((chunk.session_id, chunk.agent_id), []).append(chunk)
        self._at = {_place(one): (line, at) for line in lines.values() for at, one in enumerate(line)}

    def ranked(self, found: Sequence[Found], asked: Asked, fusion: Fusion) -> list[Found]:
        words, named = self._words(asked), self._named(asked)
        scored = {
            _place(one.memory): fusion.dense * one.similarity
            + fusion.lexical * self._share(one.memory, words)
            + (fusion.author if named is not None and one.memory.author == named else 0.0)
            for one in found
        }
        pool = dict(sorted(scored.items(), key=lambda item: (-item[1], item[0]))[: fusion.pool])
        return [
            replace(one, rank=pool[_place(one.memory)] + self._lift(_place(one.memory), pool, fusion))
            for one in found
            if _place(one.memory) in pool
        ]

    def _words(self, asked: Asked) -> dict[int, float]:
        """Each term's weight by its rarity, as a share of the best a chunk can reach."""
        standing = [self._lexicon.dimensions(chunk.content) for chunk in self._chunks]
        weights = {}
        for place, weight in asked.weights.items():
            chunks = sum(place in terms for terms in standing)
            weights[place] = weight * math.log(1 + (len(standing) - chunks + 0.5) / (chunks + 0.5))
        best = 2 * sum(weights.values())
        return {place: weight / best for place, weight in weights.items()} if best else {}

    def _named(self, asked: Asked) -> str | None:
        """The one speaker whom the query names."""
        authors = {chunk.author for chunk in self._chunks if chunk.author}
        named = [one for one in authors if (name := self._lexicon.name(one)) and name in asked.spoken]
        return named[0] if len(named) == 1 else None

    def _share(self, chunk: Memory, words: dict[int, float]) -> float:
        lexemes = self._lexicon.lexemes(chunk.content, [near.content for near in self._near(_place(chunk), NEIGHBOURS)])
        return sum(weight * lexemes.get(place, 0.0) for place, weight in words.items())

    def _near(self, place: Place, reach: int) -> list[Memory]:
        if place not in self._at:
            return []
        line, at = self._at[place]
        return [*line[max(0, at - reach) : at], *line[at + 1 : at + 1 + reach]]

    def _lift(self, place: Place, pool: dict[Place, float], fusion: Fusion) -> float:
        if place not in self._at:
            return 0.0
        beside = max((pool.get(_place(one), 0.0) for one in self._near(place, 1)), default=0.0)
        session = max(pool.get(_place(one), 0.0) for one in self._at[place][0])
        return fusion.beside * max(beside, 0.0) + fusion.session * max(session, 0.0)


def _place(memory: Memory) -> Place:
    return memory.id, memory.chunk_no
