"""Fitted estimators of scikit-learn that predict as the package's do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from kpegasos.estimators._fitted import fitted
from kpegasos.estimators._sklearn_compat import set_libsvm_model, set_linear_model
from kpegasos.exports.libsvm import NAMES, named_kernel
from kpegasos.exports.model import Model
from kpegasos.kernels.functions import Kernel, check_values
from kpegasos.utils.validation import canonical_rows


@dataclass(frozen=True)
class KernelFunction:
    """A kernel object as a callable kernel of scikit-learn.

    Attributes
    ----------
    kernel : Kernel
    """

    kernel: Kernel

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), computed in float64."""
        A, B = (canonical_rows(rows).astype(np.float64, copy=False) for rows in (A, B))
        return np.asarray(check_values(self.kernel.block(A, B), A, B), dtype=np.float64)


def to_sklearn(estimator: Any, model: Model) -> Any:
    """The model as a fitted estimator of scikit-learn.

    Parameters
    ----------
    estimator : BasePegasos
        Whose parameters are taken over where scikit-learn has them.
    model : Model
        Its model.
    """
    is_linear = not hasattr(estimator, "kernel")
    if is_linear and (model.classes is None or model.classes.size == 2):
        made = _linear(estimator, model)
    else:
        made = _libsvm(estimator, model)
    made.n_features_in_ = model.n_features
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    return made


def _c_of(estimator: Any) -> float:
    """C, or that which belongs to ``lam`` without weights."""
    if fitted(estimator, "lam") is None or not hasattr(estimator, "alpha_"):
        return float(fitted(estimator, "C"))
    return 1.0 / (float(fitted(estimator, "lam")) * estimator.alpha_.shape[-1])


def _common(estimator: Any, model: Model) -> dict[str, Any]:
    """Parameters that all have."""
    shared: dict[str, Any] = {"C": _c_of(estimator)}
    if model.classes is None:
        return {**shared, "epsilon": float(fitted(estimator, "epsilon"))}
    return {**shared, "class_weight": fitted(estimator, "class_weight")}


def _linear(estimator: Any, model: Model) -> Any:
    kind = LinearSVR if model.classes is None else LinearSVC
    parameters: dict[str, Any] = {
        "fit_intercept": bool(fitted(estimator, "fit_intercept")),
        "intercept_scaling": float(fitted(estimator, "intercept_scaling")),
    }
    known = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
    loss = fitted(estimator, "loss")
    if isinstance(loss, str) and loss in known:
        parameters["loss"] = loss
    made = kind(**_common(estimator, model), **parameters)
    coef = np.array(estimator.coef_, dtype=np.float64)
    set_linear_model(made, coef, model.intercept.copy(), model.classes)
    return made


def _libsvm(estimator: Any, model: Model) -> Any:
    kernel = model.kernel
    if kernel is None:
        parameters: dict[str, Any] = {"kernel": "precomputed"}
    else:
        parameters = _named(kernel) or {"kernel": KernelFunction(kernel)}
    if model.classes is not None:
        parameters["decision_function_shape"] = fitted(estimator, "decision_function_shape")
        parameters["break_ties"] = bool(fitted(estimator, "break_ties"))
    if not hasattr(estimator, "kernel"):
        # The weights of a linear model; among sparse vectors SVC takes dense and sparse rows.
        model = model._replace(vectors=sparse.csr_matrix(model.vectors))
    kind = SVR if model.classes is None else SVC
    made = kind(**_common(estimator, model), **parameters)
    set_libsvm_model(made, model)
    return made


def _named(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters of a kernel that LIBSVM has, else nothing."""
    named = named_kernel(kernel)
    return {} if named is None else {"kernel": NAMES.get(named[0], named[0]), **named[1]}
