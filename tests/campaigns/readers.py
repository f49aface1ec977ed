"""A file that is read gives consistent data or one clear sentence, whatever is in it.

Valid files of each format are mutated: bits flip, pieces are cut out, doubled or put in, text is
encoded anew, lines are replaced by near misses of the grammar, archives are damaged or have the
suffix of another. What is read must have the shapes and types that are documented and be finite;
anything else must be one sentence that names the file, and nothing may be left behind.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from kpegasos import PegasosSVC, load, save
from kpegasos.datasets import (
    SvmlightChunks,
    _files,
    iter_svmlight,
    load_adult,
    load_covtype,
    load_rcv1_sample,
    load_svmlight,
    load_usps,
)

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
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
}
_TOKENS = (
    *("nan", "-inf", "1e39", "1e400", "-1e-400", "1_0", "0x10", "1,2", "+1", "--1", "", ".", "é"),
    *("0:1", "-1:1", "3", "3:", ":3", "3:4:5", "2147483648:1", f"{2**63}:1", f"{10**40}:1", "7:1"),
    *("qid:1", "qid", "qid:x 1:1", "1:nan", "1:1e39", "# n", "#", "\0", "\t", "\r", "\v", "1 1:1"),
    "qid:nan 1:1",
    *("|f", "1:1 1:1", "2:1 1:1", "infinity", "9" * 5000, "1.5:1", "1:0x1p3", "٣:1"),
)
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")


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


# --- what becomes of it ---


def _mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """A few bytes wrong."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        begin, end = sorted(rng.integers(0, len(data) + 1, 2))
        kind = rng.integers(6)
        if kind == 0 and data:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[begin:]
        elif kind == 2:
            del data[begin : min(end, begin + 9)]
        elif kind == 3:
            data[begin:begin] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            data[begin:begin] = data[begin:end]
        else:
            data[begin:begin] = bytes([rng.choice(list(b"\n\r\0 ,:#-.e9\xff"))])
    return bytes(data)


def _near_miss(rng: np.random.Generator, content: bytes) -> bytes:
    """A word replaced, put in or left out, as a careless program would."""
    separator = b"," if content.count(b",") > 5 else b" "
    lines = content.split(b"\n")
    for _ in range(rng.integers(1, 3)):
        line = rng.integers(len(lines))
        words = lines[line].split(separator)
        at = rng.integers(len(words) + 1)
        words[at : at + rng.integers(2)] = [str(rng.choice(_TOKENS)).encode()]
        lines[line] = separator.join(words)
    return b"\n".join(lines)


def _encoded(rng: np.random.Generator, content: bytes) -> bytes:
    return content.decode("latin-1").encode(str(rng.choice(_ENCODINGS)), "replace")


def _attacked(rng: np.random.Generator, content: bytes, text: bool) -> bytes:
    kind = rng.integers(8)
    if kind == 0:
        return content
    if kind == 1 and text:
        return _encoded(rng, content)
    if kind <= 4 and text:
        return _near_miss(rng, content)
    if kind == 5:
        special = (b"", b"\n", b"# nothing\n", b"\0" * 40, rng.bytes(60), b"1", b"PK\x03\x04" * 9)
        return special[rng.integers(len(special))]
    return _mutated(rng, content)


def _packed(rng: np.random.Generator, content: bytes, suffix: str) -> bytes:
    """The file of a suffix: now and then of another compression, damaged, or a bomb."""
    kind = rng.integers(12)
    if kind == 0:
        suffix = str(rng.choice(list(_COMPRESS)))
    if kind == 1 and suffix:
        return _COMPRESS[suffix](rng.choice([b"\n", b"1", b"\0"]) * (_BOUND + 1))
    packed = _COMPRESS[suffix](content)
    return _mutated(rng, packed) if kind == 2 and suffix else packed


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
    suffix = str(rng.choice(list(_COMPRESS)))
    content = _packed(rng, _attacked(rng, _svmlight(rng), text=True), suffix)
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
    contents[attacked] = _attacked(rng, contents[attacked], text=kind != 2)
    for file, content in zip(files, contents, strict=True):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(_packed(rng, content, ".gz") if kind == 3 else content)
    return lambda: _check_set(load(), n_features)


def _model_file(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    path = folder / "file.model"
    path.write_bytes(_attacked(rng, _model(rng), text=True))

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
        path.write_bytes(_attacked(rng, content, text=False))
    else:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
            attacked = rng.choice(old.namelist())
            for name in old.namelist():
                part = old.read(name)
                text = name.endswith(".json")
                new.writestr(name, _attacked(rng, part, text) if name == attacked else part)

    def read() -> int:
        model = load(path)
        assert type(model).__module__.partition(".")[0] in _TRUSTED_PACKAGES, type(model)
        return 1

    return read


def _idx_content(rng: np.random.Generator, folder: Path) -> Callable[[], int]:
    content = _attacked(rng, _idx(rng), text=False)

    def read() -> int:
        array = _files.parse_idx(content)
        assert array.dtype == np.uint8
        assert array.size <= len(content)
        return array.size

    return read


#: Where types come from that a model may be of; others are refused.
_TRUSTED_PACKAGES = ("kpegasos", "sklearn", "numpy", "scipy", "builtins")
#: Bytes that a compressed file may hold here.
_BOUND = 2**17
_ATTACKS = (_svmlight_file, _set_of_files, _model_file, _own_file, _idx_content)


def trial(rng: np.random.Generator) -> str:
    """Write a file, and read it."""
    attack = _ATTACKS[rng.choice(5, p=[0.4, 0.25, 0.2, 0.1, 0.05])]
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.dict(os.environ, {"KPEGASOS_DATA": place}),
        mock.patch.object(_files, "_HARMLESS", _BOUND),
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
