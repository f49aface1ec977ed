"""Histories of any sequence of iterates: objective, dual bound and gap at checkpoints.

Where the iterates come from does not matter: `kpegasos.reference.steps`, a variant of these, or
another algorithm. What is measured are the formulas of `kpegasos.core.problem`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.core.draws import MOST_DRAWS
from kpegasos.core.problem import Problem, dual_bound, make_problem, primal
from kpegasos.reference import checks
from kpegasos.solvers.checkpoints import Checkpoints, CheckpointSpec
from kpegasos.solvers.history import History, Record
from kpegasos.utils.validation import as_integer, shown

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
        (n_features,). Without an average the last iterate stands for it. Of ``alpha``, of shape
        (n_samples,), comes the dual bound: any numbers make one that is true, and how often each
        example violated makes a good one.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Regularisation λ > 0.
    batch_size : int, default=1
        Draws of one step, which make epochs of steps.
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
    kernel_history : For iterates given by their coefficients, with a dual bound of their own.
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
    y, lam = checks.labels(y, lam)
    space = _Features(checks.features(X, y), y)
    return _history(iterates, make_problem(y, lam), space, batch_size, checkpoints, loss)


def kernel_history(
    iterates: Iterable[tuple],
    K: ArrayLike,
    y: ArrayLike,
    lam: float,
    *,
    batch_size: int = 1,
    checkpoints: CheckpointSpec = "log",
    loss: Loss | None = None,
) -> History:
    """Record iterates that are coefficients ``c`` of ``w = Σ c_j y_j φ(x_j)``.

    Parameters
    ----------
    iterates : iterable of tuple
        ``(t, last)``, ``(t, last, average)`` or ``(t, last, average, alpha)``, such as
        `kernel_iterates` yields, with increasing step numbers t and vectors of shape (n_samples,).
        Without an average the last iterate stands for it. The dual bound comes of both; what is
        negative in them counts as zero there.
    K : array-like of shape (n_samples, n_samples)
        Kernel values, positive semi-definite: else what is called the dual bound is none.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Regularisation λ > 0.
    batch_size : int, default=1
        Draws of one step, which make epochs of steps.
    checkpoints : {"log", "epoch", "auto"}, sequence of int or None, default="log"
        Steps to record, as those of `kpegasos.pegasos`; the last iterate always is.
    loss : callable, default=None
        ``loss(margins)`` returns the loss of each margin ``y f(x)``, of shape (n_samples,); the
        hinge, ``max(0, 1 - margin)``, if None. With another there is no dual bound.

    Returns
    -------
    History
        Its columns are those of `linear_history`; ``support_size`` counts the coefficients of the
        last iterate that are not zero.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    TypeError
        If ``loss`` is no function.
    """
    y, lam = checks.labels(y, lam)
    space = _Coefficients(checks.kernel_values(K, y), y)
    return _history(iterates, make_problem(y, lam), space, batch_size, checkpoints, loss)


class _Step(NamedTuple):
    """A tuple of a sequence of iterates, in full."""

    t: int
    last: np.ndarray
    average: np.ndarray
    alpha: np.ndarray | None


class _Features:
    """Iterates that are vectors over the features."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.X, self.y, self.size = X, y, X.shape[1]

    def decisions(self, w: np.ndarray) -> np.ndarray:
        """``f(x_i)`` of all examples."""
        return np.asarray(self.X @ w)

    def squared_norm(self, w: np.ndarray) -> float:
        """``‖w‖²``."""
        return float(w @ w)

    def sum_of_examples(self, c: np.ndarray) -> np.ndarray:
        """``Σ c_j y_j φ(x_j)``."""
        return np.asarray(self.X.T @ (c * self.y))

    def dual_points(self, step: _Step) -> list[np.ndarray]:
        """Coefficients of the examples that may become a dual point."""
        return [] if step.alpha is None else [step.alpha]

    def support_size(self, step: _Step) -> int:
        """Examples whose coefficient is not zero, as far as is known."""
        return 0 if step.alpha is None else int(np.count_nonzero(step.alpha))


class _Coefficients:
    """Iterates that are coefficients of the examples; methods as those of `_Features`."""

    def __init__(self, K: np.ndarray, y: np.ndarray) -> None:
        self.K, self.y, self.size = K, y, y.size

    def decisions(self, c: np.ndarray) -> np.ndarray:
        return np.asarray(self.K @ (c * self.y))

    def squared_norm(self, c: np.ndarray) -> float:
        return float((c * self.y) @ self.decisions(c))

    def sum_of_examples(self, c: np.ndarray) -> np.ndarray:
        return c

    def dual_points(self, step: _Step) -> list[np.ndarray]:
        return [step.last, step.average]

    def support_size(self, step: _Step) -> int:
        return int(np.count_nonzero(step.last))


_Space = _Features | _Coefficients


def _history(
    iterates: Iterable[tuple],
    problem: Problem,
    space: _Space,
    batch_size: int,
    checkpoints: CheckpointSpec,
    loss: Loss | None,
) -> History:
    """Record iterates of either kind."""
    n_samples = problem.y.size
    k = as_integer("batch_size", batch_size, least=1, most=MOST_DRAWS)
    if loss is not None and not callable(loss):
        raise TypeError(f"loss must be a function of margins or None, got {shown(loss)} instead")
    points = Checkpoints(checkpoints, 0, MOST_DRAWS, n_samples, k)
    history, bound = History(), math.nan
    for seconds, step in _at_checkpoints(_steps(iterates, space.size, n_samples), points):
        last, average = (_objective(w, problem, space, loss) for w in (step.last, step.average))
        if loss is None:
            duals = [_dual(c, problem, space) for c in space.dual_points(step)]
            bound = float(np.fmax.reduce([bound, *duals]))
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
                support_size=space.support_size(step),
                kernel_evaluations=0,
                cache_hits=0,
            )
        )
    return history


def _objective(iterate: np.ndarray, problem: Problem, space: _Space, loss: Loss | None) -> float:
    """``lam/2 ‖w‖²`` and the mean loss."""
    decisions, squared_norm = space.decisions(iterate), space.squared_norm(iterate)
    if loss is None:
        return primal(decisions, squared_norm, problem)
    losses = checks.losses(loss(problem.y * decisions), problem.y.size)
    return float(0.5 * problem.lam * squared_norm + losses.mean())


def _dual(c: np.ndarray, problem: Problem, space: _Space) -> float:
    """Largest dual value of the multiples of some coefficients, the negative ones left out."""
    c = np.maximum(c, 0.0)
    return dual_bound(c, space.squared_norm(space.sum_of_examples(c)), problem)


def _at_checkpoints(steps: Iterator[_Step], points: Checkpoints) -> Iterator[tuple[float, _Step]]:
    """Those of the steps that are to be recorded, with the seconds that steps took so far."""
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


def _steps(iterates: Any, size: int, n_samples: int) -> Iterator[_Step]:
    """Tuples of a sequence of iterates, checked.

    Raises
    ------
    ValueError
        If there is something else in it.
    """
    try:
        several = iter(iterates)
    except TypeError:
        raise checks.not_iterates(iterates, size) from None
    before = 0
    for came in several:
        try:
            step = _step(came, size, n_samples)
        except (TypeError, ValueError):
            raise checks.not_iterates(came, size) from None
        if not before < step.t < MOST_DRAWS:
            raise ValueError(
                f"iterates must have increasing steps t > 0, got {step.t} after {before}"
            )
        before = step.t
        yield step


def _step(came: Any, size: int, n_samples: int) -> _Step:
    """One of the tuples; raises a TypeError or ValueError if it is none."""
    t, last, *others = came
    average, alpha = [*others, None, None][:2]
    if len(others) > 2:
        raise ValueError
    last = checks.vector(last, size)
    return _Step(
        as_integer("t", t),
        last,
        last if average is None else checks.vector(average, size),
        None if alpha is None else checks.vector(alpha, n_samples),
    )
