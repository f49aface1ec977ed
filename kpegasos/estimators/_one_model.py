"""Predictions by one model, while other threads may fit the estimator anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def of_one_model(method: _Method) -> _Method:
    """Have a method see the estimator as it stands: a fit replaces its attributes all at once."""

    @wraps(method)
    def wrapper(estimator: Any, *arguments: Any, **options: Any) -> Any:
        one = object.__new__(type(estimator))
        one.__dict__ = {**vars(estimator), "_original": original(estimator)}
        return method(one, *arguments, **options)

    return wrapper  # type: ignore[return-value]


def original(estimator: Any) -> Any:
    """The estimator of which one stands for its model."""
    return vars(estimator).get("_original", estimator)
