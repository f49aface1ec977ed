"""What other estimators' parameters are called here, for those who come from scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Estimator = TypeVar("Estimator")

_PENALTY = "the penalty is the squared norm; `lam` or `C` is its weight"
_STEPS = "steps are 1 / (lam · t); `kpegasos.pegasos` takes others as `step`"
#: Parameters of SVC, SVR, LinearSVC, LinearSVR and SGDClassifier that have another name here.
COUNTERPARTS = {
    "alpha": "`lam`, or `C` = 1 / (alpha · n_samples)",
    "cache_size": "`cache_mb`",
    "dual": "none; the steps are primal, and `polish=True` ascends the dual",
    "eta0": _STEPS,
    "l1_ratio": _PENALTY,
    "learning_rate": _STEPS,
    "max_iter": "`epochs` or `n_steps`, and `max_time` in seconds",
    "multi_class": "none; for one-vs-rest, put it into `sklearn.multiclass.OneVsRestClassifier`",
    "n_iter": "`epochs` or `n_steps`",
    "nu": "`C`; for the problems with nu, see `sklearn.svm.NuSVC`",
    "penalty": _PENALTY,
    "power_t": _STEPS,
    "probability": "`loss='log_loss'`, or `sklearn.calibration.CalibratedClassifierCV`",
    "shrinking": "none; `polish=True` sets examples aside by itself",
    "shuffle": "`sampling`",
}


def tells_counterparts(
    init: Callable[Concatenate[Estimator, Parameters], None],
) -> Callable[Concatenate[Estimator, Parameters], None]:
    """Have a constructor answer a parameter of another estimator with what it is called here.

    The signature stays that of the constructor, which scikit-learn reads.
    """

    @wraps(init)
    def checked(self: Estimator, *args: Parameters.args, **options: Parameters.kwargs) -> None:
        try:
            init(self, *args, **options)
        except TypeError:
            for name in options:
                refuse_foreign(type(self), name)
            raise

    return checked


def refuse_foreign(kind: type[Any], name: str) -> None:
    """Raise a TypeError for a parameter of another estimator, if this kind does not have it."""
    if name in COUNTERPARTS and name not in kind._get_param_names():
        raise TypeError(
            f"{kind.__name__} has no parameter {name!r}; its counterpart: {COUNTERPARTS[name]}. "
            "The page 'From SVC, LinearSVC, SGDClassifier' of the documentation has them all"
        ) from None
