"""``kpegasos predict``: what a model says of examples, and how right it is."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.preprocessing import MinMaxScaler

from kpegasos.cli import files
from kpegasos.cli.main import STANDARD, UsageError
from kpegasos.utils.files import is_stream
from kpegasos.utils.validation import shown


def run(options: argparse.Namespace) -> int:
    """Predict as the options say; returns the exit status."""
    files.check_output("OUT", options.out, options.data, options.model)
    if options.model == STANDARD or is_stream(options.model):
        raise UsageError(f"MODEL must be a plain file, got {options.model}")
    if options.probability and options.out is None:
        raise UsageError("OUT must be given for probabilities; - is the standard output")
    model, labels = files.read_model(options.model)
    X, y = _examples(options, model)
    if X.shape[1] > model.n_features_in_ and labels is not None:
        model, labels = files.read_model(options.model, X.shape[1])  # which the file does not say
    if y is None and options.out is None:
        raise ValueError(f"{options.data} has no labels to compare with: name OUT, or --label")
    y = _comparable(y, model, options)
    predicted, values = _predictions(model, X, options)
    if options.out is not None:
        files.write_lines(options.out, _lines(predicted, values, model, labels))
    if y is not None and not options.quiet:
        out = sys.stderr if options.out == STANDARD else sys.stdout
        scores = scores_of(y, predicted, regression=is_regressor(model))
        if options.json:
            files.print_json(scores, out)
        else:
            print(*score_lines(scores), sep="\n", file=out)
    return 0


# --- examples that a model takes ---


def _examples(options: argparse.Namespace, model: Any) -> tuple[Any, Any]:
    """Read X, with the columns of the model as far as they are known, and y."""
    if getattr(files.core_of(model), "kernel", None) == "precomputed":
        return files.read_kernel_values(options)[0]
    X, y = files.read_examples(options, least_columns=model.n_features_in_)
    if hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        return _by_name(X, list(model.feature_names_in_), options), y
    scaler = model[0] if hasattr(model, "steps") else None
    if sparse.issparse(X) and getattr(scaler, "with_mean", isinstance(scaler, MinMaxScaler)):
        X = X.toarray()  # whose zeros become other numbers
    return X, y


def _by_name(X: Any, names: list[str], options: argparse.Namespace) -> Any:
    """Return the columns of a table that the model has, in its order."""
    for name in names:
        if name not in X.columns:
            raise ValueError(f"{options.data}: must have the model's column {name!r}, got none")
    for name in X.columns:
        if name not in names:
            warnings.warn(f"column {name!r}, which the model lacks, is left out", stacklevel=1)
    return X[names]


def _comparable(y: Any, model: Any, options: argparse.Namespace) -> Any:
    """Return labels that can be compared with predictions: texts with texts, or numbers."""
    texts = hasattr(model, "classes_") and isinstance(model.classes_[0], str)
    if y is None or (y.dtype.kind == "U") == texts:
        return y
    if not texts:
        raise ValueError(f"{options.data}: labels must be numbers, got {shown(y[:1].tolist()[0])}")
    return y.astype(str)  # of texts some of which are numbers


# --- predictions ---


def _predictions(model: Any, X: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Return labels, and if asked for probabilities, a row for each example.

    Raises
    ------
    ValueError
        If the model has none.
    """
    if not options.probability:
        return model.predict(X), None
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{options.model} has no probabilities: train it with -b 1")
    values = model.predict_proba(X)
    # As svm-predict, which does not vote where it has probabilities.
    return model.classes_[values.argmax(axis=1)], values


def _lines(predicted: Any, values: Any, model: Any, labels: list[int] | None) -> Iterator[str]:
    """Make lines of the file of predictions; numbers have all digits."""
    texts = [_text(label) for label in predicted.tolist()]
    if values is None:
        yield from (f"{text}\n" for text in texts)
        return
    # Classes of a LIBSVM file stay in its order, as svm-predict has it.
    order = model.classes_.searchsorted(labels) if labels else slice(None)
    yield f"labels {' '.join(map(_text, model.classes_[order].tolist()))}\n"
    for text, row in zip(texts, values[:, order].tolist(), strict=True):
        yield f"{text} {' '.join(map(_text, row))}\n"


def _text(value: Any) -> str:
    """Write a label, or a number with the fewest digits that are read as the same one."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


# --- how right it is ---


def scores_of(y: Any, predicted: Any, *, regression: bool) -> dict[str, Any]:
    """Score predictions.

    Returns
    -------
    dict
        "accuracy", "correct" and "n_samples" of a classifier; "mean_squared_error",
        "squared_correlation" (NaN if either is constant) and "n_samples" of a regression.
    """
    if not regression:
        correct = int((predicted == y).sum())
        return {"accuracy": correct / y.size, "correct": correct, "n_samples": y.size}
    a, b = y - np.mean(y), predicted - np.mean(predicted)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = float(np.square(a @ b) / ((a @ a) * (b @ b)))
    return {
        "mean_squared_error": float(np.mean(np.square(y - predicted))),
        "squared_correlation": correlation,
        "n_samples": y.size,
    }


def score_lines(scores: dict[str, Any], *, held_out: bool = False) -> Iterator[str]:
    """Make the lines of ``svm-predict``, or those of ``svm-train -v`` of held-out predictions."""
    before, end = ("Cross Validation ", "") if held_out else ("", " (regression)")
    if "accuracy" in scores:
        share = f" ({scores['correct']}/{scores['n_samples']}) (classification)"
        yield f"{before}Accuracy = {100.0 * scores['accuracy']:g}%{'' if held_out else share}"
    else:
        yield f"{before}Mean squared error = {scores['mean_squared_error']:g}{end}"
        yield f"{before}Squared correlation coefficient = {scores['squared_correlation']:g}{end}"
