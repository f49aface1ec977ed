"""A certificate is true for every loss: no optimum lies below the bound, no gap is too small.

Small problems of each loss, solved by another road in `tests.naive_losses`: scipy's L-BFGS-B on the
dual or the primal. Fits are plain ones with step rules, averages and batches, dual ascent, and
polished estimators.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import (
    Constant,
    DelayedInverse,
    InverseSquareRoot,
    linear_rows,
    losses,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from tests import naive_losses
from tests.campaigns._fits import check

CI_TRIALS = 60

_KINDS = (*losses.CLASSIFICATION.values(), *losses.REGRESSION.values())
_STEPS = (None, None, InverseSquareRoot(0.5), Constant(0.1), DelayedInverse())
#: How far off the other road may be, relative to the objective at w = 0.
_OTHER_ROAD = 1e-8


def trial(rng: np.random.Generator) -> dict[str, int]:
    """Draw a problem, fit it and hold its certificate against the optimum."""
    kind = _KINDS[rng.integers(len(_KINDS))]
    parameters = {name: float(rng.uniform(0.05, 1.5)) for name in kind._fields}
    loss = kind(**parameters)
    n_samples, n_features = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_samples, n_features)) * 10.0 ** rng.uniform(-1, 1)
    y = rng.normal(size=n_samples) * 10.0 ** rng.uniform(-1, 1)
    if not loss.regression:
        y = np.where(y > 0, 1.0, -1.0)
    weight = rng.uniform(0.2, 3.0, n_samples) if rng.random() < 0.5 else None
    lam = float(10.0 ** rng.uniform(-3, 0.5))
    is_linear, dtype = rng.random() < 0.4, (np.float32, np.float64)[rng.integers(2)]
    X = X.astype(dtype)
    problem = make_problem(y, lam, weight, loss=loss)
    wide = X.astype(np.float64)
    K = wide @ wide.T if is_linear else rbf_kernel(wide, gamma=0.3)
    rows = linear_rows(X) if is_linear else make_rows(X, "rbf", gamma=0.3)
    by_ascent = rng.random() < 0.3
    seed = int(rng.integers(1000))
    options: dict[str, Any] = {"random_state": seed}
    if by_ascent:
        options |= {"tol": 10.0 ** rng.uniform(-6, -1), "max_epochs": 300}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = sdca(problem, rows, **options)
    else:
        options |= {
            "step": _STEPS[rng.integers(len(_STEPS))],
            "average": ("weighted", "uniform", "suffix", None)[rng.integers(4)],
            "batch_size": int(rng.integers(1, n_samples + 1)),
            "projection": bool(rng.random() < 0.3),
            "n_steps": int(10 ** rng.uniform(0, 3)),
        }
        result = pegasos(problem, rows, **options)
    name = kind.__name__
    told: dict[str, Any] = {"loss": loss, "lam": lam, "options": options, "n_samples": n_samples}
    optimum = naive_losses.optimum(name, K, y, lam, weight=weight, **parameters)
    own = naive_losses.objective(name, K, y, lam, result.coef, weight=weight, **parameters)
    zero = naive_losses.objective(name, K, y, lam, 0.0 * result.coef, weight=weight, **parameters)
    slack = _OTHER_ROAD * max(zero, abs(own))
    check(
        result.dual_bound <= optimum + slack,
        "no optimum lies below the bound",
        bound=result.dual_bound,
        optimum=optimum,
        **told,
    )
    check(
        own - optimum <= result.gap + slack,
        "no model is farther from the optimum than its gap",
        excess=own - optimum,
        gap=result.gap,
        **told,
    )
    reached = result.status == "tolerance"
    check(not reached or result.relative_gap <= options["tol"], "tol is kept", **told)
    return {f"{name}, {'ascent' if by_ascent else 'steps'}": 1}
