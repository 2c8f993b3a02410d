"""The fusion of vectors, words, speaker and session into one rank.

PostgreSQL computes it for long-term memory in one statement (``search_with_words``). Entries of working memory, and the
chunks of the in-memory twin, are ranked by the functions here.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from clearwell.ports import Fusion, QueryTerms

Key = TypeVar("Key", bound=Hashable)

NEIGHBOURS: Final = 2
"""How many neighbours on each side in the session count among the words of a text."""


class Lift(NamedTuple):
    """What a text gains by its session."""

    neighbour: float = 0.0
    answer: float = 0.0
    session: float = 0.0


NO_LIFT: Final = Lift()


class SessionOrder(Generic[Key]):
    """The texts of each session in the order of their arrival. Texts without a session have no neighbours."""

    def __init__(self, texts: Iterable[tuple[Key, Hashable | None]]) -> None:
        sessions: dict[Hashable, list[Key]] = {}
        for key, session in texts:
            if session is not None:
                sessions.setdefault(session, []).append(key)
        self._sessions = list(sessions.values())
        self._places = {
            key: (number, place) for number, keys in enumerate(self._sessions) for place, key in enumerate(keys)
        }

    def list_near(self, key: Key, reach: int) -> list[Key]:
        """The neighbours of a text, at most ``reach`` on each side."""
        if key not in self._places:
            return []
        number, place = self._places[key]
        keys = self._sessions[number]
        return [*keys[max(0, place - reach) : place], *keys[place + 1 : place + 1 + reach]]

    def lift(self, pool: Mapping[Key, float], asks: Callable[[Key], bool], fusion: Fusion) -> dict[Key, Lift]:
        """What each text of the pool gains by the scores of the others."""
        best: dict[int, float] = {}
        for key, score in pool.items():
            if key in self._places:
                number = self._places[key][0]
                best[number] = max(score, best.get(number, 0.0))
        lifts = {}
        for key in pool:
            if key not in self._places:
                lifts[key] = NO_LIFT
                continue
            number, place = self._places[key]
            keys = self._sessions[number]
            before = max(pool.get(keys[place - 1], 0.0), 0.0) if place else 0.0
            after = pool.get(keys[place + 1], 0.0) if place + 1 < len(keys) else 0.0
            asked = before if before and asks(keys[place - 1]) else 0.0
            lifts[key] = Lift(
                fusion.neighbour * max(before, after), fusion.answer * asked, fusion.session * best[number]
            )
        return lifts


def choose_pool(scores: Mapping[Key, float], size: int) -> Mapping[Key, float]:
    """The best texts by their own score, which can be lifted."""
    if len(scores) <= size:
        return scores
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:size])


def weigh_by_rarity(terms: QueryTerms, counts: Sequence[int], whole: int) -> dict[int, float]:
    """The weight of each term by its rarity, as a share of the best that a text can reach.

    ``counts`` has the number of texts with each term, of ``whole`` texts.
    """
    weights = {
        place: weight * math.log(1 + (whole - having + 0.5) / (having + 0.5))
        for (place, weight), having in zip(terms.weights.items(), counts, strict=True)
    }
    best = 2 * sum(weights.values())
    return {place: weight / best for place, weight in weights.items()} if best else {}


def find_named(spellings: Mapping[str, str], terms: QueryTerms) -> str | None:
    """The one speaker that the query names. ``spellings`` has the name of each as ``SparseEncoder.name`` spells it."""
    named = [speaker for speaker, name in spellings.items() if name and name in terms.spoken]
    return named[0] if len(named) == 1 else None
