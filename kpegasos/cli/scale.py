"""``kpegasos scale``: features brought to limits, as LIBSVM's ``svm-scale``, or to variance 1.

A feature whose values are all the same says nothing, and becomes zero. Where features are brought
to mean 0 and variance 1 the file of ranges begins with ``standard``, unknown to ``svm-scale``.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kpegasos import cli

SUMMARY = "scale features to a range or to variance 1, save and restore the ranges"
USAGE = "kpegasos scale [options] DATA [OUT]"
EPILOG = """\
-l, -u, -y, -s and -r are those of LIBSVM's svm-scale: files of ranges go both ways, and so does the
output, but for --exact. A file that -r restores brings its own limits and method."""

#: Bytes of the rows that are scaled together.
_BLOCK = 2**24


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what scaling takes."""
    cli.add_data(parser)
    parser.add_argument(
        "out",
        metavar="OUT",
        nargs="?",
        default=cli.STANDARD,
        help="file to write; the standard output unless given",
    )
    parser.add_argument(
        "--method",
        choices=("minmax", "standard"),
        default="minmax",
        help="to limits, as it is unless given, or to mean 0 and variance 1",
    )
    parser.add_argument("-l", "--lower", type=cli.number, default=-1.0, help="-1 unless given")
    parser.add_argument("-u", "--upper", type=cli.number, default=1.0, help="1 unless given")
    parser.add_argument(
        "-y",
        "--target",
        nargs=2,
        type=cli.number,
        metavar=("LOWER", "UPPER"),
        help="scale the labels to these limits; they stay as they are unless given",
    )
    ranges = parser.add_mutually_exclusive_group()
    ranges.add_argument("-s", "--save", metavar="FILE", help="write the ranges of the features")
    ranges.add_argument("-r", "--restore", metavar="FILE", help="scale by ranges that were saved")
    parser.add_argument("--exact", action="store_true", help="write all digits, not six")
    cli.add_data_options(parser)
    cli.add_report_options(parser, "quiet")


def run(options: argparse.Namespace) -> int:
    """Scale as the options say; returns the exit status."""
    from kpegasos.datasets import write_table
    from kpegasos.datasets.files import is_compressed
    from kpegasos.datasets.tables import format_by_name

    if options.upper <= options.lower:
        raise cli.UsageError(
            f"--upper must be above --lower, got {options.upper} and {options.lower}"
        )
    inputs = filter(None, (options.data, options.restore))
    cli.files.check_outputs({"OUT": options.out, "--save": options.save}, *inputs)
    table = cli.files.read_data(options)
    width = table.X.shape[1]
    cli.files.check_room(64 * width, f"{options.data}: ranges of {width} features")
    ranges, place = _ranges(table, options), Path(options.out)
    format = format_by_name(place) or table.format
    if format == "svmlight":
        _numbers(cli.files.labels_of(table, options.data), options, "for svmlight")
    if options.save is not None:
        cli.files.write_lines(options.save, _range_lines(ranges))
    y = table.y
    if ranges.target is not None and y is not None:
        y = _to_limits(_numbers(y, options, "to be scaled"), *ranges.target)
    X = cli.files.with_zeros(table.X, ranges.first.size)
    if format == "svmlight" and not is_compressed(place):  # which has all digits
        _warn_of_zeros(X, ranges)
        cli.files.write_lines(options.out, _svmlight_lines(X, y, ranges, exact=options.exact))
    else:
        scaled, names = _scaled(X, ranges), table.feature_names
        cli.files.write_by(
            options.out,
            lambda name: write_table(name, scaled, y, format=format, feature_names=names),
        )
    return 0


# --- ranges ---


class Ranges(NamedTuple):
    """The scaling of features.

    Attributes
    ----------
    method : {"minmax", "standard"}
    lower, upper : float
        Limits of "minmax".
    first, second : ndarray of shape (n_features,)
        Least and largest value, or mean and standard deviation; of a feature that becomes zero
        both are NaN.
    target : tuple of four floats or None
        Limits of targets, those wanted and those found; None where targets stay as they are.
    """

    method: str
    lower: float
    upper: float
    first: Any
    second: Any
    target: tuple[float, float, float, float] | None = None

    def apply(self, values: Any, columns: Any) -> Any:
        """Scale values that belong to some columns, one for each entry of the last axis."""
        import numpy as np

        first, second = self.first[columns], self.second[columns]
        if self.method == "standard":
            with np.errstate(invalid="ignore"):
                scaled = (values - first) / second
        else:
            scaled = _to_limits(values, self.lower, self.upper, first, second)
        return np.where(np.isnan(first), 0.0, scaled)


def _to_limits(values: Any, lower: float, upper: float, least: Any, most: Any) -> Any:
    """Bring values to limits, which rounding must not leave."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = lower + (upper - lower) * (values - least) / (most - least)
    return np.where(values == least, lower, np.where(values == most, upper, scaled))


def _ranges(table: Any, options: argparse.Namespace) -> Ranges:
    """Restore ranges, or find them in the data."""
    import numpy as np

    least, most = cli.files.column_ranges(table.X)
    if options.restore is not None:
        ranges = _read_ranges(options.restore, table.X.shape[1])
        unknown = np.flatnonzero((least != most) & np.isnan(ranges.first[: least.size]))
        if unknown.size:
            warnings.warn(
                f"features that {options.restore} does not name become 0, {unknown.size} of them "
                f"from {unknown[0] + 1} on",
                stacklevel=1,
            )
        return ranges
    first, second = least, most
    if options.method == "standard":
        first, second = _moments(table.X)
    nothing = np.where(least == most, np.nan, 0.0)
    limits = (options.lower, options.upper)
    ranges = Ranges(options.method, *limits, first + nothing, second + nothing)
    if options.target is None or table.y is None:
        return ranges
    y = _numbers(table.y, options, "to be scaled")
    return ranges._replace(target=(*options.target, float(np.min(y)), float(np.max(y))))


def _moments(X: Any) -> tuple[Any, Any]:
    """Find means and standard deviations; of sparse data no mean, so that zeros stay zeros."""
    import numpy as np
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
    return scaler.mean_ if scaler.with_mean else np.zeros(X.shape[1]), scaler.scale_


def _range_lines(ranges: Ranges) -> Iterator[str]:
    """Make lines of a file of ranges; numbers have all digits."""

    def digits(*numbers: float) -> str:
        return " ".join(f"{number:.17g}" for number in numbers)

    if ranges.target is not None:
        yield f"y\n{digits(*ranges.target[:2])}\n{digits(*ranges.target[2:])}\n"
    yield "standard\n" if ranges.method == "standard" else "x\n"
    if ranges.method == "minmax":
        yield f"{digits(ranges.lower, ranges.upper)}\n"
    for column, pair in enumerate(zip(ranges.first.tolist(), ranges.second.tolist(), strict=True)):
        if not math.isnan(pair[0]):
            yield f"{column + 1} {digits(*pair)}\n"


def _read_ranges(path: str, n_features: int) -> Ranges:
    """Read a file of ranges.

    Parameters
    ----------
    path : str
    n_features : int
        Columns at the least; those that the file does not name become zero.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        Naming the file, the line and what is wrong there.
    """
    import numpy as np

    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.split() for line in file]
    rows = ((at, words) for at, words in enumerate(lines, 1) if words)
    end: tuple[int, list[str]] = (len(lines) + 1, [])

    def error(at: int, words: list[str], what: str) -> ValueError:
        said = (
            f"{what}, got {' '.join(words)[:40]!r}" if words else "must be there, but the file ends"
        )
        return ValueError(f"{path}, line {at}: {said}")

    def numbers(at: int, words: list[str], count: int) -> list[float]:
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            raise error(at, words, f"must hold {count} finite numbers")
        return found

    at, words = next(rows, end)
    target: Any = None
    if words == ["y"]:
        target = (*numbers(*next(rows, end), 2), *numbers(*next(rows, end), 2))
        at, words = next(rows, end)
    method = {"x": "minmax", "standard": "standard"}.get(" ".join(words))
    if method is None:
        raise error(at, words, "must be 'x' or 'standard'")
    lower, upper = numbers(*next(rows, end), 2) if method == "minmax" else (0.0, 0.0)
    found = {}
    for at, words in rows:
        column, first, second = numbers(at, words, 3)
        if not (column.is_integer() and 1 <= column < 2**31):
            raise error(at, words, "must begin with the number of a feature, from 1 on")
        found[int(column) - 1] = (first, second)
    values = np.full((max([n_features, *(column + 1 for column in found)]), 2), np.nan)
    for place, row in found.items():
        if row[0] != row[1] or method == "standard":
            values[place] = row
    return Ranges(method, lower, upper, values[:, 0].copy(), values[:, 1].copy(), target)


# --- scaled rows ---


def _numbers(y: Any, options: argparse.Namespace, purpose: str) -> Any:
    """Return labels that are numbers, or raise a ValueError that says what for."""
    from kpegasos.utils.validation import shown

    if y.dtype.kind not in "iuf":
        got = shown(y[:1].tolist()[0])
        raise ValueError(f"{options.data}: labels must be numbers {purpose}, got {got}")
    return y


def _zeros_stay(ranges: Ranges) -> bool:
    """Tell whether a zero of any feature is scaled to zero."""
    return not ranges.apply(0.0, slice(None)).any()


def _warn_of_zeros(X: Any, ranges: Ranges) -> None:
    """Say so where zeros that a file leaves out become numbers that it has to name."""
    from scipy import sparse

    if sparse.issparse(X) and not _zeros_stay(ranges):
        warnings.warn(
            "zeros become other numbers, and OUT larger than DATA; with --lower 0, zeros of "
            "features that are not negative stay zeros",
            stacklevel=1,
        )


def _scaled(X: Any, ranges: Ranges) -> Any:
    """Scale all rows; sparse ones stay so if their zeros are zeros."""
    from scipy import sparse

    if sparse.issparse(X) and _zeros_stay(ranges):
        values = ranges.apply(X.data, X.indices)
        rows = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
        rows.eliminate_zeros()
        return rows
    return ranges.apply(X.toarray() if sparse.issparse(X) else X, slice(None))


def _svmlight_lines(X: Any, y: Any, ranges: Ranges, *, exact: bool) -> Iterator[str]:
    """Make lines of LIBSVM's format; without ``exact`` as ``svm-scale`` prints them."""
    from scipy import sparse

    from kpegasos.datasets.svmlight import rows_as_text

    form = repr if exact else "{:g}".format
    height = max(1, _BLOCK // (8 * max(1, X.shape[1])))
    if sparse.issparse(X) and _zeros_stay(ranges):
        height = max(1, X.shape[0])
    for begin in range(0, X.shape[0], height):
        labels = (
            f"{target:.17g}" if isinstance(target, int | float) else str(target)
            for target in y[begin : begin + height].tolist()
        )
        for line in rows_as_text(_scaled(X[begin : begin + height], ranges), labels, form):
            yield f"{line} \n"
