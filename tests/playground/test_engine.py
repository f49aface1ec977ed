"""The page's modules in a real browser: what they compute is what the package computes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import playground_cases as cases
import pytest
from playground_cases import preset_points, session_of, shown, state_of
from sklearn.metrics.pairwise import pairwise_kernels

from kpegasos.playground.files import state_of_text
from kpegasos.playground.messages import MessageError
from kpegasos.playground.session import Session
from tests.playground.browser import CALL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "playground.md"
#: Runs in the page: answers of a new engine to some messages.
ANSWERS = """async (messages) => {
    const { createEngine } = await import("./engine.js");
    const engine = createEngine();
    return messages.flatMap((message) => engine.handle(message));
}"""
#: The text of an explanation.
EXPLAINED = """async (ui) => {
    const explanation = (await import("./explain.js")).createExplanation(0);
    explanation.update(ui);
    return explanation.node.textContent;
}"""
#: What a key makes of a number in a field.
PRESSED = """async ([options, value, key]) => {
    const { numberField } = await import("./fields.js");
    const found = [];
    const field = numberField({ ...options, label: "n", onChange: (next) => found.push(next) });
    field.set({ value });
    field.node.querySelector("[type=text]").dispatchEvent(new KeyboardEvent("keydown", { key }));
    return found;
}"""
#: The range of an objective that goes through the same values over and over.
RANGE = """async ([course, times, log]) => {
    const { objectiveRange } = await import("./charts.js");
    const repeated = Object.entries(course).map(([k, v]) => [k, Array(times).fill(v).flat()]);
    return objectiveRange({ panes: [Object.fromEntries(repeated)] }, log);
}"""
#: Phases of a page whose engine refuses a step and then shows another one.
PHASES = """async () => {
    const { createController } = await import("./controller.js");
    const [sent, phases] = [[], []];
    let tell = null;
    const transport = {
        onStatus: (watch) => watch({ phase: "open", retryAt: null }),
        onMessage: (listen) => (tell = listen),
        send: (message) => sent.push(message),
        close: () => {},
    };
    const page = createController(transport, {
        ...{ state: null, view: null, t: null, names: null, lesson: null },
        draw() {},
        openFile() {},
    });
    const answer = (message) => {
        const { id, revision, t } = sent.at(-1);
        tell({ id, revision, t, ...message });
        phases.push(page.actions.ui().phase);
    };
    tell({ kind: "hello" });
    answer({ kind: "error", parameter: "t", message: "t must be less" });
    page.actions.seek(5);
    answer({ kind: "frame", algorithm: "pegasos", panes: [] });
    page.destroy();
    return phases;
}"""
#: The items of the menu of exports.
MENU = """async (ownsAddress) => {
    const menu = (await import("./dialogs.js")).createExportMenu({ ownsAddress });
    menu.update({});
    return [...menu.node.querySelectorAll("[role=menuitem]")].map((each) => each.textContent);
}"""
#: What is told where the browser does not let code be copied.
NOT_COPIED = """async () => {
    const { codeContent } = await import("./dialogs.js");
    const { createSaving } = await import("./saving.js");
    const { promise, resolve } = Promise.withResolvers();
    const actions = { notify: ({ text }) => resolve(text) };
    Object.assign(actions, createSaving({ actions }));
    navigator.clipboard.writeText = () => Promise.reject();
    const [, , buttons] = codeContent("", actions, { algorithm: "pegasos" });
    buttons.querySelector("button").click();
    await promise;
    delete navigator.clipboard.writeText;
    return promise;
}"""
STEPS = (50, 0, 1, 333, 2, 7)  # there and back: a frame depends on its step alone
STATES = {name: cases.state_named(name, n=40) for name in cases.PROBLEMS}


def messages_of(state, steps, revision=1, **wanted):
    shows = [{"kind": "show", "revision": revision, "id": t, "t": t, **wanted} for t in steps]
    return [{"kind": "state", "revision": revision, "state": state}, *shows]


def answers_of_both(page, messages):
    session = Session()
    return page.evaluate(ANSWERS, messages), [
        answer for message in messages for answer in session.handle(message)
    ]


def made(page, module, function, *arguments):
    """What a function of the page makes; the sentence where it refuses."""
    return page.evaluate(CALL, [module, function, arguments])


def flat(answer, path=""):
    """All numbers of an answer; texts are in their names. The order of support vectors is open."""
    if type(answer) in (int, float):
        return {path: answer}
    if not isinstance(answer, dict | list):
        return {f"{path} = {answer!r}": 0}
    if "dual_coef" in answer:
        coefs = dict(zip(answer["support"], answer["dual_coef"], strict=True))
        answer = {**answer, "support": sorted(coefs), "dual_coef": coefs}
    found = {f"{path} is a {type(answer).__name__}": 0}
    for key, part in answer.items() if isinstance(answer, dict) else enumerate(answer):
        found |= flat(part, f"{path}.{key}")
    return found


def near(answer):
    """The same answer, but for rounding."""
    return pytest.approx(flat(answer), rel=1e-8, abs=1e-12)


# --- the engine ---


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_engine_answers_as_the_session(page, state):
    messages = messages_of(state, STEPS, history=True, explain=True)
    found, expected = answers_of_both(page, messages)
    assert flat(found) == near(expected)


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
    messages = [
        messages_of(state, [300], revision, history=True)
        for revision, state in enumerate(edited(STATES[name]))
    ]
    together = page.evaluate(ANSWERS, [each for own in messages for each in own])
    for frame, own in zip(together, messages, strict=True):
        [alone] = page.evaluate(ANSWERS, own)
        assert frame == alone


@pytest.mark.parametrize(
    ("classes", "held_out", "status"),
    [
        *[([], 0, "empty"), ([0], 1, "empty"), ([2, 2, 2], 0, "one_class")],
        *[([0, 2], 1, "one_class"), ([0, 2], 0, "ok")],
    ],
)
def test_engine_says_when_there_is_nothing_to_train(page, classes, held_out, status):
    places = range(len(classes))
    data = {"points": [[0.1 * place, 1.0] for place in places], "labels": classes}
    state = state_of(**data, test=[place < held_out for place in places])
    found, expected = answers_of_both(page, messages_of(state, [10], history=True))
    assert flat(found) == near(expected)
    assert found[0]["status"] == status


def test_engine_refuses_states_as_the_session_does(page):
    for parameter, changes in cases.BAD_STATES:
        if changes.get("points") == [[1.0, cases.HUGE]] * 60:  # no number of JavaScript
            continue
        named = "panes[0].kernel" if parameter == "panes[0]" else parameter
        for answer in page.evaluate(ANSWERS, messages_of({**state_of(), **changes}, [10])):
            assert answer["parameter"] == named, changes
            assert f"{named} must" in answer["message"]


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


def test_arrows_move_a_number_within_its_limits_and_no_empty_field(page):
    whole = {"low": 1, "high": 64, "log": True, "whole": True}
    for options, value, key, expected in (
        (whole, 1, "ArrowUp", [2]),
        (whole, 25, "ArrowUp", [32]),
        (whole, 60, "ArrowUp", [64]),
        (whole, 2, "ArrowDown", [1]),
        (whole, 1, "ArrowDown", [1]),
        ({"low": 1e-6, "high": 1, "log": True}, 0.1, "ArrowUp", [0.126]),
        ({"low": 1e-6, "high": 1, "log": True}, None, "ArrowUp", []),
        ({"low": 0, "high": 1}, 0.5, "ArrowDown", [0.45]),
    ):
        assert page.evaluate(PRESSED, [options, value, key]) == expected


def test_range_of_objectives_holds_for_a_long_run_and_without_an_end(page):
    course = {"averaged": [None] * 3, "objective": [4.0, 1.0, 0.5], "bound": [0.1, 0.25, 0.25]}
    for log, expected in ((False, [0, 1.5]), (True, [0.1 / 1.1, 4.4])):
        assert page.evaluate(RANGE, [course, 100_000, log]) == pytest.approx(expected)
    assert page.evaluate(RANGE, [{**course, "objective": [4.0, 1.0, None]}, 1, False]) == [0, 4]


def test_frame_after_a_refusal_makes_the_state_valid_again(page):
    assert page.evaluate(PHASES) == ["refused", "paused"]


def test_code_that_cannot_be_copied_can_be_saved(page):
    told = page.evaluate(NOT_COPIED)
    assert told == "The browser did not allow to copy; “Download” saves the code."


def test_link_is_offered_where_the_page_owns_its_address(page):
    for owns in (True, False):
        assert ("Link to this state" in page.evaluate(MENU, owns)) is owns


# --- points, tables, fields, code ---


@pytest.mark.parametrize(
    "name", ["moons", "circles", "xor", "spirals", "blobs", "imbalanced", "label_noise"]
)
def test_presets_are_drawn_as_numpy_draws_them(page, name):
    for n, noise, share in ((25, 0.0, 0.5), (200, 0.25, 0.3)):
        preset = {"name": name, "n": n, "noise": noise, "seed": 5, "test_share": share}
        preset["classes"] = 3 if name == "blobs" else 2
        found = made(page, "presets", "presetPoints", preset)
        assert flat(found) == near(preset_points(**preset))


def test_lesson_has_a_link_for_each_step_whose_states_are_accepted(page):
    lesson = page.evaluate("import('./lesson.js').then(module => module.LESSON)")
    for number, step in enumerate(lesson):
        state = made(page, "lesson", "lessonState", number)
        assert shown(session_of(state), step["t"])["status"] == "ok"
    linked = re.findall(r"playground/index\.html#lesson=(\d+)", PAGE.read_text(encoding="utf-8"))
    assert list(map(int, linked)) == list(range(1, len(lesson) + 1))


@pytest.mark.parametrize("text", cases.TABLES)
def test_tables_are_read_as_the_command_reads_them(page, text):
    try:
        state = state_of_text(text)
        expected = {name: state[name] for name in ("points", "labels", "test", "names")}
    except MessageError as error:
        expected = f"{error.parameter}: {error}"
    assert made(page, "tables", "tablePoints", text) == expected


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
    back = state_of_text(text)
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
    state = {**STATES[name], "test": [place % 5 == 4 for place in range(40)]}
    panes = [{"gamma": "scale", "degree": 3, "coef0": 0.0, **pane} for pane in state["panes"]]
    script = made(page, "code", "scriptOf", {**state, "panes": panes}, 120, "pegasos")
    command = [sys.executable, "-W", "ignore", "-c", script]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    panes = shown(session_of(state), 120)["panes"]
    told = [float(number) for number in re.findall(r"objective ([^,]+),", run.stdout)]
    assert told == [pane["averaged"] for pane in panes]
    errors = [float(number) / 100 for number in re.findall(r"test error ([\d.]+)%", run.stdout)]
    assert errors == pytest.approx([pane["test_error"] for pane in panes], abs=1e-5)
