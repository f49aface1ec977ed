"""The index stream: which example is drawn when, known ahead and independent of what is computed.

Epoch e of a stream is a function of (seed, spawn key, e) alone, so a fit can be cut anywhere,
resumed, looked ahead of or replayed without keeping a generator's state. One of NumPy's generators
costs as much as a thousand draws, so draws of short epochs come from SplitMix64 in compiled code.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import cached_property
from kpegasos.utils.validation import as_integer, refuse_masked, shown

SAMPLINGS = ("permutation", "uniform", "contiguous")
#: Consecutive examples that ``"contiguous"`` visits together.
RUN_LENGTH = 64
#: Draws up to which counts are exact in float64: centuries of them.
MOST_DRAWS = 2**53
#: Most draws of an epoch that compiled code makes; a user's function makes its own draws.
SHORT_EPOCH = 2048
#: How many epochs a stream keeps of those not made by compiled code, and the fewest draws of these:
#: the current one and what look-ahead reaches. A user's function need not repeat its draws.
_KEPT_EPOCHS, _KEPT_DRAWS = 3, 3 * 4096
#: SplitMix64 (Steele, Lea, Flood 2014): an odd step, and the factors that mix the state.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

#: A name of `SAMPLINGS`, or a function that returns the draws of one epoch.
Sampling = str | Callable[[np.random.Generator, int], np.ndarray]


def check_sampling(sampling: Sampling) -> Sampling:
    """Return the sampling if it is a known name, or a function.

    Raises
    ------
    ValueError
        If it is neither a name nor a function.
    """
    if isinstance(sampling, str):
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
        Indices are drawn from ``range(n_samples)``; a stream of none is empty.
    sampling : {"permutation", "uniform", "contiguous"} or callable
        A fresh permutation for each epoch, independent uniform draws (MPB 2011, §7.5), or runs of
        `RUN_LENGTH` consecutive examples in the order of a fresh permutation of the runs. A
        callable ``f(rng, n_samples)`` returns the ``n_samples`` draws of one epoch.
    seed : int
        Non-negative.
    spawn_key : sequence of int, default=()
        Distinguishes streams with the same seed, such as those of pairs of classes.
    """

    def __init__(
        self, n_samples: int, sampling: Sampling, seed: int, spawn_key: Sequence[int] = ()
    ) -> None:
        self.n_samples = as_integer("n_samples", n_samples, least=0)
        self.sampling = check_sampling(sampling)
        self.seed = seed
        self.spawn_key = tuple(spawn_key)
        self._long = callable(self.sampling) or self.n_samples > SHORT_EPOCH
        self._epochs: OrderedDict[int, np.ndarray] = OrderedDict()
        self._most_kept = max(_KEPT_EPOCHS, -(-_KEPT_DRAWS // max(1, n_samples)))

    def epoch(self, number: int) -> np.ndarray:
        """Return draws of one epoch, int64 of shape (n_samples,)."""
        return self.take(number * self.n_samples, (number + 1) * self.n_samples)

    def take(self, start: int, stop: int) -> np.ndarray:
        """Return draws ``start .. stop - 1`` of the stream, int64 of shape (stop - start,)."""
        n_samples = self.n_samples
        if start == stop or n_samples == 0:
            return np.empty(0, dtype=np.int64)
        first, last = start // n_samples, -(-stop // n_samples)
        if self._long:
            epochs = [self._long_epoch(number) for number in range(first, last)]
            draws = epochs[0] if len(epochs) == 1 else np.concatenate(epochs)
        else:
            draws = self._short_epochs(first, last)
        origin = first * n_samples
        return draws[start - origin : stop - origin]

    def _short_epochs(self, first: int, last: int) -> np.ndarray:
        """Return draws of the epochs ``first .. last - 1``."""
        in_runs = self.sampling == "contiguous"
        size = self._n_runs if in_runs else self.n_samples
        drawn = np.empty((last - first) * size, dtype=np.int64)
        with np.errstate(over="ignore"):  # without compilation, NumPy would warn of it
            draw_epochs(self._key, first, size, self.sampling == "uniform", drawn)
        return self._of_runs(drawn) if in_runs else drawn

    @cached_property
    def _key(self) -> np.uint64:
        """A number made of the seed and the spawn key."""
        return np.uint64(stream_key(self.seed, self.spawn_key))

    def _long_epoch(self, number: int) -> np.ndarray:
        """Return draws of an epoch with a generator of its own."""
        draws = self._epochs.get(number)
        if draws is None:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(*self.spawn_key, number))
            draws = self._epochs[number] = self._draw(np.random.default_rng(sequence))
            if len(self._epochs) > self._most_kept:
                self._epochs.popitem(last=False)
        return draws

    def _draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return an epoch of a generator, int64 of shape (n_samples,)."""
        n_samples, sampling = self.n_samples, self.sampling
        if callable(sampling):
            return _checked(sampling(rng, n_samples), n_samples).astype(np.int64)
        if sampling == "uniform":
            return rng.integers(n_samples, size=n_samples)
        drawn = rng.permutation(n_samples if sampling == "permutation" else self._n_runs)
        drawn = drawn.astype(np.int64, copy=False)
        return drawn if sampling == "permutation" else self._of_runs(drawn)

    @property
    def _n_runs(self) -> int:
        return -(-self.n_samples // RUN_LENGTH)

    def _of_runs(self, numbers: np.ndarray) -> np.ndarray:
        """Return the examples of runs, whose last may be shorter."""
        drawn = (numbers[:, None] * RUN_LENGTH + np.arange(RUN_LENGTH)).ravel()
        return drawn[drawn < self.n_samples]


def stream_key(seed: int, spawn_key: Sequence[int]) -> int:
    """Return a number of 64 bits made of the seed and the spawn key."""
    text = repr((int(seed), *map(int, spawn_key))).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


@compiled()
def draw_epochs(key: np.uint64, first: int, size: int, uniform: bool, draws: np.ndarray) -> None:
    """Fill an array with epochs of draws from ``range(size)``: permutations, or uniform draws."""
    number = first
    for begin in range(0, draws.size, size):
        state = _mixed(key ^ _mixed(_STEP * np.uint64(number)))
        number += 1
        for i in range(size):
            state += _STEP
            # No example is likelier than another by more than a millionth of its probability.
            below = np.uint64(size if uniform else i + 1)
            j = np.int64(((_mixed(state) >> np.uint64(32)) * below) >> np.uint64(32))
            draws[begin + i] = j if uniform else draws[begin + j]
            if not uniform:
                draws[begin + j] = i


@compiled(inner=True)
def _mixed(state: np.uint64) -> np.uint64:
    """Return the output of SplitMix64 for a state."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST_FACTOR
    state = (state ^ (state >> np.uint64(27))) * _SECOND_FACTOR
    return state ^ (state >> np.uint64(31))


def _checked(returned: Any, n_samples: int) -> np.ndarray:
    """Check the draws of a user's function, as compiled loops index by them."""
    try:
        refuse_masked("draws", returned)
        draws = np.asarray(returned)
        came = f"{draws.dtype} of shape {draws.shape}"
    except ValueError:  # masked, or ragged
        draws, came = np.empty(0), shown(returned)
    if draws.shape == (n_samples,) and draws.dtype.kind in "iu":
        least, most = int(draws.min()), int(draws.max())
        if 0 <= least <= most < n_samples:
            return draws
        came += f" from {least} to {most}"
    raise ValueError(
        f"sampling must return {n_samples} indices from 0 to {n_samples - 1}, got {came} instead"
    )
