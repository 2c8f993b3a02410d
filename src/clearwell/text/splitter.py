"""Split text into chunks at the best separator that fits.

It is our own because neither library does the job. With the protocol's 500/50 and separators on a million characters
each of English, Chinese and mixed text (headings, paragraphs of one to nine sentences):

=============================  ===============  ===========  ==================  =============================
splitter                       own separators   time         neighbours sharing  shortest chunk, 5th percentile
=============================  ===============  ===========  ==================  =============================
this module                    yes              0.02 s       100 %               249, 269 to 279
langchain-text-splitters 1.1   yes              0.01-0.08 s  11 to 32 %          5, 34 to 179
semantic-text-splitter 0.33    no               0.03-0.06 s  10 to 22 %          6, 107 to 210
=============================  ===============  ===========  ==================  =============================

All three keep the size and every character. langchain-text-splitters overlaps whole pieces only, cuts inside composed
emoji, and brings 33 packages (50 MB, langsmith among them); semantic-text-splitter (19 MB) has fixed Unicode levels
instead of separators, and takes 44 s for 300,000 Chinese characters without a sentence end (here: 0.01 s).
"""

from collections.abc import Sequence

from clearwell.text.characters import are_joined


def split(text: str, *, size: int, overlap: int, separators: Sequence[str]) -> list[str]:
    """Return chunks of at most ``size`` characters, in order, that together have every visible character of ``text``.

    A chunk ends after the first of ``separators`` that leaves it at least half full, else after any of them, else
    where it is full. The next chunk begins up to ``overlap`` characters earlier, after a separator if there is one.
    Text that fits is returned as it is; the chunks of longer text are stripped.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"the overlap must be at least 0 and below the size, got {overlap} and {size}")
    if len(text) <= size:
        return [text] if text.strip() else []
    marks = [separator for separator in separators if separator]
    chunks = []
    start = fresh = _visible(text, 0)
    while fresh < len(text):
        chunk = text[start : _end(text, start, fresh, start + size, marks)].rstrip()
        chunks.append(chunk.lstrip())
        end = start + len(chunk)
        fresh = _visible(text, end)
        # At most half of a chunk, or the chunk after a short one would repeat it.
        start = _overlap_start(text, max(fresh - overlap, (start + end + 1) // 2), end, marks, otherwise=fresh)
    return chunks


def rejoin(chunks: Sequence[str]) -> str:
    """Return the text that chunks were split from, except for white space at the cuts."""
    text = ""
    for chunk in chunks:
        longest = min(len(text), len(chunk) - 1)
        shared = next((size for size in range(longest, 0, -1) if text.endswith(chunk[:size])), 0)
        text = text + chunk[shared:] if shared else f"{text}\n{chunk}".lstrip("\n")
    return text


def _end(text: str, start: int, fresh: int, limit: int, marks: Sequence[str]) -> int:
    """Return the end of the chunk at ``start``. It is after ``fresh``, the first character that no chunk has yet."""
    if limit >= len(text):
        return len(text)
    half = max(fresh, (start + limit) // 2)
    for low, high in ((half, limit), (fresh, half)):
        for mark in marks:
            if (end := _last_end(text, mark, low, high)) is not None:
                return end
    return next((at for at in range(limit, fresh, -1) if not are_joined(text, at)), limit)


def _last_end(text: str, mark: str, low: int, high: int) -> int | None:
    """Return the last position in (low, high] where ``mark`` ends and the text can be split."""
    first = max(0, low + 1 - len(mark))
    at = text.rfind(mark, first, high)
    while at >= 0 and are_joined(text, at + len(mark)):
        at = text.rfind(mark, first, at + len(mark) - 1)
    return at + len(mark) if at >= 0 else None


def _overlap_start(text: str, low: int, end: int, marks: Sequence[str], *, otherwise: int) -> int:
    """Return the first suitable position in [low, end) for the next chunk."""
    for mark in marks:
        at = text.find(mark, max(0, low - len(mark)), max(0, end - 1))
        if at >= 0 and not are_joined(text, at + len(mark)):
            return at + len(mark)
    return next((at for at in range(low, end) if not are_joined(text, at)), otherwise)


def _visible(text: str, start: int) -> int:
    """Return the first position from ``start`` on that is not white space."""
    return next((at for at in range(start, len(text)) if not text[at].isspace()), len(text))
