"""Where output goes: whole files, devices, the standard output.

A file is there whole or not at all. Devices and pipes, which cannot be, are written as they come,
and so is the standard output, whose name is ``-``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kpegasos.cli.options.arguments import UsageError
from kpegasos.utils.files import checked_path, write_whole

STANDARD = "-"


def check_writable(path: str) -> None:
    """Find out before long work whether a file can be written.

    Parameters
    ----------
    path : str
        ``-`` is the standard output.

    Raises
    ------
    OSError
        If its folder is not there or cannot be written to.
    ValueError
        If it is a folder itself.
    """
    if path == STANDARD:
        return
    place = checked_path(path)
    if place.is_dir():
        raise ValueError(f"{path}: is a folder, expected the name of a file")
    if _is_stream(place):
        writable = os.access(place, os.W_OK)
    elif place.parent.is_dir():
        writable = os.access(place.parent, os.W_OK)
    else:
        raise FileNotFoundError(f"{path}: its folder does not exist")
    if not writable:
        raise PermissionError(f"{path}: cannot be written")


def refuse_inputs(name: str, path: str | None, *inputs: str) -> None:
    """Check that an output is none of the inputs, which it would replace.

    Parameters
    ----------
    name : str
        Of the output, in the help.
    path : str or None
    *inputs : str

    Raises
    ------
    UsageError
    """
    for each in inputs:
        if path not in (None, STANDARD) and os.path.realpath(path) == os.path.realpath(each):
            raise UsageError(f"{name} must be another file than {each}, which is read")


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text, each with its end.

    Parameters
    ----------
    path : str
        ``-`` is the standard output.
    lines : iterable of str
    """
    parts = (line.encode("utf-8") for line in lines)
    if path == STANDARD:
        with _named("standard output"):
            sys.stdout.flush()
            sys.stdout.buffer.writelines(parts)
            sys.stdout.buffer.flush()
        return
    if _is_stream(Path(path)):
        with _named(path), open(path, "wb") as file:
            file.writelines(parts)
    else:
        write_whole(path, parts)


def write_by(path: str, write: Callable[[str], None], suffix: str = "") -> None:
    """Let a function write a file that may be a device, or the standard output.

    Parameters
    ----------
    path : str
        ``-`` is the standard output.
    write : callable
        ``write(name)`` writes a plain file of that name, whole or not at all.
    suffix : str, default=""
        How the name of a file ends that is copied to a device.
    """
    if path != STANDARD and not _is_stream(Path(path)):
        write(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, f"copy{suffix}")
        write(copy)
        with open(copy, "rb") as file:
            if path == STANDARD:
                with _named("standard output"):
                    shutil.copyfileobj(file, sys.stdout.buffer)
                    sys.stdout.buffer.flush()
            else:
                with _named(path), open(path, "wb") as device:
                    shutil.copyfileobj(file, device)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Let an error of writing, such as that of a full disk, name what was written to."""
    try:
        yield
    except OSError as error:
        error.filename = name if error.filename is None else error.filename
        raise


def _is_stream(place: Path) -> bool:
    """Whether a path is that of a device or a pipe."""
    return place.exists() and not place.is_file() and not place.is_dir()
