"""``kpegasos train``: fit a model to a file, write it, and say how good it is."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR, make_kernel
from kpegasos.cli import files, models
from kpegasos.cli.options import INTERRUPTED, STANDARD, UsageError
from kpegasos.cli.predict import score_lines, scores_of
from kpegasos.estimators.base import set_sigmoids
from kpegasos.model_selection.scoring import pair_sigmoids

#: Folds for the decisions that sigmoids are fitted to, as LIBSVM has; fewer of smaller classes.
_MOST_FOLDS = 5


def run(options: argparse.Namespace) -> int:
    """Train as the options say; returns the exit status."""
    regression = options.svm_type == 3
    if regression and (options.weight or options.probability):
        raise UsageError("-wLABEL and -b 1 must be of a classifier, and -s 3 is none")
    if options.scale and options.kernel == "precomputed":
        raise UsageError("--scale must be of features, and -t 4 has none")
    place = models.place_of(options) if options.folds is None else None
    files.check_output("MODEL", place, options.data)
    X, y = _examples(options, regression=regression)
    estimator = _estimator(options, y, regression=regression)
    model = models.with_scaling(estimator, options.scale, X)
    if place is None:
        _cross_validate(model, X, y, options, regression=regression)
        return 0
    estimator.verbose = not options.quiet and sys.stderr.isatty()
    begin = time.perf_counter()
    interrupted = models.is_interrupted(model, lambda: model.fit(X, y))
    estimator.verbose = False
    if options.probability and not interrupted:
        seed = options.random_state
        interrupted = models.is_interrupted(model, lambda: _give_probabilities(model, X, y, seed))
    models.write_model(place, model)
    if not options.quiet:
        facts = {"seconds": time.perf_counter() - begin, "interrupted": interrupted}
        _report(model, place, facts, options)
    return INTERRUPTED if interrupted else 0


def _examples(options: argparse.Namespace, *, regression: bool) -> tuple[Any, np.ndarray]:
    """Read X and y; of a precomputed kernel X is the square matrix of its values."""
    if options.kernel != "precomputed":
        examples = files.read_examples(options)
    else:
        examples, numbers = files.read_kernel_values(options)
        if not np.array_equal(numbers, np.arange(1, numbers.size + 1)):
            raise ValueError(f"{options.data}: examples must be numbered from 1 on, in order")
    return examples.X, files.labels_of(examples, options.data, numbers=regression)


def _estimator(options: argparse.Namespace, y: np.ndarray, *, regression: bool) -> Any:
    """Make an estimator; the linear kernel has one that goes through the primal vector."""
    kinds: Any = (PegasosSVC, LinearPegasosSVC), (PegasosSVR, LinearPegasosSVR)
    estimator = kinds[regression][options.kernel == "linear"](fit_intercept="free", polish=True)
    estimator.set_params(**models.given_parameters(options, estimator))
    if options.cache_mb is not None and options.kernel != "linear":
        estimator.set_params(cache="cached")  # rows that are not kept would be too slow
    if not regression:
        estimator.set_params(class_weight=models.class_weight_of(options.weight, y))
    if options.kernel in ("poly", "sigmoid"):
        kernel = make_kernel(options.kernel, gamma=1.0, degree=options.degree, coef0=options.coef0)
        if not kernel.positive_definite:
            estimator.set_params(polish=False, tol=None)
    return estimator


def _give_probabilities(model: Any, X: Any, y: np.ndarray, seed: int) -> None:
    """Give a fitted model sigmoids of held-out decisions."""
    fewest = int(np.unique(y, return_counts=True)[1].min())
    folds = models.folds_for(y, min(max(fewest, 2), _MOST_FOLDS), seed, option="-b")
    alike = clone(model)
    if len(model.classes_) > 2:
        models.core_of(alike).set_params(decision_function_shape="ovo")
    decisions = cross_val_predict(alike, X, y, cv=folds, method="decision_function")
    set_sigmoids(models.core_of(model), pair_sigmoids(decisions, y))


def _cross_validate(
    model: Any, X: Any, y: np.ndarray, options: argparse.Namespace, *, regression: bool
) -> None:
    """Print the score of held-out predictions, as ``svm-train -v``."""
    folds = models.folds_for(y, options.folds, options.random_state, regression=regression)
    scores = scores_of(y, cross_val_predict(model, X, y, cv=folds), regression=regression)
    if options.json:
        files.print_json({**scores, "folds": options.folds}, sys.stdout)
    else:
        print(*score_lines(scores, held_out=True), sep="\n")


def _report(model: Any, place: str, facts: dict[str, Any], options: argparse.Namespace) -> None:
    """Say what has come of it, on the standard output if nothing else goes there."""
    out = sys.stderr if place == STANDARD else sys.stdout
    if options.json:
        files.print_json({"model": place, **facts, **models.facts_of_model(model)}, out)
        return
    line = models.closing_line(model, facts["seconds"], options.tol)
    if facts["interrupted"]:
        line += f"; stopped by Ctrl-C, the model reached so far is in {place}"
    print(line, file=out)
