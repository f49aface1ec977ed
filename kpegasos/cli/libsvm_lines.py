"""The closing lines of LIBSVM's ``svm-train``, of a model that was trained here.

Numbers have LIBSVM's meaning and signs: ``obj`` is the certified bound on the optimum of its dual,
up to what the regularisation of the intercept adds here; a pair of classes and ``rho`` are in the
order of the model's file. ``nu`` and bounded support vectors are those of the hinge.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kpegasos.estimators._one_vs_one import class_weights, pair_coefficients

#: How near to its bound a coefficient is at it.
_AT_BOUND = 1.0 - 1e-8
_WITH_BOUNDS = ("hinge", "epsilon_insensitive")


def closing_lines(fitted: Any, y: np.ndarray) -> Iterator[str]:
    """Lines of each pair of classes, and of them all.

    Parameters
    ----------
    fitted : BasePegasos
        With a certificate.
    y : ndarray of shape (n_samples,)
        Labels it was fitted to.

    Yields
    ------
    str
        Without the end of the line.
    """
    lams, objectives, gaps, steps = (
        np.atleast_1d(each)
        for each in (fitted.lam_, fitted.objective_, fitted.duality_gap_, fitted.n_steps_)
    )
    bounded = fitted.loss in _WITH_BOUNDS
    for number, pair in enumerate(_pairs(fitted, y, lams)):
        size = np.abs(pair.coefs)
        yield "*"
        yield f"optimization finished, #iter = {steps[number]}"
        if bounded and pair.bounds[0] == pair.bounds[1]:  # as svm-train, for equal weights only
            yield f"nu = {size.sum() / (pair.bounds[0] * pair.n_samples):.6f}"
        obj = -(objectives[number] - gaps[number]) / lams[number]
        yield f"obj = {obj:.6f}, rho = {0.0 - fitted.intercept_[number]:.6f}"
        at_bound = size >= _AT_BOUND * np.array(pair.bounds)[pair.sides] if bounded else size < 0
        yield f"nSV = {np.count_nonzero(size)}, nBSV = {np.count_nonzero(at_bound)}"
    yield f"Total nSV = {fitted.support_.size}"


class _Pair(NamedTuple):
    """Coefficients of the support vectors of a pair of classes, and their bounds."""

    coefs: np.ndarray
    sides: np.ndarray  # 0 for a support vector of the first class, 1 for one of the second
    bounds: tuple[float, float]
    n_samples: int


def _pairs(fitted: Any, y: np.ndarray, lams: np.ndarray) -> Iterator[_Pair]:
    """The pairs of a classifier, or the only problem of a regression."""
    if not hasattr(fitted, "classes_"):
        coefs, bound = fitted.dual_coef_[0], 1.0 / (lams[0] * y.size)
        yield _Pair(coefs, np.zeros(coefs.size, dtype=int), (bound, bound), y.size)
        return
    classes, sizes = np.unique(y, return_counts=True)
    weights = class_weights(fitted.class_weight, classes, y)
    of_class = np.repeat(np.arange(classes.size), fitted.n_support_)
    coefs = pair_coefficients(fitted.dual_coef_, fitted.n_support_)
    for number, (i, j) in enumerate(combinations(range(classes.size), 2)):
        inside = (of_class == i) | (of_class == j)
        # That is C times the weight: lam is 1 / (C · Σ weights).
        unit = 1.0 / (lams[number] * (sizes[i] * weights[i] + sizes[j] * weights[j]))
        bounds = (float(unit * weights[i]), float(unit * weights[j]))
        sides = (of_class[inside] == j).astype(int)
        yield _Pair(coefs[number, inside], sides, bounds, int(sizes[i] + sizes[j]))
