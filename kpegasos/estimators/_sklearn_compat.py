"""Every private name of scikit-learn that the package uses, and what differs between versions.

scikit-learn 1.6 and later work. Callbacks exist where scikit-learn has `sklearn.callback` (1.9);
elsewhere the estimators have no ``set_callbacks``, and the observers here have nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from numbers import Number, Real
from operator import index
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import (
    HasMethods,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import _check_sample_weight

from kpegasos.core.problem import check_weights
from kpegasos.utils.validation import (
    LARGEST,
    SMALLEST,
    as_number,
    is_number,
    refuse_masked,
    refuse_times,
    shown,
    told_of,
)

try:
    from sklearn.callback import CallbackSupportMixin

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""


__all__ = [
    "HAS_CALLBACKS",
    "CallbackObserver",
    "CallbackSupportMixin",
    "CheckpointObserver",
    "HasMethods",
    "Interval",
    "StrOptions",
    "checked_weight",
    "fit_context",
    "one_vs_rest_values",
    "takes_sample_weight",
    "validate_parameters",
    "validate_some_parameters",
    "weights_by_class",
]


class Interval(_Interval):
    """Numbers of an interval, as the float or int that they become; truth values are none."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is a number of the interval, whatever its type and size."""
        if not is_number(val, self.type):
            return False
        try:
            return bool(super().is_satisfied_by(float(val) if self.type is Real else index(val)))
        except OverflowError:  # beyond every float
            return False


#: A call makes the fitted attributes of the model as it stands.
Model = Callable[[], dict[str, Any]]


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the rows of X as float64, ones if None: one non-negative number for each row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    refuse_masked("sample_weight", sample_weight)
    refuse_times("sample_weight", sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = as_number("sample_weight", sample_weight)
    # Later scikit-learn refuses weights that are all zero, as those of a chunk may be.
    known = signature(_check_sample_weight).parameters
    zeros = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in known else {}
    weight: np.ndarray
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, **zeros)
    except (TypeError, ValueError) as error:
        raise told_of(error, "sample_weight must be a number for each row of X") from None
    if weight.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight must not be negative, got a minimum of {weight.min():g} instead"
        )
    check_weights("sample_weight", weight)
    return weight


def weights_by_class(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Weight of each class; "balanced" takes heed of the examples' weights."""
    if class_weight is None:
        return np.ones(classes.size)
    by_class: np.ndarray
    if isinstance(class_weight, dict):
        class_weight = {
            label: as_number(
                f"class_weight of {shown(label)}",
                value,
                positive=True,
                least=SMALLEST,
                most=LARGEST,
            )
            for label, value in class_weight.items()
        }
    if class_weight != "balanced" or sample_weight is None:
        by_class = compute_class_weight(class_weight, classes=classes, y=y)
    elif "sample_weight" in signature(compute_class_weight).parameters:
        by_class = compute_class_weight(
            class_weight, classes=classes, y=y, sample_weight=sample_weight
        )
    else:  # scikit-learn 1.6
        totals = np.bincount(np.searchsorted(classes, y), sample_weight)
        by_class = sample_weight.sum() / (classes.size * totals)
    return by_class


def one_vs_rest_values(second_wins: np.ndarray, values: np.ndarray, n_classes: int) -> np.ndarray:
    """SVC's votes made continuous, of shape (n_samples, n_classes)."""
    decisions: np.ndarray = _ovr_decision_function(second_wins, values, n_classes)
    return decisions


def takes_sample_weight(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer, one of scikit-learn's or a user's own, takes ``sample_weight``."""
    try:
        return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:  # compiled functions may have none
        return False


def validate_parameters(estimator: Any) -> None:
    """Check the constructor's parameters of an estimator against its constraints."""
    estimator._validate_params()


def validate_some_parameters(estimator: Any, parameters: dict[str, Any]) -> None:
    """Check these parameters of an estimator against its constraints."""
    validate_parameter_constraints(
        estimator._parameter_constraints, parameters, caller_name=type(estimator).__name__
    )


class CheckpointObserver:
    """Follows a fit from checkpoint to checkpoint; by itself it does nothing and stops nothing."""

    def begin_fit(self, n_checkpoints: int) -> None:
        """Learn that the fit begins, with at most so many checkpoints."""

    def begin_checkpoint(self) -> None:
        """Learn that training goes on to the next checkpoint."""

    def on_checkpoint(self, model: Model) -> bool:
        """Look at the model at a checkpoint, and say whether the fit is to stop there."""
        return False

    def end_fit(self) -> None:
        """Learn that the fit has ended."""

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes that tell what was observed."""
        return {}


class CallbackObserver(CheckpointObserver):
    """Tells scikit-learn's callbacks of a fit.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose callbacks are told.
    X, y, sample_weight : array-like
        As ``fit`` got them.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._estimator = estimator
        self._hook_arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    @staticmethod
    def of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> CallbackObserver | None:
        """Observer for the estimator's callbacks, None if it has none."""
        if getattr(estimator, "_skl_callbacks", []):
            return CallbackObserver(estimator, X, y, sample_weight)
        if HAS_CALLBACKS:  # a meta-estimator may have to know that this fit has no parts
            estimator._init_callback_context()
        return None

    def begin_fit(self, n_checkpoints: int) -> None:
        """Set the callbacks up and tell them that the fit begins."""
        self._fit = self._estimator._init_callback_context(max_subtasks=n_checkpoints)
        self._fit.call_on_fit_task_begin(**self._hook_arguments)

    def begin_checkpoint(self) -> None:
        """Tell the callbacks that the way to a checkpoint begins."""
        self._checkpoint = self._fit.subcontext(task_name="checkpoint")
        self._checkpoint.call_on_fit_task_begin(**self._hook_arguments)

    def on_checkpoint(self, model: Model) -> bool:
        """Show the callbacks the model, and hear whether one of them stops the fit."""
        stop = self._checkpoint.call_on_fit_task_end(
            **self._hook_arguments, reconstruction_attributes=model
        )
        return bool(stop)

    def tell_task(self, name: str) -> bool:
        """Tell the callbacks of a part of the fit without a model, and hear whether it stops."""
        task = self._fit.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._hook_arguments)
        return bool(task.call_on_fit_task_end(**self._hook_arguments))

    def end_fit(self) -> None:
        """Tell the callbacks that the fit has ended."""
        self._fit.call_on_fit_task_end(**self._hook_arguments)
