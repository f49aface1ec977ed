"""Training from a file that is larger than memory: part by part, in each epoch anew.

Only linear models are trained so, by `kpegasos.fit_chunks`: Pegasos, which has no certificate then.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kpegasos.cli.fitting import Fit, run_fit
from kpegasos.cli.options.arguments import UsageError
from kpegasos.datasets import SvmlightChunks
from kpegasos.datasets._files import is_compressed
from kpegasos.datasets.table_files import format_by_name
from kpegasos.large.chunks import fit_chunks
from kpegasos.utils.memory import free_memory

#: Passes over the file, unless others are asked for.
_EPOCHS = 5
#: As many columns as a file can have.
_MOST_COLUMNS = 2**31 - 1
#: What needs all examples at once.
_EXCLUDED = {
    "tol": "--tol",
    "strict": "--strict",
    "trace": "--trace",
    "folds": "--folds",
    "probability": "--probability",
    "scale": "--scale",
    "max_time": "--max-time",
    "balanced": "--balanced",
    "steps": "--steps",
}


class Survey(NamedTuple):
    """What a pass over a file has found.

    Attributes
    ----------
    path : str
    n_features : int
    labels : ndarray of shape (n_classes,) or None
        None of a regression.
    """

    path: str
    n_features: int
    labels: np.ndarray | None


def is_read_in_chunks(options: argparse.Namespace) -> bool:
    """Whether the data are to be read part by part: by ``--chunks``, or for their size.

    Parameters
    ----------
    options : argparse.Namespace

    Raises
    ------
    UsageError
        If other options need all examples at once.
    """
    if not (options.chunks or _is_large(options)):
        return False
    why = "--chunks" if options.chunks else f"{options.data} is large and read in parts, which"
    if options.kernel != "linear":
        raise UsageError(f"{why} must be for --kernel linear, got {options.kernel}")
    if not _is_plain(options):
        raise UsageError(f"{why} must be for a plain file in LIBSVM's format, got {options.data}")
    for name, option in _EXCLUDED.items():
        if getattr(options, name):
            raise UsageError(f"{why} must come without {option}, which needs all examples at once")
    return True


def _is_plain(options: argparse.Namespace) -> bool:
    """Whether the data are a file of LIBSVM's format, not compressed."""
    place = Path(options.data)
    format = options.data_format or format_by_name(place)
    return place.is_file() and format in (None, "svmlight") and not is_compressed(place)


def _is_large(options: argparse.Namespace) -> bool:
    """Whether a file that can be read in parts has more bytes than half of the free memory."""
    free = free_memory()
    linear = options.kernel == "linear" and _is_plain(options)
    return linear and free is not None and os.path.getsize(options.data) > free / 2


def survey(options: argparse.Namespace) -> Survey:
    """Find columns and labels of a file, a chunk at a time.

    Parameters
    ----------
    options : argparse.Namespace
    """
    most, labels = options.n_features or 1, np.empty(0, np.int64)
    for X, y in SvmlightChunks(options.data, n_features=_MOST_COLUMNS):
        most = max(most, int(X.indices.max(initial=0)) + 1)
        if not options.regression:
            labels = np.union1d(labels, y)
    return Survey(options.data, most, None if options.regression else labels)


def train_in_chunks(estimator: Any, found: Survey, options: argparse.Namespace) -> Fit:
    """Fit a linear estimator to a file, part by part.

    Parameters
    ----------
    estimator : LinearPegasosSVC or LinearPegasosSVR
    found : Survey
    options : argparse.Namespace

    Returns
    -------
    Fit
    """
    estimator.set_params(polish=False)
    chunks = SvmlightChunks(found.path, n_features=found.n_features, dtype=np.float64)
    epochs = _EPOCHS if options.epochs is None else options.epochs
    return run_fit(
        estimator,
        lambda: fit_chunks(estimator, chunks, epochs=epochs),
        subcommand="train",
        quiet=options.quiet,
    )
