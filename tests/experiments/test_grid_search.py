"""What `grid_search` searches, how searches are judged, and how groups are run and kept."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments import _grid_peers as peers
from experiments import _grid_problems as problems
from experiments import _torchkm as torchkm
from experiments import grid_search
from experiments._grid_figure import draw
from experiments._grid_judge import find, goals, judge
from experiments._run import ExperimentContext
from experiments._store import plain

# Problems


@pytest.mark.parametrize("name", ["digits", "moons 2,000", next(iter(problems.SIMULATED))])
def test_folds_cover_the_examples_and_hold_out_what_they_test(name):
    search = problems.load(name, 200)
    assert len(search.splits) == (10 if "TorchKM" in name else 5)
    tested = np.concatenate([test for _, test in search.splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(200))
    for train, test in search.splits:
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(200))
        assert set(search.y[train]) == set(search.y)


def test_gammas_are_powers_of_four_about_scale():
    search = problems.load("digits")
    scale = SVC(gamma="scale").fit(search.X, search.y)._gamma
    np.testing.assert_allclose(search.gammas, scale * 4.0 ** np.arange(-2, 3), rtol=1e-6)
    assert search.X.dtype == np.float32


def test_few_values_are_those_in_the_middle():
    every = problems.load("digits", 100)
    few = problems.load("digits", 100, n_values=2)
    np.testing.assert_array_equal(few.gammas, every.gammas[1:3])
    np.testing.assert_array_equal(few.Cs, every.Cs[1:3])


@pytest.mark.parametrize("name", list(problems.PROBLEMS))
def test_only_can_name_each_problem_alone(name):
    context = ExperimentContext(only=(name,))
    assert [other for other in problems.PROBLEMS if context.wants(other)] == [name]


# Measurements


def test_surface_has_each_cell_in_its_place():
    search = problems.load("moons 2,000", 20)
    cells = [(row, column) for row in range(5) for column in range(5)]
    cells = [cells[k] for k in np.random.default_rng(0).permutation(25)]
    results = {
        "params": [{"C": search.Cs[j], "gamma": search.gammas[i]} for i, j in cells],
        "mean_test_score": [10 * i + j for i, j in cells],
    }
    found = peers._surface(SimpleNamespace(cv_results_=results), search, "mean_test_score")
    np.testing.assert_array_equal(found, 10 * np.arange(5)[:, None] + np.arange(5))


def test_search_that_was_stopped_early_has_no_choice():
    search = problems.load("moons 2,000", 20, n_values=1)
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
    found = peers._describe(model, search)
    assert found["row"] == {
        **{"n_fits": 5, "missing": 3, "max_relative_gap": 0.02, "fits_above_tol": 1},
        "kernel_evaluations": 7,
    }


def test_unknown_tools_are_refused():
    with pytest.raises(ValueError, match=r"tool must be one of 'PegasosSVCCV', .* got 'abacus'"):
        peers.make_search("abacus", problems.load("moons 2,000", 20), {})


@pytest.mark.slow
def test_process_measures_a_peer():
    job = {
        "problem": "moons 2,000",
        "tool": "PegasosSVC",
        "n_samples": 60,
        "n_values": 2,
        "repeats": 2,
    }
    found = peers.in_a_process(job)
    row = found["row"]
    assert (row["n_samples"], row["n_fits"], row["repeats"]) == (60, 20, 2)
    assert 0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    assert 0 <= row["extra_mb"] < row["peak_mb"]
    assert row["best_score"] == np.max(found["surface"]["scores"])


def test_process_is_given_up_after_its_timeout():
    begin = time.perf_counter()
    job = {"problem": "moons 2,000", "tool": "SVC", "timeout": 0.2}
    assert peers.in_a_process(job) == {}
    assert time.perf_counter() - begin < 30


@pytest.mark.slow
def test_process_that_fails_is_an_error():
    with pytest.raises(peers.subprocess.CalledProcessError):
        peers.in_a_process({"problem": "no such problem", "tool": "SVC"})


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
    judge(rows, surfaces)
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
    judge(rows, [surface(MANY, tool, scores) for tool in ("PegasosSVCCV", "intelex")])
    assert (rows[0]["reference"], rows[0]["same_cell"]) == ("intelex", True)
    assert rows[0]["largest_difference"] == 0


def test_judge_forgets_what_it_said_before():
    rows = [row(MANY, "PegasosSVCCV", 2.0, reference="SVC", largest_difference=1.0)]
    judge(rows, [surface(MANY, "PegasosSVCCV", [[0.5, 0.6], [0.9, 0.8]])])
    assert "reference" not in rows[0]
    assert "largest_difference" not in rows[0]


def test_cells_that_are_missing_are_in_no_difference():
    rows = [row(IMAGES, "PegasosSVCCV", 2.0), row(IMAGES, "SVC", 90.0)]
    surfaces = [
        surface(IMAGES, "PegasosSVCCV", [[None, 0.6], [0.9, None]]),
        surface(IMAGES, "SVC", [[0.5, 0.61], [0.9, 0.8]]),
    ]
    judge(rows, surfaces)
    assert rows[0]["largest_difference"] == pytest.approx(0.01)


def test_goals_are_open_where_nothing_was_measured():
    found = goals([])
    assert len(found) >= 8
    assert {goal["met"] for goal in found} == {None}


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_goals_are_met_at_their_bounds_and_not_beyond(factor):
    simulated = [name for name, (features, _) in problems.SIMULATED.items() if features > 10]
    seconds = [torchkm.PUBLISHED[problems.SIMULATED[name][0]].torchkm for name in simulated]
    rows = [
        row(IMAGES, "PegasosSVCCV", 1.0 / factor),
        row(IMAGES, "intelex", 8.0),
        row(IMAGES, "SVC", 40.0),
        row("digits", "PegasosSVCCV", 1.0 / factor),
        row("digits", "SVC", 10.0),
        row(MANY, "PegasosSVCCV", 6.0 / factor),
        row(MANY, peers.SINGLE, 1.0),
        *(
            row(name, "PegasosSVCCV", s / factor, missing=round(2 * (1 - factor)))
            for name, s in zip(simulated, seconds, strict=True)
        ),
    ]
    surfaces = [
        surface(IMAGES, "PegasosSVCCV", [[0.5, 0.6], [0.9, 0.89 + (1 - factor) / 20]]),
        surface(IMAGES, "SVC", [[0.5, 0.6], [0.9, 0.89 - (1 - factor) / 20]]),
    ]
    judge(rows, surfaces)
    held = [goal for goal in goals(rows) if goal["found"] is not None]
    assert len(held) == 6 + 2 * len(simulated)
    assert {goal["met"] for goal in held} == {factor == 1.0}, held


# Groups


def test_no_two_jobs_are_the_same():
    keys = [
        json.dumps(job, sort_keys=True) for jobs in grid_search._groups().values() for job in jobs
    ]
    assert len(set(keys)) == len(keys)


class Context:
    """Runs parts at once, without a file."""

    quick = False

    def __init__(self, *only, previous=None):
        self.only, self.previous = only, previous or {}

    def wants(self, group):
        return not self.only or group in self.only

    def progress(self, work, _):
        return work

    def part(self, _, fn):
        return plain(fn())


@pytest.fixture
def done(monkeypatch):
    """Take jobs for done; return their problems and tools."""
    jobs = []

    def fake(job):
        jobs.append((job["problem"], job["tool"]))
        if job["tool"] == "PegasosSVC":
            return {}
        found = {"row": {"seconds": 1.0}, "vectors": ["AVX2"]}
        if job["tool"] == peers.SINGLE:
            return found
        scores, flat = [[0.5, 0.6], [0.9, 0.8]], [[0.01, 0.01], [0.01, 0.01]]
        cells = {"scores": scores, "deviations": flat, "gaps": flat}
        return found | {"surface": {"gammas": [0.1, 0.4], "Cs": [1, 10], "n_splits": 5, **cells}}

    monkeypatch.setattr(grid_search, "in_a_process", fake)
    monkeypatch.setattr(grid_search, "starts", lambda name: {"problem": name, "ratio": 2.0})
    monkeypatch.setattr(grid_search, "_installed", lambda: list(peers.TOOLS))
    return jobs


def test_slow_tools_are_run_only_when_asked_for(done):
    results = grid_search.compute(Context())
    assert (MANY, "SVC") not in done
    assert (IMAGES, "SVC") in done
    assert {"problem": MANY, "tool": "SVC", "setting": ""} in results["not_measured"]
    done.clear()
    asked = grid_search.compute(Context("slow", previous=results))
    assert sorted(done) == [("Adult 8,000", "SVC"), (MANY, "SVC")]
    assert find(asked["table"], MANY, "PegasosSVCCV")["reference"] == "SVC"
    assert asked["not_measured"] == []


def test_groups_that_do_not_run_keep_their_rows(done):
    results = grid_search.compute(Context())
    for kept in results["table"]:
        kept["seconds"] = 7.0
    again = grid_search.compute(Context("digits", previous=results))
    assert {problem for problem, _ in done[-5:]} == {"digits"}
    assert find(again["table"], "digits", "SVC")["seconds"] == 1.0
    assert find(again["table"], IMAGES, "SVC")["seconds"] == 7.0
    assert again["surfaces"] != []
    assert again["groups"][IMAGES] == results["groups"][IMAGES]


def test_searches_that_are_given_up_say_after_how_long(done):
    results = grid_search.compute(Context("digits"))
    given_up = find(results["table"], "digits", "PegasosSVC")
    assert given_up["gave_up_after"] > 0
    assert "seconds" not in given_up


def test_variants_are_measured_beside_the_default(done, monkeypatch):
    monkeypatch.setattr(
        grid_search, "VARIANTS", {"other": {"parameters": {"row_dtype": "float64"}}}
    )
    jobs = grid_search._groups()["digits"]
    ours = [job for job in jobs if job["tool"] == "PegasosSVCCV"]
    assert [(job["setting"], job["parameters"]) for job in ours] == [
        ("", {}),
        ("other", {"row_dtype": "float64"}),
    ]


# All of it


def test_quick_run_agrees_with_svc_and_can_be_drawn():
    results = json.loads(json.dumps(plain(grid_search.compute(ExperimentContext(quick=True)))))
    for problem in ("digits", "moons 2,000"):
        ours = find(results["table"], problem, "PegasosSVCCV")
        assert ours["reference"] == "SVC"
        assert ours["largest_difference"] <= 0.02
        assert ours["max_relative_gap"] <= peers.TOL
        assert ours["kernel_evaluations"] > 0
        assert ours["missing"] == ours["fits_above_tol"] == 0
    titles = [ax.get_title() for ax in draw(results).axes]
    assert titles == ["search over γ and C", "TorchKM's protocol: 50 λ, 10 folds"]


def test_figure_says_what_was_not_measured_and_what_was_given_up(done):
    results = grid_search.compute(Context(MANY))
    figure = draw(results)
    (label,) = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert " ".join(label.splitlines()[:2]) == MANY
    assert "SVC not measured" in label.splitlines()
    assert any(line.startswith("PegasosSVC given up after") for line in label.splitlines())


def test_figure_has_each_way_of_our_search(done, monkeypatch):
    monkeypatch.setattr(grid_search, "VARIANTS", {"cold": {"environment": {"COLD": "1"}}})
    figure = draw(grid_search.compute(Context("digits")))
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[:2] == ["PegasosSVCCV", "PegasosSVCCV, cold"]
