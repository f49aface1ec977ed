"""What the experiments implement themselves, and what their committed results say."""

import naive
import numpy as np
import pytest
from conftest import make_integers, stream

from experiments import sampling, slips
from experiments._claims import rounded, slope
from kpegasos.core.draws import IndexStream

# What the package does not offer


def test_one_permutation_repeats_the_first_epoch():
    fixed = IndexStream(10, sampling.sampling_of("one permutation", 0), 0)
    first = fixed.take(0, 10)
    np.testing.assert_array_equal(np.sort(first), np.arange(10))
    np.testing.assert_array_equal(fixed.take(0, 30), np.tile(first, 3))
    np.testing.assert_array_equal(fixed.take(25, 35), np.roll(first, 5))
    other = IndexStream(10, sampling.sampling_of("one permutation", 1), 0)
    assert not np.array_equal(other.take(0, 10), first)


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


def test_slope_is_the_exponent_where_both_are_known():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    y = 3 * x**-1.5
    y[1], y[3] = np.nan, 0.0
    assert slope(x, y) == pytest.approx(-1.5)


# --- crossings along a run ---
