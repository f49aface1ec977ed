"""Histories of any linear iterates: objective, dual bound and gap at checkpoints.

Where the iterates come from does not matter: `kpegasos.reference.steps`, a variant of these, or
another algorithm. What is measured are the formulas of `kpegasos.core.problem`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.core.certificate import dual_bounds, limits_of
from kpegasos.core.draws import MOST_DRAWS
from kpegasos.core.problem import Problem, make_problem, primal
from kpegasos.reference.steps import Iterates, checked_features
from kpegasos.solvers.pegasos import Checkpoints, CheckpointSpec
from kpegasos.solvers.result import History, Record
from kpegasos.utils.validation import as_array, as_integer, shown

#: Losses of margins ``y f(x)``, one for each.
Loss = Callable[[np.ndarray], ArrayLike]


def linear_history(
    iterates: Iterable[tuple],
    X: Any,
    y: ArrayLike,
    lam: float,
    *,
    batch_size: int = 1,
    checkpoints: CheckpointSpec = "log",
    loss: Loss | None = None,
) -> History:
    """Record iterates that are vectors ``w`` over the features.

    Parameters
    ----------
    iterates : iterable of tuple
        ``(t, last)``, ``(t, last, average)`` or ``(t, last, average, alpha)``, such as
        `linear_iterates` yields, with increasing step numbers t and vectors of shape
        (n_features,). Without an average the last iterate stands for it. The dual bound comes from
        ``alpha``, of shape (n_samples,): any numbers give a valid one, and how often each example
        violated gives a good one.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Regularisation λ > 0.
    batch_size : int, default=1
        Draws of one step, by which epochs are counted.
    checkpoints : {"log", "epoch", "auto"}, sequence of int or None, default="log"
        Steps to record, as those of `kpegasos.pegasos`; the last iterate always is.
    loss : callable, default=None
        ``loss(margins)`` returns the loss of each margin ``y f(x)``, of shape (n_samples,); the
        hinge, ``max(0, 1 - margin)``, if None. With another there is no dual bound.

    Returns
    -------
    History
        ``seconds`` is the time that the iterates took to come. ``dual_bound`` is the largest so
        far, and it and the gaps are NaN where there is none. ``rounding`` is NaN: the gap is no
        certificate. ``support_size`` counts the non-zero ``alpha``, and is 0 without them, as
        ``kernel_evaluations`` and ``cache_hits`` are always.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    TypeError
        If ``loss`` is no function.

    See Also
    --------
    kpegasos.plotting.ConvergenceDisplay : Draws it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from kpegasos.reference import index_stream, linear_history, linear_iterates
    >>> X, y = make_blobs(50, centers=2, random_state=3)
    >>> y = 2 * y - 1
    >>> iterates = linear_iterates(X, y, 0.1, index_stream(50, 500))
    >>> history = linear_history(iterates, X, y, 0.1, checkpoints=[5, 50])
    >>> history["iteration"]
    array([  5,  50, 500])
    >>> bool((history["gap"] > 0).all())
    True
    """
    problem = make_problem(y, lam)
    X, n_samples = checked_features(X, problem.y), problem.y.size
    k = as_integer("batch_size", batch_size, least=1, most=MOST_DRAWS)
    if loss is not None and not callable(loss):
        raise TypeError(f"loss must be a function of margins or None, got {shown(loss)} instead")
    points = Checkpoints(checkpoints, 0, MOST_DRAWS, n_samples, k)
    history, bound = History(), math.nan
    for seconds, step in _at_checkpoints(_steps(iterates, X.shape[1], n_samples), points):
        last, average = (_objective(w, X, problem, loss) for w in (step.last, step.average))
        if loss is None and step.alpha is not None:
            bound = float(np.fmax(bound, _dual_bound(step.alpha, X, problem)))
        gap = average - bound
        history.append(
            Record(
                iteration=step.t,
                epoch=step.t * k / n_samples,
                seconds=seconds,
                objective_last=last,
                objective_average=average,
                dual_bound=bound,
                gap=gap,
                relative_gap=gap / average if average > 0.0 else math.nan,
                rounding=math.nan,
                support_size=0 if step.alpha is None else int(np.count_nonzero(step.alpha)),
                kernel_evaluations=0,
                cache_hits=0,
            )
        )
    return history


def _dual_bound(alpha: np.ndarray, X: Any, problem: Problem) -> float:
    """Return the best dual bound of a multiple of the coefficients; negative ones count as zero."""
    c = np.maximum(alpha, 0.0)
    w = np.asarray(X.T @ (c * problem.y))
    limits, squared_norm = limits_of(problem.loss), float(w @ w)
    return dual_bounds(problem.examples, limits, c, squared_norm, 0.0, problem.lam)[0]


def _objective(w: np.ndarray, X: Any, problem: Problem, loss: Loss | None) -> float:
    """Return ``lam/2 ‖w‖²`` and the mean loss."""
    decisions, squared_norm = np.asarray(X @ w), float(w @ w)
    if loss is None:
        return primal(decisions, squared_norm, problem)
    came = loss(problem.y * decisions)
    losses = as_array("loss", came, expected="return real numbers")
    if losses.shape != decisions.shape:
        raise ValueError(
            f"loss must return a number for each of {decisions.size} margins, "
            f"got shape {losses.shape} instead"
        )
    return float(0.5 * problem.lam * squared_norm + losses.mean())


def _at_checkpoints(
    steps: Iterator[Iterates], points: Checkpoints
) -> Iterator[tuple[float, Iterates]]:
    """Yield the steps that are to be recorded, with the seconds that steps took so far."""
    ahead = iter(points)
    due, seconds = next(ahead), 0.0
    unrecorded = None
    begin = time.perf_counter()
    for step in steps:
        seconds += time.perf_counter() - begin
        unrecorded = step
        if step.t >= due:
            yield seconds, step
            unrecorded, due = None, next(point for point in ahead if point > step.t)
        begin = time.perf_counter()
    if unrecorded is not None:
        yield seconds, unrecorded


def _steps(iterates: Any, size: int, n_samples: int) -> Iterator[Iterates]:
    """Check the tuples of a sequence of iterates.

    Raises
    ------
    ValueError
        If one is none, or steps do not increase.
    """
    before = 0
    # A value that is no sequence is refused like an element that is no tuple.
    for came in iterates if np.iterable(iterates) else [iterates]:
        try:
            step = _step(came, size, n_samples)
        except (TypeError, ValueError):
            raise ValueError(
                "iterates must be tuples (t, last), (t, last, average) or (t, last, average, alpha)"
                f" of a step, vectors of size {size} and a number alpha for each example, "
                f"got {shown(came)} instead"
            ) from None
        if not before < step.t < MOST_DRAWS:
            raise ValueError(
                f"iterates must have increasing steps t > 0, got {step.t} after {before}"
            )
        before = step.t
        yield step


def _step(came: Any, size: int, n_samples: int) -> Iterates:
    """Return one of the tuples in full; raise a TypeError or ValueError if it is none."""
    t, last, *others = came
    if len(others) > 2:
        raise ValueError
    vectors = [as_array("iterates", last)]
    average, alpha = [*others, None, None][:2]
    vectors.append(vectors[0] if average is None else as_array("iterates", average))
    counts: Any = None if alpha is None else as_array("iterates", alpha)
    if any(found.shape != (size,) for found in vectors):
        raise ValueError
    if counts is not None and counts.shape != (n_samples,):
        raise ValueError
    return Iterates(as_integer("t", t), vectors[0], vectors[1], counts)
