"""A damaged file, model or matrix gives a result or one clear sentence; nothing crashes or floods.

Arrays within real model files, of fitted models in memory and of sparse matrices of all formats are
edited: values, shapes, types, indices. Files of every format have wrong bytes, words, encodings and
compression. Cases run in a process of their own, which goes on until one of them ends it.
"""

import bz2
import faulthandler
import gzip
import io
import lzma
import pickle
import re
import resource
import tempfile
import traceback
import warnings
import zipfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import kpegasos
from kpegasos import (
    ArrayChunks,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    fit_chunks,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.datasets import Table, load_svmlight, read_table, write_svmlight, write_table
from kpegasos.datasets.files import parse_idx
from tests.campaigns.harness import pick

CI_TRIALS = 60
#: Seconds for a case, of which most take some hundredths; some compile.
TIME_LIMIT = 90
#: Seconds in which all models are fitted.
START_LIMIT = 600
#: MiB that a case may take at most, of data that have some thousand numbers.
MOST_MB = 800
RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(40, 6)))
X[X < 0.6] = 0.0
S = sparse.csr_matrix(X)
Y, FOUR = (X[:, 0] > X[:, 1]).astype(int), np.arange(40) % 4
NUMBERS = X @ np.arange(6.0)
#: Errors of an array that does not fit, in words of NumPy or Python.
_LEFTOVERS = ("broadcast", "index out", "out of bounds", "to unpack (", "no attribute", "numba")


@cache
def models():
    """Fitted models as pickles and as files, with the rows that they predict, by name."""
    quick = {"epochs": 2, "random_state": 0}
    problem = make_problem(Y, C=1.0)
    fitted = {
        "rbf": (PegasosSVC(**quick, warm_start=True).fit(X, Y), X),
        "four": (PegasosSVC(**quick).fit(X, FOUR), X),
        "sparse": (PegasosSVC(**quick).fit(S, FOUR), S),
        "poly, sparse": (PegasosSVC(kernel="poly", **quick).fit(S, Y), S),
        "linear kernel": (PegasosSVC(kernel="linear", **quick).fit(S, Y), S),
        "given": (PegasosSVC(kernel="precomputed", **quick).fit(X @ X.T, FOUR), X @ X.T),
        "logistic": (PegasosSVC(loss="log_loss", **quick).fit(X, FOUR), X),
        "regression": (PegasosSVR(**quick).fit(S, NUMBERS), S),
        "primal": (LinearPegasosSVC(**quick, warm_start=True).fit(X, FOUR), X),
        "stream": (LinearPegasosSVC(random_state=0).partial_fit(X, FOUR, np.arange(4)), X),
        "primal regression": (LinearPegasosSVR(**quick).fit(S, NUMBERS), S),
        "search": (PegasosSVCCV(Cs=2, gammas=1, cv=2, random_state=0).fit(S, FOUR), S),
        "calibrated": (
            PegasosSVCCV(Cs=1, gammas=1, cv=2, calibration="sigmoid", random_state=0).fit(X, Y),
            X,
        ),
        "pipeline": (make_pipeline(SimpleImputer(), PegasosSVC(**quick)).fit(X, FOUR), X),
        "result": (pegasos(problem, make_rows(S, "rbf", gamma=1.0), n_steps=50), S),
        "primal result": (pegasos(problem, linear_rows(S), n_steps=50), S),
        "given result": (pegasos(problem, make_rows(X @ X.T, "precomputed"), n_steps=50), X @ X.T),
    }
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, rows) in fitted.items():
            kpegasos.save(model, f"{folder}/model")
            made[name] = pickle.dumps(model), Path(folder, "model").read_bytes(), rows
    return made


# --- edits ---


def edited(rng, array):
    """An array with other values, of another shape or another type."""
    array = np.array(array)
    flat = array.reshape(-1)
    kind = rng.integers(12)
    if kind < 4 and array.size and array.dtype.kind in "iuf":
        wild = [-1, 0, 1, 7, 10**6, -(10**6), 2**31 - 1, -(2**31), 2**40]
        wild += [np.nan, np.inf, 1e300, -1e-300] if array.dtype.kind == "f" else []
        with np.errstate(all="ignore"):
            where = rng.random(array.size) < 0.3
            where[rng.integers(array.size)] = True
            flat[where] = np.array(pick(rng, wild)).astype(array.dtype)
        return array
    shapes = [
        lambda: array[: rng.integers(0, len(array) + 1)] if array.ndim else array[None],
        lambda: np.concatenate([array, array]) if array.ndim else np.array([array, array]),
        lambda: array.T.copy(),
        lambda: flat.copy(),
        lambda: array[None],
        lambda: array[..., : rng.integers(0, 3)] if array.ndim else array,
        lambda: np.asfortranarray(array)[::-1],
    ]
    types = [np.float32, np.float64, np.int8, np.int32, np.uint64, bool, complex, object, "U", "S"]
    if kind < 8:
        return pick(rng, shapes)()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == 8:
                return array.astype(array.dtype.newbyteorder())
            return array.astype(pick(rng, types))
        except (TypeError, ValueError):
            return array


def edited_sparse(rng, matrix):
    """A sparse matrix one of whose arrays, or whose shape, is another."""
    matrix = matrix.copy()
    if rng.random() < 0.15:
        matrix._shape = pick(rng, [(10**5, 6), (40, 10**6), (40, 1), (1, 6), (0, 0), (40, 0)])
        return matrix
    names = {
        "csr": ["data", "indices", "indptr"],
        "csc": ["data", "indices", "indptr"],
        "bsr": ["data", "indices", "indptr"],
        "dia": ["data", "offsets"],
        "lil": ["data", "rows"],
    }.get(matrix.format, [])
    if matrix.format == "coo":
        which = rng.integers(3)
        if which == 2:
            matrix.data = edited(rng, matrix.data)
        else:
            parts = list(matrix.coords)
            parts[which] = edited(rng, parts[which])
            matrix.coords = tuple(parts)
    elif matrix.format == "dok":
        matrix._dict[pick(rng, [(-1, 0), (10**6, 2), (3, 10**6), (2, -9)])] = 1.0
    elif matrix.format == "lil" and rng.random() < 0.7:
        row = pick(rng, [[-1], [10**6], [2**31], ["a"], [1, 1, 1], [1.5]])
        matrix.rows[rng.integers(len(matrix.rows))] = row
    else:
        name = pick(rng, names)
        setattr(matrix, name, edited(rng, getattr(matrix, name)))
    return matrix


# --- what is tried ---


def use(rng, model, rows):
    """Ask a model for what it knows, and look at the answers."""
    n = rows.shape[0]
    decisions = model.decision_function(rows) if hasattr(model, "decision_function") else None
    assert decisions is None or (len(decisions) == n and np.isfinite(decisions).all())
    predicted = model.predict(rows)
    assert predicted.shape[0] == n, predicted.shape
    if hasattr(model, "predict_proba"):
        assert len(model.predict_proba(rows)) == n
    if not hasattr(model, "to_libsvm"):
        return "used"
    with tempfile.TemporaryDirectory() as folder:
        how = pick(rng, ["to_libsvm", "to_onnx", "to_sklearn", "go on", "save"])
        if how == "to_sklearn":
            model.to_sklearn()
        elif how == "save":
            kpegasos.save(model, f"{folder}/model")
        elif how != "go on":
            getattr(model, how)(f"{folder}/model")
        elif hasattr(model, "partial_fit") and getattr(model, "_online", None) is not None:
            model.partial_fit(rows, FOUR)
        elif getattr(model, "warm_start", False):
            model.fit(rows, Y if isinstance(model, PegasosSVC) else FOUR)
        else:
            return "used"
    return f"used, {how}"


def stored(rng):
    """A file one of whose arrays is edited, or takes the place of another."""
    _, content, rows = models()[pick(rng, models())]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in parts if name.endswith((".npy", ".npz"))]
    parts |= {name: _member(rng, parts[name], name) for name in rng.choice(arrays, 2)}
    if rng.random() < 0.2:
        one, other = rng.choice(arrays, 2)
        parts[one], parts[other] = parts[other], parts[one]
    if rng.random() < 0.2:
        text = parts["schema.json"].decode()
        places = [m.span() for m in re.finditer(r'"content": "?-?[0-9.e]+', text)]
        begin, end = pick(rng, places)
        number = pick(rng, ["-1", "0", "1e400", "99999999999", "null", "true", "3"])
        parts["schema.json"] = (text[:begin] + f'"content": "{number}' + text[end:]).encode()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "file.skops")
        with zipfile.ZipFile(place, "w", pick(rng, [0, zipfile.ZIP_DEFLATED])) as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
        model = kpegasos.load(place)
    return use(rng, model, rows)


def _member(rng, content, name):
    """The bytes of an edited array, of an edited matrix, or of too many zeros."""
    file = io.BytesIO()
    if name.endswith(".npz"):
        matrix = edited_sparse(rng, sparse.load_npz(io.BytesIO(content)))
        kind = matrix.format.encode("ascii")
        arrays = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
        if rng.random() < 0.05:
            arrays["data"] = np.zeros(2**24)
        # What `scipy.sparse.save_npz` writes, which looks at the matrix first.
        np.savez_compressed(
            file, format=np.array(kind), shape=np.array(matrix.shape), _is_array=True, **arrays
        )
    elif rng.random() < 0.05:
        np.save(file, np.zeros(2**24))
    elif rng.random() < 0.05:
        head = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(file, head)
    else:
        np.save(file, edited(rng, np.load(io.BytesIO(content), allow_pickle=False)))
    return file.getvalue()


def in_memory(rng):
    """A fitted model one of whose attributes is edited, before a first prediction or after it."""
    pickled, _, rows = models()[pick(rng, models())]
    model = pickle.loads(pickled)
    if rng.random() < 0.5:
        model.predict(rows)
    part = model[-1] if hasattr(model, "steps") else model
    part = getattr(part, "best_estimator_", part) if rng.random() < 0.7 else part
    part = part.decisions if hasattr(part, "decisions") else part
    trusted = [
        *("support_vectors_", "dual_coef_", "intercept_", "n_support_", "classes_", "support_"),
        *("coef_", "n_features_in_", "_terms", "_coef", "_w"),
    ]
    name = pick(rng, [each for each in trusted if each in vars(part)])
    value = getattr(part, name)
    if isinstance(value, tuple):  # vectors, members, coefficients
        which = pick(rng, [0, 2])
        new = edited_sparse(rng, value[0]) if which == 0 else edited(rng, value[2])
        value = (*value[:which], new, *value[which + 1 :])
    else:
        value = edited_sparse(rng, value) if sparse.issparse(value) else edited(rng, value)
    setattr(part, name, value)
    return use(rng, model, rows)


def rows_of_others(rng):
    """Sparse rows of any format whose arrays contradict each other."""
    format = pick(rng, ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
    kind = pick(rng, [sparse.csr_matrix, sparse.csr_array])
    wrong = edited_sparse(rng, kind(S.astype(pick(rng, [np.float32, float, int]))).asformat(format))
    with tempfile.TemporaryDirectory() as folder:
        uses = {
            "fit": lambda: PegasosSVC(epochs=1).fit(wrong, Y),
            "fit linear": lambda: LinearPegasosSVC(epochs=1).fit(wrong, Y),
            "predict": lambda: pickle.loads(models()["sparse"][0]).predict(wrong),
            "predict linear": lambda: pickle.loads(models()["primal"][0]).predict(wrong),
            "partial_fit": lambda: LinearPegasosSVC().partial_fit(wrong, Y, [0, 1]),
            "chunks": lambda: fit_chunks(
                LinearPegasosSVC(epochs=1), ArrayChunks(wrong, Y, chunk_size=15)
            ),
            "make_rows": lambda: make_rows(wrong, "rbf", gamma=1.0),
            "linear_rows": lambda: linear_rows(wrong),
            "block": lambda: kpegasos.RBF(1.0).block(wrong, S),
            "result": lambda: pickle.loads(models()["result"][0]).predict(wrong),
            "write_svmlight": lambda: write_svmlight(f"{folder}/rows", wrong, Y),
            "write_table": lambda: write_table(f"{folder}/rows.npz", wrong, Y),
        }
        how = pick(rng, uses)
        uses[how]()
    return how


# --- files ---

#: Words that a careless program would write.
_WORDS = (
    *("nan", "-inf", "1e39", "1e400", "-1e-400", "1_0", "0x10", "1,2", "+1", "--1", "", ".", "é"),
    *("0:1", "-1:1", "3", "3:", ":3", "3:4:5", "2147483648:1", f"{2**63}:1", f"{10**40}:1", "7:1"),
    *("qid:1", "qid", "qid:x 1:1", "1:nan", "1:1e39", "# n", "#", "\0", "\t", "\r", "\v", "1 1:1"),
    *("qid:nan 1:1", "|f", "1:1 1:1", "2:1 1:1", "infinity", "9" * 5000, "1.5:1", "1:0x1p3"),
)
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")
_SPECIAL = (b"", b"\n", b"# nothing\n", b"\0" * 40, b"1", b"PK\x03\x04" * 9)
_PACKED = {
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
}


@cache
def contents():
    """A file of each format by its name, and what reads it."""
    tables = ["rows.csv", "rows.tsv", "rows.npz", "rows.npy", "rows.parquet", "rows.arrow"]
    readers = {
        "rows.svm": load_svmlight,
        "libsvm.model": PegasosSVC.from_libsvm,
        "model.skops": kpegasos.load,
        "rows.idx": lambda path: parse_idx(path.read_bytes()),
        **dict.fromkeys(tables if find_spec("pyarrow") else tables[:4], read_table),
    }
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, reader in readers.items():
            path = Path(folder, name)
            if name in tables:
                write_table(path, X, None if name.endswith("npy") else Y)
            elif name == "rows.svm":
                write_svmlight(path, S, Y)
            elif name == "libsvm.model":
                pickle.loads(models()["sparse"][0]).to_libsvm(path)
            elif name == "model.skops":
                path.write_bytes(models()["four"][1])
            else:
                path.write_bytes(bytes([0, 0, 8, 2, 0, 0, 0, 4, 0, 0, 0, 5]) + bytes(20))
            made[name] = path.read_bytes(), reader
    return made


def broken(rng, content, is_text):
    """The bytes of a file, some of which are wrong most of the time."""
    kind = rng.integers(10)
    if kind > 7:
        return content if kind == 8 else pick(rng, _SPECIAL)
    if kind == 0 and is_text:
        return content.decode("latin-1").encode(pick(rng, _ENCODINGS), "replace")
    if kind <= 3 and is_text:  # a word replaced, put in or left out
        lines = content.split(b"\n")
        number = rng.integers(len(lines))
        separator = b"," if b"," in lines[number] else b" "
        words = lines[number].split(separator)
        at = rng.integers(len(words) + 1)
        words[at : at + rng.integers(2)] = [pick(rng, _WORDS).encode()]
        lines[number] = separator.join(words)
        return b"\n".join(lines)
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        begin, end = sorted(rng.integers(len(data) + 1, size=2))
        how = rng.integers(4)
        if how == 0 and data:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del data[begin : pick(rng, [len(data), min(end, begin + 9)])]
        else:
            data[begin:begin] = data[begin:end] if how == 2 else rng.bytes(int(rng.integers(1, 9)))
    return bytes(data)


def _check_read(found):
    """Rows and labels are of one length, and numbers finite; a table may lack some."""
    if isinstance(found, Table):
        assert min(found.X.shape) > 0
        assert found.y is None or found.y.shape == found.X.shape[:1]
    elif isinstance(found, tuple):
        X, y = found
        assert X.shape[0] == y.size
        assert np.isfinite(X.data).all()
        assert np.isfinite(y).all()
    elif isinstance(found, PegasosSVC):
        assert found.dual_coef_.shape == (found.classes_.size - 1, found.n_support_.sum())
        assert np.isfinite(found.dual_coef_).all()


def files(rng):
    """A file of any format in which something is wrong, or in its compression."""
    name = pick(rng, contents())
    content, reader = contents()[name]
    is_text = name.endswith(("svm", "csv", "tsv", ".model"))
    content, suffix = broken(rng, content, is_text), ""
    if is_text and name != "libsvm.model" and rng.random() < 0.4:
        suffix = pick(rng, _PACKED)
        content = _PACKED[pick(rng, _PACKED) if rng.random() < 0.1 else suffix](content)
        content = broken(rng, content, False) if rng.random() < 0.2 else content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name + suffix)
        path.write_bytes(content)
        found, said = None, ""
        try:
            found = reader(path)
        except ValueError as error:
            said = str(error)
        assert found is not None or name == "rows.idx" or str(path) in said, said
        assert len(said) < 400, said
        assert [*Path(folder).iterdir()] == [path]
        assert path.read_bytes() == content
    _check_read(found)
    return f"{name}: {'one clear sentence' if found is None else 'read'}"


CASES = {stored: 0.3, in_memory: 0.25, rows_of_others: 0.2, files: 0.25}


def attempt(seed):
    """Try the case of a seed in time; returns its outcome."""
    faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)
    try:
        return _attempt(np.random.default_rng(seed))
    except BaseException:  # whatever comes out has to get to the other process
        raise AssertionError(traceback.format_exc()) from None
    finally:
        faulthandler.cancel_dump_traceback_later()


def _attempt(rng):
    case = rng.choice(np.array(list(CASES)), p=list(CASES.values()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = case(rng)
    except (ValueError, TypeError) as error:
        text, outcome = str(error), "one clear sentence"
        assert "\n" not in text.strip(), text
        places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        own = not any("sklearn" in place for place in places[-2:])  # whose parts are its affair
        assert not (own and any(word in text for word in _LEFTOVERS)), text
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    assert grown <= MOST_MB, f"{grown} MiB"
    return f"{case.__name__.replace('_', ' ')}: {outcome}"


# --- the process ---


def _begin():
    """Fit the models, with whatever has to be compiled for them."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(START_LIMIT, exit=True)
    models()
    # What asks for all memory fails here, and ends no other process.
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = 6 * 2**30
    least = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (least, most))
    faulthandler.cancel_dump_traceback_later()


@cache
def _process():
    return ProcessPoolExecutor(1, get_context("spawn"), _begin)


def trial(rng):
    """Have a case of this generator tried elsewhere."""
    try:
        return _process().submit(attempt, int(rng.integers(2**62))).result()
    except BrokenProcessPool:
        _process.cache_clear()  # what it ended in stands in its stderr
        raise
