"""The JavaScript engine, in a real browser: what it does is what the solver does."""

import json
import math
import re

import numpy as np
import pytest
from playground_cases import preset_points, state_of

from kpegasos.playground.files import state_of_text
from kpegasos.playground.messages import MessageError
from kpegasos.playground.session import Session
from tests.playground.chromium import page_beside_the_modules
from tests.playground.golden import DRAWS, PROBLEMS, STEPS, path_of, trace_of

#: Relative difference that sums of rounded numbers in another order may make.
CLOSE = 1e-9
EXACT = [name for name in PROBLEMS if name.startswith("integers")]
#: Runs in the page: answers of a new engine to some messages.
ANSWERS = """async (messages) => {
    const { createEngine } = await import("./engine.js");
    const engine = createEngine();
    return messages.flatMap((message) => engine.handle(message));
}"""
FIRST_DRAWS = """async ([state, sizes, count]) => {
    const { IndexStream } = await import("./draws.js");
    const { seedOf } = await import("./mersenne.js");
    return sizes.map((size, pair) => {
        const stream = new IndexStream(size, state.sampling, seedOf(state.seed), pair);
        return Array.from({ length: count }, (_, position) => stream.at(position));
    });
}"""


@pytest.fixture(scope="module")
def page():
    with page_beside_the_modules() as page:
        yield page


def trace(name):
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def of_all(names=tuple(PROBLEMS)):
    return pytest.mark.parametrize("name", names)


def close(found, expected, tolerance=CLOSE):
    if expected is None or found is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=tolerance, abs_tol=1e-12)


def frames(page, state, steps, **wanted):
    shows = [{"kind": "show", "revision": 1, "id": t, "t": t, **wanted} for t in steps]
    return page.evaluate(ANSWERS, [{"kind": "state", "revision": 1, "state": state}, *shows])


def answers_of_both(page, messages):
    session = Session()
    return page.evaluate(ANSWERS, messages), [
        answer for message in messages for answer in session.handle(message)
    ]


def coefficients(pair):
    return dict(zip(pair["support"], pair["dual_coef"], strict=True))


def differences(found, expected, path=""):
    """Where two answers differ, beyond rounding; which order support vectors have is open."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), path
        for key in set(expected) - {"seconds", "support", "dual_coef"}:
            yield from differences(found[key], expected[key], f"{path}.{key}")
        if "dual_coef" in expected:
            yield from differences(coefficients(found), coefficients(expected), f"{path}.dual_coef")
        elif "support" in expected:
            yield from differences(found["support"], expected["support"], f"{path}.support")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif type(expected) in (int, float):
        if not close(found, expected, 1e-8):
            yield path, found, expected
    elif found != expected:
        yield path, found, expected


# --- the solver has not drifted from its traces ---


@pytest.mark.slow
@of_all()
def test_solver_still_makes_its_trace(name):
    kept, now = trace(name), json.loads(json.dumps(trace_of(name)))
    assert kept["state"] == now["state"]
    assert kept["draws"] == now["draws"]
    assert not list(differences(now["moments"], kept["moments"]))


# --- the engine makes the traces ---


@of_all()
def test_engine_draws_as_the_solver(page, name):
    kept = trace(name)
    state = kept["state"]
    labels = np.array(state["labels"])[~np.array(state["test"])]
    counts = np.bincount(labels)
    classes = np.flatnonzero(counts)
    sizes = [
        int(counts[one] + counts[other])
        for place, one in enumerate(classes)
        for other in classes[place + 1 :]
    ]
    assert page.evaluate(FIRST_DRAWS, [state, sizes, DRAWS]) == kept["draws"]


@of_all()
def test_engine_counts_as_the_solver(page, name):
    kept = trace(name)
    found = frames(page, kept["state"], [moment["t"] for moment in kept["moments"]])
    counts = [frame["panes"][0]["counts"] for frame in found]
    assert counts == [moment["counts"] for moment in kept["moments"]]


@of_all()
def test_engine_has_the_coefficients_of_the_solver(page, name):
    kept = trace(name)
    for frame, moment in zip(
        frames(page, kept["state"], [moment["t"] for moment in kept["moments"]]),
        kept["moments"],
        strict=True,
    ):
        for found, expected in zip(frame["panes"][0]["pairs"], moment["pairs"], strict=True):
            found_coef, expected_coef = coefficients(found), coefficients(expected)
            assert found_coef.keys() == expected_coef.keys()
            if name in EXACT:
                assert found_coef == expected_coef
            assert all(close(found_coef[i], expected_coef[i]) for i in expected_coef)
            assert close(found["intercept"], expected["intercept"])


@of_all()
def test_engine_measures_as_the_solver(page, name):
    kept = trace(name)
    for frame, moment in zip(
        frames(page, kept["state"], [moment["t"] for moment in kept["moments"]]),
        kept["moments"],
        strict=True,
    ):
        pane = frame["panes"][0]
        for measured in ("objective", "averaged", "bound", "gap", "train_error"):
            assert close(pane[measured], moment[measured]), (measured, moment["t"])


# --- any step, in any order ---


@of_all(["rbf_moons", "rbf_projected", "rbf_three_classes", "integers_poly_suffix"])
def test_frame_depends_on_the_step_alone(page, name):
    state, steps = trace(name)["state"], [700, 3, 5000, 699, 0, 2048, 5000, 700, 1]
    together = frames(page, state, steps, history=True, explain=True)
    for t, frame in zip(steps, together, strict=True):
        [alone] = frames(page, state, [t], history=True, explain=True)
        frame["seconds"] = alone["seconds"] = 0
        assert frame == alone


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


@of_all(["rbf_moons", "rbf_three_classes", "poly_cubic"])
def test_frame_does_not_depend_on_earlier_edits(page, name):
    states = list(edited(trace(name)["state"]))
    messages = []
    for revision, state in enumerate(states):
        show = {"kind": "show", "revision": revision, "id": 0, "t": 300, "history": True}
        messages += [{"kind": "state", "revision": revision, "state": state}, show]
    together = page.evaluate(ANSWERS, messages)
    for revision, frame in enumerate(together):
        [alone] = page.evaluate(ANSWERS, messages[2 * revision : 2 * revision + 2])
        frame["seconds"] = alone["seconds"] = 0
        assert frame == alone


# --- the same answers as the Python session ---

BESIDE = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0}


@of_all()
def test_engine_answers_as_the_session(page, name):
    state = trace(name)["state"]
    state = {**state, "panes": [*state["panes"], BESIDE]}
    shows = [
        {"kind": "show", "revision": 1, "id": t, "t": t, "history": True, "explain": True}
        for t in (0, *STEPS[:5])
    ]
    messages = [{"kind": "state", "revision": 1, "state": state}, *shows]
    found, expected = answers_of_both(page, messages)
    assert not list(differences(found, expected))


@pytest.mark.parametrize("rule", ["inverse_sqrt", "constant", "delayed"])
@pytest.mark.parametrize("projection", [False, True])
def test_step_rules_are_those_of_the_session(page, rule, projection):
    step = {"rule": rule, "scale": 0.5}
    state = {**trace("rbf_moons")["state"], "step": step, "projection": projection}
    show = {"kind": "show", "revision": 1, "id": 0, "t": 400, "history": False}
    messages = [{"kind": "state", "revision": 1, "state": state}, {**show, "explain": True}]
    found, expected = answers_of_both(page, messages)
    assert not list(differences(found, expected))


@pytest.mark.parametrize("classes", [[], [0], [2, 2, 2]])
def test_engine_says_when_there_is_nothing_to_train(page, classes):
    state = {
        **trace("rbf_moons")["state"],
        "points": [[0.5, 1.0] for _ in classes],
        "labels": classes,
        "test": [False for _ in classes],
    }
    show = {"kind": "show", "revision": 1, "id": 4, "t": 10}
    messages = [{"kind": "state", "revision": 1, "state": state}, show]
    found, expected = answers_of_both(page, messages)
    assert not list(differences(found, expected))


PRESETS = ("moons", "circles", "xor", "spirals", "blobs", "imbalanced", "label_noise")


def made(page, module, function, *arguments):
    """What a function of the page makes; the sentence where it refuses."""
    return page.evaluate(
        """async ([module, name, values]) => {
            const functions = await import(`./${module}.js`);
            try {
                return functions[name](...values);
            } catch (error) {
                return `${error.parameter}: ${error.message}`;
            }
        }""",
        [module, function, arguments],
    )


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("n", "noise", "share"), [(25, 0.0, 0.5), (200, 0.25, 0.3)])
def test_presets_are_drawn_as_numpy_draws_them(page, name, n, noise, share):
    preset = {"name": name, "n": n, "noise": noise, "seed": 5, "test_share": share}
    preset["classes"] = 3 if name == "blobs" else 2
    found = made(page, "presets", "presetPoints", preset)
    assert not list(differences(found, preset_points(**preset)))


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("name", {"name": "../moons"}),
        ("name", {"name": "toString"}),
        ("n", {"n": 2001}),
        ("n", {"n": 1}),
        ("noise", {"noise": -0.1}),
        ("noise", {"name": "label_noise", "noise": 1.5}),
        ("test_share", {"test_share": 0.95}),
        ("classes", {"classes": 3}),
        ("classes", {"name": "blobs", "classes": 5}),
        ("seed", {"seed": -1}),
    ],
)
def test_wrong_preset_is_refused_by_name(page, parameter, changes):
    preset = {"name": "moons", "n": 20, "noise": 0.1, **changes}
    refused = made(page, "presets", "presetPoints", preset)
    assert refused.startswith(f"{parameter}: {parameter} must ")


TABLES = (
    "x,y,label\n1,2,a\n3,4e-1,b\n",
    "0.5;-1;2\n1;1;10\n2;2;2\n",
    "height weight kind test\n1 2 yes 1\n3 4 no 0\n",
    "1\t2\tA\r\n\r\n3\t4\tB\r\n",
    "",
    "1,2\n3,4\n",
    "1,2,a\n1,x,b\n",
    "1,2,a\n1,2e9,b\n",
    "1,2,a\n1,2,b\n1,2,c\n1,2,d\n1,2,e\n",
    "a,b,c\n",
    "1,2,3,4,5\n",
    "1,2,3\n" * 2001,
    'a,b,"name"\n\n1,2,"setosa"\n3,4,virginica\n\n',
    "0,0,10\n0,0,9\n0,0,-1",
    "x y z\n1 2 b\n3 4 a",
)


@pytest.mark.parametrize("text", TABLES)
def test_tables_are_read_as_the_command_reads_them(page, text):
    try:
        state = state_of_text(text)
        expected = {name: state[name] for name in ("points", "labels", "test")}
    except MessageError as error:
        expected = f"{error.parameter}: {error}"
    assert made(page, "tables", "tablePoints", text) == expected


def test_points_that_are_saved_come_back(page):
    state = state_of(4, held_out=5)
    text = made(page, "tables", "tableOf", state)
    assert text.startswith("x,y,label,test\n")
    back = state_of_text(text)
    assert all(back[name] == state[name] for name in ("points", "labels", "test"))


WRONG = {
    "C": 0.0,
    "lam": 0.5,
    "batch_size": 1.5,
    "seed": -1,
    "loss": "huber",
    "average": "median",
    "sampling": "contiguous",
    "fit_intercept": 1,
    "step": {"rule": "adam", "scale": 1.0},
    "panes": [],
    "labels": [7],
    "points": [[1e7, 0.0]],
}


@pytest.mark.parametrize("parameter", WRONG)
def test_wrong_state_is_refused_by_name(page, parameter):
    state = {**trace("rbf_moons")["state"], parameter: WRONG[parameter]}
    if parameter in ("points", "labels"):
        data = {"points": [[0.0, 0.0]], "labels": [0], "test": [False]}
        state |= {**data, parameter: WRONG[parameter]}
    show = {"kind": "show", "revision": 1, "id": 9, "t": 10}
    messages = [{"kind": "state", "revision": 1, "state": state}, show]
    found, expected = answers_of_both(page, messages)
    named = [(answer["kind"], answer["id"], answer["parameter"]) for answer in found]
    assert named == [(a["kind"], a["id"], a["parameter"]) for a in expected]
    assert all(f"{answer['parameter']} must" in answer["message"] for answer in found)


def test_large_batch_is_refused_by_name(page):
    state = {**trace("rbf_three_classes")["state"], "batch_size": 30}
    [answer] = frames(page, state, [5])
    assert answer["parameter"] == "batch_size"
    assert "batch_size must be at most the number of examples" in answer["message"]


HOSTILE = (
    None,
    7,
    [],
    {},
    {"kind": "polish", "revision": 1, "id": 1},
    {"kind": "constructor"},
    {"kind": "state", "revision": 1},
    {"kind": "state", "revision": 1, "state": {"points": {"length": 3}}},
    {"kind": "show", "revision": -1, "id": 1, "t": 1},
    {"kind": "show", "revision": 1, "id": 1, "t": 2.5},
    {"kind": "show", "revision": 1, "id": 1, "t": -1},
    {"kind": "export", "id": 1, "revision": 1, "t": 1, "what": "gif"},
)


@pytest.mark.parametrize("message", HOSTILE)
def test_engine_refuses_in_a_sentence_and_goes_on(page, message):
    state = trace("rbf_moons")["state"]
    proper = {"kind": "state", "revision": 2, "state": state}
    show = {"kind": "show", "revision": 2, "id": 5, "t": 3}
    error, frame = page.evaluate(ANSWERS, [message, proper, show])
    assert error["kind"] == "error"
    assert f"{error['parameter']} must" in error["message"]
    assert (frame["kind"], frame["id"], frame["t"]) == ("frame", 5, 3)


def test_engine_asked_before_any_state_says_so(page):
    [error] = page.evaluate(ANSWERS, [{"kind": "show", "revision": -1, "id": 1, "t": 1}])
    assert error["parameter"] == "state"


@pytest.mark.slow
def test_too_many_steps_at_once_are_refused_and_then_gone_on_with(page):
    points = np.random.RandomState(0).standard_normal((600, 2)).tolist()
    data = {"points": points, "labels": [0, 1] * 300, "test": [False] * 600}
    state = {**trace("rbf_moons")["state"], **data}
    refusals = frames(page, state, [10_000_000, 10_000_000])
    assert [refusal["parameter"] for refusal in refusals] == ["t", "t"]
    reached = [
        int(re.search("time was up at step ([0-9,]+)", refusal["message"])[1].replace(",", ""))
        for refusal in refusals
    ]
    assert 0 < reached[0] < reached[1]
