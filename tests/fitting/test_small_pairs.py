"""Pairs of few examples are trained in compiled code together, to the bits of a pair by itself."""

import pickle
from unittest.mock import Mock

import numpy as np
import pytest
from models import counts_of
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from solver_cases import untimed

from kpegasos import PegasosSVC
from kpegasos.core import small_runs
from kpegasos.fitting import training
from kpegasos.fitting.observers import CallbackObserver
from kpegasos.fitting.pairs import KernelRows
from kpegasos.solvers.small import SmallResults
from kpegasos.utils import tuning

ARRAYS = [
    "intercept_", "lam_", "n_steps_", "objective_", "duality_gap_", "relative_gap_", "support_",
    "n_support_", "dual_coef_",
]  # fmt: skip


def data(n_classes, n_each=4, *, std=3.0):
    n_samples = n_classes * n_each + n_classes // 2
    return make_blobs(n_samples, n_features=5, centers=n_classes, cluster_std=std, random_state=1)


def fit_together(monkeypatch, X, y, weight=None, **options):
    """A fit, and how many pairs were left to the drivers; None if they got all."""
    left = [None]
    advance = SmallResults.advance

    def spy(results, *arguments, **others):
        advance(results, *arguments, **others)
        left[0] = len(results.left)

    with monkeypatch.context() as patch:
        patch.setattr(SmallResults, "advance", spy)
        return PegasosSVC(random_state=3, **options).fit(X, y, weight), left[0]


def fit_alone(monkeypatch, X, y, weight=None, **options):
    with monkeypatch.context() as patch:
        patch.setattr(training, "small_pairs", lambda plan: None)
        if len(set(y)) == 2:  # rows are not those of a matrix that was made beforehand
            never = property(lambda self: False, lambda *_: None)
            patch.setattr(KernelRows, "at_once", never, raising=False)
        return PegasosSVC(random_state=3, **options).fit(X, y, weight)


def assert_same(one, other):
    for name in ARRAYS:
        mine, its = (np.asarray(getattr(model, name)) for model in (one, other))
        assert mine.tobytes() == its.tobytes(), name
    assert counts_of(one).tobytes() == counts_of(other).tobytes()
    if len(one.classes_) == 2:
        assert untimed(one.history_) == untimed(other.history_)
    else:
        assert [*map(untimed, one.history_)] == [*map(untimed, other.history_)]


@pytest.mark.filterwarnings("ignore:PegasosSVC did not reach tol")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"polish": True},
        {"polish": True, "tol": 1e-4, "average": None, "C": 10.0},
        {"average": "uniform", "sampling": "uniform", "checkpoints": "log"},
        {"tol": 0.3, "fit_intercept": False, "class_weight": "balanced"},
        {"lam": 0.01, "epochs": 2, "checkpoints": None, "n_jobs": 2},
        {"verbose": True, "epochs": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", [(9, 4), (5, 1), (3, 90)])
@pytest.mark.pure_python
def test_pairs_trained_together_are_those_trained_alone(shape, options, monkeypatch):
    X, y = data(*shape)
    together, left = fit_together(monkeypatch, X, y, **options)
    assert left == 0
    assert_same(together, fit_alone(monkeypatch, X, y, **options))


@pytest.mark.parametrize(
    "options",
    [{}, {"polish": True, "tol": 1e-4, "C": 10.0}, {"average": None, "fit_intercept": False}],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_classes_in_compiled_code_are_those_of_the_drivers(dtype, options, monkeypatch):
    X, y = data(2, 100)
    X, weight = X.astype(dtype), np.arange(y.size) % 3 + 0.0
    together, left = fit_together(monkeypatch, X, y, weight, **options)
    assert left is not None
    assert_same(together, fit_alone(monkeypatch, X, y, weight, **options))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("epochs", [1, 2.3])
def test_warm_starts_in_compiled_code_are_those_of_the_drivers(n_classes, epochs, monkeypatch):
    """Whichever of both has begun the run."""
    X, y = data(n_classes, 30)
    models = []
    for alone in ((False, False), (False, True), (True, False), (True, True)):
        model = PegasosSVC(random_state=3, warm_start=True, epochs=epochs)
        for is_alone in alone:
            with monkeypatch.context() as patch:
                if is_alone:
                    patch.setattr(training, "small_pairs", lambda fit: None)
                model.fit(X, y)
        models.append(model)
    for model in models[1:]:
        assert_same(models[0], model)


def test_states_of_other_shapes_are_refused():
    X, y = data(2, 30)
    for name in ("stamps", "stamped_image", "image", "alpha"):
        model = PegasosSVC(random_state=3, warm_start=True, epochs=1).fit(X, y)
        (state,) = model._states
        state.loop = state.loop._replace(**{name: getattr(state.loop, name)[:1]})
        with pytest.raises(ValueError, match=r"state must come from|must have shape"):
            model.fit(X, y)


class Watcher:
    """Keeps what it sees of the model, and stops the fit some time."""

    def __init__(self, last):
        self.last, self.seen = last, []
        self.begin_fit = self.begin_checkpoint = self.end_fit = lambda *of: None

    def on_checkpoint(self, model):
        names = ("dual_coef_", "alpha_", "n_steps_", "objective_", "duality_gap_", "intercept_")
        self.seen.append([pickle.dumps(model()[name]) for name in names])
        return len(self.seen) == self.last


@pytest.mark.parametrize("last", [3, 99])
@pytest.mark.parametrize("n_left", [0, 2])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_observers_see_the_models_of_the_drivers(n_classes, n_left, last, monkeypatch):
    """A pair may be left when somebody has seen some checkpoints."""
    X, y = data(n_classes, 30)
    watchers, models = [], []
    advance = SmallResults.advance

    def leaving(results, *arguments, **others):
        advance(results, *arguments, **others)
        if n_left and results.runs.numbers[0, small_runs.N_STEPS] > 100:
            results.runs.numbers[-1, small_runs.STATUS] = small_runs.LEFT

    monkeypatch.setattr(SmallResults, "advance", leaving)
    for is_alone in (False, True):
        watchers.append(Watcher(last))
        with monkeypatch.context() as patch:
            patch.setattr(CallbackObserver, "of", lambda *of: watchers[-1:])
            if is_alone:
                patch.setattr(training, "small_pairs", lambda fit: None)
            models.append(PegasosSVC(random_state=3, epochs=7).fit(X, y))
    assert_same(*models)
    assert watchers[0].seen == watchers[1].seen
    assert len(watchers[0].seen) == min(last, 7)


ROUNDING = pytest.param({"row_dtype": "float32", "polish": True}, marks=pytest.mark.slow)


@pytest.mark.filterwarnings("ignore:PegasosSVC did not reach tol")
@pytest.mark.parametrize("options", [ROUNDING, {"C": 1e6, "polish": True, "tol": 1e-9}], ids=str)
def test_pairs_that_are_left_are_those_trained_alone(options, monkeypatch):
    X, y = data(4, 30, std=6.0)
    together, left = fit_together(monkeypatch, X, y, **options)
    assert left > 0
    assert_same(together, fit_alone(monkeypatch, X, y, **options))


MORE = {
    "projection": True, "batch_size": 2, "average": "suffix", "loss": "log_loss",
    "kernel": "sigmoid",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), MORE.items())
def test_what_is_more_than_a_small_run_is_for_the_drivers(name, value, monkeypatch):
    _, left = fit_together(monkeypatch, *data(4), epochs=1, **{name: value})
    assert left is None


def test_pairs_that_come_too_late_have_a_model_of_a_few_steps():
    X, y = data(8, 10)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PegasosSVC(max_time=1e-9, random_state=0).fit(X, y)
    assert_array_equal(model.n_steps_, 32)
    assert np.isfinite(model.objective_).all()
    assert all(history[-1].iteration == 32 for history in model.history_)


def test_polished_pairs_that_come_too_late_are_never_worse_than_none():
    options = {"polish": True, "epochs": 5, "tol": 1e-6, "C": 100.0, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PegasosSVC(max_time=1e-9, **options).fit(*data(6, 40))
    assert model.objective_.max() <= 1.0


def test_many_small_pairs_have_float64_values_however_many_they_are(monkeypatch):
    X, y = data(40, 20)
    _, left = fit_together(monkeypatch, X.astype(np.float32), y)
    assert left == 0


OF_PAIRS = ["gram", "rounding", "members", "label", "signed", "ends", "key", "kind"]
OF_RUNS = ["bounds", "coef", "margins", "numbers"]


@pytest.mark.pure_python
def test_compiled_code_refuses_shorter_arrays_and_members_beyond_the_matrix(monkeypatch):
    run_pairs, spy = small_runs.run_pairs, Mock(wraps=small_runs.run_pairs)
    monkeypatch.setattr(small_runs, "run_pairs", spy)
    PegasosSVC(random_state=0).fit(*data(4))
    pairs, found, rows, *others = spy.call_args_list[0].args
    for name in OF_PAIRS:
        shorter = pairs._replace(**{name: getattr(pairs, name)[:-1]})
        with pytest.raises(ValueError, match="must"):
            run_pairs(shorter, found, rows, *others)
    for name in OF_RUNS:
        shorter = found._replace(**{name: getattr(found, name)[:-1]})
        with pytest.raises(ValueError, match="must"):
            run_pairs(pairs, shorter, rows, *others)
    with pytest.raises(ValueError, match="must"):
        run_pairs(pairs, found, rows[:, :-1], *others)
    pairs.members[:] = len(pairs.gram)  # of two threads either may have been the first to call
    with pytest.raises(ValueError, match="members must be indices"):
        run_pairs(pairs, found, rows, *others)


@pytest.mark.parametrize("short", [0, 1])
def test_pairs_are_trained_together_where_all_their_values_fit(short, monkeypatch):
    """Those of all examples, and beside them those of each pair."""
    X, y = data(3, 30)
    n_values = 91**2 + 61**2 + 61**2 + 60**2 - short
    _, left = fit_together(monkeypatch, X, y, cache_mb=8 * n_values / tuning.MEBIBYTE)
    assert (left is None) == bool(short)
