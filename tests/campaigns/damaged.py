"""A damaged model or matrix gives a result or one clear sentence; nothing crashes or floods.

Arrays within real model files and of sparse matrices are edited: values, shapes, types, indices. A
case that ends the process ends the campaign. What single edits are told by is in
`tests/exports/test_native.py` and `tests/utils/test_matrices.py`.
"""

import io
import resource
import tempfile
import warnings
import zipfile
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import sparse

import kpegasos
from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVR, linear_rows, make_rows
from tests.campaigns.harness import check, pick, some

CI_TRIALS = 60
#: MiB that a case may take at most, of data that have some hundred numbers.
MOST_MB = 800
RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(40, 6)))
X[X < 0.6] = 0.0
S, Y = sparse.csr_matrix(X), np.arange(40) % 4


@cache
def models():
    """What is in files of fitted models, and the rows that they predict."""
    quick = {"epochs": 2, "random_state": 0}
    fitted = [
        (PegasosSVC(**quick, warm_start=True).fit(X, Y), X),
        (PegasosSVC(kernel="poly", **quick).fit(S, Y), S),
        (PegasosSVC(kernel="precomputed", **quick).fit(X @ X.T, Y), X @ X.T),
        (PegasosSVR(**quick).fit(S, X @ np.arange(6.0)), S),
        (LinearPegasosSVC(**quick, warm_start=True).fit(X, Y), X),
    ]
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for model, rows in fitted:
            kpegasos.save(model, f"{folder}/model")
            made.append((Path(folder, "model").read_bytes(), rows))
    return made


_WILD = [-1, 0, 1, 7, 10**6, -(10**6), 2**31 - 1, -(2**31)]
_WILD_FLOATS = [*_WILD, 2**40, np.nan, np.inf, 1e300, -1e-300]
_EDITS = [
    lambda array: array[: len(array) // 2] if array.ndim else array[None],
    lambda array: array.T.copy(),
    np.ravel,
    lambda array: np.zeros(2**27, np.int8),  # of which little is left in a file
    lambda array: array[..., :2] if array.ndim else array,
    *(partial(np.ndarray.astype, dtype=kind) for kind in (np.float32, np.int8, complex, "U")),
]


def edited(rng, array):
    """An array with other values, of another shape or another type."""
    array = np.array(array)
    try:
        with np.errstate(all="ignore"):
            if some(rng, 0.6) or not array.size:
                return pick(rng, _EDITS)(array)
            where = rng.random(array.size) < 0.3
            wild = pick(rng, _WILD_FLOATS if array.dtype.kind == "f" else _WILD)
            array.reshape(-1)[where] = np.array(wild, array.dtype)
            return array
    except (TypeError, ValueError, OverflowError):  # of an edit that this array cannot have
        return array


def edited_sparse(rng, matrix):
    matrix, name = matrix.copy(), pick(rng, ["data", "indices", "indptr"])
    setattr(matrix, name, edited(rng, getattr(matrix, name)))
    return matrix


def stored(rng):
    """A file one of whose arrays is edited, and the model in it."""
    content, rows = pick(rng, models())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = pick(rng, [name for name in parts if name.endswith((".npy", ".npz"))])
    file = io.BytesIO()
    if name.endswith(".npz"):
        matrix = edited_sparse(rng, sparse.load_npz(io.BytesIO(parts[name])))
        arrays = {each: getattr(matrix, each) for each in ("data", "indices", "indptr")}
        # What `scipy.sparse.save_npz` writes, which looks at the matrix first.
        np.savez_compressed(file, format=b"csr", shape=matrix.shape, _is_array=True, **arrays)
    else:
        np.save(file, edited(rng, np.load(io.BytesIO(parts[name]), allow_pickle=False)))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "file.skops")
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
            for each, part in (parts | {name: file.getvalue()}).items():
                archive.writestr(each, part)
        model = kpegasos.load(place)
        assert len(model.predict(rows)) == rows.shape[0]
        if pick(rng, [True, False]):
            model.to_libsvm(f"{folder}/model")
        elif getattr(model, "warm_start", False):
            model.fit(rows, Y)


def rows_of_others(rng):
    """Sparse rows whose arrays contradict each other."""
    right = S.astype(pick(rng, [np.float32, float, int])).asformat(pick(rng, ["csr", "csc"]))
    wrong = edited_sparse(rng, right)
    uses = [
        lambda: PegasosSVC(epochs=1).fit(wrong, Y),
        lambda: LinearPegasosSVC().partial_fit(wrong, Y, range(4)),
        lambda: make_rows(wrong, "rbf", gamma=1.0),
        lambda: linear_rows(wrong),
        lambda: kpegasos.RBF(1.0).block(wrong, S),
    ]
    pick(rng, uses)()


def trial(rng):
    """Use what is damaged, and look at the memory that it takes."""
    case = pick(rng, [stored, rows_of_others])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(rng)
    except (ValueError, TypeError) as error:
        check("\n" not in str(error).strip(), "one sentence", said=error)
        return f"{case.__name__}: one clear sentence"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    check(grown <= MOST_MB, "little memory is taken", grown=grown)
    return f"{case.__name__}: used"
