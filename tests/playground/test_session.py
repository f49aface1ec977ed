"""What a session answers: a frame is `PegasosSVC`, to the last bit, whatever was asked before."""

import gc
import json
import weakref

import numpy as np
import playground_cases as cases
import pytest
from playground_cases import fitted, points_of, preset_points, refusal, session_of, shown, state_of
from scipy.special import expit
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from kpegasos.fitting.pairs import pair_coefficients
from kpegasos.playground.messages import MessageError
from kpegasos.playground.session import Session
from kpegasos.solvers.stopping import Stopper

#: By which a step size is multiplied at a margin.
PULLS = {
    "hinge": lambda margin: float(margin < 1),
    "squared_hinge": lambda margin: 2 * max(0, 1 - margin),
    "smoothed_hinge": lambda margin: min(1, 2 * max(0, 1 - margin)),
    "log_loss": lambda margin: expit(-margin),
}
POLISH, COMPARE = ({"kind": kind, "revision": 1, "id": 2} for kind in ("polish", "compare"))


def assert_same(session, state, t):
    """The panes of a frame, its curves and the models are the fitted estimators."""
    frame, test = shown(session, t, history=True), np.array(state["test"])
    train, models = np.flatnonzero(~test), session.models(t)
    X, y = np.array(state["points"]), np.array(state["labels"])
    for pane, found, own in zip(state["panes"], frame["panes"], models, strict=True):
        model = fitted(state, pane, t)
        binary = len(model.classes_) == 2
        sign = 1.0 if binary else -1.0
        coefs = pair_coefficients(model.dual_coef_, model.n_support_)
        for row, intercept, pair in zip(coefs, model.intercept_, found["pairs"], strict=True):
            places = train[model.support_].tolist()
            expected = {k: sign * v for k, v in zip(places, row.tolist(), strict=True) if v}
            assert dict(zip(pair["support"], pair["dual_coef"], strict=True)) == expected
            assert pair["intercept"] == sign * intercept
        histories = [model.history_] if binary else model.history_
        objective, averaged, bound = (
            np.sum([history[name] for history in histories], axis=0).tolist()
            for name in ("objective_last", "objective_average", "dual_bound")
        )
        assert found["history"]["t"] == histories[0]["iteration"].tolist()
        assert (found["objective"], found["history"]["objective"]) == (objective[-1], objective)
        if state["average"] is None:
            assert found["averaged"] is found["history"]["averaged"] is None
        else:
            assert found["averaged"] == np.sum(model.objective_)
            # A frame's checkpoints are settled, those of a fit as it went over them are not.
            assert found["history"]["averaged"] == pytest.approx(averaged, rel=1e-7)
        if pane["kernel"] == "sigmoid":
            assert found["bound"] is found["gap"] is None
            assert "sigmoid" in found["certificate"]
        else:
            assert (found["bound"], found["history"]["bound"]) == (bound[-1], bound)
            assert found["gap"] == np.sum(model.duality_gap_) / np.sum(model.objective_)
        assert found["train_error"] == np.mean(model.predict(X[~test]) != y[~test])
        tested = np.mean(model.predict(X[test]) != y[test]) if test.any() else None
        errors = found["history"]["test_error"]
        assert found["test_error"] == (errors and errors[-1]) == tested
        assert found["support"] == len(model.support_)
        counted = state["loss"] == "hinge" and not state["projection"] and state["step"] is None
        assert (found["counts"] is not None) == counted
        if counted:
            alpha = model.alpha_ if binary else model.alpha_.toarray().max(axis=0)
            assert [found["counts"][place] for place in train] == alpha.tolist()
        assert own.get_params() == model.get_params()
        assert vars(own).keys() == vars(model).keys()
        assert np.array_equal(own.dual_coef_, model.dual_coef_)


@pytest.mark.parametrize(
    "state",
    [
        *(cases.state_named(name, held_out=9) for name in cases.PROBLEMS),
        state_of(n=1300, panes=[cases.RBF]),  # whose rows are float32
    ],
    ids=[*cases.PROBLEMS, "float32"],
)
def test_frame_is_the_estimator(state):
    session = session_of(state)
    for t in (1, 500, 17, 501):
        assert_same(session, state, t)


@pytest.mark.parametrize("average", ["weighted", "suffix"])
def test_frames_do_not_depend_on_what_was_asked_before(average):
    state = state_of(3, held_out=8, average=average)
    steps = [1, 2, 3, 126, 127, 128, 999, 1000, 1259]
    wishes = {"history": True, "explain": True}
    alone = {t: shown(session_of(state), t, **wishes) for t in steps}
    session = session_of(state)
    for t in [*steps, *np.random.default_rng(0).permutation(np.repeat(steps, 2)).tolist()]:
        assert shown(session, t, **wishes) == alone[t]


def test_time_that_is_up_leaves_what_was_done():
    session = session_of(state_of())
    run = session._pane_runs()[0]
    with pytest.raises(MessageError, match=r"^t must be less, or asked for again"):
        run.at(1_000_000, Stopper(0.0))
    assert 0 < run.pairs[0]._front.state.steps < 1_000_000
    assert_same(session, state_of(), 900)
    shown(session, 100_000)
    assert len(session._pane_runs()[0].pairs[0]._states) <= 51  # ten a decade


# --- the parts of a frame ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_test_error_at_checkpoints_is_that_of_the_models_there(n_classes):
    state = state_of(n_classes, held_out=25)
    X, y = np.array(state["points"])[-25:], np.array(state["labels"])[-25:]
    panes = shown(session_of(state), 40, history=True)["panes"]
    for pane, found in zip(state["panes"], panes, strict=True):
        models = [fitted(state, pane, step) for step in found["history"]["t"]]
        errors = [np.mean(model.predict(X) != y) for model in models]
        assert found["history"]["test_error"] == errors


def test_classes_keep_their_numbers_where_some_are_missing():
    X, labels = points_of(3)
    state = state_of(points=X.tolist(), labels=(labels + 1).tolist(), test=[False] * 60)
    linear, rbf = shown(session_of(state), 50)["panes"]
    assert (linear["gamma"], rbf["gamma"]) == (None, pytest.approx(1 / (2 * X.var())))
    assert rbf["classes"] == [1, 2, 3]
    assert [pair["classes"] for pair in rbf["pairs"]] == [[1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize("loss", PULLS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanation_is_the_step_by_hand(n_classes, loss):
    state = state_of(n_classes, batch_size=2, average=None, loss=loss)
    session = session_of(state)
    X, labels = np.array(state["points"]), np.array(state["labels"])
    for t in (2, 60):
        frame = shown(session, t, explain=True)
        for pane, told in zip(state["panes"], frame["explain"], strict=True):
            before = fitted(state, pane, t - 1, decision_function_shape="ovo")
            lam = np.atleast_1d(before.lam_)[0]
            assert (told["pair"], told["t"], told["step_size"]) == ([0, 1], t, 1 / (lam * t))
            assert [example["i"] for example in told["examples"]] == frame["drawn"]
            for example in told["examples"]:
                sign = 1 if labels[example["i"]] == 1 else -1
                decision = np.atleast_1d(before.decision_function(X[[example["i"]]])[0])[0]
                decision *= 1 if n_classes == 2 else -1
                assert example["label"] == sign
                assert example["decision"] == pytest.approx(decision, rel=1e-9, abs=1e-9)
                assert example["margin"] == sign * example["decision"]
                assert example["pull"] == pytest.approx(PULLS[loss](example["margin"]), rel=1e-9)


# --- other algorithms ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_polished_frame_is_the_polished_estimator(n_classes):
    state = state_of(n_classes)
    (frame,) = session_of(state).handle(POLISH)
    assert (frame["algorithm"], frame["id"], frame["revision"]) == ("polish", 2, 1)
    for pane, found in zip(state["panes"], frame["panes"], strict=True):
        model = fitted(state, pane, None, polish=True, checkpoints="auto")
        assert found["objective"] == np.sum(model.objective_)
        assert found["gap"] == np.sum(model.duality_gap_) / found["objective"] <= 0.01
        assert found["support"] == len(model.support_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_compared_frame_is_svc_by_our_objective(kernel):
    X, y = points_of()
    X += 2.0  # so that the intercept counts
    panes = [{"kernel": kernel, "gamma": 0.5}]
    (frame,) = session_of(state_of(panes=panes, C=2.0, points=X.tolist())).handle(COMPARE)
    (pane,) = frame["panes"]
    peer = SVC(C=2.0, kernel=kernel, gamma=0.5, tol=1e-5).fit(X, y)
    coef = peer.dual_coef_[0]
    K = pairwise_kernels(X[peer.support_], metric=kernel, filter_params=True, gamma=0.5)
    losses = np.maximum(0.0, 1.0 - (2 * y - 1) * peer.decision_function(X))
    objective = (coef @ K @ coef + peer.intercept_[0] ** 2) / (2 * 2.0 * 60) + losses.mean()
    assert pane["objective"] == pytest.approx(objective, rel=1e-3)
    assert pane["pairs"][0]["intercept"] == pytest.approx(peer.intercept_[0], abs=1e-2)
    assert pane["train_error"] == np.mean(peer.predict(X) != y)


# --- refusals and what is kept ---


@pytest.mark.parametrize(
    ("changes", "request_", "parameter", "sentence"),
    [
        ({"loss": "log_loss"}, COMPARE, "loss", "loss must be 'hinge' to compare"),
        ({"fit_intercept": False}, COMPARE, "fit_intercept", "fit_intercept must be on"),
        ({"panes": [cases.RBF, cases.SIGMOID]}, POLISH, "panes[1].kernel", "panes[1].kernel must"),
        ({"batch_size": 61}, None, "batch_size", "batch_size must be at most"),
        (
            {"panes": [cases.RBF | {"gamma": 1e9}], "points": [[1e6, 0.0], [-1e6, 0.0]] * 30},
            *(None, "gamma", "X and gamma must be small enough"),
        ),
    ],
)
def test_error_names_its_parameter(changes, request_, parameter, sentence):
    show = {"kind": "show", "revision": 1, "t": 1, "id": 2}
    error = refusal(session_of(state_of(**changes)), request_ or show)
    assert (error["id"], error["parameter"]) == (2, parameter)
    assert error["message"].startswith(sentence)


def test_state_that_was_refused_is_not_shown():
    session = session_of()
    state = {"kind": "state", "revision": 2, "state": state_of(C=-1)}
    refused = refusal(session, state)
    assert refused["parameter"] == "C"
    shown_after = refusal(session, {"kind": "show", "revision": 2, "t": 1, "id": 9})
    assert shown_after["message"] == refused["message"]
    assert session.handle({**state, "revision": 3, "state": state_of()}) == []
    assert session.handle({"kind": "show", "revision": 3, "t": 1, "id": 9})[0]["kind"] == "frame"


def test_edits_are_seen():
    session, state = session_of(), state_of()
    first = shown(session, 200)
    state["points"][3] = [5.0, 5.0]
    session.handle({"kind": "state", "revision": 1, "state": state})
    assert shown(session, 200) == shown(session_of(state), 200) != first
    assert json.loads(json.dumps(first, allow_nan=False)) == first


def test_animation_is_offered_where_there_are_callbacks(monkeypatch):
    for has_callbacks, exports in ((True, ["png", "svg", "gif"]), (False, ["png", "svg"])):
        monkeypatch.setattr("kpegasos.playground.session.HAS_CALLBACKS", has_callbacks)
        assert Session().hello()["exports"] == exports


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
    assert len(frame["panes"]) == len(session.models(10)) == (2 if status == "ok" else 0)


def test_before_the_first_step_there_is_no_model():
    frame = shown(session_of(state_of(held_out=3)), 0, explain=True, history=True)
    pane = frame["panes"][0]
    assert pane["pairs"] == [{"classes": [0, 1], "support": [], "dual_coef": [], "intercept": 0.0}]
    assert pane["objective"] == pane["averaged"] == 1.0
    assert pane["counts"] == [0] * 57 + [None] * 3
    assert pane["bound"] is pane["gap"] is pane["train_error"] is pane["test_error"] is None
    assert pane["history"]["t"] == []
    assert (frame["drawn"], frame["explain"], frame["epoch"]) == ([], None, 0.0)


# --- the numbers of the lesson in the documentation ---


def lesson(name, panes, noise=0.1, test_share=0.0, **changes):
    points = preset_points(name, 200, noise, test_share=test_share)
    return session_of(state_of(panes=panes, **changes) | points)


def moons(C):
    return lesson("moons", [{"kernel": "rbf", "gamma": 2.0}], 0.3, 0.5, C=C)


def test_no_line_divides_circles():
    session = lesson("circles", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 1.0}])
    linear, rbf = shown(session, 20_000)["panes"]
    assert linear["averaged"] == pytest.approx(1.0, abs=0.01)
    assert 0.3 < linear["train_error"] < 0.6
    assert linear["support"] == 200
    assert linear["bound"] > 0.9
    assert (rbf["averaged"] < 0.06, rbf["train_error"] <= 0.01) == (True, True)
    squares = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    for name in ("circles", "xor"):
        panes = shown(lesson(name, [{"kernel": "linear"}, squares]), 20_000)["panes"]
        assert panes[0]["train_error"] > 0.3
        assert panes[1]["train_error"] < 0.1


def test_small_lam_learns_single_points_by_heart_and_slowly():
    (everything,) = shown(moons(0.01), 20_000)["panes"]
    assert (everything["support"], everything["averaged"] > 0.9) == (100, True)
    session, mild = moons(1000.0), moons(0.1)
    (wild,) = session.handle(POLISH)[0]["panes"]
    (pane,) = shown(mild, 20_000)["panes"]
    assert (wild["train_error"], wild["test_error"]) == (0.02, 0.28)
    assert (pane["train_error"], pane["test_error"]) == (0.07, 0.06)
    assert wild["gap"] < 0.01
    assert shown(mild, 2000)["panes"][0]["gap"] < 0.01
    assert shown(session, 20_000)["panes"][0]["gap"] > 0.9
    assert shown(session, 1, explain=True)["explain"][0]["step_size"] == pytest.approx(1e5)


def test_svc_lies_in_the_band():
    session = moons(1.0)
    (pane,) = shown(session, 20_000)["panes"]
    (svc,) = session.handle(COMPARE)[0]["panes"]
    assert pane["gap"] < 0.01
    assert pane["bound"] <= svc["objective"] <= pane["averaged"]
