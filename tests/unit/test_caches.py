"""Caches of what was read out of texts: bounded by bytes, and cleared from one place."""

import gc
import sys
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

import clearwell.app  # noqa: F401 - imports every module of the program, and so its caches
from clearwell.caches import MIB, ByteCache, TextCache, clear_text_caches
from clearwell.flow.retrieval.entry_index import INDEX_BYTES, EntryIndexes
from clearwell.stores.valkey import entries
from clearwell.text import terms as text_terms
from clearwell.text.languages import english
from tests.contract.ports import entry


def find_caches() -> dict[str, ByteCache[Any, Any]]:
    """The caches of the modules of the program, by name."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("clearwell.")]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, ByteCache)}


CACHES = find_caches()
TEXT_CACHES = {name: cache for name, cache in CACHES.items() if isinstance(cache, TextCache)}


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    clear_text_caches()
    yield
    clear_text_caches()


def fresh(size: int) -> str:
    return "".join(["Backups of the ", "database take ", "eleven minutes. "] * (size // 45 + 1))[:size]


@pytest.mark.parametrize("name", TEXT_CACHES)
def test_a_small_text_is_kept_until_the_caches_are_cleared(name: str) -> None:
    text, cache = fresh(200), TEXT_CACHES[name]
    unkept = sys.getrefcount(text)
    assert cache[text] is cache[text]
    assert sys.getrefcount(text) > unkept
    clear_text_caches()
    assert sys.getrefcount(text) == unkept


def test_all_caches_together_are_bounded() -> None:
    assert {"features_of", "shingles", "known_entries"} <= CACHES.keys()
    assert sum(cache.max_bytes for cache in CACHES.values()) + INDEX_BYTES <= 180 * MIB


async def test_an_index_of_working_memory_is_kept_until_the_caches_are_cleared() -> None:
    indexes, listed = EntryIndexes(), [entry(1), entry(2)]
    index = await indexes.find("g", listed, "m")
    assert await indexes.find("g", listed, "m") is index
    freed = ref(index)
    del index
    clear_text_caches()
    gc.collect()
    assert freed() is None


def test_a_cache_that_nobody_uses_is_freed() -> None:
    cache = TextCache(str.upper, max_bytes=10_000, bytes_per_character=2)
    assert cache["a"] == "A"
    freed = ref(cache)
    del cache
    gc.collect()
    assert freed() is None


def test_elements_of_working_memory_are_kept_until_the_caches_are_cleared() -> None:
    stored = b"{" + b"x" * 90
    unkept = sys.getrefcount(stored)
    assert entries.read_element(stored) is None
    assert sys.getrefcount(stored) > unkept
    clear_text_caches()
    assert sys.getrefcount(stored) == unkept


def test_very_long_words_are_not_kept() -> None:
    for letter in "abcdefgh":
        text_terms.dimension(next(iter(text_terms.count_terms(letter * MIB))))
    assert english._stems.bytes_kept + text_terms._dimensions.bytes_kept < MIB


def test_a_cache_never_holds_more_than_its_bytes() -> None:
    cache = TextCache(str.upper, max_bytes=100_000, bytes_per_character=2)
    for number in range(2_000):
        text = f"{number:05}" + "x" * (number % 40) * 100
        assert cache[text] == text.upper()
        assert cache.bytes_kept <= 100_000
        assert sum(map(len, cache)) * 2 <= 100_000
    assert cache["01999" + "x" * 3900] == "01999" + "X" * 3900
    assert len(cache) > 5


def test_a_text_larger_than_a_quarter_of_the_cache_pushes_nothing_out() -> None:
    cache = TextCache[str, int](len, max_bytes=10_000, bytes_per_character=1)
    assert (cache["a"], cache["b" * 5_000], list(cache)) == (1, 5_000, ["a"])


def test_what_is_kept_is_not_computed_again() -> None:
    computed: list[str] = []
    cache = TextCache(computed.append, max_bytes=10_000, bytes_per_character=1)
    assert cache["a"] is cache["a"] is None
    assert computed == ["a"]
    assert cache.missing_characters(["a", "bcd"]) == 3


def test_what_is_computed_while_caches_are_cleared_is_not_kept() -> None:
    def read(text: str) -> int:
        clear_text_caches()
        return len(text)

    cache = TextCache(read, max_bytes=10_000, bytes_per_character=1)
    assert (cache["abc"], dict(cache)) == (3, {})
