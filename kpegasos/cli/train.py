"""``kpegasos train``: fit a model to a file, write it, and say how good it is."""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR, make_kernel
from kpegasos.cli import files
from kpegasos.cli.main import INTERRUPTED, STANDARD, UsageError
from kpegasos.cli.predict import score_lines, scores_of
from kpegasos.estimators.base import set_sigmoids
from kpegasos.exports.libsvm import Sigmoids

#: Folds for the decisions that sigmoids are fitted to, as LIBSVM has; fewer of smaller classes.
_MOST_FOLDS = 5


def run(options: argparse.Namespace) -> int:
    """Train as the options say; returns the exit status."""
    if options.regression and (options.weight or options.probability):
        raise UsageError("-wLABEL and -b 1 must be of a classifier, and -s 3 is none")
    if options.scale and options.kernel == "precomputed":
        raise UsageError("--scale must be of features, and -t 4 has none")
    place = files.place_of(options) if options.folds is None else None
    files.check_output("MODEL", place, options.data)
    X, y = _examples(options)
    estimator = _estimator(options, y)
    model = with_scaling(estimator, options.scale, X)
    if place is None:
        _cross_validate(model, X, y, options)
        return 0
    folds = _folds_of_sigmoids(y, options.random_state) if options.probability else None
    estimator.verbose = not options.quiet and sys.stderr.isatty()
    begin = time.perf_counter()
    interrupted = is_interrupted(model, lambda: model.fit(X, y))
    estimator.verbose = False
    if folds and not interrupted:
        interrupted = is_interrupted(model, lambda: _give_probabilities(model, X, y, folds))
    files.write_model(place, model)
    if not options.quiet:
        facts = {"seconds": time.perf_counter() - begin, "interrupted": interrupted}
        _report(model, place, facts, options)
    return INTERRUPTED if interrupted else 0


def _examples(options: argparse.Namespace) -> tuple[Any, np.ndarray]:
    """Read X and y; of a precomputed kernel X is the square matrix of its values."""
    if options.kernel != "precomputed":
        examples = files.read_examples(options)
    else:
        examples, numbers = files.read_kernel_values(options)
        if not np.array_equal(numbers, np.arange(1, numbers.size + 1)):
            raise ValueError(f"{options.data}: examples must be numbered from 1 on, in order")
    return examples.X, files.labels_of(examples, options.data, numbers=options.regression)


def _estimator(options: argparse.Namespace, y: np.ndarray) -> Any:
    """Make an estimator; the linear kernel has one that goes through the primal vector."""
    kinds: Any = (PegasosSVC, LinearPegasosSVC), (PegasosSVR, LinearPegasosSVR)
    estimator = kinds[options.regression][options.kernel == "linear"](
        fit_intercept="free", polish=True
    )
    estimator.set_params(**given_parameters(options, estimator))
    if not options.regression:
        estimator.set_params(class_weight=class_weight_of(options.weight, y))
    if options.kernel in ("poly", "sigmoid"):
        kernel = make_kernel(options.kernel, gamma=1.0, degree=options.degree, coef0=options.coef0)
        if not kernel.positive_definite:
            estimator.set_params(polish=False, tol=None)
    return estimator


def _folds_of_sigmoids(y: np.ndarray, seed: int) -> Any:
    """Make the folds for ``-b 1``, or refuse before the training what is too few."""
    fewest = int(np.unique(y, return_counts=True)[1].min())
    return folds_for(y, min(max(fewest, 2), _MOST_FOLDS), seed, option="-b")


def _give_probabilities(model: Any, X: Any, y: np.ndarray, folds: Any) -> None:
    """Fit a sigmoid to held-out decisions of each pair of classes, as LIBSVM does."""
    alike = clone(model)
    if len(model.classes_) > 2:
        files.core_of(alike).set_params(decision_function_shape="ovo")
    decisions = cross_val_predict(alike, X, y, cv=folds, method="decision_function")
    classes, decisions = np.unique(y), decisions.reshape(y.size, -1)
    pairs = [(1, 0)] if classes.size == 2 else list(combinations(range(classes.size), 2))
    curves = []
    for column, (positive, other) in zip(decisions.T, pairs, strict=True):
        inside = np.isin(y, classes[[positive, other]])
        curves.append(_sigmoid_of(column[inside], y[inside] == classes[positive]))
    set_sigmoids(files.core_of(model), Sigmoids(*np.array(curves).T))


def _sigmoid_of(decisions: np.ndarray, is_positive: np.ndarray) -> tuple[float, float]:
    """Fit slope and offset of a sigmoid, by Platt's shares: nobody is certain of his own class."""
    from sklearn.linear_model import LogisticRegression  # which takes a while, for -b 1 alone

    n_positive, n_others = np.count_nonzero(is_positive), np.count_nonzero(~is_positive)
    shares = np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_others + 2))
    scale = float(np.abs(decisions).max()) or 1.0
    curve = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(
        np.tile(decisions / scale, 2)[:, None],
        np.repeat([1, 0], decisions.size),
        np.concatenate([shares, 1.0 - shares]),
    )
    return curve.coef_.item() / scale, curve.intercept_.item()


def _cross_validate(model: Any, X: Any, y: np.ndarray, options: argparse.Namespace) -> None:
    """Print the score of held-out predictions, as ``svm-train -v``."""
    regression = options.regression
    folds = folds_for(y, options.folds, options.random_state, regression=regression)
    scores = scores_of(y, cross_val_predict(model, X, y, cv=folds), regression=regression)
    if options.json:
        files.print_json({**scores, "folds": options.folds}, sys.stdout)
    else:
        print(*score_lines(scores, held_out=True), sep="\n")


# --- what a search shares ---


def given_parameters(options: argparse.Namespace, estimator: Any) -> dict[str, Any]:
    """Pick the options that are parameters of an estimator and given, by their `dest`."""
    names = estimator.get_params().keys() & vars(options).keys()
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def with_scaling(estimator: Any, scale: str | None, X: Any) -> Any:
    """Put an estimator behind a scaling of the features; sparse ones keep their zeros.

    Raises
    ------
    ValueError
        If the scaling would make the zeros of sparse data others.
    """
    if scale is None:
        return estimator
    if scale == "minmax" and sparse.issparse(X):
        raise ValueError("--scale must be maxabs or standard for sparse data, got minmax")
    scalers = {
        "minmax": MinMaxScaler(feature_range=(-1.0, 1.0)),
        "standard": StandardScaler(with_mean=not sparse.issparse(X)),
        "maxabs": MaxAbsScaler(),
    }
    return make_pipeline(scalers[scale], estimator)


def class_weight_of(weights: list[tuple[str, float]], y: np.ndarray) -> dict[Any, float] | None:
    """Look up class weights by the labels that the data have; one that they lack is told.

    Raises
    ------
    UsageError
        If a label is a text, and those of the data are numbers.
    """
    factors = {}
    for text, factor in weights:
        try:
            label = text if y.dtype.kind == "U" else float(text)
        except ValueError:
            raise UsageError(f"-w{text} must name a class, and classes are numbers") from None
        if label in y:
            factors[y[y == label][:1].tolist()[0]] = factor
        else:
            warnings.warn(f"no example has the label {text} of -w{text}", stacklevel=1)
    return factors or None


def folds_for(
    y: np.ndarray, n_folds: int, seed: int, *, option: str = "-v", regression: bool = False
) -> Any:
    """Make folds of shuffled examples, with equal shares of the classes."""
    fewest = y.size if regression else int(np.unique(y, return_counts=True)[1].min())
    if fewest < n_folds:
        of = "" if regression else " of each class"
        raise ValueError(f"{option} must have {n_folds} examples{of}, got {fewest}")
    kind = KFold if regression else StratifiedKFold
    return kind(n_folds, shuffle=True, random_state=seed)


def is_interrupted(model: Any, work: Callable[[], object]) -> bool:
    """Do some work on a model, and tell whether Ctrl-C has ended it.

    Raises
    ------
    KeyboardInterrupt
        If there is no model yet.
    """
    try:
        # Progress bars are written to the standard output, which is for results here.
        with redirect_stdout(sys.stderr):
            work()
    except KeyboardInterrupt:
        try:
            check_is_fitted(files.core_of(model))
        except NotFittedError:
            raise KeyboardInterrupt from None
        return True
    return False


# --- what is said ---


def gap_text(gap: float) -> str:
    """Describe a certified relative gap, rounded up so that what it bounds is true."""
    if math.isnan(gap):
        return "without a certified gap"
    return f"within {100.6 * gap:.3g}% of the optimum (certified)"


def closing_line(model: Any, seconds: float, tol: float) -> str:
    """Describe how good a fitted model is, and what it took.

    Such as "objective 0.0521, within 0.8% of the optimum (certified), 39 support vectors, 1.3 s";
    of several pairs of classes the largest gap, and how many are larger than was asked for.
    """
    fitted = files.core_of(model)
    objectives, gaps = np.atleast_1d(fitted.objective_, fitted.relative_gap_)
    words = [f"objective {objectives[0]:.4g}", gap_text(gaps.max())]
    if gaps.size > 1:
        ends = f"{objectives.min():.4g} to {objectives.max():.4g}"
        words = [f"objectives {ends} of {gaps.size} pairs", f"each {gap_text(gaps.max())}"]
        words.append(f"{np.count_nonzero(gaps > tol)} beyond {100.0 * tol:g}%")
    words.append(f"{fitted.support_.size:,} support vectors")
    return ", ".join([*words, f"{seconds:.2f} s"])


def facts_of_model(model: Any) -> dict[str, Any]:
    """Return what ``--json`` tells of a fitted model, lists by pairs of classes."""
    fitted = files.core_of(model)
    names = ("objective", "duality_gap", "relative_gap", "n_steps")
    return {
        "estimator": type(fitted).__name__,
        "n_features": fitted.n_features_in_,
        "classes": getattr(fitted, "classes_", None),
        "n_support": fitted.support_.size if hasattr(fitted, "support_") else None,
        **{name: np.atleast_1d(getattr(fitted, f"{name}_")) for name in names},
    }


def _report(model: Any, place: str, facts: dict[str, Any], options: argparse.Namespace) -> None:
    """Print what has come of it, on the standard output if nothing else goes there."""
    out = sys.stderr if place == STANDARD else sys.stdout
    if options.json:
        files.print_json({"model": place, **facts, **facts_of_model(model)}, out)
        return
    line = closing_line(model, facts["seconds"], options.tol)
    if facts["interrupted"]:
        line += f"; stopped by Ctrl-C, the model reached so far is in {place}"
    print(line, file=out)
