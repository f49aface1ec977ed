"""Certificates with any intercept, of labels and of numbers, are true of the model as returned.

A free intercept with C up to 1e13; targets far from zero, and within the last digits of epsilon
from it. What is judged is the model: its coefficients and its intercept, float64 all of them, in
long double. The judge looks for a better intercept too, and uses nothing of the package.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from tests.campaigns import _reference as judge
from tests.campaigns._reference import LONG, UNIT, KernelSpec
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 60
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


# --- what is drawn --------------------------------------------------------------------------------


def _rows(rng, n):
    """Rows of features of several sizes, in the middle of nowhere now and then."""
    d = int(rng.integers(1, 9))
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(0, rng.uniform(0, 3), size=d)
    if some(rng, 0.3):
        rows = rng.integers(0, 256, size=(n, d)).astype(float)
    if some(rng, 0.3):
        rows += power(rng, 0, 4) * rng.normal(size=d)
    if some(rng, 0.2):
        rows[:, 0] = np.round(rows[:, 0]) + pick(rng, [2e3, -1e5, 1e7])
    return rows.astype(np.float32 if some(rng, 0.2) else np.float64)


def _kernel(rng, rows):
    """A kernel, and whether the primal solver has it; parameters of the estimator for it."""
    scale = float(np.abs(rows).max()) or 1.0
    name = pick(rng, [None, None, "linear", "rbf", "rbf", "poly"])
    if name is None:
        return KernelSpec("linear"), True, {}
    spec = KernelSpec(name, power(rng, -3, 2) / scale**2, 2, pick(rng, [0.0, 1.0]))
    resources = {
        "cache": pick(rng, ["auto", "cached"]),
        "row_dtype": pick(rng, ["auto", "float64"]),
    }
    named = {"kernel": name, "gamma": spec.gamma, "degree": spec.degree, "coef0": spec.coef0}
    return spec, False, named | resources


def _options(rng):
    """Parameters of every estimator."""
    options = {
        "epochs": pick(rng, [1.0, 5.0, 20.0]),
        "average": pick(rng, ["weighted", "uniform", None]),
        "intercept_scaling": 1.0 if some(rng, 0.5) else power(rng, -1, 1),
        "random_state": int(rng.integers(2**31)),
        "max_time": 0.3,
    }
    if some(rng, 0.7):
        options |= {"polish": True, "tol": power(rng, -9, -1)}
    return options


def _labels(rng, rows):
    """Labels, and what a classifier is asked for."""
    n = len(rows)
    noise = some(rng, 0.5) * power(rng, -1, 1) * rng.normal(size=n)
    y = np.where(np.argsort(np.argsort(rows[:, 0] + noise)) < rng.integers(1, n), -1.0, 1.0)
    loss = "squared_hinge" if some(rng, 0.15) else "hinge"
    return y, {"C": power(rng, -2, 13), "fit_intercept": "free", "loss": loss}


def _numbers(rng, rows):
    """Targets, and what a regression is asked for."""
    n, spread, epsilon = len(rows), power(rng, -8, 4), 0.0 if some(rng, 0.3) else power(rng, -3, 3)
    y = spread * (rng.normal(size=n) + some(rng, 0.7) * rows[:, 0] / (np.abs(rows).max() or 1.0))
    kind = rng.random()
    if kind < 0.4:  # prices, timestamps
        y += power(rng, 0, 13) * pick(rng, [-1.0, 1.0])
    elif kind < 0.7:
        y = epsilon * (pick(rng, [-1.0, 1.0]) + power(rng, -16, -4) * rng.normal(size=n))
    options = {"C": power(rng, -4, 8), "fit_intercept": pick(rng, [True, True, False, "free"])}
    options |= {"epsilon": epsilon, "loss": "squared_" * some(rng, 0.2) + "epsilon_insensitive"}
    return np.round(y) if some(rng, 0.2) else y, options


def _median(y, weight):
    """The weighted median, the least of several."""
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(weight[order])
    return float(y[order[np.searchsorted(sums, 0.5 * sums[-1])]])


def _task_of(model, rows, y, weight, spec):
    """The problem that a model was fitted to."""
    n = len(y)
    rows = rows.astype(LONG) - getattr(model, "_centre", 0)  # which rounds nothing
    kernel = judge.kernel_values(spec, rows, rows)
    error = judge.value_error(spec, rows, rows, UNIT) + 4 * (n + 4) * UNIT * np.abs(kernel)
    free, epsilon = model.fit_intercept == "free", getattr(model, "epsilon", None)
    middle = _median(y, weight) if epsilon is not None and model.fit_intercept else 0.0
    scaling = None if free else model.intercept_scaling * model.fit_intercept
    weight = weight.astype(LONG)
    numbers = y.astype(LONG) - LONG(middle), weight / weight.mean(), LONG(model.lam_)
    return Task(kernel, error, *numbers, epsilon, "squared" in model.loss, scaling, middle)


def trial(rng):
    """Fit one problem, and judge what the fit says."""
    draw, kinds = pick(
        rng,
        [
            (_labels, (PegasosSVC, LinearPegasosSVC)),
            (_numbers, (PegasosSVR, LinearPegasosSVR)),
        ],
    )
    rows = _rows(rng, int(rng.integers(2, 40)))
    spec, is_primal, kernel = _kernel(rng, rows)
    y, options = draw(rng, rows)
    model = kinds[is_primal](**options, **_options(rng), **kernel)
    weight = np.ones(len(y))
    if some(rng, 0.4):
        weight = 10.0 ** rng.uniform(-pick(rng, [1, 4]), 3, size=len(y))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(rows, y, weight)
        judge_claim(_task_of(model, rows, y, weight, spec), told_by(model, len(y)), rows)
    except Exception as error:
        if "intercept_scaling must be at most" in str(error):
            return "one clear sentence"
        about = f"{rows.dtype}, {rows.shape}, {spec}, {model}"
        raise AssertionError(f"{type(error).__name__}: {error}\nin {about}") from error
    kind = f"{type(model).__name__}, intercept={model.fit_intercept}"
    return f"{kind}, {'near' if model.relative_gap_ < 0.1 else 'far'}"
