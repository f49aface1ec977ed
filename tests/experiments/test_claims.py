"""What the experiments implement themselves, and what their committed results say."""

import csv

import naive
import numpy as np
import pytest
from conftest import make_integers, stream

from experiments import bias, sampling, slips
from experiments._catalog import HERE
from kpegasos.core.draws import IndexStream


def _table(name):
    with (HERE / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


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


# What the results say


def test_new_permutations_are_best():
    for row in _table("sampling"):
        if row["iterate"] == "average":
            assert float(row["over_new_permutations"]) >= 1, row


def test_projection_matters_early_alone():
    for row in _table("projection"):
        assert float(row["ratio_T_1"]) > 5, row
        assert 0.9 < float(row["ratio_lam_T_10"]) < 1.15, row


def test_batch_size_does_not_matter_at_first_for_the_same_draws():
    rows = [row for row in _table("minibatch") if row["fixed"] == "kT" and row["budget"] == "65"]
    ones = {(r["data"], r["method"]): float(r["suboptimality"]) for r in rows if r["k"] == "1"}
    for row in rows:
        if int(row["k"]) <= 64:
            ratio = float(row["suboptimality"]) / ones[row["data"], row["method"]]
            assert 0.8 < ratio < 1.2, row
