"""A file that is read gives consistent data or one clear sentence, whatever is in it.

Valid files of each format are mutated: bits flip, pieces are cut out, doubled or put in, text is
encoded anew, words are replaced by near misses of the grammar, archives are damaged or have the
suffix of another. What is read must have the shapes and types that are documented and be finite;
anything else must be one sentence that names the file, and nothing may be left behind.
"""

import bz2
import gzip
import lzma
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse

from kpegasos import PegasosSVC, load, save
from kpegasos.datasets import SvmlightChunks, iter_svmlight, load_svmlight, read_table, write_table
from kpegasos.datasets.files import parse_idx
from kpegasos.utils import files
from tests.campaigns.harness import pick, some

CI_TRIALS = 100

COMPRESS = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
}
#: Bytes that a compressed file may hold here.
BOUND = 2**17
_TOKENS = (
    *("nan", "-inf", "1e39", "1e400", "-1e-400", "1_0", "0x10", "1,2", "+1", "--1", "", ".", "é"),
    *("0:1", "-1:1", "3", "3:", ":3", "3:4:5", "2147483648:1", f"{2**63}:1", f"{10**40}:1", "7:1"),
    *("qid:1", "qid", "qid:x 1:1", "1:nan", "1:1e39", "# n", "#", "\0", "\t", "\r", "\v", "1 1:1"),
    *("qid:nan 1:1", "|f", "1:1 1:1", "2:1 1:1", "infinity", "9" * 5000, "1.5:1", "1:0x1p3"),
)
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")
_SPECIAL = (b"", b"\n", b"# nothing\n", b"\0" * 40, b"1", b"PK\x03\x04" * 9)
#: Leftovers of Python, numpy and scikit-learn, which are no sentence of this package.
_LEFTOVERS = (
    *("Traceback", "to unpack", "object is", "invalid literal for", "Invalid index", "usecols"),
    *("buffer is", "broadcast", "ufunc", "argument", "OverflowError", "to float: b"),
)


# --- what happens to files ---


def _mutated(rng, content):
    """A few bytes wrong."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        begin, end = sorted(rng.integers(0, len(data) + 1, 2))
        kind = rng.integers(5)
        if kind == 0 and data:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[begin : pick(rng, [len(data), min(end, begin + 9)])]
        elif kind == 2:
            data[begin:begin] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 3:
            data[begin:begin] = data[begin:end]
        else:
            data[begin:begin] = bytes([pick(rng, b"\n\r\0 ,:#-.e9\xff")])
    return bytes(data)


def _near_miss(rng, content):
    """A word replaced, put in or left out, as a careless program would."""
    separator = b"," if content.count(b",") > 5 else b" "
    lines = content.split(b"\n")
    for _ in range(rng.integers(1, 3)):
        line = rng.integers(len(lines))
        words = lines[line].split(separator)
        at = rng.integers(len(words) + 1)
        words[at : at + rng.integers(2)] = [pick(rng, _TOKENS).encode()]
        lines[line] = separator.join(words)
    return b"\n".join(lines)


def _broken(rng, content, text):
    kind = rng.integers(8)
    if kind == 0:
        return content
    if kind == 1 and text:
        return content.decode("latin-1").encode(pick(rng, _ENCODINGS), "replace")
    if kind <= 4 and text:
        return _near_miss(rng, content)
    return pick(rng, _SPECIAL) if kind == 5 else _mutated(rng, content)


def _compressed(rng, content, suffix):
    """The file of a suffix: now and then of another compression, damaged, or a bomb."""
    kind = rng.integers(12)
    if kind == 0:
        suffix = pick(rng, COMPRESS)
    if kind == 1 and suffix:
        return COMPRESS[suffix](pick(rng, [b"\n", b"1", b"\0"]) * (BOUND + 1))
    packed = COMPRESS[suffix](content)
    return _mutated(rng, packed) if kind == 2 and suffix else packed


# --- attacks: each writes a file, and returns how it is read, with whatever must be true then ---


def _check_rows(X, y, n_features):
    assert X.dtype == np.float32
    assert X.shape == (y.size, n_features or X.shape[1])
    assert y.dtype in (np.int64, np.float64)
    assert np.isfinite(X.data).all()
    assert np.isfinite(y).all()
    assert X.nnz == 0 or 0 <= X.indices.min() <= X.indices.max() < X.shape[1]
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        assert (np.diff(X.indices[begin:end]) > 0).all()


def _svmlight(rng, folder):
    lines = []
    for _ in range(rng.integers(1, 12)):
        columns = np.flatnonzero(rng.random(9) < 0.4) + 1
        lines.append(
            f"{pick(rng, [-1, 1])} " + " ".join(f"{c}:{rng.normal():.4g}" for c in columns)
        )
    suffix, n_features = pick(rng, COMPRESS), pick(rng, [None, 9, 12])
    path = folder / f"file{suffix.upper() if some(rng, 0.3) else suffix}"
    content = _broken(rng, ("\n".join(lines) + "\n").encode(), text=True)
    path.write_bytes(_compressed(rng, content, suffix))

    def read():
        X, y = load_svmlight(path, n_features=n_features)
        _check_rows(X, y, n_features)
        size = int(rng.integers(1, 100))
        if suffix:
            parts = list(iter_svmlight(path, n_features=X.shape[1] or 1, chunk_size=size))
        else:
            chunk_mb = size / 2**20
            parts = list(SvmlightChunks(path, n_features=X.shape[1] or 1, chunk_mb=chunk_mb))
        for part in parts:
            _check_rows(*part, X.shape[1] or 1)
        np.testing.assert_array_equal(np.concatenate([[], *(part[1] for part in parts)]), y)

    return read


def _model(rng, folder):
    """A model in LIBSVM's format."""
    k = int(rng.integers(2, 5))
    counts = rng.integers(0, 3, k)
    kernel = pick(rng, ["linear", "rbf\ngamma 0.5", "polynomial\ndegree 2\ngamma 1\ncoef0 0"])
    lines = [
        f"svm_type c_svc\nkernel_type {kernel}\nnr_class {k}\ntotal_sv {counts.sum()}",
        f"rho {' '.join(f'{each:.3g}' for each in rng.normal(size=k * (k - 1) // 2))}",
        f"label {' '.join(map(str, rng.permutation(k)))}",
        f"nr_sv {' '.join(map(str, counts))}\nSV",
    ]
    for _ in range(counts.sum()):
        columns = np.flatnonzero(rng.random(5) < 0.5) + 1
        words = [f"{each:.3g}" for each in rng.normal(size=k - 1)]
        lines.append(" ".join([*words, *(f"{column}:{rng.normal():.4g}" for column in columns)]))
    path = folder / "file.model"
    path.write_bytes(_broken(rng, ("\n".join(lines) + "\n").encode(), text=True))

    def read():
        model = PegasosSVC.from_libsvm(path, n_features=pick(rng, [None, 9]))
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

    return read


def _own_model(rng, folder):
    """A model of the package's own; `damaged` edits the arrays inside."""
    path = folder / "file.skops"
    X = np.arange(24.0).reshape(-1, 2) % 7
    save(PegasosSVC(epochs=1, random_state=0).fit(X, X[:, 0] > 2), path)
    path.write_bytes(_broken(rng, path.read_bytes(), text=False))

    def read():
        assert type(load(path)).__module__.partition(".")[0] in ("kpegasos", "sklearn", "numpy")

    return read


def _idx(rng, folder):
    shape = rng.integers(0, 5, rng.integers(1, 4))
    head = bytes([0, 0, 8, shape.size]) + shape.astype(">u4").tobytes()
    content = _broken(rng, head + rng.bytes(int(shape.prod())), text=False)

    def read():
        array = parse_idx(content)
        assert array.dtype == np.uint8
        assert array.size <= len(content)

    return read


_FORMATS = ("csv", "tsv", "npz", "npy", *(("parquet", "arrow") if find_spec("pyarrow") else ()))


def _table(rng, folder):
    """A table, with or without names, labels and missing values, told by its name or content."""
    format = pick(rng, _FORMATS)
    is_text = format in ("csv", "tsv")
    X = rng.normal(size=(rng.integers(1, 9), rng.integers(1, 5)))
    X = X.astype(pick(rng, [np.float32, np.float64]))
    labels = [None, rng.integers(0, 3, len(X)), X[:, 0] * 0 + 0.5, np.full(len(X), "a b")]
    X[rng.random(X.shape) < 0.1] = np.nan
    plain = folder / "plain"
    write_table(plain, X, pick(rng, labels[: 3 if format == "npy" else 4]), format=format)
    content = plain.read_bytes()
    plain.unlink()
    if is_text and some(rng, 0.3):  # without names
        content = content.partition(b"\n")[2]
    suffix = pick(rng, COMPRESS) if is_text else ""
    path = folder / f"table{pick(rng, ['', f'.{format}'])}{suffix}"
    path.write_bytes(_compressed(rng, _broken(rng, content, is_text), suffix))
    options = {
        "format": format if some(rng, 0.3) else None,
        "label": pick(rng, [*["auto"] * 10, None, "last", "first", 1, -1, "label", "x0"]),
        "header": pick(rng, [*[None] * 8, True, False]),
        "dtype": pick(rng, [None, np.float32, np.float64]),
    }

    def read():
        table = read_table(path, **options)
        X, y, names, dtype = table.X, table.y, table.feature_names, options["dtype"]
        assert X.ndim == 2
        assert min(X.shape) > 0
        assert X.dtype in ([np.float32, np.float64] if dtype is None else [dtype])
        assert y is None or (y.shape == X.shape[:1] and y.dtype.kind in "ifU")
        assert names is None or (len(names) == X.shape[1] and len(set(names)) == len(names))
        if table.format in ("csv", "tsv", "svmlight"):
            assert not np.isinf(X.data if sparse.issparse(X) else X).any()
        if table.format == "csv" and y is not None and y.dtype.kind == "f":
            assert np.isfinite(y).all()

    return read


def trial(rng):
    """Write a file, and read it."""
    attack = pick(rng, [_svmlight, _svmlight, _model, _own_model, _table, _table, _idx])
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.object(files, "_HARMLESS", BOUND),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        read = attack(rng, Path(place))
        written = _contents(place)
        outcome, said = "read", None
        try:
            read()
        except ValueError as error:
            outcome, said = "one clear sentence", str(error)
        assert _contents(place) == written
    if said is not None:
        assert attack is _idx or place in said, said
        assert "\n" not in said, said
        assert len(said) < 400, said
        assert not [word for word in _LEFTOVERS if word in said], said
    return f"{attack.__name__[1:]}: {outcome}"


def _contents(place):
    return {path: path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}
