"""What goes into an embedding model and what may come out of it, whichever model it is."""

from typing import Final

import numpy as np
import numpy.typing as npt

MAX_CHARS: Final = 2_000
"""Text is cut here. 2,000 characters are at most some 6,000 tokens, below the 8,191 that common APIs accept."""


def bounded(text: str, limit: int = MAX_CHARS) -> str:
    """The text cut to ``limit``, and without lone surrogates: no model and no JSON body can carry those."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Each row scaled to length one. Raises ValueError for a row that has no direction."""
    matrix = np.asarray(rows, dtype=np.float64)
    peaks = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(peaks).all() or not (peaks > 0).all():
        raise ValueError("a vector is all zeros or has a number that is not finite")
    matrix = matrix / peaks  # first, so that the squares can neither overflow nor vanish
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: npt.NDArray[np.float32] = (matrix / lengths).astype(np.float32)
    return unit
