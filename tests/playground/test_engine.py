"""The page's modules in a real browser: what they compute is what the package computes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import playground_cases as cases
import pytest
from playground_cases import fitted, points_of, preset_points, state_of
from scipy.special import expit
from sklearn.metrics.pairwise import pairwise_kernels

from kpegasos.fitting.pairs import pair_coefficients
from tests.playground.browser import CALL, FRAMES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "playground.md"
#: The text of an explanation.
EXPLAINED = """async (ui) => {
    const explanation = (await import("./explain.js")).createExplanation(0);
    explanation.update(ui);
    return explanation.node.textContent;
}"""
#: Steps that are asked for in turn, there and back: a frame depends on its step alone.
STEPS = (1, 500, 0, 17, 501)
#: By which a step size is multiplied at a margin.
PULLS = {
    "hinge": lambda margin: float(margin < 1),
    "squared_hinge": lambda margin: 2 * max(0, 1 - margin),
    "smoothed_hinge": lambda margin: min(1, 2 * max(0, 1 - margin)),
    "log_loss": lambda margin: expit(-margin),
}


def frames_of(page, state, *steps, **wanted):
    """What a new engine makes of some steps of a state."""
    asked = {"state": state, "revision": 1, **wanted}
    return page.evaluate(FRAMES, [{**asked, "t": t} for t in steps])


def polished(page, state, tolerance=0.01):
    """The panes after dual ascent; what the engine says where it refuses."""
    [frame] = page.evaluate(FRAMES, [{"state": state, "revision": 1, "polish": tolerance}])
    return frame.get("panes", frame)


def made(page, module, function, *arguments):
    """What a function of the page makes; the sentence where it refuses."""
    return page.evaluate(CALL, [module, function, arguments])


def near(number):
    """The same number, but for sums in another order."""
    return pytest.approx(number, rel=1e-8, abs=1e-12)


# --- the engine ---


def assert_same(state, pane, found, t):
    """A pane of a frame is the fitted estimator: its counts to the last, all else to rounding."""
    model, test = fitted(state, pane, t), np.array(state["test"])
    X, y, train = np.array(state["points"]), np.array(state["labels"]), np.flatnonzero(~test)
    binary = len(model.classes_) == 2
    sign = 1.0 if binary else -1.0
    coefs = pair_coefficients(model.dual_coef_, model.n_support_)
    for row, intercept, pair in zip(coefs, model.intercept_, found["pairs"], strict=True):
        places = train[model.support_].tolist()
        expected = {k: sign * v for k, v in zip(places, row.tolist(), strict=True) if v}
        assert dict(zip(pair["support"], pair["dual_coef"], strict=True)) == near(expected)
        assert pair["intercept"] == near(sign * intercept)
    histories = [model.history_] if binary else model.history_
    objective, averaged, bound = (
        np.sum([history[name] for history in histories], axis=0).tolist()
        for name in ("objective_last", "objective_average", "dual_bound")
    )
    history = found["history"]
    assert history["t"] == histories[0]["iteration"].tolist()
    assert (found["objective"], history["objective"]) == (near(objective[-1]), near(objective))
    if state["average"] is None:
        assert [found["averaged"], *history["averaged"]] == [None] * (1 + len(history["t"]))
    else:
        assert found["averaged"] == near(np.sum(model.objective_))
        assert history["averaged"] == pytest.approx(averaged, rel=1e-7)
    if pane["kernel"] == "sigmoid":
        assert found["bound"] is found["gap"] is None
        assert "sigmoid" in found["certificate"]
    else:
        assert (found["bound"], history["bound"]) == (near(bound[-1]), near(bound))
        gap = np.sum(model.duality_gap_) / np.sum(model.objective_)
        assert found["gap"] == pytest.approx(gap, abs=1e-8)
    assert found["train_error"] == np.mean(model.predict(X[~test]) != y[~test])
    tested = np.mean(model.predict(X[test]) != y[test]) if test.any() else None
    assert found["test_error"] == history["test_error"][-1] == tested
    assert found["support"] == len(model.support_)
    counted = state["loss"] == "hinge" and not state["projection"] and state["step"] is None
    assert (found["counts"] is not None) == counted
    if counted:
        alpha = model.alpha_ if binary else model.alpha_.toarray().max(axis=0)
        assert [found["counts"][place] for place in train] == alpha.tolist()


@pytest.mark.parametrize("name", cases.PROBLEMS)
def test_frame_is_the_estimator(page, name):
    state = cases.state_named(name, n=50, held_out=9)
    frames = frames_of(page, state, *STEPS)
    for t, frame in zip(STEPS, frames, strict=True):
        for pane, found in zip(state["panes"], frame["panes"], strict=True):
            if t:
                assert_same(state, pane, found, t)


def edited(state):
    """States that follow each other: points added, moved, erased, swapped; settings changed."""
    points, labels, test = state["points"], state["labels"], state["test"]
    yield state
    yield {**state, "points": [*points, [0.3, 0.1]], "labels": [*labels, 1], "test": [*test, False]}
    yield {**state, "points": [[0.0, 0.5], *points[1:]]}
    yield {**state, "points": points[3:], "labels": labels[3:], "test": test[3:]}
    yield {**state, "points": points[::-1], "labels": labels[::-1], "test": test[::-1]}
    yield {**state, "fit_intercept": not state["fit_intercept"]}
    yield {**state, "C": None, "lam": 0.05, "seed": 99}
    yield state


@pytest.mark.parametrize("name", ["four_classes", "no_intercept"])
def test_frame_does_not_depend_on_earlier_edits(page, name):
    wishes = [
        {"state": state, "revision": revision, "t": t, "explain": True}
        for revision, state in enumerate(edited(cases.state_named(name, n=40)))
        for t in (300, 7)
    ]
    together = page.evaluate(FRAMES, wishes)
    assert together == [page.evaluate(FRAMES, [wish])[0] for wish in wishes]


@pytest.mark.parametrize("loss", PULLS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanation_is_the_step_by_hand(page, n_classes, loss):
    state = state_of(n_classes, batch_size=2, average=None, loss=loss)
    X, labels = np.array(state["points"]), np.array(state["labels"])
    for frame in frames_of(page, state, 2, 60, explain=True):
        for pane, told in zip(state["panes"], frame["explain"], strict=True):
            before = fitted(state, pane, frame["t"] - 1, decision_function_shape="ovo")
            size = 1 / (np.atleast_1d(before.lam_)[0] * frame["t"])
            assert (told["pair"], told["t"], told["step_size"]) == ([0, 1], frame["t"], near(size))
            assert [example["i"] for example in told["examples"]] == frame["drawn"]
            for example in told["examples"]:
                sign = 1 if labels[example["i"]] == 1 else -1
                decision = np.atleast_1d(before.decision_function(X[[example["i"]]])[0])[0]
                decision *= 1 if n_classes == 2 else -1
                assert example["label"] == sign
                assert example["decision"] == pytest.approx(decision, rel=1e-8, abs=1e-9)
                assert example["margin"] == sign * example["decision"]
                assert example["pull"] == pytest.approx(PULLS[loss](example["margin"]), rel=1e-9)


@pytest.mark.parametrize(
    ("labels", "test", "status"),
    [
        ([], [], "empty"),
        ([0], [True], "empty"),
        ([1, 1], [False] * 2, "one_class"),
        ([0, 1], [False, True], "one_class"),
        ([0, 3], [False] * 2, "ok"),
    ],
)
def test_status_says_what_is_missing(page, labels, test, status):
    points = [[0.1 * place, 1.0] for place in range(len(labels))]
    state = state_of(points=points, labels=labels, test=test)
    [frame] = frames_of(page, state, 10, explain=True)
    assert frame["status"] == status
    assert len(frame["panes"]) == (2 if status == "ok" else 0)
    assert len(polished(page, state)) == len(frame["panes"])


def test_before_the_first_step_there_is_no_model(page):
    [frame] = frames_of(page, state_of(held_out=3), 0, explain=True)
    pane = frame["panes"][0]
    assert pane["pairs"] == [{"classes": [0, 1], "support": [], "dual_coef": [], "intercept": 0.0}]
    assert pane["objective"] == pane["averaged"] == 1.0
    assert pane["counts"] == [0] * 57 + [None] * 3
    assert pane["bound"] is pane["gap"] is pane["train_error"] is pane["test_error"] is None
    assert pane["history"]["t"] == []
    assert (frame["drawn"], frame["explain"], frame["epoch"]) == ([], None, 0.0)


def test_classes_keep_their_numbers_where_some_are_missing(page):
    X, labels = points_of(3)
    state = state_of(points=X.tolist(), labels=(labels + 1).tolist(), test=[False] * 60)
    linear, rbf = frames_of(page, state, 50)[0]["panes"]
    assert (linear["gamma"], rbf["gamma"]) == (None, pytest.approx(1 / (2 * X.var())))
    assert rbf["classes"] == [1, 2, 3]
    assert [pair["classes"] for pair in rbf["pairs"]] == [[1, 2], [1, 3], [2, 3]]


def test_state_that_will_not_do_is_told_by_its_parameter(page):
    for parameter, changes in cases.BAD_STATES:
        named = "panes[0].kernel" if parameter == "panes[0]" else parameter
        [refusal] = frames_of(page, {**state_of(), **changes}, 10)
        assert refusal["parameter"] == named, changes
        assert f"{named} must" in refusal["message"]
    [refusal] = frames_of(page, state_of(), -1)
    assert refusal["message"] == "t must be an integer from 0 to 10000000, got -1 instead"
    [refusal] = frames_of(page, state_of(batch_size=61), 1)
    assert refusal["message"].startswith("batch_size must be at most")


# --- dual ascent ---

#: States of each loss and of several classes, some with a C at which ascent is slow.
POLISHED = {
    **{loss: state_of(loss=loss, panes=[cases.RBF], C=3.0) for loss in PULLS},
    "three classes": state_of(3, held_out=6),
    "no intercept": state_of(fit_intercept=False),
    "four classes": state_of(4, loss="log_loss", panes=[cases.CUBE]),
    "large C": state_of(n=120, loss="log_loss", panes=[cases.RBF], C=1e5),
}


@pytest.mark.parametrize("name", POLISHED)
def test_polished_model_is_as_near_to_the_optimum_as_it_says(page, name):
    state = POLISHED[name]
    for pane, found in zip(state["panes"], polished(page, state), strict=True):
        exact = fitted(state, pane, None, polish=True, checkpoints="auto", tol=1e-5)
        optimum, slack = np.sum(exact.objective_), np.sum(exact.duality_gap_)
        assert 0.0 < found["gap"] <= 0.01
        # The gap has what rounding may have done to the objective, too.
        assert found["bound"] == pytest.approx(found["objective"] * (1.0 - found["gap"]), rel=1e-6)
        assert found["bound"] <= optimum
        assert found["objective"] >= optimum - slack
        assert (found["counts"], found["averaged"]) == (None, None)
        assert found["objective"] == pytest.approx(objective_of(state, pane, found, exact))


def objective_of(state, pane, found, model):
    """The objective that a pane tells of, from its coefficients alone."""
    X, y = np.array(state["points"]), np.array(state["labels"])
    losses = {
        "hinge": lambda m: np.maximum(0, 1 - m),
        "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
        "smoothed_hinge": lambda m: np.where(m < 0.5, 0.75 - m, np.maximum(0, 1 - m) ** 2),
        "log_loss": lambda m: np.logaddexp(0, -m),
    }
    kernel = {"gamma": found["gamma"], "degree": pane.get("degree"), "coef0": pane.get("coef0")}
    total = 0.0
    for pair, lam in zip(found["pairs"], np.atleast_1d(model.lam_), strict=True):
        members = np.flatnonzero(~np.array(state["test"]) & np.isin(y, pair["classes"]))
        support, coef = X[pair["support"]], np.array(pair["dual_coef"])
        to_values = {"metric": pane["kernel"], "filter_params": True, **kernel}
        decisions = pairwise_kernels(X[members], support, **to_values) @ coef + pair["intercept"]
        norm = coef @ pairwise_kernels(support, **to_values) @ coef + pair["intercept"] ** 2
        margins = decisions * np.where(y[members] == pair["classes"][1], 1, -1)
        total += 0.5 * lam * norm + losses[state["loss"]](margins).mean()
    return total


def test_polishing_asks_for_a_kernel_that_has_a_certificate(page):
    refusal = polished(page, state_of(panes=[cases.RBF, cases.SIGMOID]))
    assert refusal["parameter"] == "panes[1].kernel"
    assert refusal["message"].startswith("panes[1].kernel must be positive semi-definite")


# --- the numbers of the lesson in the documentation ---


def lesson(page, number):
    """The state of a step of the lesson, and its step."""
    steps = page.evaluate("import('./lesson.js').then(module => module.LESSON)")
    return made(page, "lesson", "lessonState", number - 1), steps[number - 1]["t"]


def lesson_panes(page, number, *steps):
    state, t = lesson(page, number)
    return [frame["panes"] for frame in frames_of(page, state, *(steps or [t]))]


def test_no_line_divides_circles(page):
    [[linear, rbf]] = lesson_panes(page, 1)
    assert linear["averaged"] == pytest.approx(1.0, abs=0.01)
    assert 0.3 < linear["train_error"] < 0.6
    assert linear["support"] == 200
    assert linear["bound"] > 0.9
    assert (rbf["averaged"] < 0.06, rbf["train_error"] <= 0.01) == (True, True)
    [[squares, _]] = lesson_panes(page, 2)
    [[line, product]] = lesson_panes(page, 3)
    assert line["train_error"] > 0.3
    assert (squares["train_error"] < 0.1, product["train_error"] < 0.1) == (True, True)


def test_small_lam_learns_single_points_by_heart_and_slowly(page):
    [[everything]] = lesson_panes(page, 4)
    assert (everything["support"], everything["averaged"] > 0.9) == (100, True)
    (state, _), (mild, _) = lesson(page, 5), lesson(page, 6)
    [wild], [calm] = polished(page, state), polished(page, mild)
    assert (wild["train_error"], wild["test_error"]) == (0.02, 0.28)
    assert (calm["train_error"], calm["test_error"]) == (0.07, 0.06)
    assert lesson_panes(page, 6, 2000)[0][0]["gap"] < 0.01
    assert lesson_panes(page, 5, 20_000)[0][0]["gap"] > 0.9
    [frame] = frames_of(page, state, 1, explain=True)
    assert frame["explain"][0]["step_size"] == pytest.approx(1e5)


def test_optimum_lies_in_the_band_that_is_shown(page):
    state, _ = lesson(page, 7)
    ([pane],) = lesson_panes(page, 7)
    [best] = polished(page, state, 1e-4)
    assert pane["gap"] < 0.01
    assert pane["bound"] <= best["objective"] <= pane["averaged"]


# --- what the page says ---


def test_explanation_multiplies_the_step_by_the_pull(page):
    examples = [
        {"i": 3, "label": 1, "decision": 3.2, "margin": 3.2, "pull": 0.04},
        {"i": 15, "label": -1, "decision": -0.5, "margin": 0.5, "pull": 0.6},
    ]
    step = {"pair": [0, 1], "t": 4, "step_size": 0.5, "examples": examples}
    frame = {"explain": [step], "panes": [{"counts": None}], "state": {"step": None}}
    text = page.evaluate(EXPLAINED, {"frame": frame})
    assert "= 3.20 ≥ 1" in text
    assert "= 0.500 < 1: violated" in text
    assert text.endswith("w ← 0.7500 w + 0.0100 φ(x₃) − 0.150 φ(x₁₅)")


# --- points, tables, fields, code ---


@pytest.mark.parametrize(
    "name", ["moons", "circles", "xor", "spirals", "blobs", "imbalanced", "label_noise"]
)
def test_presets_are_drawn_as_numpy_draws_them(page, name):
    for n, noise, share in ((25, 0.0, 0.5), (200, 0.25, 0.3)):
        preset = {"name": name, "n": n, "noise": noise, "seed": 5, "test_share": share}
        preset["classes"] = 3 if name == "blobs" else 2
        found, expected = made(page, "presets", "presetPoints", preset), preset_points(**preset)
        assert np.array(found["points"]) == near(np.array(expected["points"]))
        assert (found["labels"], found["test"]) == (expected["labels"], expected["test"])


def test_lesson_has_a_link_for_each_step(page):
    steps = page.evaluate("import('./lesson.js').then(module => module.LESSON.length)")
    linked = re.findall(r"playground/index\.html#lesson=(\d+)", PAGE.read_text(encoding="utf-8"))
    assert list(map(int, linked)) == list(range(1, steps + 1))


@pytest.mark.parametrize("text", cases.TABLES)
def test_table_is_read_or_told_why_not(page, text):
    found, expected = made(page, "tables", "tablePoints", text), cases.TABLES[text]
    if isinstance(expected, str):
        assert found.startswith("table: table must")
        assert expected in found
    else:
        assert found["labels"] == expected
        assert np.shape(found["points"]) == (len(expected), 2)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "ABC"),
        (["cat", "dog", "Maine Coon"], ["cat", "dog", "Maine Coon"]),
        (["cat", "dog, wet", "'hen'"], ["cat", "B", "C"]),
        (["cat", "dog"], ["cat", "dog", "C"]),
        (["B", "C"], "ABC"),
    ],
)
def test_points_that_are_saved_come_back_with_the_names_of_classes(page, names, expected):
    state = state_of(3, n=6, held_out=2)
    text = made(page, "tables", "tableOf", state, names)
    assert text.startswith("x,y,label,test\n")
    back = made(page, "tables", "tablePoints", text)
    assert all(back[name] == state[name] for name in ("points", "test"))
    assert [back["names"][label] for label in back["labels"]] == [*expected] * 2


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 3.0},
        {"kernel": "rbf", "gamma": 1e9},
        {"kernel": "laplacian", "gamma": 0.7},
        {"kernel": "poly", "gamma": 0.5, "degree": 10, "coef0": -2.0},
        {"kernel": "sigmoid", "gamma": 1000.0, "coef0": 3.0},
    ],
)
@pytest.mark.parametrize("n_support", [0, 1, 7])
def test_field_is_the_decision_at_each_node(page, kernel, n_support):
    rng = np.random.RandomState(0)
    points, coefs = rng.uniform(-2, 2, size=(9, 2)), rng.standard_normal(n_support)
    support = rng.permutation(9)[:n_support]
    pair = {"support": support.tolist(), "dual_coef": coefs.tolist(), "intercept": 0.25}
    grid = {"x0": -2.0, "x1": 3.0, "nx": 25, "y0": 2.0, "y1": -1.5, "ny": 21}
    [found] = made(page, "field", "fieldOf", {**kernel, "pairs": [pair]}, points.tolist(), grid)
    x, y = np.linspace(-2.0, 3.0, 25), np.linspace(2.0, -1.5, 21)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    parameters = {name: value for name, value in kernel.items() if name != "kernel"}
    expected = np.full(len(nodes), 0.25)
    if n_support:
        values = pairwise_kernels(nodes, points[support], metric=kernel["kernel"], **parameters)
        expected += values @ coefs
    largest = np.abs(expected).max()
    found = list(found.values() if isinstance(found, dict) else found)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * largest)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["projected_batches", "no_intercept", "laplacian", "constant", "squared_hinge", "sigmoid"],
)
def test_code_gives_the_same_objective(page, name, tmp_path):
    state = cases.state_named(name, n=40) | {"test": [place % 5 == 4 for place in range(40)]}
    panes = [{"gamma": "scale", "degree": 3, "coef0": 0.0, **pane} for pane in state["panes"]]
    script = made(page, "code", "scriptOf", {**state, "panes": panes}, 120, "pegasos")
    command = [sys.executable, "-W", "ignore", "-c", script]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    panes = frames_of(page, state, 120)[0]["panes"]
    told = [float(number) for number in re.findall(r"objective ([^,]+),", run.stdout)]
    assert told == near([pane["averaged"] for pane in panes])
    errors = [float(number) / 100 for number in re.findall(r"test error ([\d.]+)%", run.stdout)]
    assert errors == pytest.approx([pane["test_error"] for pane in panes], abs=1e-5)
