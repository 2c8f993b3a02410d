"""The order of a search with words, computed plainly: what the database's one statement must give."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from clearwell.flow.retrieval.bm25 import is_question
from clearwell.ports import Fusion, Lexicon, QueryTerms
from clearwell.records import Found, Memory, Parts

NEIGHBOURS = 2
Place: TypeAlias = tuple[UUID, int]


class Ranking:
    """The words of one group's chunks, in the order of their arrival. Those ``counted`` say how rare a word is."""

    def __init__(self, lexicon: Lexicon, chunks: Sequence[Memory], counted: Sequence[Memory]) -> None:
        self._lexicon = lexicon
        self._counted = counted
        lines: dict[tuple[str, str | None], list[Memory]] = {}
        for chunk in chunks:
            if chunk.session_id is not None:
                lines.setdefault((chunk.session_id, chunk.agent_id), []).append(chunk)
        self._at = {_place(one): (line, at) for line in lines.values() for at, one in enumerate(line)}

    def ranked(self, found: Sequence[Found], asked: QueryTerms, fusion: Fusion) -> list[Found]:
        words, named = self._words(asked), self._named(asked)
        compute_shares = {_place(one.memory): self._share(one.memory, words) for one in found}
        own = {
            _place(one.memory): Parts(
                dense=fusion.dense * (one.similarity or 0.0),
                lexical=fusion.lexical * compute_shares[_place(one.memory)],
                author=fusion.author if named is not None and one.memory.author == named else 0.0,
                beside=0.0,
                answer=0.0,
                session=0.0,
            )
            for one in found
        }
        scored = {place: _sum(parts) for place, parts in own.items()}
        pool = dict(sorted(scored.items(), key=lambda item: (-item[1], item[0]))[: fusion.pool])
        places = [(one, _place(one.memory)) for one in found if _place(one.memory) in pool]
        lifted = {place: self._lifted(own[place], place, pool, fusion) for _, place in places}
        return [
            replace(one, words=compute_shares[place], rank=_sum(lifted[place]), parts=lifted[place])
            for one, place in places
        ]

    def _words(self, asked: QueryTerms) -> dict[int, float]:
        """Each term's weight by its rarity, as a share of the best a chunk can reach."""
        standing = [self._lexicon.dimensions(chunk.content) for chunk in self._counted]
        weights = {}
        for place, weight in asked.weights.items():
            chunks = sum(place in terms for terms in standing)
            weights[place] = weight * math.log(1 + (len(standing) - chunks + 0.5) / (chunks + 0.5))
        best = 2 * sum(weights.values())
        return {place: weight / best for place, weight in weights.items()} if best else {}

    def _named(self, asked: QueryTerms) -> str | None:
        """The one speaker whom the query names."""
        authors = {chunk.author for chunk in self._counted if chunk.author}
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

    def _lifted(self, own: Parts, place: Place, pool: dict[Place, float], fusion: Fusion) -> Parts:
        if place not in self._at:
            return own
        beside = max((pool.get(_place(one), 0.0) for one in self._near(place, 1)), default=0.0)
        line, at = self._at[place]
        session = max(pool.get(_place(one), 0.0) for one in line)
        asked = pool.get(_place(line[at - 1]), 0.0) if at > 0 and is_question(line[at - 1].content) else 0.0
        return replace(
            own,
            beside=fusion.beside * max(beside, 0.0),
            answer=fusion.answer * max(asked, 0.0),
            session=fusion.session * max(session, 0.0),
        )


def _sum(parts: Parts) -> float:
    return parts.dense + parts.lexical + parts.author + parts.beside + parts.answer + parts.session


def _place(memory: Memory) -> Place:
    return memory.id, memory.chunk_no
