"""Names of files, and files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from kpegasos.utils.validation import shown


def checked_path(path: str | PathLike[str]) -> Path:
    """Return the name of a file as a path.

    Raises
    ------
    TypeError
        If it is no string and no path-like.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be the path of a file, got {shown(path)} instead")
    return Path(path)


def is_stream(path: str | PathLike[str]) -> bool:
    """Return whether a path is a pipe or a device, whose content comes once and never whole.

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
        An earlier file of that name stays as it is until then, and if anything fails; its mode
        stays.
    parts : iterable of bytes

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the path is that of a folder, or of a device.
    """
    place = Path(os.path.realpath(checked_path(path)))  # a link stays one
    if place.exists() and not place.is_file():
        raise ValueError(f"path must be the path of a plain file, got {shown(str(path))} instead")
    earlier = place.stat() if place.exists() else None
    if earlier is not None and not is_writable(place):
        raise PermissionError(
            f"path must be that of a file that may be written, got {shown(str(path))} instead"
        )
    # Opened by its mode and not by tempfile, whose files only their owner may read.
    mode = 0o666 if earlier is None else stat.S_IMODE(earlier.st_mode) & 0o600
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if earlier is not None:
            part.chmod(stat.S_IMODE(earlier.st_mode))
        os.replace(part, place)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(part), part):
            error.filename = str(path)  # callers do not know the part
            error.filename2 = None
        raise


def is_writable(place: Path) -> bool:
    """Return whether a file may be written; if its mode allows nobody, root may not either."""
    return os.access(place, os.W_OK) and bool(place.stat().st_mode & 0o222)
