"""How the kernel benchmark judges models, reads curves, and bolds what it says."""

import json
import platform

import numba
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments import benchmark_kernel as suite
from experiments._catalog import HERE
from experiments._claims import duration, markdown
from experiments._kernel import AVX2, Task, judge, take_turns
from experiments._meta import vectors
from experiments._run import ExperimentContext
from experiments.benchmark_kernel import at_level, judge_all, seconds_at_levels, tables
from kpegasos import PegasosSVC


def make_task(n_classes):
    X, y = make_blobs(120, 3, centers=n_classes, cluster_std=3.0, random_state=0)
    return Task(X, y, X, y, gamma=0.2, C=3.0)


# The judge


@pytest.mark.parametrize("n_classes", [2, 3])
def test_judge_agrees_with_our_own_objective(n_classes):
    task = make_task(n_classes)
    model = PegasosSVC(task.C, gamma=task.gamma, polish=True, tol=1e-7, random_state=0)
    found = judge(model.fit(task.X, task.y), task)
    assert found["our_objective"] == pytest.approx(np.mean(model.objective_), rel=1e-6)
    assert found["objective"] < found["our_objective"]  # the intercept is free


@pytest.mark.parametrize("n_classes", [2, 3])
def test_judge_brackets_the_optimum_of_svc(n_classes):
    task = make_task(n_classes)

    def judged(tol):
        return judge(SVC(C=task.C, gamma=task.gamma, tol=tol).fit(task.X, task.y), task)

    loose, tight = judged(0.5), judged(1e-8)
    assert tight["dual_bound"] == pytest.approx(tight["objective"], rel=1e-6)
    assert loose["dual_bound"] < tight["dual_bound"]
    assert loose["objective"] > tight["objective"] * (1 + 1e-6)


def run(series, seconds, suboptimality, **more):
    """One run, whose objective is so far above 1."""
    judged = {"objective": 1 + suboptimality, "our_objective": 1 + suboptimality}
    return {
        **{"problem": "Adult", "dtype": "float32", "series": series, "setting": f"{seconds} s"},
        **{"fit_seconds": seconds, "suboptimality": suboptimality, "ablation": ""},
        **{"predict_seconds": 1.0, "test_accuracy": 0.9, "support_vectors": 7, "extra_mb": 1.0},
        **{"kernel_evaluations": 3, "needed_evaluations": 2, "cache_mb": 64, "solver": ""},
        **judged,
        **more,
    }


def test_suboptimality_is_against_the_bound_of_the_solver_s_own_problem():
    rows = [
        run("polished", 1.0, 0.0, dual_bound=0.5),
        run("plain", 1.0, 0.0, dual_bound=0.8),
        run("SVC", 1.0, 0.0, dual_bound=0.9),
        run("intelex", 1.0, 0.0, dual_bound=0.2),
    ]
    judge_all(rows)
    expected = [0.25, 0.25, 1 / 9, 1 / 9]
    assert [row["suboptimality"] for row in rows] == pytest.approx(expected)
    assert [row["our_suboptimality"] for row in rows] == pytest.approx([0.25] * 4)


# Levels


def test_level_is_interpolated_between_the_runs_around_it():
    at = at_level([run("SVC", 1.0, 1e-2), run("SVC", 4.0, 1e-4), run("SVC", 9.0, 1e-6)], 1e-3)
    assert at["seconds"] == pytest.approx(2.0)
    assert at["run_seconds"] == 4.0


def test_level_beyond_the_tightest_run_is_not_reached():
    assert at_level([run("SVC", 1.0, 1e-2)], 1e-3) is None


def test_level_looser_than_the_loosest_run_costs_as_much_as_the_cheapest():
    assert at_level([run("SVC", 3.0, 1e-5), run("SVC", 2.0, 1e-6)], 1e-3)["seconds"] == 2.0


def test_dearer_runs_that_miss_the_level_do_not_count():
    assert at_level([run("SVC", 3.0, 1e-2), run("SVC", 2.0, 1e-4)], 1e-3)["seconds"] == 2.0


@pytest.mark.parametrize(
    ("ours", "peer", "bold"), [(1.0, 2.0, True), (2.0, 1.0, False), (1.0, None, False)]
)
def test_ours_is_bold_only_where_it_is_ahead(ours, peer, bold):
    table = [run("polished", ours, 5e-4)]
    if peer is not None:
        table.append(run("intelex", peer, 5e-4))
    results = {"table": table, "levels": seconds_at_levels(table)}
    assert ("**" in markdown(*suite.fit_rows(results, [1e-3]))) == bold


def test_durations_have_three_digits():
    seconds = (1234.0, 12.34, 1.234, 0.01234, None)
    assert [duration(s) for s in seconds] == ["1,234 s", "12.3 s", "1.23 s", "12.3 ms", "–"]


# Jobs


def test_all_solvers_have_the_same_budget():
    for name, jobs in suite._groups().items():
        for job in jobs if name not in ("small", "cache") else ():
            parameters = job["parameters"]
            budget = parameters.get("cache_mb", parameters.get("cache_size"))
            assert budget == suite.CACHE_MB, job


def test_no_two_jobs_are_the_same():
    groups = suite._groups().items()
    keys = [f"{name}: {json.dumps(job, sort_keys=True)}" for name, jobs in groups for job in jobs]
    assert len(set(keys)) == len(keys)


def test_groups_that_do_not_run_keep_their_rows(monkeypatch):
    def fake(job):
        if job["parameters"].get("tol") == 1e-2:
            return {}
        judged = {"objective": 2.0, "our_objective": 2.0, "dual_bound": 1.0}
        return {**judged, "fit_seconds": 1.0, "vectors": ["AVX2"]}

    monkeypatch.setattr(suite, "work_apart", fake)
    peers = ["kpegasos", "scikit-learn", "scikit-learn-intelex"]
    monkeypatch.setattr(suite, "installed", lambda: peers)  # whatever this machine has
    old = run("polished", 5.0, 0.0, group="start", ablation="start", dual_bound=1.0)
    previous = {"table": [old], "groups": {"start": {"commit": "old"}}, "vectors": ["NEON"]}
    results = suite.run_groups(ExperimentContext(only=("Adult",), previous=previous))
    assert set(results["groups"]) == {"start", "Adult"}
    assert results["groups"]["start"] == {"commit": "old"}
    assert results["vectors"] == ["AVX2"]
    kept = [row for row in results["table"] if row["group"] == "start"]
    assert [row["fit_seconds"] for row in kept] == [5.0]
    # A run that was given up has no row, nor have tighter ones.
    settings = [row["setting"] for row in results["table"] if row["group"] == "Adult"]
    assert "tol = 0.1" in settings
    assert not {"tol = 0.01", "tol = 0.0001"} & set(settings)


def test_solvers_take_turns():
    job = {
        **{"problem": "moons 100", "dtype": "float64", "turns": 2},
        "solvers": [
            {"solver": "kpegasos", "parameters": {"epochs": 1}},
            {"solver": "scikit-learn", "parameters": {"tol": 0.1}},
        ],
    }
    found = take_turns(job)
    assert [result["fits"] for result in found] == [2, 2]
    for result in found:
        assert result["dual_bound"] <= result["objective"]
        assert result["fit_seconds_min"] <= result["fit_seconds"] <= result["fit_seconds_max"]


# Figure, tables, metadata


def test_figure_has_a_panel_for_each_finding():
    table = [
        *(run("polished", s, e) for s, e in ((1.0, 1e-2), (2.0, 1e-4))),
        *(run("intelex", s, e) for s, e in ((3.0, 1e-2), (6.0, 1e-4))),
        run("polished", 1e-3, 1e-5, problem="moons 100", dtype="float64", extra_mb=None),
        run("SVC", 2e-3, 1e-5, problem="moons 100", dtype="float64", extra_mb=None),
        *(run("polished", 1.0, 1e-3, ablation="start", setting=s) for s in ("a", "b")),
        *(run(s, 4.0, 1e-3, ablation="cache", cache_mb=64) for s in ("polished", "plain")),
        *(run(s, 2.0, 1e-3, ablation="cache", cache_mb=128) for s in ("polished", "plain")),
    ]
    results = json.loads(json.dumps({"table": table, "levels": seconds_at_levels(table)}))
    figure = suite.plot(results)
    assert figure.get_suptitle().replace("\n", " ") == (
        "At equal accuracy, 0.1%, polished Pegasos is 3.0 times as fast as intelex on Adult"
    )
    assert [ax.get_title() for ax in figure.axes[:2]] == [
        "Adult\n3.0 × intelex",
        "small problems, float64\nahead of LIBSVM: 1 of 1",
    ]
    assert tables(results).count("\n| --- |") == 4


def test_committed_results_can_be_drawn_and_tabled():
    results = json.loads((HERE / "results" / "benchmark_kernel.json").read_text())["results"]
    assert suite.plot(results).axes
    assert "Fashion-MNIST" in tables(results)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86 has AVX2")
@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [
        (AVX2["NUMBA_CPU_NAME"], AVX2["NUMBA_CPU_FEATURES"], ["AVX2"]),
        ("skylake-avx512", "", ["AVX2", "AVX-512"]),
        ("penryn", "", []),
        ("haswell", "+avx512f", ["AVX2", "AVX-512"]),
    ],
)
def test_vectors_are_those_that_numba_is_told(monkeypatch, name, features, expected):
    monkeypatch.setattr(numba.config, "CPU_NAME", name)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    assert vectors() == expected
