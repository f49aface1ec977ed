"""scikit-learn's bases of estimators; the stub beside this file has their types.

scikit-learn has no types, and a checker allows every attribute of a class whose base has none.
Callbacks exist where scikit-learn has `sklearn.callback` (1.9), with a method that begins a fit.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

#: The name of that method, which scikit-learn's documentation tells developers to call.
BEGIN_CALLBACKS = "_init_callback_context"

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    CallbackSupportMixin = None
HAS_CALLBACKS = hasattr(CallbackSupportMixin, BEGIN_CALLBACKS)

if not HAS_CALLBACKS:

    class CallbackSupportMixin:
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return a method with nothing around it."""
        return wraps(method)(lambda *arguments, **options: method(*arguments, **options))


__all__ = [
    "BEGIN_CALLBACKS",
    "HAS_CALLBACKS",
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "RegressorMixin",
    "with_callbacks",
]
