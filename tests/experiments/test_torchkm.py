"""TorchKM's protocol: its data, its kernel width, and its λ in terms of C."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from experiments import grid_search as torchkm


@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_C_of_lambda_has_the_optimum_of_torchkm(lam):
    X, y = torchkm.make_mixture(80, 4)
    gram = rbf_kernel(X, gamma=0.1)

    def objective(C):
        model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(gram, y)
        coef = np.zeros(y.size)
        coef[model.support_] = model.dual_coef_[0]
        f = gram @ coef
        return np.maximum(0, 1 - y * (f + model.intercept_)).mean() + lam * coef @ f

    C = float(torchkm.C_of_lambda(np.array(lam), y.size))
    assert objective(C) < min(objective(1.3 * C), objective(C / 1.3))


@pytest.mark.parametrize(("name", "least", "most"), [("paper", 1e-3, 1e3), ("script", 5e-8, 0.05)])
def test_grids_have_fifty_increasing_values_at_equal_ratios(name, least, most):
    Cs = torchkm.grid_of(name)
    assert Cs.size == 50
    np.testing.assert_allclose(Cs[[0, -1]], [least, most], rtol=1e-12)
    np.testing.assert_allclose(Cs[1:] / Cs[:-1], 10 ** (6 / 49), rtol=1e-12)


def test_grid_of_another_name_is_refused():
    with pytest.raises(ValueError, match="must be 'paper' or 'script', got 'talk'"):
        torchkm.grid_of("talk")


def test_mixture_has_standardised_columns_and_classes_that_lean_to_their_halves():
    X, y = torchkm.make_mixture(4000, 100, random_state=1)
    assert X.dtype == np.float32
    assert set(y) == {-1, 1}
    assert 0.45 < np.mean(y == 1) < 0.55
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1, rtol=1e-4)
    lean = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    # Noise of 3 and centres of 1 about means that are 2 apart make sqrt(10) and 2 / sqrt(11).
    assert lean[:50].mean() == pytest.approx(-2 / math.sqrt(11), abs=0.15)
    assert lean[50:].mean() == pytest.approx(2 / math.sqrt(11), abs=0.15)


def test_mixture_depends_on_its_seed_alone():
    first, again, other = (torchkm.make_mixture(50, 6, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


def test_kernel_gamma_is_that_of_all_pairs():
    X, _ = torchkm.make_mixture(2000, 20)
    low, high = np.quantile(pdist(X[:1000]) ** 2, (0.1, 0.9))
    assert torchkm.kernel_gamma(X) == pytest.approx(1 / low + 1 / high, rel=0.05)
