"""Probabilities from held-out decisions."""

import numpy as np
import pytest
import sklearn
from search_cases import blobs, small
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from kpegasos import PegasosSVC, PegasosSVCCV

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


@pytest.mark.parametrize(("method", "n_classes"), [("sigmoid", 2), ("isotonic", 4)])
def test_probabilities_are_those_of_CalibratedClassifierCV(method, n_classes):
    X, y = blobs(n_classes, n_samples=600)
    search = PegasosSVCCV(
        [1.0], gammas=[0.05], cv=FOLDS, tol=1e-4, calibration=method, random_state=0
    ).fit(X[::2], y[::2])
    one = PegasosSVC(C=1.0, gamma=0.05, polish=True, tol=1e-4, random_state=0)
    theirs = CalibratedClassifierCV(one, method=method, cv=FOLDS, ensemble=False)
    expected = theirs.fit(X[::2], y[::2]).predict_proba(X[1::2])
    ours = search.predict_proba(X[1::2])
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)
    assert log_loss(y[1::2], ours) == pytest.approx(log_loss(y[1::2], expected), rel=0.02)
    assert np.abs(ours - expected).mean() < 0.01
    np.testing.assert_allclose(np.exp(search.predict_log_proba(X[1::2])), ours)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_heed_weights(method):
    X, y = blobs(n_samples=300, cluster_std=8.0)
    settings = {"Cs": [1.0], "gammas": [0.005], "calibration": method, "tol": 1e-5}
    even = small(**settings).fit(X, y)
    # The class weight takes the weights off the model, but not off the calibration.
    first = small(class_weight={0: 0.25}, **settings).fit(X, y, np.where(y == 0, 4.0, 1.0))
    np.testing.assert_allclose(first.oof_decision_, even.oof_decision_, atol=0.05)
    difference = first.predict_proba(X)[:, 0] - even.predict_proba(X)[:, 0]
    assert difference.mean() > 0.1


def test_calibration_makes_no_further_fits(monkeypatch):
    X, y = blobs()
    plain, fit, fits = small().fit(X, y), PegasosSVC.fit, []
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(plain, method)
    monkeypatch.setattr(PegasosSVC, "fit", lambda self, *a: fits.append(self) or fit(self, *a))
    calibrated = small(calibration="sigmoid").fit(X, y)
    assert fits == [calibrated.best_estimator_]
    np.testing.assert_array_equal(calibrated.scores_, plain.scores_)
    np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
    assert hasattr(small(calibration="sigmoid"), "predict_proba")


def test_probabilities_are_of_one_search_though_another_is_fitted_meanwhile(monkeypatch):
    X, y = blobs()
    search, decide = small(calibration="sigmoid").fit(X, y), PegasosSVCCV._decide
    expected = search.predict_proba(X)

    def refit(one, rows):
        monkeypatch.undo()
        search.fit(X[::-1] + 1.0, y)
        return decide(one, rows)

    monkeypatch.setattr(PegasosSVCCV, "_decide", refit)
    np.testing.assert_array_equal(search.predict_proba(X), expected)
    assert not np.array_equal(search.predict_proba(X), expected)


def test_calibration_works_with_metadata_routing():
    X, y = blobs()
    weight = np.where(y == 0, 2.0, 1.0)
    plain = small(calibration="sigmoid").fit(X, y, weight)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = small(calibration="sigmoid").fit(X, y, weight)
        np.testing.assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))
