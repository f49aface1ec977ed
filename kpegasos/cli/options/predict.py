"""What ``kpegasos predict`` takes."""

from __future__ import annotations

import argparse

from kpegasos.cli.options.arguments import add_data_options, add_json_option, flag

SUMMARY = "predict labels, decisions or probabilities, and compare with the labels of the data"

_EPILOG = """\
-b and -q are those of LIBSVM's svm-predict; the first line of probabilities names the classes. A
model is a native file or LIBSVM's, told apart by its content."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what predicting takes."""
    parser.usage = "kpegasos predict [options] DATA MODEL [OUT]"
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", metavar="DATA", help="file of examples; - is the standard input")
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    parser.add_argument(
        "out",
        metavar="OUT",
        nargs="?",
        help="file of the predictions, - for the standard output; only a report unless given",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--decisions",
        action="store_true",
        help="write decision values: one for two classes, positive for the larger label; else one "
        "for each class, ascending",
    )
    kind.add_argument("--probabilities", action="store_true", help="write labels and probabilities")
    kind.add_argument(
        "-b",
        dest="probabilities",
        type=flag,
        default=False,
        metavar="0|1",
        help="1 is --probabilities",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="precision, recall and F1 of each class, and the confusion matrix",
    )
    add_data_options(parser)
    add_json_option(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
