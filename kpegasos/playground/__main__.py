"""``python -m kpegasos.playground [data.csv]``: what ``kpegasos playground`` is as well."""

from __future__ import annotations

import sys

from kpegasos.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["playground", *sys.argv[1:]]))
