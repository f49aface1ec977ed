"""The problem, and its primal objective in O(n_samples) from margins.

For targets y, weights ``ω`` of mean one and a loss ℓ it is

    P(w) = lam/2 ‖w‖² + (1/m) Σ ω_i ℓ(f(x_i), y_i),    f(x) = <w, φ(x)>,

by default with the hinge ``max(0, 1 − y_i f(x_i))`` and labels ``y = ±1``. Then for any
``β ∈ [0, 1]^m`` with ``w_β = (1/(lam m)) Σ β_i ω_i y_i φ(x_i)``, weak duality says

    D(β) = (1/m) Σ ω_i β_i − lam/2 ‖w_β‖²  ≤  min P,

so ``P(w) − D(β)`` bounds the suboptimality of w from above. Pegasos iterates are combinations
``w = Σ c_j ω_j y_j φ(x_j)`` with ``c ≥ 0``, so that ``β = lam m c``, scaled into the box, costs
nothing. `kpegasos.core.certificate` computes D, for other losses too, and with rounding;
`kpegasos.core.free_intercept` does so with a free intercept.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.state import Examples
from kpegasos.losses import HINGE, check_loss, is_hinge
from kpegasos.losses.base import for_loops, is_foreign, probe, values
from kpegasos.utils.validation import (
    LARGEST,
    SMALLEST,
    as_array,
    as_flag,
    as_number,
    shown,
    signs_of,
)


class Problem(NamedTuple):
    """A problem: targets, weights of mean one, the regularisation ``lam`` and the loss.

    Build it with `make_problem`, which checks it.

    Attributes
    ----------
    y : ndarray of shape (n_samples,), float64
        Labels -1 and +1, or numbers with a loss of regression.
    weight : ndarray of shape (n_samples,), float64
        Weights of mean one.
    lam : float
        Regularisation λ.
    loss : Loss
    classes : ndarray of shape (2,) or None
        The labels that -1 and +1 stand for; None if they stand for themselves.
    free_intercept : bool
        Whether decisions have an intercept that is not regularised.
    offset : float
        In regression, what was subtracted from the targets and is added to the intercept.
    """

    y: np.ndarray
    weight: np.ndarray
    lam: float
    loss: Any = HINGE
    classes: np.ndarray | None = None
    free_intercept: bool = False
    offset: float = 0.0

    @property
    def examples(self) -> Examples:
        """Targets and weighted directions, as the loops want them."""
        signed = self.weight.copy() if self.loss.regression else self.y * self.weight
        return Examples(self.y, signed, for_loops(self.loss))

    @property
    def radius(self) -> float:
        """Bound on ``‖w*‖``, as ``lam ‖w*‖² ≤ P(0)`` by duality; ``1 / sqrt(lam)`` with the hinge.

        ICML 2007, Theorem 1, for any loss.
        """
        if is_hinge(self.loss):
            return 1.0 / float(np.sqrt(self.lam))
        return float(np.sqrt(mean_loss(np.zeros(self.y.size), self) / self.lam))


def make_problem(
    y: Any,
    lam: float | None = None,
    sample_weight: Any = None,
    *,
    C: float | None = None,
    loss: Any = HINGE,
    free_intercept: bool = False,
) -> Problem:
    """Make a problem of targets, weights, the regularisation and a loss.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any two classes: integers, floats, truth values or strings. The class that is
        sorted last is +1, as in scikit-learn. Labels -1 and +1 may all be the same. With a loss of
        regression, any numbers.
    lam : float, default=None
        Regularisation λ > 0 of the papers. Either this or ``C`` must be given.
    sample_weight : array-like of shape (n_samples,), default=None
        Positive weights of the losses, which are scaled to mean one; equal if None.
    C : float, default=None
        SVC's C > 0 in place of ``lam``, which becomes ``1 / (C · Σ sample_weight)``, and
        ``1 / (C · n_samples)`` without weights.
    loss : Loss, default=Hinge()
        See `kpegasos.losses`.
    free_intercept : bool, default=False
        Whether decisions are ``<w, φ(x)> + b`` with a b that is not regularised, as in SVC. It
        needs kernel rows with a positive ``intercept_scaling``, as steps of Pegasos and of dual
        ascent use the constant feature.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If the labels are not of two classes, or all the same with a free intercept; if a weight,
        ``lam`` or ``C`` is not positive and finite; or unless exactly one of these two is given.
    TypeError
        If ``loss`` is no loss.

    Examples
    --------
    >>> from kpegasos import make_problem
    >>> problem = make_problem(["spam", "ham", "ham", "spam"], C=0.5)
    >>> problem.y
    array([ 1., -1., -1.,  1.])
    >>> problem.classes.tolist(), problem.lam
    (['ham', 'spam'], 0.5)
    """
    loss = check_loss(loss)
    signs, classes = (_checked_numbers(y), None) if loss.regression else signs_of("y", y)
    weight = _checked_weight(sample_weight, signs.size)
    if as_flag("free_intercept", free_intercept) and not loss.regression and np.ptp(signs) == 0.0:
        raise ValueError("y must have two classes for a free intercept, got one instead")
    if is_foreign(loss) and loss.regression:
        some = np.quantile(signs, np.linspace(0.0, 1.0, 5), method="lower")
        probe(loss, tuple(np.unique(some).tolist()))
    if lam is not None and C is not None:
        raise ValueError(f"C must be None where lam is given, got {shown(C)} instead")
    if C is not None:
        C = as_cost("C", C)
        lam = lam_of_c(C, float(weight.sum()), weight.size)
    elif lam is None:
        raise ValueError("lam must be given unless C is, got None instead")
    else:
        # With equal weights, C up to its limit makes lam this small.
        least = SMALLEST / (4 * signs.size)
        lam = as_number("lam", lam, positive=True, least=least, most=4 * LARGEST)
    return Problem(signs, weight / weight.mean(), lam, loss, classes, bool(free_intercept))


def as_cost(name: str, value: Any) -> float:
    """Return C as a float.

    Raises
    ------
    ValueError
        If it is no positive finite number that leaves room for its square.
    """
    if isinstance(value, Real) and value == math.inf:
        raise ValueError(
            f"{name} must be finite, and large for a hard margin, such as 1e6, got inf instead"
        )
    return as_number(name, value, positive=True, least=SMALLEST, most=LARGEST)


def _checked_numbers(y: Any) -> np.ndarray:
    """Return targets of a regression.

    Raises
    ------
    ValueError
        If they are no vector of numbers that leave room for their squares.
    """
    y = np.ascontiguousarray(as_array("y", y))
    if y.ndim != 1 or y.size == 0 or not np.abs(y).max() <= LARGEST:
        raise ValueError(
            f"y must be a non-empty vector of numbers of size {LARGEST:g} at the most, "
            f"got shape {y.shape} instead"
        )
    return y


def _checked_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return weights of the examples, ones if none are given.

    Raises
    ------
    ValueError
        If one is not positive and finite.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.ascontiguousarray(as_array("sample_weight", sample_weight))
    least, most = weight.min(initial=np.inf), weight.max(initial=-np.inf)
    if weight.shape != (n_samples,) or not SMALLEST <= least <= most <= LARGEST:
        raise ValueError(
            f"sample_weight must be {n_samples} positive finite numbers from {SMALLEST:g} to "
            f"{LARGEST:g}, got shape {weight.shape}, from {least:g} to {most:g} instead"
        )
    return weight


def lam_of_c(C: float, total: float, n_samples: int, name: str = "sample_weight") -> float:
    """Compute ``1 / (C · Σ weights)``; 1 for a problem without examples, which is not trained.

    Parameters
    ----------
    C : float
    total : float
        Sum of the weights.
    n_samples : int
    name : str, default="sample_weight"
        Name of the weights in an error.

    Raises
    ------
    ValueError
        If C times the mean weight leaves no room for its square.
    """
    if total == 0.0:
        return 1.0
    mean = C * (total / n_samples)
    # The factors of 2 are for the rounding of the mean of equal weights.
    if not SMALLEST / 2 <= mean <= 2 * LARGEST:
        raise ValueError(
            f"C times the mean of {name} must be between {SMALLEST:g} and {LARGEST:g}, "
            f"got {mean:g} instead"
        )
    return 1.0 / (C * total)


def check_weights(name: str, weight: np.ndarray) -> None:
    """Check that weights leave room for their sums and squares.

    Raises
    ------
    ValueError
        If a positive one is too small or too large.
    """
    positive = weight[weight > 0]
    least, most = positive.min(initial=1.0), positive.max(initial=1.0)
    if least < SMALLEST or most > LARGEST:
        raise ValueError(
            f"{name} must be zero or between {SMALLEST:g} and {LARGEST:g}, "
            f"got {least if least < SMALLEST else most:g} instead"
        )


def mean_loss(decisions: np.ndarray, problem: Problem) -> float:
    """Weighted mean of the losses of ``f(x_i)``."""
    if is_hinge(problem.loss):
        losses = np.maximum(0.0, 1.0 - problem.y * decisions)
    else:
        losses = values(problem.loss, decisions, problem.y)
    return float(losses @ problem.weight) / problem.y.size


def primal(margins: np.ndarray, squared_norm: float, problem: Problem) -> float:
    """``P(w)`` from ``f(x_i)`` and ``‖w‖²``."""
    return 0.5 * problem.lam * squared_norm + mean_loss(margins, problem)
