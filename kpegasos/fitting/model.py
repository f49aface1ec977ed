"""The model of an estimator: what a fit has made, with which parameters, and how it goes on.

Parameters may change after a fit, and a subclass may keep attributes of its own beside the model.
Other threads may fit an estimator again while it predicts. A warm start goes on from states,
margins and counts that mean nothing without their problem. A problem is recognised by a digest of
the data, the plain parameters and some values of the kernel, and by the functions and objects among
the parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import joblib
import numpy as np

from kpegasos.core.state import State
from kpegasos.kernels.base import takes_objects
from kpegasos.utils.threads import at_work

#: Parameters that predictions, probabilities and exports depend on.
_READ_LATER = (
    "C", "lam", "loss", "epsilon", "fit_intercept", "intercept_scaling", "class_weight",
)  # fmt: skip


#: Attributes that the validation of X sets.
_SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def parameters_read_later(estimator: Any) -> dict[str, Any]:
    """Return the parameters that the next model keeps as its ``_fitted``."""
    given = vars(estimator)
    found = {name: given[name] for name in _READ_LATER if name in given}
    if isinstance(found.get("class_weight"), dict):
        found["class_weight"] = dict(found["class_weight"])
    return found


def fitted(estimator: Any, name: str) -> Any:
    """Return a parameter as the model was fitted with it; as it is now if there is no model."""
    facts = vars(estimator).get("_fitted", {})
    return facts[name] if name in facts else getattr(estimator, name)


def _names_of_model(attributes: dict[str, Any]) -> set[str]:
    return {"_model_names", *attributes.get("_model_names", ())}


def set_model(estimator: Any, attributes: dict[str, Any]) -> None:
    """Set the attributes of a model, and drop those of an earlier one that it does not have."""
    model = {**attributes, "_model_names": [*attributes]}
    now = vars(estimator)
    earlier = _names_of_model(now)
    kept = {name: value for name, value in now.items() if name not in earlier}
    # All at once: whatever interrupts, there is one model or the other.
    estimator.__dict__ = {**kept, **model}


@contextmanager
def unchanged_by_errors(estimator: Any) -> Iterator[None]:
    """Restore the earlier model of an estimator if the block raises an error."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        model, _ = _split(before)
        _, others = _split(vars(estimator))
        estimator.__dict__ = {**others, **model}
        raise


def _split(attributes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split attributes into those of a model, those of the validation of X included, and others."""
    names = _names_of_model(attributes).union(_SET_BY_VALIDATION)
    model = {name: value for name, value in attributes.items() if name in names}
    return model, {name: value for name, value in attributes.items() if name not in names}


_Method = TypeVar("_Method", bound=Callable[..., Any])


def of_one_model(method: _Method) -> _Method:
    """Decorate a method so that it sees one model, even if another thread fits meanwhile.

    It runs on a copy of the estimator, and attributes that it sets are copied back. It computes on
    all threads, except for a single row, where they would cost more than they save.
    """

    @wraps(method)
    def wrapper(estimator: Any, *arguments: Any, **options: Any) -> Any:
        one, before = object.__new__(type(estimator)), dict(vars(estimator))
        one.__dict__ = dict(before)
        try:
            shape = getattr(arguments[0], "shape", None) if arguments else None
            is_brief = isinstance(shape, tuple) and shape[:1] == (1,)
            with nullcontext() if is_brief else at_work():
                return method(one, *arguments, **options)
        finally:
            for name, value in vars(one).items():
                if name not in before or before[name] is not value:
                    vars(estimator)[name] = value

    return wrapper  # type: ignore[return-value]


#: Parameters that change neither the problem nor the sequence of iterates.
_PARAMETERS_NOT_IN_DIGEST = {
    "epochs", "n_steps", "polish", "tol", "max_time", "max_kernel_evaluations", "checkpoints",
    "cache", "cache_mb", "n_jobs", "decision_function_shape", "break_ties", "warm_start", "verbose",
    "random_state",
}  # fmt: skip


#: Rows of X between which the values of a kernel are compared.
_ROWS_IN_DIGEST = 64


#: The identity of a problem: a digest of data and plain parameters, and the other parameters.
Origin = tuple[str, dict[str, Any]]


def origin_of(parameters: dict[str, Any], data: list[Any], kernel: Any = None) -> Origin:
    """Return all that a sequence of iterates depends on.

    Parameters
    ----------
    parameters : dict
        Of the estimator.
    data : list of arrays
        X and the targets and weights of the examples.
    kernel : Kernel, default=None
        Compared by its values between up to 64 evenly spaced rows of X; None if there is none.
    """
    named = {k: _plain(v) for k, v in parameters.items() if k not in _PARAMETERS_NOT_IN_DIGEST}
    objects = {name: value for name, value in named.items() if not _is_plain(value)}
    plain = {name: value for name, value in named.items() if name not in objects}
    return str(joblib.hash([*data, plain, _values(kernel, data[0])])), objects


def is_same_origin(one: Origin, other: Any) -> bool:
    """Check whether two problems are the same; functions and objects also if equal by ``==``.

    Parameters
    ----------
    one : Origin
    other : Origin or None
    """
    if other is None or one[0] != other[0] or one[1].keys() != other[1].keys():
        return False
    return all(_are_same(value, other[1][name]) for name, value in one[1].items())


def _is_plain(value: Any) -> bool:
    """Check whether a parameter is a number, a name, or a collection of them."""
    if type(value) in (list, tuple, dict):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return all(map(_is_plain, parts))
    return value is None or isinstance(value, str | Real | np.ndarray | np.generic)


def _are_same(one: Any, other: Any) -> bool:
    try:
        return one is other or (type(one) is type(other) and bool(one == other))
    except Exception:  # a user's comparison may raise anything
        return False


def _plain(value: Any) -> Any:
    """Return a number as a Python float, so that 2 and np.float32(2) are the same."""
    return float(value) if isinstance(value, Real | np.bool_) else value


def _values(kernel: Any, X: Any) -> np.ndarray | None:
    """Return values of a kernel between evenly spaced rows of X."""
    if kernel is None or takes_objects(kernel):
        return None
    number = min(_ROWS_IN_DIGEST, X.shape[0])
    some = X[np.linspace(0, X.shape[0] - 1, number).astype(np.intp)]
    return np.ascontiguousarray(kernel.block(some, some))


def states_to_go_on_from(
    states: list[State | None], origin: Origin, earlier: Origin | None
) -> list[State | None]:
    """Copy an earlier fit's states, since a fit that fails must not change them.

    Raises
    ------
    ValueError
        If they belong to another problem.
    """
    if not is_same_origin(origin, earlier):
        raise ValueError(
            "warm_start=True goes on with the earlier fit and needs the same X, y, "
            "sample_weight and parameters of the problem and of the update, got others"
        )
    return copy.deepcopy(states)
