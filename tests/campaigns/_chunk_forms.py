"""Chunks as users may give them: cut anywhere, of any kind, some of them nonsense."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class BrokenSourceError(Exception):
    """What a source of chunks raises in the middle."""


def draw_parts(rng: np.random.Generator) -> list[Part]:
    """Rows of small integers, exact in any type, cut at random: X, y and weights of each chunk."""
    n, d, n_classes = int(rng.integers(6, 80)), int(rng.integers(1, 6)), int(rng.integers(2, 4))
    X = rng.integers(-4, 5, (n, d)).astype(np.float64)
    y = rng.permutation(np.arange(n) % n_classes)
    if rng.random() < 0.3:  # sorted by class: chunks of one class
        y.sort()
    weight = np.ones(n)
    if rng.random() < 0.4:
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
        weight[[np.argmax(y == c) for c in range(n_classes)]] = 1.0
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 7)))
    edges = [0, *cuts.tolist(), n]
    if rng.random() < 0.2:  # a chunk without weight
        weight[: edges[1]] = 0.0
        weight[edges[1] :] = np.maximum(weight[edges[1] :], 0.5)
    rows = [slice(begin, end) for begin, end in pairwise(edges)]
    return [(X[part], y[part], weight[part]) for part in rows]


def has_all_classes(parts: Sequence[Part]) -> bool:
    """Whether every class that occurs has weight somewhere, and there are two."""
    y, weight = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:])
    present = np.unique(y[weight > 0])
    return present.size >= 2 and np.array_equal(present, np.unique(y))


def dressed(rng: np.random.Generator, part: Part) -> Any:
    """The same chunk in another dress."""
    X, y, weight = part
    kinds: list[Callable[[np.ndarray], Any]] = [
        np.asarray,
        np.asfortranarray,
        np.ndarray.tolist,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int8),
    ]
    rows = kinds[rng.integers(len(kinds))](X)
    labels = [y, y.tolist(), y.astype(np.float64), y.astype(np.uint8)][rng.integers(4)]
    if (weight == 1).all() and rng.random() < 0.7:
        return [(rows, labels), [rows, labels], (rows, labels, None), (rows, labels, 1.0)][
            rng.integers(4)
        ]
    return rows, labels, [weight, weight.tolist(), weight.astype(np.float32)][rng.integers(3)]


def nonsense(rng: np.random.Generator, part: Part) -> Any:
    """A chunk that is none."""
    X, y, weight = part
    n, d = X.shape
    kinds: list[Callable[[], Any]] = [
        lambda: (X, np.where(np.arange(n) == n - 1, np.nan, y)),
        lambda: (X, np.full(n, 17)),
        lambda: (X, y.astype(str)),
        lambda: (X, y + 0.25),
        lambda: (X, y[:-1]),
        lambda: (X, np.column_stack([y, y])),
        lambda: (X, y, -weight - 1),
        lambda: (X, y, np.full(n, np.nan)),
        lambda: (X, y, np.ones(n + 1)),
        lambda: (X, y, np.ones((n, 2))),
        lambda: (X, y, np.full(n, 1e300)),
        lambda: (np.full((n, d), np.nan), y),
        lambda: (np.full((n, d), 1e200), y),
        lambda: (np.ones((n, d + 1)), y),
        lambda: (sparse.csr_matrix((n, d + 3)), y),
        lambda: (None, y),
        lambda: (3.0, y),
        lambda: (X,),
        lambda: (X, y, weight, weight),
        lambda: X,
        lambda: None,
        lambda: "chunk",
        lambda: {"X": X, "y": y},
    ]
    return kinds[rng.integers(len(kinds))]()


class Watched(Sequence[Any]):
    """Chunks that remember which of them were visited, and may break off."""

    def __init__(self, chunks: Sequence[Any], breaks_after: int | None = None) -> None:
        self.chunks = chunks
        self.visits: list[int] = []
        self.breaks_after = breaks_after

    def __len__(self) -> int:
        return len(self.chunks)

    def __getitem__(self, number: Any) -> Any:
        self._check()
        chunk = self.chunks[number]
        self.visits.append(number)
        return chunk

    def in_order(self) -> Iterator[Any]:
        """The chunks as an iterator."""
        for number in range(len(self.chunks)):
            yield self[number]
        self._check()

    def _check(self) -> None:
        if self.breaks_after is not None and len(self.visits) >= self.breaks_after:
            raise BrokenSourceError


def message_is_clear(message: str) -> None:
    """Assert that a message is a sentence of the package or of scikit-learn's validation."""
    # scikit-learn's advice about NaN has a second line.
    assert message.count("\n") <= 1, message
    for word in (
        *("positional argument", "attribute", "unpack", "broadcast", "ufunc", "out of bounds"),
        *("object is", "boolean index", "len()", "not supported between", "truth value"),
    ):
        assert word not in message, (word, message)
