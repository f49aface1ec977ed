"""What to do about features that keep Pegasos far from its optimum."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos.solvers.result import Results

#: A certified relative gap beyond which a model is no better than w = 0, for all that is known.
_FAR = 0.9
#: Features are large if their root mean square, over what is not zero, is more than this.
_LARGE = 7.0


def warn_of_large_features(
    name: str, X: Any, results: Results, batch_size: int, *, stacklevel: int
) -> None:
    """Say so if features are large and a model is far from its optimum after an epoch or more.

    Pegasos' suboptimality grows with the largest squared length of a row; the certificate tells
    that it is far from the optimum, and the size of the features why.

    Parameters
    ----------
    name : str
        Of the estimator.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    results : Results
        One of each pair of classes.
    batch_size : int
        Draws of a step.
    stacklevel : int
        Of the warning, seen from here.

    Warns
    -----
    ConvergenceWarning
        Once, with the cure.
    """
    far = [
        result
        for result in results
        if result.relative_gap > _FAR
        and result.status in ("completed", "stopped")
        and result.n_steps * batch_size >= result.margins.size
    ]
    size = typical_size(X) if far else 0.0
    if size <= _LARGE:
        return
    of_pairs = f" for {len(far)} of {len(results)} pairs" if len(results) > 1 else ""
    warnings.warn(
        f"{name} ended far from the optimum{of_pairs}, with a certified relative gap of "
        f"{max(result.relative_gap for result in far):.3g}, since the features are large "
        f"({size:.3g} in root mean square): "
        f"scale them, as StandardScaler does, or set polish=True.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def typical_size(X: Any) -> float:
    """Root mean square of the entries that are not zero; 0 if all are.

    Parameters
    ----------
    X : ndarray or CSR matrix
    """
    total, number = 0.0, 0
    flat = X.data if sparse.issparse(X) else X.ravel()
    for begin in range(0, flat.size, 1 << 20):
        part = np.asarray(flat[begin : begin + (1 << 20)], dtype=np.float64)
        total += float(part @ part)
        number += int(np.count_nonzero(part))
    return math.sqrt(total / max(1, number))
