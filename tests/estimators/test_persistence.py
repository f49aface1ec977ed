"""Models written and read back: pickle, joblib, skops, and the package's own files."""

import pickle

import joblib
import numpy as np
import pytest
from models import assert_same_attributes, counts_of
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from kpegasos import (
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    load,
    make_problem,
    make_rows,
    pegasos,
    save,
)


def data(n_classes=3):
    return make_blobs(120, centers=n_classes, cluster_std=3.0, random_state=0)


def by_pickle(model, path):
    return pickle.loads(pickle.dumps(model))


def by_joblib_mapped(model, path):
    joblib.dump(model, path)
    return joblib.load(path, mmap_mode="r")


def by_own_file(model, path):
    save(model, path)
    return load(path)


def assert_same_fit(a, b, X):
    decide = "decision_function" if hasattr(a, "classes_") else "predict"
    np.testing.assert_array_equal(getattr(a, decide)(X), getattr(b, decide)(X))
    assert type(a) is type(b)
    assert str(a.get_params()) == str(b.get_params())
    assert_same_attributes(a, b)


WARM = {
    "kernel": PegasosSVC(epochs=3, warm_start=True, average="suffix", random_state=0),
    "linear": LinearPegasosSVC(epochs=3, warm_start=True, average="suffix", random_state=0),
}


@pytest.mark.parametrize("way", [by_pickle, by_joblib_mapped])
@pytest.mark.parametrize(
    ("model", "convert"),
    [
        (WARM["kernel"], np.asarray),
        (WARM["linear"], np.asarray),
        (PegasosSVC(batch_size=np.int16(3), polish=True, random_state=0), sparse.csr_matrix),
    ],
    ids=["warm", "linear", "sparse"],
)
def test_round_trip(model, convert, way, tmp_path):
    X, y = data()
    model = clone(model).fit(convert(X), np.array(["ant", "bee", "cow"])[y])
    assert_same_fit(model, way(model, tmp_path / "model"), convert(X))


@pytest.mark.parametrize("way", [by_pickle, by_own_file])
@pytest.mark.parametrize("name", WARM)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_goes_on_after_a_round_trip(name, n_classes, way, tmp_path):
    X, y = data(n_classes)
    model = clone(WARM[name]).set_params(epochs=20).fit(X, y)
    loaded = way(model, tmp_path / "model").fit(X, y)
    whole = clone(model).set_params(epochs=40).fit(X, y)
    np.testing.assert_array_equal(counts_of(loaded), counts_of(whole))
    np.testing.assert_array_equal(loaded.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("way", [by_pickle, by_own_file])
@pytest.mark.parametrize("kind", [LinearPegasosSVC, LinearPegasosSVR])
def test_streams_go_on_after_a_round_trip(kind, way, tmp_path):
    X, y = data()
    model = kind(average="suffix", random_state=0)
    options = {"classes": np.unique(y)} if kind is LinearPegasosSVC else {}
    for part in np.array_split(np.arange(y.size), 3):
        model.partial_fit(X[part], y[part], **options)
    loaded = way(model, tmp_path / "model")
    assert_same_fit(model, loaded, X)
    np.testing.assert_array_equal(loaded.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_model_does_not_hold_the_training_data():
    """What is stored grows with the support, not with X or the kernel matrix."""
    X, y = make_blobs(1000, centers=2, n_features=50, cluster_std=0.1, random_state=0)
    model = PegasosSVC(gamma=0.01, random_state=0).fit(X, y)
    assert model.support_.size < 300
    assert len(pickle.dumps(model)) < 0.6 * X.nbytes
    assert len(pickle.dumps(LinearPegasosSVC(random_state=0).fit(X, y))) < 0.2 * X.nbytes


# --- models that were edited ---

ARRAYS = [
    ("support_vectors_", lambda values: values[:, :1]),
    ("support_vectors_", lambda values: values[:3]),
    ("support_vectors_", lambda values: values.tolist()),
    ("dual_coef_", lambda values: np.tile(values, 50)),
    ("dual_coef_", lambda values: values[:1]),
    ("dual_coef_", lambda values: values.astype("U")),
    ("n_support_", lambda values: values * 5),
    ("n_support_", lambda values: -values),
    ("intercept_", lambda values: values[:2]),
    ("classes_", lambda values: values[:3]),
    ("classes_", lambda values: values[:1]),
]
EDITS = [
    *((kernel, *edit) for kernel in ("rbf", "linear") for edit in ARRAYS),
    ("precomputed", "support_", lambda values: values + 10**6),
    ("precomputed", "support_", lambda values: values - 10**6),
    ("precomputed", "support_", lambda values: values[:-1]),
    ("primal", "coef_", lambda values: values[:, :1]),
    ("primal", "coef_", lambda values: np.tile(values, 3)),
]


@pytest.mark.parametrize(("kernel", "attribute", "edit"), EDITS)
def test_edited_model_reads_within_its_arrays(kernel, attribute, edit, tmp_path):
    X, y = data(4)
    model = LinearPegasosSVC() if kernel == "primal" else PegasosSVC(kernel=kernel)
    X = X @ X.T if kernel == "precomputed" else X
    model.set_params(epochs=2, random_state=0).fit(X, y).predict(X)
    setattr(model, attribute, edit(getattr(model, attribute)))
    uses = [model.predict, model.decision_function]
    uses += [lambda _: model.to_libsvm(tmp_path / "m")] if kernel in ("rbf", "linear") else []
    for use in uses:
        with pytest.raises(ValueError, match=r"^(\w+_) must (be|have|hold|not) .*, got "):
            use(X)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("place", "index"), [("indices", 10**6), ("indptr", 10**8)])
def test_edited_sparse_vectors_read_within_their_arrays(place, index, first):
    X, y = data(4)
    X = sparse.csr_matrix(X)
    problem = make_problem(np.where(y == y[0], 1.0, -1.0), 0.1)
    result = pegasos(problem, make_rows(X, "rbf", gamma=1.0), n_steps=9)
    result = pickle.loads(pickle.dumps(result))
    model = PegasosSVC(epochs=2, random_state=0).fit(X, y)
    for each, vectors in ((model, model.support_vectors_), (result, result.decisions._terms[0])):
        if first:
            each.predict(X)
        getattr(vectors, place)[1] = index
        with pytest.raises(ValueError, match=r"vectors_? must have column|vectors_? must be a sp"):
            each.predict(X)
