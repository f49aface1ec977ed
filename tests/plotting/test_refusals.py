"""What does not fit is refused: a sentence of the parameter and what came, no empty figure."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from search_cases import CS, GAMMAS, solutions, table
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC

import kpegasos.plotting
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import (
    ConvergenceDisplay,
    DecisionRegionDisplay,
    MarginHistogramDisplay,
    OneVsOneDisplay,
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
MASKED = np.ma.masked_greater([0, 9], 5)
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
    DecisionRegionDisplay.from_predictions(**{**REGIONS, **change})


def regions_of(X):
    DecisionRegionDisplay.from_estimator(iris(), X, np.zeros(len(X)))


def margins(y, decisions):
    MarginHistogramDisplay.from_predictions(y, decisions)


def pairs(values=None, **options):
    if values is not None:
        return OneVsOneDisplay(values=values, classes="abc")
    return OneVsOneDisplay.from_estimator(iris(), **options)


def surface(results=None, **options):
    ValidationSurfaceDisplay.from_results(table(SCORES) if results is None else results, **options)


def surface_of(name):
    ValidationSurfaceDisplay.from_estimator(iris() if name == "iris" else search(name))


def kernels(**where):
    ValidationSurfaceDisplay.from_estimator(search("kernels"), where=where)


def plain_surface(**change):
    ValidationSurfaceDisplay(**{"Cs": CS, "gammas": GAMMAS, "scores": SCORES, **change})


def path(**options):
    RegularizationPathDisplay.from_results(table(SCORES), **options)


def path_of(change=None, **options):
    found = solutions()
    vars(found).update(change or {})
    RegularizationPathDisplay.from_path(found, **options)


def plain_path(curve, **options):
    RegularizationPathDisplay(Cs=CS, curves={"score": curve}, **options)


def convergence(runs=CURVES, **options):
    ConvergenceDisplay.from_history(runs, ax=Figure().subplots(), **options)


def history_of(model, **options):
    ConvergenceDisplay.from_estimator(model, **options)


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
        (lambda: margins([0, 0], [1.0, 1.0]), ("y must hold labels of two classes", r"got \[0\]")),
        (lambda: margins([0, 1], [1.0]), (r"decisions must have shape \(2,\)", r"got \(1,\)")),
        (lambda: margins([0, 1], [1.0, np.nan]), ("margins must be finite", "got 1 that are not")),
        (lambda: MarginHistogramDisplay(margins=[], y=[]), ("margins must be finite", "got none")),
        (lambda: margins([0, 1], MASKED), ("decisions must have no masked entries, got 1",)),
        (lambda: pairs(metrics=["speed"]), ("metrics must be columns of a history", "'speed'")),
        (lambda: pairs(labels=["a"]), ("labels must name each of the 3 classes", "got 1 names")),
        (lambda: pairs(metrics=[]), ("values must hold at least one quantity", "got none")),
        (lambda: pairs({"gap": [1, 2]}), (r"\(3,\)", "3 classes", r"got \(2,\)")),
        (lambda: pairs(ax=Figure().subplots()), ("ax must hold 3 axes", "got 1")),
        (lambda: surface_of("one gamma"), ("two values", "got 3 and 1", "Regularization")),
        (lambda: surface_of("scale"), ("number for gamma", "got 'scale'")),
        (lambda: surface_of("C"), ("the parameter gamma", r"got \['C'\]", "Path")),
        (lambda: surface_of("scattered"), ("a grid of C and gamma", "got 6 cells")),
        (lambda: kernels(kernel="linear"), ("positive number for gamma", "got none in some")),
        (lambda: kernels(kernel="poly"), ("where must be the values of some cell", "poly")),
        (lambda: kernels(degree=3), ("where must name parameters", "got 'degree'")),
        (lambda: surface_of("iris"), ("search must be", "cv_results_", "got PegasosSVC")),
        (lambda: surface(SHORT, panels="seconds"), ("an entry for each cell", "got 5 of 6")),
        (lambda: surface(panels="speed"), ("panels must name columns of cv_results", "'speed'")),
        (lambda: surface(panels="seconds"), ("'seconds' without its column 'mean_fit_time'",)),
        (lambda: surface(panels=[]), ("panels must name some of", r"got \[\]")),
        (lambda: surface(best_index=6), ("best_index must be at most 5", "got 6")),
        (lambda: surface(metric="f1"), ("metric must be one of the scores", "score", "got 'f1'")),
        (lambda: plain_surface(scores=np.ones((3, 2))), (r"scores .*\(2, 3\)", r"got \(3, 2\)")),
        (lambda: plain_surface(Cs=CS[::-1]), ("Cs must be increasing positive numbers", "got")),
        (lambda: plain_surface(chosen=(3, 4)), ("chosen must be a C and a γ", r"got \(3, 4\)")),
        (lambda: path_of({"relative_gaps": [0.1]}), (r"path\.relative_gaps", r"got shape \(1,\)")),
        (lambda: path_of(scores=[0.1, 0.2]), ("scores must have an entry", r"got shape \(1, 2\)")),
        (lambda: path_of(panels="speed"), ("panels must name some of", r"got \['speed'\]")),
        (lambda: path_of(ax=Figure().subplots()), ("ax must hold 3 axes", "got 1")),
        (lambda: path(panels="speed"), ("panels must name columns", "got 'speed'")),
        (lambda: plain_path(SCORES[0], chosen=0), ("chosen must be a positive", "got 0")),
        (lambda: plain_path([1.0]), (r"curves\['score'\]", "each of the 3", "got shape")),
        (lambda: convergence(y="suboptimality"), ("optimum must be given", "got None")),
        (lambda: convergence(y=["gap", "dual_bound"]), ("y must name columns of one kind", "got")),
        (lambda: convergence(x="cache_hits"), ("x must be one of", "got 'cache_hits'")),
        (lambda: convergence(x="seconds"), ("must have the column 'seconds' for x or y",)),
        (lambda: convergence(label="one"), ("label must name each of the 3 curves", "got 1")),
        (lambda: convergence(bounds={"b": abs}), ("optimum must be given", "got None")),
        (lambda: convergence(y="epoch", bounds={"b": abs}), ("bounds must stand beside", "got")),
        (lambda: convergence(optimum=0, bounds={"b": np.mean}), (r"bounds\['b'\]", r"shape \(\)")),
        (lambda: convergence(RUNS, y="gap"), (r"same checkpoints, got \[1, 2\]",)),
        (
            lambda: ConvergenceDisplay(positions=[1], curves={"gap": [1, 2]}),
            ("1 checkpoints, got 2",),
        ),
        (lambda: history_of(stream()), ("history_", "got LinearPegasosSVC")),
        (lambda: history_of(iris()), ("pair must name two of the 3 classes", "got None")),
        (lambda: history_of(iris(), pair=(0, 0)), ("pair must name two of the", "got")),
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
