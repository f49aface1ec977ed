"""The index stream: which example is drawn when, known ahead and independent of what is computed.

Epoch e of a stream is a function of (seed, key, e) alone, so a fit can be cut anywhere, resumed,
looked ahead of or replayed without keeping a generator's state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

SAMPLINGS = ("permutation", "uniform", "block")
#: Consecutive examples that ``"block"`` visits together.
BLOCK = 64
#: How many epochs a stream keeps at hand: the current one and what look-ahead reaches.
_KEPT = 3


class IndexStream:
    """Endless stream of example indices.

    Parameters
    ----------
    n_samples : int
        Indices are drawn from ``range(n_samples)``.
    sampling : {"permutation", "uniform", "block"}
        A fresh permutation for each epoch, independent uniform draws (MPB 2011, §7.5), or blocks of
        `BLOCK` consecutive examples in the order of a fresh permutation of the blocks.
    seed : int
        Non-negative.
    key : sequence of int, default=()
        Tells apart streams with the same seed (one per pair of classes).
    """

    def __init__(self, n_samples: int, sampling: str, seed: int, key: Sequence[int] = ()) -> None:
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {SAMPLINGS}, got {sampling!r} instead")
        self.n_samples = n_samples
        self.sampling = sampling
        self.seed = seed
        self.key = tuple(key)
        self._epochs: OrderedDict[int, np.ndarray] = OrderedDict()

    def epoch(self, number: int) -> np.ndarray:
        """Draws of one epoch, int64 of shape (n_samples,)."""
        if number not in self._epochs:
            rng = np.random.default_rng(
                np.random.SeedSequence(self.seed, spawn_key=(*self.key, number))
            )
            if self.sampling == "permutation":
                draws = rng.permutation(self.n_samples)
            elif self.sampling == "block":
                blocks = rng.permutation(-(-self.n_samples // BLOCK))
                draws = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
                draws = draws[draws < self.n_samples]
            else:
                draws = rng.integers(self.n_samples, size=self.n_samples)
            self._epochs[number] = draws.astype(np.int64, copy=False)
            if len(self._epochs) > _KEPT:
                self._epochs.popitem(last=False)
        return self._epochs[number]

    def take(self, start: int, stop: int) -> np.ndarray:
        """Draws ``start .. stop - 1`` of the stream, int64 of shape (stop - start,)."""
        first, last = start // self.n_samples, max(start, stop - 1) // self.n_samples
        origin = first * self.n_samples
        parts = [self.epoch(number) for number in range(first, last + 1)]
        draws = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return draws[start - origin : stop - origin]
