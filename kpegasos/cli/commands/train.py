"""``kpegasos train``: fit a model to a file, write it, and say how good it is."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from kpegasos.cli.chunked_files import is_read_in_chunks, survey, train_in_chunks
from kpegasos.cli.cross_validation import cross_validate
from kpegasos.cli.data_facts import UNEVEN, unevenness_of
from kpegasos.cli.data_files import (
    labels_of,
    read_data,
    read_kernel_values,
    refuse_missing,
    refuse_one_class,
)
from kpegasos.cli.estimators import check_options, make_estimator, with_scaling
from kpegasos.cli.fitting import Fit, run_fit, shows_progress
from kpegasos.cli.libsvm_lines import closing_lines
from kpegasos.cli.main import INTERRUPTED, UNREACHED
from kpegasos.cli.model_files import Place, core_of, place_of, write_model
from kpegasos.cli.output_files import STANDARD, check_outputs, write_lines
from kpegasos.cli.probabilities import calibrated, calibration_folds
from kpegasos.cli.reports import closing_line, facts_of, print_json, warnings_as_lines
from kpegasos.cli.trace_files import trace_lines
from kpegasos.utils.validation import shown

#: Certified relative gap unless another is asked for.
_TOL = 1e-2


def run(options: argparse.Namespace) -> int:
    """Train as the options say; returns the exit status."""
    with warnings_as_lines("train", quiet=options.quiet):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    check_options(options)
    in_chunks = is_read_in_chunks(options)
    _place(options, None)  # what the options alone rule out, before the data are read
    if in_chunks:
        found = survey(options)
        if found.labels is not None:
            _check_classes(found.labels, options)
        place = _place(options, found.labels)
        fit, y = train_in_chunks(make_estimator(options, found.labels), found, options), None
    else:
        X, y = _examples(options)
        if options.scale is None and options.kernel not in ("linear", "precomputed"):
            _tell_of_scales(X)
        estimator = with_scaling(make_estimator(options, y), options.scale, X)
        if options.folds is not None:
            return cross_validate(estimator, X, y, options)
        place = _place(options, y)
        fit = _fitted(estimator, X, y, options)
    write_model(place.path, fit.model, place.format)
    core = core_of(fit.model)
    if options.trace is not None:
        write_lines(options.trace, trace_lines(core))
    if not options.quiet:
        _report(fit, y, place, options)
    return _status(fit, options)


def _examples(options: argparse.Namespace) -> tuple[Any, np.ndarray]:
    """X and y of the data; of a precomputed kernel X is the square matrix of its values."""
    if options.kernel == "precomputed":
        K, y, numbers = read_kernel_values(options.data, options.data_format, options.label)
        if not (numbers == np.arange(1, y.size + 1)).all():
            raise ValueError(
                f"{options.data}: examples to train on must be numbered from 1 on, in order"
            )
        _check_classes(y, options)
        return K, y
    table = read_data(
        options.data,
        format=options.data_format,
        label=options.label,
        n_features=options.n_features,
    )
    refuse_missing(table, options.data)
    y = labels_of(table, options.data)
    _check_classes(y, options)
    return table.X, y


def _tell_of_scales(X: Any) -> None:
    """Warn of features that leave others without a say in the kernel."""
    times = unevenness_of(X)
    if times > UNEVEN:
        warnings.warn(
            f"the widest feature spans {times:,.3g} times the narrowest, which hardly counts in "
            "the kernel; scale them, by --scale standard",
            stacklevel=1,
        )


def _check_classes(y: np.ndarray, options: argparse.Namespace) -> None:
    """Check that labels are numbers for a regression, else classes, and more than one."""
    if options.regression:
        if y.dtype.kind in "OU":
            got = shown(y[:1].tolist()[0])
            raise ValueError(f"{options.data}: labels must be numbers for --regression, got {got}")
        return
    if y.dtype.kind == "f":
        broken = y[np.trunc(y) != y][:1]
        raise ValueError(
            f"{options.data}: labels of classes must be whole numbers or texts, got "
            f"{float(broken[0] if broken.size else y[0])!r}; --regression is for other numbers"
        )
    refuse_one_class(y, options.data)


def _place(options: argparse.Namespace, y: np.ndarray | None) -> Place:
    """Where the model goes; checked as far as it can be before training."""
    place = place_of(options, y)
    if options.folds is None:
        check_outputs({"MODEL": place.path, "--trace": options.trace}, options.data)
    return place


def _fitted(estimator: Any, X: Any, y: np.ndarray, options: argparse.Namespace) -> Fit:
    """Train, with progress on a terminal, and with probabilities if they are asked for."""
    folds = calibration_folds(y, options.seed) if options.probability else None
    core = core_of(estimator)
    core.verbose = shows_progress(options.quiet)
    fit = run_fit(estimator, lambda: estimator.fit(X, y), subcommand="train", quiet=options.quiet)
    core.verbose = False
    if folds is None or fit.interrupted:
        return fit
    return calibrated(fit, X, y, folds, options)


def _report(fit: Fit, y: np.ndarray | None, place: Place, options: argparse.Namespace) -> None:
    """Say what has come of it, on the standard output if nothing else goes there."""
    taken = STANDARD in (place.path, options.trace)
    out = sys.stderr if taken else sys.stdout
    if options.json:
        facts = {"model": place.path, "format": place.format, **facts_of(fit.model)}
        ended = {"seconds": fit.seconds, "interrupted": fit.interrupted}
        print_json({**facts, **ended, "reached": fit.reaches(_tol(options))}, out)
        return
    for line in _lines(fit, y, place):
        print(line, file=out)


def _lines(fit: Fit, y: np.ndarray | None, place: Place) -> Iterator[str]:
    core = core_of(fit.model)
    if y is not None:
        yield from closing_lines(core, y)
    last = closing_line(core, fit.seconds)
    if fit.interrupted:
        last += f"; stopped by Ctrl-C, the model reached so far is in {place.path}"
    yield last


def _tol(options: argparse.Namespace) -> float:
    return _TOL if options.tol is None else float(options.tol)


def _status(fit: Fit, options: argparse.Namespace) -> int:
    """The exit status; Ctrl-C counts before a tolerance that was not reached."""
    if fit.interrupted:
        return INTERRUPTED
    return UNREACHED if options.strict and not fit.reaches(_tol(options)) else 0
