"""What ``kpegasos convert`` takes."""

from __future__ import annotations

import argparse

from kpegasos.cli.options.arguments import DATA_FORMATS, integer_from

SUMMARY = "write examples in another format: SVMLight, CSV, NPZ, NPY, Parquet, Arrow"

_EPILOG = """\
Formats follow from the names: .svm .svmlight .libsvm .csv .tsv .npz .npy .parquet .arrow .feather;
text may be compressed, as .svm.gz, .bz2 or .xz. A name that does not tell is looked into. Numbers
are written with all their digits."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what a conversion takes."""
    parser.usage = "kpegasos convert [options] IN OUT"
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", metavar="IN", help="file to read; - is the standard input")
    parser.add_argument("out", metavar="OUT", help="file to write; - is the standard output")
    parser.add_argument(
        "--from",
        dest="data_format",
        choices=DATA_FORMATS,
        help="format of IN; svmlight is LIBSVM's",
    )
    parser.add_argument("--to", choices=DATA_FORMATS, help="format of OUT")
    parser.add_argument(
        "--label",
        default="auto",
        metavar="COLUMN",
        help="column of the labels of IN: a name, a number from 0 on, first, last or none; the one "
        "called label, target, class or y unless given",
    )
    parser.add_argument(
        "--n-features", type=integer_from(1), help="columns of IN, if more than it names"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
