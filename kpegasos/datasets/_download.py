"""The download of one file, with a progress bar."""

from __future__ import annotations

from pathlib import Path

import pooch  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

#: Bytes of the largest download; the largest file of the sets has a tenth.
_LARGEST = 2**28


class _DownloadBar:
    """What pooch asks of a progress bar (``total``, update, reset, close), drawn by rich.

    The bar that pooch brings along needs tqdm, a dependency that nothing else here has. This one
    also ends a download that goes on and on.
    """

    def __init__(self, name: str) -> None:
        self._bar = Progress(
            TextColumn(name),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(name, total=None)
        self._done = 0

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
        self._done += n_bytes
        if self._done > _LARGEST:
            raise ValueError(f"a download must have at most {_LARGEST} bytes, got more")
        self._bar.advance(self._task, n_bytes)

    def reset(self) -> None:
        self._done = 0
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        self._bar.refresh()


def download(address: str, path: Path) -> None:
    """Write the file at an address to a path; its content is for the caller to verify.

    Raises
    ------
    OSError
        If there is no such file, or no way to it; errors of requests are OSErrors.
    ValueError
        If it is larger than any file of the sets.
    """
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it would advise us to state a checksum of the .gz file
    try:
        with _DownloadBar(path.name) as bar:
            pooch.retrieve(address, None, path.name, path.parent, progressbar=bar)
    finally:
        logger.setLevel(level)
