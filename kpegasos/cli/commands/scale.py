"""``kpegasos scale``: features brought to limits, or to mean 0 and variance 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.cli.data_files import labels_of, read_data, refuse_missing, with_zeros
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.output_files import check_outputs, write_by, write_lines
from kpegasos.cli.ranges import Ranges, Target, learn, range_lines, read_ranges, varying
from kpegasos.datasets import write_table
from kpegasos.datasets._files import is_compressed
from kpegasos.datasets.table_files import format_by_name
from kpegasos.utils.memory import free_memory
from kpegasos.utils.tuning import MEBIBYTE
from kpegasos.utils.validation import shown

#: Bytes of the rows that are scaled together.
_BLOCK = 16 * MEBIBYTE
#: Bytes that a feature takes while ranges are found.
_OF_A_RANGE = 64


def run(options: argparse.Namespace) -> int:
    """Scale as the options say; returns the exit status."""
    if options.upper <= options.lower:
        raise UsageError(f"--upper must be above --lower, got {options.upper} and {options.lower}")
    inputs = filter(None, (options.data, options.restore))
    check_outputs({"OUT": options.out, "--save": options.save}, *inputs)
    table = read_data(options.data, format=options.data_format, label=options.label)
    refuse_missing(table, options.data)
    _check_memory(table.X, options.data)
    ranges = _ranges(table, options)
    if options.save is not None:
        write_lines(options.save, range_lines(ranges))
    y = _targets(table.y, ranges)
    X = with_zeros(table.X, ranges.first.size)
    format = format_by_name(Path(options.out)) or table.format
    if format == "svmlight" and not is_compressed(Path(options.out)):  # which has all digits
        y = labels_of(table._replace(y=y), options.data)
        _warn_of_zeros(X, ranges, options)
        write_lines(options.out, _svmlight_lines(X, y, ranges, exact=options.exact))
    else:
        scaled = _scaled(X, ranges)
        write_by(
            options.out,
            lambda name: write_table(
                name, scaled, y, format=format, feature_names=table.feature_names
            ),
        )
    return 0


def _check_memory(X: Any, path: str) -> None:
    """Check that there is memory for the ranges of all features, which a small file may name.

    Raises
    ------
    ValueError
    """
    needed, free = _OF_A_RANGE * X.shape[1], free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"{path}: ranges of {X.shape[1]} features take {needed / MEBIBYTE:,.0f} MiB, and "
            f"{free / MEBIBYTE:,.0f} MiB of memory are free"
        )


def _ranges(table: Any, options: argparse.Namespace) -> Ranges:
    """Ranges that are restored, or found in the data."""
    if options.restore is not None:
        ranges = read_ranges(options.restore, table.X.shape[1])
        seen = varying(table.X)
        unknown = seen[np.isnan(ranges.first[seen])]
        if unknown.size:
            _say(
                options,
                f"features that {options.restore} does not name become 0, {unknown.size} of them "
                f"from {unknown[0] + 1} on",
            )
        return ranges
    ranges = learn(table.X, options.method, options.lower, options.upper)
    if options.target is None or table.y is None:
        return ranges
    lower, upper = options.target
    if table.y.dtype.kind not in "iuf":
        got = shown(table.y[:1].tolist()[0])
        raise ValueError(f"{options.data}: labels must be numbers for --target, got {got}")
    return ranges._replace(
        target=Target(lower, upper, float(np.min(table.y)), float(np.max(table.y)))
    )


def _targets(y: Any, ranges: Ranges) -> Any:
    """Labels as they are, or scaled."""
    if ranges.target is None or y is None:
        return y
    if y.dtype.kind not in "iuf":
        raise ValueError(f"labels must be numbers to be scaled, got {shown(y[:1].tolist()[0])}")
    return ranges.target.apply(y)


def _zeros_stay(ranges: Ranges) -> bool:
    """Whether a zero of any feature is scaled to zero."""
    return not ranges.apply(np.zeros(ranges.first.size), slice(None)).any()


def _warn_of_zeros(X: Any, ranges: Ranges, options: argparse.Namespace) -> None:
    """Say so where zeros that a file leaves out become numbers that it has to name."""
    if sparse.issparse(X) and not _zeros_stay(ranges):
        _say(
            options,
            "zeros become other numbers, and OUT larger than DATA; with --lower 0, zeros of "
            "features that are not negative stay zeros",
        )


def _say(options: argparse.Namespace, sentence: str) -> None:
    if not options.quiet:
        print(f"kpegasos scale: {sentence}", file=sys.stderr)


def _scaled(X: Any, ranges: Ranges) -> Any:
    """All rows, scaled; sparse ones stay so if their zeros are zeros."""
    if sparse.issparse(X) and _zeros_stay(ranges):
        values = ranges.apply(X.data, X.indices)
        rows = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
        rows.eliminate_zeros()
        return rows
    return ranges.apply(X.toarray() if sparse.issparse(X) else X, slice(None))


def _svmlight_lines(X: Any, y: np.ndarray, ranges: Ranges, *, exact: bool) -> Iterator[str]:
    """Lines of LIBSVM's format; without ``exact`` as ``svm-scale`` prints them."""
    targets = [_target(label) for label in y.tolist()]
    for begin, rows in _scaled_blocks(X, ranges):
        columns, values = (rows.indices + 1).tolist(), rows.data.tolist()
        form = repr if exact else "{:g}".format
        words = [f"{column}:{form(value)} " for column, value in zip(columns, values, strict=True)]
        for number, (first, last) in enumerate(pairwise(rows.indptr.tolist())):
            yield f"{targets[begin + number]} {''.join(words[first:last])}\n"


def _scaled_blocks(X: Any, ranges: Ranges) -> Iterator[tuple[int, Any]]:
    """Numbers of first rows, and scaled rows without zeros."""
    if sparse.issparse(X) and _zeros_stay(ranges):
        yield 0, _scaled(X, ranges)
        return
    height = max(1, _BLOCK // (8 * max(1, X.shape[1])))
    for begin in range(0, X.shape[0], height):
        yield begin, sparse.csr_matrix(_scaled(X[begin : begin + height], ranges))


def _target(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, int | float) else str(value)
