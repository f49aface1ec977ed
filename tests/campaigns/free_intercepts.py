"""Certificates with a free intercept are true of the model as returned, up to C of 1e13.

Labels and kernels of all kinds, and features, are judged by `tests.campaigns._intercepts`, which
looks for a better intercept too.
"""

import numpy as np

from kpegasos import LinearPegasosSVC, PegasosSVC
from tests.campaigns import _reference as judge
from tests.campaigns._intercepts import Task, judge_claim, told_by
from tests.campaigns._reference import LONG, UNIT, KernelSpec
from tests.campaigns.harness import pick, power, some

CI_TRIALS = 30


def draw_rows(rng, n):
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


def draw_weight(rng, n):
    """Weights, or none."""
    return None if some(rng, 0.6) else 10.0 ** rng.uniform(-pick(rng, [1, 4]), 3, size=n)


def draw_kernel(rng, rows):
    """A kernel by its specification; None for the primal solver."""
    scale = float(np.abs(rows).max()) or 1.0
    name = pick(rng, [None, None, "linear", "rbf", "rbf", "poly"])
    if name is None:
        return None
    return KernelSpec(name, power(rng, -3, 2) / scale**2, 2, pick(rng, [0.0, 1.0]))


def draw_options(rng):
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


def of_kernel(rng, spec):
    """Parameters of a kernel estimator."""
    return {
        "kernel": spec.name,
        "gamma": spec.gamma,
        "degree": spec.degree,
        "coef0": spec.coef0,
        "cache": pick(rng, ["auto", "cached"]),
        "row_dtype": pick(rng, ["auto", "float64"]),
    }


def task_of(model, rows, y, weight, spec, middle=0.0, **parts):
    """The problem that a model was fitted to."""
    n, spec = len(y), spec or KernelSpec("linear")
    rows = rows.astype(LONG) - getattr(model, "_centre", 0)  # which rounds nothing
    weight = np.ones(n, LONG) if weight is None else weight.astype(LONG)
    kernel = judge.kernel_values(spec, rows, rows)
    error = judge.value_error(spec, rows, rows, UNIT) + 4 * (n + 4) * UNIT * np.abs(kernel)
    numbers = y.astype(LONG) - LONG(middle), weight / weight.mean(), LONG(model.lam_)
    return Task(kernel, error, *numbers, **parts, middle=middle)


def trial(rng):
    """Fit one problem, and judge what the fit says."""
    n = int(rng.integers(2, 40))
    rows, weight = draw_rows(rng, n), draw_weight(rng, n)
    noise = some(rng, 0.5) * power(rng, -1, 1) * rng.normal(size=n)
    y = np.where(np.argsort(np.argsort(rows[:, 0] + noise)) < rng.integers(1, n), -1.0, 1.0)
    spec, squared = draw_kernel(rng, rows), some(rng, 0.15)
    options = draw_options(rng) | {"C": power(rng, -2, 13), "fit_intercept": "free"}
    options["loss"] = "squared_hinge" if squared else "hinge"
    if spec is None:
        model = LinearPegasosSVC(**options)
    else:
        model = PegasosSVC(**options, **of_kernel(rng, spec))
    try:
        try:
            model.fit(rows, y, weight)
        except ValueError as error:
            if "intercept_scaling must be at most" in str(error):
                return "one clear sentence"
            raise
        task = task_of(model, rows, y, weight, spec, epsilon=None, squared=squared, scaling=None)
        judge_claim(task, told_by(model, n), rows)
    except Exception as error:
        about = f"{rows.dtype}, {rows.shape}, weighted={weight is not None}, {spec}, {options}"
        raise AssertionError(f"{type(error).__name__}: {error}\nin {about}") from error
    kind = "primal" if spec is None else spec.name
    return f"{kind}, {'near' if model.relative_gap_ < 0.1 else 'far'}"
