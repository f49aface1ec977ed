"""``python -m kpegasos.playground [data.csv]``: the playground in a browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Serve the playground as the command line asks; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m kpegasos.playground",
        description="Draw points, watch Pegasos train on them, see its certificate.",
    )
    parser.add_argument(
        "table", nargs="?", type=Path, help="CSV: two columns of features and one of labels"
    )
    parser.add_argument("--port", type=int, default=8765, help="8765 unless given; 0 for any")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1 unless given")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    chosen = parser.parse_args(arguments)
    try:
        from kpegasos.playground.presets import state_of_table
        from kpegasos.playground.server import serve

        state = None if chosen.table is None else state_of_table(chosen.table)
        serve(state, host=chosen.host, port=chosen.port, open_browser=not chosen.no_browser)
    except ModuleNotFoundError as error:
        if error.name != "websockets":
            raise
        print(
            "The playground needs websockets: pip install 'kpegasos[playground]'", file=sys.stderr
        )
        return 1
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
