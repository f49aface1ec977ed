"""The benchmarks: how searches and models are judged, what runs again, processes of their own."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from experiments import grid_search
from experiments._data import Task
from experiments.benchmark_kernel import beats, judge
from kpegasos import PegasosSVC

# TorchKM's protocol: its data, its kernel width, and its λ in terms of C


@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_C_of_lambda_has_the_optimum_of_torchkm(lam):
    X, y = grid_search.make_mixture(80, 4)
    gram = rbf_kernel(X, gamma=0.1)

    def objective(C):
        model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(gram, y)
        coef = np.zeros(y.size)
        coef[model.support_] = model.dual_coef_[0]
        f = gram @ coef
        return np.maximum(0, 1 - y * (f + model.intercept_)).mean() + lam * coef @ f

    C = float(grid_search.C_of_lambda(np.array(lam), y.size))
    assert objective(C) < min(objective(1.3 * C), objective(C / 1.3))


# --- kernel models ---


def make_task(n_classes):
    X, y = make_blobs(120, 3, centers=n_classes, cluster_std=3.0, random_state=0)
    return Task(X, y, X, y, gamma=0.2, C=3.0)


# The judge


@pytest.mark.parametrize("n_classes", [2, 3])
def test_judge_brackets_the_optimum_of_svc(n_classes):
    task = make_task(n_classes)

    def judged(tol):
        return judge(SVC(C=task.C, gamma=task.gamma, tol=tol).fit(task.X, task.y), task)

    loose, tight = judged(0.5), judged(1e-8)
    assert tight["dual_bound"] == pytest.approx(tight["objective"], rel=1e-6)
    assert loose["dual_bound"] < tight["dual_bound"]
    assert loose["objective"] > tight["objective"] * (1 + 1e-6)
    model = PegasosSVC(task.C, gamma=task.gamma, polish=True, tol=1e-7, random_state=0)
    own = judge(model.fit(task.X, task.y), task)
    assert own["objective"] == own["our_objective"] == np.mean(model.objective_)
    assert tight["objective"] < own["objective"]  # the intercept is free
    assert own["objective"] <= tight["our_objective"] * (1 + 1e-6)


@pytest.mark.parametrize(
    ("median", "least", "ahead"), [(1.3, 1.2, True), (1.3, 1.0, False), (1.04, 1.02, False)]
)
def test_ahead_is_beyond_the_noise(median, least, ahead):
    def row(median, least, most):
        return {"fit_seconds": median, "fit_seconds_min": least, "fit_seconds_max": most}

    ours, other = row(1.0, 0.9, 1.01), row(median, least, 2.0)
    assert beats(ours, other) is ahead
    assert not beats(other, ours)


# --- processes and repeated calls ---
