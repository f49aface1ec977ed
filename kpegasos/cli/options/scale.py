"""What ``kpegasos scale`` takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kpegasos.cli.options.arguments import add_data_options, attached, number

SUMMARY = "scale features to a range or to variance 1, save and restore the ranges"

_EPILOG = """\
-l, -u, -y, -s and -r are those of LIBSVM's svm-scale: files of ranges go both ways, and so does the
output, but for --exact. A file that -r restores brings its own limits and method."""


def prepared(arguments: Sequence[str]) -> list[str]:
    """Let limits begin with a minus sign."""
    return attached(arguments, ("-l", "-u", "--lower", "--upper"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what scaling takes."""
    parser.usage = "kpegasos scale [options] DATA [OUT]"
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", metavar="DATA", help="file of examples; - is the standard input")
    parser.add_argument(
        "out", metavar="OUT", nargs="?", default="-", help="file to write; the standard output "
        "unless given"
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("minmax", "standard"), default="minmax", help="to limits, as it is "
        "unless given, or to mean 0 and variance 1"
    )  # fmt: skip
    parser.add_argument("-l", "--lower", type=number, default=-1.0, help="-1 unless given")
    parser.add_argument("-u", "--upper", type=number, default=1.0, help="1 unless given")
    parser.add_argument(
        "-y",
        "--target",
        nargs=2,
        type=number,
        metavar=("LOWER", "UPPER"),
        help="scale the labels to these limits; they stay as they are unless given",
    )
    ranges = parser.add_mutually_exclusive_group()
    ranges.add_argument("-s", "--save", metavar="FILE", help="write the ranges of the features")
    ranges.add_argument("-r", "--restore", metavar="FILE", help="scale by ranges that were saved")
    parser.add_argument("--exact", action="store_true", help="write all digits, not six")
    add_data_options(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
