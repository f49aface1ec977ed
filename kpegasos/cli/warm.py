"""``kpegasos warm``: what fits, searches and predictions need is compiled ahead."""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy import sparse

import kpegasos
from kpegasos.core.certificate import dual_bounds, limits_of
from kpegasos.core.views import add_rows_together
from kpegasos.fitting.observers import cell_bar
from kpegasos.losses.base import bests, pulls, values
from kpegasos.losses.standard import CLASSIFICATION, REGRESSION, make_loss


def run(options: argparse.Namespace) -> int:
    """Make small fits of each kind, in processes; returns the exit status."""
    with (
        ProcessPoolExecutor(min(cpu_count(), len(FITS)), get_context("spawn")) as pool,
        cell_bar(not options.quiet, "compile", len(FITS), unit="kinds of fits") as advance,
    ):
        try:  # a pool would wait for all fits
            for done in as_completed([pool.submit(fit, index) for index in range(len(FITS))]):
                done.result()
                advance(1)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenExecutor):
                raise ChildProcessError("a process of kpegasos warm was ended") from None
            raise
    return 0


_POLISH, _SEARCH = {"polish": True}, {"Cs": [1.0, 10.0], "gammas": 1, "cv": 3}
#: Estimators, parameters, and the data that each is fitted to, one after the other, as `examples`
#: has them. What shares much is one kind, or comes late: two processes would compile it twice.
FITS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("PegasosSVC", _POLISH, "dense classes"),
    ("LinearPegasosSVC", _POLISH, "dense two three sparse sparse-two"),
    *(("LinearPegasosSVC", _POLISH | {"loss": loss}, "dense sparse") for loss in CLASSIFICATION),
    *(("LinearPegasosSVR", _POLISH | {"loss": loss}, "dense sparse") for loss in REGRESSION),
    *(("PegasosSVC", _POLISH | {"loss": loss}, "dense") for loss in CLASSIFICATION),
    *(("PegasosSVR", _POLISH | {"loss": loss}, "dense") for loss in REGRESSION),
    ("PegasosSVC", _POLISH, "float32"),
    ("LinearPegasosSVC", _POLISH, "float32 sparse32"),
    ("PegasosSVC", {}, "classes"),
    ("PegasosSVCCV", _SEARCH, "dense sparse classes"),
    ("PegasosSVC", _POLISH, "many"),
    ("PegasosSVC", {"cache": "cached", "cache_mb": 1}, "many"),
    ("PegasosSVC", _POLISH, "pixels"),
    *(("PegasosSVC", {"kernel": kernel}, "dense sparse") for kernel in ("linear", "laplacian")),
    ("PegasosSVC", {"kernel": "poly"}, "sparse"),
    ("sdca", {}, "dense sparse"),
)


def examples(kind: str, *, regression: bool) -> tuple[Any, np.ndarray]:
    """Draw examples of a kind."""
    rng = np.random.default_rng(0)
    sizes = {"two": 2, "three": 3, "many": 2001, "pixels": 2001}
    n_samples = sizes.get(kind.removeprefix("sparse-"), 100)
    X: Any = rng.normal(size=(n_samples, 3))
    if kind == "pixels":
        X = rng.integers(0, 256, X.shape).astype(np.float32)
    y = X[:, 0] if regression else np.arange(n_samples) % (5 if kind == "classes" else 2)
    X = X.astype(np.float32) if kind.endswith("32") else X
    return (sparse.csr_matrix(X) if kind.startswith("sparse") else X), y


def fit(index: int) -> None:
    """Make the fits of a kind, with the intercepts that it has, and predict."""
    name, parameters, kinds = FITS[index]
    regression = name.endswith("SVR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the data are noise
        for kind in kinds.split():
            X, y = examples(kind, regression=regression)
            if name == "sdca":
                _solve(X, y)
                continue
            for intercept in (True,) if name == "PegasosSVCCV" else (True, "free"):
                estimator = getattr(kpegasos, name)(fit_intercept=intercept, random_state=0)
                estimator.set_params(**parameters).fit(X, y).predict(X)
    if "loss" in parameters:
        loss = make_loss(parameters["loss"], regression=regression)
        columns = np.full((4, 1), 0.5)
        values(loss, *columns[:2]), pulls(loss, *columns[:2]), bests(loss, *columns)


def _solve(X: Any, y: np.ndarray) -> None:
    """Solve by the functional layer."""
    problem = kpegasos.make_problem(2 * y - 1, C=1.0)
    kpegasos.sdca(problem, kpegasos.linear_rows(X), random_state=0)
    kpegasos.sdca(problem, kpegasos.make_rows(X, gamma=1.0), random_state=0)
    limits = limits_of(problem.loss)
    dual_bounds(problem.examples, limits, np.zeros(y.size), 0.0, 0.0, problem.lam)
    K, moves = np.eye(2), np.zeros(2)
    add_rows_together(K, K[:0], np.arange(2), moves, moves, 0.0, moves.copy(), moves[:0])
