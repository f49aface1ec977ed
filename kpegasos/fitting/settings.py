"""The parameters of an estimator as plain Python numbers: the boundary to the solvers.

Every parameter is checked here, and nowhere else. scikit-learn admits every kind of number; beyond
this module there are ``int``, ``float`` and ``None`` only, so that no loop is compiled for, or
overflows in, a NumPy scalar of 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from typing import Any

from sklearn.base import RegressorMixin

from kpegasos.core.averaging import AVERAGES
from kpegasos.core.draws import MOST_DRAWS, SAMPLINGS
from kpegasos.core.state import PegasosOptions, options_for
from kpegasos.kernels.functions import make_kernel
from kpegasos.losses import HINGE, is_hinge, make_loss
from kpegasos.rows.budget import as_budget
from kpegasos.rows.choose import CACHES
from kpegasos.solvers.pegasos import Checkpoints
from kpegasos.utils.validation import (
    LARGEST,
    LARGEST_SCALING,
    SMALLEST,
    as_choice,
    as_flag,
    as_integer,
    as_number,
    optional,
    shown,
)

#: Epochs of a plain fit with ``epochs="auto"``.
AUTO_EPOCHS = 20.0
#: Epochs, and the most draws, of the run that `polish` goes on from: it finds sooner what a longer
#: run would find.
POLISH_EPOCHS, POLISH_DRAWS = 0.5, 512
#: Of polynomials: LIBSVM's, far beyond any use.
LARGEST_DEGREE = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """Parameters that the kernel and the linear estimators share.

    Attributes
    ----------
    options : PegasosOptions
    C, intercept_scaling : float
        ``intercept_scaling`` is 0 without an intercept.
    lam, tol, max_time : float or None
        ``tol`` is the certified relative gap at which to stop.
    n_steps : int or None
    epochs : float
        Unless they are shortened; see `epochs_of`.
    shortened : bool
        Whether epochs are left to us, and `polish` takes over soon.
    checkpoints : str, sequence of int or None
    polish, warm_start, verbose : bool
    n_jobs : int or None
    loss : Loss
    counts : bool
        Whether coefficients of a run are numbers of violations.
    own : dict
        Plain parameters of the estimator by their names, those that others do not have among them.
    """

    options: PegasosOptions
    C: float
    lam: float | None
    intercept_scaling: float
    n_steps: int | None
    epochs: float
    shortened: bool
    checkpoints: Any
    polish: bool
    warm_start: bool
    verbose: bool
    tol: float | None
    max_time: float | None
    n_jobs: int | None
    loss: Any
    counts: bool
    own: dict[str, Any]

    def epochs_of(self, n_samples: int) -> float:
        """Epochs of a Pegasos run over so many examples."""
        if self.shortened:
            return min(POLISH_EPOCHS, POLISH_DRAWS / n_samples)
        return self.epochs


def _choice(*names: str) -> Callable[[str, Any], Any]:
    return partial(as_choice, choices=names)


def _name_or(check: Callable[..., Any], *names: str, **limits: Any) -> Callable[[str, Any], Any]:
    """A check of what is a name, or else a number."""

    def checked(parameter: str, value: Any) -> Any:
        if isinstance(value, str):
            return as_choice(parameter, value, names)
        return check(parameter, value, **limits)

    return checked


def _perhaps(check: Callable[..., Any], **limits: Any) -> Callable[[str, Any], Any]:
    return partial(optional, check, **limits)


def _as_n_jobs(name: str, value: Any) -> int:
    """Number of jobs in joblib's sense, where zero means nothing."""
    if number := as_integer(name, value):
        return number
    raise ValueError(f"{name} must be None or an integer other than 0, got 0 instead")


def _as_kernel(name: str, value: Any) -> Any:
    if not (isinstance(value, str) and value == "precomputed"):
        make_kernel(value)
    return value


def _as_fraction(name: str, value: Any) -> float:
    if (number := as_number(name, value, positive=True)) < 1.0:
        return number
    raise ValueError(f"{name} must be less than 1, got {shown(value)} instead")


def _as_class_weight(name: str, value: Any) -> Any:
    if value is None or isinstance(value, dict) or (isinstance(value, str) and value == "balanced"):
        return value
    raise ValueError(f"{name} must be a dict, 'balanced' or None, got {shown(value)} instead")


def _as_checkpoints(name: str, value: Any) -> Any:
    Checkpoints(value, 0, 1, 1, 1)
    return value


_POSITIVE = partial(as_number, positive=True)
#: How each parameter is checked. Losses and random states are where they are used.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "C": partial(as_number, least=SMALLEST, most=LARGEST),
    "lam": _perhaps(as_number, least=SMALLEST, most=LARGEST),
    "epsilon": partial(as_number, least=0.0, most=LARGEST),
    "kernel": _as_kernel,
    "degree": partial(as_integer, least=0, most=LARGEST_DEGREE),
    "gamma": _name_or(_POSITIVE, "scale", "auto"),
    "coef0": as_number,
    "fit_intercept": as_flag,
    "intercept_scaling": partial(_POSITIVE, most=LARGEST_SCALING),
    "epochs": _name_or(_POSITIVE, "auto", most=MOST_DRAWS),
    "n_steps": _perhaps(as_integer, least=1, most=MOST_DRAWS),
    "batch_size": partial(as_integer, least=1),
    "sampling": _choice(*SAMPLINGS),
    "projection": as_flag,
    "average": _perhaps(as_choice, choices=AVERAGES),
    "polish": as_flag,
    "tol": _perhaps(_POSITIVE),
    "max_time": _perhaps(_POSITIVE),
    "checkpoints": _as_checkpoints,
    "cache": _choice(*CACHES),
    "cache_mb": lambda _, value: as_budget(value),
    "row_dtype": _choice("auto", "float32", "float64"),
    "early_stopping": as_flag,
    "validation_fraction": _as_fraction,
    "n_iter_no_change": partial(as_integer, least=1),
    "class_weight": _as_class_weight,
    "decision_function_shape": _choice("ovr", "ovo"),
    "break_ties": as_flag,
    "n_jobs": _perhaps(_as_n_jobs),
    "warm_start": as_flag,
    "verbose": as_flag,
}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Defaults of the package's own constructors, which need no check."""
    own = kind.__module__.startswith("kpegasos.")
    return {each.name: each.default for each in signature(kind).parameters.values() if own}


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator by their names, each of them checked."""
    kind: Any = type(estimator)
    plain, defaults = estimator.get_params(deep=False), _defaults(kind)
    for name, value in plain.items():
        if name in _CHECKS and not (name in defaults and value is defaults[name]):
            plain[name] = _CHECKS[name](name, value)
    if "kernel" in plain:  # draws that lie side by side are of use to features only
        as_choice("sampling", plain["sampling"], SAMPLINGS[:2])
    return plain


def settings_of(estimator: Any) -> Settings:
    """Plain parameters of an estimator.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    plain = _plain_parameters(estimator)
    get = plain.get
    polish, auto_epochs = plain["polish"], plain["epochs"] == "auto"
    # A score at each epoch says when to stop, so there have to be some.
    shortened = auto_epochs and polish and not get("early_stopping")
    regression = isinstance(estimator, RegressorMixin)
    loss = HINGE
    if regression or plain["loss"] != "hinge":
        loss = make_loss(plain["loss"], regression=regression, epsilon=get("epsilon"))
    options = PegasosOptions(
        plain["batch_size"], plain["sampling"], plain["projection"], plain["average"]
    )
    options = options_for(loss, options)
    return Settings(
        options=options,
        C=plain["C"],
        lam=plain["lam"],
        intercept_scaling=plain["intercept_scaling"] if plain["fit_intercept"] else 0.0,
        n_steps=plain["n_steps"],
        epochs=AUTO_EPOCHS if auto_epochs else plain["epochs"],
        shortened=shortened,
        checkpoints=plain["checkpoints"],
        polish=polish,
        warm_start=plain["warm_start"],
        verbose=plain["verbose"],
        tol=1e-2 if polish and plain["tol"] is None else plain["tol"],
        max_time=plain["max_time"],
        n_jobs=get("n_jobs"),
        loss=loss,
        counts=is_hinge(loss) and not options.projection,
        own=plain,
    )
