"""``kpegasos predict``: what a model says of examples, and how right it is."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import classification_report, confusion_matrix

from kpegasos.cli.data_files import (
    read_data,
    read_kernel_values,
    refuse_missing,
    with_zeros,
)
from kpegasos.cli.model_files import LIBSVM, ModelFile, core_of, read_model, widened
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.output_files import STANDARD, check_outputs, write_lines
from kpegasos.cli.reports import print_json, warnings_as_lines
from kpegasos.cli.scores import score_lines, scores_of
from kpegasos.utils.validation import shown


class Examples(NamedTuple):
    """Data to predict; y is None without labels."""

    X: Any
    y: np.ndarray | None
    format: str = "svmlight"


class Predictions(NamedTuple):
    """Labels, and what else is asked for: decisions or probabilities, a row for each example."""

    labels: np.ndarray
    values: np.ndarray | None = None


def run(options: argparse.Namespace) -> int:
    """Predict as the options say; returns the exit status."""
    check_outputs({"OUT": options.out}, options.data, options.model)
    if options.out is None and (options.decisions or options.probabilities):
        raise UsageError("OUT must be given for decisions and probabilities; - is the output here")
    with warnings_as_lines("predict", quiet=options.quiet):
        model = read_model(options.model)
        _check_kind(model.estimator, options)
        examples = _examples(options, model)
        if examples.y is None and options.out is None:
            raise ValueError(
                f"{options.data} has no labels to compare with: name OUT for the predictions"
            )
        _check_labels(examples.y, model.estimator, options)
        model, X = _fitting(model, examples, options)
        found = _predictions(model.estimator, X, options)
    if options.out is not None:
        write_lines(options.out, _lines(found, model, options))
    if examples.y is not None and not options.quiet:
        _report(examples.y, found.labels, model.estimator, options)
    return 0


def _check_kind(estimator: Any, options: argparse.Namespace) -> None:
    """Check that the model has what is asked of it."""
    if is_regressor(estimator):
        for name in ("decisions", "probabilities", "report"):
            if getattr(options, name):
                raise ValueError(f"--{name} must be of a classifier, and {options.model} is none")
    if options.probabilities and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{options.model} has no probabilities: train it with --probability")


def _examples(options: argparse.Namespace, model: ModelFile) -> Examples:
    """Read the data as the model takes them."""
    if _is_precomputed(core_of(model.estimator)):
        K, y, _ = read_kernel_values(options.data, options.data_format, options.label)
        return Examples(K, y)
    table = read_data(options.data, format=options.data_format, label=options.label)
    refuse_missing(table, options.data)
    return Examples(table.X, table.y, table.format)


def _check_labels(y: np.ndarray | None, estimator: Any, options: argparse.Namespace) -> None:
    """Check that labels can be compared with predictions: texts with texts, or numbers."""
    known = np.zeros(1) if is_regressor(estimator) else estimator.classes_
    if y is not None and (y.dtype.kind in "OU") != (known.dtype.kind in "OU"):
        expected = "numbers" if is_regressor(estimator) else f"such as {known[:3].tolist()}"
        got = shown(y[:1].tolist()[0])
        raise ValueError(
            f"{options.data}: labels must be of the model's kind, {expected}, got {got}"
        )


def _is_precomputed(core: Any) -> bool:
    kernel = getattr(core, "kernel", None)
    return isinstance(kernel, str) and kernel == "precomputed"


def _fitting(
    model: ModelFile, examples: Examples, options: argparse.Namespace
) -> tuple[ModelFile, Any]:
    """Model and data with equally many columns, where their formats leave that open."""
    X, core = examples.X, core_of(model.estimator)
    width, needed = X.shape[1], model.estimator.n_features_in_
    if width < needed and examples.format == "svmlight" and not _is_precomputed(core):
        return model, with_zeros(X, needed)
    if width > needed and model.format == LIBSVM:
        return widened(model, options.model, width), X
    if width > needed and hasattr(core, "coef_") and examples.format == "svmlight":
        # A feature that no example of the training had would have the weight zero.
        warnings.warn(
            f"columns of {options.data} beyond {needed} are left out, as {options.model} does not "
            f"know them",
            stacklevel=1,
        )
        return model, X[:, :needed]
    if width != needed:
        raise ValueError(f"{options.data}: must have {needed} columns, got {width}")
    return model, X


def _predictions(estimator: Any, X: Any, options: argparse.Namespace) -> Predictions:
    if options.decisions:
        return Predictions(estimator.predict(X), estimator.decision_function(X))
    if options.probabilities:
        values = estimator.predict_proba(X)
        # As svm-predict, which does not vote where it has probabilities.
        return Predictions(estimator.classes_[values.argmax(axis=1)], values)
    return Predictions(estimator.predict(X))


def _lines(found: Predictions, model: ModelFile, options: argparse.Namespace) -> Iterator[str]:
    """Lines of the file of predictions; numbers have all digits."""
    labels = [_text(label) for label in found.labels.tolist()]
    if found.values is None:
        yield from (f"{label}\n" for label in labels)
        return
    rows = found.values.reshape(len(labels), -1)
    if options.decisions:
        yield from (f"{_joined(row)}\n" for row in rows.tolist())
        return
    order = _order_of(model)
    yield f"labels {_joined(model.estimator.classes_[order].tolist())}\n"
    for label, row in zip(labels, rows[:, order].tolist(), strict=True):
        yield f"{label} {_joined(row)}\n"


def _order_of(model: ModelFile) -> np.ndarray:
    """The classes in the order of the model's file, which svm-predict keeps."""
    classes = model.estimator.classes_
    if model.labels is None:
        return np.arange(classes.size)
    return np.searchsorted(classes, model.labels)


def _joined(values: list[Any]) -> str:
    return " ".join(map(_text, values))


def _text(value: Any) -> str:
    """A label, or a number with the fewest digits that are read as the same one."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _report(y: Any, predicted: np.ndarray, estimator: Any, options: argparse.Namespace) -> None:
    """Compare predictions with labels, on the standard output if no predictions are there."""
    out = sys.stderr if options.out == STANDARD else sys.stdout
    regression = is_regressor(estimator)
    scores = scores_of(y, predicted, regression=regression)
    if options.json:
        print_json({**scores, **_of_classes(y, predicted, options)}, out)
        return
    for line in score_lines(scores):
        print(line, file=out)
    if options.report:
        print(classification_report(y, predicted, zero_division=0.0), file=out)
        print(_confusion_table(y, predicted), file=out)


def _of_classes(y: Any, predicted: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """What ``--report`` adds to the object of ``--json``."""
    if not options.report:
        return {}
    report = classification_report(y, predicted, zero_division=0.0, output_dict=True)
    classes = np.unique(np.concatenate([y, predicted]))
    matrix = confusion_matrix(y, predicted, labels=classes)
    return {"report": report, "classes": classes, "confusion": matrix}


def _confusion_table(y: Any, predicted: np.ndarray) -> str:
    """The confusion matrix as text: a row for each class, a column for each prediction."""
    classes = np.unique(np.concatenate([y, predicted]))
    rows = confusion_matrix(y, predicted, labels=classes).tolist()
    names = [_text(each) for each in classes.tolist()]
    table = [["", *names], *([name, *map(str, row)] for name, row in zip(names, rows, strict=True))]
    width = 2 + max(len(word) for row in table for word in row)
    lines = ("".join(word.rjust(width) for word in row) for row in table)
    return "rows: class of the data, columns: class predicted\n" + "\n".join(lines)
