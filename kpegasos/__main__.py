"""``python -m kpegasos``: the program."""

import sys

from kpegasos.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
