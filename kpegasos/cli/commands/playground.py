"""``kpegasos playground``: the playground in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from kpegasos.playground.presets import state_of_table
from kpegasos.playground.server import serve


def run(arguments: argparse.Namespace) -> int:
    """Serve the playground until it is interrupted."""
    state = None if arguments.data is None else state_of_table(Path(arguments.data))
    serve(state, host=arguments.host, port=arguments.port, open_browser=not arguments.no_browser)
    return 0
