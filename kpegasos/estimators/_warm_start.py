"""Warm starts: whether the states of an earlier fit belong to the problem of this one.

A state is margins and counts, and means nothing without the problem that it was made from. A
problem is known by a digest of the data, the parameters with all that functions and objects among
them do, and the values of the kernel.
"""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any

import joblib
import numpy as np

from kpegasos.core.state import State
from kpegasos.utils.identity import identity

#: Parameters that change neither the problem nor the sequence of iterates.
_PARAMETERS_NOT_IN_DIGEST = {
    "epochs", "n_steps", "polish", "tol", "max_time", "checkpoints", "cache", "cache_mb", "n_jobs",
    "decision_function_shape", "break_ties", "warm_start", "verbose", "random_state",
}  # fmt: skip

#: Rows of X between which the values of a kernel are compared.
_ROWS_IN_DIGEST = 64


def problem_digest(parameters: dict[str, Any], data: list[Any], kernel: Any = None) -> str:
    """Digest of all that a sequence of iterates depends on.

    Parameters
    ----------
    parameters : dict
        Of the estimator.
    data : list of arrays
        X and what else there is for each example.
    kernel : Kernel, default=None
        Known by its values between up to 64 evenly spaced rows of X; None if there is no function.
    """
    named = {k: _plain(v) for k, v in parameters.items() if k not in _PARAMETERS_NOT_IN_DIGEST}
    return str(joblib.hash([*data, identity(named), _values(kernel, data[0])]))


def _plain(value: Any) -> Any:
    """A number as Python's: 2 and np.float32(2) are the same."""
    return float(value) if isinstance(value, Real | np.bool_) else value


def _values(kernel: Any, X: Any) -> np.ndarray | None:
    """Values of a kernel between evenly spaced rows of X."""
    if kernel is None:
        return None
    number = min(_ROWS_IN_DIGEST, X.shape[0])
    some = X[np.linspace(0, X.shape[0] - 1, number).astype(np.intp)]
    return np.ascontiguousarray(kernel.block(some, some))


def states_to_go_on_from(
    states: list[State | None], digest: str, earlier_digest: str | None
) -> list[State | None]:
    """Copies of an earlier fit's states: a fit that fails must not have moved them.

    Raises
    ------
    ValueError
        If they belong to another problem.
    """
    if digest != earlier_digest:
        raise ValueError(
            "warm_start=True goes on with the earlier fit and needs the same X, y, "
            "sample_weight and parameters of the problem and of the update, got others"
        )
    return copy.deepcopy(states)
