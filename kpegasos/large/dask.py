"""Training on many machines: Pegasos on each partition of a Dask collection, averaged every round.

A round takes the same number of steps on every partition, each from the same state, and averages
what comes back: iterative parameter mixing (McDonald, Hall, Mann 2010), of which one round over
all data is parameter mixing (Zinkevich, Weimer, Smola, Li 2010; Mann et al. 2009).

What is averaged is the unscaled state. After t steps it holds ``q`` with ``w = q / (lam k t)``, so
states average as their iterates do if and only if they have taken the same number of steps; that
is why partitions of different sizes take equally many steps and count by their sizes in the mean
instead (a small partition begins its next permutation sooner). The clock of the mean is that of
each partition, not the sum of their steps: adding the increments of all partitions and their
steps, ``(q + Σ Δ_j, t + Σ s_j)``, is Pegasos too but with margins tested against an iterate that
lacks the others' increments. On RCV1-like text, 5 epochs at λ = 1e-4, it came closer to the
optimum with 2 partitions (2.5e-4 for 3.1e-4 with an average each epoch) and diverged with 8, where
the mean stayed at 6.5e-4.

All of a state is linear in the sums over its violations: stamped sums, those set aside for the
suffix average, and their clock, which is the same everywhere. So the mean of the states is the
state of the run whose iterates are the means, and any average of these is read off it as ever.
With the projection, scales differ; they are folded in first.

Every round is a set of Dask futures. The state of a round begins with the caller and the draws are
functions of (seed, pair, partition), so a worker that is lost costs what it was doing: Dask makes
its partitions again and takes their steps elsewhere, with the same result. Nor does the model
depend on the number of workers, but on that of the partitions alone.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kpegasos.core.draws import IndexStream
from kpegasos.core.state import SQUARED_NORM, State, fold_scale
from kpegasos.estimators import LinearPegasosSVC
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.large.chunks import add_totals, pair_lams, totals_of
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.checkpoints import Checkpoints
from kpegasos.solvers.online import Stream
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.stopping import Stopper

#: Rounds of an epoch unless told: with fewer the mean lags behind, more cost traffic.
_ROUNDS_AN_EPOCH = 4


class _Shard(NamedTuple):
    """A partition on its worker: rows, and the binary problems among them."""

    number: int
    X: Any
    pairs: list[Pair]


class _Later(IndexStream):
    """An index stream whose first draws have been made."""

    done = 0

    def take(self, start: int, stop: int) -> np.ndarray:
        """Draws from ``done`` on."""
        return super().take(self.done + start, self.done + stop)


def merge_states(states: Sequence[State], weights: Sequence[float]) -> State:
    """State of the run whose iterates are the weighted means of some runs' iterates.

    Parameters
    ----------
    states : sequence of State
        Of equally many steps from the same state, over the same features.
    weights : sequence of float
        Non-negative; scaled to sum to one.

    Returns
    -------
    State
        Without counts of examples, which belong to one partition.

    Raises
    ------
    ValueError
        If the numbers of steps differ.
    """
    steps = {state.steps for state in states}
    if len(steps) != 1:
        raise ValueError(f"states must have taken equally many steps, got {sorted(steps)} instead")
    shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    states = [_bare(state) for state in states]
    first = states[0]

    def mean(arrays: list[np.ndarray]) -> np.ndarray:
        return np.asarray(shares @ np.stack(arrays))

    base = mean([state.loop.image for state in states])
    first.loop.scalars[SQUARED_NORM] = float(base @ base)
    first.loop = first.loop._replace(
        image=base, stamped_image=mean([state.loop.stamped_image for state in states])
    )
    first.suffix_snapshots = {
        at: (np.empty(0), mean([state.suffix_snapshots[at][1] for state in states]))
        for at in first.suffix_snapshots
    }
    return first


def _bare(state: State) -> State:
    """Copy a state without its counts, its scale folded in."""
    nothing = np.empty(0)
    light = copy.copy(state)
    light.loop = state.loop._replace(alpha=nothing, stamps=nothing)
    light.suffix_snapshots = {
        at: (nothing, base) for at, (_, base) in state.suffix_snapshots.items()
    }
    light = copy.deepcopy(light)
    if light.options.projection:
        fold_scale(light.loop)
    return light


def _make_shard(
    number: int, model: LinearPegasosSVC, classes: np.ndarray, X: Any, y: Any, *weight: Any
) -> _Shard:
    X, y = model._validate(X, y, reset=True)
    return _Shard(number, X, model._chunk_pairs(X, y, classes, *weight or (None,)))


def _same(value: Any) -> Any:
    return value


def _advance(shard: _Shard, streams: list[Stream], steps: list[int], n_rounds: int) -> list[State]:
    """Take the steps of one round on a partition."""
    states = []
    for stream, pair, n_steps in zip(streams, shard.pairs, steps, strict=True):
        # Other tasks on this worker may begin with the same object.
        state = _bare(stream.state)
        n_samples = pair.members.size
        if n_samples:
            state.loop = state.loop._replace(alpha=np.zeros(n_samples), stamps=np.zeros(n_samples))
            draws = _Later(
                n_samples, state.options.sampling, state.seed, (*state.spawn_key, shard.number)
            )
            draws.done = n_rounds * n_steps * state.options.batch_size
            end = state.steps + n_steps
            points = Checkpoints(None, state.steps, end, n_samples, state.options.batch_size)
            rows = FeatureRows(shard.X, members=pair.members, intercept_scaling=stream.offset)
            problem = pair.problem._replace(lam=state.lam)
            run = PegasosRun(problem, rows, state, points, stream=draws)
            run.take_steps(end, Stopper())
        states.append(_bare(state))
    return states


def fit_dask(
    estimator: LinearPegasosSVC,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    rounds: int | None = None,
    client: Any = None,
) -> LinearPegasosSVC:
    """Train a linear estimator on Dask arrays, where their partitions lie.

    Each round continues Pegasos on every partition from the mean of the states that the last round
    reached, weighted by the examples of the partitions (see the module's description). All rounds
    together draw as many examples as ``estimator.epochs`` epochs have. More rounds bring the model
    closer to that of one process, as do fewer partitions: as many as there are cores are enough.

    The model is the estimator's average of the mean iterates. It has no certificate: a dual bound
    needs the count of every example. ``n_steps``, ``polish``, ``tol``, ``max_time``, ``checkpoints``,
    ``n_jobs``, ``warm_start`` and callbacks are not heard.

    Parameters
    ----------
    estimator : LinearPegasosSVC
        Fitted in place, from the beginning; ``n_steps_`` counts the steps of one partition.
    X : dask.array.Array of shape (n_samples, n_features)
        Chunked along the rows only; its blocks may be CSR matrices. What cannot be made again, such
        as scattered data, is lost with its worker.
    y : dask.array.Array of shape (n_samples,)
        Chunked like the rows of X.
    sample_weight : dask.array.Array of shape (n_samples,), default=None
        Chunked like y.
    rounds : int, default=None
        How often states are averaged; four times an epoch if None.
    client : distributed.Client, default=None
        The current one if None.

    Returns
    -------
    estimator : LinearPegasosSVC

    Raises
    ------
    ImportError
        Without Dask (the extra ``dask``).
    ValueError
        Naming the parameter, what was expected and what came. An error in the middle, and Ctrl-C,
        leave the model of the rounds that are done.

    References
    ----------
    McDonald, Hall, Mann: Distributed training strategies for the structured perceptron (NAACL
    2010); Zinkevich, Weimer, Smola, Li: Parallelized stochastic gradient descent (NIPS 2010).
    """
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ImportError("fit_dask needs dask and distributed: install kpegasos[dask]") from error
    estimator._validate_params()
    if rounds is not None and not (isinstance(rounds, Integral) and rounds >= 1):
        raise ValueError(f"rounds must be a positive integer, got {rounds!r} instead")
    if client is None:
        client = distributed.get_client()
    blocks, targets = _partitions(X, y, sample_weight)
    by_shard = client.gather(client.compute([dask.delayed(totals_of)(*t) for t in targets]))
    totals = add_totals(by_shard)
    classes = totals.classes
    n_features = int(X.shape[1])
    streams = estimator._new_streams(n_features, classes, lams=pair_lams(estimator, totals))
    # Of each partition and pair: how many examples there are.
    counts = np.zeros((len(blocks), classes.size))
    for row, part in zip(counts, by_shard, strict=True):
        row[np.searchsorted(classes, part.classes)] = part.counts
    sizes = np.array([counts[:, i] + counts[:, j] for i, j in combinations(range(classes.size), 2)])
    n_rounds = math.ceil(_ROUNDS_AN_EPOCH * estimator.epochs) if rounds is None else int(rounds)
    draws = estimator.epochs / (n_rounds * estimator.batch_size)
    steps = [math.ceil(draws * size.sum() / np.count_nonzero(size)) for size in sizes]

    model = clone(estimator)
    shards = client.compute(
        [
            dask.delayed(_make_shard)(number, model, classes, block, *target)
            for number, (block, target) in enumerate(zip(blocks, targets, strict=True))
            if counts[number].any()
        ]
    )
    sizes = sizes[:, counts.any(axis=1)]
    for number in range(n_rounds):
        # A task of its own, so that the state is sent once and outlives any worker.
        begin = client.submit(_same, streams, pure=False)
        futures = [
            client.submit(_advance, shard, begin, steps, number, pure=False) for shard in shards
        ]
        for stream, size, states in zip(
            streams, sizes, zip(*client.gather(futures), strict=True), strict=True
        ):
            present = np.flatnonzero(size)
            stream.state = merge_states([states[p] for p in present], size[present])
            stream.n_chunks += 1
        estimator.n_features_in_ = n_features
        estimator._set_model_from_streams(streams, classes)
    return estimator


def _partitions(X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """The blocks of X, and those of y and the weights, as delayed values."""
    given = {"X": (X, 2), "y": (y, 1)}
    if sample_weight is not None:
        given["sample_weight"] = (sample_weight, 1)
    for name, (array, ndim) in given.items():
        if not hasattr(array, "to_delayed") or getattr(array, "ndim", None) != ndim:
            raise ValueError(
                f"{name} must be a Dask array of {ndim} dimension{'s'[: ndim - 1]}, "
                f"got {type(array).__name__} instead"
            )
        if array.chunks[0] != X.chunks[0]:
            raise ValueError(
                f"{name} must be chunked like the rows of X, {X.chunks[0]}, "
                f"got {array.chunks[0]} instead"
            )
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X must be chunked along the rows only, got {X.numblocks[1]} blocks of columns instead"
        )
    columns = [array.to_delayed().ravel().tolist() for array, _ in given.values()]
    return columns[0], list(zip(*columns[1:], strict=True))
