"""A frame is `PegasosSVC`, to the last bit, whatever was asked before."""

import numpy as np
import pytest
from playground_cases import fitted, session_of, shown, state_of

from kpegasos import make_problem
from kpegasos.core.state import PegasosOptions
from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.fitting.pairs import pair_coefficients
from kpegasos.playground.messages import MessageError
from kpegasos.playground.runs import PairRun
from kpegasos.rows.choose import make_rows
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import draw_seed

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 1.3},
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    {"kernel": "laplacian", "gamma": 0.7},
    {"kernel": "sigmoid", "gamma": 0.2, "coef0": -0.5},
]
SETTINGS = [
    {},
    {"average": None},
    {"average": "uniform"},
    {"average": "suffix"},
    {"batch_size": 4},
    {"batch_size": 3, "sampling": "uniform"},
    {"projection": True},
    {"projection": True, "average": "suffix", "batch_size": 2},
    {"fit_intercept": False},
    {"C": None, "lam": 0.003},
    {"loss": "squared_hinge"},
    {"loss": "log_loss", "average": "uniform"},
    {"loss": "smoothed_hinge"},
    {"seed": 4_000_000_000},
]


def assert_same(frame, state, t):
    """The panes of a frame are the fitted estimators."""
    train = np.flatnonzero(~np.array(state["test"]))
    for pane, found in zip(state["panes"], frame["panes"], strict=True):
        model = fitted(state, pane, t)
        binary = len(model.classes_) == 2
        coefs = pair_coefficients(model.dual_coef_, model.n_support_)
        for row, intercept, pair in zip(coefs, model.intercept_, found["pairs"], strict=True):
            expected = dict(zip(train[model.support_].tolist(), row.tolist(), strict=True))
            sign = 1.0 if binary else -1.0
            expected = {place: sign * value for place, value in expected.items() if value}
            assert dict(zip(pair["support"], pair["dual_coef"], strict=True)) == expected
            assert pair["intercept"] == sign * intercept
        histories = [model.history_] if binary else model.history_
        bound = sum(history[-1].dual_bound for history in histories)
        assert found["objective"] == sum(history[-1].objective_last for history in histories)
        if state["average"] is not None:
            assert found["averaged"] == np.sum(model.objective_)
        if np.isnan(bound):
            assert found["bound"] is found["gap"] is None
            assert "sigmoid" in found["certificate"]
        else:
            assert found["bound"] == bound
            assert found["gap"] == np.sum(model.duality_gap_) / np.sum(model.objective_)
        X, y = np.array(state["points"])[train], np.array(state["labels"])[train]
        assert found["train_error"] == np.mean(model.predict(X) != y)
        assert found["support"] == len(model.support_)
        if found["counts"] is not None:
            alpha = model.alpha_ if binary else model.alpha_.toarray().max(axis=0)
            assert [found["counts"][place] for place in train] == alpha.tolist()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("pane", KERNELS, ids=lambda pane: "-".join(map(str, pane.values())))
def test_frame_is_the_estimator_for_every_kernel(pane, n_classes):
    state = state_of(n_classes, panes=[pane])
    session = session_of(state)
    for t in (1, 2, 63, 64, 700):
        assert_same(shown(session, t), state, t)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_frame_is_the_estimator_for_every_setting(changes, n_classes):
    state = state_of(n_classes, held_out=9, **changes)
    session = session_of(state)
    for t in (1, 500, 17, 501, 1300, 2048):
        assert_same(shown(session, t), state, t)


def test_frame_is_the_estimator_where_rows_are_float32():
    state = state_of(n=1300, panes=[{"kernel": "rbf", "gamma": 1.0}])
    session = session_of(state)
    for t in (5000, 400, 5001):
        assert_same(shown(session, t), state, t)


@pytest.mark.parametrize("average", ["weighted", "suffix"])
def test_frames_do_not_depend_on_what_was_asked_before(average):
    state = state_of(3, held_out=8, average=average)
    steps = [1, 126, 127, 128, 999, 1000, 1001, 1259, 3000]
    wishes = {"history": True, "explain": True}
    alone = {t: shown(session_of(state), t, **wishes) for t in steps}
    rng = np.random.default_rng(0)
    session = session_of(state)
    for t in rng.permutation(np.repeat(steps, 3)).tolist():
        assert shown(session, t, **wishes) == alone[t]


def test_playing_step_by_step_is_a_run():
    state = state_of()
    session = session_of(state)
    for t in range(1, 140):
        assert_same(shown(session, t), state, t)


@pytest.mark.parametrize(
    ("rule", "own"),
    [
        ({"rule": "inverse_sqrt", "scale": 0.3}, InverseSquareRoot(0.3)),
        ({"rule": "constant", "scale": 0.05}, Constant(0.05)),
        ({"rule": "delayed"}, DelayedInverse()),
    ],
    ids=lambda value: value["rule"] if isinstance(value, dict) else "",
)
def test_step_rules_are_those_of_the_solver(rule, own):
    state = state_of(panes=[{"kernel": "rbf", "gamma": 1.0}], step=rule)
    session = session_of(state)
    X, y = np.array(state["points"]), np.array(state["labels"])
    for t in (300, 7, 301):
        (pane,) = shown(session, t)["panes"]
        run = make_run(
            make_problem(y, C=state["C"]),
            make_rows(X, "rbf", gamma=1.0, intercept_scaling=1.0),
            PegasosOptions(step=own),
            n_steps=t,
            epochs=None,
            checkpoints="log",
            tol=None,
            seed=draw_seed(0),
            spawn_key=(0,),
        )
        while not run.finished:
            run.advance(Stopper())
        result = run.result()
        assert pane["pairs"][0]["dual_coef"] == result.coef[np.flatnonzero(result.coef)].tolist()
        assert pane["averaged"] == result.objective
        assert pane["bound"] == result.dual_bound
        assert pane["counts"] is None


def test_time_that_is_up_leaves_what_was_done(monkeypatch):
    session = session_of(state_of())
    run = session._pane_runs()[0]
    with pytest.raises(MessageError, match=r"^t must be less, or asked for again"):
        run.at(1_000_000, Stopper(0.0))
    reached = run.pairs[0]._front.state.steps
    assert 0 < reached < 1_000_000
    assert_same(shown(session, 900), state_of(), 900)


def test_states_are_kept_sparsely():
    session = session_of(state_of())
    shown(session, 100_000)
    pair = session._pane_runs()[0].pairs[0]
    assert isinstance(pair, PairRun)
    assert len(pair._states) <= 51  # ten a decade
