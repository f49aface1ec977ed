"""What ``kpegasos info`` takes."""

from __future__ import annotations

import argparse

from kpegasos.cli.options.arguments import add_data_options, add_json_option

SUMMARY = "tell what is in a file of examples or of a model, and how long a fit would take"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what information takes."""
    parser.usage = "kpegasos info [options] FILE"
    parser.epilog = "Whether FILE is a model its content tells, not its name."
    parser.add_argument(
        "file", metavar="FILE", help="examples, or a model of kpegasos or LIBSVM; - is examples"
    )
    parser.add_argument(
        "--forecast",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="try a part of the examples to forecast what 'kpegasos train FILE' takes; yes unless "
        "--no-forecast",
    )
    add_data_options(parser)
    add_json_option(parser)
