"""``kpegasos tune``: the search over C and gamma."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from sklearn.pipeline import make_pipeline

from kpegasos import PegasosSVCCV
from kpegasos.cli import files, train
from kpegasos.cli.main import INTERRUPTED, STANDARD, UsageError


def run(options: argparse.Namespace) -> int:
    """Search, write the best model, and say what was found; returns the exit status."""
    if options.kernel in ("sigmoid", "precomputed"):
        raise UsageError(f"-t must be 0, 1 or 2 for a search, got {options.kernel}")
    place = files.place_of(options) if options.model else None
    files.check_output("MODEL", place, options.data)
    examples = files.read_examples(options)
    X, y = examples.X, files.labels_of(examples, options.data, numbers=False)
    search = PegasosSVCCV(
        degrees=[options.degree],
        coef0s=[options.coef0],
        cv=train.folds_for(y, options.folds, options.random_state),
        class_weight=train.class_weight_of(options.weight, y),
        refit=place is not None,
        verbose=not options.quiet and sys.stderr.isatty(),
    )
    search.set_params(**train.given_parameters(options, search))
    whole = train.with_scaling(search, options.scale, X)
    begin = time.perf_counter()
    interrupted = train.is_interrupted(whole, lambda: whole.fit(X, y))
    best = getattr(search, "best_estimator_", None)
    if best is not None and place is not None:
        best.verbose = False
        files.write_model(place, best if whole is search else make_pipeline(whole[0], best))
    if not options.quiet:
        _report(search, time.perf_counter() - begin, options)
    if interrupted:
        gaps = search.relative_gaps_
        done = f"{np.count_nonzero(~np.isnan(gaps))} of {gaps.size} cells"
        print(f"kpegasos tune: stopped by Ctrl-C after {done}", file=sys.stderr)
        return INTERRUPTED
    if not hasattr(search, "best_params_"):
        raise ValueError("--max-time was too short for a cell to be complete in all folds")
    return 0


def _report(search: PegasosSVCCV, seconds: float, options: argparse.Namespace) -> None:
    """Print what was found, on the standard output if nothing else goes there.

    A line for each cell, and last that of LIBSVM's grid.py, such as "8.0 0.03125 94.8": the chosen
    values and the percentage of held-out examples that are right.
    """
    out = sys.stderr if options.model == STANDARD else sys.stdout
    results, best = search.cv_results_, getattr(search, "best_params_", None)
    model = getattr(search, "best_estimator_", None)
    if options.json:
        facts = {"status": search.status_, "seconds": seconds, "best_parameters": best}
        facts["model"] = None if model is None else train.facts_of_model(model)
        files.print_json(facts | {"cells": results}, out)
        return
    for row, parameters in enumerate(results["params"]):
        named = " ".join(f"{name}={value:g}" for name, value in parameters.items())
        score, gap = results["mean_test_score"][row], results["max_relative_gap"][row]
        print(f"{named}: {100.0 * score:g}% right, {train.gap_text(gap)}", file=out)
    if best is not None:
        print(*map(repr, best.values()), f"{100.0 * search.best_score_:g}", file=out)
    if model is not None:
        print(train.closing_line(model, search.refit_time_, options.tol), file=out)
