"""The benchmarks: how searches and models are judged, what runs again, processes of their own."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments._data import Task
from experiments.benchmark_kernel import judge
from kpegasos import PegasosSVC

# TorchKM's protocol: its data, its kernel width, and its λ in terms of C


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
