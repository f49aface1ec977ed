"""What `grid_search` searches, how searches are judged, and how groups are run and kept."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments import grid_search
from experiments._run import ExperimentContext
from experiments._store import plain
from experiments.grid_search import find, judge, plot

# Problems


@pytest.mark.parametrize("name", ["digits", "moons 2,000", next(iter(grid_search.SIMULATED))])
def test_folds_cover_the_examples_and_hold_out_what_they_test(name):
    search = grid_search.load(name, 200)
    assert len(search.splits) == (10 if "TorchKM" in name else 5)
    tested = np.concatenate([test for _, test in search.splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(200))
    for train, test in search.splits:
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(200))
        assert set(search.y[train]) == set(search.y)


def test_gammas_are_powers_of_four_about_scale():
    search = grid_search.load("digits")
    scale = SVC(gamma="scale").fit(search.X, search.y)._gamma
    np.testing.assert_allclose(search.gammas, scale * 4.0 ** np.arange(-2, 3), rtol=1e-6)
    assert search.X.dtype == np.float32


def test_few_values_are_those_in_the_middle():
    every = grid_search.load("digits", 100)
    few = grid_search.load("digits", 100, n_values=2)
    np.testing.assert_array_equal(few.gammas, every.gammas[1:3])
    np.testing.assert_array_equal(few.Cs, every.Cs[1:3])


@pytest.mark.parametrize("name", list(grid_search.PROBLEMS))
def test_only_can_name_each_problem_alone(name):
    context = ExperimentContext(only=(name,))
    assert [other for other in grid_search.PROBLEMS if context.wants(other)] == [name]


# Measurements


def test_surface_has_each_cell_in_its_place():
    search = grid_search.load("moons 2,000", 20)
    cells = [(row, column) for row in range(5) for column in range(5)]
    cells = [cells[k] for k in np.random.default_rng(0).permutation(25)]
    results = {
        "params": [{"C": search.Cs[j], "gamma": search.gammas[i]} for i, j in cells],
        "mean_test_score": [10 * i + j for i, j in cells],
    }
    found = grid_search._surface(SimpleNamespace(cv_results_=results), search, "mean_test_score")
    np.testing.assert_array_equal(found, 10 * np.arange(5)[:, None] + np.arange(5))


def test_search_that_was_stopped_early_has_no_choice():
    search = grid_search.load("moons 2,000", 20, n_values=1)
    (gamma,), (C,) = search.gammas, search.Cs
    nothing = np.array([np.nan])
    columns = ("mean_test_score", "std_test_score", "max_relative_gap")
    results = {"params": [{"C": C, "gamma": gamma}], **dict.fromkeys(columns, nothing)}
    model = SimpleNamespace(
        cv_results_=results,
        relative_gaps_=np.array([0.005, 0.02, np.nan, np.nan, np.nan]),
        missing_=[{}, {}, {}],
        kernel_evaluations_=7,
    )
    found = grid_search._describe(model, search)
    assert found["row"] == {
        **{"n_fits": 5, "missing": 3, "max_relative_gap": 0.02, "fits_above_tol": 1},
        "kernel_evaluations": 7,
    }


def test_unknown_tools_are_refused():
    with pytest.raises(ValueError, match=r"tool must be one of 'PegasosSVCCV', .* got 'abacus'"):
        grid_search.make_search("abacus", grid_search.load("moons 2,000", 20), {})


@pytest.mark.slow
def test_process_measures_a_peer():
    job = {"problem": "moons 2,000", "tool": "PegasosSVC", "timeout": 300}
    found = grid_search._apart(job | {"n_samples": 60, "n_values": 2, "repeats": 2})
    row = found["row"]
    assert (row["n_samples"], row["n_fits"], row["repeats"]) == (60, 20, 2)
    assert 0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    assert 0 <= row["extra_mb"] < row["peak_mb"]
    assert row["best_score"] == np.max(found["surface"]["scores"])


# The judge

IMAGES, MANY = "T-shirt or shirt 4,000", "T-shirt or shirt 12,000"


def row(problem, tool, seconds, **more):
    """The row of a search."""
    head = {"group": problem, "problem": problem, "tool": tool, "setting": ""}
    return {**head, "seconds": seconds, **more}


def surface(problem, tool, scores, deviations=0.02):
    """Scores over two γ and two C."""
    head = {"group": problem, "problem": problem, "tool": tool, "setting": "", "n_splits": 4}
    grid = {"gammas": [0.1, 0.4], "Cs": [1.0, 10.0]}
    return {**head, **grid, "scores": scores, "deviations": np.full((2, 2), deviations)}


def test_judge_compares_scores_and_seconds():
    rows = [row(IMAGES, "PegasosSVCCV", 2.0), row(IMAGES, "SVC", 90.0)]
    surfaces = [
        surface(IMAGES, "PegasosSVCCV", [[0.5, 0.6], [0.902, 0.89]]),
        surface(IMAGES, "SVC", [[0.5, 0.604], [0.9, 0.905]]),
    ]
    rows = judge(rows, surfaces)
    assert rows[1]["times_ours"] == 45
    assert "reference" not in rows[1]
    assert rows[0]["reference"] == "SVC"
    assert rows[0]["largest_difference"] == pytest.approx(0.015)
    assert rows[0]["differing_cells"] == 2
    assert rows[0]["same_cell"] is False
    assert rows[0]["shortfall"] == pytest.approx(0.005)
    assert rows[0]["standard_error"] == pytest.approx(0.01)


def test_judge_takes_intelex_where_svc_was_not_measured():
    rows = [row(MANY, "PegasosSVCCV", 2.0), row(MANY, "intelex", 3.0)]
    scores = [[0.5, 0.6], [0.9, 0.8]]
    rows = judge(rows, [surface(MANY, tool, scores) for tool in ("PegasosSVCCV", "intelex")])
    assert (rows[0]["reference"], rows[0]["same_cell"]) == ("intelex", True)
    assert rows[0]["largest_difference"] == 0


def test_judge_forgets_what_it_said_before():
    rows = [row(MANY, "PegasosSVCCV", 2.0, reference="SVC", largest_difference=1.0)]
    rows = judge(rows, [surface(MANY, "PegasosSVCCV", [[0.5, 0.6], [0.9, 0.8]])])
    assert "reference" not in rows[0]
    assert "largest_difference" not in rows[0]


def test_cells_that_are_missing_are_in_no_difference():
    rows = [row(IMAGES, "PegasosSVCCV", 2.0), row(IMAGES, "SVC", 90.0)]
    surfaces = [
        surface(IMAGES, "PegasosSVCCV", [[None, 0.6], [0.9, None]]),
        surface(IMAGES, "SVC", [[0.5, 0.61], [0.9, 0.8]]),
    ]
    rows = judge(rows, surfaces)
    assert rows[0]["largest_difference"] == pytest.approx(0.01)


# Groups


def test_no_two_jobs_are_the_same():
    keys = [
        json.dumps(job, sort_keys=True) for jobs in grid_search._groups().values() for job in jobs
    ]
    assert len(set(keys)) == len(keys)


@pytest.fixture
def done(monkeypatch):
    """Take jobs for done; return their problems and tools."""
    jobs = []

    def fake(job):
        jobs.append((job["problem"], job["tool"]))
        if job["tool"] == "PegasosSVC":
            return {}
        found = {"row": {"seconds": 1.0}, "vectors": ["AVX2"]}
        if job["tool"] == grid_search.SINGLE:
            return found
        scores, flat = [[0.5, 0.6], [0.9, 0.8]], [[0.01, 0.01], [0.01, 0.01]]
        cells = {"scores": scores, "deviations": flat, "gaps": flat}
        return found | {"surface": {"gammas": [0.1, 0.4], "Cs": [1, 10], "n_splits": 5, **cells}}

    monkeypatch.setattr(grid_search, "_apart", fake)
    monkeypatch.setattr(grid_search, "_installed", lambda: list(grid_search.TOOLS))
    return jobs


def test_slow_tools_are_run_only_when_asked_for(done):
    results = grid_search.compute(ExperimentContext())
    assert (MANY, "SVC") not in done
    assert (IMAGES, "SVC") in done
    assert {"problem": MANY, "tool": "SVC", "setting": ""} in results["not_measured"]
    done.clear()
    asked = grid_search.compute(ExperimentContext(only=("slow",), previous=results))
    assert sorted(done) == [("Adult 8,000", "SVC"), (MANY, "SVC")]
    assert find(asked["table"], MANY, "PegasosSVCCV")["reference"] == "SVC"
    assert asked["not_measured"] == []


def test_groups_that_do_not_run_keep_their_rows(done):
    results = grid_search.compute(ExperimentContext())
    for kept in results["table"]:
        kept["seconds"] = 7.0
    again = grid_search.compute(ExperimentContext(only=("digits",), previous=results))
    assert {problem for problem, _ in done[-5:]} == {"digits"}
    assert find(again["table"], "digits", "SVC")["seconds"] == 1.0
    assert find(again["table"], IMAGES, "SVC")["seconds"] == 7.0
    assert again["surfaces"] != []
    assert again["groups"][IMAGES] == results["groups"][IMAGES]


def test_searches_that_are_given_up_say_after_how_long(done):
    results = grid_search.compute(ExperimentContext(only=("digits",)))
    given_up = find(results["table"], "digits", "PegasosSVC")
    assert given_up["gave_up_after"] > 0
    assert "seconds" not in given_up


# All of it


def test_quick_run_agrees_with_svc_and_can_be_drawn():
    results = json.loads(json.dumps(plain(grid_search.compute(ExperimentContext(quick=True)))))
    for problem in ("digits", "moons 2,000"):
        ours = find(results["table"], problem, "PegasosSVCCV")
        assert ours["reference"] == "SVC"
        assert ours["largest_difference"] <= 0.02
        assert ours["max_relative_gap"] <= grid_search.TOL
        assert ours["kernel_evaluations"] > 0
        assert ours["missing"] == ours["fits_above_tol"] == 0
    titles = [ax.get_title() for ax in plot(results).axes]
    assert titles == ["search over γ and C", "TorchKM's protocol: 50 λ, 10 folds"]


def test_figure_says_what_was_not_measured_and_what_was_given_up(done):
    results = grid_search.compute(ExperimentContext(only=(MANY,)))
    figure = plot(results)
    (label,) = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert " ".join(label.splitlines()[:2]) == MANY
    assert "SVC not measured" in label.splitlines()
    assert any(line.startswith("PegasosSVC given up after") for line in label.splitlines())
