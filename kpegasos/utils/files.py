"""What names a file, and files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from kpegasos.utils.validation import shown


def checked_path(path: str | PathLike[str]) -> Path:
    """Return what names a file as a path.

    Raises
    ------
    TypeError
        If it is no string and no path-like.
    ValueError
        If no file can have that name.
    """
    name = os.fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(name, str):
        raise TypeError(f"path must be the path of a file, got {shown(path)} instead")
    try:
        possible = bool(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ValueError(f"path must be the path of a file, got {shown(path)} instead")
    return Path(name)


def is_stream(path: str | PathLike[str]) -> bool:
    """Whether a path is that of a pipe or a device, whose content is given once and never whole.

    Parameters
    ----------
    path : path-like
    """
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


def write_whole(path: str | PathLike[str], parts: Iterable[bytes]) -> None:
    """Write a file next to its place and move it there when it is complete.

    Parameters
    ----------
    path : path-like
        An earlier file of that name stays as it is until then, and if anything fails.
    parts : iterable of bytes

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the path is that of a folder, or of a device.
    """
    with opened_whole(path) as file:
        file.writelines(parts)


@contextmanager
def opened_whole(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its place when the block ends, and leaves nothing if it fails.

    Raises
    ------
    OSError, ValueError
        As `write_whole`.
    """
    place = Path(os.path.realpath(checked_path(path)))  # a link stays one
    if place.exists() and not place.is_file():
        raise ValueError(f"path must be the path of a plain file, got {shown(str(path))} instead")
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"path must be in a folder that exists, got {shown(str(path))} instead"
        )
    # Opened by its mode and not by tempfile, whose files only their owner may read.
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(part), part):
            error.filename = str(path)  # nobody knows the part
            error.filename2 = None
        raise
