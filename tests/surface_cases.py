"""Folds, searches of their cells, and the same cells one by one, for the tests of the surface."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from kpegasos import PegasosSVC
from kpegasos.model_selection.folds import Folds
from kpegasos.model_selection.surface import search_surface
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.threads import at_work

CS = (0.3, 3.0)


def classes(n_classes, n_samples=150):
    """Examples of classes that overlap, in no order of the classes; labels are their numbers."""
    return make_blobs(
        n_samples, centers=n_classes, n_features=3, cluster_std=3.5, random_state=n_classes
    )


def uneven_folds(labels, n_folds=3, *, seed=0, tested=0.3, unused=0.2):
    """Weights and class weights of each fold's own, tests that overlap, and examples in neither."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, (n_folds, labels.size))
    weights *= rng.uniform(0.5, 2.0, (n_folds, labels.max() + 1))[:, labels]
    weights[:, rng.random(labels.size) < unused] = 0.0
    tests = [np.flatnonzero(rng.random(labels.size) < tested) for _ in range(n_folds)]
    for weight, test in zip(weights, tests, strict=True):
        weight[test] = 0.0
    return Folds(weights, tests)


def searched(X, labels, folds, kernels, Cs=CS, n_jobs=1, **changed):
    """The outcome of each kernel, by its number."""
    outcomes = {}

    def on_kernel(outcome):
        assert outcome.number not in outcomes
        outcomes[outcome.number] = outcome

    settings = {
        "tol": 1e-6,
        "intercept_scaling": 1.0,
        "cache_mb": "auto",
        "row_dtype": "float64",
        "stopper": Stopper(),
        "on_kernel": on_kernel,
        "seed": 0,
    }
    with at_work(n_jobs):
        search_surface(X, labels, folds, kernels, np.array(Cs), **{**settings, **changed})
    return outcomes


def single_decisions(X, labels, folds, fold, kernel, C):
    """Decisions of the model of one cell by itself, of shape (n_test, n_pairs)."""
    train, test = np.flatnonzero(folds.weights[fold]), folds.tests[fold]
    columns = train if kernel is None else slice(None)
    model = PegasosSVC(
        C,
        kernel="precomputed" if kernel is None else kernel,
        polish=True,
        tol=1e-6,
        row_dtype="float64",
        decision_function_shape="ovo",
        random_state=0,
    )
    model.fit(X[train][:, columns], labels[train], folds.weights[fold, train])
    return model.decision_function(X[test][:, columns]).reshape(test.size, -1)


def largest_difference(one, other):
    """Between the decisions of the same kernels, relative to the largest decision."""
    assert one.keys() == other.keys()
    differences = [
        np.abs(a - b).max() / np.abs(b).max()
        for number in one
        for a, b in zip(one[number].decisions, other[number].decisions, strict=True)
    ]
    return max(differences)
