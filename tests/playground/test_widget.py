"""The widget without a notebook: traits and messages go both ways."""

import subprocess
import sys

import numpy as np
import pytest
from playground_cases import fitted, points_of, session_of, shown, state_of

pytest.importorskip("anywidget", reason="needs kpegasos[playground]")
from kpegasos import PegasosSVC, Playground


@pytest.fixture
def sent(monkeypatch):
    """What widgets send to their pages."""
    messages = []
    monkeypatch.setattr(Playground, "send", lambda self, content: messages.append(content))
    return messages


def receive(widget, kind, **content):
    widget._handle_custom_msg({"kind": kind, **content}, [])


def test_widget_holds_the_fitted_estimators(sent):
    empty = Playground()
    assert empty.estimator is None
    assert empty.points.shape == (0, 2)
    X, y = points_of(3)
    widget = Playground(X, np.array(["b", "a", "c"])[y], C=2.0, t=300, seed=4)
    assert widget.classes == ["a", "b", "c"]
    assert np.array_equal(widget.labels, np.array([1, 0, 2])[y])
    parameters = {"C": 2.0, "gamma": "scale", "n_steps": 300, "random_state": 4}
    expected = PegasosSVC(**parameters, checkpoints="log").fit(X, widget.labels)
    assert widget.estimator.get_params() == expected.get_params()
    assert np.array_equal(widget.estimator.dual_coef_, expected.dual_coef_)
    assert [model.kernel for model in widget.estimators] == ["linear", "rbf"]
    receive(widget, "hello")
    assert (sent[0]["kind"], sent[0]["t"]) == ("hello", 300)
    assert sent[0]["state"]["points"] == X.tolist()
    session_of(sent[0]["state"])
    single = Playground(X, y, kernel="poly", degree=2, lam=0.01)
    assert [(model.kernel, model.lam) for model in single.estimators] == [("poly", 0.01)]
    widget.settings["panes"][0]["kernel"] = "nothing"
    assert Playground().settings["panes"][0]["kernel"] == "linear"


def test_what_is_drawn_is_in_the_traits(sent):
    widget = Playground()
    state = state_of(3, n=33, held_out=3, C=7.0)
    seen = []
    widget.observe(lambda change: seen.append(change["name"]))
    receive(widget, "state", revision=1, state=state)
    assert sent == []
    assert widget.points.tolist() == state["points"]
    assert widget.labels.tolist() == state["labels"]
    assert widget.test.tolist() == state["test"]
    assert widget.settings["C"] == 7.0
    assert {"points", "labels", "test", "settings"} <= set(seen)
    receive(widget, "show", revision=1, t=90, id=7)
    assert widget.t == 90
    expected = fitted(state, state["panes"][-1], 90)
    assert np.array_equal(widget.estimator.dual_coef_, expected.dual_coef_)
    assert "estimator" in seen
    assert sent == [shown(session_of(state), 90)]


def test_what_is_assigned_is_drawn(sent):
    X, y = points_of()
    widget = Playground(X, y)
    receive(widget, "hello")
    before = widget.estimator
    widget.points = X + 1.0
    assert sent[-1]["kind"] == "state"
    assert sent[-1]["state"]["points"] == (X + 1.0).tolist()
    assert widget.estimator is not before
    widget.settings = {**widget.settings, "C": 0.5}
    assert sent[-1]["state"]["C"] == widget.estimator.C == 0.5
    widget.t = 12
    assert sent[-1]["t"] == widget.estimator.n_steps == 12
    X, y = points_of(4, n=20)
    widget.set_points(X, y, test=np.arange(20) >= 15)
    assert sent[-1]["state"]["test"] == [False] * 15 + [True] * 5
    assert len(widget.estimator.classes_) == 4


def test_views_see_what_is_assigned_and_each_others_edits_once(sent):
    widget = Playground(*points_of())
    for view in "ab":
        receive(widget, "hello", view=view)
    widget.points = widget.points + 1.0
    states = [message for message in sent if message["kind"] == "state"]
    assert [message["view"] for message in states] == ["a", "b"]
    receive(widget, "state", revision=7, state=states[0]["state"], view="a")
    assert [message for message in sent if message["kind"] == "state"] == states
    receive(widget, "state", revision=8, state=state_of(), view="a")
    assert sent[-1] == {"kind": "state", "state": state_of(), "view": "b"}
    for view, told in (("a", "frame"), ("b", "error")):
        receive(widget, "show", revision=8, t=5, id=2, view=view)
        assert (sent[-1]["kind"], sent[-1]["view"]) == (told, view)
    for number in range(20):
        receive(widget, "hello", view=str(number))
    assert len(widget._sessions) <= 4


def test_what_will_not_do_is_taken_back(sent):
    widget = Playground(*points_of())
    receive(widget, "hello")
    traits = "points", "labels", "settings", "t"
    before, model = {trait: getattr(widget, trait) for trait in traits}, widget.estimator
    for name, value, sentence in (
        ("points", np.zeros((3, 2)), "labels must have an entry for each of 3 points, got 60"),
        ("points", np.zeros((60, 3)), r"points must have shape \(n_points, 2\)"),
        ("points", "abc", "points must hold real numbers"),
        ("labels", [0.5] * 60, "labels must hold whole numbers"),
        ("labels", [7] * 60, "labels must be classes from 0 to 3"),
        ("test", [1] * 60, "test must hold True or False"),
        ("settings", {}, "C must be in the state"),
        ("t", 0, "t must be a positive integer"),
        ("t", 10**8, "t must be at most 10000000"),
    ):
        with pytest.raises(ValueError, match=sentence):
            setattr(widget, name, value)
        assert all(np.array_equal(getattr(widget, trait), was) for trait, was in before.items())
        assert widget.estimator is model
        assert len(sent) == 1
    for content in (None, [], {"kind": "eval"}, {"view": 3}, {"view": "x" * 99}):
        widget._handle_custom_msg(content, [])
        assert sent[-1]["kind"] == "error"
        assert len(widget.points) == 60


def test_points_that_will_not_do_are_taken_back(sent):
    points, labels = points_of()
    widget = Playground(points, labels)
    for X, y, test, sentence in (
        ([[1, 2, 3]], [0], None, r"points must have shape \(n_points, 2\)"),
        ([[1, 2]], [0], [1], "test must hold True or False"),
        ([[1, 2]], [0, 1], None, "labels must have an entry for each of 1 points, got 2"),
    ):
        with pytest.raises(ValueError, match=sentence):
            widget.set_points(X, y, test)
        receive(widget, "hello")
        assert sent[-1]["state"]["points"] == widget.points.tolist() == points.tolist()
        assert widget.labels.tolist() == labels.tolist()
        assert widget.classes == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"X": [[0, 0]]}, "y must be given with X"),
        ({"X": [[0, 0]], "y": [[0]]}, "y must be a vector"),
        ({"X": [[0, 0]] * 5, "y": list("abcde")}, "y must be of at most 4 classes, got 5"),
        ({"C": -1.0}, "C must be at least 1e-09, got -1.0"),
        ({"kernel": "cosine"}, r"panes\[0\]\.kernel must be one of"),
        ({"kernel": "rbf", "panes": []}, "panes must hold the kernels"),
        ({"t": "1"}, "t must be a positive integer"),
        ({"random_state": 0}, "settings must be among"),
    ],
)
def test_bad_arguments_are_told_by_their_names(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        Playground(**arguments)


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
