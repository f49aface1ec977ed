"""What a session answers, without any transport."""

import gc
import json
import math
import weakref

import numpy as np
import pytest
from playground_cases import fitted, points_of, refusal, session_of, shown, state_of
from sklearn.svm import SVC

from kpegasos.core.draws import IndexStream
from kpegasos.losses import CLASSIFICATION
from kpegasos.playground.session import Session
from kpegasos.utils.validation import draw_seed


def test_hello_says_what_the_engine_can():
    hello = Session().handle({"kind": "hello"})[0]
    assert hello["engine"] == "python"
    assert hello["state"] is None
    assert hello["losses"] == list(CLASSIFICATION)
    assert hello["algorithms"] == ["polish", "SVC"]
    assert (hello["classes_limit"], hello["points_limit"]) == (4, 2000)


def test_state_is_not_answered():
    assert Session().handle({"kind": "state", "revision": 3, "state": state_of()}) == []


def test_every_answer_is_json():
    session = session_of(state_of(3, held_out=5, panes=[{"kernel": "sigmoid"}]))
    for t in (0, 1, 100):
        frame = shown(session, t, explain=True, history=True)
        assert json.loads(json.dumps(frame, allow_nan=False)) == frame


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
def test_status_says_what_is_missing(labels, test, status):
    points = [[0.1 * place, 1.0] for place in range(len(labels))]
    session = session_of(state_of(points=points, labels=labels, test=test))
    frame = shown(session, 10, explain=True, history=True)
    assert frame["status"] == status
    assert len(frame["panes"]) == (2 if status == "ok" else 0)


def test_before_the_first_step_there_is_no_model():
    frame = shown(session_of(state_of(held_out=3)), 0, explain=True, history=True)
    pane = frame["panes"][0]
    assert pane["pairs"] == [{"classes": [0, 1], "support": [], "dual_coef": [], "intercept": 0.0}]
    assert pane["objective"] == pane["averaged"] == 1.0
    assert pane["counts"] == [0] * 57 + [None] * 3
    assert pane["bound"] is pane["gap"] is pane["train_error"] is pane["test_error"] is None
    assert pane["history"]["t"] == []
    assert (frame["drawn"], frame["explain"], frame["epoch"]) == ([], None, 0.0)


def test_objective_before_the_first_step_is_the_loss_of_nothing():
    session = session_of(state_of(3, loss="log_loss"))
    assert shown(session, 0)["panes"][0]["objective"] == pytest.approx(3 * math.log(2))


def test_classes_keep_their_numbers_where_some_are_missing():
    X, labels = points_of(3)
    state = state_of(points=X.tolist(), labels=(labels + 1).tolist(), test=[False] * 60)
    pane = shown(session_of(state), 50)["panes"][1]
    assert pane["classes"] == [1, 2, 3]
    assert [pair["classes"] for pair in pane["pairs"]] == [[1, 2], [1, 3], [2, 3]]


def test_gamma_is_told_as_the_number_used():
    frame = shown(session_of(state_of()), 5)
    X, _ = points_of()
    assert frame["panes"][0]["gamma"] is None
    assert frame["panes"][1]["gamma"] == pytest.approx(1 / (2 * X.var()))


@pytest.mark.parametrize("sampling", ["permutation", "uniform"])
def test_drawn_points_are_those_of_the_stream(sampling):
    state = state_of(held_out=20, batch_size=3, sampling=sampling)
    state["test"] = state["test"][::-1]
    session = session_of(state)
    draws = IndexStream(40, sampling, draw_seed(0), (0,)).take(0, 30 * 3) + 20
    for t in (30, 1, 2):
        assert shown(session, t)["drawn"] == draws[3 * t - 3 : 3 * t].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanation_is_the_step_by_hand(n_classes):
    state = state_of(n_classes, batch_size=2, average=None)
    session = session_of(state)
    X, labels = np.array(state["points"]), np.array(state["labels"])
    for t in (2, 60, 500):
        frame = shown(session, t, explain=True)
        for pane, told in zip(state["panes"], frame["explain"], strict=True):
            before = fitted(state, pane, t - 1, decision_function_shape="ovo")
            lam = np.atleast_1d(before.lam_)[0]
            assert told["pair"] == [0, 1]
            assert (told["t"], told["step_size"]) == (t, 1 / (lam * t))
            assert [example["i"] for example in told["examples"]] == frame["drawn"]
            for example in told["examples"]:
                sign = 1 if labels[example["i"]] == 1 else -1
                decision = np.atleast_1d(before.decision_function(X[[example["i"]]])[0])[0]
                decision *= 1 if n_classes == 2 else -1
                assert example["label"] == sign
                assert example["decision"] == pytest.approx(decision, rel=1e-9, abs=1e-9)
                assert example["margin"] == sign * example["decision"]
                assert example["violated"] == (example["margin"] < 1)


def test_violation_explained_is_a_violation_counted():
    session = session_of(state_of(average=None))
    for t in range(1, 150):
        before, after = shown(session, t - 1), shown(session, t, explain=True)
        for number, told in enumerate(after["explain"]):
            (example,) = told["examples"]
            place = example["i"]
            counts = [frame["panes"][number]["counts"][place] for frame in (before, after)]
            assert counts[1] - counts[0] == example["violated"]


def test_history_is_that_of_the_estimator():
    state = state_of(held_out=10)
    session = session_of(state)
    for t in (800, 45, 801):
        for pane, found in zip(
            state["panes"], shown(session, t, history=True)["panes"], strict=True
        ):
            history = fitted(state, pane, t).history_
            assert found["history"]["t"] == history["iteration"].tolist()
            assert found["history"]["objective"] == history["objective_last"].tolist()
            assert found["history"]["averaged"] == history["objective_average"].tolist()
            assert found["history"]["bound"] == history["dual_bound"].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_test_error_at_checkpoints_is_that_of_the_models_there(n_classes):
    state = state_of(n_classes, held_out=25)
    X, y = np.array(state["points"])[-25:], np.array(state["labels"])[-25:]
    session = session_of(state)
    for t in (40, 300):
        for pane, found in zip(
            state["panes"], shown(session, t, history=True)["panes"], strict=True
        ):
            steps, errors = found["history"]["t"], found["history"]["test_error"]
            models = [fitted(state, pane, step) for step in steps]
            assert errors == [np.mean(model.predict(X) != y) for model in models]
            assert found["test_error"] == errors[-1]


def test_history_has_no_test_error_without_test_points():
    pane = shown(session_of(), 50, history=True)["panes"][0]
    assert pane["test_error"] is pane["history"]["test_error"] is None


def test_last_iterate_has_no_average():
    pane = shown(session_of(state_of(average=None)), 50, history=True)["panes"][0]
    assert pane["averaged"] is pane["history"]["averaged"] is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_polished_frame_is_the_polished_estimator(n_classes):
    state = state_of(n_classes)
    (frame,) = session_of(state).handle({"kind": "polish", "revision": 1, "id": 2})
    assert (frame["algorithm"], frame["id"], frame["revision"]) == ("polish", 2, 1)
    for pane, found in zip(state["panes"], frame["panes"], strict=True):
        model = fitted(state, pane, None, polish=True, checkpoints="auto")
        assert found["objective"] == np.sum(model.objective_)
        assert found["gap"] == np.sum(model.duality_gap_) / found["objective"] <= 0.01
        assert found["support"] == len(model.support_)


def test_polish_needs_a_certificate():
    session = session_of(state_of(panes=[{"kernel": "linear"}, {"kernel": "sigmoid"}]))
    error = refusal(session, {"kind": "polish", "revision": 1, "id": 2})
    assert error["parameter"] == "panes[1].kernel"
    assert "sigmoid" in error["message"]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_compared_frame_is_svc_by_our_objective(kernel):
    state = state_of(panes=[{"kernel": kernel, "gamma": 0.5}], C=2.0)
    (frame,) = session_of(state).handle({"kind": "compare", "revision": 1, "id": 2})
    (pane,) = frame["panes"]
    assert frame["algorithm"] == "SVC"
    polished = fitted(state, state["panes"][0], None, polish=True, tol=1e-4, checkpoints="auto")
    # SVC solves a problem whose intercept is free, so its objective is not the least of ours.
    assert polished.objective_ * 0.999 <= pane["objective"] <= 1.2 * polished.objective_
    if kernel != "laplacian":
        X, y = points_of()
        peer = SVC(C=2.0, kernel=kernel, gamma=0.5).fit(X, y)
        assert pane["pairs"][0]["intercept"] == pytest.approx(peer.intercept_[0], abs=1e-2)
        assert pane["train_error"] == np.mean(peer.predict(X) != y)


@pytest.mark.parametrize(("name", "value"), [("loss", "log_loss"), ("fit_intercept", False)])
def test_comparison_refuses_what_svc_does_not_solve(name, value):
    session = session_of(state_of(**{name: value}))
    assert refusal(session, {"kind": "compare", "revision": 1, "id": 2})["parameter"] == name


def test_revision_must_be_the_last():
    session = session_of()
    error = refusal(session, {"kind": "show", "revision": 2, "t": 1, "id": 9})
    assert (error["id"], error["parameter"]) == (9, "revision")


def test_state_that_was_refused_is_not_shown():
    session = session_of()
    state = {"kind": "state", "revision": 2, "state": state_of(C=-1)}
    refused = refusal(session, state)
    assert refused["parameter"] == "C"
    shown_after = refusal(session, {"kind": "show", "revision": 2, "t": 1, "id": 9})
    assert shown_after["message"] == refused["message"]
    assert session.handle({**state, "revision": 3, "state": state_of()}) == []
    assert session.handle({"kind": "show", "revision": 3, "t": 1, "id": 9})[0]["kind"] == "frame"


def test_error_of_the_estimator_names_its_parameter():
    state = state_of(labels=[0] * 59 + [2], points=points_of()[0].tolist(), batch_size=61)
    error = refusal(session_of(state), {"kind": "show", "revision": 1, "t": 1, "id": 4})
    assert error["parameter"] == "batch_size"
    assert error["message"].startswith("batch_size must be at most")


def test_error_of_a_kernel_names_its_gamma():
    points = (1e6 * np.tanh(points_of()[0])).tolist()
    state = state_of(panes=[{"kernel": "rbf", "gamma": 1e9}], points=points)
    error = refusal(session_of(state), {"kind": "show", "revision": 1, "t": 1, "id": 4})
    assert error["parameter"] == "gamma"
    assert error["message"].startswith("X and gamma must be small enough")


def test_edits_are_seen():
    session, state = session_of(), state_of()
    first = shown(session, 200)
    state["points"][3] = [5.0, 5.0]
    session.handle({"kind": "state", "revision": 1, "state": state})
    assert shown(session, 200) == shown(session_of(state), 200) != first


def test_runs_of_few_states_are_kept():
    session = Session()
    for revision in range(12):
        session.handle({"kind": "state", "revision": revision, "state": state_of(seed=revision)})
        session.handle({"kind": "show", "revision": revision, "t": 3, "id": 0})
    assert len(session._runs) <= 6


def test_runs_of_many_points_are_not_kept_beside_the_present():
    session = Session()
    for revision in range(3):
        state = state_of(n=1800, seed=revision)
        session.handle({"kind": "state", "revision": revision, "state": state})
        session.handle({"kind": "show", "revision": revision, "t": 3, "id": 0})
    assert len(session._runs) == 2


def test_models_are_fitted_estimators():
    state = state_of(held_out=4)
    models = session_of(state).models(300)
    for pane, model in zip(state["panes"], models, strict=True):
        expected = fitted(state, pane, 300)
        assert model.get_params() == expected.get_params()
        assert vars(model).keys() == vars(expected).keys()
        assert np.array_equal(model.dual_coef_, expected.dual_coef_)
        for name in ("iteration", "objective_last", "objective_average", "dual_bound"):
            assert np.array_equal(model.history_[name], expected.history_[name])


def test_there_are_no_models_of_one_class():
    assert session_of(state_of(labels=[1] * 60)).models(10) == []


def test_session_is_freed_when_its_page_is_gone():
    gc.disable()
    try:
        session = session_of()
        shown(session, 50)
        gone = weakref.ref(session)
        del session
        assert gone() is None
    finally:
        gc.enable()
