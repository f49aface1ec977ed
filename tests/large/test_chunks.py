"""Training chunk by chunk: the same run in another order, in memory that does not grow."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from chunk_cases import by_the_book, fitted, vector, visits_of
from scipy import sparse
from sklearn.base import clone

from kpegasos import LinearPegasosSVC, LinearPegasosSVR
from kpegasos.large import ArrayChunks, fit_chunks

# The sequence of iterates


@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform", None])
@pytest.mark.parametrize("sampling", ["permutation", "uniform"])
def test_iterates_are_those_of_pegasos_in_the_order_of_the_visits(integers, average, sampling):
    options = {"average": average, "sampling": sampling, "epochs": 3, "random_state": 0}
    model = LinearPegasosSVC(lam=integers.lam, **options)
    fit_chunks(model, ArrayChunks(integers.X, integers.y, chunk_size=10), classes=[-1, 1])
    order = np.concatenate(visits_of(37, 10, 3, sampling))
    expected = by_the_book(integers, order, average)
    np.testing.assert_allclose(vector(model), expected, rtol=4e-15, atol=1e-15)
    assert model.n_steps_ == 3 * 37


# What may be chunks


def parts_of(X, y):
    return [(X[i : i + 300], y[i : i + 300]) for i in range(0, 1000, 300)]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "lists", "memmap", "csr of memmaps"])
def test_the_kind_of_array_does_not_matter(text, tmp_path, kind):
    X, y = text

    def mapped(name, array):
        np.save(tmp_path / name, array)
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    expected = fitted(parts_of(X, y), epochs=2)
    dense = X.toarray()
    given = {"csr": X, "csc": X.tocsc(), "lists": dense.tolist()}.get(kind, dense)
    if kind == "memmap":
        given, y = mapped("X", given), mapped("y", y)
    elif kind == "csr of memmaps":
        arrays = [mapped(name, getattr(X, name)) for name in ("data", "indices", "indptr")]
        given = sparse.csr_matrix(tuple(arrays), shape=X.shape)
    targets = (y.tolist(), [1.0] * 1000) if kind == "lists" else (y,)
    chunks = ArrayChunks(given, *targets, chunk_size=np.int16(300))
    np.testing.assert_allclose(fitted(chunks, epochs=2), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [LinearPegasosSVC, LinearPegasosSVR])
def test_iterables_come_in_their_own_order_as_chunks_of_a_stream_do(kind, text):
    parts = parts_of(*text)

    class Again:
        def __iter__(self):
            return iter(parts)

    options = {"classes": [-1, 1]} if kind is LinearPegasosSVC else {}
    expected, model = (kind(lam=1e-3, random_state=0) for _ in range(2))
    for part in parts * 2:
        expected.partial_fit(*part, **options)
    for chunks in (partial(iter, parts), Again()):
        found = fit_chunks(model, chunks, epochs=2, **options).coef_
        np.testing.assert_allclose(found, expected.coef_, rtol=1e-5, atol=1e-7)
    assert fit_chunks(model, iter(parts), epochs=1, **options).n_steps_ == 1000


def test_chunks_without_examples_or_weight_are_passed_over(text):
    X, y = text
    part, nothing, zeros = (X[:700], y[:700]), (X[:0], y[:0]), np.zeros(300)
    expected = fitted([part], epochs=3)
    for other in (nothing, (*nothing, []), (X[700:], y[700:], zeros)):
        for chunks in ([part, other], [other, part]):
            np.testing.assert_array_equal(fitted(partial(iter, chunks), epochs=3), expected)
    # And the stream goes on.
    model = LinearPegasosSVC(lam=0.1, random_state=0)
    coef = model.partial_fit(*part, classes=[-1, 1]).coef_
    model.partial_fit(X[700:], y[700:], sample_weight=zeros)
    np.testing.assert_array_equal(model.coef_, coef)


# The problem is that of fit


def test_several_classes_in_chunks_and_a_second_fit_that_begins_anew(text):
    X, _ = text
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3].toarray(), axis=1)]
    model, chunks = LinearPegasosSVC(lam=2e-3, epochs=20, random_state=0), ArrayChunks(X, y)
    chunks.chunk_size = 300
    first = fit_chunks(model, chunks, classes=["a", "b", "c"]).coef_
    assert first.shape == (3, 200)
    reference = clone(model).fit(X, y)
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.97
    again = fit_chunks(model, chunks, classes=["a", "b", "c"])
    np.testing.assert_array_equal(again.coef_, first)
    steps = model.n_steps_
    np.testing.assert_array_equal(model.partial_fit(X, y).n_steps_, np.multiply(steps, 21 / 20))


# Memory

PROGRAM = """
import re, sys
import numpy as np
from kpegasos import LinearPegasosSVC
from kpegasos.large import ArrayChunks, fit_chunks

folder, n_samples = sys.argv[1], int(sys.argv[2])
X = np.lib.format.open_memmap(f"{folder}/X{n_samples}.npy", "r")
y = np.arange(n_samples) % 2
model, held = LinearPegasosSVC(lam=1e-3, epochs=2, random_state=0), []

class Watched(ArrayChunks):
    def __getitem__(self, number):
        own = re.search(r"RssAnon:\\s*(\\d+) kB", open("/proc/self/status").read())
        held.append(int(own[1]))
        return super().__getitem__(number)

fit_chunks(model, Watched(X, y, chunk_size=5000), classes=[0, 1])
assert model.n_steps_ == 2 * n_samples
print(max(held))
"""


# Pages of the mapped file are the system's, which takes them back as it needs them.
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads sizes from /proc")
def test_peak_memory_does_not_grow_with_the_data(tmp_path):
    peaks = {}
    for n_samples in (50_000, 200_000):
        path = tmp_path / f"X{n_samples}.npy"
        X = np.lib.format.open_memmap(path, "w+", np.float32, (n_samples, 200))
        for begin in range(0, n_samples, 5000):
            X[begin : begin + 5000] = np.random.default_rng(begin).random((5000, 200), np.float32)
        del X
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(n_samples)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[n_samples] = int(done.stdout) / 1024
        path.unlink()
    # The arrays are 38 and 153 MiB, a chunk is 4.
    assert peaks[200_000] - peaks[50_000] < 12


def test_array_chunks_are_a_sequence():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    chunks = ArrayChunks(X, y, chunk_size=3)
    np.testing.assert_array_equal(chunks[-1][1], [9])
    with pytest.raises(IndexError):
        chunks[4]
    with pytest.raises(ValueError, match="chunk_size must be a positive integer"):
        ArrayChunks(X, y, chunk_size=0)


# --- chunks that are nonsense, or change, are refused in a sentence; what fit takes is not --------


def test_chunks_that_change_between_readings_are_refused(text):
    X, y = text
    parts = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 1000, 300)]
    model = LinearPegasosSVC(lam=0.1, epochs=2, random_state=0)
    readings, once = iter([parts, parts[:-1]]), iter(parts)
    with pytest.raises(ValueError, match="got 1000 examples first and 900 in epoch 2"):
        fit_chunks(model, lambda: iter(next(readings)), classes=[-1, 1])
    assert model.n_steps_ == 1900
    assert model.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="got 1000 examples first and 0 in epoch 2"):
        fit_chunks(model, lambda: once, classes=[-1, 1])
    assert model.n_steps_ == 1000


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
