"""Training on many machines: Pegasos on each partition of a Dask collection, averaged every round.

A round takes the same number of steps on every partition, each from the same state, and averages
what comes back: iterative parameter mixing (McDonald, Hall, Mann 2010), of which one round over
all data is parameter mixing (Zinkevich, Weimer, Smola, Li 2010; Mann et al. 2009).

States average as their iterates do if and only if they have taken the same number of steps (see
`kpegasos.solvers.online`). That is why partitions of different sizes take equally many steps and
count by their sizes in the mean instead (a small partition begins its next permutation sooner). The
clock of the mean is that of each partition, not the sum of their steps: adding the increments of
all partitions and their steps, ``(q + Σ Δ_j, t + Σ s_j)``, is Pegasos too but with margins tested
against an iterate that lacks the others' increments. On RCV1-like text, 5 epochs at λ = 1e-4, it
came closer to the optimum with 2 partitions (2.5e-4 for 3.1e-4 with an average each epoch) and
diverged with 8, where the mean stayed at 6.5e-4.

Every round is a set of Dask futures. The state of a round begins with the caller and the draws are
functions of (seed, pair, partition), so a worker that is lost costs what it was doing: Dask makes
its partitions again and takes their steps elsewhere, with the same result. Nor does the model
depend on the number of workers, but on that of the partitions alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kpegasos.core.state import State
from kpegasos.estimators import LinearPegasosSVC
from kpegasos.estimators._base import unchanged_by_errors, validated_rows
from kpegasos.estimators._online import Chunk, OnlineClassifier
from kpegasos.estimators._sklearn_compat import validate_parameters
from kpegasos.large.chunks import Totals, add_totals, pair_lams, totals_of

#: Rounds of an epoch unless told: with fewer the mean lags behind, more cost traffic.
_ROUNDS_AN_EPOCH = 4


class _Partition(NamedTuple):
    """A partition on its worker."""

    number: int
    chunk: Chunk


def _make_partition(
    number: int, model: LinearPegasosSVC, online: OnlineClassifier, X: Any, y: Any, *weight: Any
) -> _Partition:
    X, y = validated_rows(model, X, y, reset=True)
    return _Partition(number, online.make_chunk(X, y, *weight))


def _identity(value: Any) -> Any:
    return value


def _advance(
    partition: _Partition, online: OnlineClassifier, n_steps: list[int], n_rounds: int
) -> list[State]:
    """Take the steps of one round on a partition."""
    return online.states_after(
        partition.chunk, part=partition.number, n_steps=n_steps, n_rounds=n_rounds
    )


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
    needs the count of every example. ``n_steps``, ``polish``, ``tol``, ``max_time``,
    ``checkpoints``, ``n_jobs``, ``warm_start`` and callbacks have no effect.

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
    validate_parameters(estimator)
    if rounds is not None and not (isinstance(rounds, Integral) and rounds >= 1):
        raise ValueError(f"rounds must be a positive integer, got {rounds!r} instead")
    if client is None:
        client = distributed.get_client()
    blocks, targets = _partitions(X, y, sample_weight)
    by_partition = client.gather(client.compute([dask.delayed(totals_of)(*t) for t in targets]))
    totals = add_totals(by_partition)
    sizes = _sizes(totals.classes, by_partition)
    n_rounds = math.ceil(_ROUNDS_AN_EPOCH * estimator.epochs) if rounds is None else int(rounds)
    n_steps = _steps_of_a_round(estimator, sizes, n_rounds)
    online = OnlineClassifier.new(estimator, totals.classes, lams=pair_lams(estimator, totals))

    model = clone(estimator)
    with_rows = [number for number, part in enumerate(by_partition) if part.counts.any()]
    partitions = client.compute(
        [
            dask.delayed(_make_partition)(number, model, online, blocks[number], *targets[number])
            for number in with_rows
        ]
    )
    online.begin(int(X.shape[1]))
    for number in range(n_rounds):
        _make_round(client, online, partitions, sizes[:, with_rows], n_steps, number)
        with unchanged_by_errors(estimator):
            estimator.n_features_in_ = int(X.shape[1])
            estimator.__dict__.pop("feature_names_in_", None)
            online.install(estimator)
    return estimator


def _make_round(
    client: Any,
    online: OnlineClassifier,
    partitions: list[Any],
    sizes: np.ndarray,
    n_steps: list[int],
    number: int,
) -> None:
    """Take steps on every partition from the same state, and go on from the mean."""
    # A task of its own, so that the state is sent once and outlives any worker.
    begin = client.submit(_identity, online, pure=False)
    futures = [
        client.submit(_advance, partition, begin, n_steps, number, pure=False)
        for partition in partitions
    ]
    online.merge(client.gather(futures), sizes)


def _sizes(classes: np.ndarray, by_partition: Sequence[Totals]) -> np.ndarray:
    """How many examples there are of each pair in each partition: (n_pairs, n_partitions)."""
    counts = np.zeros((classes.size, len(by_partition)))
    for number, part in enumerate(by_partition):
        counts[np.searchsorted(classes, part.classes), number] = part.counts
    pairs = combinations(range(classes.size), 2)
    return np.array([counts[i] + counts[j] for i, j in pairs])


def _steps_of_a_round(estimator: LinearPegasosSVC, sizes: np.ndarray, n_rounds: int) -> list[int]:
    """Steps of each pair on any partition, with which all rounds make the estimator's epochs."""
    draws = float(estimator.epochs) / (n_rounds * int(estimator.batch_size))
    return [math.ceil(draws * size.sum() / np.count_nonzero(size)) for size in sizes]


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
