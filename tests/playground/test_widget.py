"""The widget without a notebook: traits go to the page and come from it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from playground_cases import DEFAULTS, PROBLEMS, fitted, points_of, state_named, state_of

pytest.importorskip("anywidget", reason="needs kpegasos[playground]")
from kpegasos import Playground
from kpegasos.playground import STATIC
from tests.playground.browser import served

WIDTHS = (700, 1000, 1500)


def draw(widget, state, t=90):
    """What a page does to the widget when somebody has drawn."""
    widget.set_state({"_page": {"state": state, "t": t}})


def completed(state):
    """A state as the page has it."""
    kernel = {"gamma": "scale", "degree": 3, "coef0": 0.0}
    step = state["step"] and {"scale": 1.0, **state["step"]}
    return {**state, "panes": [kernel | pane for pane in state["panes"]], "step": step}


def test_widget_begins_with_what_is_given():
    empty = Playground()
    assert (empty.estimator, empty.estimators, empty.points.shape) == (None, [], (0, 2))
    assert empty._page["state"] == completed({**DEFAULTS, "points": [], "labels": [], "test": []})
    X, y = points_of(3)
    widget = Playground(X, np.array(["b", "a", "c"])[y], C=2.0, t=300, seed=4)
    assert widget.classes == ["a", "b", "c"]
    assert np.array_equal(widget.labels, np.array([1, 0, 2])[y])
    assert [model.kernel for model in widget.estimators] == ["linear", "rbf"]
    page = widget._page
    assert (page["t"], page["state"]["points"]) == (300, X.tolist())
    assert (page["state"]["C"], page["state"]["seed"]) == (2.0, 4)
    single = Playground(X, y, panes=[{"kernel": "poly", "degree": 2}], lam=0.01)
    assert [(model.kernel, model.lam) for model in single.estimators] == [("poly", 0.01)]
    widget.settings["panes"][0]["kernel"] = "nothing"
    assert Playground().settings["panes"][0]["kernel"] == "linear"


@pytest.mark.parametrize("name", PROBLEMS)
def test_estimators_are_those_of_the_page(name):
    state = state_named(name, held_out=3)
    widget = Playground()
    draw(widget, state)
    for model, pane in zip(widget.estimators, state["panes"], strict=True):
        expected = fitted(state, pane, 90)
        assert str(model.get_params()) == str(expected.get_params())
        assert np.array_equal(model.dual_coef_, expected.dual_coef_)


def test_what_is_drawn_is_in_the_traits():
    widget = Playground()
    state, seen = state_of(3, n=33, held_out=3, C=7.0), []
    names = ["points", "labels", "test", "settings", "t"]
    widget.observe(lambda change: seen.append(change["name"]), names)
    draw(widget, completed(state))
    assert widget.points.tolist() == state["points"]
    assert widget.labels.tolist() == state["labels"]
    assert widget.test.tolist() == state["test"]
    assert (widget.settings["C"], widget.t) == (7.0, 90)
    assert sorted(seen) == sorted(names)
    first = widget.estimator
    assert widget.estimator is first
    seen.clear()
    draw(widget, completed(state), 91)
    assert seen == ["t"]
    assert widget.estimator.n_steps == 91


def test_numbers_of_numpy_are_plain_on_the_page():
    values = {"C": np.float32(2), "seed": np.int64(3), "batch_size": np.int64(2)}
    widget = Playground(
        panes=[{"gamma": np.float64(0.5)}], step={"rule": "constant", "scale": np.int64(1)}
    )
    widget.settings = {**widget.settings, **values}
    state = json.loads(json.dumps(widget._page))["state"]
    assert (state["C"], state["seed"], state["batch_size"]) == (2.0, 3, 2)
    assert (state["panes"][0]["gamma"], state["step"]["scale"]) == (0.5, 1.0)


def test_what_is_assigned_is_on_the_page():
    X, y = points_of()
    widget = Playground(X, y)
    widget.points = X + 1.0
    assert widget._page["state"]["points"] == (X + 1.0).tolist()
    widget.settings = {**widget.settings, "C": 0.5}
    assert widget._page["state"]["C"] == widget.estimator.C == 0.5
    widget.t = 12
    assert widget._page["t"] == widget.estimator.n_steps == 12
    X, y = points_of(4, n=20)
    widget.set_points(X, y, test=np.arange(20) >= 15)
    assert widget._page["state"]["test"] == [False] * 15 + [True] * 5
    assert len(widget.estimator.classes_) == 4


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("points", np.zeros((3, 2)), "labels must hold an entry for each of 3 points"),
        ("points", np.full((60, 2), np.nan), "points must be numbers of at most 1,000,000 in size"),
        ("labels", [7] * 60, "labels must hold whole numbers from 0 to 3"),
        ("test", [1] * 60, "test must hold True or False"),
        ("settings", {"gamma": 1}, "settings must be a dict of panes, C, lam"),
        ("settings", {"C": -1}, "C must be a positive finite number, got -1"),
        ("settings", {"panes": []}, "panes must be a list of one or two kernels"),
        ("t", 10**8, "t must be at most 10000000"),
    ],
)
def test_what_will_not_do_is_taken_back(name, value, sentence):
    widget = Playground(*points_of())
    traits = "points", "labels", "test", "settings", "t", "_page"
    before, model = {trait: getattr(widget, trait) for trait in traits}, widget.estimator
    with pytest.raises(ValueError, match=sentence):
        setattr(widget, name, value)
    with pytest.raises(ValueError, match="labels must hold an entry for each of 1 points"):
        widget.set_points([[1, 2]], [0, 1])
    assert all(np.array_equal(getattr(widget, trait), was) for trait, was in before.items())
    assert widget.estimator is model


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"X": [[0, 0]]}, "y must be given with X"),
        ({"X": [[0, 0]] * 5, "y": list("abcde")}, "y must be of at most 4 classes, got 5"),
        ({"X": np.eye(2), "y": [1.0, np.nan]}, "y must be a vector of class labels"),
        ({"X": np.eye(2), "y": np.array([1.0, np.nan], object)}, "y must be a vector of class"),
        ({"sampling": np.random.permutation}, "sampling must be one of"),
        ({"C": 1.0, "lam": 0.1}, "C or lam must be a number and the other None"),
        ({"panes": [{"kernel": "cosine"}]}, "kernel must be one of"),
        ({"random_state": 0}, "settings must be a dict of"),
    ],
)
def test_bad_arguments_are_told_by_their_names(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        Playground(**arguments)


#: A page with the widget's module, and a model that keeps what is set as Jupyter's does.
VIEW = """async ([code, css, page, width]) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const listeners = [];
    window.model = {
        values: { _page: page },
        get: (key) => window.model.values[key],
        set(key, value) {
            window.model.values[key] = value;
            for (const listen of listeners) listen();
        },
        save_changes: () => (window.saved = (window.saved ?? 0) + 1),
        on: (event, listen) => listeners.push(listen),
        off() {},
    };
    document.body.replaceChildren();
    for (const name of ["one", "two"]) {
        const el = document.body.appendChild(document.createElement("div"));
        Object.assign(el.style, { width: `${width}px` });
        el.id = name;
        widget.render({ model: window.model, el });
    }
}"""


@pytest.mark.slow
def test_views_share_what_is_drawn_and_have_play_beside_the_panes(browser):
    widget = Playground(*points_of(n=40), t=50)
    with served(STATIC) as address:
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}/from_file.js")
        for width in WIDTHS:
            page.evaluate(VIEW, [widget._esm, widget._css, widget._page, width])
            page.locator("#one .kp-tile-value", has_text="%").first.wait_for()
            pane = page.locator("#one .kp-pane-box").last.bounding_box()
            play = page.locator("#one .kp-play").bounding_box()
            assert 0 < play["y"] - pane["y"] - pane["height"] < 60
        page.locator("#one .kp-overlay").first.click(position={"x": 40, "y": 40})
        page.locator("#two .kp-summary", has_text="41 points").wait_for()
        shown = page.evaluate("window.model.values._page")
        assert (len(shown["state"]["points"]), shown["t"]) == (41, 50)
        draw(widget, shown["state"], shown["t"])
        assert widget._page == shown  # nothing goes back to the page
        saved = page.evaluate("window.saved")
        page.evaluate("page => window.model.set('_page', page)", {**widget._page, "t": 77})
        page.locator("#two .kp-axis[aria-valuenow='77']").wait_for()
        page.wait_for_timeout(600)
        assert page.evaluate("[window.model.values._page.t, window.saved]")[0] == 77
        assert page.evaluate("window.saved") <= saved + 2  # the views do not answer each other
        assert complaints == []
        page.close()


@pytest.mark.slow
def test_without_the_extra_it_says_what_to_install():
    code = (
        "import sys, kpegasos\n"
        "for name in ('anywidget', 'traitlets'):\n"
        "    sys.modules[name] = None\n"
        "    try: kpegasos.Playground\n"
        "    except ImportError as error: print(error)\n"
        "    del sys.modules[name]\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "Playground needs anywidget: pip install 'kpegasos[playground]'"
    assert run.stdout.splitlines() == [sentence, sentence]
