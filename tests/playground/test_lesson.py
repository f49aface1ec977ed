"""What the lesson of the documentation promises its readers."""

import pytest
from playground_cases import preset_points, shown

from kpegasos.playground.messages import DEFAULTS
from kpegasos.playground.session import Session

LINEAR, RBF = {"kernel": "linear"}, {"kernel": "rbf", "gamma": 1.0}
SQUARES = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}


def lesson(preset, panes, **changes):
    session = Session()
    data = preset_points(**{"n": 200, "noise": 0.1, **preset})
    state = {**DEFAULTS, **data, "panes": panes, **changes}
    assert session.handle({"kind": "state", "revision": 1, "state": state}) == []
    return session


def by(session, kind):
    return session.handle({"kind": kind, "revision": 1, "id": 1})[0]["panes"]


def moons(C, **pane):
    preset = {"name": "moons", "noise": 0.3, "test_share": 0.5}
    return lesson(preset, [{"kernel": "rbf", "gamma": 2.0, **pane}], C=C)


def test_no_line_divides_circles():
    session = lesson({"name": "circles"}, [LINEAR, RBF])
    linear, rbf = shown(session, 20_000)["panes"]
    assert linear["averaged"] == pytest.approx(1.0, abs=0.01)
    assert 0.3 < linear["train_error"] < 0.6
    assert linear["support"] == 200
    assert rbf["averaged"] < 0.06
    assert rbf["train_error"] <= 0.01
    bounds = [shown(session, t)["panes"][0]["bound"] for t in (200, 2000, 20_000)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > 0.9


@pytest.mark.parametrize("name", ["circles", "xor"])
def test_squares_are_enough(name):
    session = lesson({"name": name}, [LINEAR, SQUARES])
    linear, squares = shown(session, 20_000)["panes"]
    assert linear["train_error"] > 0.3
    assert squares["train_error"] < 0.1


def test_large_lam_makes_all_points_support_vectors():
    (pane,) = shown(moons(0.01), 20_000)["panes"]
    assert pane["support"] == 100
    assert pane["averaged"] > 0.9


def test_small_lam_learns_single_points_by_heart():
    (wild,) = by(moons(1000.0), "polish")
    (mild,) = shown(moons(0.1), 20_000)["panes"]
    assert (wild["train_error"], wild["test_error"]) == (0.02, 0.28)
    assert (mild["train_error"], mild["test_error"]) == (0.07, 0.06)
    assert wild["gap"] < 0.01


def test_lam_sets_the_pace():
    assert shown(moons(0.1), 2000)["panes"][0]["gap"] < 0.01
    session = moons(1000.0)
    assert shown(session, 20_000)["panes"][0]["gap"] > 0.9
    assert shown(session, 1, explain=True)["explain"][0]["step_size"] == pytest.approx(1e5)


def test_svc_lies_in_the_band():
    session = moons(1.0)
    (pane,) = shown(session, 20_000)["panes"]
    (svc,) = by(session, "compare")
    assert pane["gap"] < 0.01
    assert pane["bound"] <= svc["objective"] <= pane["averaged"]


def test_sigmoid_has_no_certificate():
    (pane,) = shown(moons(1.0, kernel="sigmoid"), 2000)["panes"]
    assert pane["gap"] is pane["bound"] is None
    assert "no duality gap is certified" in pane["certificate"]
