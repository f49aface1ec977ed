"""Models that are read, trained, written, and what is said of them.

A model file is LIBSVM's text or a native file, told apart by its content; what of a model a format
can say is the affair of `kpegasos.exports`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import kpegasos
from kpegasos.cli import LIBSVM_KERNELS, STANDARD, UsageError
from kpegasos.cli.files import counted, percent, shown_seconds, write_by
from kpegasos.exports.libsvm import CLASSIFIERS, REGRESSORS
from kpegasos.exports.native import require_skops
from kpegasos.utils.files import is_stream

# --- models in files ---

LIBSVM, NATIVE = "libsvm", "native"
#: With which a zip archive begins, as a native file is one.
_ZIP = b"PK"


class ModelFile(NamedTuple):
    """A model that was read.

    Attributes
    ----------
    estimator : BaseEstimator
        Fitted: one of this package, or one of scikit-learn around it.
    format : {"libsvm", "native"}
    labels : list of int or None
        The classes in the order of a LIBSVM file.
    """

    estimator: Any
    format: str
    labels: list[int] | None = None


class Place(NamedTuple):
    """The path and the format of a model: libsvm, native or onnx."""

    path: str
    format: str


def place_of(options: argparse.Namespace, labels: np.ndarray | None) -> Place:
    """Find out where a model goes: without a word LIBSVM's format, if it can say the model.

    Parameters
    ----------
    options : argparse.Namespace
        Those of ``kpegasos train``.
    labels : ndarray or None
        Labels of the examples, if they are known.

    Raises
    ------
    UsageError
        If LIBSVM's format is asked for and cannot say the model.
    ImportError
        If the format is native, and its package is not there.
    """
    lacking = _lacking(options, labels)
    format = options.format
    if format is None and options.model not in (None, STANDARD):
        ending = os.path.splitext(options.model)[1]
        if ending == ".onnx":  # which other programs read
            raise UsageError(
                f"MODEL must be a native file or LIBSVM's, got {options.model!r}; 'kpegasos "
                "export' writes onnx files"
            )
        format = LIBSVM if ending == ".model" else NATIVE
    format = format or (NATIVE if lacking else LIBSVM)
    if format == LIBSVM and lacking:
        raise UsageError(f"LIBSVM's format has no {lacking}: choose --format native")
    if format == NATIVE:
        require_skops()
    if options.model is not None:
        return Place(options.model, format)
    name = "stdin" if options.data == STANDARD else os.path.basename(options.data)
    return Place(f"{name}.{'model' if format == LIBSVM else 'skops'}", format)


def _lacking(options: argparse.Namespace, labels: np.ndarray | None) -> str | None:
    """Name what LIBSVM's format cannot say of a model, None if it can say all."""
    if options.scale is not None:
        return "scaling"
    if options.kernel not in (*LIBSVM_KERNELS, "polynomial"):
        return f"kernel {options.kernel}"
    if labels is None or options.regression:
        return None
    if options.probability and options.loss != "log_loss" and np.unique(labels).size > 2:
        return "calibrated probabilities of more than two classes"
    if labels.dtype.kind in "biuf":
        numbers = labels.astype(np.float64)
        if (np.trunc(numbers) == numbers).all() and np.abs(numbers).max(initial=0) < 2**31:
            return None
    return "classes but integers"


def write_model(place: Place, estimator: Any) -> None:
    """Write a fitted model, whole or not at all; its calibration goes with it."""
    if place.format == NATIVE:
        write_by(place.path, lambda name: kpegasos.save(estimator, name))
        return
    if place.format == "onnx" and hasattr(estimator, "steps"):
        from kpegasos.exports.onnx import pipeline_to_onnx

        write_by(place.path, lambda name: pipeline_to_onnx(estimator, name))
        return
    writer, others = estimator, {}
    if hasattr(estimator, "calibrated_classifiers_"):
        writer, others = core_of(estimator), {"calibrated": estimator}
    write_by(place.path, lambda name: getattr(writer, f"to_{place.format}")(name, **others))


def _header(path: str) -> dict[bytes, list[bytes]]:
    """Read the words of LIBSVM's header by the first of each line."""
    with open(path, "rb") as file:
        head = file.read(2**16).removeprefix(b"\xef\xbb\xbf").partition(b"\nSV")[0]
    rows = (line.split() for line in reversed(head.splitlines()))
    return {words[0]: words[1:] for words in rows if words}


def _is_archive(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_ZIP)) == _ZIP


def is_model(path: str) -> bool:
    """Tell whether a file's content is that of a model, native or LIBSVM's.

    A pipe, which would be empty after a look, is none.
    """
    if is_stream(path):
        return False
    if not _is_archive(path):
        return b"svm_type" in _header(path)
    # An archive of NumPy's is none of skops.
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        return "schema.json" in archive.namelist()
    return False


def read_model(path: str) -> ModelFile:
    """Read a model, whose format its content tells.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    if is_stream(path):
        raise ValueError(f"{path}: a model must be in a plain file, got a pipe or a device")
    if _is_archive(path):
        return ModelFile(kpegasos.load(path), NATIVE)
    header = _header(path)
    if b"svm_type" not in header:
        raise ValueError(f"{path}: must be a model of kpegasos or LIBSVM, got another file")
    kind = b" ".join(header[b"svm_type"]).decode("ascii", "replace")
    if kind not in (*CLASSIFIERS, *REGRESSORS):
        known = ", ".join((*CLASSIFIERS, *REGRESSORS))
        raise ValueError(f"{path}: svm_type must be one of {known}, got {kind}")
    estimator_type: Any = kpegasos.PegasosSVC if kind in CLASSIFIERS else kpegasos.PegasosSVR
    estimator = estimator_type.from_libsvm(path)
    labels = [int(word) for word in header[b"label"]] if b"label" in header else None
    return ModelFile(estimator, LIBSVM, labels)


def layers_of(model: Any) -> list[Any]:
    """List a model, what it is around, and so on down to the estimator of this package."""
    layers = [model]
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "calibrated_classifiers_"):
            model = model.calibrated_classifiers_[0].estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return layers
        layers.append(model)


def core_of(model: Any) -> Any:
    """Find the estimator of this package inside a pipeline, a calibration or a search."""
    return layers_of(model)[-1]


def _transformers_of(model: Any) -> list[Any]:
    """List what is done to the features before the estimator of this package gets them."""
    pipelines = [layer for layer in layers_of(model) if hasattr(layer, "steps")]
    return [step for pipeline in pipelines for _, step in pipeline.steps[:-1]]


def steps_before(model: Any) -> list[str]:
    """Name what is done to the features before the estimator of this package gets them."""
    return [type(step).__name__ for step in _transformers_of(model)]


def needs_dense(model: Any) -> bool:
    """Tell whether a step before the estimator makes other numbers of zeros."""
    return any(
        getattr(step, "with_mean", type(step).__name__ == "MinMaxScaler")
        for step in _transformers_of(model)
    )


# --- models that are trained ---


def with_scaling(estimator: Any, scale: str | None, X: Any) -> Any:
    """Put an estimator behind a scaling of the features.

    Parameters
    ----------
    estimator : BasePegasos
    scale : {"minmax", "standard", "maxabs"} or None
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Of sparse data the mean is not taken off, so that zeros stay zeros.

    Raises
    ------
    ValueError
        If the scaling would make the zeros of sparse data others.
    """
    if scale is None:
        return estimator
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale == "minmax" and sparse.issparse(X):
        raise ValueError(
            "--scale must be maxabs or standard for sparse data, whose zeros minmax would fill"
        )
    scalers = {
        "minmax": MinMaxScaler(feature_range=(-1.0, 1.0)),
        "standard": StandardScaler(with_mean=not sparse.issparse(X)),
        "maxabs": MaxAbsScaler(),
    }
    return make_pipeline(scalers[scale], estimator)


def folds_for(y: np.ndarray, options: argparse.Namespace) -> Any:
    """Make the folds of ``-v``, of shuffled examples, with equal shares of the classes."""
    from sklearn.model_selection import KFold, StratifiedKFold

    regression, n_folds = bool(options.regression), options.folds
    fewest = y.size if regression else int(np.unique(y, return_counts=True)[1].min())
    if fewest < n_folds:
        of = "examples" if regression else "examples of each class"
        raise ValueError(f"--folds must be at most the number of {of}, {fewest}, got {n_folds}")
    kind = KFold if regression else StratifiedKFold
    return kind(n_folds, shuffle=True, random_state=options.random_state)


class Fit(NamedTuple):
    """The outcome of a fit.

    Attributes
    ----------
    model : BaseEstimator
        Fitted; the model reached so far if the fit was interrupted.
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    model: Any
    seconds: float
    interrupted: bool


def shows_progress(quiet: bool) -> bool:
    """Tell whether somebody looks at the standard error."""
    return not quiet and sys.stderr.isatty()


def run_fit(model: Any, fit: Callable[[], Any]) -> Fit:
    """Fit a model, and keep what Ctrl-C leaves of it.

    Parameters
    ----------
    model : BaseEstimator
    fit : callable
        ``fit()`` fits it.

    Raises
    ------
    KeyboardInterrupt
        If there is no model yet.
    """
    begin, interrupted = time.perf_counter(), False
    try:
        # Progress bars are written to the standard output, which is for results here.
        with redirect_stdout(sys.stderr):
            fit()
    except KeyboardInterrupt:
        try:
            check_is_fitted(core_of(model))
        except NotFittedError:
            raise KeyboardInterrupt from None
        interrupted = True
    return Fit(model, time.perf_counter() - begin, interrupted)


# --- what is said of models ---


def worst_gap(model: Any) -> float:
    """Return the largest certified relative gap of the pairs of classes; NaN if one has none."""
    return float(np.max(getattr(core_of(model), "relative_gap_", math.nan)))


def support_size(fitted: Any) -> int | None:
    """Count support vectors; None of a model that has kept none."""
    counts = getattr(fitted, "n_support_", None)
    return None if counts is None else int(np.sum(counts))


def objective_text(fitted: Any) -> str:
    """Say how good a fitted estimator is, such as "0.0521, within 0.8% of the optimum (certified)".

    Of several pairs of classes the least and the largest objective are said, and the worst gap.
    """
    objectives, gap = np.atleast_1d(fitted.objective_), worst_gap(fitted)
    shown = f"{float(objectives[0]):.4g},"
    if objectives.size > 1:
        least, most = float(objectives.min()), float(objectives.max())
        shown = f"{least:.4g} to {most:.4g} of {objectives.size} pairs, each"
    if math.isnan(gap):
        return f"{shown} without a certified gap"
    if gap >= 0.5:  # which is no longer nearly a share of the optimum
        return f"{shown} with a certified relative gap of {gap:.2g}"
    return f"{shown} within {percent(gap)} of the optimum (certified)"


def closing_line(model: Any, seconds: float) -> str:
    """Say how good a fitted model is, and what it took, such as "objective 0.0521, ..., 1.3 s"."""
    fitted, parts = core_of(model), ["no certificate"]
    if getattr(fitted, "objective_", None) is not None:
        several = "s" if np.size(fitted.objective_) > 1 else ""
        parts = [f"objective{several} {objective_text(fitted)}"]
    if (size := support_size(fitted)) is not None:
        parts.append(counted(size, "support vector"))
    return ", ".join([*parts, shown_seconds(seconds)])


def facts_of_model(model: Any) -> dict[str, Any]:
    """Return what ``--json`` tells of a fitted model, lists by pairs of classes."""
    fitted = core_of(model)
    facts: dict[str, Any] = {
        "estimator": type(fitted).__name__,
        "n_features": fitted.n_features_in_,
        "classes": getattr(fitted, "classes_", None),
        "kernel": getattr(fitted, "kernel", "linear"),
        "n_support": support_size(fitted),
    }
    for name in ("objective", "duality_gap", "relative_gap", "n_steps"):
        if getattr(fitted, f"{name}_", None) is not None:
            facts[name] = np.atleast_1d(getattr(fitted, f"{name}_"))
    return facts


def facts_of_search(search: Any) -> dict[str, Any]:
    """Return what is told of a search."""
    gaps = search.relative_gaps_[np.isfinite(search.relative_gaps_)]
    return {
        "status": search.status_,
        "metric": search.scoring or "accuracy",
        "n_cells": search.scores_.size,
        "n_missing": len(search.missing_),
        "largest_relative_gap": float(gaps.max()) if gaps.size else None,
        "best_parameters": getattr(search, "best_params_", None),
        "best_score": getattr(search, "best_score_", None),
    }
