"""Models in files: LIBSVM's text and native files, told apart by their content.

What of a model a format can say is the affair of `kpegasos.exports`.
"""

from __future__ import annotations

import argparse
import os
import zipfile
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kpegasos import PegasosSVC, PegasosSVR, load, save
from kpegasos.cli.options.arguments import UsageError
from kpegasos.cli.options.train import LIBSVM_KERNELS
from kpegasos.cli.output_files import STANDARD, write_by
from kpegasos.exports.libsvm import CLASSIFIERS, REGRESSORS
from kpegasos.utils.files import is_stream

LIBSVM, NATIVE = "libsvm", "native"
#: Endings of what only other programs read.
_EXPORTED = (".onnx", ".json", ".py")
#: With which a zip archive begins, as a native file is one.
_ZIP = b"PK"
#: Bytes in which LIBSVM's header has said what kind of model it is.
_HEAD = 2**16


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
    """Where a model goes, and in which format."""

    path: str
    format: str


def place_of(options: argparse.Namespace, labels: np.ndarray | None) -> Place:
    """Where options say that a model goes: without a word LIBSVM's format, if it can say the model.

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
    """
    lacking = _lacking(options, labels)
    format = options.format
    if format is None and options.model not in (None, STANDARD):
        ending = os.path.splitext(options.model)[1]
        if ending in _EXPORTED:
            raise UsageError(
                f"MODEL must be a native file or LIBSVM's, got {options.model!r}; 'kpegasos "
                f"export' writes {ending[1:]} files"
            )
        format = LIBSVM if ending == ".model" else NATIVE
    format = format or (NATIVE if lacking else LIBSVM)
    if format == LIBSVM and lacking:
        raise UsageError(f"LIBSVM's format has no {lacking}: choose --format native")
    if options.model is not None:
        return Place(options.model, format)
    name = "stdin" if options.data == STANDARD else os.path.basename(options.data)
    return Place(f"{name}.{'model' if format == LIBSVM else 'skops'}", format)


def _lacking(options: argparse.Namespace, labels: np.ndarray | None) -> str | None:
    """What LIBSVM's format cannot say of a model, None if it can say all."""
    if options.scale is not None:
        return "scaling"
    if options.kernel not in (*LIBSVM_KERNELS, "polynomial"):
        return f"kernel {options.kernel}"
    if labels is None or options.regression:
        return None
    if options.probability and options.loss != "log_loss" and np.unique(labels).size > 2:
        return "calibrated probabilities of more than two classes"
    return None if _are_c_integers(labels) else "classes but integers"


def _are_c_integers(labels: np.ndarray) -> bool:
    """Whether labels are integers of 32 bits."""
    if labels.dtype.kind not in "biuf":
        return False
    numbers = labels.astype(np.float64)
    return bool((np.trunc(numbers) == numbers).all() and np.abs(numbers).max(initial=0) < 2**31)


def write_model(path: str, estimator: Any, format: str) -> None:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    path : str
        ``-`` is the standard output.
    estimator : BaseEstimator
    format : {"libsvm", "native"}

    Raises
    ------
    ValueError
        If the format cannot say the model.
    OSError
        If the file cannot be written.
    """
    if format == NATIVE:
        write_by(path, lambda name: save(estimator, name), ".skops")
        return
    core = core_of(estimator)
    calibrated = estimator if hasattr(estimator, "calibrated_classifiers_") else None
    if core is not estimator and calibrated is None:
        raise ValueError(
            f"LIBSVM's format has no {type(estimator).__name__}: choose --format native"
        )
    write_by(path, lambda name: core.to_libsvm(name, calibrated=calibrated))


def is_model(path: str) -> bool:
    """Whether a file's content is that of a model, native or LIBSVM's.

    Parameters
    ----------
    path : str
        A pipe, which would be empty after a look, is none.
    """
    if is_stream(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return _is_native(path, head) or _kind(head) is not None


def _is_native(path: str, head: bytes) -> bool:
    """Whether a file is an archive of skops; one of NumPy's is an archive as well."""
    if not head.startswith(_ZIP):
        return False
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        return "schema.json" in archive.namelist()
    return False


def read_model(path: str) -> ModelFile:
    """Read a model, whose format its content tells.

    Parameters
    ----------
    path : str

    Returns
    -------
    ModelFile

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    if is_stream(path):
        raise ValueError(f"{path}: a model must be in a plain file, got a pipe or a device")
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_ZIP):
        return ModelFile(load(path), NATIVE)
    kind = _kind(head)
    if kind is None:
        raise ValueError(f"{path}: must be a model of kpegasos or LIBSVM, got another file")
    estimator_type: Any
    if kind in CLASSIFIERS:
        estimator_type = PegasosSVC
    elif kind in REGRESSORS:
        estimator_type = PegasosSVR
    else:
        known = ", ".join((*CLASSIFIERS, *REGRESSORS))
        raise ValueError(f"{path}: svm_type must be one of {known}, got {kind}")
    return ModelFile(estimator_type.from_libsvm(path), LIBSVM, _labels(head))


def widened(model: ModelFile, path: str, n_features: int) -> ModelFile:
    """A model of LIBSVM's with more columns, of which its file says nothing.

    Parameters
    ----------
    model : ModelFile
    path : str
    n_features : int
        Columns of the data to predict.
    """
    kind = type(model.estimator)
    return model._replace(estimator=kind.from_libsvm(path, n_features=n_features))


def core_of(model: Any) -> Any:
    """The estimator of this package inside a pipeline, a calibration or a search.

    Parameters
    ----------
    model : BaseEstimator
        Fitted.
    """
    return layers_of(model)[-1]


def layers_of(model: Any) -> list[Any]:
    """A model, what it is around, and so on down to the estimator of this package.

    Parameters
    ----------
    model : BaseEstimator
        Fitted.
    """
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


def steps_before(model: Any) -> list[str]:
    """Names of what is done to the features before the estimator of this package gets them.

    Parameters
    ----------
    model : BaseEstimator
        Fitted.
    """
    pipelines = [layer for layer in layers_of(model) if hasattr(layer, "steps")]
    return [type(step).__name__ for pipeline in pipelines for _, step in pipeline.steps[:-1]]


def _line_of(head: bytes, name: bytes) -> list[bytes] | None:
    """Words behind a name that begins a line of a LIBSVM header."""
    header = head.removeprefix(b"\xef\xbb\xbf").partition(b"\nSV")[0]
    for line in header.splitlines():
        words = line.split()
        if words and words[0] == name:
            return words[1:]
    return None


def _kind(head: bytes) -> str | None:
    """What ``svm_type`` says, None without such a line."""
    words = _line_of(head, b"svm_type")
    return None if words is None else b" ".join(words).decode("ascii", "replace")


def _labels(head: bytes) -> list[int] | None:
    """What ``label`` says."""
    words = _line_of(head, b"label")
    return None if words is None else [int(word) for word in words]
