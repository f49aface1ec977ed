"""Types of what estimators keep: parameters, which constructors do not set one by one, and models.

A test compares them with constructors and fitted models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kpegasos.core.draws import Sampling
from kpegasos.core.steps import StepRule
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.result import History


class ModelAttributes:
    """Of every fitted model."""

    alpha_: Any
    support_: np.ndarray
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    intercept_interval_: np.ndarray


class PegasosAttributes(ModelAttributes):
    """Of every estimator but a search."""

    C: float
    lam: float | None
    loss: Any
    fit_intercept: bool | str
    intercept_scaling: float
    epochs: str | float
    n_steps: int | None
    batch_size: int
    sampling: Sampling
    projection: bool
    average: str | None
    step: StepRule | None
    polish: bool | type[DualAscent]
    tol: float | None
    max_time: float | None
    checkpoints: Any
    warm_start: bool
    verbose: bool
    random_state: Any


class KernelAttributes:
    """Of estimators with kernel values."""

    kernel: Any
    degree: int
    gamma: str | float
    coef0: float
    max_kernel_evaluations: int | None
    cache: str
    cache_mb: float | str
    row_dtype: str

    support_vectors_: Any


class ClassifierAttributes:
    """Of classifiers, where numbers are arrays if there are more than two classes."""

    _validate: Callable[..., Any]
    _decide: Callable[..., np.ndarray]

    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    n_jobs: int | None

    classes_: np.ndarray
    intercept_: np.ndarray
    objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    relative_gap_: float | np.ndarray
    n_steps_: int | np.ndarray
    lam_: float | np.ndarray
    history_: History | list[History]


class RegressorAttributes:
    """Of regressors."""

    _validate: Callable[..., Any]
    _decide: Callable[..., np.ndarray]

    epsilon: float
    fit_intercept: bool | str

    objective_: float
    duality_gap_: float
    relative_gap_: float
    n_steps_: int
    lam_: float
    history_: History
