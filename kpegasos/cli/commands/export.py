"""``kpegasos export``: a model for other programs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from kpegasos.cli.model_files import NATIVE, core_of, read_model, steps_before
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.options.export import MODEL_FORMATS
from kpegasos.cli.output_files import STANDARD, check_outputs, write_by
from kpegasos.exports.native import save

#: Names of formats in sentences.
_TITLES = {"libsvm": "LIBSVM's format", "onnx": "ONNX"}


def run(options: argparse.Namespace) -> int:
    """Read a model and write it; returns the exit status."""
    format = _format_of(options)
    check_outputs({"OUT": options.out}, options.model)
    model = read_model(options.model).estimator
    write_by(options.out, _writer(model, format, options.model), MODEL_FORMATS[format])
    if not options.quiet and options.out != STANDARD:
        print(f"{options.out}: {type(core_of(model)).__name__} as {format}")
    return 0


def _format_of(options: argparse.Namespace) -> str:
    """The format that is asked for, or that of the name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if options.format is not None:
        return str(options.format)
    ending = os.path.splitext(options.out)[1].lower()
    for name, known in MODEL_FORMATS.items():
        if ending == known:
            return name
    raise UsageError(
        f"--format must be given unless OUT ends in {', '.join(MODEL_FORMATS.values())}, got "
        f"{options.out!r}"
    )


def _writer(model: Any, format: str, path: str) -> Callable[[str], None]:
    """A function that writes the model under a name.

    Raises
    ------
    ValueError
        If the format has no place for what is around the model.
    """
    if format == NATIVE:
        return lambda name: save(model, name)
    if steps := steps_before(model):
        raise ValueError(
            f"{path}: {_TITLES[format]} has no place for {', '.join(steps)}; train on what "
            f"'kpegasos scale' writes instead"
        )
    if hasattr(model, "calibrated_classifiers_"):
        write = getattr(core_of(model), f"to_{format}")
        return lambda name: write(name, calibrated=model)
    method = getattr(model, f"to_{format}", None)
    if method is None:
        raise ValueError(f"{path}: {_TITLES[format]} has no {type(model).__name__}")
    writer: Callable[[str], None] = method
    return writer
