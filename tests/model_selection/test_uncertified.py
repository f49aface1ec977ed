"""Searches over kernels that are not positive semi-definite: runs of Pegasos, no certificates."""

import warnings

import numpy as np
import pytest
from searches import blobs, small
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from kpegasos import PegasosSVC, Sigmoid
from kpegasos.utils.validation import draw_seed

SIGMOID = {"kernel": "sigmoid", "coef0s": [-0.5, 0.0]}
FOLDS = StratifiedKFold(3)


def plain(seed, **chosen):
    """A run of Pegasos without tol and polish."""
    return PegasosSVC(random_state=seed, **chosen)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cells_of_the_sigmoid_kernel_are_runs_of_pegasos(n_classes):
    X, y = blobs(n_classes)
    search = small(cv=FOLDS, **SIGMOID).fit(X, y)
    grid = {"C": [0.5, 5.0], "gamma": [0.02, 0.2], "coef0": [-0.5, 0.0]}
    assert search.cv_results_["params"] == list(ParameterGrid(grid))
    held_out = np.full(search.oof_decision_.shape, np.nan)
    for fold, (train, test) in enumerate(FOLDS.split(X, y)):
        for cell, parameters in enumerate(ParameterGrid(grid)):
            one = plain(
                draw_seed(0), kernel="sigmoid", decision_function_shape="ovo", **parameters
            ).fit(X[train], y[train])
            score = search.cv_results_[f"split{fold}_test_score"][cell]
            assert score == one.score(X[test], y[test]), (fold, parameters)
            assert search.cv_results_[f"split{fold}_n_support"][cell] == one.support_.size
            if cell == search.best_index_:
                held_out[test] = one.decision_function(X[test])
    np.testing.assert_array_equal(search.oof_decision_, held_out)


def test_cells_without_a_certificate_are_done():
    X, y = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = small(tol=1e-9, **SIGMOID).fit(X, y)
    assert search.status_ == "completed"
    assert search.missing_ == []
    assert search.relative_gaps_.shape == (3, 2, 2, 2)
    assert np.isnan(search.relative_gaps_).all()
    assert np.isnan(search.cv_results_["max_relative_gap"]).all()
    assert np.isfinite(search.scores_).all()
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


@pytest.mark.parametrize("kernel", ["sigmoid", Sigmoid(0.02, 0.0)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_refit_of_the_sigmoid_kernel_is_a_run_of_pegasos(n_classes, kernel):
    X, y = blobs(n_classes)
    search = small(kernel=kernel).fit(X, y)
    one = plain(0, kernel=kernel, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(search.predict(X), one.predict(X))
    assert np.isnan(search.relative_gap_).all()
    again = clone(search.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))


@pytest.mark.parametrize("coef0s", [[-1.0], [1.0], [-1.0, 1.0]])
def test_only_polynomials_of_negative_coef0_lack_certificates(coef0s):
    """The model is polished where the chosen kernel allows it."""
    search = small(kernel="poly", gammas=[0.05], degrees=[2], coef0s=coef0s).fit(*blobs())
    for coef0, gaps in zip(search.coef0s_, np.moveaxis(search.relative_gaps_, 3, 0), strict=True):
        assert np.isnan(gaps).all() if coef0 < 0 else gaps.max() <= search.tol
    model, certified = search.best_estimator_, search.best_params_["coef0"] > 0
    assert (model.polish, model.tol) == ((True, search.tol) if certified else (False, None))
    assert np.isnan(model.relative_gap_) != certified
