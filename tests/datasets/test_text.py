"""Drawn documents are like those of a real corpus in what a linear classifier sees."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from kpegasos.datasets import make_text_like


@pytest.fixture(scope="module")
def text():
    return make_text_like(20_000, random_state=0)


def test_text_has_the_shape_of_rcv1(text):
    X, y = text
    assert X.shape == (20_000, 47_236)
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert_array_equal(np.unique(y), [-1, 1])
    assert abs(y.mean()) < 0.02
    assert X.nnz / np.prod(X.shape) == pytest.approx(0.0016, rel=0.02)
    assert np.diff(X.indptr).min() > 0
    assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    _, clean = make_text_like(20_000, noise=0, random_state=0)
    assert np.mean(clean != y) == pytest.approx(0.06, abs=0.005)
    rebuilt = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert rebuilt.has_canonical_format


def test_text_words_follow_zipfs_law_and_rare_ones_weigh_more(text):
    X = text[0]
    documents = np.bincount(X.indices, minlength=X.shape[1])
    ranks = np.array([200, 400, 800, 1600, 3200])
    slope = np.polyfit(np.log(ranks), np.log(np.sort(documents)[::-1][ranks]), 1)[0]
    assert slope == pytest.approx(-1, abs=0.2)
    weight = np.bincount(X.indices, X.data, minlength=X.shape[1]) / np.maximum(documents, 1)
    common, rare = np.argsort(documents)[-50:], np.flatnonzero(documents == 5)
    assert weight[rare].mean() > 2 * weight[common].mean()


@pytest.mark.parametrize("n_samples", [1, 5000, 8192])
def test_text_begins_alike_however_long_it_is(text, n_samples):
    X, y = make_text_like(n_samples, random_state=0)
    assert (text[0][:n_samples] != X).nnz == 0
    assert_array_equal(y, text[1][:n_samples])
    other, _ = make_text_like(n_samples, random_state=1)
    assert (other != X).nnz > 0


@pytest.mark.parametrize("n_features", [2, 3, 51])
def test_text_of_few_words(n_features):
    X, _ = make_text_like(300, n_features, 0.5, dtype=np.float64, random_state=0)
    assert X.shape == (300, n_features)
    assert X.dtype == np.float64
    assert_allclose(X.multiply(X).sum(axis=1), 1)
    assert len(np.unique(X.indices)) == n_features
    for name, wrong in (("n_features", 1), ("density", 0.6), ("density", 1e-6), ("noise", 1.5)):
        with pytest.raises(ValueError, match=f"^{name} must be"):
            make_text_like(**{name: wrong})
