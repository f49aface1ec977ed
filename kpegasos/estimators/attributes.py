"""Parameters of estimators, with types and defaults, and types of what a fit sets.

A constructor stores its parameters and does nothing else, so dataclasses define them: an estimator
has the parameters of those that it is derived from, in the order of their definition. Fitted
attributes have classes of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from kpegasos.core.draws import Sampling
from kpegasos.core.steps import StepRule
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.result import History

# --- parameters ---


@dataclass(eq=False, repr=False)
class CostParameters:
    """First parameter of every estimator but a search."""

    C: float = 1.0


@dataclass(eq=False, repr=False)
class KernelParameters(CostParameters):
    """First parameters of estimators with a kernel."""

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: str | float = "scale"


@dataclass(eq=False, repr=False)
class RunParameters(CostParameters):
    """Parameters of every estimator but a search."""

    _: KW_ONLY
    polish: bool | type[DualAscent] = False
    tol: float | None = None
    epochs: str | float = "auto"
    random_state: Any = None
    lam: float | None = None
    loss: Any = "hinge"
    fit_intercept: bool | str = True
    intercept_scaling: float = 1.0
    n_steps: int | None = None
    batch_size: int = 1
    sampling: Sampling = "permutation"
    projection: bool = False
    average: str | None = "weighted"
    step: StepRule | None = None
    max_time: float | None = None
    checkpoints: Any = "auto"
    warm_start: bool = False
    verbose: bool = False


@dataclass(eq=False, repr=False)
class KernelValueParameters:
    """Further parameters of estimators with a kernel."""

    _: KW_ONLY
    degree: int = 3
    coef0: float = 0.0
    max_kernel_evaluations: int | None = None
    cache: str = "auto"
    cache_mb: float | str = "auto"
    row_dtype: str = "auto"


@dataclass(eq=False, repr=False)
class ClassifierParameters:
    """Parameters of classifiers and searches."""

    _: KW_ONLY
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class RegressorParameters:
    """Parameters of regressors."""

    _: KW_ONLY
    epsilon: float = 0.1
    loss: Any = "epsilon_insensitive"
    fit_intercept: bool | str = True


# --- attributes ---


class ModelAttributes:
    """Attributes of every fitted model."""

    alpha_: Any
    support_: np.ndarray
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    intercept_interval_: np.ndarray
    _validate: Callable[..., Any]
    _decide: Callable[..., np.ndarray]


class ClassifierAttributes(ModelAttributes):
    """Attributes of classifiers: numbers with two classes, arrays with more."""

    classes_: np.ndarray
    objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    relative_gap_: float | np.ndarray
    n_steps_: int | np.ndarray
    lam_: float | np.ndarray
    history_: History | list[History]


class RegressorAttributes(ModelAttributes):
    """Attributes of regressors."""

    objective_: float
    duality_gap_: float
    relative_gap_: float
    n_steps_: int
    lam_: float
    history_: History
