"""Pairs of few examples are trained in compiled code together, to the bits of a pair by itself."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from solver_cases import untimed

from kpegasos import PegasosSVC
from kpegasos.core import small_runs
from kpegasos.fitting import training
from kpegasos.fitting.pairs import KernelRows
from kpegasos.solvers import small
from kpegasos.utils import tuning

NUMBERS = ["intercept_", "lam_", "n_steps_", "objective_", "duality_gap_", "relative_gap_"]
ARRAYS = [*NUMBERS, "support_", "n_support_", "dual_coef_"]


def data(n_classes, n_each=4, *, std=3.0):
    n_samples = n_classes * n_each + n_classes // 2
    return make_blobs(n_samples, n_features=5, centers=n_classes, cluster_std=std, random_state=1)


def fit_together(monkeypatch, X, y, weight=None, **options):
    """A fit, and how many pairs were left to the drivers; None if they got all."""
    left = [None]
    train_small = training.train_small

    def spy(*arguments, **others):
        results = train_small(*arguments, **others)
        left[0] = len(results.left)
        return results

    with monkeypatch.context() as patch:
        patch.setattr(training, "train_small", spy)
        patch.setattr(small, "_FEW_PAIRS", 0)
        return PegasosSVC(random_state=3, **options).fit(X, y, weight), left[0]


def fit_alone(monkeypatch, X, y, **options):
    with monkeypatch.context() as patch:
        patch.setattr(training, "small_pairs", lambda plan: None)
        return PegasosSVC(random_state=3, **options).fit(X, y)


def records(model):
    return [untimed(history) for history in model.history_]


def assert_same(one, other):
    for name in ARRAYS:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(one.alpha_, name), getattr(other.alpha_, name))
    assert records(one) == records(other)


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
    ],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("shape", [(9, 4), (3, 90)])
@pytest.mark.pure_python
def test_pairs_trained_together_are_those_trained_alone(shape, options, monkeypatch):
    X, y = data(*shape)
    together, left = fit_together(monkeypatch, X, y, **options)
    assert left == 0
    assert_same(together, fit_alone(monkeypatch, X, y, **options))


@pytest.mark.parametrize(
    "options",
    [{}, {"polish": True, "tol": 1e-4, "C": 10.0}, {"average": None, "fit_intercept": False}],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_classes_in_compiled_code_are_those_of_the_drivers(dtype, options, monkeypatch):
    X, y = data(2, 100)
    X, weight = X.astype(dtype), np.arange(y.size) % 3 + 0.0
    together, left = fit_together(monkeypatch, X, y, weight, **options)
    assert left is not None
    with monkeypatch.context() as patch:
        never = property(lambda self: False, lambda *_: None)
        patch.setattr(KernelRows, "at_once", never, raising=False)
        alone = fit_together(monkeypatch, X, y, weight, **options)
    assert alone[1] is None
    for name in [*ARRAYS, "alpha_"]:
        one, other = (np.asarray(getattr(model, name)) for model in (together, alone[0]))
        assert one.tobytes() == other.tobytes(), name
    assert untimed(together.history_) == untimed(alone[0].history_)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"row_dtype": "float32", "polish": True}, id="rounding", marks=pytest.mark.slow
        ),
        pytest.param({"C": 1e6, "polish": True, "tol": 1e-9}, id="rounds"),
    ],
)
def test_pairs_that_are_left_are_those_trained_alone(options, monkeypatch):
    X, y = data(4, 30, std=6.0)
    with pytest.warns(ConvergenceWarning) if "C" in options else np.errstate():
        together, left = fit_together(monkeypatch, X, y, **options)
        assert left > 0
        assert_same(together, fit_alone(monkeypatch, X, y, **options))


@pytest.mark.parametrize(
    "options",
    [
        {"warm_start": True},
        {"projection": True},
        {"batch_size": 2},
        {"average": "suffix"},
        {"loss": "log_loss"},
        {"kernel": "sigmoid"},
        {"verbose": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_is_more_than_a_small_run_is_for_the_drivers(options, monkeypatch, capsys):
    X, y = data(4)
    _, left = fit_together(monkeypatch, X, y, epochs=1, **options)
    assert left is None


def calls_of(function):
    count = [0]

    def profile(frame, event, argument):
        count[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count[0]


@pytest.mark.parametrize("options", [{}, {"polish": True}], ids=["plain", "polish"])
def test_a_pair_of_few_examples_costs_three_calls_of_python(options):
    """It took some 700."""
    calls = []
    for n_classes in (10, 30):
        X, y = data(n_classes)
        model = PegasosSVC(random_state=0, **options).fit(X, y)
        calls.append(calls_of(lambda model=model, X=X, y=y: model.fit(X, y)))
    n_more = (30 * 29 - 10 * 9) // 2
    assert calls[1] - calls[0] <= 3 * n_more + 600


def test_predict_costs_calls_by_class_and_not_by_pair():
    calls = []
    for n_classes in (20, 60):
        X, y = data(n_classes, 3)
        model = PegasosSVC(random_state=0).fit(X, y)
        model.predict(X)
        calls.append(calls_of(lambda model=model, X=X: model.predict(X)))
    assert calls[1] - calls[0] <= 40 * (60 - 20)  # of 1,580 pairs


def test_pairs_that_come_too_late_have_a_model_of_a_few_steps():
    X, y = data(8, 10)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PegasosSVC(max_time=1e-9, random_state=0).fit(X, y)
    assert_array_equal(model.n_steps_, 32)
    assert np.isfinite(model.objective_).all()
    assert all(history[-1].iteration == 32 for history in model.history_)


def test_polished_pairs_that_come_too_late_are_never_worse_than_none():
    X, y = data(6, 40)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PegasosSVC(
            max_time=1e-9, polish=True, epochs=5, tol=1e-6, C=100.0, random_state=0
        ).fit(X, y)
    assert model.objective_.max() <= 1.0


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_few_pairs_are_left_to_the_drivers_until_runs_have_been_compiled(n_classes, monkeypatch):
    """Compiling takes seconds, of which a few pairs save a thousandth."""
    left = []
    monkeypatch.setattr(
        training,
        "train_small",
        lambda *arguments, **others: (
            left.append(small.train_small(*arguments, **others)) or left[-1]
        ),
    )
    monkeypatch.setattr(small, "_READY", set())
    monkeypatch.setattr(type(small_runs.run_pairs), "is_ready", lambda *_: False, raising=False)
    PegasosSVC(random_state=0).fit(*data(n_classes))
    ((found),) = left
    assert bool(found.left) == (n_classes < 4)


def test_many_small_pairs_have_float64_values_however_many_they_are(monkeypatch):
    X, y = data(60, 20)
    _, left = fit_together(monkeypatch, X.astype(np.float32), y)
    assert left == 0


def arguments_of(monkeypatch):
    """What a fit gives to compiled code."""
    kept = []
    run_pairs = small_runs.run_pairs

    def spy(*arguments):
        kept.append(arguments)
        return run_pairs(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(small_runs, "run_pairs", spy)
        PegasosSVC(random_state=0).fit(*data(4))
    return kept[0]


OF_PAIRS = ["gram", "rounding", "members", "label", "weight", "ends", "key", "kind"]
OF_RUNS = ["alpha", "coef", "margins", "numbers"]


@pytest.mark.pure_python
@pytest.mark.parametrize("name", [*OF_PAIRS, *OF_RUNS, "records"])
def test_shorter_arrays_are_refused(name, monkeypatch):
    pairs, found, rows, *others = arguments_of(monkeypatch)
    if name == "records":
        rows = rows[:, :-1]
    elif name in OF_PAIRS:
        pairs = pairs._replace(**{name: getattr(pairs, name)[:-1]})
    else:
        found = found._replace(**{name: getattr(found, name)[:-1]})
    with pytest.raises(ValueError, match="must"):
        small_runs.run_pairs(pairs, found, rows, *others)


@pytest.mark.pure_python
def test_members_beyond_the_matrix_are_refused(monkeypatch):
    pairs, *others = arguments_of(monkeypatch)
    pairs.members[0] = len(pairs.gram)
    with pytest.raises(ValueError, match="members must be indices"):
        small_runs.run_pairs(pairs, *others)


@pytest.mark.parametrize("short", [0, 1])
def test_pairs_are_trained_together_where_all_their_values_fit(short, monkeypatch):
    """Those of all examples, and beside them those of each pair."""
    X, y = data(3, 30)
    n_values = 91**2 + 61**2 + 61**2 + 60**2 - short
    _, left = fit_together(monkeypatch, X, y, cache_mb=8 * n_values / tuning.MEBIBYTE)
    assert (left is None) == bool(short)
