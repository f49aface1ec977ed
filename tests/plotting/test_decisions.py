"""Decision regions show predictions, examples and support vectors."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from pictures import texts
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import DecisionRegionDisplay


def test_regions_points_lines_and_rings(ax, moons):
    X, y, model = moons
    display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_allclose(display.points_[1].get_offsets(), X[y == 1])
    np.testing.assert_allclose(display.support_.get_offsets(), model.support_vectors_)
    # The line at zero separates the predictions.
    np.testing.assert_array_equal(display.lines_.levels, [-1, 0, 1])
    on_line = display.lines_.get_paths()[1].vertices
    assert np.abs(model.decision_function(on_line)).max() < 0.1


def test_regions_new_axes_and_estimator_of_scikit_learn(moons):
    X, y, _ = moons
    model = SVC().fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(display.counts, np.abs(model.dual_coef_[0]))
    assert texts(display.legend_)[2:4] == ["support vector", "α = 1"]


@pytest.mark.filterwarnings("ignore:LinearPegasosSVC ended far")
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_regions_extend_beyond_the_examples_by_a_share_of_their_range(moons, scale):
    X, y = moons[0] * [scale, 1.0], moons[1]
    X[:, 1] = 3.0  # has no range
    display = DecisionRegionDisplay.from_estimator(LinearPegasosSVC().fit(X, y), X, y)
    low, high = X[:, 0].min(), X[:, 0].max()
    expected = np.array([1.08 * low - 0.08 * high, 1.08 * high - 0.08 * low])
    np.testing.assert_allclose(display.xx[[0, -1]], expected)
    np.testing.assert_array_equal(display.yy[[0, -1]], [2.0, 4.0])
    display = DecisionRegionDisplay.from_estimator(LinearPegasosSVC().fit(X, y), X, y, eps=0.5)
    np.testing.assert_allclose(display.xx[[0, -1]], [low - 0.5, high + 0.5])


def test_regions_of_models_with_and_without_counts(ax, moons):
    X, y, _ = moons
    frame = pd.DataFrame(X, columns=["length", "width"])
    polished = PegasosSVC(C=10.0, polish=True, random_state=0).fit(frame, y)
    display = DecisionRegionDisplay.from_estimator(polished, frame, y, ax=ax)
    assert "support vector" in texts(display.legend_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    model = LinearPegasosSVC(random_state=0).fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
    assert display.support_ is None
    assert texts(display.legend_) == ["class 0", "class 1", "f(x) = ±1"]
    display = DecisionRegionDisplay.from_estimator(model, X, y, support=model.support_, ax=ax)
    np.testing.assert_allclose(display.support_.get_offsets(), X[model.support_])
    np.testing.assert_array_equal(display.counts, model.alpha_[model.support_])


def test_regions_several_classes_with_names_and_counts_summed_over_pairs(ax):
    X, number = make_blobs(60, centers=4, cluster_std=2.0, random_state=0)
    y = np.array(["ant", "bee", "cat", "dog"])[number]
    model = PegasosSVC(epochs=2, random_state=0).fit(X, y)
    counts = np.random.default_rng(0).integers(0, 3000, (6, 60))
    for form, support in product((np.asarray, csr_array), (None, [3, 20, 40])):
        model.alpha_ = form(counts)
        display = DecisionRegionDisplay.from_estimator(model, X, y, support=support, ax=ax)
        rows = model.support_ if support is None else support
        np.testing.assert_array_equal(display.counts, counts.sum(axis=0)[rows])
        assert f"α = {display.counts.max():,}" in texts(display.legend_)
    assert display.lines_ is None
    assert texts(display.legend_)[:4] == ["ant", "bee", "cat", "dog"]
    grid = np.column_stack([part.ravel() for part in np.meshgrid(display.xx, display.yy)])
    numbers = np.searchsorted(model.classes_, model.predict(grid))
    np.testing.assert_array_equal(display.values.ravel(), numbers)
