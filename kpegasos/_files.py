"""The files of the real data sets: where they lie, how they get there, what is in them."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch  # type: ignore[import-untyped]
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


@dataclass(frozen=True)
class ImageSet:
    """Four idx files: the checksums (SHA-256) are of the content, as gzip headers vary."""

    folder: str
    mirrors: tuple[str, ...]
    sha256: dict[str, str]
    target_names: tuple[str, ...]


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
    path = _find(folder, name)
    if path is None:
        raise _missing(folder, name)
    return path


def _verified(path: Path, expected: str) -> bytes:
    """Uncompress a file and check its content."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}") from error
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise ValueError(f"content of {path} has SHA-256 {got}, expected {expected}")
    return content


def verified_content(source: ImageSet, name: str) -> bytes:
    """Return the uncompressed bytes of one file of a set, downloaded if it has to be."""
    path = _find(source.folder, name)
    if path is not None:
        return _verified(path, source.sha256[name])
    path = _folders(source.folder)[-1] / name
    failures = []
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it would advise to state the hash, which we check ourselves
    try:
        for mirror in source.mirrors:
            try:
                with _DownloadBar(name) as bar:
                    pooch.retrieve(mirror + name, None, name, path.parent, progressbar=bar)
                return _verified(path, source.sha256[name])
            except (OSError, ValueError) as error:  # network trouble is an OSError in requests
                with suppress(OSError):
                    path.unlink()
                failures.append(f"{mirror}: {error}")
    finally:
        logger.setLevel(level)
    raise _missing(source.folder, name, failures)


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an idx array of unsigned bytes: two zeros, type, rank, big-endian shape, data."""
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"not an idx file of unsigned bytes: it starts with {content[:3]!r}")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
