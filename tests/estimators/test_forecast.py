"""Forecasts of fits: counts beside those of the fit, ranges, and what is left alone."""

import io
import math
import signal
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_moons, make_regression
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    Forecast,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    forecast,
)
from kpegasos.estimators import _ladder, _plan_forecast
from kpegasos.rows.budget import ACCOUNT
from kpegasos.utils.memory import free_memory


@pytest.fixture
def extended(monkeypatch):
    """No fit is run as a whole, and parts are small."""
    monkeypatch.setattr(_ladder, "_SOON_DONE", 0.0)
    monkeypatch.setattr(_ladder, "_MOST_WORK", 1e9)


def moons(n_samples=6000):
    return make_moons(n_samples, noise=0.2, random_state=0)


def blobs(n_samples=6000, n_classes=2):
    return make_blobs(n_samples, 10, centers=n_classes, cluster_std=4.0, random_state=0)


def values_of(model):
    histories = model.history_ if isinstance(model.history_, list) else [model.history_]
    return sum(history[-1].kernel_evaluations for history in histories)


def counts_of(expected):
    return expected.kernel_values, expected.mebibytes


KERNEL_FITS = {
    "plain": ({"C": 1.0}, moons),
    "polished": ({"polish": True, "C": 10.0}, moons),
    "polished, blobs": ({"polish": True, "tol": 1e-3}, blobs),
    "streamed": ({"cache": "streamed", "epochs": 2}, moons),
    "short of room": ({"cache_mb": 8, "epochs": 5, "C": 0.1}, blobs),
    "a few steps": ({"n_steps": 2000}, moons),
    "tol": ({"tol": 0.1, "C": 0.1}, blobs),
    "squared hinge": ({"loss": "squared_hinge", "polish": True}, blobs),
    "ten classes": ({"polish": True}, lambda: blobs(9000, 10)),
    "precomputed": ({"cache": "precomputed", "epochs": 2}, moons),
}


@pytest.mark.parametrize("name", KERNEL_FITS)
def test_kernel_values_are_forecast_within_a_factor_of_two(name, extended):
    parameters, make = KERNEL_FITS[name]
    X, y = make()
    clf = PegasosSVC(random_state=1, **parameters)
    expected = forecast(clf, X, y)
    assert expected.n_probed < X.shape[0]
    assert 0.5 <= expected.kernel_values / values_of(clf.fit(X, y)) <= 2.0


@pytest.mark.parametrize("polish", [False, True])
def test_kernel_values_of_a_regression_are_forecast_within_a_factor_of_two(polish, extended):
    X, y = make_regression(5000, 8, noise=20.0, random_state=0)
    model = PegasosSVR(polish=polish, random_state=1)
    y = y / y.std()
    expected = forecast(model, X, y)
    assert 0.5 <= expected.kernel_values / values_of(model.fit(X, y)) <= 2.0


def test_kernel_values_of_a_short_fit_are_its_own():
    X, y = moons(400)
    clf = PegasosSVC(random_state=0, epochs=5)
    expected = forecast(clf, X, y)
    assert expected.kernel_values == values_of(clf.fit(X, y))
    assert expected.n_probed == 400


def test_memory_is_forecast_within_a_factor_of_two_of_the_rows_kept(extended):
    X, y = make_moons(8000, noise=0.6, random_state=0)
    clf = PegasosSVC(polish=True, C=0.1, random_state=1)
    expected = forecast(clf, X, y)
    rows_mb = 4 * values_of(clf.fit(X, y)) / 2**20  # float32, and each row once
    assert rows_mb > 100.0
    assert 0.5 <= expected.mebibytes / rows_mb <= 2.0


def test_memory_of_a_budget_is_the_budget_and_what_comes_on_top(extended):
    X, y = moons()
    least, most = (
        forecast(PegasosSVC(C=0.01, cache_mb=budget, epochs=3), X, y).mebibytes
        for budget in (8, 32)
    )
    assert 20.0 <= most - least <= 28.0


def test_memory_of_a_precomputed_matrix_is_its_size(extended):
    X, y = moons(5000)
    expected = forecast(PegasosSVC(cache="precomputed", epochs=1, row_dtype="float64"), X, y)
    matrix = 5000**2 * 8 / 2**20
    assert matrix <= expected.mebibytes <= 1.5 * matrix


@pytest.mark.parametrize("polish", [False, True])
def test_counts_grow_with_the_number_of_examples(polish, extended):
    clf = PegasosSVC(polish=polish, epochs=3)
    counts = [counts_of(forecast(clf, *moons(n))) for n in (3000, 6000, 12000)]
    assert counts[0] < counts[1] < counts[2]
    assert counts[0][1] < counts[1][1] < counts[2][1]


def test_seconds_grow_with_the_number_of_steps():
    X, y = moons(3000)
    few, many = (forecast(PegasosSVC(epochs=epochs), X, y) for epochs in (100, 100_000))
    assert few.seconds < many.seconds


def test_kernel_values_fall_with_c(extended):
    # The smaller C, the more examples are beyond their margin.
    X, y = moons()
    models = [PegasosSVC(C=C, polish=True, random_state=1) for C in (0.01, 0.1, 1.0)]
    expected = [forecast(model, X, y).kernel_values for model in models]
    assert expected == sorted(expected, reverse=True)
    values = [values_of(model.fit(X, y)) for model in models]
    assert values == sorted(values, reverse=True)


ESTIMATORS = {
    "PegasosSVC": (PegasosSVC(), moons),
    "PegasosSVC, polished": (PegasosSVC(polish=True, n_jobs=2), lambda: blobs(4000, 4)),
    "PegasosSVC, laplacian": (PegasosSVC(kernel="laplacian", polish=True), moons),
    "PegasosSVR": (PegasosSVR(), lambda: make_regression(3000, 5, random_state=0)),
    "LinearPegasosSVC": (LinearPegasosSVC(), blobs),
    "LinearPegasosSVC, polished": (LinearPegasosSVC(polish=True), lambda: blobs(6000, 4)),
    "LinearPegasosSVC, tol": (LinearPegasosSVC(tol=0.2), blobs),
    "LinearPegasosSVC, early": (LinearPegasosSVC(early_stopping=True), lambda: blobs(3000, 3)),
    "LinearPegasosSVR": (LinearPegasosSVR(), lambda: make_regression(5000, 5, random_state=0)),
    "LinearPegasosSVR, polished": (
        LinearPegasosSVR(polish=True),
        lambda: make_regression(5000, 5, noise=9.0, random_state=0),
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("whole", [True, False])
def test_forecast_of_every_estimator_lies_in_its_range(name, whole, request):
    if not whole:
        request.getfixturevalue("extended")
    estimator, make = ESTIMATORS[name]
    found = forecast(estimator, *make())
    for value, (low, high) in (
        (found.seconds, found.seconds_range),
        (found.mebibytes, found.mebibytes_range),
        (found.kernel_values, found.kernel_values_range),
    ):
        assert 0.0 <= low <= value <= high < math.inf
    assert found.seconds > 0.0
    assert found.mebibytes > 0.0
    assert (found.kernel_values > 0.0) == ("Linear" not in name)


def test_forecast_of_sparse_rows(extended):
    X, y = make_classification(6000, 30, random_state=0)
    X[np.abs(X) < 0.7] = 0.0
    rows = sparse.csr_matrix(X)
    assert forecast(LinearPegasosSVC(), rows, y).seconds > 0.0
    clf = PegasosSVC(polish=True, random_state=0)
    expected = forecast(clf, rows, y).kernel_values
    assert 0.5 <= expected / values_of(clf.fit(rows, y)) <= 2.0


def test_forecast_of_a_given_kernel_matrix_has_no_kernel_values():
    X, y = moons(1500)
    assert forecast(PegasosSVC(kernel="precomputed"), X @ X.T, y).kernel_values == 0.0


def test_forecast_of_a_function_as_kernel(extended):
    X, y = blobs(3000)
    clf = PegasosSVC(kernel=lambda A, B: A @ B.T, C=0.01, polish=True, random_state=0)
    expected = forecast(clf, X, y).kernel_values
    assert 0.5 <= expected / values_of(clf.fit(X, y)) <= 2.0


def test_examples_of_weight_zero_cost_nothing(extended):
    X, y = moons(8000)
    weight = np.where(np.arange(8000) % 2 == 0, 1.0, 0.0)
    clf = PegasosSVC(polish=True)
    some, half = forecast(clf, X, y, weight), forecast(clf, X[::2], y[::2])
    assert some.kernel_values == pytest.approx(half.kernel_values, rel=0.4)


def test_forecast_of_a_bounded_fit_ends_at_max_time():
    X, y = moons(3000)
    clf = PegasosSVC(epochs=1e7)
    free, bounded = (forecast(each, X, y) for each in (clf, clone(clf).set_params(max_time=2.0)))
    assert free.seconds > bounded.seconds == bounded.seconds_range[1] == 2.0
    assert bounded.kernel_values == pytest.approx(free.kernel_values, rel=0.5)


def test_forecast_of_a_hopeless_fit_has_no_upper_end(monkeypatch):
    monkeypatch.setattr(_ladder, "_PATIENCE", 0.0)
    assert forecast(PegasosSVC(polish=True), *moons()).seconds_range[1] == math.inf


def test_forecast_leaves_an_estimator_as_it_was():
    X, y = moons(600)
    state = np.random.RandomState(3)
    unfitted = PegasosSVC(random_state=state)
    before = dict(vars(unfitted)), state.get_state()[1].copy()
    forecast(unfitted, X, y)
    assert vars(unfitted) == before[0]
    assert np.array_equal(state.get_state()[1], before[1])
    fitted = PegasosSVC(warm_start=True, random_state=0, epochs=2).fit(X, y)
    alpha = fitted.alpha_.copy()
    forecast(fitted, X[:300], y[:300])
    assert np.array_equal(fitted.alpha_, alpha)
    fitted.fit(X, y)
    assert np.array_equal(
        fitted.alpha_,
        PegasosSVC(random_state=0, epochs=4).fit(X, y).alpha_,
    )


def test_forecast_leaves_the_global_random_state_alone():
    X, y = moons(600)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    forecast(LinearPegasosSVC(early_stopping=True), X, y)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_forecast_is_the_same_twice_but_for_the_clock(extended):
    X, y = moons()
    clf = PegasosSVC(polish=True)
    assert counts_of(forecast(clf, X, y)) == counts_of(forecast(clf, X, y))


def test_forecast_of_two_examples():
    assert forecast(PegasosSVC(), [[0.0], [1.0]], [0, 1]).n_probed == 2


@pytest.mark.parametrize(
    ("estimator", "of"),
    [
        ("svc", "'svc'"),
        (PegasosSVC, "PegasosSVC"),
        (PegasosSVCCV(), "PegasosSVCCV"),
        (None, "None"),
    ],
)
def test_forecast_refuses_what_is_no_estimator(estimator, of):
    with pytest.raises(TypeError, match=f"^estimator must be a PegasosSVC.*{of}.* instead$"):
        forecast(estimator, *moons(100))


def test_forecast_refuses_what_fit_refuses():
    X, y = moons(100)
    with pytest.raises(ValueError, match="'C' parameter of PegasosSVC must be"):
        forecast(PegasosSVC(C=-1), X, y)
    with pytest.raises(ValueError, match="X"):
        forecast(PegasosSVC(), np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="class"):
        forecast(PegasosSVC(), X, np.zeros(100))


def test_forecast_is_printed_as_one_line():
    found = Forecast(12.3, (6.1, 24.0), 1229.0, (900.0, 1300.0), 3.1e8, (2e8, 4e8), 9600)
    assert str(found) == "about 12 s (6.1 to 24 s), 1.2 GiB, 3.1e8 kernel values"
    linear = Forecast(0.05, (0.03, 0.1), 40.0, (30.0, 60.0), 0.0, (0.0, 0.0), 100)
    assert str(linear) == "about 0.05 s (0.03 to 0.1 s), 40 MiB"


# --- what verbose=True prints ---


def test_verbose_prints_the_forecast_of_a_long_fit(capsys, monkeypatch):
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_LINE", 0.0)
    X, y = moons(3000)
    quiet = PegasosSVC(epochs=2, random_state=0).fit(X, y)
    told = PegasosSVC(epochs=2, random_state=0, verbose=True).fit(X, y)
    line = capsys.readouterr().err
    assert line.startswith("PegasosSVC: about ")
    assert line.endswith(" kernel values\n")
    assert np.array_equal(told.alpha_, quiet.alpha_)
    assert told.objective_ == quiet.objective_


@pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])
def test_verbose_probes_no_short_fit(Estimator, capsys, monkeypatch):
    def fails(*arguments):
        raise AssertionError

    monkeypatch.setattr(_plan_forecast, "forecast_of_plan", fails)
    Estimator(verbose=True).fit(*moons(3000))
    with pytest.warns(ConvergenceWarning):
        Estimator(verbose=True, max_time=0.1, epochs=1e7).fit(*moons(300))
    assert capsys.readouterr().err == ""


def test_verbose_goes_on_where_a_forecast_fails(capsys, monkeypatch):
    def fails(*arguments):
        raise MemoryError

    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    monkeypatch.setattr(_plan_forecast, "forecast_of_plan", fails)
    X, y = moons(300)
    assert PegasosSVC(verbose=True).fit(X, y).score(X, y) > 0.9
    assert capsys.readouterr().err == ""


def test_verbose_goes_on_where_a_part_fails(capsys, monkeypatch):
    calls = []

    def similar(A, B):
        calls.append(A.shape)
        if len(calls) < 3:
            raise ArithmeticError
        return A @ B.T

    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    X, y = blobs(300)
    clf = PegasosSVC(kernel=similar, C=0.01, verbose=True, random_state=0)
    with pytest.raises(ArithmeticError):
        clf.fit(X, y)  # one error for the forecast, and one for the fit
    quiet = PegasosSVC(kernel="linear", C=0.01, random_state=0).fit(X, y)
    assert np.allclose(clf.fit(X, y).alpha_, quiet.alpha_)


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_verbose_bears_a_stream_that_is_gone(stream, monkeypatch):
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_LINE", 0.0)
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    X, y = moons(300)
    assert PegasosSVC(verbose=True).fit(X, y).score(X, y) > 0.9


def test_ctrl_c_during_a_forecast_leaves_a_model(monkeypatch):
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    run_parts = _ladder.run_parts

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return run_parts(*arguments)

    monkeypatch.setattr(_ladder, "run_parts", interrupted)
    X, y = moons(3000)
    clf = PegasosSVC(verbose=True, epochs=1e7)
    with pytest.raises(KeyboardInterrupt, match="the estimator holds the model reached so far"):
        clf.fit(X, y)
    assert clf.score(X, y) > 0.7


def test_verbose_leaves_a_warm_start_to_go_on(monkeypatch, capsys):
    monkeypatch.setattr(_plan_forecast, "_WORTH_A_PROBE", 0.0)
    X, y = moons(600)
    steps = {"epochs": 2, "random_state": 0}
    told = PegasosSVC(verbose=True, warm_start=True, **steps)
    quiet = PegasosSVC(warm_start=True, **steps)
    for _ in range(3):
        told.fit(X, y)
        quiet.fit(X, y)
    assert np.array_equal(told.alpha_, quiet.alpha_)


@pytest.mark.skipif(free_memory() is None, reason="the system does not say what is free")
def test_forecast_gives_its_memory_back():
    X, y = moons()
    forecast(PegasosSVC(cache_mb=256, polish=True), X, y)
    assert ACCOUNT.granted_mb < 1.0
