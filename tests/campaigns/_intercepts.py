"""A judge of models of labels or numbers, with an intercept of any kind.

What is judged is the model as it was returned: its coefficients and its intercept, float64 all of
them, in long double. Nothing of the package is used.
"""

from typing import Any, NamedTuple

import numpy as np

from tests.campaigns import _reference as judge
from tests.campaigns._reference import LONG, UNIT
from tests.campaigns.harness import check

_DOUBLE = np.finfo(float).eps


class Task(NamedTuple):
    """``lam/2 ‖w‖² + mean(weight · loss(<w, φ(x)> + b, y))``.

    Attributes
    ----------
    kernel, error : ndarray of shape (n_samples, n_samples)
        Values and what they may be off by, without a constant feature.
    y, weight : ndarray of shape (n_samples,)
        Labels ±1, or numbers less ``middle``; weights of mean one.
    lam : float
    epsilon : float or None
        Of a regression.
    squared : bool
        Whether the loss is the square of the hinge, or of what is beyond epsilon.
    scaling : float or None
        Size of the constant feature, 0 for no intercept; None if the intercept is free.
    middle : float
        What is taken off targets, and off the intercept: long double has no digits left beside it.
    """

    kernel: np.ndarray
    error: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    lam: Any
    epsilon: float | None
    squared: bool
    scaling: float | None
    middle: float

    def losses(self, decisions):
        """Losses in long double."""
        if self.epsilon is None:
            found = np.maximum(0, 1 - self.y * decisions)
        else:
            found = np.maximum(0, np.abs(decisions - self.y) - LONG(self.epsilon))
        return found**2 if self.squared else found

    def penalty(self, squared_norm, constant):
        """``lam/2 ‖w‖²``, with what a regularised intercept adds, of this share of the feature."""
        if self.scaling:
            squared_norm = squared_norm + constant**2
        return self.lam / 2 * squared_norm

    def best(self, f, squared_norm):
        """Objective with the best intercept for these decisions without one."""
        kinks = self.y - f
        if self.epsilon is not None:
            kinks = np.concatenate((kinks - LONG(self.epsilon), kinks + LONG(self.epsilon)))
        least = min((self.weight * self.losses(f + b)).mean() for b in kinks)
        return self.lam / 2 * squared_norm + least

    def reached(self):
        """An objective that some model has, near the least where the dual is a box."""
        signs = np.ones(self.y.size) if self.epsilon is not None else self.y
        # A free intercept is that of a feature which costs next to nothing.
        size = self.scaling
        if size is None:
            size = float(np.sqrt(1e3 * (np.abs(np.diag(self.kernel)).max() + 1)))
        kernel = self.kernel + LONG(size) ** 2
        gains, of = np.ones(self.y.size), np.arange(self.y.size)
        if self.epsilon is not None:
            signs = np.repeat([LONG(1), LONG(-1)], self.y.size)
            of = np.tile(of, 2)
            gains = signs * self.y[of] - LONG(self.epsilon)
        signed = signs * self.weight[of]
        scale = 1 / (self.lam * self.y.size)
        hessian = (scale * signed[:, None] * kernel[np.ix_(of, of)] * signed).astype(float)
        linear = (gains * self.weight[of]).astype(float)
        with np.errstate(all="ignore"):
            found = [judge.interior_point(hessian, linear), np.zeros(of.size)]
        judge.ascend(hessian, linear, found[1], np.arange(of.size), 200)
        lowest = LONG(np.inf)
        for beta in found:
            coef = np.zeros(self.y.size, LONG)
            np.add.at(coef, of, np.clip(beta, 0.0, 1.0) * signed * scale)
            f, constant = self.kernel @ coef, LONG(size) * coef.sum()
            if self.scaling is None:
                value = self.best(f, coef @ f)
            else:
                own = f + LONG(size) * constant
                value = self.penalty(coef @ f, constant) + (self.weight * self.losses(own)).mean()
            lowest = min(lowest, value + self.shift(coef))
        return lowest

    def shift(self, coef):
        """How far an objective moves, at most, when kernel values move by their error."""
        size = np.abs(coef)
        margins = self.error @ size
        return self.lam / 2 * (size @ margins) + (self.weight * margins).mean()


class Told(NamedTuple):
    """A model of one problem, and what is said of it.

    Attributes
    ----------
    coef : ndarray of shape (n_samples,)
    w : ndarray of shape (n_features,) or None
        Of a primal model.
    centre : ndarray of shape (n_features,) or 0
        Taken off rows before that.
    intercept, objective, gap, bound : float
    interval : tuple of float or None
        Of a free intercept: its ends, and what lies between them.
    """

    coef: np.ndarray
    w: np.ndarray | None
    centre: np.ndarray | int
    intercept: float
    objective: float
    gap: float
    bound: float
    interval: tuple[float, float, float] | None


def told_by(model, n_samples):
    """What a model of two classes or of numbers says."""
    coef = np.zeros(n_samples)
    coef[model.support_] = model.dual_coef_[0]
    w = model.coef_.ravel() if type(model).__name__.startswith("Linear") else None
    # Decisions of centred rows are made with the intercept of these.
    b, centre = getattr(model, "_centred_intercept", model.intercept_)[0], 0
    if hasattr(model, "_rounded_off"):
        centre = model._centre
        b = (b + w @ centre) + model._rounded_off[0]
    numbers = float(b), model.objective_, model.duality_gap_
    bound = float(np.max(model.history_["dual_bound"]))
    interval = None
    if hasattr(model, "intercept_interval_"):
        interval = (*model.intercept_interval_[0], model.intercept_[0])
    return Told(coef, w, centre, *numbers, bound, interval)


def judge_claim(task, told, rows):
    """Compare what is said of a model with the model, and with what others reach."""
    coef, b = told.coef.astype(LONG), LONG(told.intercept) - LONG(task.middle)
    if told.w is not None:
        wide, w = rows.astype(LONG) - told.centre, told.w.astype(LONG)
        f, squared_norm, moved = wide @ w, w @ w, LONG(0)
        largest = (np.abs(wide) @ np.abs(w)).max()
        constant = b / task.scaling if task.scaling else LONG(0)
    else:
        f, moved = task.kernel @ coef, task.shift(coef)
        squared_norm, largest = coef @ f, (np.abs(task.kernel) @ np.abs(coef)).max()
        constant = LONG(task.scaling or 0) * coef.sum()
    own = task.penalty(squared_norm, constant) + (task.weight * task.losses(f + b)).mean()
    said = {"objective": told.objective, "gap": told.gap, "bound": told.bound, "own": own}
    last_digits = moved + 8 * _DOUBLE * abs(own) + 64 * UNIT * (task.weight * np.abs(f)).mean()
    check(np.isfinite([told.objective, told.gap]).all(), "objective and gap are finite", **said)
    within = own - told.bound <= told.gap + last_digits
    check(within, "the model is within its gap", **said)
    is_own = abs(told.objective - own) <= told.gap + last_digits
    check(is_own, "the objective is the model's own", **said)
    reached = task.reached()
    if told.w is None and task.scaling:  # the intercept of these coefficients, unrounded
        decisions = f + LONG(task.scaling) * constant
        exact = task.penalty(squared_norm, constant) + (task.weight * task.losses(decisions)).mean()
        reached = min(reached, exact + moved)
    else:
        reached = min(reached, own + moved)
    below = told.bound <= reached * (1 + 4 * LONG(_DOUBLE))
    check(below, "no model is below the bound", reached=reached, **said)
    if task.scaling is None and not task.squared:
        narrow = told.w is None and rows.dtype == np.float32
        _judge_intercept(task, told, f, squared_norm, own, largest, told.gap if narrow else 0.0)


def _judge_intercept(task, told, f, squared_norm, own, largest, of_float32):
    """No other intercept is better, beyond what margins and intercept are rounded by.

    Margins of float32 are computed once more only where rounding is a good part of the gap.
    """
    best, n_terms = task.best(f, squared_norm), f.size + 64
    rounding = 2 * n_terms * _DOUBLE * (largest + abs(told.intercept))
    slack = rounding * max(1.0, float(task.weight.max())) + 1e-9 * own + of_float32
    check(own - best <= slack, "no intercept is better", own=own, best=best, slack=slack)
    low, high, b = told.interval
    check(low <= b <= high, "the intercept is in its interval", low=low, is_=b, high=high)
