"""Relevance from vectors and words together."""

import pytest

from clearwell.flow.retrieval.bm25 import analyse_query, compute_shares
from clearwell.flow.retrieval.relevance import (
    LEAST_BY_COSINE,
    compute_relevance,
    compute_unverified_relevance,
    read_words,
)
from clearwell.testing import WordEmbedder

EMBEDDER = WordEmbedder()


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


def test_of_a_few_texts_the_share_is_by_their_own_rarity() -> None:
    texts = ["Ticket OPS-48213 was closed.", "Ticket OPS-1 was closed.", "Something else."]
    found = compute_shares(analyse_query("ticket OPS-48213"), texts)
    assert found[0] > 0.9 > 0.5 > found[1] > found[2] == 0
    assert compute_shares(analyse_query("the of"), texts) == [0, 0, 0]
    assert compute_shares(analyse_query("ticket"), []) == []


def test_without_a_vector_few_words_are_little_and_not_nothing() -> None:
    read = [compute_relevance(EMBEDDER, None, share) or 0.0 for share in (0.05, 0.1, 0.15, 0.3, 0.5)]
    assert read[0] > 0
    assert read == sorted(set(read))


@pytest.mark.parametrize("cosine", [None, -0.2, 0.0, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("words", [0.0, 0.3, 0.7, 1.0, 1.2])
def test_words_alone_put_nothing_unverified_first(cosine: float | None, words: float) -> None:
    first = 0.85
    usual, found = (
        compute_relevance(EMBEDDER, cosine, words),
        compute_unverified_relevance(EMBEDDER, cosine, words, first=first),
    )
    by_vector = 0.0 if cosine is None else EMBEDDER.relevance(cosine)
    if by_vector >= LEAST_BY_COSINE or usual is None or usual < first:
        assert found == usual
    else:
        assert found is not None
        assert by_vector <= found < first
