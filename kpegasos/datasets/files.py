"""The files of the real data sets: where they lie, how they get there, what is in them.

Nothing here believes a file: content that was downloaded has a checksum, no more than some bytes of
it are taken, no path is taken from a file, and nothing is unpickled.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import urllib.request
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kpegasos.utils.files import write_whole


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
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "kpegasos" / folder


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


# --- how they get there ---

#: Bytes of the largest download and of its content; the largest file of the sets has a third.
_LARGEST = 2**28


def _download(address: str) -> bytes:
    """Return the file at an address; an error of it is an OSError."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        return bytes(answer.read(_LARGEST))


def unpacked(name: Any, content: bytes) -> bytes:
    """Return what a file holds if it is compressed by gzip, else its content."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(content)).read(_LARGEST)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name} is not a whole gzip file: {error}") from None


def _verified(name: Any, content: bytes, sha256: Collection[str]) -> bytes:
    content = unpacked(name, content)
    got = hashlib.sha256(content).hexdigest()
    if got not in sha256:
        expected = " or ".join(sha256)
        raise ValueError(f"content of {name}: expected SHA-256 {expected}, got {got}")
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
        return _verified(path, path.read_bytes(), sha256)
    failures = []
    for address in addresses:
        try:
            packed = _download(address)
            content = _verified(address, packed, sha256)
            cached(folder).mkdir(parents=True, exist_ok=True)
            write_whole(cached(folder) / name, [packed])
            return content
        except (OSError, ValueError) as error:
            failures.append(f"{address}: {error}")
    raise _missing(folder, name, failures)


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an idx array of bytes whose checksum is right: rank, big-endian shape, data."""
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
