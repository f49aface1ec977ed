"""The files of the real data sets: where they lie, how they get there, what is in them."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pooch  # type: ignore[import-untyped]
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


class _DownloadBar:
    """What pooch asks of a progress bar (``total``, update, reset, close), drawn by rich."""

    def __init__(self, name: str) -> None:
        self._bar = Progress(
            TextColumn(name),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(name, total=None)

    def __enter__(self) -> _DownloadBar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    @property
    def total(self) -> float | None:
        return self._bar.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._bar.update(self._task, total=n_bytes)

    def update(self, n_bytes: int) -> None:
        self._bar.advance(self._task, n_bytes)

    def reset(self) -> None:
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        self._bar.refresh()


def _folders(folder: str) -> list[Path]:
    """List the places where the files of a set may lie."""
    roots = [os.environ.get("KPEGASOS_DATA"), pooch.os_cache("kpegasos")]
    return [Path(root) / folder for root in roots if root]


def _find(folder: str, name: str) -> Path | None:
    return next((place / name for place in _folders(folder) if (place / name).is_file()), None)


def _missing(folder: str, name: str, failures: list[str] | None = None) -> FileNotFoundError:
    looked = " or ".join(map(str, _folders(folder)))
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
    path = _folders(folder)[-1] / name
    failures = []
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it would advise us to state a checksum of the .gz file
    try:
        for mirror in mirrors:
            try:
                with _DownloadBar(name) as bar:
                    pooch.retrieve(mirror + name, None, name, path.parent, progressbar=bar)
                return _verified(path, sha256)
            except (OSError, ValueError) as error:  # errors of requests are OSErrors
                with suppress(OSError):
                    path.unlink()
                failures.append(f"{mirror}: {error}")
    finally:
        logger.setLevel(level)
    raise _missing(folder, name, failures)


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an idx array of unsigned bytes: two zeros, type, rank, big-endian shape, data."""
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"not an idx file of unsigned bytes: it starts with {content[:3]!r}")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
