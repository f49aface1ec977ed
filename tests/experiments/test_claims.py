"""What the experiments implement themselves, and what their committed results say."""

import math

import naive
import numpy as np
import pytest
from conftest import make_integers, stream

from experiments import bias, kernel_table, projection, sampling, slips
from experiments._catalog import HERE
from experiments._claims import FAILS, HOLDS, PARTLY, duration, percent, rounded, slope, span
from experiments._store import read
from experiments.clock import crossing, crossing_of, exponent_of, spread_of
from experiments.kernel_table import succeeded
from kpegasos.core.draws import IndexStream


def results_of(name):
    return read(HERE / "results" / f"{name}.json")["results"]


# What the package does not offer


def test_one_permutation_repeats_the_first_epoch():
    fixed = IndexStream(10, sampling.sampling_of("one permutation", 0), 0)
    first = fixed.take(0, 10)
    np.testing.assert_array_equal(np.sort(first), np.arange(10))
    np.testing.assert_array_equal(fixed.take(0, 30), np.tile(first, 3))
    np.testing.assert_array_equal(fixed.take(25, 35), np.roll(first, 5))
    other = IndexStream(10, sampling.sampling_of("one permutation", 1), 0)
    assert not np.array_equal(other.take(0, 10), first)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_best_bias_is_the_least_of_a_grid(share):
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=50), np.where(np.arange(50) < 50 * share, 1.0, -1.0)

    def loss(b):
        return np.maximum(0, 1 - y * (f + b)).mean()

    assert loss(bias._best_bias(f, y)) <= min(map(loss, np.linspace(-5, 5, 1001))) + 1e-12


@pytest.mark.parametrize(
    ("slip", "reference"),
    [
        ("label", naive.slip_label_outside_sum),
        ("threshold", naive.slip_shrunk_threshold),
        ("code", naive.slip_seed_code),
    ],
)
def test_slips_are_those_of_the_reference(monkeypatch, slip, reference):
    lam, n_steps = 0.25, 100
    data = make_integers()

    class Recorder:
        y = np.asarray(data.y, dtype=float)
        gram = np.asarray(naive.gram(data.X, data.X))

        def __call__(self, coef):
            return coef

    monkeypatch.setattr(slips, "LAM", lam)
    draws = stream(data.y.size, n_steps)
    (coef,) = slips._wrong(Recorder(), slip, np.asarray(draws), [n_steps])
    found = reference(Recorder.gram, data.y, draws, lam)
    if slip == "code":
        expected = np.array(found, dtype=float)
    else:
        expected = np.array(found, dtype=float) * data.y / (lam * n_steps)
    np.testing.assert_allclose(coef, expected, rtol=1e-12)


# How claims are told


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00634, "0.0063"),
        (5.13, "5.1"),
        (9.96, "10"),
        (14_049, "14,000"),
        (-0.9, "−0.90"),
        (1.34e-7, "1.3 × 10⁻⁷"),
        (4.54e7, "4.5 × 10⁷"),
        (0.0, "0"),
    ],
)
def test_rounded_keeps_significant_digits(value, text):
    assert rounded(value) == text


def test_span_names_both_ends_and_the_unit_once():
    assert span([0.3, 0.1, 0.2], percent) == "10.0 to 30.0%"
    assert span([0.05, 2.0], duration) == "50.0 ms to 2.00 s"
    assert span([1.01, 1.0]) == "1.0"


def test_slope_is_the_exponent_where_both_are_known():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    y = 3 * x**-1.5
    y[1], y[3] = np.nan, 0.0
    assert slope(x, y) == pytest.approx(-1.5)


def _marks(module, results):
    return [claim.mark for claim in module.claims(results)]


def test_marks_of_the_projection_follow_the_ratios():
    results = results_of("projection")
    for row in results["table"]:
        row.update({"ratio_T_1": 10.0, "ratio_lam_T_1": 2.0, "ratio_lam_T_10": 1.0})
    assert _marks(projection, results) == [HOLDS, PARTLY]
    for row in results["table"]:
        row["ratio_T_1"] = 1.1
    assert _marks(projection, results) == [FAILS, HOLDS]
    results["table"][0]["ratio_lam_T_10"] = results["table"][0]["ratio_T_1"] = 9.0
    assert _marks(projection, results) == [FAILS, FAILS]


def _kernel_row(**values):
    row = {
        "data": "USPS 7",
        "published_error": 0.00457,
        "error_at_optimum": 0.00457,
        "majority_error": 0.087,
        "pegasos_last_seconds": 2.0,
        "pegasos_average_seconds": 1.0,
        "sdca_seconds": 3.0,
        "polished_seconds": None,
        "scikit-learn_seconds": 1.0,
        "scikit-learn_test_error": 0.005,
        "published_Pegasos_seconds": 10.0,
        "published_SVM-Light_seconds": 10.0,
    }
    return row | values


def _splits(*errors):
    return [{"digit": 7, "normalisation": "unit rows", "test_error": error} for error in errors]


def test_kernel_table_compares_with_smo_of_both_times():
    results = {"table": [_kernel_row()], "usps_splits": _splits(0.0040, 0.0055)}
    errors, seconds = kernel_table.claims(results)
    assert (errors.mark, seconds.mark) == (HOLDS, HOLDS)
    assert "0.40 to 0.55% (2 random splits, digit 7, inferred), published 0.46%" in errors.found
    assert "Pegasos 1.00 s, SDCA 3.00 s, polished –; 1.0 times LIBSVM's" in seconds.found
    faster = {**results, "table": [_kernel_row(pegasos_average_seconds=0.1)]}
    assert kernel_table.claims(faster)[1].mark == FAILS
    assert kernel_table.claims({**results, "usps_splits": _splits(0.008, 0.0097)})[0].mark == FAILS
    # A model of the larger class is no success, nor one that did not come within ε.
    row = _kernel_row(**{"scikit-learn_test_error": 0.0827})
    assert "not compared" in kernel_table.claims({**results, "table": [row]})[1].found
    assert not succeeded(row, "scikit-learn")
    assert succeeded(_kernel_row(), "scikit-learn")
    assert not succeeded(_kernel_row(), "polished")


# --- crossings along a run ---

STEPS = [1, 10, 100, 1000]


def test_crossing_lies_between_the_steps_in_the_logarithm():
    assert crossing(STEPS, np.array([100.0, 10.0, 0.1, 0.01]), 1.0) == pytest.approx(10**1.5)
    assert crossing(STEPS, np.array([100.0, 10.0, 0.1, 0.01]), 10.0) == pytest.approx(10)
    # A small swing back is no crossing.
    assert crossing(STEPS, np.array([100.0, 0.1, 1.1, 0.1]), 1.0) == pytest.approx(10 ** (2 / 3))


def test_what_holds_always_or_never_has_no_crossing():
    always = crossing_of(STEPS, np.full((3, 4), 0.5), 1.0)
    assert (always["state"], always["T"]) == ("always", 1.0)
    never = crossing_of(STEPS, np.full((3, 4), 2.0), 1.0)
    assert (never["state"], never["T"], never["T_20"]) == ("never", None, math.inf)


def test_seeds_that_disagree_leave_a_crossing_unclear():
    late, early = [9.0, 9.0, 9.0, 0.5], [9.0, 0.1, 0.1, 0.1]
    assert (
        crossing_of(STEPS, np.array([late, late, early, early, early]), 1.0)["state"] == "unclear"
    )
    assert crossing_of(STEPS, np.array([early] * 5), 1.0)["state"] == "crossed"


def test_a_perfect_clock_has_exponent_one_and_no_spread():
    rows = [
        {"data": name, "lam": lam, "T": 3 / lam, "epochs": 3 / lam / m, "lam_T": 3.0}
        for name, m in (("a", 10), ("b", 20))
        for lam in (1e-1, 1e-3)
    ]
    assert exponent_of(rows) == pytest.approx(1)
    never = {"data": "b", "lam": 1.0, "last_lam_T": 3.0, "T": None, "state": "never"}
    found = spread_of([*(row | {"state": "crossed"} for row in rows), never])
    assert (found["crossings"], found["of"]) == (4, 5)
    assert (found["decades_T"], found["decades_lam_T"]) == pytest.approx((2, 0))
