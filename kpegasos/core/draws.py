"""The index stream: which example is drawn when, known ahead and independent of what is computed.

Epoch e of a stream is a function of (seed, spawn key, e) alone, so a fit can be cut anywhere,
resumed, looked ahead of or replayed without keeping a generator's state.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kpegasos.utils.validation import refuse_masked, shown

SAMPLINGS = ("permutation", "uniform", "contiguous")
#: Consecutive examples that ``"contiguous"`` visits together.
RUN_LENGTH = 64
#: Draws up to which counts are exact in float64: centuries of them.
MOST_DRAWS = 2**53
#: How many epochs a stream keeps at hand: the current one and what look-ahead reaches.
_KEPT = 3

#: A name of `SAMPLINGS`, or a function that returns the draws of one epoch.
Sampling = str | Callable[[np.random.Generator, int], np.ndarray]


def check_sampling(sampling: Sampling) -> Sampling:
    """Return the sampling if there is one of that name.

    Raises
    ------
    ValueError
        If it is neither a name nor a function.
    """
    if isinstance(sampling, str):
        if sampling == "block":
            warnings.warn(
                "sampling='block' is now called 'contiguous'; the old name goes next version",
                FutureWarning,
                stacklevel=3,
            )
            return "contiguous"
        if sampling in SAMPLINGS:
            return str(sampling)
    elif callable(sampling):
        return sampling
    raise ValueError(
        f"sampling must be one of {SAMPLINGS} or a function, got {shown(sampling)} instead"
    )


class IndexStream:
    """Endless stream of example indices.

    Parameters
    ----------
    n_samples : int
        Indices are drawn from ``range(n_samples)``.
    sampling : {"permutation", "uniform", "contiguous"} or callable
        A fresh permutation for each epoch, independent uniform draws (MPB 2011, §7.5), or runs of
        `RUN_LENGTH` consecutive examples in the order of a fresh permutation of the runs. A
        callable ``f(rng, n_samples)`` returns the ``n_samples`` draws of one epoch.
    seed : int
        Non-negative.
    spawn_key : sequence of int, default=()
        Tells apart streams with the same seed (one per pair of classes).
    """

    def __init__(
        self, n_samples: int, sampling: Sampling, seed: int, spawn_key: Sequence[int] = ()
    ) -> None:
        self.n_samples = n_samples
        self.sampling = check_sampling(sampling)
        self.seed = seed
        self.spawn_key = tuple(spawn_key)
        self._epochs: OrderedDict[int, np.ndarray] = OrderedDict()

    def epoch(self, number: int) -> np.ndarray:
        """Draws of one epoch, int64 of shape (n_samples,)."""
        if number not in self._epochs:
            key = (*self.spawn_key, number)
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
            self._epochs[number] = self._draw(rng).astype(np.int64, copy=callable(self.sampling))
            if len(self._epochs) > _KEPT:
                self._epochs.popitem(last=False)
        return self._epochs[number]

    def _draw(self, rng: np.random.Generator) -> np.ndarray:
        n_samples = self.n_samples
        if callable(self.sampling):
            return _checked(self.sampling(rng, n_samples), n_samples)
        if self.sampling == "permutation":
            return rng.permutation(n_samples)
        if self.sampling == "contiguous":
            runs = rng.permutation(-(-n_samples // RUN_LENGTH))
            draws = (runs[:, None] * RUN_LENGTH + np.arange(RUN_LENGTH)).ravel()
            return np.asarray(draws[draws < n_samples])
        return rng.integers(n_samples, size=n_samples)

    def take(self, start: int, stop: int) -> np.ndarray:
        """Draws ``start .. stop - 1`` of the stream, int64 of shape (stop - start,)."""
        first, last = start // self.n_samples, max(start, stop - 1) // self.n_samples
        origin = first * self.n_samples
        parts = [self.epoch(number) for number in range(first, last + 1)]
        draws = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return draws[start - origin : stop - origin]


def _checked(returned: Any, n_samples: int) -> np.ndarray:
    """Draws of a user's function: compiled loops index by them."""
    try:
        refuse_masked("draws", returned)
        draws = np.asarray(returned)
        came = f"{draws.dtype} of shape {draws.shape}"
    except ValueError:  # masked, or of no shape
        draws, came = np.empty(0), shown(returned)
    if draws.shape == (n_samples,) and draws.dtype.kind in "iu":
        least, most = int(draws.min()), int(draws.max())
        if 0 <= least <= most < n_samples:
            return draws
        came += f" from {least} to {most}"
    raise ValueError(
        f"sampling must return {n_samples} indices from 0 to {n_samples - 1}, got {came} instead"
    )
