"""The state of a run: what the loops modify, and what is read off it.

Apart from the loop's arrays, a state knows its index stream (seed and key), its options, the best
dual bound so far and the sums set aside for the suffix average: all that a run needs to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

import numpy as np

from kpegasos.core.averaging import AVERAGES, LinearCombination, combination, suffix_start
from kpegasos.core.loops import (
    CLOCK,
    RESCALE,
    SCALE,
    SQUARED_NORM,
    STEPS,
    UNTESTED,
    CsrView,
    DenseView,
    Examples,
    KernelView,
    LoopParameters,
    LoopState,
)


class Algorithm(NamedTuple):
    """A loop and its priority of which examples it will update.

    The priority is a score for each example asked about, in the units of ``base``: negative if it
    would be updated now, the larger the less likely it will be soon, infinite if it will not.
    ``from_zero`` says that step 0 is ``w = 0``.
    """

    loop: Callable[..., tuple[int, int]]
    priority: Callable[[LoopState, np.ndarray, Examples, LoopParameters], np.ndarray]
    from_zero: bool


def fold_scale(state: LoopState) -> None:
    """Fold the scale into the state: the same iterate and averages, with scale 1 and clock 0."""
    scale, clock = state.scalars[SCALE], state.scalars[CLOCK]
    for plain, stamped in ((state.alpha, state.stamps), (state.base, state.stamped_image)):
        if stamped.size:
            stamped -= clock * plain
        plain *= scale
    state.scalars[SQUARED_NORM] *= scale * scale
    state.scalars[SCALE] = 1.0
    state.scalars[CLOCK] = 0.0


def run_loop(
    algorithm: Algorithm,
    state: LoopState,
    rows: KernelView | DenseView | CsrView,
    draws: np.ndarray,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> None:
    """PegasosRun a loop over ``draws[:stop]`` where all rows are at hand."""
    position, status = 0, RESCALE
    while status == RESCALE:
        status, position = algorithm.loop(state, rows, draws, position, stop, examples, parameters)
        if status == RESCALE:
            fold_scale(state)


class PegasosOptions(NamedTuple):
    """How Pegasos runs; checked by `check_options`."""

    batch_size: int = 1
    sampling: str = "permutation"
    projection: bool = False
    average: str | None = "weighted"


@dataclass
class State:
    """Everything a run needs to go on: loop state, stream, certificate so far."""

    loop: LoopState
    seed: int
    key: tuple[int, ...]
    options: PegasosOptions
    lam: float
    best_dual: float = 0.0
    evaluations: int = 0
    seconds: float = 0.0
    suffix_snapshots: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Steps done."""
        return int(self.loop.counters[STEPS])


def check_options(options: PegasosOptions, n_samples: int) -> None:
    """Raise a ValueError for options that no run can follow."""
    k = options.batch_size
    if not isinstance(k, Integral) or k < 1:
        raise ValueError(f"batch_size must be a positive integer, got {k!r} instead")
    if k > n_samples:
        raise ValueError(
            f"batch_size must be at most the number of examples, {n_samples}, got {k} instead"
        )
    if options.average not in AVERAGES:
        raise ValueError(f"average must be one of {AVERAGES}, got {options.average!r} instead")


def new_state(
    n_samples: int,
    image_size: int,
    options: PegasosOptions,
    lam: float,
    seed: int,
    key: tuple[int, ...] = (),
) -> State:
    """State of a run that has not begun: ``w = 0``.

    Parameters
    ----------
    n_samples : int
    image_size : int
        Length of the maintained margins or of the primal vector.
    options : PegasosOptions
    lam : float
    seed : int
    key : tuple of int
        Seed and key of the index stream.
    """
    loop = LoopState(
        alpha=np.zeros(n_samples),
        stamps=np.zeros(n_samples),
        base=np.zeros(image_size),
        stamped_image=np.zeros(image_size if options.average is not None else 0),
        scalars=np.array([1.0, 0.0, 0.0]),
        counters=np.array([0, UNTESTED, 0, 0], dtype=np.int64),
        violating=np.zeros(options.batch_size, dtype=bool),
    )
    return State(loop, seed, key, options, lam)


def iterate_combination(state: State, average: str | None) -> LinearCombination:
    """How the chosen iterate is made from the sums of the state."""
    scalars = state.loop.scalars
    return combination(
        average,
        state.steps,
        scalars[SCALE],
        scalars[CLOCK],
        state.lam,
        state.options.batch_size,
    )


def iterate_prefix(state: State, average: str | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Sums over counts and over ``base`` up to the step where the suffix begins."""
    if average != "suffix":
        return None
    return state.suffix_snapshots.get(suffix_start(state.steps))


def returned_vector(state: State) -> np.ndarray:
    """Primal vector of the chosen average, intercept coordinate last; linear rows only."""
    average = state.options.average
    prefix = iterate_prefix(state, average)
    return iterate_combination(state, average).apply(
        state.loop.base, state.loop.stamped_image, prefix and prefix[1]
    )
