"""What the experiments implement themselves, and what their committed results say."""

import naive
import numpy as np
import pytest
from conftest import make_integers, stream
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments import costly_kernels, sampling, slips
from experiments._data import Task
from experiments.benchmark_kernel import judge
from kpegasos import PegasosSVC
from kpegasos.core.draws import IndexStream

# What the package does not offer


def test_one_permutation_repeats_the_first_epoch():
    fixed = IndexStream(10, sampling.sampling_of("one permutation", 0), 0)
    first = fixed.take(0, 10)
    np.testing.assert_array_equal(np.sort(first), np.arange(10))
    np.testing.assert_array_equal(fixed.take(0, 30), np.tile(first, 3))
    np.testing.assert_array_equal(fixed.take(25, 35), np.roll(first, 5))
    other = IndexStream(10, sampling.sampling_of("one permutation", 1), 0)
    assert not np.array_equal(other.take(0, 10), first)


@pytest.mark.parametrize(
    ("slip", "reference"),
    [
        ("label", naive.slip_label_outside_sum),
        ("threshold", naive.slip_shrunk_threshold),
        ("code", naive.slip_seed_code),
    ],
)
def test_slips_are_those_of_the_reference(monkeypatch, slip, reference):
    lam, n_steps = 0.25, 100
    data = make_integers()

    class Recorder:
        y, gram = data.y, np.inner(data.X, data.X)

        def __call__(self, coef):
            return coef

    monkeypatch.setattr(slips, "LAM", lam)
    draws = stream(data.y.size, n_steps)
    (coef,) = slips._wrong(Recorder(), slip, draws, [n_steps])
    expected = np.array(reference(Recorder.gram, data.y, draws, lam), dtype=float)
    if slip != "code":
        expected *= data.y / (lam * n_steps)
    np.testing.assert_allclose(coef, expected, rtol=1e-12)


# Kernels that cost


def test_uniform_steps_are_those_of_qiskit():
    data = make_integers()
    gram, draws = np.inner(data.X, data.X), stream(data.y.size, 200)
    C = 4.0 * data.y.size
    steps = costly_kernels.uniform_steps(gram, np.asarray(data.y), C, iter([*draws, 0]))
    found = [(spent, {i: n for i, n in enumerate(counts.tolist()) if n}) for spent, counts in steps]
    # What has been asked for before a step, and the counts by then, are those after the last one.
    assert found[1:] == naive.pegasos_qsvc(gram, data.y, draws, C)
    assert found[0] == (0, {})


def test_refined_labels_tell_apart_what_degrees_do_not():
    # Paths of five nodes with a sixth at the second or the third.
    second = (["C"] * 6, [[1], [0, 2, 5], [1, 3], [2, 4], [3], [1]])
    third = (["C"] * 6, [[1], [0, 2], [1, 3, 5], [2, 4], [3], [2]])
    backwards = (["C"] * 6, [[5 - j for j in near] for near in second[1][::-1]])
    counts = [costly_kernels.label_counts(graph) for graph in (second, backwards, third)]
    assert costly_kernels.shared(counts[0], counts[1]) == pytest.approx(1.0)
    assert costly_kernels.shared(counts[0], counts[2]) < 0.99


# The judge of models of others


def make_task(n_classes):
    X, y = make_blobs(120, 3, centers=n_classes, cluster_std=3.0, random_state=0)
    return Task(X, y, X, y, gamma=0.2, C=3.0)


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
