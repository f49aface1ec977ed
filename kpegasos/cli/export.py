"""``kpegasos export``: a model for other programs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from kpegasos import cli

SUMMARY = "write a model for other programs: LIBSVM, ONNX"
USAGE = "kpegasos export [options] MODEL OUT"

#: Formats, and the endings of their names.
_ENDINGS = {"libsvm": ".model", "native": ".skops", "onnx": ".onnx"}
EPILOG = """\
The format follows from the name of OUT: .model (libsvm), .skops (native), .onnx (onnx), which needs
the extra 'onnx'."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what an export takes."""
    parser.add_argument("model", metavar="MODEL", help="of kpegasos or LIBSVM")
    parser.add_argument("out", metavar="OUT", help="file to write; - is the standard output")
    parser.add_argument("--format", choices=tuple(_ENDINGS), help="of OUT")
    cli.add_report_options(parser, "quiet")


def run(options: argparse.Namespace) -> int:
    """Read a model and write it; returns the exit status."""
    ending = os.path.splitext(options.out)[1].lower()
    format = options.format or {known: name for name, known in _ENDINGS.items()}.get(ending)
    if format is None:
        known = ", ".join(_ENDINGS.values())
        raise cli.UsageError(
            f"--format must be given unless OUT ends in {known}, got {options.out!r}"
        )
    cli.files.check_outputs({"OUT": options.out}, options.model)
    model = cli.models.read_model(options.model).estimator
    _check(model, format, options.model)
    cli.models.write_model(cli.models.Place(options.out, format), model)
    if not options.quiet and options.out != cli.STANDARD:
        print(f"{options.out}: {type(cli.models.core_of(model)).__name__} as {format}")
    return 0


def _check(model: Any, format: str, path: str) -> None:
    """Check that a format has a place for what is around a model."""
    title = {"libsvm": "LIBSVM's format", "onnx": "ONNX", "native": ""}[format]
    if not title:
        return
    steps = cli.models.steps_before(model)
    if steps and not (format == "onnx" and hasattr(model, "steps")):
        raise ValueError(
            f"{path}: {title} has no place for {', '.join(steps)}; train on what 'kpegasos scale' "
            f"writes instead"
        )
    inner = model[-1] if hasattr(model, "steps") else model
    if inner is model and hasattr(model, "calibrated_classifiers_"):
        inner = cli.models.core_of(model)
    if not hasattr(inner, f"to_{format}"):
        raise ValueError(f"{path}: {title} has no {type(inner).__name__}")
