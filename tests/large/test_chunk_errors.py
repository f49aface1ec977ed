"""Chunks that are nonsense, or change, are refused in a sentence; what fit takes is not."""

import numpy as np
import pytest
from chunk_cases import fitted
from rejections import refusal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from kpegasos import ArrayChunks, LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, fit_chunks
from kpegasos.datasets import make_text_like

#: Leftovers of Python, numpy and scikit-learn.
LEFTOVERS = ("positional argument", "attribute", "not iterable", "broadcast", "ufunc", "len()")
X, Y = (part[:200] for part in make_text_like(1000, 200, 0.05, random_state=0))
X = X.toarray()
ONES = np.ones(200)
PAIRS = r"chunks must hold pairs \(X, y\) or triples \(X, y, sample_weight\), got "
#: Parameters of a stream, which no first reading precedes.
STREAM = {"lam": 0.1, "classes": [-1, 1]}


def cut_at(starts):
    """Rows whose starts contradict each other: SciPy cuts where they say, beyond all arrays too."""
    rows = sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))
    rows.indptr = np.array(starts)
    return rows


@pytest.mark.parametrize(
    ("chunks", "match", "arguments"),
    [
        ((X, Y), PAIRS + "ndarray instead", {}),
        ((X.tolist(), Y.tolist()), PAIRS + "list of 200 instead", {}),
        ({"X": X, "y": Y}, PAIRS + "str instead", {}),
        ([None], PAIRS + "NoneType instead", {}),
        (5, "chunks must be a sequence, an iterable or a function", {}),
        (lambda n: [(X, Y)], "chunks must be a sequence, an iterable or a function", {}),
        (None, "chunks must be a sequence", STREAM),
        ([(None, Y)], "X of a chunk must have two dimensions, got NoneType", {}),
        ([(X, Y[1:])], "X and y of a chunk must have equally many rows, got 200 and 199", {}),
        ([(X, None)], "X and y of a chunk must", STREAM),
        ([(X, np.where(Y > 0, np.nan, Y))], "y must have finite labels or strings, got NaN", {}),
        ([(X, X[:, 0] + np.arange(200) / 7)], "Unknown label type: continuous", {}),
        ([(X, Y), (X, Y.astype(str))], "y must be numbers in all chunks, or strings, got both", {}),
        ([(X, Y, -ONES)], "sample_weight must not be negative", {}),
        ([(X, Y, 0 * ONES)], "sample_weight must have a positive entry, got zeros only", {}),
        ([(X, Y, 0 * ONES)], "sample_weight must have", STREAM),
        ([(X[:0], Y[:0])], "chunks must hold examples, got none", {}),
        (iter([]), "chunks must hold examples, got none", STREAM),
        ([(X, 0 * Y)], "classes must hold at least two", {}),
        ([(X, Y)], r"classes must be those of the chunks, \[-1, 1\]", {"classes": [0, 1]}),
        ([(X, Y)], "y must have classes among", {"lam": 0.1, "classes": ["-1", "1"]}),
        ([(X, Y)], "epochs must be a positive whole number for chunks, got 1.5", {"epochs": 1.5}),
        (iter([(X, Y)]), "epochs must be 1 for an iterator", {"epochs": 2}),
        (iter([(X, Y)]), "chunks must be such that they can be read again", {"epochs": 1}),
        ([(X, Y)], "class_weight must be a dict", {"class_weight": "balanced"}),
        ([(np.nan * X, Y, 0 * ONES), (X, Y, ONES)], "NaN", {}),
        ([(X, Y, ONES), (np.nan * X, Y, 0 * ONES)], "NaN", STREAM),
    ],
)
def test_chunks_are_refused_in_one_sentence(chunks, match, arguments):
    of_fit = {name: arguments[name] for name in arguments.keys() & {"epochs", "classes"}}
    parameters = {name: arguments[name] for name in arguments.keys() - of_fit.keys()}
    model = LinearPegasosSVC(**{"epochs": 1, "random_state": 0} | parameters)
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        fit_chunks(model, chunks, **of_fit)
    assert not any(word in str(caught.value) for word in ("\n", *LEFTOVERS))
    # A stream keeps what it has learned before.
    assert not hasattr(model, "coef_") or chunks[0][2] is ONES


@pytest.mark.parametrize("model", [PegasosSVC(), LinearPegasosSVC, None, LogisticRegression()])
def test_other_estimators_are_refused(model):
    with pytest.raises(TypeError, match="estimator must be a LinearPegasosSVC or a LinearPegasosS"):
        fit_chunks(model, [(X, Y)])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((X, Y, np.ones(3)), "sample_weight must have as many rows as X, 200, got 3"),
        (([[1], [2, 3]], [0, 1]), "X must have rows of equal length"),
        ((5, Y), "X must be an array with rows, got "),
        ((X, None), "y must be an array with rows, got "),
        ((X, Y, 2.0), "sample_weight must be an array with rows, got "),
        *[
            ((cut_at(starts), [0, 1]), "X must be a sparse matrix whose data, indices and shape")
            for starts in ([0, 900, 3], [0, 3, 9**6], [-1, 2, 3], [1, 2, 3], [0, 3], [0.0, 1, 3])
        ],
    ],
)
def test_arrays_that_contradict_each_other_are_refused(given, match):
    assert match in refusal(ArrayChunks, *given, chunk_size=1)


def test_chunks_that_change_between_readings_are_refused(text):
    X, y = text
    parts = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 1000, 300)]
    model = LinearPegasosSVC(epochs=2, random_state=0)
    exhausted = iter(parts)
    message = refusal(fit_chunks, model, lambda: exhausted)
    assert "got 1000 examples first and 0 in epoch 1" in message
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
    for kind in (
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: [X, tuple(y)],
        lambda X, y: (sparse.csc_matrix(X), y, 1.0),
        lambda X, y: (sparse.coo_array(X) if y.size == 100 else X, y, None),
        lambda X, y: (X, y.astype(float), np.ones(y.size, int)),
    ):
        given = fitted([kind(X[part], y[part]) for part in rows], epochs=3)
        np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-15)


def test_class_without_weight_is_absent_as_to_fit(text):
    X, y = text
    labels = np.where(np.arange(1000) < 700, y, 7)
    weight = 1.0 * (labels != 7)
    model = LinearPegasosSVC(random_state=0)
    assert fit_chunks(model, [(X, labels, weight)], epochs=3).classes_.tolist() == [-1, 1]
    assert model.fit(X, labels, weight).classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("kind", [LinearPegasosSVC, LinearPegasosSVR])
def test_error_in_the_middle_leaves_the_model_of_the_chunks_seen(kind, text):
    X, y = text

    def breaks():
        yield X[:500], y[:500]
        raise OSError("disk gone")

    options = {"classes": [-1, 1]} if kind is LinearPegasosSVC else {}
    model = kind(lam=0.1, epochs=1, random_state=0)
    with pytest.raises(OSError, match="disk gone"):
        fit_chunks(model, breaks(), **options)
    expected = clone(model).partial_fit(X[:500], y[:500], **options)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    # Nor does one in the first chunk of another fit.
    with pytest.raises(ValueError, match="NaN"):
        fit_chunks(model, [(X * np.nan, y)], **options)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert np.max(model.partial_fit(X[500:], y[500:]).n_steps_) == 1000
