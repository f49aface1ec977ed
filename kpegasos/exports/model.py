"""Models for other programs: plain arrays, in SVC's layout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kpegasos.kernels.base import Kernel
from kpegasos.utils.boundary import as_indices, checked_vectors, require_numbers
from kpegasos.utils.validation import as_integer, largest_magnitude, shown


class Sigmoids(NamedTuple):
    """Probabilities of decisions: ``1 / (1 + exp(-(slope · decision + offset)))``.

    Those of the pairs' positive classes, to be coupled by Wu, Lin and Weng's second method.

    Attributes
    ----------
    slopes, offsets : ndarray of shape (n_pairs,)
    """

    slopes: np.ndarray
    offsets: np.ndarray


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


def check_model(model: Model, *, values: bool = False) -> Model:
    """Check what loops and other programs trust, of a model that was read or edited.

    Parameters
    ----------
    model : Model
    values : bool, default=False
        Whether numbers have to be finite and classes to differ, too; it is a look at all of them.

    Returns
    -------
    Model
        With vectors as loops take them.

    Raises
    ------
    ValueError
        Naming an attribute that does not fit the others.
    """
    n_classes = 1
    if model.classes is not None:
        n_classes = require_numbers("classes_", model.classes, None).size
        if n_classes < 2:
            raise ValueError(f"classes_ must be at least two, got {shown(model.classes)} instead")
    n_support = require_numbers("n_support_", model.n_support, (n_classes,), "iu")
    if n_support.min() < 0:
        raise ValueError(f"n_support_ must not be negative, got {shown(n_support)} instead")
    n_vectors, n_pairs = int(n_support.sum()), max(1, n_classes * (n_classes - 1) // 2)
    require_numbers("dual_coef_", model.dual_coef, (max(1, n_classes - 1), n_vectors))
    require_numbers("intercept_", model.intercept, (n_pairs,))
    if model.tie_order is not None:
        require_numbers("_tie_order", model.tie_order, (n_classes,), "iu")
        as_indices("_tie_order", model.tie_order, n_classes)
    n_features = as_integer("n_features_in_", model.n_features, least=1)
    vectors = None
    if model.kernel is None or model.support is not None:  # which a file may not know
        require_numbers("support_", model.support, (n_vectors,), "iu")
    if model.kernel is None:
        as_indices("support_", model.support, n_features)
    else:
        vectors = checked_vectors("support_vectors_", model.vectors, (n_vectors, n_features))
    if values:
        if not (model.kernel is None or isinstance(model.kernel, Kernel)):
            raise ValueError(f"_kernel must be a kernel, got {shown(model.kernel)} instead")
        numbers = {"dual_coef_": model.dual_coef, "intercept_": model.intercept}
        for name, array in {**numbers, "support_vectors_": vectors}.items():
            if array is not None and not np.isfinite(largest_magnitude(array)):
                raise ValueError(f"{name} must be finite, got NaN or infinity")
    return model._replace(vectors=vectors)
