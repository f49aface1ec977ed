"""Decisions of a model on new examples: what it needs of its rows when these are gone.

A result outlives its rows. It keeps the points behind its coefficients and the kernel, and never a
kernel value. The sums are those of `kpegasos.kernels.decision`; decisions of features are in
`kpegasos.rows.features`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.kernels.base import CallableKernel, Kernel
from kpegasos.kernels.decision import gram_decision, kernel_decision
from kpegasos.kernels.matrix import KernelMatrix, KernelValues
from kpegasos.utils.boundary import checked_vectors, require_numbers
from kpegasos.utils.scan import largest_magnitude
from kpegasos.utils.validation import canonical_rows, finite_decisions

#: ``f(X)`` for new examples: float64 of shape (n_new,).
Decisions = Callable[[Any], np.ndarray]


class TrainingPoints(NamedTuple):
    """A kernel and the examples that it was evaluated on.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    members : ndarray of shape (n_samples,), int64, or None
        Rows of X that are the examples; None for all.
    """

    kernel: Kernel
    X: Any
    members: np.ndarray | None


def points_of(values: KernelValues) -> TrainingPoints | None:
    """The points of a kernel matrix, if it is one whose features are known."""
    if not isinstance(values, KernelMatrix):
        return None
    return TrainingPoints(values.kernel, values.points.X, values.points.members)


def new_rows(X: Any, n_features: int, *, finite: bool = True) -> Any:
    """Return new examples as rows of so many features, copied only if need be.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_new, n_features)
    n_features : int
    finite : bool, default=True
        Whether they must be finite.

    Returns
    -------
    ndarray or CSR matrix, float32 as given or float64

    Raises
    ------
    ValueError
        If they are no such rows.
    """
    X = canonical_rows(X)
    if X.shape[1] != n_features:
        raise ValueError(
            f"X must have the {n_features} features of the training examples, got {X.shape[1]} "
            f"instead"
        )
    if finite and not np.isfinite(largest_magnitude(X)):
        raise ValueError("X must be finite, got NaN or infinity")
    return X


class KernelDecisions:
    """``f(x) = Σ_j coef_j k(x_j, x) + intercept``, by the kernel.

    It refers to the data until it is called for the first time or pickled. From then on it holds a
    copy of the support vectors, unless these are all of the data.

    Parameters
    ----------
    points : TrainingPoints
    coef : ndarray of shape (n_samples,)
        Signed coefficients.
    intercept : float
    """

    def __init__(self, points: TrainingPoints, coef: np.ndarray, intercept: float) -> None:
        self._kernel: Kernel | None = points.kernel
        # One attribute, which is replaced as a whole: calls may come from several threads.
        self._terms = points.X, points.members, coef
        self._intercept = intercept

    def __call__(self, X: Any) -> np.ndarray:
        """Decisions on new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X does not have the features of the training examples, or leaves no finite decision.
        """
        kernel = self._kernel
        if kernel is None:
            raise ValueError(
                "kernel must be one that can be pickled where a pickled result is to decide on new "
                "examples, got one that could not, such as a lambda, instead"
            )
        vectors, coefs = self._support()
        vectors = checked_vectors("vectors", vectors, (coefs.shape[1], vectors.shape[1]))
        # Whether a function of a user's own minds NaN is for the function to say.
        X = new_rows(X, vectors.shape[1], finite=not isinstance(kernel, CallableKernel))
        sums = kernel_decision(kernel, X, vectors, coefs, owner=self)
        return finite_decisions(sums[:, 0] + self._intercept)

    def _support(self) -> tuple[Any, np.ndarray]:
        """Support vectors and coefficients of shape (1, n_support); all other data are let go."""
        X, members, coef = self._terms
        require_numbers("coef", coef, coef.shape[:1])
        support = np.flatnonzero(coef)
        if members is not None or support.size < coef.size:
            X = canonical_rows(X)
            X = X[support if members is None else members[support]]
            coef = coef[support]
            self._terms = X, None, coef
        return X, coef[None]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the support vectors, if the kernel can be pickled as well."""
        vectors, coefs = self._support()
        kernel = self._kernel if _can_be_pickled(self._kernel) else None
        if kernel is None:
            vectors, coefs = vectors[:0], coefs[:, :0]
        return {**vars(self), "_kernel": kernel, "_terms": (vectors, None, coefs[0])}


def _can_be_pickled(kernel: Any) -> bool:
    try:
        pickle.dumps(kernel)
    except Exception:  # whatever a class of a user's own raises
        return False
    return True


class GramDecisions:
    """``f(x) = Σ_j coef_j k(x_j, x) + intercept``, by kernel values that are given.

    Parameters
    ----------
    coef : ndarray of shape (n_samples,)
        Signed coefficients.
    intercept : float
    """

    def __init__(self, coef: np.ndarray, intercept: float) -> None:
        self._coef = coef
        self._intercept = intercept

    def __call__(self, X: Any) -> np.ndarray:
        """Decisions on new examples.

        Parameters
        ----------
        X : array-like of shape (n_new, n_samples)
            Kernel values of the new examples with those of the training.

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X is another matrix, or leaves no finite decision.
        """
        if sparse.issparse(X):
            raise ValueError("X must be a dense array of kernel values, got a sparse one instead")
        values = canonical_rows(X)
        if values.shape[1] != self._coef.size:
            raise ValueError(
                f"X must hold kernel values with the {self._coef.size} training examples, as the "
                f"kernel was given as a matrix, got shape {values.shape} instead"
            )
        require_numbers("coef", self._coef, values.shape[1:])
        support = np.flatnonzero(self._coef)
        sums = gram_decision(values, support, self._coef[None, support])
        return finite_decisions(sums[:, 0] + self._intercept)


def kernel_decisions(
    points: TrainingPoints | None, coef: np.ndarray, intercept: float
) -> Decisions:
    """Decisions of a kernel model: of features if they are known, else of kernel values."""
    if points is None:
        return GramDecisions(coef, intercept)
    return KernelDecisions(points, coef, intercept)
