"""Pegasos over a stream of chunks: one pass over each, the iterate carried on.

Only the primal vector and its stamped twin survive a chunk, so memory does not grow with the
stream; counts, and the certificate made from them, would need every example and are given up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem
from kpegasos.core.state import PegasosOptions, State, new_state
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.checkpoints import Checkpoints
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.stopping import Stopper


@dataclass
class Stream:
    """A run over chunks.

    Attributes
    ----------
    state : State
        Its counts belong to the current chunk only.
    offset : float
        Size of the constant feature.
    n_chunks : int
        Chunks seen.
    """

    state: State
    offset: float
    n_chunks: int = 0

    def vector(self) -> np.ndarray:
        """Primal vector so far, intercept coordinate last; zeros before the first chunk."""
        if self.state.steps == 0:
            return np.zeros_like(self.state.loop.image)
        return self.state.iterate(self.state.options.average).image(self.state.loop)


def new_stream(
    n_features: int, options: PegasosOptions, offset: float, seed: int, number: int
) -> Stream:
    """Stream that has not begun.

    Parameters
    ----------
    n_features : int
    options : PegasosOptions
    offset : float
        Size of the constant feature; 0 for none.
    seed : int
    number : int
        Of the pair; tells its draws apart.
    """
    return Stream(new_state(0, n_features + 1, options, math.nan, seed, (number,)), offset)


def advance_stream(stream: Stream, problem: Problem, rows: FeatureRows) -> None:
    """Make one pass over a chunk, in whole mini-batches.

    Parameters
    ----------
    stream : Stream
        Modified.
    problem : Problem
        Labels and weights of the chunk. Its ``lam`` counts at the first chunk only.
    rows : FeatureRows
        Of the chunk.
    """
    state = stream.state
    if math.isnan(state.lam):
        state.lam = problem.lam
    n_samples, k = problem.y.size, state.options.batch_size
    state.loop = state.loop._replace(alpha=np.zeros(n_samples), stamps=np.zeros(n_samples))
    draws = IndexStream(
        n_samples, state.options.sampling, state.seed, (*state.spawn_key, stream.n_chunks)
    )
    end = state.steps + math.ceil(n_samples / k)
    points = Checkpoints(None, state.steps, end, n_samples, k)
    run = PegasosRun(problem._replace(lam=state.lam), rows, state, points, stream=draws)
    run.take_steps(end, Stopper())
    stream.n_chunks += 1
