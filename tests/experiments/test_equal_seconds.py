"""How fronts of test error against seconds are measured, read and told."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments import equal_seconds
from experiments._kernel import Task
from experiments._run import ExperimentContext
from experiments.equal_seconds import LADDERS, Rung, available, doubled, rungs


def make_task(n_classes=2):
    X, y = make_blobs(300, 4, centers=n_classes, cluster_std=4.0, random_state=1)
    X = X.astype(np.float32)
    return Task(X[:200], y[:200], X[200:], y[200:], gamma=0.1, C=3.0)


# Runs


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_products_of_matrices_predict_as_libsvm(n_classes):
    task = make_task(n_classes)
    model = SVC(C=task.C, gamma=task.gamma).fit(task.X, task.y)
    found = equal_seconds.predicted(model, task.X_test)
    np.testing.assert_array_equal(found, model.predict(task.X_test))


def test_sizes_are_doubled_up_to_all():
    assert doubled(1000, 5000) == [1000, 2000, 4000, 5000]
    assert doubled(1000, 4000) == [1000, 2000, 4000]
    assert doubled(1000, 600) == [600]


@pytest.mark.parametrize("ladder", [name for name in LADDERS if name != "LASVM"])
def test_every_run_of_a_ladder_fits(ladder):
    task = make_task()
    if available(ladder, task):
        pytest.skip("the peer is not installed")
    for rung in rungs(ladder, task, [0.05, 0.1], least=50):
        row = equal_seconds.measure(rung, task, patience=0.0)
        assert 0 <= row["error"] < 0.5
        assert row["runs"] == 1


def test_seconds_grow_by_the_power_that_the_last_runs_show():
    assert equal_seconds.expected([], [], 1000) == 0
    assert equal_seconds.expected([1000], [1.0], 2000) == pytest.approx(2.0)
    assert equal_seconds.expected([1000, 2000], [1.0, 4.0], 4000) == pytest.approx(16.0)
    # A last step that is no doubling, and runs of which the shorter took longer.
    assert equal_seconds.expected([1000, 2000], [1.0, 4.0], 3000) == pytest.approx(9.0)
    assert equal_seconds.expected([1000, 2000], [4.0, 1.0], 4000) == pytest.approx(2.0)


def climbed(monkeypatch, ladder, seconds):
    spent = iter(seconds)
    row = {"setting": "", "examples": 1, "error": 0.1}
    monkeypatch.setattr(
        equal_seconds, "measure", lambda *_: {**row, "fit_seconds": float(next(spent))}
    )
    return list(equal_seconds._climb(ladder, make_task(), 30.0, 0.0))


def test_run_that_would_take_too_long_is_left_out(monkeypatch):
    ladder = [Rung(None, f"{size}", size, size) for size in (1, 2, 4, 8)]
    rows = climbed(monkeypatch, ladder, [1, 4, 16, 64])
    assert [row.get("fit_seconds") for row in rows] == [1, 4, 16, None]
    assert rows[-1]["left_out"] == "about 64 s expected"


def test_solver_that_ended_by_itself_is_not_given_more_time(monkeypatch):
    ladder = [Rung(None, "", 1, 0, limit) for limit in (1.0, 3.0, 10.0)]
    assert len(climbed(monkeypatch, ladder, [0.9, 1.5, 9])) == 2


def test_problems_that_do_not_run_keep_their_rows(monkeypatch):
    def fake(job):
        found = {"ladder": job["ladder"], "method": LADDERS[job["ladder"]], "setting": "new"}
        return [{**found, "fit_seconds": 1.0, "error": 0.1}, {**found, "left_out": "too long"}]

    monkeypatch.setattr(equal_seconds, "apart", fake)
    monkeypatch.setattr(equal_seconds, "make_task", lambda *_: make_task())
    first = equal_seconds.compute(ExperimentContext(only=("MNIST 8",)))
    assert list(first["problems"]) == ["MNIST 8"]
    both = equal_seconds.compute(ExperimentContext(only=("Adult",), previous=first))
    assert list(both["problems"]) == list(both["groups"]) == ["MNIST 8", "Adult"]
    expected = ["MNIST 8"] * len(LADDERS) + ["Adult"] * len(LADDERS)
    assert [row["problem"] for row in both["table"]] == expected
    assert len(both["left_out"]) == 2 * len(LADDERS)


# What is told


def row(method, seconds, error, problem="Adult"):
    return {
        **{"problem": problem, "method": method, "setting": "some", "examples": 9, "runs": 1},
        **{"fit_seconds": seconds, "error": error, "ladder": method},
    }


def results(*rows):
    problem = {"examples": 9, "classes": 2, "test_examples": 10_000, "C": 1.0, "gamma": 0.5}
    return {
        "budgets": [1.0, 3.0],
        "problems": {"Adult": problem},
        "table": list(rows),
        "left_out": [],
    }


def test_front_has_the_runs_better_than_every_shorter_one():
    rows = [row("SVC", 2, 0.1), row("SVC", 1, 0.2), row("SVC", 3, 0.15), row("SVC", 4, 0.05)]
    assert [one["fit_seconds"] for one in equal_seconds._told_front(rows)] == [1, 2, 4]


def test_ties_within_a_standard_error_count_for_all():
    # The standard error of 10% of 10,000 is 0.3 points.
    found = results(row("polished", 0.5, 0.1), row("SVC", 0.5, 0.102), row("intelex", 0.5, 0.104))
    cases = equal_seconds._told_cases(found)
    assert cases == {("Adult", 1.0): ["polished", "SVC"], ("Adult", 3.0): ["polished", "SVC"]}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("polished", 0.5, 0.1), row("SVC", 0.5, 0.2)], "nothing beats polishing"),
        (
            [row("polished", 0.5, 0.1), row("SVC", 2, 0.05)],
            "often: polished Pegasos and LIBSVM.",
        ),
        (
            [row("polished", 0.5, 0.1), row("Nyström", 0.5, 0.05)],
            "to Nyström features.",
        ),
    ],
)
def test_finding_is_chosen_from_the_numbers(rows, words):
    assert words in equal_seconds.claims(results(*rows))[0].claim


def test_polishing_that_was_cut_off_is_held_against_a_sample():
    cut, done = row("cut off", 0.9, 0.4), row("cut off", 1.5, 0.1)
    found = results(row("polished", 0.5, 0.1), cut | {"stopped": True}, done | {"stopped": False})
    told = equal_seconds.claims(found)[0].found
    assert "in 1 of 1 runs: 4.0 times its error." in told


def test_claims_name_who_leads_within_each_time():
    found = results(row("polished", 0.5, 0.1), row("SVC", 0.5, 0.101), row("SVC", 2, 0.05))
    told = equal_seconds.claims(found)[1].found
    assert told == (
        "Within 1 s: polished Pegasos with 10.00% (some), level with it LIBSVM 10.10%; "
        "3 s: LIBSVM with 5.00% (some)."
    )
