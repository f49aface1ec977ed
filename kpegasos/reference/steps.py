"""The steps of Pegasos, slow and readable, and the draws of the compiled solver.

`linear_iterates` is ICML 2007, Fig. 1 and MPB 2011, Figs. 1 and 2; `kernel_iterates` is MPB 2011,
Fig. 3, with its misprints corrected: each example in the sum has its own label, and the margin is
that of ``w_t``. Given the draws of `index_stream` both make the same counts as `kpegasos.pegasos`,
and the same iterates to rounding.

References
----------
- ICML 2007: S. Shalev-Shwartz, Y. Singer, N. Srebro, Pegasos: Primal Estimated sub-GrAdient SOlver
  for SVM.
- MPB 2011: the same with A. Cotter, Mathematical Programming B 127.
- S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an O(1/t) convergence rate
  for the projected stochastic subgradient method, arXiv:1212.2002, 2012: the average.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.core.draws import MOST_DRAWS, IndexStream, Sampling
from kpegasos.core.problem import make_problem
from kpegasos.utils.validation import (
    LARGEST_VALUE,
    as_array,
    as_flag,
    as_integer,
    canonical_rows,
    check_magnitude,
    draw_seed,
    optional,
)

#: A margin this close to the threshold is a tie and no violation, as in the compiled loops: sums of
#: the same numbers in another order must decide alike.
TIE = 1e-10


class Iterates(NamedTuple):
    """The iterates after a step.

    Attributes
    ----------
    t : int
        Steps done.
    last : ndarray of shape (n_features,) or (n_samples,), float64
        ``w_{t+1}``, or its coefficients ``c`` in ``w = Σ c_j y_j φ(x_j)``.
    average : ndarray of the same shape
        ``2/(t(t+1)) Σ_{s≤t} s · w_{s+1}``, or its coefficients.
    alpha : ndarray of shape (n_samples,), float64
        How often each example was drawn while it violated the margin.
    """

    t: int
    last: np.ndarray
    average: np.ndarray
    alpha: np.ndarray


def linear_iterates(
    X: Any,
    y: ArrayLike,
    lam: float,
    draws: ArrayLike,
    *,
    batch_size: int = 1,
    projection: bool = False,
    start: ArrayLike | None = None,
) -> Iterator[Iterates]:
    """Go through the steps of linear Pegasos (ICML 2007, figure 1; MPB 2011, Figs. 1 and 2).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Regularisation λ > 0.
    draws : array-like of shape (n_steps * batch_size,), int
        Rows of X in the order in which they are drawn, as from `index_stream`.
    batch_size : int, default=1
        Examples k of one step.
    projection : bool, default=False
        Project onto the ball of radius ``1/sqrt(lam)`` after each step.
    start : array-like of shape (n_features,), default=None
        ``w_1``, of norm up to ``1/sqrt(lam)`` (ICML 2007, Fig. 1); zeros if None. The first step
        multiplies it by ``1 - 1/1``, so it decides only which of that step's draws violate.

    Yields
    ------
    Iterates
        After each step.

    Raises
    ------
    ValueError
        With the first step, naming the parameter, what was expected and what came.

    Examples
    --------
    >>> import numpy as np
    >>> from kpegasos.reference import linear_iterates
    >>> X, y = np.array([[2.0, 0.0], [0.0, 1.0]]), [1, -1]
    >>> for t, w, average, alpha in linear_iterates(X, y, 0.5, [0, 1, 1]):
    ...     print(t, w.round(2), alpha)
    1 [4. 0.] [1. 0.]
    2 [ 2. -1.] [1. 1.]
    3 [ 1.33 -0.67] [1. 1.]
    """
    problem = make_problem(y, lam)
    y, lam = problem.y, problem.lam
    X = checked_features(X, y)
    batches = _batches_of(draws, batch_size, y.size)
    projection = as_flag("projection", projection)
    radius = 1.0 / np.sqrt(lam)
    w = average = _start_of(start, X.shape[1], radius)
    alpha = np.zeros(y.size)
    for t, batch in enumerate(batches, start=1):
        eta = 1.0 / (lam * t)  # the step size
        margins = y[batch] * (X[batch] @ w)
        slopes = -1.0 * (margins < 1.0 - TIE)  # of the loss max(0, 1 - margin)
        w = (1.0 - eta * lam) * w - eta / batch_size * (slopes * y[batch]) @ X[batch]
        if projection:
            w = w * (radius / max(radius, np.linalg.norm(w)))
        average = average + 2.0 / (t + 1.0) * (w - average)  # 2 / (t (t + 1)) Σ s w_{s+1}
        alpha = alpha + np.bincount(batch, -slopes, minlength=y.size)
        yield Iterates(t, w, average, alpha)


def kernel_iterates(
    K: ArrayLike,
    y: ArrayLike,
    lam: float,
    draws: ArrayLike,
    *,
    batch_size: int = 1,
    projection: bool = False,
) -> Iterator[Iterates]:
    """Go through the steps of kernel Pegasos (MPB 2011, figure 3).

    Instead of ``w`` there are its coefficients ``c`` in ``w = Σ c_j y_j φ(x_j)``, otherwise the
    lines are those of `linear_iterates`. Without the projection ``c = alpha / (lam k t)``, which
    is how the paper writes it.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel values of the examples with each other.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Regularisation λ > 0.
    draws : array-like of shape (n_steps * batch_size,), int
        Rows of K in the order in which they are drawn, as from `index_stream`.
    batch_size : int, default=1
        Examples k of one step.
    projection : bool, default=False
        Project onto the ball of radius ``1/sqrt(lam)`` after each step.

    Yields
    ------
    Iterates
        After each step.

    Raises
    ------
    ValueError
        With the first step, naming the parameter, what was expected and what came.
    """
    problem = make_problem(y, lam)
    y, lam = problem.y, problem.lam
    K = checked_kernel_values(K, y)
    batches = _batches_of(draws, batch_size, y.size)
    projection = as_flag("projection", projection)
    radius = 1.0 / np.sqrt(lam)
    c = average = alpha = np.zeros(y.size)
    for t, batch in enumerate(batches, start=1):
        eta = 1.0 / (lam * t)  # the step size
        margins = y[batch] * (K[batch] @ (c * y))
        slopes = -1.0 * (margins < 1.0 - TIE)  # of the loss max(0, 1 - margin)
        violations = np.bincount(batch, -slopes, minlength=y.size)
        c = (1.0 - eta * lam) * c + eta / batch_size * violations
        if projection:
            c = c * (radius / max(radius, np.sqrt(max(0.0, (c * y) @ K @ (c * y)))))
        average = average + 2.0 / (t + 1.0) * (c - average)  # 2 / (t (t + 1)) Σ s w_{s+1}
        alpha = alpha + violations
        yield Iterates(t, c, average, alpha)


def pegasos_linear(
    X: Any,
    y: ArrayLike,
    lam: float,
    draws: ArrayLike,
    *,
    batch_size: int = 1,
    projection: bool = False,
    start: ArrayLike | None = None,
) -> Iterates:
    """Return what stands after the last step of `linear_iterates`, which has the same parameters.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    lam : float
    draws : array-like of shape (n_steps * batch_size,), int
    batch_size : int, default=1
    projection : bool, default=False
    start : array-like of shape (n_features,), default=None

    Returns
    -------
    Iterates

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from kpegasos import linear_rows, make_problem, pegasos
    >>> from kpegasos.reference import index_stream, pegasos_linear
    >>> X, y = make_blobs(50, centers=2, random_state=3)
    >>> by_the_book = pegasos_linear(X, 2 * y - 1, 0.1, index_stream(50, 500, random_state=0))
    >>> problem, rows = make_problem(2 * y - 1, 0.1), linear_rows(X)
    >>> compiled = pegasos(problem, rows, n_steps=500, random_state=0)
    >>> np.array_equal(by_the_book.alpha, compiled.alpha)
    True
    >>> np.allclose(by_the_book.average, compiled.w, rtol=1e-12)
    True
    """
    steps = linear_iterates(
        X, y, lam, draws, batch_size=batch_size, projection=projection, start=start
    )
    return deque(steps, maxlen=1).pop()


def pegasos_kernel(
    K: ArrayLike,
    y: ArrayLike,
    lam: float,
    draws: ArrayLike,
    *,
    batch_size: int = 1,
    projection: bool = False,
) -> Iterates:
    """Return what stands after the last step of `kernel_iterates`, which has the same parameters.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
    y : array-like of shape (n_samples,)
    lam : float
    draws : array-like of shape (n_steps * batch_size,), int
    batch_size : int, default=1
    projection : bool, default=False

    Returns
    -------
    Iterates

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    steps = kernel_iterates(K, y, lam, draws, batch_size=batch_size, projection=projection)
    return deque(steps, maxlen=1).pop()


def index_stream(
    n_samples: int,
    n_draws: int,
    sampling: Sampling = "permutation",
    random_state: int | np.random.RandomState | None = 0,
    pair: int | None = None,
) -> np.ndarray:
    """Make the draws of ``pegasos(..., sampling=sampling, random_state=random_state)``.

    Those of an estimator with these parameters are the same, and so are the playground's.

    Parameters
    ----------
    n_samples : int
        Those of a pair of several classes are numbered class by class; in a linear estimator with
        "contiguous" as in X.
    n_draws : int
        Steps times ``batch_size``.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws as in the papers, or runs of 64
        consecutive rows in random order. A callable ``f(rng, n_samples)`` returns the draws of one
        epoch.
    random_state : int, RandomState or None, default=0
    pair : int, default=None
        Of an estimator with several classes, the number of a pair of classes: 0 for classes 0 and
        1, then 0 and 2, and so on. None for two classes, and for numbers.

    Returns
    -------
    ndarray of shape (n_draws,), int64

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.

    Examples
    --------
    >>> from kpegasos.reference import index_stream
    >>> sorted(index_stream(4, 8)[:4].tolist())
    [0, 1, 2, 3]
    """
    n_samples = as_integer("n_samples", n_samples, least=1, most=MOST_DRAWS)
    n_draws = as_integer("n_draws", n_draws, least=0, most=MOST_DRAWS)
    pair = optional(as_integer, "pair", pair, least=0)
    key = () if pair is None else (pair,)
    return IndexStream(n_samples, sampling, draw_seed(random_state), key).take(0, n_draws)


def checked_features(X: Any, y: np.ndarray) -> Any:
    """Return features as an array or CSR matrix with a row for each label.

    Raises
    ------
    ValueError
        If they are not finite, are too large, or have other rows.
    """
    X = canonical_rows(X)
    check_magnitude(X)
    if X.shape[0] != y.size:
        raise ValueError(
            f"X must have a row for each of the {y.size} labels of y, got {X.shape[0]} instead"
        )
    return X


def checked_kernel_values(K: ArrayLike, y: np.ndarray) -> np.ndarray:
    """Return kernel values as a square array of float64 with a row for each label.

    Raises
    ------
    ValueError
        If they have another shape, are not finite, or are too large.
    """
    K = as_array("K", K)
    if K.shape != (y.size, y.size):
        raise ValueError(
            f"K must have a row and a column for each of the {y.size} labels of y, "
            f"got shape {K.shape} instead"
        )
    if not np.abs(K).max() <= LARGEST_VALUE:  # nor NaN
        raise ValueError(f"K must hold finite values up to {LARGEST_VALUE:g}, got others")
    return K


def _batches_of(draws: ArrayLike, batch_size: int, n_samples: int) -> np.ndarray:
    """Return draws as one row for each batch, int64 of shape (n_steps, batch_size).

    Raises
    ------
    ValueError
        If they are no rows of the examples, or not a whole number of batches.
    """
    k = as_integer("batch_size", batch_size, least=1)
    drawn = as_array("draws", draws, expected="be a vector of row numbers", kinds="iu")
    if drawn.ndim != 1 or drawn.size == 0 or drawn.size % k:
        raise ValueError(
            f"draws must be a vector of one or more batches of batch_size={k}, "
            f"got shape {drawn.shape} instead"
        )
    if drawn.min() < 0 or drawn.max() >= n_samples:
        raise ValueError(
            f"draws must be rows from 0 to {n_samples - 1} of X or K, "
            f"got {drawn.min():.0f} to {drawn.max():.0f} instead"
        )
    return drawn.astype(np.int64).reshape(-1, k)


def _start_of(values: ArrayLike | None, size: int, radius: float) -> np.ndarray:
    """Return the first iterate: zeros unless given.

    Raises
    ------
    ValueError
        If it is no vector of that size, or longer than the radius of the ball.
    """
    if values is None:
        return np.zeros(size)
    start = as_array("start", values)
    if start.shape != (size,):
        raise ValueError(
            f"start must have a number for each of {size} features, got shape {start.shape} instead"
        )
    norm = float(np.linalg.norm(start))
    if not norm <= radius * (1.0 + 1e-12):  # nor NaN
        raise ValueError(
            f"start must have a norm of 1/sqrt(lam) = {radius:g} at most, got {norm:g} instead"
        )
    return start
