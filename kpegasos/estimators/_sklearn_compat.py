"""Every private name of scikit-learn that the package uses, and what differs between versions.

scikit-learn 1.6 and later work. Callbacks exist where scikit-learn has `sklearn.callback` (1.9);
elsewhere the estimators have no ``set_callbacks``, and the observers here have nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Number, Real
from operator import index
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
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
from kpegasos.exports.model import Model as ExportedModel
from kpegasos.utils.turns import Turn
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
    "HtmlNoteMixin",
    "Interval",
    "StrOptions",
    "checked_weight",
    "fit_context",
    "one_vs_rest_values",
    "set_libsvm_model",
    "set_linear_model",
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


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Any], Any]:
    """scikit-learn's decorator of a method that fits; threads take turns with the estimator."""

    def decorate(method: Any) -> Any:
        checked = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)(method)

        @wraps(method)
        def fit(estimator: Any, *arguments: Any, **options: Any) -> Any:
            with Turn(estimator, "estimator"):
                return checked(estimator, *arguments, **options)

        return fit

    return decorate


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


def set_linear_model(
    linear: Any, coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray | None
) -> None:
    """Make a LinearSVC or LinearSVR a fitted one, of this model."""
    fitted = {"coef_": coef, "intercept_": intercept, "n_iter_": 0}
    vars(linear).update(fitted if classes is None else {**fitted, "classes_": classes.copy()})


def set_libsvm_model(svm: Any, model: ExportedModel) -> None:
    """Make an SVC or SVR, whose parameters are those of the kernel, a fitted one, of this model."""
    n_vectors, classes = model.dual_coef.shape[1], model.classes
    of_callable, given = callable(svm.kernel), model.vectors is None
    places = np.arange(n_vectors) if model.support is None or of_callable else model.support
    vectors: Any = np.empty((n_vectors, 0)) if given or of_callable else model.vectors
    is_sparse = sparse.issparse(vectors)
    dual_coef: Any = np.array(model.dual_coef, dtype=np.float64, order="C")
    if is_sparse:
        vectors = sparse.csr_matrix(vectors, dtype=np.float64)
        vectors.sort_indices()
        columns = np.tile(np.arange(n_vectors, dtype=np.int32), len(dual_coef))
        ends = np.arange(len(dual_coef) + 1, dtype=np.int32) * n_vectors
        # Every entry is there, zeros too: LIBSVM reads them as a dense array.
        dual_coef = sparse.csr_matrix((dual_coef.ravel(), columns, ends), dual_coef.shape)
    else:
        vectors = np.array(vectors, dtype=np.float64, order="C")
    # Inside an SVC, decisions of two classes are positive for the first.
    flips = -1.0 if classes is not None and classes.size == 2 else 1.0
    regression = {"_n_support": np.array([n_vectors, 0], dtype=np.int32), "n_iter_": 0}
    vars(svm).update(
        regression
        if classes is None
        else {
            "classes_": classes.copy(),
            "class_weight_": np.ones(classes.size),
            "_n_support": np.array(model.n_support, dtype=np.int32),
            "n_iter_": np.zeros(model.intercept.size, dtype=np.int32),
        }
    )
    vars(svm).update(
        support_=np.array(places, dtype=np.int32),
        support_vectors_=vectors,
        dual_coef_=dual_coef,
        intercept_=model.intercept.copy(),
        shape_fit_=(model.n_features,) * 2 if given else (n_vectors, model.n_features),
        fit_status_=0,
        _dual_coef_=flips * dual_coef,
        _intercept_=flips * model.intercept,
        _gamma=0.0 if given or of_callable or svm.kernel == "linear" else float(svm.gamma),
        _sparse=is_sparse,
        _probA=np.empty(0),
        _probB=np.empty(0),
        _effective_probability=False,
        _num_iter=svm.n_iter_,
    )
    if of_callable:
        svm._BaseLibSVM__Xfit = model.vectors


class HtmlNoteMixin:
    """A line below scikit-learn's diagram of an estimator, for classes before `BaseEstimator`."""

    def _html_note(self) -> str:
        """The line, as HTML."""
        return ""

    def _repr_html_inner(self) -> str:
        return _with_note(super()._repr_html_inner(), self._html_note())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = _with_note(bundle["text/html"], self._html_note())
        return bundle


def _with_note(diagram: str, note: str) -> str:
    """A diagram and a line below it, in the colours of the page, light or dark."""
    style = "color: inherit; font-size: 0.9em; opacity: 0.8; margin: 0.3em 0 0 0.5em"
    return f'{diagram}<div style="{style}">{note}</div>' if note else diagram


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
