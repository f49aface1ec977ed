"""What of a model other programs are told: plain arrays, in SVC's layout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kpegasos.kernels.functions import Kernel


class Sigmoids(NamedTuple):
    """How decisions become probabilities: ``1 / (1 + exp(-(slope · decision + offset)))``.

    Attributes
    ----------
    slopes, offsets : ndarray of shape (n_pairs,) or (n_classes,)
    of_pairs : bool, default=True
        Whether they are of the decisions of pairs, and give the probability of the class for which
        these are positive, to be coupled by Wu, Lin and Weng's second method. Otherwise they are of
        the one-vs-rest values of more than two classes, and their values are divided by their sum.
    """

    slopes: np.ndarray
    offsets: np.ndarray
    of_pairs: bool = True


class Model(NamedTuple):
    """A fitted model, without how it was trained.

    Attributes
    ----------
    kernel : Kernel or None
        None for a matrix of kernel values that the user gives.
    vectors : ndarray or CSR matrix of shape (n_support_vectors, n_features), or None
        None without a kernel.
    support : ndarray of shape (n_support_vectors,) or None
        Indices of the support vectors among the training examples, if they are known.
    n_support : ndarray of shape (n_classes,) or (1,)
        Support vectors of each class, which come class by class.
    dual_coef : ndarray of shape (n_classes - 1, n_support_vectors)
        One row of a regression.
    intercept : ndarray of shape (n_pairs,)
    classes : ndarray of shape (n_classes,) or None
        Sorted; None of a regression. Of two classes a decision is positive for the second, of more
        that of a pair for the first of the pair.
    n_features : int
        Columns of X; of a given matrix the number of training examples.
    tie_order : ndarray of shape (n_classes,) or None
        Numbers of more than two classes in the order in which ties of the vote go to them; from the
        first to the last if None.
    sigmoids : Sigmoids or None
        None of a model without probabilities.
    """

    kernel: Kernel | None
    vectors: Any
    support: np.ndarray | None
    n_support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray | None
    n_features: int
    tie_order: np.ndarray | None = None
    sigmoids: Sigmoids | None = None
