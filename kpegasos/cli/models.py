"""Models that are read, trained, written, and what is said of them.

A model's file is LIBSVM's text or skops' archive, told apart by its content.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

import kpegasos
from kpegasos import PegasosSVC, PegasosSVR
from kpegasos.cli.files import is_table, write_by
from kpegasos.cli.options import STANDARD, UsageError
from kpegasos.exports.libsvm import CLASSIFIERS, REGRESSORS
from kpegasos.exports.native import require_skops
from kpegasos.utils.files import is_stream

#: How the name of a model ends that skops writes, and how its content begins.
_ENDING, _ZIP = ".skops", b"PK"

# --- models in files ---


def place_of(options: argparse.Namespace) -> str:
    """Find out where a model goes, before it is trained.

    LIBSVM's text is written unless the name ends in ``.skops``, or there is no name and the model
    has what LIBSVM's format has not.

    Raises
    ------
    UsageError
        If LIBSVM's format has no place for the model.
    ImportError
        If skops is to write it, and is not there.
    """
    named = "stdin" if options.data == STANDARD else os.path.basename(options.data)
    needs = "scaling" if options.scale else "names of columns" if is_table(options.data) else None
    path = str(options.model or f"{named}{_ENDING if needs else '.model'}")
    if path.endswith(_ENDING):
        require_skops()
    elif needs:
        raise UsageError(f"LIBSVM's format has no {needs}: let MODEL end in {_ENDING}, got {path}")
    return path


def write_model(path: str, model: Any) -> None:
    """Write a fitted model, whole or not at all."""
    native = path.endswith(_ENDING)
    write_by(path, lambda name: kpegasos.save(model, name) if native else model.to_libsvm(name))


@contextmanager
def plain_file(path: str) -> Iterator[str]:
    """Give the path of a plain file with the content of a pipe, or of the standard input."""
    if path != STANDARD and not is_stream(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "model")
        copy.write_bytes(sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes())
        yield str(copy)


def read_model(path: str, n_features: int | None = None) -> tuple[Any, list[int] | None]:
    """Read a model, whose format its content tells.

    Parameters
    ----------
    path : str
    n_features : int, default=None
        Columns of the data, of which a LIBSVM file says nothing.

    Returns
    -------
    tuple of (BaseEstimator, list of int or None)
        A fitted estimator of this package, or a pipeline with it, and the classes in the order of
        a LIBSVM file; None of one of skops.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    with open(path, "rb") as file:
        head = file.read(2**16)
    if head.startswith(_ZIP):
        return kpegasos.load(path), None
    lines = head.partition(b"\nSV")[0].decode("ascii", "replace").splitlines()
    header = {words[0]: words[1:] for words in map(str.split, lines) if words}
    kind = " ".join(header.get("svm_type", []))
    if kind not in (*CLASSIFIERS, *REGRESSORS):
        known = ", ".join((*CLASSIFIERS, *REGRESSORS))
        raise ValueError(f"{path}: must be a model of skops, or of LIBSVM with svm_type {known}")
    model = (PegasosSVC if kind in CLASSIFIERS else PegasosSVR).from_libsvm(path, n_features)
    return model, [int(word) for word in header.get("label", [])]


def core_of(model: Any) -> Any:
    """Find the estimator of this package behind a scaling."""
    return model[-1] if hasattr(model, "steps") else model


# --- models that are trained ---


def given_parameters(options: argparse.Namespace, estimator: Any) -> dict[str, Any]:
    """Pick the options that are parameters of an estimator and given, by their `dest`."""
    known, given = estimator.get_params(), vars(options).items()
    return {name: value for name, value in given if name in known and value is not None}


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
    found = {}
    for text, factor in weights:
        try:
            label = text if y.dtype.kind == "U" else float(text)
        except ValueError:
            raise UsageError(f"-w{text} must name a class, and classes are numbers") from None
        if label in y:
            found[y[y == label][:1].tolist()[0]] = factor
        else:
            warnings.warn(f"no example has the label {text} of -w{text}", stacklevel=1)
    return found or None


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
            check_is_fitted(core_of(model))
        except NotFittedError:
            raise KeyboardInterrupt from None
        return True
    return False


# --- what is said of models ---


def worst_gap(model: Any) -> float:
    """Return the largest certified relative gap of the pairs of classes; NaN if one has none."""
    return float(np.max(core_of(model).relative_gap_))


def _percent(share: float) -> str:
    """Say a share as a percentage of two digits, rounded up so that what it bounds is true."""
    unit = 10.0 ** (math.floor(math.log10(100.0 * share)) - 1) if share > 0.0 else 1.0
    return f"{math.ceil(100.0 * share / unit) * unit:.3g}%"


def closing_line(model: Any, seconds: float, tol: float) -> str:
    """Say how good a fitted model is, and what it took.

    Such as "objective 0.0521, within 0.8% of the optimum (certified), 39 support vectors, 1.3 s".
    """
    fitted, worst = core_of(model), worst_gap(model)
    objectives, gaps = np.atleast_1d(fitted.objective_, fitted.relative_gap_)
    words = [f"objective {objectives[0]:.4g}"]
    if gaps.size > 1:
        words = [
            f"objectives {objectives.min():.4g} to {objectives.max():.4g} of {gaps.size} pairs"
        ]
        if short := int((gaps > tol).sum()):
            words.append(f"{short} of them beyond {_percent(tol)}")
    if math.isnan(worst):
        words.append("without a certified gap")
    elif worst >= 0.5:  # which is no longer nearly a share of the optimum
        words.append(f"with a certified relative gap of {'at most ' * (gaps.size > 1)}{worst:.2g}")
    else:
        words.append(
            f"{'all ' * (gaps.size > 1)}within {_percent(worst)} of the optimum (certified)"
        )
    if hasattr(fitted, "support_"):
        words.append(f"{fitted.support_.size:,} support vectors")
    return ", ".join([*words, f"{seconds:.2f} s"])


def facts_of_model(model: Any) -> dict[str, Any]:
    """Return what ``--json`` tells of a fitted model, lists by pairs of classes."""
    fitted = core_of(model)
    names = ("objective", "duality_gap", "relative_gap", "n_steps")
    return {
        "estimator": type(fitted).__name__,
        "n_features": fitted.n_features_in_,
        "classes": getattr(fitted, "classes_", None),
        "n_support": fitted.support_.size if hasattr(fitted, "support_") else None,
        **{name: np.atleast_1d(getattr(fitted, f"{name}_")) for name in names},
    }
