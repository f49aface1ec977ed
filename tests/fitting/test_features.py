"""Rows of sparse features are over the columns that a pair uses, and weights are as sparse."""

import pickle
import warnings

import numpy as np
import pytest
from models import assert_close_model, assert_same_attributes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import kpegasos
from kpegasos import LinearPegasosSVC, LinearPegasosSVR
from kpegasos.fitting import features
from kpegasos.large import ArrayChunks, fit_chunks
from kpegasos.rows.features import FeatureRows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N_COLUMNS = 400


def documents(n_classes=4, n_per_class=12, n_columns=N_COLUMNS):
    """Rows of six words, most of a class's own, which are few among all."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), n_per_class)
    words = 8 * y[:, None] + rng.integers(0, 12, size=(y.size, 6))
    X = sparse.lil_matrix((y.size, n_columns))
    for row, columns in enumerate(words):
        X[row, columns * (n_columns // 50)] = rng.integers(1, 4, size=6)
    return X.tocsr(), y


@pytest.fixture
def always_sparse(monkeypatch):
    monkeypatch.setattr(features, "_DENSE_BYTES", 0)


SETTINGS = [
    {},
    {"projection": True, "loss": "squared_hinge"},
    {"fit_intercept": "free", "polish": True, "tol": 1e-8},
    {"polish": True, "tol": 1e-8},
    {"epochs": 9},
    {"sampling": "contiguous", "loss": "log_loss"},
]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_columns_that_no_example_uses_change_no_model(n_classes, settings):
    X, y = documents(n_classes)
    few = LinearPegasosSVC(C=0.1, random_state=0, **settings).fit(X, y)
    whole = LinearPegasosSVC(C=0.1, random_state=0, **settings).fit(X.toarray(), y)
    if settings.keys() <= {"epochs"}:
        assert_close_model(few, whole, X, X.toarray())
    assert isinstance(few.coef_, np.ndarray)
    assert few.coef_.shape == whole.coef_.shape
    assert_allclose(few.coef_, whole.coef_, atol=1e-3 * np.abs(whole.coef_).max())
    assert_allclose(few.objective_, whole.objective_, rtol=1e-6)
    assert max(np.max(few.relative_gap_), np.max(whole.relative_gap_)) < 1.0


def test_a_number_for_each_column_is_kept_only_of_those_that_a_pair_uses(monkeypatch):
    (X, y), sizes, init = documents(), [], FeatureRows.__init__

    def noting(rows, X, **options):
        init(rows, X, **options)
        sizes.append(rows.image_size)

    monkeypatch.setattr(FeatureRows, "__init__", noting)
    LinearPegasosSVC(epochs=1).fit(X, y)
    assert max(sizes) < 50
    sizes.clear()
    LinearPegasosSVR(epochs=1).fit(X, y.astype(float))
    assert max(sizes) < 50


def test_weights_that_are_mostly_zero_are_kept_sparse(always_sparse, tmp_path):
    X, y = documents()
    model = LinearPegasosSVC(polish=True, tol=1e-6, random_state=0).fit(X, y)
    assert sparse.issparse(model.coef_)
    assert 2 * model.coef_.nnz < np.prod(model.coef_.shape)
    dense = pickle.loads(pickle.dumps(model)).densify()
    assert isinstance(dense.coef_, np.ndarray)
    assert_array_equal(dense.coef_, model.coef_.toarray())
    for rows in (X, X.toarray(), X.astype(np.float32), X[:1]):
        assert_allclose(model.decision_function(rows), dense.decision_function(rows), rtol=1e-12)
        for own, its in zip(model.decision_bounds(rows), dense.decision_bounds(rows), strict=True):
            assert_allclose(own, its, rtol=1e-9)
    kpegasos.save(model, tmp_path / "model.skops")
    assert_same_attributes(kpegasos.load(tmp_path / "model.skops"), model)
    assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
    two = LinearPegasosSVC(random_state=0).fit(*documents(2))
    expected = two.to_sklearn().coef_
    assert_array_equal(two.sparsify().to_sklearn().coef_, expected)
    model.to_libsvm(tmp_path / "model.txt")
    read = kpegasos.PegasosSVC.from_libsvm(tmp_path / "model.txt", N_COLUMNS)
    assert_array_equal(read.predict(X), model.predict(X))
    model.coef_ = model.coef_[:, 1:]
    with pytest.raises(ValueError, match=r"coef_ must have shape \(6, 400\), got \(6, 399\)"):
        model.predict(X)


def test_weights_of_two_classes_over_a_million_million_columns():
    """An array of them would take 8 TB."""
    X, y = documents(2)
    far = sparse.csr_matrix((X.data, X.indices.astype(np.int64) << 31, X.indptr), (y.size, 1 << 40))
    model, near = (LinearPegasosSVC(epochs=2, random_state=0).fit(rows, y) for rows in (far, X))
    assert_allclose(model.decision_function(far), near.decision_function(X))
    assert model.sparsify().coef_.nnz == np.count_nonzero(near.coef_)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearPegasosSVC(), np.arange(48) // 24),
        (LinearPegasosSVC(), np.arange(48) // 12),
        (LinearPegasosSVR(epsilon=0.0), np.arange(48) / 10.0),
    ],
    ids=str,
)
def test_sparsify_changes_no_prediction(model, y):
    X, _ = documents()
    model.set_params(random_state=0).fit(X, y)
    dense = pickle.loads(pickle.dumps(model))
    assert sparse.issparse(model.sparsify().coef_)
    for rows in (X, X.toarray()):
        assert_allclose(model.predict(rows), dense.predict(rows), rtol=1e-12)
    assert_same_attributes(model.densify().densify(), dense)
    assert not sparse.issparse(model.fit(X, y).coef_)


def test_weights_that_take_much_are_warned_of(monkeypatch):
    monkeypatch.setattr(features, "_MANY_BYTES", 8000)
    (X, y), classes = documents(), np.arange(4)
    stream = LinearPegasosSVC(lam=1.0, epochs=1)
    calls = [
        lambda: LinearPegasosSVC().fit(X.toarray(), y),
        lambda: stream.partial_fit(X, y, classes),
        lambda: fit_chunks(stream, ArrayChunks(X, y), classes=classes),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        (warning,) = found
        assert warning.filename == __file__
        assert "weights of 6 pairs of 4 classes, up to 0 MiB: OneVsRest" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearPegasosSVC().fit(X, y)  # 6 pairs of two times 12 columns at the most
        stream.partial_fit(X, y)
        monkeypatch.setattr(features, "_MANY_BYTES", 0)
        LinearPegasosSVC().fit(*documents(3))  # of which there are as many pairs
