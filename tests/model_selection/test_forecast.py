"""A forecast is near the fit, leaves the estimator as it was, and refuses what fit refuses."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR, forecast
from kpegasos.model_selection import forecasts

X, Y = make_moons(4000, noise=0.25, random_state=0)
SMALL = X[:300], Y[:300]


@pytest.fixture
def few(monkeypatch):
    """Parts as small as 256 examples, so that the whole is never run."""
    monkeypatch.setattr(forecasts, "_FIRST", 256)
    monkeypatch.setattr(forecasts, "_MOST_SECONDS", 0.0)
    monkeypatch.setattr(forecasts, "_MOST_SHARE", 0.0)


def values_of(estimator):
    histories = estimator.history_
    histories = histories if isinstance(histories, list) else [histories]
    return sum(history[-1].kernel_evaluations for history in histories)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "estimator",
    [
        PegasosSVC(gamma=2.0, polish=True, random_state=0),
        PegasosSVR(gamma=2.0, epochs=3, random_state=0),
        LinearPegasosSVC(random_state=0),
    ],
    ids=["polished", "regression", "linear"],
)
def test_forecast_of_kernel_values_is_within_a_factor_of_two(estimator, monkeypatch):
    monkeypatch.setattr(forecasts, "_FIRST", 1024)
    expected = forecast(estimator, X, Y)
    assert expected.n_probed == 2048
    low, high = expected.kernel_values_range
    assert low <= expected.kernel_values <= high
    values = values_of(estimator.fit(X, Y))
    assert 0.5 * values <= expected.kernel_values <= 2.0 * values
    assert expected.seconds_range[0] <= expected.seconds <= expected.seconds_range[1]


def test_costs_grow_by_the_power_between_the_last_two_parts():
    parts = [forecasts._Cost(100, 1.0, 10.0), forecasts._Cost(200, 4.0, 40.0)]
    for name, last, most in (("seconds", 4.0, 2.15), ("values", 40.0, 2.0)):
        expected = last * 5.0 ** np.array([2.0, 1.85, most])
        np.testing.assert_allclose(forecasts._grown(parts, 1000, name), expected)


@pytest.mark.parametrize("weight", [None, np.arange(300) % 2])
def test_forecast_of_few_examples_is_their_fit(weight):
    expected = forecast(PegasosSVC(random_state=0), *SMALL, weight)
    assert expected.n_probed == 300
    assert expected.kernel_values == values_of(PegasosSVC(random_state=0).fit(*SMALL, weight))


@pytest.mark.usefixtures("few")
def test_parts_have_the_cost_of_the_whole(monkeypatch):
    """λ, steps and checkpoints of a part are those of the same C and the same epochs."""
    asked = []
    fit = LinearPegasosSVC.fit

    def noted(self, X, y, sample_weight=None):
        asked.append((len(y), self.lam, self.n_steps, self.checkpoints))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(LinearPegasosSVC, "fit", noted)
    forecast(LinearPegasosSVC(lam=0.01, n_steps=4000, checkpoints=[2000, 4000]), X, Y)
    assert asked[-1][0] == 512
    for size, lam, n_steps, checkpoints in asked:
        assert lam * size == pytest.approx(0.01 * 4000)
        assert n_steps == size
        assert checkpoints == [round(size / 2), size]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", ["sparse", "precomputed", "classes", "regression"])
def test_forecast_takes_what_fit_takes(form):
    rows, y, estimator = X[:1000], Y[:1000], PegasosSVC(epochs=1, random_state=0)
    if form == "sparse":
        rows = sparse.coo_matrix(rows)
    elif form == "precomputed":
        rows, estimator = rbf_kernel(rows), estimator.set_params(kernel="precomputed")
    elif form == "classes":
        rows, y = make_blobs(1600, centers=5, random_state=0)
    else:
        y, estimator = rows[:, 0], LinearPegasosSVR(epochs=1, random_state=0)
    expected = forecast(estimator, rows, y)
    assert expected.n_probed < len(y)
    assert math.isfinite(expected.seconds)


def test_forecast_refuses_what_fit_refuses():
    with pytest.raises(TypeError, match="estimator must be one of PegasosSVC, PegasosSVR, Linear"):
        forecast(PegasosSVC, *SMALL)
    with pytest.raises(ValueError, match="C must be"):
        forecast(PegasosSVC(C=-1.0), *SMALL)


def test_forecast_ends_at_max_time():
    assert forecast(PegasosSVC(max_time=1e-9), *SMALL).seconds_range == (1e-9, 1e-9)


def test_forecast_of_a_part_that_was_cut_short_has_no_upper_end(monkeypatch):
    monkeypatch.setattr(forecasts, "_PATIENCE", 1e-9)
    expected = forecast(PegasosSVC(random_state=0), *SMALL)
    assert expected.seconds_range[1] == expected.kernel_values_range[1] == math.inf
