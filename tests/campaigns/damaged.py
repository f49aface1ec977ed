"""A damaged model or matrix gives a result or one clear sentence; nothing crashes or floods.

Arrays within real model files and of sparse matrices of all formats are edited: values, shapes,
types, indices. Cases run in a process of their own, which goes on until one of them ends it. Models
that are edited in memory are those of `tests/estimators/test_persistence.py`, other bytes in files
those of `tests/datasets/test_readers.py` and `tests/exports`.
"""

import faulthandler
import io
import re
import resource
import tempfile
import traceback
import warnings
import zipfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import kpegasos
from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    fit_chunks,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
)
from tests.campaigns.harness import pick, some

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
#: Errors of an array that does not fit, in words of NumPy or Python.
_LEFTOVERS = ("broadcast", "index out", "out of bounds", "to unpack (", "no attribute", "numba")


@cache
def models():
    """Fitted models, what is in their files, and the rows that they predict."""
    quick = {"epochs": 2, "random_state": 0}
    search = {"Cs": 1, "gammas": 1, "cv": 2, "random_state": 0}
    fitted = [
        (PegasosSVC(**quick, warm_start=True).fit(X, Y), X),
        (PegasosSVC(**quick).fit(X, FOUR), X),
        (PegasosSVC(kernel="poly", **quick).fit(S, FOUR), S),
        (PegasosSVC(kernel="linear", **quick).fit(S, Y), S),
        (PegasosSVC(kernel="precomputed", **quick).fit(X @ X.T, FOUR), X @ X.T),
        (PegasosSVR(**quick).fit(S, X @ np.arange(6.0)), S),
        (LinearPegasosSVC(**quick, warm_start=True).fit(X, FOUR), X),
        (PegasosSVCCV(calibration="sigmoid", **search).fit(X, Y), X),
        (make_pipeline(SimpleImputer(), PegasosSVC(**quick)).fit(X, FOUR), X),
        (pegasos(make_problem(Y, C=1.0), make_rows(S, "rbf", gamma=1.0), n_steps=50), S),
    ]
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for model, rows in fitted:
            kpegasos.save(model, f"{folder}/model")
            made.append((model, Path(folder, "model").read_bytes(), rows))
    return made


# --- edits ---

_WILD = [-1, 0, 1, 7, 10**6, -(10**6), 2**31 - 1, -(2**31)]
_WILD_FLOATS = [*_WILD, 2**40, np.nan, np.inf, 1e300, -1e-300]
_EDITS = [
    lambda array: array[: len(array) // 2] if array.ndim else array[None],
    lambda array: np.concatenate([array, array]) if array.ndim else np.array([array, array]),
    lambda array: array.T.copy(),
    np.ravel,
    lambda array: array[None],
    lambda array: array[..., :2] if array.ndim else array,
    lambda array: np.asfortranarray(array)[::-1],
    lambda array: array.astype(array.dtype.newbyteorder()),
]
_TYPES = [np.float32, np.float64, np.int8, np.int32, np.uint64, bool, complex, object, "U", "S"]
#: Sparse formats, and the arrays that a matrix of them is made of.
_PARTS = {
    "csr": ["data", "indices", "indptr"],
    "csc": ["data", "indices", "indptr"],
    "bsr": ["data", "indices", "indptr"],
    "coo": ["data", "row", "col"],
    "dia": ["data", "offsets"],
    "lil": ["data", "rows"],
}


def edited(rng, array):
    """An array with other values, of another shape or another type."""
    array = np.array(array)
    how = rng.integers(3)
    try:
        with np.errstate(all="ignore"):
            if how == 0 and array.size:
                where = rng.random(array.size) < 0.3
                where[rng.integers(array.size)] = True
                wild = pick(rng, _WILD_FLOATS if array.dtype.kind == "f" else _WILD)
                array.reshape(-1)[where] = np.array(wild, array.dtype)
                return array
            return pick(rng, _EDITS)(array) if how == 1 else array.astype(pick(rng, _TYPES))
    except (TypeError, ValueError, OverflowError):  # of an edit that this array cannot have
        return array


def edited_sparse(rng, matrix):
    """A sparse matrix one of whose arrays, or whose shape, is another."""
    matrix = matrix.copy()
    if some(rng, 0.15):
        matrix._shape = pick(rng, [(10**5, 6), (40, 10**6), (40, 1), (1, 6), (0, 0), (40, 0)])
    else:
        name = pick(rng, _PARTS[matrix.format])
        setattr(matrix, name, edited(rng, getattr(matrix, name)))
    return matrix


# --- what is tried ---


def use(rng, model, rows):
    """Ask a model for what it knows, and look at the answers."""
    n = rows.shape[0]
    if hasattr(model, "decision_function"):
        decisions = model.decision_function(rows)
        assert len(decisions) == n
        assert np.isfinite(decisions).all()
    assert len(model.predict(rows)) == n
    if hasattr(model, "predict_proba"):
        assert len(model.predict_proba(rows)) == n
    if not hasattr(model, "to_libsvm"):
        return "used"
    how = pick(rng, ["to_libsvm", "to_sklearn", "go on", "save"])
    with tempfile.TemporaryDirectory() as folder:
        if how == "to_sklearn":
            model.to_sklearn()
        elif how == "save":
            kpegasos.save(model, f"{folder}/model")
        elif how != "go on":
            getattr(model, how)(f"{folder}/model")
        elif getattr(model, "_online", None) is not None:
            model.partial_fit(rows, FOUR)
        elif getattr(model, "warm_start", False):
            model.fit(rows, Y if isinstance(model, PegasosSVC) else FOUR)
    return f"used, {how}"


def stored(rng):
    """A file one of whose arrays is edited, or takes the place of another."""
    _, content, rows = pick(rng, models())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in parts if name.endswith((".npy", ".npz"))]
    one, other = rng.choice(arrays, 2)
    parts[one] = _member(rng, parts[one], one)
    if some(rng, 0.2):
        parts[one], parts[other] = parts[other], parts[one]
    if some(rng, 0.2):
        text = parts["schema.json"].decode()
        begin, end = pick(rng, [m.span() for m in re.finditer(r'"content": "?-?[0-9.e]+', text)])
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
        arrays = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
        # What `scipy.sparse.save_npz` writes, which looks at the matrix first.
        np.savez_compressed(file, format=b"csr", shape=matrix.shape, _is_array=True, **arrays)
    elif some(rng, 0.05):
        np.save(file, np.zeros(2**24))
    elif some(rng, 0.05):
        head = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(file, head)
    else:
        np.save(file, edited(rng, np.load(io.BytesIO(content), allow_pickle=False)))
    return file.getvalue()


def rows_of_others(rng):
    """Sparse rows of any format whose arrays contradict each other."""
    right = sparse.csr_array(S) if some(rng, 0.5) else S
    right = right.astype(pick(rng, [np.float32, float, int])).asformat(pick(rng, _PARTS))
    wrong = edited_sparse(rng, right)
    of_sparse = [each for each in models() if sparse.issparse(each[2])]
    how = pick(
        rng,
        [
            lambda: PegasosSVC(epochs=1).fit(wrong, Y),
            lambda: pick(rng, of_sparse)[0].predict(wrong),
            lambda: LinearPegasosSVC().partial_fit(wrong, Y, [0, 1]),
            lambda: fit_chunks(LinearPegasosSVC(epochs=1), [(wrong, Y)]),
            lambda: make_rows(wrong, "rbf", gamma=1.0),
            lambda: linear_rows(wrong),
            lambda: kpegasos.RBF(1.0).block(wrong, S),
        ],
    )
    how()
    return "accepted"


# --- the process ---


def attempt(seed):
    """Try the case of a seed in time; returns its outcome."""
    rng = np.random.default_rng(seed)
    case = pick(rng, [stored, stored, rows_of_others])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)
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
    except BaseException:  # whatever comes out has to get to the other process
        raise AssertionError(traceback.format_exc()) from None
    finally:
        faulthandler.cancel_dump_traceback_later()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    assert grown <= MOST_MB, f"{grown} MiB"
    return f"{case.__name__.replace('_', ' ')}: {outcome}"


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


_process = cache(partial(ProcessPoolExecutor, 1, get_context("spawn"), _begin))


def trial(rng):
    """Have a case of this generator tried elsewhere."""
    try:
        return _process().submit(attempt, int(rng.integers(2**62))).result()
    except BrokenProcessPool:
        _process.cache_clear()  # what it ended in stands in its stderr
        raise
