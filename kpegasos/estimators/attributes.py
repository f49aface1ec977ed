"""Parameters of estimators, with types and defaults, and types of what a fit sets.

A constructor keeps its parameters and does nothing else, so dataclasses have them: an estimator is
made of those that it is derived from, in the order of their definition. Dataclasses hold parameters
alone; attributes of a model have classes beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from kpegasos.core.draws import Sampling
from kpegasos.core.steps import StepRule
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.result import History

Estimator = TypeVar("Estimator")

_PENALTY = "the penalty is the squared norm; `lam` or `C` is its weight"
_HELD_OUT = "none; a callback of scikit-learn stops a fit by what it sees of held-out examples"
_STEPS = "`step`; None is 1 / (lam · t)"
#: Parameters of SVC, SVR, LinearSVC, LinearSVR and SGDClassifier that have another name here.
COUNTERPARTS = {
    "alpha": "`lam`, or `C` = 1 / (alpha · n_samples)",
    "cache_size": "`cache_mb`",
    "dual": "none; the steps are primal, and `polish=True` ascends the dual",
    "early_stopping": _HELD_OUT,
    "eta0": _STEPS,
    "l1_ratio": _PENALTY,
    "learning_rate": _STEPS,
    "max_iter": "`epochs` or `n_steps`, and `max_time` in seconds",
    "multi_class": "none; for one-vs-rest, put it into `sklearn.multiclass.OneVsRestClassifier`",
    "n_iter": "`epochs` or `n_steps`",
    "n_iter_no_change": _HELD_OUT,
    "nu": "`C`; for the problems with nu, see `sklearn.svm.NuSVC`",
    "penalty": _PENALTY,
    "power_t": _STEPS,
    "probability": "`loss='log_loss'`, or `sklearn.calibration.CalibratedClassifierCV`",
    "shrinking": "none; `polish=True` sets examples aside by itself",
    "shuffle": "`sampling`",
    "validation_fraction": _HELD_OUT,
}


def with_counterparts(kind: type[Estimator]) -> type[Estimator]:
    """Answer a parameter of another estimator with what it is called here."""
    init: Any = kind.__init__
    others = COUNTERPARTS.keys() - signature(init).parameters.keys()

    @wraps(init)
    def answering(self: Any, *args: Any, **parameters: Any) -> None:
        for name in others & parameters.keys():
            raise TypeError(
                f"{kind.__name__} has no parameter {name!r}; its counterpart: "
                f"{COUNTERPARTS[name]}. The page 'From SVC, LinearSVC, SGDClassifier' of the "
                f"documentation has them all"
            )
        init(self, *args, **parameters)

    kind.__init__ = answering  # type: ignore[method-assign]
    return kind


# --- parameters ---


@dataclass(eq=False, repr=False)
class CostParameters:
    """Of every estimator but a search."""

    C: float = 1.0


@dataclass(eq=False, repr=False)
class KernelParameters(CostParameters):
    """Of estimators with a kernel."""

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: str | float = "scale"


@dataclass(eq=False, repr=False)
class RunParameters(CostParameters):
    """Of every estimator but a search."""

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
    """Of estimators with kernel values."""

    _: KW_ONLY
    degree: int = 3
    coef0: float = 0.0
    max_kernel_evaluations: int | None = None
    cache: str = "auto"
    cache_mb: float | str = "auto"
    row_dtype: str = "auto"


@dataclass(eq=False, repr=False)
class ClassifierParameters:
    """Of classifiers and searches."""

    _: KW_ONLY
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class RegressorParameters:
    """Of regressors."""

    _: KW_ONLY
    epsilon: float = 0.1
    loss: Any = "epsilon_insensitive"
    fit_intercept: bool | str = True


# --- attributes ---


class ModelAttributes:
    """Of every fitted model."""

    alpha_: Any
    support_: np.ndarray
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    intercept_interval_: np.ndarray
    _validate: Callable[..., Any]
    _decide: Callable[..., np.ndarray]


class ClassifierAttributes(ModelAttributes):
    """Of classifiers, where numbers are arrays if there are more than two classes."""

    classes_: np.ndarray
    objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    relative_gap_: float | np.ndarray
    n_steps_: int | np.ndarray
    lam_: float | np.ndarray
    history_: History | list[History]


class RegressorAttributes(ModelAttributes):
    """Of regressors."""

    objective_: float
    duality_gap_: float
    relative_gap_: float
    n_steps_: int
    lam_: float
    history_: History
