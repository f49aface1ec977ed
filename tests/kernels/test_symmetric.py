"""Sums over a symmetric kernel matrix: right, in one order, and given up when told to."""

import numpy as np
import pytest
from kernel_cases import exact

from kpegasos import RBF, KernelMatrix
from kpegasos.kernels import exact as module
from kpegasos.kernels.exact import exact_products
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


@pytest.mark.parametrize(("block_bytes", "groups_together"), [(1, 1), (1 << 23, 2), (1 << 23, 256)])
@pytest.mark.parametrize("n_support", [0, 1, 128, 290, 400])
def test_symmetric_sums_are_those_of_the_whole_matrix(
    monkeypatch, block_bytes, groups_together, n_support
):
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(module, "_GROUPS_TOGETHER", groups_together)
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


class _Tile:
    """Values whose every sum is 1, however many terms it has."""

    __array_ufunc__ = None

    def __init__(self, shape, together):
        self.shape, self._together = shape, together

    def __matmul__(self, weights):
        self._together.append(self.shape[1])
        return np.ones(self.shape[0])

    def __rmatmul__(self, weights):
        self._together.append(self.shape[0])
        return np.ones(self.shape[1])


@pytest.mark.parametrize("block_rows", [1, 300, 8192])
@pytest.mark.parametrize(("n_support", "n_features"), [(1, 1), (900, 3), (1000, 2000)])
def test_roundings_count_every_addition(monkeypatch, block_rows, n_support, n_features):
    monkeypatch.setattr(module, "_BLOCK_ROWS", block_rows)
    together, n_samples = [], n_support + 20

    def block_of(values, own, right, direct):
        width = right.stop - right.start
        return lambda left, first: _Tile((left.stop - left.start, width - first), together)

    monkeypatch.setattr(module, "_block_of", block_of)
    values = KernelMatrix(RBF(0.3), np.ones((n_samples, n_features)))
    members, weights = np.arange(n_samples), np.arange(n_samples) < n_support
    with at_work(1):
        sums, _, additions = module._sums(values, members, 1.0 * weights, n_support, False, weights)
    assert 1 + max(together) + sums.max() <= additions
