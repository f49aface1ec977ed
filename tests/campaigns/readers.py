"""A file that is read gives consistent data or one clear sentence, whatever is in it.

Valid files of each format are mutated: bits flip, pieces are cut out, doubled or put in, text is
encoded anew, lines are replaced by near misses of the grammar, archives are damaged or have the
suffix of another. What is read must have the shapes and types that are documented and be finite;
anything else must be one sentence that names the file, and nothing may be left behind.
"""

from __future__ import annotations

import io
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from kpegasos import PegasosSVC, load, save
from kpegasos.datasets import (
    SvmlightChunks,
    iter_svmlight,
    load_adult,
    load_covtype,
    load_rcv1_sample,
    load_svmlight,
    load_usps,
    read_table,
    write_table,
)
from kpegasos.datasets.files import parse_idx
from kpegasos.utils import files
from tests.campaigns._broken_files import BOUND, COMPRESS, broken, compressed

CI_TRIALS = 100

#: Leftovers of Python, numpy and scikit-learn, which are no sentence of this package.
_LEFTOVERS = (
    *(
        "Traceback",
        "to unpack",
        "object is",
        "invalid literal for",
        "could not convert string to float: b",
    ),
    *("buffer is", "broadcast", "ufunc", "argument", "Invalid index", "OverflowError", "usecols"),
)


# --- what is written ---


def _svmlight(rng: np.random.Generator, separator: str = "") -> bytes:
    lines = []
    for _ in range(rng.integers(1, 12)):
        columns = np.flatnonzero(rng.random(9) < 0.4) + 1
        entries = " ".join(f"{column}:{rng.normal():.4g}" for column in columns)
        lines.append(f"{rng.choice([-1, 1])} {separator}{entries}")
    return ("\n".join(lines) + "\n").encode()


def _table(rng: np.random.Generator) -> bytes:
    head = "a,b,c\n" if rng.random() < 0.5 else ""
    rows = [f"{rng.normal():.3g},{rng.integers(9)},{rng.integers(1, 8)}\n" for _ in range(12)]
    return (head + "".join(rows)).encode()


def _npz(rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    X, y = rng.uniform(-1, 1, (3, 256)), rng.integers(0, 10, 3)
    save = np.savez if rng.random() < 0.5 else np.savez_compressed
    kinds: list[Any] = [np.float32, np.float64, np.int8, "U3", object, complex]
    kind = kinds[rng.choice(6, p=[0.8, 0.04, 0.04, 0.04, 0.04, 0.04])]
    save(file, X_train=X.astype(kind), y_train=y, X_test=X, y_test=y.astype(np.float32))
    return file.getvalue()


def _idx(rng: np.random.Generator) -> bytes:
    shape = rng.integers(0, 5, rng.integers(1, 4))
    head = bytes([0, 0, 8, shape.size]) + shape.astype(">u4").tobytes()
    return head + rng.bytes(int(shape.prod()))


def _model(rng: np.random.Generator) -> bytes:
    """A model in LIBSVM's format."""
    k = int(rng.integers(2, 5))
    counts = rng.integers(0, 3, k)
    kernel = rng.choice(["linear", "rbf\ngamma 0.5", "polynomial\ndegree 2\ngamma 1\ncoef0 0"])
    lines = [
        *(f"svm_type c_svc\nkernel_type {kernel}\nnr_class {k}\ntotal_sv {counts.sum()}",),
        f"rho {' '.join(f'{each:.3g}' for each in rng.normal(size=k * (k - 1) // 2))}",
        f"label {' '.join(map(str, rng.permutation(k)))}",
        f"nr_sv {' '.join(map(str, counts))}\nSV",
    ]
    for _ in range(counts.sum()):
        columns = np.flatnonzero(rng.random(5) < 0.5) + 1
        words = [f"{each:.3g}" for each in rng.normal(size=k - 1)]
        lines.append(" ".join([*words, *(f"{column}:{rng.normal():.4g}" for column in columns)]))
    return ("\n".join(lines) + "\n").encode()


# --- what must come of it ---


def _check_rows(X: Any, y: np.ndarray, n_features: int | None) -> None:
    assert sparse.issparse(X)
    assert X.dtype == np.float32
    assert X.shape[0] == y.shape[0]
    assert y.dtype in (np.int64, np.float64)
    assert n_features is None or X.shape[1] == n_features
    assert np.isfinite(X.data).all()
    assert np.isfinite(y).all()
    assert X.nnz == 0 or 0 <= X.indices.min() <= X.indices.max() < X.shape[1]
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        assert (np.diff(X.indices[begin:end]) > 0).all()


def _read_svmlight(path: Path, rng: np.random.Generator) -> int:
    """Rows of a file, read in three ways that must agree."""
    n_features = [None, 9, 12][rng.integers(3)]
    if n_features is None or rng.random() < 0.3:
        X, y = load_svmlight(path, n_features=n_features)
        _check_rows(X, y, n_features)
        return y.size
    if rng.random() < 0.5:
        size = int(rng.integers(1, 5))
        parts = list(iter_svmlight(path, n_features=n_features, chunk_size=size))
        assert all(y.size == size for _, y in parts[:-1])
    else:
        chunk_mb = float(rng.integers(1, 100)) / 2**20
        parts = list(SvmlightChunks(path, n_features=n_features, chunk_mb=chunk_mb))
    for X, y in parts:
        _check_rows(X, y, n_features)
    whole = load_svmlight(path, n_features=n_features)[1]
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts] or [[]]), whole)
    return whole.size


def _check_set(data: Any, n_features: int | None) -> int:
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        assert X.dtype == np.float32
        assert X.shape[0] == y.shape[0]
        assert n_features is None or X.shape[1] == n_features
        assert np.isfinite(X.data if sparse.issparse(X) else X).all()
        assert np.isfinite(y).all()
    return data.y_train.size + data.y_test.size


def _svmlight_file(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    suffix = str(rng.choice(list(COMPRESS)))
    content = compressed(rng, broken(rng, _svmlight(rng), text=True), suffix)
    path = folder / f"file{suffix.upper() if rng.random() < 0.3 else suffix}"
    path.write_bytes(content)
    return partial(_read_svmlight, path, rng)


def _set_of_files(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    kind = rng.integers(4)
    if kind == 0:
        files, load, n_features = ["adult/a9a", "adult/a9a.t"], load_adult, 123
        contents = [_svmlight(rng), _svmlight(rng)]
    elif kind == 1:
        files = ["rcv1-sample/rcv1_small.dat", "rcv1-sample/rcv1_small_test.data"]
        load, n_features = load_rcv1_sample, 47_236
        contents = [_svmlight(rng, "|f "), _svmlight(rng, "|f ")]
    elif kind == 2:
        files, load, n_features = ["usps/usps.npz"], load_usps, 256
        contents = [_npz(rng)]
    else:
        files, load, n_features = ["covtype/covtype.csv.gz"], load_covtype, None
        contents = [_table(rng)]
    attacked = rng.integers(len(files))
    contents[attacked] = broken(rng, contents[attacked], text=kind != 2)
    for file, content in zip(files, contents, strict=True):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(compressed(rng, content, ".gz") if kind == 3 else content)
    return lambda: _check_set(load(), n_features)


def _model_file(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    path = folder / "file.model"
    path.write_bytes(broken(rng, _model(rng), text=True))

    def read() -> int:
        model = PegasosSVC.from_libsvm(path, n_features=[None, 9][rng.integers(2)])
        n_classes, n_vectors = model.classes_.size, model.n_support_.sum()
        assert (np.diff(model.classes_) > 0).all()
        assert model.dual_coef_.shape == (n_classes - 1, n_vectors)
        assert model.intercept_.shape == (n_classes * (n_classes - 1) // 2,)
        arrays = [model.dual_coef_, model.intercept_]
        if model.kernel == "precomputed":
            assert model.support_.shape == (n_vectors,)
        else:
            vectors = model.support_vectors_
            assert vectors.shape == (n_vectors, model.n_features_in_)
            arrays.append(vectors.data if sparse.issparse(vectors) else vectors)
        assert all(np.isfinite(each).all() for each in arrays)
        return int(n_vectors)

    return read


@cache
def _stored() -> bytes:
    """A model as `save` writes it."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    with tempfile.TemporaryDirectory() as folder:
        save(PegasosSVC(epochs=1, random_state=0).fit(X, X[:, 0] > 0), f"{folder}/model")
        return Path(folder, "model").read_bytes()


def _own_file(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    """A model of the package's own: bytes of the archive, or words of its schema, are wrong."""
    path, content = folder / "file.skops", _stored()
    if rng.random() < 0.5:
        path.write_bytes(broken(rng, content, text=False))
    else:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
            attacked = rng.choice(old.namelist())
            for name in old.namelist():
                part = old.read(name)
                text = name.endswith(".json")
                new.writestr(name, broken(rng, part, text) if name == attacked else part)

    def read() -> int:
        model = load(path)
        assert type(model).__module__.partition(".")[0] in _TRUSTED_PACKAGES, type(model)
        return 1

    return read


def _idx_content(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    content = broken(rng, _idx(rng), text=False)

    def read() -> int:
        array = parse_idx(content)
        assert array.dtype == np.uint8
        assert array.size <= len(content)
        return array.size

    return read


_FORMATS = ("csv", "tsv", "npz", "npy", *(("parquet", "arrow") if find_spec("pyarrow") else ()))


def _table_file(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    """A table, with or without names, labels and missing values, told by its name or content."""
    format = str(rng.choice(_FORMATS))
    is_text = format in ("csv", "tsv")
    X = rng.normal(size=(rng.integers(1, 9), rng.integers(1, 5))).astype(
        rng.choice([np.float32, np.float64])
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    kinds = [None, rng.integers(0, 3, len(X)), X[:, 0] * 0 + 0.5, np.full(len(X), "a b")]
    y: Any = kinds[rng.integers(3 if format == "npy" else 4)]
    y = None if y is None or (y.dtype.kind == "f" and np.isnan(y).any()) else y
    path = folder / f"table{rng.choice(['', f'.{format}'])}"
    write_table(path, X, y, format=format)
    content = path.read_bytes()
    if is_text and rng.random() < 0.3:
        content = content.partition(b"\n")[2]
    content = broken(rng, content, is_text)
    suffix = str(rng.choice(list(COMPRESS))) if is_text else ""
    path.unlink()
    path = path.with_name(path.name + suffix)
    path.write_bytes(compressed(rng, content, suffix))
    labels: list[Any] = ["auto", None, "last", "first", 1, -1, "label", "x0"]
    options: dict[str, Any] = {
        "format": format if rng.random() < 0.3 else None,
        "label": labels[rng.choice(8, p=[0.6, *[0.4 / 7] * 7])],
        "header": [None, True, False][rng.choice(3, p=[0.8, 0.1, 0.1])],
        "dtype": [None, np.float32, np.float64][rng.integers(3)],
    }

    def read() -> int:
        table = read_table(path, **options)
        _check_table(table, options["dtype"])
        return int(table.X.shape[0])

    return read


def _check_table(table: Any, dtype: Any) -> None:
    X, y, names = table.X, table.y, table.feature_names
    assert X.ndim == 2
    assert X.shape[0] > 0
    assert X.shape[1] > 0
    assert X.dtype in ([np.float32, np.float64] if dtype is None else [dtype])
    assert y is None or (y.shape == X.shape[:1] and y.dtype.kind in "ifU")
    assert names is None or (len(names) == X.shape[1] and len(set(names)) == len(names))
    if table.format in ("csv", "tsv", "svmlight"):
        assert not np.isinf(X.data if sparse.issparse(X) else X).any()
    if table.format == "csv" and y is not None and y.dtype.kind == "f":
        assert np.isfinite(y).all()


#: Where types come from that a model may be of; others are refused.
_TRUSTED_PACKAGES = ("kpegasos", "sklearn", "numpy", "scipy", "builtins")
#: Attacks, and how often each comes.
_ATTACKS = {
    _svmlight_file: 0.25,
    _set_of_files: 0.15,
    _model_file: 0.15,
    _own_file: 0.15,
    _table_file: 0.25,
    _idx_content: 0.05,
}


def trial(rng: np.random.Generator) -> str:
    """Write a file, and read it."""
    attack = rng.choice(np.array(list(_ATTACKS)), p=list(_ATTACKS.values()))
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.dict(os.environ, {"KPEGASOS_DATA": place}),
        mock.patch.object(files, "_HARMLESS", BOUND),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        read = attack(rng, Path(place))
        written = _contents(place)
        try:
            outcome = "read" if read() else "read, without rows"
        except ValueError as error:
            outcome = "one clear sentence"
            _check_sentence(str(error), "" if attack is _idx_content else place)
        assert _contents(place) == written
    return outcome


def _contents(place: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}


def _check_sentence(message: str, place: str) -> None:
    assert place in message, message
    assert "\n" not in message, message
    assert len(message) < 400, message
    for word in _LEFTOVERS:
        assert word not in message, (word, message)
