"""Results that are computed from whole texts, kept within a number of bytes and cleared from one place.

``functools.lru_cache`` counts entries: a thousand texts of 1 MiB would fill a gigabyte. A ``TextCache`` counts bytes.
Every one of them is registered, so that ``clear_text_caches`` makes the process drop the texts that it has read.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from threading import Lock
from typing import Final, Generic, TypeVar

Text = TypeVar("Text", str, bytes)
Result = TypeVar("Result")

MIB: Final = 1024 * 1024
ENTRY_BYTES: Final = 300
"""What an entry takes besides its characters: the heads of its objects and its place in the table."""
LARGEST_SHARE: Final = 4
"""A text that would take more than one part in so many of a cache is not kept: it would push out all others."""

_clear_registered: list[Callable[[], None]] = []


class TextCache(dict[Text, Result], Generic[Text, Result]):
    """A function of one text as a mapping: ``cache[text]`` is the function's result, computed where it is not kept.

    ``bytes_per_character`` is what a result and its text take at most for each character of the text. When all results
    take more than ``max_bytes``, the older half of them is dropped. Threads may share a cache.
    """

    def __init__(self, function: Callable[[Text], Result], *, max_bytes: int, bytes_per_character: int) -> None:
        super().__init__()
        self._function: Callable[[Text], Result] = function
        self.max_bytes = max_bytes
        self._bytes_per_character = bytes_per_character
        self._bytes = 0
        self._cleared = 0
        self._lock = Lock()
        _clear_registered.append(self.clear)

    def __missing__(self, text: Text) -> Result:
        cleared = self._cleared
        result = self._function(text)
        if LARGEST_SHARE * self._size(text) <= self.max_bytes:
            self._keep(text, result, cleared)
        return result

    @property
    def bytes_kept(self) -> int:
        """An upper estimate of the memory that the kept results and their texts take."""
        return self._bytes

    def missing_characters(self, texts: Iterable[Text]) -> int:
        """How many characters would have to be read to have the results of these texts."""
        return sum(len(text) for text in texts if text not in self)

    def clear(self) -> None:
        """Drop everything, also what another thread is computing at this moment."""
        with self._lock:
            super().clear()
            self._bytes = 0
            self._cleared += 1

    def _keep(self, text: Text, result: Result, cleared: int) -> None:
        with self._lock:
            if cleared != self._cleared or text in self:
                return
            self[text] = result
            self._bytes += self._size(text)
            while self._bytes > self.max_bytes:
                self._drop_older_half()

    def _drop_older_half(self) -> None:
        for text in list(islice(self, (len(self) + 1) // 2)):
            del self[text]
            self._bytes -= self._size(text)

    def _size(self, text: Text) -> int:
        return ENTRY_BYTES + len(text) * self._bytes_per_character


def clear_text_caches() -> None:
    """Drop every kept result of every cache: no text that was read before is held by one any more."""
    for clear in _clear_registered:
        clear()
