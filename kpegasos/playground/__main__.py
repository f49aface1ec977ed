"""``python -m kpegasos.playground [data.csv]``: the playground in a browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kpegasos.playground.files import state_of_table
from kpegasos.playground.server import serve


def main() -> None:
    """Serve the playground until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m kpegasos.playground",
        description="Draw points in a browser, watch Pegasos train on them, see its certificate.",
    )
    parser.add_argument("data", nargs="?", help="CSV: two columns of features and one of labels")
    parser.add_argument("--port", type=int, default=8765, help="8765 unless given")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1 unless given")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    try:
        state = None if options.data is None else state_of_table(Path(options.data))
        serve(state, host=options.host, port=options.port, open_browser=not options.no_browser)
    except (OSError, ValueError) as error:
        sys.exit(f"kpegasos.playground: {error}")


if __name__ == "__main__":
    main()
