"""Examples of weight zero are absent, and extreme coefficients are still decided with."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kpegasos import PegasosSVC

X, Y = make_blobs(120, centers=3, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("cache", ["auto", "cached", "streamed"])
def test_fit_does_not_see_an_outlier_of_weight_zero(cache):
    far = np.vstack([X, [1e9, -1e9]])
    weight = np.append(np.ones(len(X)), 0.0)
    options = {"gamma": 0.1, "cache": cache, "epochs": 3, "random_state": 0}
    expected = PegasosSVC(**options).fit(X, Y)
    clf = PegasosSVC(**options).fit(far, np.append(Y, 0), weight)
    np.testing.assert_array_equal(clf.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(clf.objective_, expected.objective_)
    np.testing.assert_array_equal(clf.decision_function(X), expected.decision_function(X))
    evaluations = [h["kernel_evaluations"][-1] for h in clf.history_]
    assert evaluations == [h["kernel_evaluations"][-1] for h in expected.history_]


def test_kernel_function_is_not_shown_an_example_of_weight_zero():
    def careful(A, B):
        assert max(np.abs(A).max(), np.abs(B).max()) < 100
        return A @ B.T

    far = np.vstack([X, [1e9, -1e9]])
    weight = np.append(np.ones(len(X)), 0.0)
    PegasosSVC(kernel=careful, epochs=2, random_state=0).fit(far, np.append(Y, 0), weight)


@pytest.mark.parametrize("C", [1e-50, 1e45])
def test_decisions_of_float32_survive_extreme_coefficients(C):
    two = Y < 2
    options = {"C": C, "gamma": 0.1, "fit_intercept": False, "epochs": 2, "random_state": 0}
    wide = PegasosSVC(**options).fit(X[two], Y[two])
    narrow = PegasosSVC(**options).fit(X[two].astype(np.float32), Y[two])
    expected = wide.decision_function(X)
    np.testing.assert_allclose(
        narrow.decision_function(X), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max()
    )
