"""Models written and read back: pickle, joblib, skops."""

import pickle

import joblib
import numpy as np
import pytest
import skops.io
from models import counts_of
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import Laplacian, LinearPegasosSVC, PegasosSVC, make_problem, make_rows, pegasos


def data(n_classes=3):
    return make_blobs(120, centers=n_classes, cluster_std=3.0, random_state=0)


def kernel_of_users(A, B):
    return A @ B.T + 1.0


MODELS = {
    "rbf": PegasosSVC(random_state=0),
    "linear kernel": PegasosSVC(kernel="linear", random_state=0),
    "object": PegasosSVC(kernel=Laplacian(0.5), random_state=0),
    "projected": PegasosSVC(projection=True, average="uniform", random_state=0),
    "warm": PegasosSVC(warm_start=True, average="suffix", random_state=0),
    "linear": LinearPegasosSVC(random_state=0),
    "linear warm": LinearPegasosSVC(warm_start=True, average="suffix", random_state=0),
    "linear ovo": LinearPegasosSVC(decision_function_shape="ovo", checkpoints=None, random_state=0),
}
EVERY = pytest.mark.parametrize("name", MODELS)
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def by_pickle(model, path):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


def by_joblib_mapped(model, path):
    joblib.dump(model, path)
    return joblib.load(path, mmap_mode="r")


def untrusted(stored):
    return skops.io.get_untrusted_types(data=stored)


def by_skops(model, path):
    stored = skops.io.dumps(model)
    types = untrusted(stored)
    assert types, "a model of kpegasos is not trusted by itself"
    # Counts of several pairs of classes are sparse, as support vectors may be.
    assert all(name.startswith(("kpegasos.", "scipy.sparse.")) for name in types), types
    return skops.io.loads(stored, trusted=types)


WAYS = pytest.mark.parametrize("way", [by_pickle, by_joblib, by_joblib_mapped, by_skops])
#: A state that is mapped read-only cannot go on.
WRITABLE_WAYS = pytest.mark.parametrize("way", [by_pickle, by_joblib, by_skops])


def histories(model):
    return model.history_ if isinstance(model.history_, list) else [model.history_]


def assert_same_fit(a, b, X):
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    fitted = {key for key in vars(a) if key.endswith("_")}
    assert fitted == {key for key in vars(b) if key.endswith("_")}
    for key in fitted - {"history_"}:
        one, two = (counts_of(m) if key == "alpha_" else getattr(m, key) for m in (a, b))
        np.testing.assert_array_equal(one, two, err_msg=key)
        assert np.asarray(one).dtype == np.asarray(two).dtype
    for one, two in zip(histories(a), histories(b), strict=True):
        assert one.to_pandas().equals(two.to_pandas())
        assert repr(one) == repr(two)


@EVERY
@CLASSES
@WAYS
def test_round_trip(name, n_classes, way, tmp_path):
    X, y = data(n_classes)
    names = np.array(["ant", "bee", "cow"])[y]
    model = clone(MODELS[name]).fit(X, names)
    assert_same_fit(model, way(model, tmp_path / "model"), X)


@pytest.mark.parametrize("name", ["warm", "linear warm"])
@CLASSES
@WRITABLE_WAYS
def test_round_trip_then_warm_start(name, n_classes, way, tmp_path):
    X, y = data(n_classes)
    model = clone(MODELS[name]).set_params(epochs=20).fit(X, y)
    loaded = way(model, tmp_path / "model").fit(X, y)
    whole = clone(model).set_params(epochs=40).fit(X, y)
    np.testing.assert_array_equal(counts_of(loaded), counts_of(whole))
    np.testing.assert_array_equal(loaded.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("average", ["weighted", "suffix"])
@CLASSES
@WRITABLE_WAYS
def test_round_trip_then_partial_fit(average, n_classes, way, tmp_path):
    X, y = data(n_classes)
    model = LinearPegasosSVC(average=average, random_state=0)
    for part in np.array_split(np.arange(y.size), 3):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    loaded = way(model, tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    for clf in (model, loaded):
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))


@pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])
@WAYS
def test_round_trip_of_a_pipeline(Estimator, way, tmp_path):
    X, y = data()
    model = make_pipeline(StandardScaler(), Estimator(random_state=0)).fit(X, y)
    loaded = way(model, tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))


@WAYS
def test_round_trip_of_precomputed(way, tmp_path):
    X, y = data()
    gram = X @ X.T
    model = PegasosSVC(kernel="precomputed", random_state=0).fit(gram, y)
    assert_same_fit(model, way(model, tmp_path / "model"), gram)


@pytest.mark.parametrize("way", [by_pickle, by_joblib])
def test_round_trip_of_a_callable(way, tmp_path):
    X, y = data()
    model = PegasosSVC(kernel=kernel_of_users, random_state=0).fit(X, y)
    assert_same_fit(model, way(model, tmp_path / "model"), X)


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_joblib_mapped])
def test_round_trip_of_sparse_support_vectors(way, tmp_path):
    X, y = data()
    model = PegasosSVC(random_state=0).fit(sparse.csr_matrix(X), y)
    loaded = way(model, tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))


def test_skops_of_sparse_support_vectors():
    X, y = data()
    model = PegasosSVC(random_state=0).fit(sparse.csr_matrix(X), y)
    stored = skops.io.dumps(model)
    types = untrusted(stored)
    assert all(name.startswith(("kpegasos.", "scipy.sparse.")) for name in types), types
    loaded = skops.io.loads(stored, trusted=types)
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))


def test_skops_refuses_what_is_not_trusted():
    X, y = data()
    stored = skops.io.dumps(PegasosSVC(random_state=0).fit(X, y))
    with pytest.raises(Exception, match="kpegasos"):
        skops.io.loads(stored)


def test_model_does_not_hold_the_training_data():
    """What is stored grows with the support, not with X or the kernel matrix."""
    X, y = make_blobs(1000, centers=2, n_features=50, cluster_std=0.1, random_state=0)
    model = PegasosSVC(gamma=0.01, random_state=0).fit(X, y)
    assert model.support_.size < 300
    assert len(pickle.dumps(model)) < 0.6 * X.nbytes
    assert len(pickle.dumps(LinearPegasosSVC(random_state=0).fit(X, y))) < 0.2 * X.nbytes


def test_unfitted_models_round_trip():
    for model in MODELS.values():
        assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


def test_result_round_trip_then_goes_on():
    X, y = data(2)
    problem, rows = make_problem(2.0 * y - 1.0, 0.01), make_rows(X, "rbf", gamma=0.1)
    result = pegasos(problem, rows, epochs=5, random_state=0)
    loaded = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(result.coef, loaded.coef)
    more = pegasos(problem, rows, epochs=5, state=loaded.state)
    whole = pegasos(problem, rows, epochs=10, random_state=0)
    np.testing.assert_array_equal(more.alpha, whole.alpha)
    np.testing.assert_array_equal(more.coef, whole.coef)
