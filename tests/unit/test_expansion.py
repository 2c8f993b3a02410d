"""A text is measured as it is after normalisation, without normalising it."""

import sys
import unicodedata

import pytest

from clearwell.errors import TooLarge
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.limits import MAX_QUERY_CHARS, cut_query
from clearwell.text.expansion import count_expanded
from tests.path import AGENT, Path, said

PHRASE = "\ufdfa"


def test_every_character_that_becomes_more_than_three_is_counted() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        assert len(unicodedata.normalize("NFKC", character)) <= max(3, count_expanded(character)), hex(number)


def test_a_derived_query_is_short_also_when_normalised() -> None:
    assert cut_query("x" * 5000) == "x" * MAX_QUERY_CHARS
    assert len(unicodedata.normalize("NFKC", cut_query(PHRASE * 5000))) <= 2 * MAX_QUERY_CHARS


@pytest.mark.parametrize("query", [PHRASE * 1000, PHRASE * 300_000, "x" * 9000])
async def test_a_query_that_is_too_long_is_refused(query: str) -> None:
    path = Path()
    with pytest.raises(TooLarge) as refused:
        await path.memory.acting_as(AGENT).retrieve(query, group="g")
    assert refused.value.field == "query"
    assert refused.value.limit == path.settings.max_query_bytes
    with pytest.raises(TooLarge):
        await path.memory.build_context(ContextRequest(proposal="p", query=query), group="g")


async def test_a_text_that_expands_beyond_the_limit_is_refused() -> None:
    path = Path()
    with pytest.raises(TooLarge, match="U\\+FDFA"):
        await path.memory.acting_as(AGENT).capture(said(PHRASE * 349_000))
    with pytest.raises(TooLarge):
        await path.memory.add_tombstone(PHRASE * 349_000, reason="wrong", group="g")
    with pytest.raises(TooLarge):
        await path.memory.promote(PHRASE * 349_000, group="g")
