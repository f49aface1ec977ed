"""Pegasos over a stream of chunks: one pass over each, the iterate carried on.

Only the primal vector and its stamped twin survive a chunk, so memory does not grow with the
stream. Counts, and the certificate made from them, would need every example and are given up.

Streams of different parts of the data can be averaged (iterative parameter mixing). What is
averaged is the unscaled state. After t steps it holds ``q`` with ``w = q / (lam k t)``, so states
average as their iterates do if and only if they have taken the same number of steps. Stamped sums
and the snapshots of the suffix average are linear in the violations as well, and the clock is the
same everywhere. So the mean of the states is the state of the run whose iterates are the means, and
their averages follow from it as usual. With the projection, scales differ; they are absorbed first.

The ball of the projection has to contain the optimum of all data; a chunk's own ball may be too
small. As no loss is negative, ``lam ‖w*‖² ≤ P(0)`` over any examples, and P(0) is a mean. So a
stream keeps the mean of the losses at w = 0 over the examples seen, and as its radius the largest
``sqrt(mean / lam)`` so far. That ball contains the optimum of the examples seen. It never shrinks,
so it keeps the optimum of all data once they have come.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem, mean_loss
from kpegasos.core.state import (
    SQUARED_NORM,
    LoopState,
    PegasosOptions,
    State,
    absorb_scale,
    new_state,
)
from kpegasos.rows.base import RowSource
from kpegasos.solvers.pegasos import Checkpoints, PegasosRun
from kpegasos.solvers.stopping import Stopper


@dataclass
class Stream:
    """A run over chunks.

    Attributes
    ----------
    state : State
        Its counts belong to the current chunk only.
    intercept_scaling : float
        Size of the constant feature; 0 for none.
    n_chunks : int
        Chunks seen.
    n_examples : int
        Examples seen, repetitions included.
    loss_at_zero : float
        Mean of their weighted losses at w = 0.
    radius : float
        Radius of the ball of the projection.
    """

    state: State
    intercept_scaling: float
    n_chunks: int = 0
    n_examples: int = 0
    loss_at_zero: float = 0.0
    radius: float = 0.0

    def enclose(self, loss: float, n_examples: int) -> None:
        """Widen the ball, if need be, so that it contains the optimum of more examples.

        Parameters
        ----------
        loss : float
            Mean of their weighted losses at w = 0. The stream's ``lam`` must be set.
        n_examples : int
            Number of these examples.
        """
        self.n_examples += n_examples
        self.loss_at_zero += (loss - self.loss_at_zero) * (n_examples / self.n_examples)
        radius = math.sqrt(max(0.0, self.loss_at_zero)) / math.sqrt(self.state.lam)
        self.radius = max(self.radius, radius)

    def vector(self) -> np.ndarray:
        """Return the primal vector so far, intercept coordinate last; zeros before any chunk."""
        if self.state.steps == 0:
            return np.zeros_like(self.state.loop.image)
        return self.state.iterates()[-1].image(self.state.loop)

    def copy(self) -> Stream:
        """Return an independent copy."""
        state = copy.copy(self.state)
        # The next chunk replaces the counts, and snapshots are never written to.
        alpha, stamps, *others = state.loop
        state.loop = LoopState(alpha, stamps, *(array.copy() for array in others))
        state.suffix_snapshots = dict(state.suffix_snapshots)
        return replace(self, state=state)


def new_stream(
    n_features: int, options: PegasosOptions, intercept_scaling: float, seed: int, number: int
) -> Stream:
    """Make a stream that has not begun.

    Parameters
    ----------
    n_features : int
    options : PegasosOptions
    intercept_scaling : float
        Size of the constant feature; 0 for none.
    seed : int
    number : int
        Number of the pair; each has its own draws.
    """
    state = new_state(0, n_features + 1, options, math.nan, seed, (number,))
    return Stream(state, intercept_scaling)


def advance_stream(stream: Stream, problem: Problem, rows: RowSource) -> None:
    """Make one pass over a chunk, in whole mini-batches.

    Parameters
    ----------
    stream : Stream
        Modified.
    problem : Problem
        Labels and weights of the chunk. Its ``lam`` counts at the first chunk only.
    rows : RowSource
        Features of the chunk.
    """
    state = stream.state
    if math.isnan(state.lam):
        state.lam = problem.lam
    if state.options.projection:
        stream.enclose(loss_at_zero(problem), problem.y.size)
    n_samples = problem.y.size
    draws = IndexStream(
        n_samples, state.options.sampling, state.seed, (*state.spawn_key, stream.n_chunks)
    )
    n_steps = math.ceil(n_samples / state.options.batch_size)
    _take_steps(state, problem, rows, draws, n_steps, stream.radius)
    stream.n_chunks += 1


def loss_at_zero(problem: Problem) -> float:
    """Return the mean of the weighted losses of a chunk at w = 0; 0 without examples."""
    return mean_loss(np.zeros(problem.y.size), problem) if problem.y.size else 0.0


def state_after(
    stream: Stream,
    problem: Problem,
    rows: RowSource | None,
    *,
    part: int,
    n_steps: int,
    n_done: int,
) -> State:
    """Take steps of a stream on a part of the data; the stream stays as it is.

    Parameters
    ----------
    stream : Stream
        Its ``lam`` is set, and with the projection `Stream.enclose` has counted all parts.
    problem : Problem
        Labels and weights of the part.
    rows : RowSource or None
        Features of the part; None if it has no examples, and no step is taken.
    part : int
        Number of the part; each has its own draws.
    n_steps : int
    n_done : int
        Steps that have been taken on this part before.

    Returns
    -------
    State
        Without counts of examples.
    """
    state = _without_counts(stream.state)
    if rows is None:
        return state
    n_samples = problem.y.size
    draws = IndexStream(n_samples, state.options.sampling, state.seed, (*state.spawn_key, part))
    _take_steps(state, problem, rows, draws, n_steps, stream.radius, n_done)
    return _without_counts(state)


def _take_steps(
    state: State,
    problem: Problem,
    rows: RowSource,
    draws: IndexStream,
    n_steps: int,
    radius: float,
    n_done: int = 0,
) -> None:
    """Advance a state on examples for which it has no counts.

    ``n_done`` steps have been taken on these draws before.
    """
    n_samples = problem.y.size
    state.loop = state.loop._replace(alpha=np.zeros(n_samples), stamps=np.zeros(n_samples))
    end = state.steps + n_steps
    points = Checkpoints(None, state.steps, end, n_samples, state.options.batch_size)
    problem = problem._replace(lam=state.lam)
    first = state.steps - n_done
    run = PegasosRun(problem, rows, state, points, stream=draws, first=first)
    run.parameters = run.parameters._replace(radius=radius)
    run.take_steps(end, Stopper())


def merge_states(states: Sequence[State], weights: Sequence[float]) -> State:
    """Merge runs into that whose iterates are the weighted means of theirs.

    Parameters
    ----------
    states : sequence of State
        Of equally many steps from the same state, over the same features.
    weights : sequence of float
        Non-negative; scaled to sum to one.

    Returns
    -------
    State
        Without counts of examples, which belong to one part of the data.

    Raises
    ------
    ValueError
        If the numbers of steps differ.
    """
    steps = {state.steps for state in states}
    if len(steps) != 1:
        raise ValueError(f"states must have taken equally many steps, got {sorted(steps)} instead")
    shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    states = [_without_counts(state) for state in states]
    first = states[0]

    def mean(arrays: list[np.ndarray]) -> np.ndarray:
        return np.asarray(shares @ np.stack(arrays))

    image = mean([state.loop.image for state in states])
    first.loop.scalars[SQUARED_NORM] = float(image @ image)
    first.loop = first.loop._replace(
        image=image, stamped_image=mean([state.loop.stamped_image for state in states])
    )
    first.suffix_snapshots = {
        at: (np.empty(0), mean([state.suffix_snapshots[at][1] for state in states]))
        for at in first.suffix_snapshots
    }
    return first


def _without_counts(state: State) -> State:
    """Copy a state without its counts, and absorb its scale."""
    nothing = np.empty(0)
    light = copy.copy(state)
    light.loop = state.loop._replace(alpha=nothing, stamps=nothing)
    light.suffix_snapshots = {
        at: (nothing, image) for at, (_, image) in state.suffix_snapshots.items()
    }
    light = copy.deepcopy(light)
    if light.options.projection:
        absorb_scale(light.loop)
    return light
