"""The index stream: which example is drawn when, known ahead and independent of what is computed.

Epoch e of a stream is a function of (seed, spawn key, e) alone, so a fit can be cut anywhere,
resumed, looked ahead of or replayed without keeping a generator's state. A generator costs as much
as a thousand draws, so short epochs come several from one.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpegasos.utils.validation import refuse_masked, shown

SAMPLINGS = ("permutation", "uniform", "contiguous")
#: Consecutive examples that ``"contiguous"`` visits together.
RUN_LENGTH = 64
#: Draws up to which counts are exact in float64: centuries of them.
MOST_DRAWS = 2**53
#: A generator makes as many whole epochs as have so many draws, and one at least.
DRAWS_OF_A_GENERATOR = 4096
#: How many generators' draws a stream keeps at hand: the current ones and what look-ahead reaches.
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
        callable ``f(rng, n_samples)`` returns the ``n_samples`` draws of one epoch; the generator
        goes on from short epoch to short epoch.
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
        self._epochs_together = max(1, DRAWS_OF_A_GENERATOR // max(1, n_samples))
        self._parts: OrderedDict[int, _Part] = OrderedDict()

    def epoch(self, number: int) -> np.ndarray:
        """Draws of one epoch, int64 of shape (n_samples,)."""
        return self.take(number * self.n_samples, (number + 1) * self.n_samples)

    def take(self, start: int, stop: int) -> np.ndarray:
        """Draws ``start .. stop - 1`` of the stream, int64 of shape (stop - start,)."""
        size = self._epochs_together * max(1, self.n_samples)
        first, last = start // size, max(start, stop - 1) // size
        origin = first * size
        parts = [
            self._part(number, min(size, stop - number * size)) for number in range(first, last + 1)
        ]
        draws = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return draws[start - origin : stop - origin]

    def _part(self, number: int, n_draws: int) -> np.ndarray:
        """The first draws of a generator, whole epochs of them."""
        part = self._parts.get(number)
        if part is None:
            # By the first of its epochs: with one epoch each, the key is that of the epoch.
            key = (*self.spawn_key, number * self._epochs_together)
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
            part = self._parts[number] = _Part(rng, np.empty(0, dtype=np.int64))
            if len(self._parts) > _KEPT:
                self._parts.popitem(last=False)
        n_samples = max(1, self.n_samples)
        missing = -(-(n_draws - part.draws.size) // n_samples)
        if missing > 0:
            made = part.draws.size // n_samples
            if not callable(self.sampling):
                # At least as many again, or asking epoch by epoch would copy all before each time.
                missing = min(max(missing, made), self._epochs_together - made)
            drawn = self._draw(part.rng, missing)
            part.draws = np.concatenate((part.draws, drawn)) if made else drawn
        return part.draws

    def _draw(self, rng: np.random.Generator, n_epochs: int) -> np.ndarray:
        """The next draws of a generator, int64 of shape (n_epochs * n_samples,)."""
        n_samples, sampling = self.n_samples, self.sampling
        if callable(sampling):
            epochs = [_checked(sampling(rng, n_samples), n_samples) for _ in range(n_epochs)]
            return np.concatenate(epochs).astype(np.int64)
        if sampling == "uniform":
            return rng.integers(n_samples, size=n_epochs * n_samples)
        size = n_samples if sampling == "permutation" else -(-n_samples // RUN_LENGTH)
        numbers = [rng.permutation(size) for _ in range(n_epochs)]
        drawn = numbers[0] if n_epochs == 1 else np.concatenate(numbers)
        drawn = drawn.astype(np.int64, copy=False)
        if sampling == "contiguous":
            drawn = (drawn[:, None] * RUN_LENGTH + np.arange(RUN_LENGTH)).ravel()
            drawn = drawn[drawn < n_samples]
        return drawn


@dataclass
class _Part:
    """A generator and the draws that it has made."""

    rng: np.random.Generator
    draws: np.ndarray


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
