"""Check what a fit is given: parameters, rows, targets and weights.

Every parameter but ``random_state`` is checked here, and nowhere else. scikit-learn admits every
kind of number. Beyond this module there are ``int``, ``float`` and ``None`` only, so that no loop
is compiled for, or overflows in, a NumPy scalar of 16 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from numbers import Number
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from kpegasos.core.draws import MOST_DRAWS, check_sampling
from kpegasos.core.problem import as_cost, check_weights
from kpegasos.core.state import AVERAGES, PegasosOptions, options_for
from kpegasos.core.steps import check_step
from kpegasos.kernels.functions import make_kernel
from kpegasos.losses import HINGE, is_hinge, make_loss
from kpegasos.rows.budget import as_budget
from kpegasos.rows.choose import CACHES
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import Checkpoints
from kpegasos.utils.validation import (
    LARGEST,
    LARGEST_SCALING,
    SMALLEST,
    as_choice,
    as_flag,
    as_integer,
    as_jobs,
    as_number,
    as_objects,
    canonical_rows,
    numbers_of,
    optional,
    plain_labels,
    refuse_masked,
    refuse_times,
    shown,
    sorted_labels,
    told_of,
)

#: Certified relative gap of `polish` with ``tol=None``.
POLISH_TOL = 1e-3
#: Epochs of a plain fit with ``epochs="auto"``.
AUTO_EPOCHS = 20.0
#: Epochs, and the most draws, of the run before `polish`, which finds sooner what a longer run
#: would find.
POLISH_EPOCHS, POLISH_DRAWS = 0.5, 512
#: The most draws where kernel values are costly: most rows of random examples are wasted.
COSTLY_DRAWS = 16
#: Share of the kernel matrix from which on a budget may be enough for a certified gap.
ENOUGH_OF_MATRIX = 0.125
#: The largest degree of a polynomial kernel in LIBSVM.
LARGEST_DEGREE = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """Parameters that the kernel and the linear estimators share.

    Attributes
    ----------
    options : PegasosOptions
    C, intercept_scaling : float
        ``intercept_scaling`` is 0 without an intercept.
    max_kernel_evaluations : int or None
    lam, tol, max_time : float or None
        ``tol`` is the certified relative gap at which to stop.
    n_steps : int or None
    epochs : float
        Those of a run that is not shortened; see `epochs_of`.
    shortened : bool
        Whether ``epochs`` is "auto" and `polish` takes over early.
    checkpoints : str, sequence of int or None
    polish : bool or type
        A type is a solver in place of ours.
    warm_start, verbose : bool
    n_jobs : int or None
    loss : Loss
    free_intercept : bool
        Whether the intercept is not regularised.
    counts : bool
        Whether the coefficients of a run are counts of violations.
    own : dict
        All checked parameters of the estimator, by name.
    """

    options: PegasosOptions
    C: float
    lam: float | None
    intercept_scaling: float
    n_steps: int | None
    epochs: float
    shortened: bool
    checkpoints: Any
    polish: bool | type[DualAscent]
    warm_start: bool
    verbose: bool
    tol: float | None
    max_time: float | None
    max_kernel_evaluations: int | None
    n_jobs: int | None
    loss: Any
    free_intercept: bool
    counts: bool
    own: dict[str, Any]

    def epochs_of(self, n_samples: int, *, n_values: float = 0.0, is_costly: bool = False) -> float:
        """Return the epochs of a Pegasos run over so many examples.

        All runs of the fit together may ask for ``n_values`` different kernel values.
        """
        budget = self.max_kernel_evaluations
        # Plain steps make more of a budget that is too small for a certificate.
        if self.shortened and (budget is None or budget >= ENOUGH_OF_MATRIX * n_values):
            return min(POLISH_EPOCHS, (COSTLY_DRAWS if is_costly else POLISH_DRAWS) / n_samples)
        return self.epochs


def _choice(*names: str) -> Callable[[str, Any], Any]:
    return partial(as_choice, choices=names)


def _name_or(check: Callable[..., Any], *names: str, **limits: Any) -> Callable[[str, Any], Any]:
    """Return a check for one of some names, or else for what ``check`` takes."""

    def checked(parameter: str, value: Any) -> Any:
        if isinstance(value, str):
            return as_choice(parameter, value, names)
        return check(parameter, value, **limits)

    return checked


def _perhaps(check: Callable[..., Any], **limits: Any) -> Callable[[str, Any], Any]:
    return partial(optional, check, **limits)


def _as_kernel(name: str, value: Any) -> Any:
    if not (isinstance(value, str) and value == "precomputed"):
        make_kernel(value)
    return value


def _as_class_weight(name: str, value: Any) -> Any:
    if value is None or isinstance(value, dict) or (isinstance(value, str) and value == "balanced"):
        return value
    raise ValueError(f"{name} must be a dict, 'balanced' or None, got {shown(value)} instead")


def _as_intercept(name: str, value: Any) -> bool | str:
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "free"):
        return value if isinstance(value, str) else bool(value)
    raise ValueError(f"{name} must be True, False or 'free', got {shown(value)} instead")


def _as_polish(name: str, value: Any) -> bool | type[DualAscent]:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, type) and issubclass(value, DualAscent):
        return value
    raise ValueError(
        f"{name} must be True, False or a class derived from DualAscent, got {shown(value)} instead"
    )


def _as_checkpoints(name: str, value: Any) -> Any:
    Checkpoints(value, 0, 1, 1, 1)
    return value


_POSITIVE = partial(as_number, positive=True)
#: How each parameter is checked; losses are by `make_loss`.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "C": as_cost,
    "lam": _perhaps(as_number, least=SMALLEST, most=LARGEST),
    "epsilon": partial(as_number, least=0.0, most=LARGEST),
    "kernel": _as_kernel,
    "degree": partial(as_integer, least=0, most=LARGEST_DEGREE),
    "gamma": _name_or(_POSITIVE, "scale", "auto"),
    "coef0": as_number,
    "fit_intercept": _as_intercept,
    "intercept_scaling": partial(_POSITIVE, most=LARGEST_SCALING),
    "epochs": _name_or(_POSITIVE, "auto", most=MOST_DRAWS),
    "n_steps": _perhaps(as_integer, least=1, most=MOST_DRAWS),
    "batch_size": partial(as_integer, least=1),
    "sampling": lambda _, value: check_sampling(value),
    "projection": as_flag,
    "average": _perhaps(as_choice, choices=AVERAGES),
    "step": lambda _, value: check_step(value),
    "polish": _as_polish,
    "tol": _perhaps(_POSITIVE),
    "max_time": _perhaps(_POSITIVE),
    "max_kernel_evaluations": _perhaps(as_integer, least=1),
    "checkpoints": _as_checkpoints,
    "cache": _choice(*CACHES),
    "cache_mb": lambda _, value: as_budget(value),
    "row_dtype": _choice("auto", "float32", "float64"),
    "class_weight": _as_class_weight,
    "decision_function_shape": _choice("ovr", "ovo"),
    "break_ties": as_flag,
    "n_jobs": _perhaps(as_jobs),
    "warm_start": as_flag,
    "verbose": as_flag,
}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return parameters of the package's own constructor with their defaults, which are valid."""
    own: Any = next(
        each
        for each in kind.__mro__
        if each.__module__.startswith("kpegasos.") and "__init__" in vars(each)
    )
    return {each.name: each.default for each in signature(own).parameters.values()}


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator by their names, each of them checked.

    They are read as attributes, since the constructor of a subclass may lack some of them.
    """
    kind: Any = type(estimator)
    defaults = _defaults(kind)
    plain = dict(zip(defaults, attrgetter(*defaults)(estimator), strict=True))
    for name in (name for name, default in defaults.items() if plain[name] is not default):
        if name in _CHECKS:
            plain[name] = _CHECKS[name](name, plain[name])
    return plain


#: Parameters that become settings unchanged; None where an estimator lacks them.
_AS_THEY_ARE = (
    "C", "lam", "n_steps", "checkpoints", "polish", "warm_start", "verbose", "max_time",
    "max_kernel_evaluations", "n_jobs",
)  # fmt: skip


def settings_of(estimator: Any) -> Settings:
    """Check the parameters of an estimator, and return its settings.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    plain = _plain_parameters(estimator)
    get = plain.get
    polish, auto_epochs = plain["polish"], plain["epochs"] == "auto"
    shortened = auto_epochs and bool(polish)
    options = PegasosOptions(
        *(plain[name] for name in ("batch_size", "sampling", "projection", "average", "step"))
    )
    loss, hinge = HINGE, True
    regression = isinstance(estimator, RegressorMixin)
    if regression or not (isinstance(plain["loss"], str) and plain["loss"] == "hinge"):
        loss = make_loss(plain["loss"], regression=regression, epsilon=get("epsilon"))
        options, hinge = options_for(loss, options), is_hinge(loss)
    as_they_are: dict[str, Any] = {name: get(name) for name in _AS_THEY_ARE}
    return Settings(
        **as_they_are,
        options=options,
        intercept_scaling=plain["intercept_scaling"] if plain["fit_intercept"] else 0.0,
        epochs=AUTO_EPOCHS if auto_epochs else plain["epochs"],
        shortened=shortened,
        tol=POLISH_TOL if polish and plain["tol"] is None else plain["tol"],
        loss=loss,
        free_intercept=plain["fit_intercept"] == "free",
        counts=hinge and not options.projection and options.step is None,
        own=plain,
    )


# --- rows, targets and weights ---


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Return checked weights of the rows of X: non-negative float64 numbers, ones if None."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    refuse_masked("sample_weight", sample_weight)
    refuse_times("sample_weight", sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = as_number("sample_weight", sample_weight)
        sample_weight = np.full(X.shape[0], sample_weight)
    expected = "sample_weight must be a number for each row of X"
    try:
        weight: np.ndarray = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
        )
    except (TypeError, ValueError) as error:
        raise told_of(error, expected) from None
    if weight.shape != (X.shape[0],):
        raise ValueError(f"{expected}, {X.shape[0]} of them, got shape {weight.shape} instead")
    if weight.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight must not be negative, got a minimum of {weight.min():g} instead"
        )
    check_weights("sample_weight", weight)
    return weight


def validated_rows(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool,
    accept_sparse: bool = True,
) -> Any:
    """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be.

    Parameters
    ----------
    estimator : BaseEstimator
        It learns number and names of the features if ``reset``, else they must be its own. A
        regressor takes numbers as y, a classifier labels.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default="no_validation"
    reset : bool
    accept_sparse : bool, default=True
    """
    labels, alone = not isinstance(estimator, RegressorMixin), _is_absent(y)
    if _is_ready(X) and (alone or _is_ready_for(X, y)) and _is_known(estimator, X, reset):
        return X if alone else (X, _sortable(y) if labels else numbers_of(y))
    refuse_masked("X", X)
    refuse_masked("y", y)
    refuse_times("X", X)
    is_sparse = sparse.issparse(X) and accept_sparse
    if is_sparse:
        X = canonical_rows(X)  # before scikit-learn sees it, which trusts its indices
    if not (labels or y is None or alone):
        y = numbers_of(y)
    kinds: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "dtype": [np.float64, np.float32],
        "order": "C",
    }
    try:
        checked = validate_data(estimator, X, y, reset=reset, **kinds)
    except (TypeError, ValueError) as error:
        raise _told(error, X, kinds, estimator) from None
    X, y = checked if isinstance(checked, tuple) else (checked, None)
    X = X if is_sparse else canonical_rows(X)
    if y is None or not labels:
        return X if y is None else (X, y)
    return X, _sortable(y)


def _is_absent(y: Any) -> bool:
    """Check whether y is scikit-learn's word for no targets."""
    return isinstance(y, str) and y == "no_validation"


def _is_ready(X: Any) -> bool:
    """Check whether X is an array as loops want it, so that scikit-learn need not check it."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    return X.flags.c_contiguous and X.size > 0 and bool(np.isfinite(X).all())


def _is_ready_for(X: np.ndarray, y: Any) -> bool:
    """Check whether y is an array with a number for each row of X."""
    if type(y) is not np.ndarray or y.shape != X.shape[:1] or y.dtype.kind not in "biuf":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def _is_known(estimator: Any, X: np.ndarray, reset: bool) -> bool:
    """Check that an estimator knows as many features, without names; ``reset`` sets that."""
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return True
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def validated_objects(estimator: Any, X: Any, y: Any = "no_validation") -> Any:
    """Return X as an array of objects, which are left as they are (and y).

    Parameters
    ----------
    estimator : BaseEstimator
    X : sequence of shape (n_samples,)
    y : array-like of shape (n_samples,), default="no_validation"
    """
    X = as_objects(X)
    if _is_absent(y):
        return X
    refuse_masked("y", y)
    labels = not isinstance(estimator, RegressorMixin)
    if not (labels or y is None):
        y = numbers_of(y)
    try:
        y = validate_data(estimator, y=y)
        check_consistent_length(X, y)
    except (TypeError, ValueError) as error:
        raise told_of(error, "y must be a vector with an entry for each object of X") from None
    return X, _sortable(y) if labels else y


def _sortable(y: np.ndarray) -> np.ndarray:
    """Return labels, or raise an error if they have no order."""
    y = plain_labels(y)
    if y.dtype.kind == "O":
        sorted_labels("y", y)
    return y


def _told(error: Exception, X: Any, kinds: dict[str, Any], estimator: Any) -> Exception:
    """Return an error that names X or y, where scikit-learn's or NumPy's does not."""
    text = str(error)
    if "is expecting" in text and not kinds["accept_sparse"]:
        return ValueError(
            f"X must hold kernel values with the {estimator.n_features_in_} training examples, as "
            f"the kernel is precomputed, got shape {np.shape(X)} instead"
        )
    if "feature names" in text or (re.search(r"\b[Xy]\b", text) and "\n" not in text):
        return error
    try:
        check_array(X, **kinds)
    except (TypeError, ValueError):
        of_objects = callable(getattr(estimator, "kernel", None))
        unless = ", unless the kernel is a PairwiseKernel" if of_objects else ""
        return told_of(error, f"X must be a matrix of real numbers{unless}")
    return told_of(error, "y must be a vector with an entry for each row of X")


def some_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Return checked weights of the examples; an error if all are zero."""
    weight = checked_weight(sample_weight, X)
    if not weight.any():
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return weight
