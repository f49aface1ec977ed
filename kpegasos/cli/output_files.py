"""Where output goes: whole files, devices, the standard output.

A file is there whole or not at all. Devices and pipes, which cannot be, are written as they come,
and so is the standard output, whose name is ``-``.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kpegasos.cli.options.arguments import UsageError
from kpegasos.utils.files import checked_path, is_stream, is_writable, write_whole

STANDARD = "-"


def check_outputs(outputs: dict[str, str | None], *inputs: str) -> None:
    """Find out before long work whether files can be written, each to a place of its own.

    Parameters
    ----------
    outputs : dict of str to (str or None)
        Paths by their names in the help; ``-`` is the standard output, None is not asked for.
    *inputs : str
        What is read, and would be replaced.

    Raises
    ------
    UsageError
        If two outputs, or an output and an input, are the same file.
    OSError
        If a folder is not there or cannot be written to.
    ValueError
        If an output is a folder.
    """
    taken = {os.path.realpath(each): f"{each}, which is read" for each in inputs}
    taken.pop(os.path.realpath(STANDARD), None)
    for name, path in outputs.items():
        if path is None:
            continue
        place = STANDARD if path == STANDARD else os.path.realpath(path)
        if place in taken:
            raise UsageError(f"{name} must be another file than {taken[place]}")
        _check_writable(path)
        if not is_stream(place):  # /dev/null takes everything
            taken[place] = f"{name}, {path}"


def _check_writable(path: str) -> None:
    """Check that a file can be written, as far as that can be known."""
    if path == STANDARD:
        return
    place = checked_path(path)
    if place.is_dir():
        raise ValueError(f"{path}: is a folder, expected the name of a file")
    if is_stream(place):
        writable = os.access(place, os.W_OK)
    elif place.parent.is_dir():
        writable = os.access(place.parent, os.W_OK) and (not place.exists() or is_writable(place))
    else:
        raise FileNotFoundError(f"{path}: its folder does not exist")
    if not writable:
        raise PermissionError(f"{path}: cannot be written")


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
    if is_stream(path):
        with _named(path), open(path, "wb") as file:
            file.writelines(parts)
    else:
        write_whole(path, parts)


def csv_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Lines of CSV, each with its end.

    Parameters
    ----------
    rows : iterable of iterable
    """
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in rows:
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


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
    if path != STANDARD and not is_stream(path):
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
