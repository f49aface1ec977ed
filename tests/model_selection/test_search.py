"""The search against fits of every cell by themselves, with certificates and without."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from models import assert_same_values
from searches import blobs, small
from sklearn.base import clone
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, ParameterGrid, StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kpegasos import RBF, PegasosSVC, PegasosSVCCV, Sigmoid
from kpegasos.kernels.functions import scale_gamma
from kpegasos.utils.validation import draw_seed

FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)
ACCURATE = {"tol": 1e-4, "random_state": 0}
GRIDS = {
    "rbf": {"gamma": [0.02, 0.2]},
    "laplacian": {"gamma": [0.02, 0.2]},
    "poly": {"gamma": [0.02, 0.1], "degree": [2, 3], "coef0": [0.5, 1.0]},
    "linear": {},
}


def searched(kernel, *, Cs=(0.1, 2.0), **settings):
    """The search over the grid of a kernel, and `GridSearchCV` over the same."""
    grid = GRIDS[kernel]
    ours = PegasosSVCCV(
        Cs,
        kernel=kernel,
        cv=FOLDS,
        **{f"{name}s": values for name, values in grid.items()},
        **ACCURATE,
        **settings,
    )
    shared = {name: value for name, value in settings.items() if name not in ("scoring", "Cs")}
    one = PegasosSVC(kernel=kernel, polish=True, **ACCURATE, **shared)
    theirs = GridSearchCV(one, {"C": list(Cs), **grid}, cv=FOLDS, scoring=settings.get("scoring"))
    return ours, theirs


def assert_same_choice(ours, theirs):
    for name in (key for key in theirs.cv_results_ if "test_score" in key and "rank" not in key):
        np.testing.assert_allclose(
            ours.cv_results_[name], theirs.cv_results_[name], atol=0.01, err_msg=name
        )
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", GRIDS)
def test_search_scores_and_chooses_as_single_fits_do(kernel, n_classes):
    X, y = blobs(n_classes, n_samples=300)
    ours, theirs = searched(kernel)
    assert_same_choice(ours.fit(X, y), theirs.fit(X, y))


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": "balanced"},
        {"class_weight": {0: 4.0}},
        {"scoring": "roc_auc"},
        {"scoring": make_scorer(matthews_corrcoef)},
        {"fit_intercept": False},
        {"intercept_scaling": 3.0},
    ],
    ids=str,
)
def test_search_heeds_its_parameters(settings):
    X, y = blobs(n_samples=300)
    kept = np.flatnonzero((y == 0) | (np.arange(y.size) % 3 == 0))
    ours, theirs = searched("rbf", **settings)
    assert_same_choice(ours.fit(X[kept], y[kept]), theirs.fit(X[kept], y[kept]))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_those_of_fits_and_scores(class_weight):
    X, y = blobs(3, n_samples=300, cluster_std=6.0)
    weight = np.random.default_rng(0).choice([0.2, 1.0, 5.0], size=y.size)
    search, _ = searched("rbf", class_weight=class_weight)
    table = search.fit(X, y, weight).cv_results_
    for fold, (train, test) in enumerate(FOLDS.split(X, y)):
        for row, chosen in enumerate(table["params"]):
            one = PegasosSVC(**chosen, class_weight=class_weight, polish=True, **ACCURATE)
            one.fit(X[train], y[train], weight[train])
            expected = one.score(X[test], y[test], weight[test])
            assert table[f"split{fold}_test_score"][row] == pytest.approx(expected, abs=0.03)


def test_scorer_without_weights_counts_examples_alike():
    X, y = blobs()
    weight = np.where(y == 0, 0.1, 1.0)

    def accuracy(estimator, X, y):
        return np.mean(estimator.predict(X) == y)

    with pytest.warns(UserWarning, match="takes no sample_weight") as caught:
        alike = small(scoring=accuracy).fit(X, y, weight)
    assert caught[0].filename == __file__
    weighted = small(scoring="accuracy").fit(X, y, weight)
    assert (weighted.scores_ != alike.scores_).any()
    row = weighted.best_index_
    for fold, (_, test) in enumerate(StratifiedKFold(3).split(X, y)):
        right = (weighted.oof_decision_[test] > 0) == y[test]
        score = weighted.cv_results_[f"split{fold}_test_score"][row]
        assert score == pytest.approx(np.average(right, weights=weight[test]))


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


def test_precomputed_search_is_that_of_the_kernel():
    X, y = blobs(3)
    of_kernel = small(gammas=[0.1], **ACCURATE).fit(X, y)
    gram = rbf_kernel(X, gamma=0.1)
    precomputed = small(kernel="precomputed", **ACCURATE).fit(gram, y)
    np.testing.assert_allclose(precomputed.scores_, of_kernel.scores_[:, 0], atol=0.026)
    assert precomputed.best_params_ == {"C": of_kernel.best_params_["C"]}
    np.testing.assert_array_equal(precomputed.predict(gram), of_kernel.predict(X))
    assert get_tags(precomputed).input_tags.pairwise


@pytest.mark.parametrize("kernel", [RBF(0.1), lambda A, B: rbf_kernel(A, B, gamma=0.1)])
def test_kernels_of_ones_own_are_searched_over_C(kernel):
    X, y = blobs()
    search = small(kernel=kernel).fit(X, y)
    named = small(gammas=[0.1]).fit(X, y)
    assert list(search.best_params_) == ["C"]
    assert search.scores_.shape == (3, 2)
    np.testing.assert_allclose(search.scores_, named.scores_[:, 0], atol=0.026)


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


def test_table_has_the_columns_of_GridSearchCV_and_its_own():
    X, y = blobs()
    ours, theirs = searched("rbf")
    ours, theirs = ours.fit(X, y), theirs.fit(X, y)
    for name, column in theirs.cv_results_.items():
        own = ours.cv_results_[name]
        assert type(own) is type(column)
        if name != "params":
            assert (own.dtype, own.shape) == (column.dtype, column.shape)
    further = set(ours.cv_results_) - set(theirs.cv_results_)
    of_folds = {f"split{k}_{name}" for k in range(3) for name in ("relative_gap", "n_support")}
    assert further == {*of_folds, "max_relative_gap", "mean_n_support"}
    frame = pd.DataFrame(ours.cv_results_)
    assert frame.shape == (4, len(ours.cv_results_))
    assert frame.loc[ours.best_index_, "param_gamma"] == ours.best_params_["gamma"]
    np.testing.assert_array_equal(
        frame["max_relative_gap"], frame.filter(regex="split._relative_gap").max(axis=1)
    )


def test_seconds_of_cells_and_refit_are_parts_of_the_clock():
    X, y = blobs(2, n_samples=300)
    search, _ = searched("rbf", n_jobs=1)
    begin = time.perf_counter()
    search.fit(X, y)
    elapsed = time.perf_counter() - begin
    table, parts = search.cv_results_, [search.refit_time_]
    for name in ("mean_fit_time", "mean_score_time"):
        assert (table[name] > 0.0).all()
        parts.append(FOLDS.n_splits * table[name].sum())
    assert min(parts) > 0.0
    assert sum(parts) <= elapsed


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refitted_model_is_the_search_s_own(n_classes):
    X, y = blobs(n_classes)
    search = small(decision_function_shape="ovo").fit(X, y)
    one = PegasosSVC(
        **search.best_params_, polish=True, tol=0.01, decision_function_shape="ovo", random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(search.predict(X), one.predict(X))
    for name in (name for name in vars(one) if name.endswith("_")):
        assert_same_values(getattr(search, name), getattr(one, name), name)
    assert search.best_estimator_.get_params() == one.get_params()
    assert search.refit_time_ > 0


def test_linear_search_has_coefficients():
    X, y = blobs()
    search = small(kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        X @ search.coef_[0] + search.intercept_, search.decision_function(X), rtol=1e-6
    )
    with pytest.raises(AttributeError, match="linear"):
        _ = small().fit(X, y).coef_


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
            test = np.flatnonzero(X["a"] > X["a"].median())
            yield np.setdiff1d(np.arange(y.size), test), test

    search = small(cv=ByName(), gammas=[0.05]).fit(frame, pd.Series(np.array(["n", "p"])[y]))
    assert search.n_splits_ == 1
    assert set(search.predict(frame)) <= {"n", "p"}
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


SIGMOID = {"kernel": "sigmoid", "coef0s": [-0.5, 0.0]}
UNSHUFFLED = StratifiedKFold(3)


def plain(seed, **chosen):
    """A run of Pegasos without tol and polish."""
    return PegasosSVC(random_state=seed, **chosen)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cells_of_the_sigmoid_kernel_are_runs_of_pegasos(n_classes):
    X, y = blobs(n_classes)
    search = small(cv=UNSHUFFLED, **SIGMOID).fit(X, y)
    grid = {"C": [0.5, 5.0], "gamma": [0.02, 0.2], "coef0": [-0.5, 0.0]}
    assert search.cv_results_["params"] == list(ParameterGrid(grid))
    held_out = np.full(search.oof_decision_.shape, np.nan)
    for fold, (train, test) in enumerate(UNSHUFFLED.split(X, y)):
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
