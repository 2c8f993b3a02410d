"""Relevance from vectors and words together."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.flow.retrieval.entry_index import EntryIndex
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.flow.retrieval.relevance import (
    MAX_UNRELATED,
    MIN_BY_COSINE,
    QueryMatch,
    compute_relevance,
    limit_unverified,
    load_evidence,
    read_words,
    relate_to_best,
)
from clearwell.models import OfflineEmbedder
from clearwell.records import NewMemory
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from tests.contract.ports import entry
from tests.path import AGENT, Path

EMBEDDER = WordEmbedder()


def share(texts: Sequence[str], query: str) -> list[float]:
    """The share of the query's words that each of these entries has."""
    entries = [replace(entry(number), content=text, session_id=None) for number, text in enumerate(texts)]
    index, terms = EntryIndex(entries, EMBEDDER.model, {}), analyse_query(query)
    found: list[float] = index.compute_shares(index.weigh(terms)).tolist()
    return found


@pytest.mark.parametrize("cosine", [-0.2, 0.0, 0.3, 0.7, 1.0])
def test_words_lift_and_never_lower(cosine: float) -> None:
    by_vector = EMBEDDER.relevance(cosine)
    read = [compute_relevance(EMBEDDER, cosine, share / 20) for share in range(25)]
    assert read[0] == by_vector
    assert read == sorted(read, key=lambda value: value or 0)
    assert all(by_vector <= (value or 0) <= 1 for value in read)


def test_all_the_words_of_a_query_are_enough() -> None:
    found = compute_relevance(EMBEDDER, 0.0, 1.0)
    assert found is not None
    assert found > 0.9
    assert compute_relevance(EMBEDDER, 0.0, 0.3) == pytest.approx(0, abs=0.1)


def test_without_a_vector_words_alone_tell() -> None:
    assert compute_relevance(EMBEDDER, None, 0.0) is None
    assert compute_relevance(EMBEDDER, None, 0.6) == read_words(0.6) > 0.7


def test_a_word_far_into_a_long_entry_counts() -> None:
    parts = ["".join(chr(ord("a") + int(digit)) for digit in str(number)) + "zuk" for number in range(1000, 1600)]
    assert share([" ".join(parts), "Something else."], parts[-1])[0] > 0.4


def test_of_a_few_texts_the_share_is_by_their_own_rarity() -> None:
    texts = ["Ticket OPS-48213 was closed.", "Ticket OPS-1 was closed.", "Something else."]
    found = share(texts, "ticket OPS-48213")
    assert found[0] > 0.9 > 0.5 > found[1] > found[2] == 0
    assert share(texts, "the of") == [0, 0, 0]
    assert share([], "ticket") == []


def test_without_a_vector_few_words_are_little_and_not_nothing() -> None:
    read = [compute_relevance(EMBEDDER, None, share) or 0.0 for share in (0.05, 0.1, 0.15, 0.3, 0.5)]
    assert read[0] > 0
    assert read == sorted(set(read))


@pytest.mark.parametrize("cosine", [None, -0.2, 0.0, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("words", [0.0, 0.3, 0.7, 1.0, 1.2])
def test_words_alone_put_nothing_unverified_first(cosine: float | None, words: float) -> None:
    first = 0.85
    usual = compute_relevance(EMBEDDER, cosine, words) or 0.0
    by_vector = 0.0 if cosine is None else EMBEDDER.relevance(cosine)
    found = limit_unverified(usual, by_vector, first=first)
    if by_vector >= MIN_BY_COSINE or usual < first:
        assert found == usual
    else:
        assert by_vector <= found < first


def test_each_kind_of_evidence_raises_the_relevance_of_working_memory() -> None:
    weak = QueryMatch(words=0.1, vector=0.2, names=0.0)
    lowest = load_evidence().rate(weak)
    assert lowest is not None
    assert 0 <= lowest < 0.4
    for stronger in (replace(weak, words=0.9), replace(weak, vector=0.9), replace(weak, names=1.0)):
        assert (load_evidence().rate(stronger) or 0) > lowest
    assert (load_evidence().rate(replace(weak, names=-1.0)) or 0) < lowest


def test_without_vectors_working_memory_is_rated_by_words_alone() -> None:
    assert load_evidence().rate(QueryMatch(words=0.0, vector=None, names=1.0)) is None
    assert load_evidence().rate(QueryMatch(words=0.6, vector=None, names=-1.0)) == read_words(0.6)


def test_an_entry_is_as_relevant_as_its_rank_is_near_to_the_best() -> None:
    assert relate_to_best(0.9, 2.0, 2.0) == 0.9
    assert relate_to_best(0.9, 0.5, 2.0) == 0.45
    assert relate_to_best(0.9, -0.1, 2.0) == relate_to_best(0.9, 0.0, 0.0) == 0.0


def test_an_entry_that_says_too_little_itself_is_not_relevant_by_its_rank() -> None:
    evidence = load_evidence()
    assert evidence.limit(0.9, evidence.alone, ()) == 0.9
    assert evidence.limit(0.9, evidence.near, ()) < MAX_UNRELATED < Settings().hot_threshold
    assert evidence.limit(0.9, -1.0, ()) == 0.0


def test_less_is_enough_next_to_a_neighbour_that_is_alike_and_says_enough() -> None:
    evidence = load_evidence()
    assert evidence.limit(0.9, evidence.near, [0.0, evidence.alone]) == 0.9
    assert evidence.limit(0.9, evidence.near, [evidence.near]) < MAX_UNRELATED
    assert evidence.limit(0.9, evidence.near - 0.1, [evidence.alone]) < MAX_UNRELATED


async def test_a_memory_is_not_relevant_by_the_words_of_its_neighbours() -> None:
    path = Path(settings=Settings(retrieve_timeout_seconds=60), embedder=OfflineEmbedder())
    texts = ["The depth at berth 33 is 16.9 metres at low tide.", "Layer the lasagne and bake it for forty minutes."]
    await path.memory.promote_many([NewMemory(content=text, session_id="s") for text in texts], group="g")
    options = RetrieveOptions(explain=True)
    found = await path.memory.acting_as(AGENT).retrieve("depth at berth 33", group="g", options=options)
    berth, lasagne = found.items
    assert lasagne.explanation is not None
    assert lasagne.explanation.cosine is not None
    assert lasagne.explanation.words > 0
    assert lasagne.relevance == path.embedder.relevance(lasagne.explanation.cosine)
    assert (berth.relevance or 0) > 0.9
