"""Sums over a symmetric kernel matrix: right, in one order, and given up when told to."""

import numpy as np
import pytest
from kernel_cases import exact

from kpegasos import RBF, KernelMatrix
from kpegasos.kernels import exact as module
from kpegasos.kernels.exact import SymmetricSums, exact_products, roundings
from kpegasos.utils.patience import CutShort, heeding
from kpegasos.utils.threads import at_work


def _problem(n_samples=400, n_support=290):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 5))
    coef = np.zeros(n_samples)
    support = rng.permutation(n_samples)
    coef[support[:n_support]] = rng.normal(size=n_support)
    wanted = np.zeros(n_samples, dtype=bool)
    wanted[support[n_support : n_support + 70]] = True
    return X, coef, wanted


def _products(X, coef, wanted):
    return exact_products(KernelMatrix(RBF(0.3), X), coef, wanted, 1.0)


@pytest.mark.parametrize(
    ("block_bytes", "column_bytes", "added"),
    [
        (1, 1, module._add_tile),
        (1 << 23, 10_000, module._add_tile),
        (1 << 23, 1 << 21, module._add_numpy),
    ],
)
@pytest.mark.parametrize("n_support", [0, 1, 128, 290, 400])
def test_symmetric_sums_are_those_of_the_whole_matrix(
    monkeypatch, block_bytes, column_bytes, added, n_support
):
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(module, "_COLUMN_BYTES", column_bytes)
    monkeypatch.setattr(module, "_add_tile", added)
    X, coef, wanted = _problem(n_support=n_support)
    sums, rounding, evaluations = _products(X, coef, wanted)
    asked = wanted | (coef != 0.0)
    error = np.abs(sums - exact(RBF(0.3), X) @ coef)[asked]
    assert np.all(error <= rounding[asked])
    assert np.all(sums[~asked] == 0.0)
    assert evaluations <= np.count_nonzero(asked) * n_support


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_symmetric_sums_do_not_depend_on_the_threads(monkeypatch, threads):
    problem = _problem()
    monkeypatch.setattr(module, "threads_for", lambda work: 1)
    one = _products(*problem)
    monkeypatch.setattr(module, "threads_for", lambda work: threads)
    several = _products(*problem)
    np.testing.assert_array_equal(one[0], several[0])
    assert one[2] == several[2]


def test_symmetric_sums_are_given_up_when_told_to():
    left = iter([True, True])
    with pytest.raises(CutShort), heeding(lambda: next(left, False)):
        _products(*_problem())


def _symmetric_sums(n_samples, n_support, n_features):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, n_features)) / n_features**0.5
    weights = rng.random(n_support)  # of one sign: nothing cancels
    return SymmetricSums(RBF(0.3), lambda rows: 1.0 * X[rows], np.square(X).sum(axis=1), weights)


@pytest.mark.parametrize("block_rows", [1, 300, 8192])
@pytest.mark.parametrize(("n_support", "n_features"), [(1, 1), (900, 3), (1000, 2000)])
def test_roundings_count_every_addition(monkeypatch, block_rows, n_support, n_features):
    monkeypatch.setattr(module, "_BLOCK_ROWS", block_rows)
    together = []

    def count(values, left, right, sums, columns):
        together.append(max(right.size, left.size if columns.size else 0))
        sums += 1.0
        columns[...] = 1.0

    monkeypatch.setattr(module, "_add_tile", count)
    sums = _symmetric_sums(n_support + 20, n_support, n_features)
    with at_work(1):
        sums.add_all()
    assert 1 + max(together) + sums.sums.max() <= roundings(n_support, n_features)
