"""`partial_fit`: Pegasos over a stream of chunks."""

import gc
import pickle
import tracemalloc

import naive
import numpy as np
import pytest
from models import (
    assert_same_model,
    integers,
    with_duplicates,
)
from scipy import sparse
from sklearn.datasets import make_blobs

from kpegasos import LinearPegasosSVC


@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform", None])
@pytest.mark.parametrize("projection", [False, True])
def test_partial_fit_is_pegasos_over_the_chunks(average, projection):
    """Chunks of one example leave no choice of order: Pegasos by the book on the sequence."""
    X, y = integers(2)
    draws = np.random.default_rng(0).integers(y.size, size=150)
    clf = LinearPegasosSVC(
        lam=0.125, average=average, projection=projection, intercept_scaling=2.0, random_state=0
    )
    for i in draws:
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    run = naive.linear_pegasos(
        X, np.where(y == 1, 1, -1), draws, 0.125, projection=projection, intercept_scaling=2.0
    )
    w = np.array([float(v) for v in naive.average(run.iterates, average)])
    np.testing.assert_allclose(clf.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(clf.intercept_[0], 2.0 * w[-1], rtol=1e-9, atol=1e-12)
    assert clf.n_steps_ == 150


def test_partial_fit_weights_by_the_book():
    X, y = integers(2)
    weight = np.random.default_rng(1).integers(1, 4, size=y.size).astype(np.float64)
    clf = LinearPegasosSVC(lam=0.125, class_weight={1: 2.0}, average=None)
    for i in range(y.size):
        row = slice(i, i + 1)
        clf.partial_fit(X[row], y[row], classes=[0, 1], sample_weight=weight[row])
    run = naive.linear_pegasos(
        X,
        np.where(y == 1, 1, -1),
        np.arange(y.size),
        0.125,
        weight=weight * np.where(y == 1, 2.0, 1.0),
        intercept_scaling=1.0,
    )
    w = np.array([float(v) for v in run.iterates[-1]])
    np.testing.assert_allclose(clf.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)


def test_partial_fit_projects_onto_a_ball_that_grows_with_the_weights():
    """Weights of 100 are λ / 100 of weights of 1: an optimum ten times as far, and its ball too."""
    X, y = integers(2)
    a, b = (
        LinearPegasosSVC(lam=lam, projection=True, average=None, random_state=0)
        for lam in (0.5, 50.0)
    )
    for part in np.array_split(np.arange(y.size), 4):
        a.partial_fit(X[part], y[part], classes=[0, 1])
        b.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=np.full(part.size, 100.0))
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-9)


@pytest.mark.parametrize("batch_size", [1, 16])
def test_partial_fit_learns(batch_size):
    X, y = make_blobs(1200, centers=3, cluster_std=1.2, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    clf = LinearPegasosSVC(C=0.1, batch_size=batch_size, random_state=0)
    first = None
    for _ in range(6):
        for part in np.array_split(np.arange(y.size), 4):
            clf.partial_fit(X[part], names[part], classes=["a", "b", "c"])
            first = clf.score(X, names) if first is None else first
    reference = LinearPegasosSVC(C=0.1, random_state=0).fit(X, names).score(X, names)
    assert clf.score(X, names) >= reference - 0.02
    assert clf.score(X, names) >= first
    assert clf.predict(X).dtype == names.dtype


def test_partial_fit_draws_anew_in_each_chunk():
    # On orthogonal examples a weight is zero until its example is drawn.
    X, y = np.eye(40), np.arange(40) % 2
    clf = LinearPegasosSVC(lam=1.0, sampling="uniform", fit_intercept=False, random_state=0)
    clf.partial_fit(X, y, classes=[0, 1])
    first = clf.coef_[0] != 0
    assert 15 < first.sum() < 35  # 40 (1 - 1/e) are expected
    clf.partial_fit(X, y)
    assert (clf.coef_[0] != 0)[~first].any()
    # A permutation reaches everything at once.
    fresh = LinearPegasosSVC(lam=1.0, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    assert fresh.coef_.all()


def test_partial_fit_makes_whole_batches():
    X, y = integers(2)
    clf = LinearPegasosSVC(batch_size=10, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert clf.n_steps_ == 7  # of 64 examples
    assert clf.partial_fit(X[:3], y[:3]).n_steps_ == 8


def test_partial_fit_is_reproducible_and_goes_on_after_pickling():
    X, y = integers(3)
    a, b = (LinearPegasosSVC(random_state=0) for _ in range(2))
    for clf in (a, b):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    b = pickle.loads(pickle.dumps(b))
    np.testing.assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)


def test_partial_fit_sparse_equals_dense():
    X, y = integers(3)
    a, b, c = (LinearPegasosSVC(lam=2.0**-6, random_state=0) for _ in range(3))
    for part in np.array_split(np.arange(y.size), 5):
        a.partial_fit(X[part], y[part], classes=[0, 1, 2])
        b.partial_fit(sparse.csc_matrix(X[part]), y[part], classes=[0, 1, 2])
        c.partial_fit(with_duplicates(X[part]), y[part], classes=[0, 1, 2])
    for other in (b, c):
        np.testing.assert_allclose(a.coef_, other.coef_, rtol=1e-9)
        np.testing.assert_allclose(a.intercept_, other.intercept_, rtol=1e-9)


def test_partial_fit_takes_lists():
    X, y = integers(2)
    a = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    b = LinearPegasosSVC(random_state=0).partial_fit(X.tolist(), y.tolist(), classes=(1, 0))
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_partial_fit_chunks_that_lack_classes():
    X, y = make_blobs(900, centers=3, cluster_std=1.0, random_state=0)
    clf = LinearPegasosSVC(C=0.1, random_state=0)
    first = y == 0
    clf.partial_fit(X[first][:30], y[first][:30], classes=[0, 1, 2])
    # The pair (1, 2) has seen nothing: it says nothing.
    assert not clf.coef_[2].any()
    assert clf.n_steps_.tolist() == [30, 30, 0]
    assert np.isfinite(clf.decision_function(X)).all()
    for _ in range(10):
        for pair in ((0, 1), (1, 2), (0, 2)):
            part = np.isin(y, pair)
            clf.partial_fit(X[part], y[part])
    assert clf.score(X, y) > 0.8 * LinearPegasosSVC(C=0.1, random_state=0).fit(X, y).score(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]


def test_partial_fit_lam_of_the_first_chunk():
    X, y = integers(2)
    a, b = LinearPegasosSVC(C=0.5, random_state=0), LinearPegasosSVC(random_state=0)
    b.set_params(lam=1 / (0.5 * 40))
    for part in (slice(0, 40), slice(40, 64)):
        for clf in (a, b):
            clf.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("average", ["weighted", "suffix"])
def test_partial_fit_memory_is_flat(average):
    X, y = integers(2, 500)
    clf = LinearPegasosSVC(random_state=0, average=average)
    for _ in range(5):
        clf.partial_fit(X, y, classes=[0, 1])
    size = len(pickle.dumps(clf))
    tracemalloc.start()
    clf.partial_fit(X, y)
    gc.collect()  # what the collector has not come to yet depends on the tests before
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(60):
        clf.partial_fit(X, y)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 60 chunks of 1000 examples: 8 bytes kept for each would be 480 kB.
    assert after - before < 100_000
    assert len(pickle.dumps(clf)) < size + 20_000


def test_partial_fit_errors():
    X, y = integers(3)
    new = LinearPegasosSVC
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        new().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes must hold at least two"):
        new().partial_fit(X[y == 1], y[y == 1], classes=[1])
    with pytest.raises(ValueError, match=r"y must have classes among \[0, 1\], got \[2\]"):
        new().partial_fit(X, y, classes=[0, 1])
    clf = new(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match=r"classes must be those of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"y must have classes among"):
        clf.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="X has 4 features"):
        clf.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match="class_weight"):
        new(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(clf.coef_, coef)


def test_fit_after_partial_fit_starts_anew():
    X, y = integers(3)
    clf = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1, 2, 3])
    clf.fit(X[y < 2], y[y < 2])
    fresh = LinearPegasosSVC(random_state=0).fit(X[y < 2], y[y < 2])
    assert_same_model(clf, fresh, X)
    assert clf.classes_.tolist() == [0, 1]


def test_partial_fit_after_fit_knows_the_classes():
    X, y = integers(3)
    clf = LinearPegasosSVC(lam=0.01, random_state=0).fit(X, y)
    score = clf.score(X, y)
    for _ in range(20):
        clf.partial_fit(X, y)
    assert clf.score(X, y) > score - 0.05


def test_partial_fit_after_fit_leaves_no_stale_certificate():
    """What belongs to the model of fit must not be read off the model of the stream."""
    X, y = integers(3)
    clf = LinearPegasosSVC(lam=0.01, random_state=0).fit(X, y)
    clf.partial_fit(X, y, classes=[0, 1, 2])
    fresh = LinearPegasosSVC(lam=0.01, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    stale = [name for name in vars(clf) if name.endswith("_") and name not in vars(fresh)]
    assert stale == []
