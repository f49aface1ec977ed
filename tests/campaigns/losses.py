"""A certificate is true for every loss: no optimum lies below the bound, no gap is too small.

Small problems of each loss over linear, RBF and composed kernels, solved by another road in
`tests.naive_losses`: scipy's L-BFGS-B on the dual or the primal. Runs are steps with their rules,
averages and batches, dual ascent, and steps that working sets or coordinates go on from.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from kpegasos import (
    RBF,
    Constant,
    DelayedInverse,
    InverseSquareRoot,
    Linear,
    Polynomial,
    Problem,
    Result,
    linear_rows,
    losses,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.state import PegasosOptions
from kpegasos.rows.base import RowSource
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper
from tests import naive_losses
from tests.campaigns._fits import check

CI_TRIALS = 60

_KINDS = (*losses.CLASSIFICATION.values(), *losses.REGRESSION.values())
_STEPS = (None, None, InverseSquareRoot(0.5), Constant(0.1), DelayedInverse())
#: How far off the other road may be, relative to the objective at w = 0.
_OTHER_ROAD = 1e-8


def _problem(kind: Any, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw examples, and targets, loss, λ and weights."""
    loss = kind(*rng.uniform(0.05, 1.5, len(kind._fields)))
    n_samples, n_features = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_samples, n_features)) * 10.0 ** rng.uniform(-1, 1)
    y = rng.normal(size=n_samples) * 10.0 ** rng.uniform(-1, 1)
    weight = rng.uniform(0.2, 3.0, n_samples) if rng.random() < 0.5 else None
    return X.astype((np.float32, np.float64)[rng.integers(2)]), {
        "y": y if loss.regression else np.where(y > 0, 1.0, -1.0),
        "lam": float(10.0 ** rng.uniform(-3, 0.5)),
        "sample_weight": weight,
        "loss": loss,
    }


def _rows(X: np.ndarray, rng: np.random.Generator) -> tuple[str, RowSource, np.ndarray]:
    """Draw a kernel: its name, rows of it, and its matrix by scikit-learn."""
    wide = X.astype(np.float64)
    name = ("linear", "rbf", "sum", "product")[rng.integers(4)]
    if name == "linear":
        return name, linear_rows(X), wide @ wide.T
    rbf = rbf_kernel(wide, gamma=0.3)
    if name == "rbf":
        return name, make_rows(X, "rbf", gamma=0.3), rbf
    if name == "sum":
        return name, make_rows(X, RBF(0.3) + 0.5 * Linear()), rbf + 0.5 * (wide @ wide.T)
    kernel = RBF(0.3) * Polynomial(0.1, 2, 1.0)
    return name, make_rows(X, kernel), rbf * polynomial_kernel(wide, None, 2, 0.1, 1.0)


def _steps(problem: Problem, rows: RowSource, rng: np.random.Generator) -> Result:
    return pegasos(
        problem,
        rows,
        n_steps=int(10 ** rng.uniform(0, 3)),
        step=_STEPS[rng.integers(len(_STEPS))],
        average=("weighted", "uniform", "suffix", None)[rng.integers(4)],
        batch_size=int(rng.integers(1, problem.y.size + 1)),
        projection=bool(rng.random() < 0.3),
        random_state=int(rng.integers(1000)),
    )


def _ascent(problem: Problem, rows: RowSource, rng: np.random.Generator, tol: float) -> Result:
    return sdca(problem, rows, tol=tol, max_epochs=300, random_state=int(rng.integers(1000)))


def _polished(problem: Problem, rows: RowSource, rng: np.random.Generator, tol: float) -> Result:
    run = make_run(
        problem,
        rows,
        PegasosOptions(),
        n_steps=int(rng.integers(1, 40)),
        epochs=1,
        checkpoints=None,
        tol=None,
        seed=int(rng.integers(1000)),
    )
    while not run.finished:
        run.advance(Stopper())
    return polish(run, tol=tol, max_epochs=300)


def trial(rng: np.random.Generator) -> dict[str, int]:
    """Draw a problem, fit it and hold its certificate against the optimum."""
    kind = _KINDS[rng.integers(len(_KINDS))]
    X, given = _problem(kind, rng)
    kernel, rows, K = _rows(X, rng)
    problem = make_problem(**given)
    way, tol = ("steps", "steps", "ascent", "polish")[rng.integers(4)], 10.0 ** rng.uniform(-6, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if way == "steps":
            result = _steps(problem, rows, rng)
        else:
            result = (_ascent if way == "ascent" else _polished)(problem, rows, rng, tol)
    loss, name = given["loss"], kind.__name__
    y, lam, weight = given["y"], given["lam"], given["sample_weight"]
    told = {"loss": loss, "lam": lam, "way": way, "kernel": kernel, "n_samples": y.size}
    values = {"weight": weight, **loss._asdict()}
    optimum = naive_losses.optimum(name, K, y, lam, **values)
    own = naive_losses.objective(name, K, y, lam, result.coef, **values)
    zero = naive_losses.objective(name, K, y, lam, 0.0 * result.coef, **values)
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
    reached = way != "steps" and result.status == "tolerance"
    check(not reached or result.relative_gap <= tol, "tol is kept", **told)
    return {name: 1}
