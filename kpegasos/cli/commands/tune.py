"""``kpegasos tune``: the search over C and the kernel's parameters."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase
from sklearn.pipeline import make_pipeline

from kpegasos.cli.cross_validation import folds_for
from kpegasos.cli.data_files import labels_of, read_data, refuse_missing, refuse_one_class
from kpegasos.cli.estimators import with_scaling
from kpegasos.cli.fitting import Fit, run_fit, shows_progress
from kpegasos.cli.main import INTERRUPTED, UNREACHED
from kpegasos.cli.model_files import Place, place_of, write_model
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.output_files import STANDARD, check_outputs, write_by, write_lines
from kpegasos.cli.reports import closing_line, facts_of, print_json, worst_gap
from kpegasos.cli.search_reports import (
    best_line,
    cell_lines,
    certified_line,
    facts_of_search,
    picture_of,
    results_lines,
)
from kpegasos.exports.native import load, save
from kpegasos.model_selection import PegasosSVCCV
from kpegasos.model_selection._scoring import make_scorer_of
from kpegasos.model_selection._search_steps import OtherSearchError
from kpegasos.utils.files import write_whole


def run(options: argparse.Namespace) -> int:
    """Search, write what is asked for, and say what was found; returns the exit status."""
    _check(options)
    table = read_data(options.data, format=options.data_format, label=options.label)
    X, y = table.X, labels_of(table, options.data)
    refuse_missing(table, options.data)
    refuse_one_class(y, options.data)
    place = _place(options, y)
    folds = list(folds_for(y, options.folds, options.seed).split(X, y))
    search = _search_of(folds, options)
    fit = _fitted(search, X, y, options)
    _write(search, fit, place, options)
    if not options.quiet:
        _report(search, fit, options)
    if fit.interrupted:
        _say_interrupted(search, options)
        return INTERRUPTED
    if not hasattr(search, "best_params_"):
        raise ValueError("--max-time was too short for a cell to be complete in all folds")
    return UNREACHED if options.strict and not _has_reached_tol(search) else 0


# --- before the search ---


def _check(options: argparse.Namespace) -> None:
    """Find out before long work what cannot be done.

    Raises
    ------
    UsageError, OSError, ValueError
    """
    try:
        make_scorer_of(options.metric)
    except ValueError as error:
        raise UsageError(str(error).replace("scoring", "--metric", 1)) from None
    _check_plot(options)
    if options.resume == STANDARD:
        raise UsageError("--resume must be the name of a file, got '-'")
    place = _place(options, None)
    others = {f"--{name}": getattr(options, name) for name in ("resume", "results", "plot")}
    check_outputs({"MODEL": place and place.path, **others}, options.data)


def _check_plot(options: argparse.Namespace) -> None:
    if options.plot is None:
        return
    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if _suffix(options.plot) not in known:
        raise UsageError(f"--plot must end in one of {', '.join(known)}, got {options.plot!r}")
    if options.Cs is not None and len(options.Cs) < 2:
        raise UsageError("--plot must come with at least two values of C, got one")


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower().removeprefix(".")


def _place(options: argparse.Namespace, y: np.ndarray | None) -> Place | None:
    """Where the model goes, if it goes anywhere.

    Raises
    ------
    UsageError
        If LIBSVM's format is asked for and cannot say the model.
    """
    return None if options.model is None else place_of(options, y)


# --- the search ---


def _search_of(folds: list[tuple[Any, Any]], options: argparse.Namespace) -> PegasosSVCCV:
    """The search that was asked for, with what is done of it.

    Parameters
    ----------
    folds : list of tuple of ndarray
        Indices, which can be kept beside what is done.
    options : argparse.Namespace

    Raises
    ------
    OSError, ValueError
        Naming the file that is to be gone on from.
    """
    parameters: dict[str, Any] = {
        "kernel": options.kernel,
        "degrees": options.degrees,
        "coef0s": options.coef0s,
        "cv": folds,
        "scoring": options.metric,
        "refit": options.model is not None,
        "tol": options.tol,
        "max_time": options.max_time,
        "cache_mb": "auto" if options.memory is None else options.memory,
        "n_jobs": options.jobs,
        "warm_start": options.resume is not None,
        "verbose": shows_progress(options.quiet),
        "random_state": options.seed,
    }
    given = {name: getattr(options, name) for name in ("Cs", "gammas")}
    parameters |= {name: values for name, values in given.items() if values is not None}
    path = options.resume
    if path is None or not os.path.exists(path):
        return PegasosSVCCV(**parameters)
    earlier = load(path)
    if not isinstance(earlier, PegasosSVCCV) or getattr(earlier, "_states", None) is None:
        raise ValueError(
            f"{path}: must be what --resume has written, got a {type(earlier).__name__}"
        )
    # Parameters that are not given have their defaults, whatever they were.
    return earlier.set_params(**{**PegasosSVCCV().get_params(), **parameters})


def _fitted(search: PegasosSVCCV, X: Any, y: np.ndarray, options: argparse.Namespace) -> Fit:
    """Search, and keep what is done; the model is the best one, behind its scaling.

    Raises
    ------
    KeyboardInterrupt
        If it came before there was anything to keep.
    ValueError
        If the file to go on from holds another search.
    """
    whole = with_scaling(search, options.scale, X)
    try:
        fit = run_fit(whole, lambda: whole.fit(X, y), subcommand="tune", quiet=options.quiet)
    except OtherSearchError:
        raise ValueError(
            f"{options.resume}: holds another search; data, values, folds, metric, kernel and "
            f"--tol must be the same"
        ) from None
    search.verbose = False  # of this call, and no part of what is kept
    if options.resume is not None:
        save(search, options.resume)
    best = getattr(search, "best_estimator_", None)
    if best is None:
        return fit._replace(model=None)
    best.verbose = False
    return fit._replace(model=best if whole is search else make_pipeline(whole[0], best))


def _write(
    search: PegasosSVCCV, fit: Fit, place: Place | None, options: argparse.Namespace
) -> None:
    """Write the model, the table and the picture, as far as they are asked for and there."""
    if place is not None and fit.model is not None:
        write_model(place.path, fit.model, place.format)
    if options.results is not None:
        write_lines(options.results, results_lines(search))
    if options.plot is not None and hasattr(search, "best_params_"):
        picture = picture_of(search, _suffix(options.plot))
        write_by(options.plot, lambda name: write_whole(name, [picture]))


# --- what is said ---


def _report(search: PegasosSVCCV, fit: Fit, options: argparse.Namespace) -> None:
    """Say what was found, on the standard output if nothing else goes there."""
    taken = STANDARD in (options.model, options.results)
    out = sys.stderr if taken else sys.stdout
    if options.json:
        model = {} if fit.model is None else {"model": facts_of(fit.model)}
        print_json({**facts_of_search(search), "seconds": fit.seconds, **model}, out)
        return
    if out.isatty():
        for line in cell_lines(search):
            print(line, file=out)
    if hasattr(search, "best_params_"):
        print(best_line(search), file=out)
    print(certified_line(search, fit.seconds), file=out)
    if fit.model is not None:
        print(closing_line(fit.model, search.refit_time_), file=out)


def _say_interrupted(search: PegasosSVCCV, options: argparse.Namespace) -> None:
    kept = f", {options.resume} has what is done" if options.resume is not None else ""
    n_missing, n_cells = len(search.missing_), search.scores_.size
    print(
        f"kpegasos tune: stopped by Ctrl-C with {n_missing} of {n_cells} cells missing{kept}",
        file=sys.stderr,
    )


def _has_reached_tol(search: PegasosSVCCV) -> bool:
    """Whether all cells are done, and they and the model are certified to the tolerance."""
    gap = worst_gap(search.best_estimator_) if hasattr(search, "best_estimator_") else 0.0
    # NaN, where nothing is certified, has not been reached.
    cells = bool((search.relative_gaps_ <= search.tol).all())
    return not search.missing_ and cells and gap <= search.tol
