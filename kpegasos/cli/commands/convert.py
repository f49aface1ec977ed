"""``kpegasos convert``: examples in another format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scipy import sparse

from kpegasos.cli.data_files import format_of, label_of, source_of
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.output_files import STANDARD, check_outputs, write_by
from kpegasos.cli.reports import counted
from kpegasos.datasets import Table, read_table, write_table
from kpegasos.datasets._files import is_compressed
from kpegasos.datasets.table_files import FORMATS, format_by_name
from kpegasos.utils.memory import free_memory
from kpegasos.utils.tuning import MEBIBYTE

#: Formats that write no zeros of sparse data.
_SPARSE_FORMATS = ("svmlight", "npz")


def run(options: argparse.Namespace) -> int:
    """Read, write, and say how much; returns the exit status."""
    to = _format_to_write(options)
    check_outputs({"OUT": options.out}, options.data)
    table = _read(options)
    if table.y is None and to == "svmlight":
        raise ValueError(
            f"{options.data}: the examples must have labels for svmlight; --label names their "
            f"column"
        )
    if to not in _SPARSE_FORMATS:
        _check_memory(table.X, options.data, to)

    def write(name: str) -> None:
        # Names of columns that a format has no place for are left out by it.
        write_table(name, table.X, table.y, format=to, feature_names=table.feature_names)

    place = Path(options.out)
    write_by(options.out, write, place.suffix if is_compressed(place) else "")
    if not options.quiet:
        out = sys.stderr if options.out == STANDARD else sys.stdout
        n_samples, n_features = table.X.shape
        labels = "no labels" if table.y is None else "labels"
        size = f"{counted(n_samples, 'row')}, {counted(n_features, 'feature')}"
        print(f"{options.out}: {size}, {labels}, {to}", file=out)
    return 0


def _format_to_write(options: argparse.Namespace) -> str:
    """The format that is asked for, or that of the name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if options.to is not None:
        return str(options.to)
    if (named := format_by_name(Path(options.out))) is not None:
        return named
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise UsageError(f"--to must be given unless OUT ends in {known}, got {options.out!r}")


def _read(options: argparse.Namespace) -> Table:
    """The examples, with entries of the type that the file has."""
    return read_table(
        source_of(options.data),
        format=format_of(options.data, options.data_format),
        label=label_of(options.label),
        n_features=options.n_features,
    )


def _check_memory(X: Any, path: str, to: str) -> None:
    """Check that sparse data would fit into memory in a format that writes zeros.

    Raises
    ------
    ValueError
    """
    free = free_memory()
    if not sparse.issparse(X) or free is None:
        return
    dense = X.shape[0] * X.shape[1] * X.dtype.itemsize
    if dense > free:
        raise ValueError(
            f"{path}: {X.shape[0]} x {X.shape[1]} entries take {dense / MEBIBYTE:,.0f} MiB as "
            f"{to}, which writes zeros, and {free / MEBIBYTE:,.0f} MiB of memory are free; npz and "
            f"svmlight keep sparse data"
        )
