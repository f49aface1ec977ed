"""The files of the real data sets: where they lie, how they get there, what is in them."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


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


def _given(folder: str) -> list[Path]:
    """Return the folder of a set below ``KPEGASOS_DATA``, if that is set."""
    root = os.environ.get("KPEGASOS_DATA")
    return [Path(root) / folder] if root else []


def _cached(folder: str) -> Path:
    """Return the folder of a set in the user's cache."""
    import pooch  # type: ignore[import-untyped]  # only where the cache is looked at

    return Path(pooch.os_cache("kpegasos")) / folder


def _find(folder: str, name: str) -> Path | None:
    for place in _given(folder):
        if (place / name).is_file():
            return place / name
    path = _cached(folder) / name
    return path if path.is_file() else None


def _missing(folder: str, name: str, failures: Sequence[str] = ()) -> FileNotFoundError:
    looked = " or ".join(map(str, [*_given(folder), _cached(folder)]))
    tried = f" and could not be downloaded ({'; '.join(failures)})" if failures else ""
    return FileNotFoundError(
        f"{name} is not in {looked}{tried}: put it into a folder {folder!r} and set the "
        f"environment variable KPEGASOS_DATA to the folder which holds {folder!r}"
    )


def require(folder: str, name: str) -> Path:
    """Return the path of a file of a set, or raise the error which says where to put it."""
    path = _find(folder, name)
    if path is None:
        raise _missing(folder, name)
    return path


def _verified(path: Path, sha256: str) -> bytes:
    try:
        content = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}") from error
    got = hashlib.sha256(content).hexdigest()
    if got != sha256:
        raise ValueError(f"content of {path}: expected SHA-256 {sha256}, got {got}")
    return content


def verified_content(folder: str, name: str, sha256: str, mirrors: Sequence[str]) -> bytes:
    """Return the uncompressed bytes of a .gz file of a set, downloaded if it is nowhere.

    The checksum is of the content, because gzip headers differ from one archive to the next.
    """
    path = _find(folder, name)
    if path is not None:
        return _verified(path, sha256)
    from kpegasos.datasets._download import download  # with pooch and rich, for this only

    path = _cached(folder) / name
    failures = []
    for mirror in mirrors:
        try:
            download(mirror + name, path)
            return _verified(path, sha256)
        except (OSError, ValueError) as error:
            with suppress(OSError):
                path.unlink()
            failures.append(f"{mirror}: {error}")
    raise _missing(folder, name, failures)


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an idx array of unsigned bytes: two zeros, type, rank, big-endian shape, data."""
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"not an idx file of unsigned bytes: it starts with {content[:3]!r}")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
