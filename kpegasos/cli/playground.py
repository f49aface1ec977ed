"""``kpegasos playground``: the playground in a browser."""

from __future__ import annotations

import argparse

from kpegasos import cli

SUMMARY = "draw points in a browser, watch Pegasos train on them, see its certificate"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what the playground takes."""
    parser.add_argument("data", nargs="?", help="CSV: two columns of features and one of labels")
    parser.add_argument(
        "--port",
        type=cli.integer_from(0, 65_535),
        default=8765,
        help="8765 unless given; the next if taken",
    )
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1 unless given")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(options: argparse.Namespace) -> int:
    """Serve the playground until it is interrupted."""
    from pathlib import Path

    from kpegasos.playground.files import state_of_table
    from kpegasos.playground.server import serve

    state = None if options.data is None else state_of_table(Path(options.data))
    serve(state, host=options.host, port=options.port, open_browser=not options.no_browser)
    return 0
