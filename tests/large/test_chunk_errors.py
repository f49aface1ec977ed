"""Chunks that are nonsense, or change, are refused in a sentence; what fit takes is not."""

import copy
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression

from kpegasos import ArrayChunks, LinearPegasosSVC, PegasosSVC, fit_chunks
from kpegasos.datasets import SvmlightChunks, make_text_like
from kpegasos.fitting import streams
from kpegasos.solvers.online import advance_stream

#: Leftovers of Python, numpy and scikit-learn.
LEFTOVERS = ("positional argument", "attribute", "not iterable", "broadcast", "ufunc", "len()")


@pytest.fixture(scope="module")
def text():
    return make_text_like(1000, 200, 0.05, random_state=0)


def fitted(chunks, **arguments):
    return fit_chunks(LinearPegasosSVC(C=1.0, random_state=0), chunks, **arguments).coef_


def test_rejects_in_one_sentence(text):
    X, y = text
    X, y = X[:200].toarray(), y[:200]
    rng = np.random.default_rng(0)

    def fails(chunks, match, *, error=ValueError, lam=None, **arguments):
        model = LinearPegasosSVC(lam=lam, epochs=1, random_state=0)
        with pytest.raises(error, match=match) as caught:
            fit_chunks(model, chunks, **arguments)
        message = str(caught.value)
        assert "\n" not in message
        for word in LEFTOVERS:
            assert word not in message
        assert not hasattr(model, "coef_")

    pairs = r"chunks must hold pairs \(X, y\) or triples \(X, y, sample_weight\), got "
    fails((X, y), pairs + "ndarray instead")
    fails((X.tolist(), y.tolist()), pairs + "list of 200 instead")
    fails("chunks", pairs + "str instead")
    fails({"X": X, "y": y}, pairs + "str instead")
    fails([(X,)], pairs + "tuple of 1 instead")
    fails([None], pairs + "NoneType instead")
    for chunks in (None, 5, np.array(3), lambda: None, lambda n: [(X, y)], type, sparse.eye(3)):
        fails(chunks, "chunks must be a sequence, an iterable or a function", error=TypeError)
        fails(chunks, "chunks must be a sequence", error=TypeError, lam=0.1, classes=[-1, 1])
    for model in (PegasosSVC(), LinearPegasosSVC, None, LogisticRegression()):
        with pytest.raises(
            TypeError, match="estimator must be a LinearPegasosSVC or a LinearPegasosSVR, got "
        ):
            fit_chunks(model, [(X, y)])
    fails([(None, y)], "X of a chunk must have two dimensions, got NoneType")
    fails([(5, y)], "X of a chunk must have two dimensions, got int")
    fails([(X, y[1:])], "X and y of a chunk must have equally many rows, got 200 and 199")
    fails([(X[:0], y)], "X and y of a chunk must", lam=0.1, classes=[-1, 1])
    fails([(X, None)], "X and y of a chunk must", lam=0.1, classes=[-1, 1])
    fails([(X, np.where(y > 0, np.nan, y))], "y must have finite labels or strings, got NaN")
    fails([(X, rng.normal(size=200))], "Unknown label type: continuous")
    fails([(X, np.column_stack([y, y]))], "y should be a 1d array")
    fails([(X, None)], "y should be a 1d array")
    fails([(X, y), (X, y.astype(str))], "y must be numbers in all chunks, or strings, got both")
    fails([(X, y, np.ones(3))], "sample_weight.shape")
    fails([(X, y, -np.ones(200))], "sample_weight must not be negative")
    fails([(X, y, np.full(200, 1e-300))], "sample_weight .*must be zero or between")
    fails([(X, y, np.zeros(200))], "sample_weight must have a positive entry, got zeros only")
    fails([(X[:0], y[:0])], "chunks must hold examples, got none")
    fails([(X, y)], "classes must be numbers, or strings", classes=[[1], [2, 3]])
    fails([(X, y)], "classes must be numbers, or strings", lam=0.1, classes=[None, 1, "a"])
    fails([(X, y)], "epochs must be a positive whole number", epochs=np.timedelta64("NaT"))
    fails([(X, y)], "classes must be finite or strings", lam=0.1, classes=[np.nan, 1.0])
    fails([(X, y)], "y must have classes among", lam=0.1, classes=["-1", "1"])
    fails([(X, y, np.zeros(200))], "sample_weight must have", lam=0.1, classes=[-1, 1])
    fails(iter([]), "chunks must hold examples, got none", lam=0.1, classes=[-1, 1])


def test_chunks_that_change_between_readings_are_refused(text):
    X, y = text
    parts = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 1000, 300)]
    model = LinearPegasosSVC(epochs=2, random_state=0)
    exhausted = iter(parts)
    with pytest.raises(ValueError, match="got 1000 examples first and 0 in epoch 1"):
        fit_chunks(model, lambda: exhausted)
    assert not hasattr(model, "coef_")
    readings = iter([parts, parts, parts[:-1]])
    with pytest.raises(ValueError, match="got 1000 examples first and 900 in epoch 2"):
        fit_chunks(model, lambda: iter(next(readings)))
    assert model.n_steps_ == 1900
    assert model.predict(X).shape == y.shape
    # With classes and lam there is no first reading; but no epoch may be without examples.
    once = iter(parts)
    model = LinearPegasosSVC(lam=0.1, epochs=2, random_state=0)
    with pytest.raises(ValueError, match="chunks must hold examples, got none in epoch 2"):
        fit_chunks(model, lambda: once, classes=[-1, 1])
    assert model.n_steps_ == 1000


def test_what_fit_accepts_may_be_a_chunk(text):
    X, y = text
    X, y = X[:300].toarray().astype(np.float64), y[:300]
    rows = [slice(0, 100), slice(100, 250), slice(250, 300)]
    expected = fitted([(X[part], y[part]) for part in rows], epochs=3)
    kinds = [
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: [X, tuple(y)],
        lambda X, y: (sparse.csc_matrix(X), y, 1.0),
        lambda X, y: (sparse.coo_array(X) if y.size == 100 else X, y, None),
        lambda X, y: (X, y.astype(float), np.ones(y.size, int)),
    ]
    for kind in kinds:
        given = fitted([kind(X[part], y[part]) for part in rows], epochs=3)
        np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-15)


def test_array_chunks_take_lists_and_any_sparse_matrix(text):
    X, y = text
    expected = fitted(ArrayChunks(X[:90], y[:90], chunk_size=40), epochs=2)
    for given in (X[:90].tocsc(), X[:90].tocoo()):
        chunks = ArrayChunks(given, y[:90].tolist(), [1.0] * 90, chunk_size=np.int16(40))
        np.testing.assert_array_equal(fitted(chunks, epochs=2), expected)
    lists = ArrayChunks(X[:90].toarray().tolist(), y[:90], chunk_size=40)
    np.testing.assert_allclose(fitted(lists, epochs=2), expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(fitted(lists[:], epochs=2), fitted(lists, epochs=2))
    with pytest.raises(ValueError, match="sample_weight must have as many rows as X, 1000, got 3"):
        ArrayChunks(X, y, np.ones(3))
    with pytest.raises(ValueError, match="X must have rows of equal length"):
        ArrayChunks([[1], [2, 3]], [0, 1])
    for name, wrong in {"X": (5, y), "y": (X, None), "sample_weight": (X, y, 2.0)}.items():
        with pytest.raises(ValueError, match=f"{name} must be an array with rows, got "):
            ArrayChunks(*wrong)


def test_svmlight_chunks_slices_train(text, tmp_path):
    X, y = text
    dump_svmlight_file(X, y, str(tmp_path / "file"), zero_based=False)
    chunks = SvmlightChunks(tmp_path / "file", n_features=200, chunk_mb=0.02)
    np.testing.assert_array_equal(
        fitted(chunks[1:4], epochs=2), fitted([chunks[i] for i in (1, 2, 3)], epochs=2)
    )


def test_weights_of_zero_mean_what_they_mean_to_fit(text):
    X, y = text
    zero = np.zeros(300)
    expected = fitted(partial(iter, [(X[:700], y[:700])]), epochs=3)
    given = fitted(partial(iter, [(X[700:], y[700:], zero), (X[:700], y[:700])]), epochs=3)
    np.testing.assert_array_equal(given, expected)
    # A class without weight is absent, as to fit.
    labels = np.where(np.arange(1000) < 700, y, 7)
    weight = 1.0 * (labels != 7)
    model = LinearPegasosSVC(C=1.0, random_state=0)
    fit_chunks(model, [(X, labels, weight)], epochs=3)
    assert model.classes_.tolist() == [-1, 1]
    assert model.fit(X, labels, weight).classes_.tolist() == [-1, 1]
    # And the stream goes on.
    model = LinearPegasosSVC(lam=0.1, random_state=0)
    model.partial_fit(X[:700], y[:700], classes=[-1, 1])
    coef = model.coef_
    model.partial_fit(X[700:], y[700:], sample_weight=zero)
    np.testing.assert_array_equal(model.coef_, coef)


def test_error_in_the_middle_leaves_the_model_of_the_chunks_seen(text):
    X, y = text

    def breaks():
        yield X[:500], y[:500]
        raise OSError("disk gone")

    model = LinearPegasosSVC(lam=0.1, epochs=1, random_state=0)
    with pytest.raises(OSError, match="disk gone"):
        fit_chunks(model, breaks(), classes=[-1, 1])
    expected = fit_chunks(clone(model), iter([(X[:500], y[:500])]), classes=[-1, 1])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.partial_fit(X[500:], y[500:]).n_steps_ == 1000


def test_chunk_that_fails_in_its_middle_is_as_if_it_had_not_come(text, monkeypatch):
    X, labels = text[0], np.arange(1000) % 3
    model = LinearPegasosSVC(lam=0.1, random_state=0).partial_fit(X, labels, classes=[0, 1, 2])
    twin = copy.deepcopy(model).partial_fit(X, labels)
    calls = []

    def fails_at_the_second_pair(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return advance_stream(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(streams, "advance_stream", fails_at_the_second_pair)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, labels)
    np.testing.assert_array_equal(model.partial_fit(X, labels).coef_, twin.coef_)


@pytest.mark.parametrize(
    "starts", [[0, 900, 3], [0, 3, 10**6], [-1, 2, 3], [1, 2, 3], [0, 3], [0.0, 1.0, 3.0]]
)
def test_starts_of_rows_that_contradict_each_other_are_refused(starts):
    """SciPy cuts rows where they say, outside of all arrays too."""
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))
    X.indptr = np.array(starts)
    with pytest.raises(ValueError, match="must be a sparse matrix whose data, indices and shape"):
        ArrayChunks(X, [0, 1], chunk_size=1)
