"""``kpegasos predict``: what a model says of examples, and how right it is."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kpegasos import cli

if TYPE_CHECKING:
    from kpegasos.cli.models import ModelFile

SUMMARY = "predict labels, decisions or probabilities, and compare with the labels of the data"
USAGE = "kpegasos predict [options] DATA MODEL [OUT]"
EPILOG = """\
-b and -q are those of LIBSVM's svm-predict; the first line of probabilities names the classes. A
model is a native file or LIBSVM's, told apart by its content."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what predicting takes."""
    cli.add_data(parser)
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    parser.add_argument(
        "out",
        metavar="OUT",
        nargs="?",
        help="file of the predictions, - for the standard output; only a report unless given",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--decisions",
        action="store_true",
        help="write decision values: one for two classes, positive for the larger label; else one "
        "for each class, ascending",
    )
    kind.add_argument("--probabilities", action="store_true", help="write labels and probabilities")
    kind.add_argument(
        "-b",
        dest="probabilities",
        type=cli.flag,
        default=False,
        metavar="0|1",
        help="1 is --probabilities",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="precision, recall and F1 of each class, and the confusion matrix",
    )
    cli.add_data_options(parser)
    cli.add_report_options(parser, "json", "quiet")


def run(options: argparse.Namespace) -> int:
    """Predict as the options say; returns the exit status."""
    cli.files.check_outputs({"OUT": options.out}, options.data, options.model)
    if options.out is None and (options.decisions or options.probabilities):
        raise cli.UsageError(
            "OUT must be given for decisions and probabilities; - is the output here"
        )
    model = cli.models.read_model(options.model)
    _check_kind(model.estimator, options)
    X, y, is_narrow = _examples(options, model)
    if y is None and options.out is None:
        raise ValueError(
            f"{options.data} has no labels to compare with: name OUT for the predictions"
        )
    y = _comparable(y, model.estimator, options)
    model, X = _matched(model, X, is_narrow, options)
    if hasattr(X, "toarray") and cli.models.needs_dense(model.estimator):
        cli.files.check_room(8 * X.shape[0] * X.shape[1], f"{options.data}: dense rows")
        X = X.toarray()
    labels, values = _predictions(model.estimator, X, options)
    if options.out is not None:
        cli.files.write_lines(options.out, _lines(labels, values, model, options))
    if y is not None and not options.quiet:
        _report(y, labels, model.estimator, options)
    return 0


def _check_kind(estimator: Any, options: argparse.Namespace) -> None:
    """Check that the model has what is asked of it."""
    from sklearn.base import is_regressor

    if is_regressor(estimator):
        for name in ("decisions", "probabilities", "report"):
            if getattr(options, name):
                raise ValueError(f"--{name} must be of a classifier, and {options.model} is none")
    if options.probabilities and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{options.model} has no probabilities: train it with --probability")


def _examples(options: argparse.Namespace, model: ModelFile) -> tuple[Any, Any, bool]:
    """Read X, y, and whether the file may have left columns of zeros out."""
    kernel = getattr(cli.models.core_of(model.estimator), "kernel", None)
    if isinstance(kernel, str) and kernel == "precomputed":
        K, y, _ = cli.files.read_kernel_values(options)
        return K, y, False
    table = cli.files.read_data(options)
    return table.X, table.y, table.format == "svmlight"


def _comparable(y: Any, estimator: Any, options: argparse.Namespace) -> Any:
    """Return labels that can be compared with predictions: texts with texts, or numbers."""
    import numpy as np

    from kpegasos.utils.validation import shown

    classes = getattr(estimator, "classes_", None)
    texts = classes is not None and classes.dtype.kind in "OU"
    if y is not None and texts and y.dtype.kind in "if":  # of texts some of which are numbers
        return np.array([_text(label) for label in y.tolist()])
    if y is not None and (y.dtype.kind in "OU") != texts:
        expected = "numbers" if classes is None else f"such as {classes[:3].tolist()}"
        got = shown(y[:1].tolist()[0])
        raise ValueError(
            f"{options.data}: labels must be of the model's kind, {expected}, got {got}"
        )
    return y


def _matched(
    model: ModelFile, X: Any, is_narrow: bool, options: argparse.Namespace
) -> tuple[ModelFile, Any]:
    """Return model and data with equally many columns, where their formats leave that open."""
    estimator, width = model.estimator, X.shape[1]
    needed = estimator.n_features_in_
    if width < needed and is_narrow:
        return model, cli.files.with_zeros(X, needed)
    if width > needed and model.format == cli.models.LIBSVM:  # whose file says nothing of columns
        wider = type(estimator).from_libsvm(options.model, n_features=width)
        return model._replace(estimator=wider), X
    if width > needed and is_narrow and hasattr(cli.models.core_of(estimator), "coef_"):
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


def _predictions(estimator: Any, X: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Return labels, and decisions or probabilities, a row for each example, if asked for."""
    if options.decisions:
        return estimator.predict(X), estimator.decision_function(X)
    if options.probabilities:
        values = estimator.predict_proba(X)
        # As svm-predict, which does not vote where it has probabilities.
        return estimator.classes_[values.argmax(axis=1)], values
    return estimator.predict(X), None


def _lines(
    predicted: Any, values: Any, model: ModelFile, options: argparse.Namespace
) -> Iterator[str]:
    """Make lines of the file of predictions; numbers have all digits."""
    labels = [_text(label) for label in predicted.tolist()]
    if values is None:
        yield from (f"{label}\n" for label in labels)
        return
    rows = values.reshape(len(labels), -1)
    if options.decisions:
        yield from (f"{_joined(row)}\n" for row in rows.tolist())
        return
    classes = model.estimator.classes_
    # Those of a LIBSVM file stay in its order, as svm-predict has it.
    order = slice(None) if model.labels is None else classes.searchsorted(model.labels)
    yield f"labels {_joined(classes[order].tolist())}\n"
    for label, row in zip(labels, rows[:, order].tolist(), strict=True):
        yield f"{label} {_joined(row)}\n"


def _joined(values: list[Any]) -> str:
    return " ".join(map(_text, values))


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
    import numpy as np

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
        found = f"{scores['squared_correlation']:g}"
        yield f"{before}Squared correlation coefficient = {found}{end}"


def _report(y: Any, predicted: Any, estimator: Any, options: argparse.Namespace) -> None:
    """Compare predictions with labels, on the standard output if no predictions are there."""
    import numpy as np
    from sklearn.base import is_regressor

    out = sys.stderr if options.out == cli.STANDARD else sys.stdout
    scores = scores_of(y, predicted, regression=is_regressor(estimator))
    classes = None
    if options.report:
        from sklearn.metrics import classification_report, confusion_matrix

        classes = np.unique(np.concatenate([y, predicted]))
    if options.json:
        if classes is not None:
            scores |= {
                "report": classification_report(y, predicted, zero_division=0.0, output_dict=True),
                "classes": classes,
                "confusion": confusion_matrix(y, predicted, labels=classes),
            }
        cli.files.print_json(scores, out)
        return
    for line in score_lines(scores):
        print(line, file=out)
    if classes is not None:
        print(classification_report(y, predicted, zero_division=0.0), file=out)
        print("rows: class of the data, columns: class predicted", file=out)
        names = [_text(each) for each in classes.tolist()]
        counts = confusion_matrix(y, predicted, labels=classes).tolist()
        table = [["", *names], *([name, *row] for name, row in zip(names, counts, strict=True))]
        width = 2 + max(len(str(word)) for row in table for word in row)
        for row in table:
            print("".join(str(word).rjust(width) for word in row), file=out)
