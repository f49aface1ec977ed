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
came closer to the optimum with 2 partitions (2.5e-4 instead of 3.1e-4 with an average each epoch)
and diverged with 8, where the mean stayed at 6.5e-4.

Every round is a set of Dask futures. The state of a round begins with the caller and the draws are
functions of (seed, pair, partition), so a worker that is lost costs what it was doing: Dask makes
its partitions again and takes their steps elsewhere, with the same result. Nor does the model
depend on the number of workers, but on that of the partitions alone.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from kpegasos.estimators import LinearPegasosSVR
from kpegasos.fitting.inputs import checked_weight, validated_rows
from kpegasos.fitting.model import unchanged_by_errors
from kpegasos.fitting.streams import (
    Chunk,
    OnlineClassifier,
    OnlineModel,
    OnlineRegressor,
    are_numbers,
    losses_at_zero,
)
from kpegasos.large.chunks import LinearEstimator, settings_of_stream
from kpegasos.utils.threads import turn
from kpegasos.utils.validation import as_integer, check_labels, numbers_of, optional, plain_labels

#: Default rounds of an epoch: with fewer the mean lags behind, and more cost traffic.
_ROUNDS_AN_EPOCH = 4


def _make_partition(
    block: int,
    model: Any,
    online: OnlineModel,
    n_features: int,
    X: Any,
    y: Any,
    *weight: Any,
) -> Chunk:
    X, y = validated_rows(model, X, y, reset=True)
    if X.shape[1] != n_features:  # a block need not have the shape that its collection states
        raise ValueError(
            f"X must have {n_features} columns in every block, got {X.shape[1]} in block {block}"
        )
    return online.make_chunk(X, y, *weight)


def _identity(value: Any) -> Any:
    return value


def fit_dask(
    estimator: LinearEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    rounds: int | None = None,
    client: Any = None,
) -> LinearEstimator:
    """Train a linear estimator on Dask arrays, where their partitions lie.

    Each round continues Pegasos on every partition from the mean of the states that the last round
    reached, weighted by the examples of the partitions (see the module's description). All rounds
    together draw as many examples as ``estimator.epochs`` epochs have. More rounds bring the model
    closer to that of one process, as do fewer partitions: as many as there are cores are enough.

    The model is the estimator's average of the mean iterates. It has no certificate: a dual bound
    needs the count of every example. ``n_steps``, ``polish``, ``tol``, ``max_time``,
    ``checkpoints``, ``n_jobs``, ``verbose``, ``warm_start`` and callbacks have no effect. Weights
    are not scaled to mean one.

    Parameters
    ----------
    estimator : LinearPegasosSVC or LinearPegasosSVR
        Fitted in place, from the beginning; ``n_steps_`` counts the steps of one partition. It
        needs ``lam``. With an intercept, a regressor subtracts the weighted mean of all y.
    X : dask.array.Array of shape (n_samples, n_features)
        Chunked along the rows only; its blocks may be CSR matrices. What cannot be computed again,
        such as scattered data, is lost with its worker.
    y : dask.array.Array of shape (n_samples,)
        Classes, or numbers; chunked like the rows of X.
    sample_weight : dask.array.Array of shape (n_samples,), default=None
        Chunked like y.
    rounds : int, default=None
        How often states are averaged; four times an epoch if None.
    client : distributed.Client, default=None
        The current one if None.

    Returns
    -------
    estimator : LinearPegasosSVC or LinearPegasosSVR

    Raises
    ------
    ImportError
        Without Dask (the extra ``dask``).
    ValueError
        Naming the parameter, what was expected and what came. An error in the middle, and Ctrl-C,
        leave the model of the rounds that are done.
    TypeError
        If ``estimator`` or ``client`` is something else.

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
    settings = settings_of_stream(estimator)
    rounds = optional(as_integer, "rounds", rounds, least=1)
    if client is None:
        client = distributed.get_client()
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a Dask client, got {type(client).__name__} instead")
    blocks, targets = _partitions(X, y, sample_weight)
    n_features = int(X.shape[1])
    look = dask.delayed(partial(_seen, numbers=isinstance(estimator, LinearPegasosSVR)))
    seen = client.gather(client.compute([look(*target) for target in targets]))
    with_rows = [k for k, (n_examples, _) in enumerate(seen) if n_examples]
    if not with_rows:
        raise ValueError("X must have rows, and sample_weight must have a positive entry, got none")
    online, model = _begun(estimator, [seen[k][1] for k in with_rows]), clone(estimator)
    made = [
        dask.delayed(_make_partition)(k, model, online, n_features, blocks[k], *targets[k])
        for k in with_rows
    ]
    partitions: dict[int, Any] = dict(zip(with_rows, client.compute(made), strict=True))
    online.begin(n_features)
    at_zero = client.gather(client.map(losses_at_zero, [*partitions.values()], pure=False))
    if settings.options.projection:
        online.enclose(at_zero)
    sizes = np.array([[n_examples for _, n_examples in of_pairs] for of_pairs in at_zero]).T
    n_rounds = math.ceil(_ROUNDS_AN_EPOCH * settings.epochs) if rounds is None else rounds
    # Steps of each pair on any partition: all rounds make the epochs asked for.
    draws = settings.epochs / (n_rounds * settings.options.batch_size)
    n_steps = [math.ceil(draws * size.sum() / np.count_nonzero(size)) for size in sizes]
    for n_done in range(n_rounds):
        _make_round(client, online, partitions, sizes, n_steps, n_done)
        with turn(estimator, "estimator"), unchanged_by_errors(estimator):
            estimator.n_features_in_ = n_features
            estimator.__dict__.pop("feature_names_in_", None)
            online.install(estimator)
    return estimator


def _seen(y: Any, sample_weight: Any = None, *, numbers: bool) -> tuple[int, np.ndarray]:
    """Return how many examples of a partition have weight, and a summary of them.

    Returns
    -------
    n_examples : int
    known : ndarray
        Their classes; for numbers the sum of the weights, and that of the weighted numbers.

    Raises
    ------
    ValueError
        If targets or weights are invalid.
    """
    y = numbers_of(y) if numbers else plain_labels(column_or_1d(y))
    if not numbers and y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y must have finite labels or strings, got NaN or infinity")
    if not numbers and y.size and y.dtype.kind not in "biuSU":
        check_labels(y, y.size)
    weight = checked_weight(sample_weight, y) if y.size else np.zeros(0)
    known = np.array([weight.sum(), weight @ y]) if numbers else np.unique(y[weight > 0])
    return int(np.count_nonzero(weight)), known


def _begun(estimator: Any, known: list[np.ndarray]) -> OnlineModel:
    """Return the stream of an estimator on all partitions."""
    if isinstance(estimator, LinearPegasosSVR):
        weight, weighted = np.sum(known, axis=0)
        return OnlineRegressor(estimator, float(weighted / weight))
    if len({are_numbers(classes) for classes in known}) > 1:
        raise ValueError("y must be numbers in all partitions, or strings, got both")
    return OnlineClassifier(estimator, np.unique(np.concatenate(known)))


def _make_round(
    client: Any,
    online: OnlineModel,
    partitions: dict[int, Any],
    sizes: np.ndarray,
    n_steps: list[int],
    n_rounds: int,
) -> None:
    """Take steps on every partition from the same state, and go on from the mean."""
    # A task of its own, so that the state is sent once and outlives any worker.
    begin = client.submit(_identity, online, pure=False)
    futures = [
        client.submit(
            OnlineModel.states_after,
            begin,
            partition,
            part=part,
            n_steps=n_steps,
            n_rounds=n_rounds,
            pure=False,
        )
        for part, partition in partitions.items()
    ]
    online.merge(client.gather(futures), sizes)


def _partitions(X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return the blocks of X, and those of y and the weights, as delayed values."""
    arrays = {"X": (X, 2), "y": (y, 1)}
    if sample_weight is not None:
        arrays["sample_weight"] = (sample_weight, 1)
    for name, (array, ndim) in arrays.items():
        is_array = hasattr(array, "to_delayed") and hasattr(array, "chunks")
        if not is_array or getattr(array, "ndim", None) != ndim:
            hint = ": pass .to_dask_array(lengths=True)" if hasattr(array, "to_dask_array") else ""
            raise ValueError(
                f"{name} must be a Dask array of {ndim} dimension{'s'[: ndim - 1]}, "
                f"got {type(array).__name__} instead{hint}"
            )
        if array.chunks[0] != X.chunks[0]:
            raise ValueError(
                f"{name} must be chunked like the rows of X, {X.chunks[0]}, "
                f"got {array.chunks[0]} instead"
            )
    if not math.isfinite(X.shape[1]):
        raise ValueError("X must have a known number of columns, got one that is not known")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X must be chunked along the rows only, got {X.numblocks[1]} blocks of columns instead"
        )
    columns = [array.to_delayed().ravel().tolist() for array, _ in arrays.values()]
    return columns[0], list(zip(*columns[1:], strict=True))
