"""Sums over a symmetric kernel matrix: right, in one order, and given up when told to."""

from __future__ import annotations

import numpy as np
import pytest

from kpegasos import RBF
from kpegasos.kernels import symmetric
from kpegasos.kernels.exact import ExactValues


def _problem(n_samples=400, n_support=290):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 5))
    coef = np.zeros(n_samples)
    support = rng.permutation(n_samples)
    coef[support[:n_support]] = rng.normal(size=n_support)
    wanted = np.zeros(n_samples, dtype=bool)
    wanted[support[n_support : n_support + 70]] = True
    return X, coef, wanted


def _products(X, coef, wanted, go_on=lambda: True):
    return ExactValues(RBF(0.3), X).products(coef, wanted, 1.0, go_on)


@pytest.mark.parametrize("block_bytes", [1, 1 << 23])
@pytest.mark.parametrize("n_support", [0, 1, 128, 290, 400])
def test_symmetric_sums_are_those_of_the_whole_matrix(monkeypatch, block_bytes, n_support):
    monkeypatch.setattr(symmetric, "_BLOCK_BYTES", block_bytes)
    X, coef, wanted = _problem(n_support=n_support)
    sums, rounding, evaluations = _products(X, coef, wanted)
    asked = wanted | (coef != 0.0)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.exp(-0.3 * squared) @ coef
    error = np.abs(sums - expected)[asked]
    assert np.all(error <= rounding[asked] + 1e-13)
    assert np.all(sums[~asked] == 0.0)
    assert evaluations <= np.count_nonzero(asked) * n_support


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_symmetric_sums_do_not_depend_on_the_threads(monkeypatch, threads):
    problem = _problem()
    monkeypatch.setattr(symmetric, "threads_for", lambda work: 1)
    one = _products(*problem)
    monkeypatch.setattr(symmetric, "threads_for", lambda work: threads)
    several = _products(*problem)
    np.testing.assert_array_equal(one[0], several[0])
    assert one[2] == several[2]


def test_symmetric_sums_are_given_up_when_told_to():
    left = iter([True, True])
    assert _products(*_problem(), go_on=lambda: next(left, False)) is None
