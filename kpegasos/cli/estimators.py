"""The estimator that the options of a subcommand describe, in a pipeline with its scaling."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR, make_kernel
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.options.train import LOSSES, REGRESSION_LOSSES


def check_options(options: argparse.Namespace) -> None:
    """Check that options of a training go together.

    Raises
    ------
    UsageError
    """
    losses = REGRESSION_LOSSES if options.regression else LOSSES
    if options.loss is not None and options.loss not in losses:
        kind = "a regression" if options.regression else "a classifier"
        raise UsageError(f"--loss must be one of {', '.join(losses)} of {kind}, got {options.loss}")
    if options.weight and options.balanced:
        raise UsageError("--balanced and --weight must not be given both")
    if options.regression and (options.weight or options.balanced):
        raise UsageError("--weight and --balanced must be of a classifier, and this is none")
    if options.regression and options.probability:
        raise UsageError("--probability must be of a classifier, and this is none")
    if options.strict and options.no_polish and options.tol is None:
        raise UsageError("--strict must come with --tol where there is no polish")
    if not has_certificate(options) and (options.strict or options.tol is not None):
        raise UsageError(
            f"--tol and --strict must be of a positive semi-definite kernel, and {options.kernel} "
            f"is none here"
        )
    if options.scale and options.kernel == "precomputed":
        raise UsageError("--scale must be of features, and a precomputed kernel has none")


def make_estimator(options: argparse.Namespace, y: Any) -> Any:
    """Make an estimator, not fitted.

    Parameters
    ----------
    options : argparse.Namespace
        Those of ``kpegasos train``.
    y : ndarray of shape (n_samples,) or None
        Labels, whose type the labels of class weights get; None where they are not known.

    Returns
    -------
    BasePegasos
        Of a linear kernel one of those through the primal vector, whose steps cost the non-zero
        entries of a row, whatever the number of examples.
    """
    parameters = _parameters(options)
    if not has_certificate(options):
        parameters |= {"polish": False, "tol": None}
    if options.kernel == "linear":
        parameters |= {"checkpoints": "epoch"}
    else:
        parameters |= {
            "kernel": options.kernel,
            "gamma": options.gamma,
            "degree": options.degree,
            "coef0": options.coef0,
            "cache_mb": "auto" if options.memory is None else options.memory,
        }
    if options.regression:
        kind: Any = LinearPegasosSVR if options.kernel == "linear" else PegasosSVR
        return kind(epsilon=options.epsilon, **parameters)
    kind = LinearPegasosSVC if options.kernel == "linear" else PegasosSVC
    weight = "balanced" if options.balanced else _weights(options.weight, y)
    return kind(class_weight=weight, n_jobs=options.jobs, **parameters)


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters that all estimators share."""
    loss = options.loss or ("epsilon_insensitive" if options.regression else "hinge")
    return {
        "C": options.C,
        "lam": options.lam,
        "loss": loss,
        "fit_intercept": not options.no_intercept,
        "intercept_scaling": options.intercept_scaling,
        "epochs": "auto" if options.epochs is None else options.epochs,
        "n_steps": options.steps,
        "batch_size": options.batch_size,
        "sampling": options.sampling,
        "average": None if options.average == "none" else options.average,
        "polish": not options.no_polish,
        "tol": options.tol,
        "max_time": options.max_time,
        "random_state": options.seed,
    }


def has_certificate(options: argparse.Namespace) -> bool:
    """Whether the kernel is positive semi-definite, so that gaps are certified.

    Parameters
    ----------
    options : argparse.Namespace
    """
    if options.kernel == "precomputed":  # found out in training
        return True
    kernel = make_kernel(options.kernel, gamma=1.0, degree=options.degree, coef0=options.coef0)
    return bool(kernel.positive_definite)


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


def _weights(given: list[tuple[str, float]], y: Any) -> dict[Any, float] | None:
    """Class weights by the labels that the data have; a label that they lack is told."""
    if not given:
        return None
    classes = np.unique(y).tolist()
    weights = {}
    for text, factor in given:
        found = [label for label in classes if _names(text, label)]
        if found:
            weights[found[0]] = factor
        else:
            warnings.warn(f"no example has the label {text} of a weight", stacklevel=1)
    return weights or None


def _names(text: str, label: Any) -> bool:
    """Whether a text is that of a label, as 1 is of 1.0."""
    if isinstance(label, str):
        return text == label
    try:
        return float(text) == label
    except ValueError:
        return False
