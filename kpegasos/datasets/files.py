"""The files of the real data sets: where they lie, how they get there, what is in them.

Nothing here believes a file: content that was downloaded has a checksum, compressed files are read
up to a limit, no path is taken from a file, and nothing is unpickled.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kpegasos.utils.files import MOST_TIMES, most_unpacked
from kpegasos.utils.progress import bar, shown
from kpegasos.utils.tuning import MEBIBYTE

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

#: What some editors put before text in UTF-8.
UTF_8_MARK = b"\xef\xbb\xbf"
_FLOATS = (np.float32, np.float64, "float32", "float64")


class Dataset(NamedTuple):
    """A real data set, split into a training and a test set.

    Attributes
    ----------
    X_train, X_test : ndarray or CSR matrix of shape (n_samples, n_features), float32
        Features of the examples to train on and to test on.
    y_train, y_test : ndarray of shape (n_samples,), int64
        Labels of the examples to train on and to test on.
    target_names : tuple of str
        Names of the classes, in ascending order of their labels.
    """

    X_train: Any
    y_train: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    target_names: tuple[str, ...]


# --- where they lie ---


def cached(folder: str) -> Path:
    """Return the folder of a set in the user's cache."""
    return Path(_pooch().os_cache("kpegasos")) / folder


def _pooch() -> Any:
    """Import pooch, or raise an ImportError that says how to install it."""
    try:
        import pooch  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("real data need pooch: pip install 'kpegasos[datasets]'") from error
    return pooch


def _places(folder: str) -> Iterator[Path]:
    """Give the folders of a set: the one below ``KPEGASOS_DATA``, if that is set, and the cache."""
    if root := os.environ.get("KPEGASOS_DATA"):
        yield Path(root) / folder
    yield cached(folder)


def find(folder: str, name: str) -> Path | None:
    """Return the path of a file of a set, None if it is nowhere."""
    return next((each / name for each in _places(folder) if (each / name).is_file()), None)


def _missing(folder: str, name: str, failures: Sequence[str] = ()) -> FileNotFoundError:
    looked = " or ".join(map(str, _places(folder)))
    tried = f" and could not be downloaded ({'; '.join(failures)})" if failures else ""
    return FileNotFoundError(
        f"{name} is not in {looked}{tried}: put it into a folder {folder!r} and set the "
        f"environment variable KPEGASOS_DATA to the folder which holds {folder!r}"
    )


def require(folder: str, name: str) -> Path:
    """Return the path of a file of a set, or raise the error which says where to put it."""
    path = find(folder, name)
    if path is None:
        raise _missing(folder, name)
    return path


# --- how they are read ---


def checked_dtype(dtype: Any) -> Any:
    """Return float32 or float64, or raise a ValueError."""
    if not isinstance(dtype, type | str | np.dtype) or dtype not in _FLOATS:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype!r}")
    return np.dtype(dtype).type


def number_of(text: bytes) -> float | None:
    """Return the number that a text is to Python, None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def is_compressed(path: Path) -> bool:
    """Tell whether the name of a file ends in that of a compression, in letters of either case."""
    return path.suffix.lower() in _OPENERS


class _Unpacked(io.RawIOBase):
    """The contents of a compressed file, up to a limit."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._limit = most_unpacked(path.stat().st_size)
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._file.read(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            kind = {".gz": "gzip", ".bz2": "bzip2"}.get(self._path.suffix.lower(), "xz")
            raise ValueError(f"{self._path} is not a whole {kind} file: {error}") from None
        self._done += len(content)
        if self._done > self._limit:
            raise ValueError(
                f"{self._path} must hold at most {self._limit} bytes, {MOST_TIMES} times its "
                f"size, got more: decompress it yourself if that is meant"
            )
        buffer[: len(content)] = content
        return len(content)


_PACKERS: dict[str, Callable[[], Any]] = {
    ".gz": partial(zlib.compressobj, wbits=31),
    ".bz2": bz2.BZ2Compressor,
    ".xz": lzma.LZMACompressor,
}


def packed(path: Path, parts: Iterable[bytes]) -> Iterator[bytes]:
    """Give the parts of a file, compressed if its name says so."""
    if not is_compressed(path):
        yield from parts
        return
    packer = _PACKERS[path.suffix.lower()]()
    yield from map(packer.compress, parts)
    yield packer.flush()


@contextmanager
def opened(source: Path | bytes) -> Iterator[BinaryIO]:
    """Open a file for reading; what it holds if it is compressed, without a mark of UTF-8.

    Parameters
    ----------
    source : Path or bytes
        The content of a file is opened as it is.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        While it is read, if a compressed file is damaged or holds far more than its size.
    """
    if isinstance(source, bytes):
        yield io.BytesIO(source.removeprefix(UTF_8_MARK))
    elif is_compressed(source):
        with (
            _OPENERS[source.suffix.lower()](source, "rb") as packed,
            io.BufferedReader(_Unpacked(source, packed), 2**17) as file,
        ):
            yield _without_mark(file)
    else:
        with open(source, "rb") as file:
            yield _without_mark(file)


def _without_mark(file: Any) -> Any:
    if file.peek(len(UTF_8_MARK)).startswith(UTF_8_MARK):
        file.read(len(UTF_8_MARK))
    return file


#: Bytes of the largest download; the largest file of the sets has a tenth.
_LARGEST = 2**28


class _Download:
    """A progress bar as pooch needs it: ``total``, update, reset, close.

    The bar that pooch brings along needs tqdm, a dependency that nothing else here has. This one
    also ends a download that goes on and on.
    """

    def __init__(self) -> None:
        self.total: float | None = None
        self.done = 0

    def update(self, n_bytes: int) -> None:
        self.done += n_bytes
        if self.done > _LARGEST:
            raise ValueError(f"a download must have at most {_LARGEST} bytes, got more")

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Leave the line to the block that shows it."""


def _download(address: str, path: Path) -> None:
    """Write the file at an address to a path; its content is for the caller to verify.

    Raises
    ------
    OSError
        If there is no such file, or no way to it; errors of requests are OSErrors.
    ValueError
        If it is larger than any file of the sets.
    """
    pooch = _pooch()
    so_far = _Download()

    def text() -> str:
        share = bar(min(1.0, so_far.done / so_far.total)) if so_far.total else ""
        return f"{path.name} {share} {so_far.done / MEBIBYTE:.1f} MiB"

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it would advise us to state a checksum of the .gz file
    try:
        with shown(text, sys.stderr):
            pooch.retrieve(address, None, path.name, path.parent, progressbar=so_far)
    finally:
        logger.setLevel(level)


def _verified(path: Path, sha256: Collection[str]) -> bytes:
    with opened(path) as file:
        content = file.read()
    got = hashlib.sha256(content).hexdigest()
    if got not in sha256:
        expected = " or ".join(sha256)
        raise ValueError(f"content of {path}: expected SHA-256 {expected}, got {got}")
    return content


def fetched(folder: str, name: str, sha256: Collection[str], addresses: Sequence[str]) -> bytes:
    """Return the uncompressed bytes of a file of a set, downloaded if it is nowhere.

    The checksum is of the content, because gzip headers differ from one archive to the next. A file
    takes its place in the cache when it has been verified, and not before.

    Parameters
    ----------
    folder, name : str
        Of the set, and of the file.
    sha256 : collection of str
        Any of them will do.
    addresses : sequence of str
        Tried one after the other.

    Raises
    ------
    FileNotFoundError
        If it is nowhere, and cannot be downloaded.
    ValueError
        If a file that is there holds something else.
    """
    path = find(folder, name)
    if path is not None:
        return _verified(path, sha256)
    failures = []
    for address in addresses:
        place = cached(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place) as beside:
                path = Path(beside) / name
                _download(address, path)
                content = _verified(path, sha256)
                os.replace(path, place / name)
            return content
        except (OSError, ValueError) as error:
            failures.append(f"{address}: {error}")
    raise _missing(folder, name, failures)


# --- what is in them ---


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an idx array of unsigned bytes: two zeros, type, rank, big-endian shape, data."""
    begin = 4 + 4 * int.from_bytes(content[3:4], "big")
    if content[:3] != b"\x00\x00\x08" or len(content) < begin:
        raise ValueError(f"not an idx file of unsigned bytes: it starts with {content[:4]!r}")
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, begin, 4))
    if len(shape) > 8 or len(content) - begin != math.prod(shape):
        raise ValueError(
            f"not a whole idx file: it must have one byte for each entry of shape {shape[:8]}, "
            f"got {len(content) - begin} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=begin).reshape(shape)


def read_arrays(
    place: str, source: Path | bytes, choose: Callable[[list[str]], Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Read arrays of numbers or texts from an .npz file.

    Parameters
    ----------
    place : str
        Name of the file, for errors.
    source : Path or bytes
    choose : callable
        ``choose(names)`` says which arrays are read of a file that has some of these names.

    Raises
    ------
    ValueError
        If it does not have them, or is damaged, or holds far more than its size.
    """
    what = ""
    with open(source, "rb") if isinstance(source, Path) else io.BytesIO(source) as file:
        limit = most_unpacked(file.seek(0, os.SEEK_END))
        try:
            with zipfile.ZipFile(file) as members:
                names = choose([name.removesuffix(".npy") for name in members.namelist()])
                what = f" of the numbers {', '.join(names)} and hold at most {limit} bytes of each"
                return {name: _read_array(members, f"{name}.npy", limit) for name in names}
        except Exception as error:  # damaged archives raise whatever comes of their nonsense
            raise ValueError(f"{place} must be a whole .npz file{what}, got another") from error


def _read_array(members: zipfile.ZipFile, name: str, limit: int) -> NDArray[Any]:
    # The size that the archive states is as much as is read.
    if members.getinfo(name).file_size > limit:
        raise ValueError(name)
    content = io.BytesIO(members.read(name))
    return np.asarray(np.lib.format.read_array(content, allow_pickle=False))
