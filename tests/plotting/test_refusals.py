"""What does not fit is refused: a sentence of the parameter and what came, no empty figure."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from search_cases import CS, GAMMAS, search_of, solutions, table
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC

import kpegasos.plotting
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import (
    ConvergenceDisplay,
    DecisionRegionDisplay,
    RegularizationPathDisplay,
    ValidationSurfaceDisplay,
)

SCORES = [[0.5, 0.6, 0.7], [0.8, 0.9, 0.88]]
GRID = {"C": CS, "gamma": GAMMAS}
APART = {"C": np.geomspace(0.1, 10, 50), "gamma": np.geomspace(0.1, 10, 50)}
REGIONS = {"xx": [0, 1, 2], "yy": [0, 1], "values": np.zeros((2, 3)), "X": np.zeros((4, 2))}
REGIONS |= {"y": np.zeros(4), "support": [0, 1], "classes": [0, 1]}
CURVES = {"iteration": [1, 10, 100], "gap": [1, 1, 1], "cache_hits": [1, 2, 3]}
CURVES |= {"epoch": [0.1, 1, 10], "objective_last": [9, 9, 9], "dual_bound": [-1, 0, 1]}
CURVES |= {"objective_average": [3.0, 2.0, 1.5]}
SHORT = {**table(SCORES), "mean_fit_time": np.ones(5)}
RUNS = [{"iteration": [1], "gap": [1.0]}, {"iteration": [1, 2], "gap": [1.0, 0.5]}]


@cache
def iris():
    return PegasosSVC(epochs=2, random_state=0).fit(*load_iris(return_X_y=True))


@cache
def stream():
    return LinearPegasosSVC().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])


@cache
def search(name):
    X, y = load_iris(return_X_y=True)
    if name == "scattered":
        return RandomizedSearchCV(SVC(), APART, cv=3, n_iter=6, random_state=0).fit(X, y)
    two_kernels = [{"kernel": ["linear"], "C": CS}, {"kernel": ["rbf"], **GRID}]
    grids = {"one gamma": {"C": CS, "gamma": [0.5]}, "scale": {"C": CS, "gamma": ["scale", 0.5]}}
    grid = {**grids, "C": {"C": CS}, "kernels": two_kernels}[name]
    return GridSearchCV(SVC(), grid, cv=3).fit(X, y)


def regions(**change):
    DecisionRegionDisplay(**{**REGIONS, **change})


def regions_of(X):
    DecisionRegionDisplay.from_estimator(iris(), X, np.zeros(len(X)))


def surface(results=None, best_index=None, **options):
    found = search_of(table(SCORES) if results is None else results, best_index)
    ValidationSurfaceDisplay.from_estimator(found, **options)


def surface_of(name):
    ValidationSurfaceDisplay.from_estimator(iris() if name == "iris" else search(name))


def plain_surface(**change):
    ValidationSurfaceDisplay(**{"Cs": CS, "gammas": GAMMAS, "scores": SCORES, **change})


def path(results=None, **options):
    found = search_of(table(SCORES) if results is None else results)
    RegularizationPathDisplay.from_estimator(found, **options)


def path_of(change=None, **options):
    found = solutions()
    vars(found).update(change or {})
    RegularizationPathDisplay.from_path(found, **options)


def plain_path(curve, **options):
    RegularizationPathDisplay(Cs=CS, values=curve, **options)


def convergence(runs=CURVES, **options):
    ConvergenceDisplay.from_history(runs, ax=Figure().subplots(), **options)


def history_of(model):
    ConvergenceDisplay.from_estimator(model)


def says(*parts):
    """Pattern of a one-sentence message: the parameter, what was expected and what came."""
    return r"^[^.\n]*" + r"[^\n]*".join(parts) + r"[^\n]*(?<!\.)$"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: regions(values=np.zeros((3, 2))), (r"values .*\(2, 3\), got \(3, 2\)",)),
        (lambda: regions(y=np.zeros(3)), (r"y .*4 rows of X, got shape \(3,\)",)),
        (lambda: regions(counts=[1.0]), (r"counts .*2 support vectors, got shape \(1,\)",)),
        (lambda: regions(counts=[1.0, -1.0]), ("counts must not be negative, got -1",)),
        (lambda: regions_of(np.zeros((9, 4))), (r"X must have shape \(n, 2\), got \(9, 4\)",)),
        (lambda: surface_of("one gamma"), ("two values", "got 3 and 1", "Regularization")),
        (lambda: surface_of("scale"), ("number for param_gamma", "got 'scale'")),
        (lambda: surface_of("C"), ("one parameter gamma", r"got \['param_C'\]", "Path")),
        (lambda: surface_of("scattered"), ("a grid of C and gamma", "got 6 cells")),
        (lambda: surface_of("kernels"), ("positive number for param_gamma", "got")),
        (lambda: surface_of("iris"), ("search must be", "cv_results_", "PegasosSVC")),
        (lambda: surface(best_index=6), ("best_index must be at most 5", "got 6")),
        (lambda: surface(metric="f1"), ("metric must name a column", "'mean_test_f1'")),
        (lambda: surface({**table(SCORES), "param_C": [1.0]}), ("of the 6 cells", "got 1")),
        (lambda: plain_surface(scores=np.ones((3, 2))), (r"scores .*\(2, 3\)", r"got \(3, 2\)")),
        (lambda: plain_surface(Cs=CS[::-1]), ("Cs must be increasing positive numbers", "got")),
        (lambda: plain_surface(chosen=6), ("chosen must be at most 5", "got 6")),
        (lambda: path_of({"n_support": [1]}, y="n_support"), (r"path\.n_support", r"shape \(1,\)")),
        (lambda: path_of(y="speed"), ("path must have what y names, got none of 'speed'",)),
        (lambda: path(y="speed"), ("y must name a column of cv_results", "'speed'")),
        (lambda: path(SHORT, y="mean_fit_time"), ("each of the 6 cells", r"got shape \(5,\)")),
        (lambda: plain_path(SCORES[0], chosen=0), ("chosen must be a positive", "got 0")),
        (lambda: plain_path([1.0]), ("values must have an entry for each of the 3", "got shape")),
        (lambda: convergence(y="suboptimality"), ("optimum must be given", "got None")),
        (lambda: convergence(y=["gap", "dual_bound"]), ("y must name columns of one kind", "got")),
        (lambda: convergence(x="cache_hits"), ("x must be one of", "got 'cache_hits'")),
        (lambda: convergence(x="seconds"), ("must have the column 'seconds' for x or y",)),
        (lambda: convergence(label="one"), ("label must name each of the 3 curves", "got 1")),
        (lambda: convergence(RUNS, y="gap"), ("runs must have the same checkpoints", "got")),
        (lambda: convergence([]), ("runs must be a history", r"got \[\]")),
        (lambda: convergence({**CURVES, "gap": [1]}, y="gap"), ("3 checkpoints, got 1",)),
        (lambda: history_of(stream()), ("history_", "got LinearPegasosSVC")),
        (lambda: history_of(iris()), ("of several classes from_history takes each", "PegasosSVC")),
    ],
)
def test_what_does_not_fit_is_refused(call, parts):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=says(*parts)):
        call()
    assert plt.get_fignums() == before


@pytest.mark.parametrize("name", [name for name in kpegasos.plotting.__all__ if name != "COLORS"])
def test_display_of_an_estimator_says_which_method_takes_it(name):
    display = getattr(kpegasos.plotting, name)
    with pytest.raises(TypeError, match=rf"{name} takes .* got 3 .* {name}\.from_estimator takes"):
        display(iris(), [[0.0]], [0])


def test_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        DecisionRegionDisplay.from_estimator(PegasosSVC(), np.zeros((4, 2)), [0, 0, 1, 1])
    with pytest.raises(NotFittedError):
        ValidationSurfaceDisplay.from_estimator(GridSearchCV(SVC(), GRID))
