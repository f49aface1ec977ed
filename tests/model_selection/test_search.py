"""The search against fits of every cell by themselves, with certificates and without."""

import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from models import assert_same_values
from rejections import assert_rejected
from search_cases import blobs, small
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, ParameterGrid, StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kpegasos import RBF, PegasosSVC, PegasosSVCCV
from kpegasos.kernels.functions import scale_gamma

FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)
ACCURATE = {"tol": 1e-4, "random_state": 0}
GRIDS = {
    "rbf": {"gamma": [0.02, 0.2]},
    "poly": {"gamma": [0.02, 0.1], "degree": [2, 3], "coef0": [0.5]},
    "linear": {},
}


def ours_of(kernel, **settings):
    grid = {f"{name}s": values for name, values in GRIDS[kernel].items()}
    settings = {"Cs": [0.1, 2.0], "cv": FOLDS, **grid, **ACCURATE, **settings}
    return PegasosSVCCV(kernel=kernel, **settings)


def assert_chooses_as_grid_search(X, y, kernel, scoring=None, **settings):
    """The same scores, choice and columns, and those of the certificates."""
    ours = ours_of(kernel, scoring=scoring, **settings).fit(X, y)
    one = PegasosSVC(kernel=kernel, polish=True, **ACCURATE, **settings)
    grid = {"C": [0.1, 2.0], **GRIDS[kernel]}
    theirs = GridSearchCV(one, grid, cv=FOLDS, scoring=scoring).fit(X, y)
    for name, column in theirs.cv_results_.items():
        own = ours.cv_results_[name]
        assert type(own) is type(column)
        if name != "params":
            assert (own.dtype, own.shape) == (column.dtype, column.shape)
        if "test_score" in name and "rank" not in name:
            np.testing.assert_allclose(own, column, atol=0.01, err_msg=name)
    of_folds = {f"split{k}_{name}" for k in range(3) for name in ("relative_gap", "n_support")}
    further = set(ours.cv_results_) - set(theirs.cv_results_)
    assert further == {*of_folds, "max_relative_gap", "mean_n_support"}
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=0.01)


@pytest.mark.parametrize(("kernel", "n_classes"), [("rbf", 3), ("poly", 2), ("linear", 3)])
def test_search_scores_and_chooses_as_single_fits_do(kernel, n_classes):
    assert_chooses_as_grid_search(*blobs(n_classes, n_samples=300), kernel)


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": {0: 4.0}},
        {"scoring": "roc_auc", "fit_intercept": False},
        {"intercept_scaling": 3.0},
    ],
    ids=str,
)
def test_search_heeds_its_parameters(settings):
    X, y = blobs(n_samples=300)
    kept = np.flatnonzero((y == 0) | (np.arange(y.size) % 3 == 0))
    assert_chooses_as_grid_search(X[kept], y[kept], "rbf", **settings)


def test_examples_of_weight_zero_are_as_good_as_absent():
    X, y = blobs(3)
    kept = np.flatnonzero(y < 2)
    place = np.cumsum(y < 2) - 1
    splits = list(StratifiedKFold(3).split(X, y))
    among_kept = [tuple(place[part[y[part] < 2]] for part in split) for split in splits]
    with_zeros = small(cv=splits).fit(X, y, (y < 2).astype(float))
    without = small(cv=among_kept).fit(X[kept], y[kept])
    np.testing.assert_array_equal(with_zeros.classes_, [0, 1])
    np.testing.assert_allclose(with_zeros.scores_, without.scores_, atol=0.03)
    assert np.isnan(with_zeros.oof_decision_[y == 2]).all()
    assert np.isfinite(with_zeros.oof_decision_[kept]).all()


def test_precomputed_matrices_and_kernels_of_ones_own_are_searched_over_C():
    X, y = blobs(3)
    named = small(gammas=[0.1], **ACCURATE).fit(X, y)
    gram = rbf_kernel(X, gamma=0.1)
    function = partial(rbf_kernel, gamma=0.1)
    for kernel, rows in (("precomputed", gram), (RBF(0.1), X), (function, X)):
        search = small(kernel=kernel, **ACCURATE).fit(rows, y)
        assert search.scores_.shape == (3, 2)
        np.testing.assert_allclose(search.scores_, named.scores_[:, 0], atol=0.026)
        assert search.best_params_ == {"C": named.best_params_["C"]}
        np.testing.assert_array_equal(search.predict(rows), named.predict(X))
        assert get_tags(search).input_tags.pairwise == (kernel == "precomputed")


def test_scores_are_the_columns_of_the_table():
    grid = {"Cs": [5.0, 0.5], "gammas": [0.1, 0.02], "degrees": [3, 1], "coef0s": [1.0]}
    search = PegasosSVCCV(kernel="poly", cv=3, **grid).fit(*blobs())
    table = search.cv_results_
    assert table["params"] == list(ParameterGrid({n[:-1]: values for n, values in grid.items()}))
    assert search.scores_.shape == search.relative_gaps_.shape == (3, 2, 2, 1, 2)
    for name, values in grid.items():
        np.testing.assert_array_equal(getattr(search, f"{name}_"), sorted(values))
    for row, chosen in enumerate(table["params"]):
        names = ("gamma", "degree", "coef0", "C")
        place = tuple(list(getattr(search, f"{name}s_")).index(chosen[name]) for name in names)
        assert [table[f"param_{name}"][row] for name in chosen] == list(chosen.values())
        for fold in range(search.n_splits_):
            assert table[f"split{fold}_test_score"][row] == search.scores_[(fold, *place)]
            assert table[f"split{fold}_relative_gap"][row] == search.relative_gaps_[(fold, *place)]
        assert table["max_relative_gap"][row] == search.relative_gaps_[(slice(None), *place)].max()


def test_seconds_of_cells_and_refit_are_parts_of_the_clock():
    begin = time.perf_counter()
    search = ours_of("rbf", n_jobs=1).fit(*blobs(n_samples=300))
    elapsed = time.perf_counter() - begin
    table, parts = search.cv_results_, [search.refit_time_]
    for name in ("mean_fit_time", "mean_score_time"):
        assert (table[name] > 0.0).all()
        parts.append(FOLDS.n_splits * table[name].sum())
    assert min(parts) > 0.0
    assert sum(parts) <= elapsed


@pytest.mark.parametrize(("kernel", "n_classes"), [("rbf", 2), ("linear", 3)])
def test_refitted_model_is_the_search_s_own(kernel, n_classes):
    X, y = blobs(n_classes)
    shared = {"kernel": kernel, "decision_function_shape": "ovo", "class_weight": {0: 2.0}}
    search = small(**shared).fit(X, y)
    one = PegasosSVC(**search.best_params_, polish=True, tol=0.01, random_state=0, **shared)
    one.fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(search.predict(X), one.predict(X))
    for name in (name for name in vars(one) if name.endswith("_")):
        assert_same_values(getattr(search, name), getattr(one, name), name)
    np.testing.assert_array_equal(search.decision_bounds(X), one.decision_bounds(X))
    assert search.best_estimator_.get_params() == one.get_params()
    assert hasattr(search, "coef_") == (kernel == "linear")
    if kernel == "linear":
        np.testing.assert_array_equal(search.coef_, one.coef_)


def test_search_without_refit_has_no_model():
    X, y = blobs()
    search = small(refit=False).fit(X, y)
    assert search.best_score_ == small().fit(X, y).best_score_
    assert not hasattr(search, "best_estimator_")
    check_is_fitted(search)
    for method in (search.predict, search.decision_function):
        with pytest.raises(ValueError, match=r"no model of all examples.*refit was False"):
            method(X)


def test_score_is_that_of_the_scorer():
    X, y = blobs()
    search = small(scoring="roc_auc").fit(X, y)
    assert search.score(X, y) == search.scorer_(search, X, y)
    assert search.score(X, y) != small().fit(X, y).score(X, y)
    weight = np.where(search.predict(X) == y, 1.0, 0.0)
    assert small().fit(X, y).score(X, y, sample_weight=weight) == 1.0


def test_groups_reach_the_splitter():
    X, y = blobs()
    groups = np.arange(y.size) % 4
    search = small(cv=GroupKFold(4)).fit(X, y, groups=groups)
    expected = GroupKFold(4).split(X, y, groups)
    given = small(cv=list(expected)).fit(X, y)
    np.testing.assert_array_equal(search.scores_, given.scores_)
    assert search.n_splits_ == 4


def test_frames_reach_the_splitter_and_the_model():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    class ByName:
        def split(self, X, y, groups=None):
            test = X["a"] > X["a"].median()
            yield np.flatnonzero(~test), np.flatnonzero(test)

    search = small(cv=ByName(), gammas=[0.05]).fit(frame, pd.Series(np.array(["n", "p"])[y]))
    assert search.n_splits_ == 1
    assert set(search.predict(frame)) == {"n", "p"}
    np.testing.assert_array_equal(search.best_estimator_.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame.rename(columns={"a": "z"}))


def test_numbers_of_values_are_spread_evenly_and_their_cells_certified():
    X, y = blobs()
    search = PegasosSVCCV(Cs=5, gammas=3, cv=2).fit(X, y)
    np.testing.assert_allclose(search.Cs_, [0.1, 1.0, 10.0, 100.0, 1000.0])
    scale = scale_gamma("scale", X)
    np.testing.assert_allclose(search.gammas_, [scale / 4, scale, 4 * scale])
    assert search.relative_gaps_.shape == (2, 3, 5)
    assert search.relative_gaps_.max() <= search.tol
    named = PegasosSVCCV(Cs=1, gammas=["scale", "auto", 2.0], cv=2).fit(X, y)
    assert named.cv_results_["param_gamma"].tolist() == [scale, 1 / 3, 2.0]


# --- bad grids, folds and scorers: one clear sentence, and nothing fitted -------------------------

EVERYTHING = np.arange(120)


def test_values_that_the_kernel_lacks_are_not_looked_at():
    search = small(kernel="linear", gammas=None, degrees=None, coef0s=None).fit(*blobs())
    assert list(search.best_params_) == ["C"]


def test_fold_without_a_class_is_named():
    X, y = blobs(3)
    names = np.array(["ant", "bee", "cow"])[y]
    lacking = (np.flatnonzero(names != "bee"), np.flatnonzero(names == "bee"))
    search = small(cv=[(EVERYTHING[::2], EVERYTHING[1::2]), lacking])
    for labels in (names, names.astype(object)):
        assert_rejected(search, X, labels, "none of class 'bee' in fold 1")
