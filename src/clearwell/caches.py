"""Results that are computed from whole texts, kept within a number of bytes and cleared from one place.

``functools.lru_cache`` counts entries: a thousand texts of 1 MiB would fill a gigabyte. A ``ByteCache`` counts bytes.
Every one of them is registered as long as somebody uses it, so that ``clear_text_caches`` makes the process drop the
texts that it has read.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

Text = TypeVar("Text", str, bytes)
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

MIB: Final = 1024 * 1024
ENTRY_BYTES: Final = 300
"""What an entry takes besides its characters: the heads of its objects and its place in the table."""
LARGEST_SHARE: Final = 4
"""A result that would take more than one part in this many of a cache is not kept: it would push out all others."""

_registered: "WeakValueDictionary[int, ByteCache[Any, Any]]" = WeakValueDictionary()
"""The caches in use, each by its ``id``: a mapping has no hash."""


class ByteCache(dict[Key, Result], Generic[Key, Result]):
    """Results that take at most ``max_bytes`` together. When they take more, the older half of them is dropped.

    A result that would take more than one part in ``largest_share`` of the bytes is not kept.
    Threads may share a cache.
    """

    def __init__(self, *, max_bytes: int, largest_share: int = LARGEST_SHARE) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self._largest_share = largest_share
        self._sizes: dict[Key, int] = {}
        self._bytes = 0
        self._cleared = 0
        self._lock = Lock()
        _registered[id(self)] = self

    @property
    def bytes_kept(self) -> int:
        """An upper estimate of the memory that the kept results and their keys take."""
        return self._bytes

    @property
    def generation(self) -> int:
        """How often the cache was cleared."""
        return self._cleared

    def keep(self, key: Key, result: Result, size: int, *, generation: int) -> None:
        """Keep a result of ``size`` bytes in the place of an earlier one.

        It is not kept if the cache was cleared since ``generation`` was read, or if it would push out all others.
        """
        with self._lock:
            if generation != self._cleared:
                return
            self._drop(key)
            if self._largest_share * size > self.max_bytes:
                return
            self[key] = result
            self._sizes[key] = size
            self._bytes += size
            while self._bytes > self.max_bytes:
                for old in list(islice(self, (len(self) + 1) // 2)):
                    self._drop(old)

    def clear(self) -> None:
        """Drop everything, also what another thread is computing at this moment."""
        with self._lock:
            super().clear()
            self._sizes.clear()
            self._bytes = 0
            self._cleared += 1

    def _drop(self, key: Key) -> None:
        if key in self._sizes:
            del self[key]
            self._bytes -= self._sizes.pop(key)


class TextCache(ByteCache[Text, Result], Generic[Text, Result]):
    """A function of one text as a mapping: ``cache[text]`` is the function's result, computed where it is not kept.

    ``bytes_per_character`` is what a result and its text take at most for each character of the text.
    """

    def __init__(self, function: Callable[[Text], Result], *, max_bytes: int, bytes_per_character: int) -> None:
        super().__init__(max_bytes=max_bytes)
        self._function: Callable[[Text], Result] = function
        self._bytes_per_character = bytes_per_character

    def __missing__(self, text: Text) -> Result:
        generation = self.generation
        result = self._function(text)
        self.keep(text, result, ENTRY_BYTES + len(text) * self._bytes_per_character, generation=generation)
        return result

    def missing_characters(self, texts: Iterable[Text]) -> int:
        """How many characters would have to be read to have the results of these texts."""
        return sum(len(text) for text in texts if text not in self)


def clear_text_caches() -> None:
    """Drop every kept result of every cache: no text that was read before is held by one any more."""
    for cache in list(_registered.values()):
        cache.clear()
