"""The input and the output of every embedding model: truncated text, vectors of length one."""

from typing import Final

import numpy as np
import numpy.typing as npt

MAX_CHARS: Final = 2_000
"""Longer text is truncated. 2,000 characters are at most about 6,000 tokens; common APIs accept 8,191."""


def truncate(text: str, limit: int = MAX_CHARS) -> str:
    """Truncate the text to ``limit`` and replace lone surrogates, which no JSON body can contain."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def normalise_rows(rows: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Scale each row to length one. Raises ValueError for a row of zeros or with infinite numbers."""
    matrix = np.asarray(rows, dtype=np.float64)
    peaks = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(peaks).all() or not (peaks > 0).all():
        raise ValueError("a vector is all zeros or has a number that is not finite")
    matrix = matrix / peaks  # first, so that the squares can neither overflow nor vanish
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: npt.NDArray[np.float32] = (matrix / lengths).astype(np.float32)
    return unit
