"""``kpegasos convert``: examples in another format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kpegasos import cli

SUMMARY = "write examples in another format: SVMLight, CSV, NPZ, NPY, Parquet, Arrow"
USAGE = "kpegasos convert [options] IN OUT"
EPILOG = """\
Formats follow from the names: .svm .svmlight .libsvm .csv .tsv .npz .npy .parquet .arrow .feather;
text may be compressed, as .svm.gz, .bz2 or .xz. A name that does not tell is looked into. Numbers
are written with all their digits."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what a conversion takes."""
    parser.add_argument("data", metavar="IN", help="file to read; - is the standard input")
    parser.add_argument("out", metavar="OUT", help="file to write; - is the standard output")
    parser.add_argument(
        "--from",
        dest="data_format",
        choices=cli.DATA_FORMATS,
        help="format of IN; svmlight is LIBSVM's",
    )
    parser.add_argument("--to", choices=cli.DATA_FORMATS, help="format of OUT")
    parser.add_argument(
        "--label",
        default="auto",
        metavar="COLUMN",
        help="column of the labels of IN: a name, a number from 0 on, first, last or none; the one "
        "called label, target, class or y unless given",
    )
    parser.add_argument(
        "--n-features", type=cli.integer_from(1), help="columns of IN, if more than it names"
    )
    cli.add_report_options(parser, "quiet")


def run(options: argparse.Namespace) -> int:
    """Read, write, and say how much; returns the exit status."""
    from scipy import sparse

    from kpegasos.datasets import write_table
    from kpegasos.datasets.files import is_compressed
    from kpegasos.datasets.tables import FORMATS, format_by_name

    place = Path(options.out)
    to = options.to or format_by_name(place)
    if to is None:
        known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
        raise cli.UsageError(f"--to must be given unless OUT ends in {known}, got {options.out!r}")
    cli.files.check_outputs({"OUT": options.out}, options.data)
    table = cli.files.read_given(options)
    if table.y is None and to == "svmlight":
        raise ValueError(
            f"{options.data}: the examples must have labels for svmlight; --label names their "
            f"column"
        )
    n_samples, n_features = table.X.shape
    if sparse.issparse(table.X) and to not in ("svmlight", "npz"):  # others write zeros
        entries = f"{options.data}: {n_samples} x {n_features} entries"
        n_bytes = n_samples * n_features * table.X.dtype.itemsize
        advice = f"; npz and svmlight keep sparse data, {to} writes zeros"
        cli.files.check_room(n_bytes, entries, advice)

    def write(name: str) -> None:
        # Names of columns that a format has no place for are left out by it.
        write_table(name, table.X, table.y, format=to, feature_names=table.feature_names)

    cli.files.write_by(options.out, write, place.suffix if is_compressed(place) else "")
    if not options.quiet:
        labels = "no labels" if table.y is None else "labels"
        size = cli.files.shown_size(n_samples, n_features)
        out = sys.stderr if options.out == cli.STANDARD else sys.stdout
        print(f"{options.out}: {size}, {labels}, {to}", file=out)
    return 0
