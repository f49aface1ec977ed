"""What ``kpegasos export`` takes."""

from __future__ import annotations

import argparse

SUMMARY = "write a model for other programs: LIBSVM, ONNX"

#: Formats, and the endings of their names.
MODEL_FORMATS = {
    "libsvm": ".model",
    "native": ".skops",
    "onnx": ".onnx",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what an export takes."""
    endings = ", ".join(f"{ending} ({name})" for name, ending in MODEL_FORMATS.items())
    parser.usage = "kpegasos export [options] MODEL OUT"
    parser.epilog = (
        f"The format follows from the name of OUT: {endings}. onnx needs the extra 'onnx'."
    )
    parser.add_argument("model", metavar="MODEL", help="of kpegasos or LIBSVM")
    parser.add_argument("out", metavar="OUT", help="file to write; - is the standard output")
    parser.add_argument("--format", choices=tuple(MODEL_FORMATS), help="of OUT")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
