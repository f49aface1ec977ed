"""What every estimator does: validate, plan, train, set attributes.

For each binary problem an estimator solves

    min_w  lam/2 ‖w‖² + (1/Σc) Σ c_i ℓ(f(x_i), y_i),    f(x) = <w, φ(x)>,

with the hinge loss ``max(0, 1 − y_i f(x_i))`` or another, ``lam = 1 / (C · Σc)`` unless ``lam`` is
given, and ``φ`` extended by a constant feature when ``fit_intercept`` is on, so that the intercept
is regularised like every other weight. Which problems there are is left to `OneVsOneMixin` and
`RegressionMixin`, rows and model to the estimators.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from kpegasos.core.draws import MOST_DRAWS
from kpegasos.core.state import State
from kpegasos.estimators._fitted import parameters_read_later, set_model, unchanged_by_errors
from kpegasos.estimators._one_vs_one import Pair, Pairs
from kpegasos.estimators._settings import Settings, settings_of
from kpegasos.estimators._sklearn_compat import (
    CallbackObserver,
    CallbackSupportMixin,
    CheckpointObserver,
    HasMethods,
    Interval,
    StrOptions,
    checked_weight,
    fit_context,
    validate_some_parameters,
)
from kpegasos.estimators._training import FitPlan, report_early_end, train_each, train_in_step
from kpegasos.estimators._warm_start import problem_digest, states_to_go_on_from
from kpegasos.estimators.progress import progress_bar
from kpegasos.rows.base import RowSource
from kpegasos.solvers.result import Results
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.labels import plain_labels, sorted_labels
from kpegasos.utils.validation import (
    LARGEST,
    LARGEST_SCALING,
    SMALLEST,
    canonical_rows,
    draw_seed,
    numbers_of,
    refuse_masked,
    refuse_times,
    told_of,
)

POSITIVE = Interval(Real, 0, None, closed="neither")
#: Far enough from the ends of float64 for squares and reciprocals.
MODERATE = Interval(Real, SMALLEST, LARGEST, closed="both")


class BasePegasos(CallbackSupportMixin, BaseEstimator):
    """What kernel and linear estimators share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [MODERATE],
        "lam": [MODERATE, None],
        "loss": [str, HasMethods(["value", "pull", "gain", "best"])],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, LARGEST_SCALING, closed="right")],
        "epochs": [StrOptions({"auto"}), Interval(Real, 0, MOST_DRAWS, closed="right")],
        "n_steps": [Interval(Integral, 1, MOST_DRAWS, closed="both"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"permutation", "uniform"})],
        "projection": ["boolean"],
        "average": [StrOptions({"weighted", "suffix", "uniform"}), None],
        "polish": ["boolean"],
        "tol": [POSITIVE, None],
        "max_time": [POSITIVE, None],
        "checkpoints": [StrOptions({"auto", "epoch", "log"}), "array-like", None],
        "warm_start": ["boolean"],
        "verbose": ["boolean"],
        "random_state": [
            Interval(Integral, 0, 2**32 - 1, closed="both"),
            np.random.RandomState,
            None,
        ],
    }

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters; scikit-learn reads the constructor's signature each time."""
        return list(super()._get_param_names())

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        """Default values of the parameters."""
        return {each.name: each.default for each in signature(cls).parameters.values()}

    def _validate_params(self) -> None:
        """Check the parameters that are not the constructor's own defaults."""
        defaults = self._defaults()
        given = self.get_params(deep=False).items()
        changed = {name: value for name, value in given if value is not defaults.get(name, given)}
        validate_some_parameters(self, changed)

    warm_start: bool
    verbose: bool
    sampling: str
    random_state: Any
    n_steps_: Any
    _states: list[State | None] | None
    _states_digest: str | None

    # --- what a kind of estimator says ---
    #: Whether targets are labels of classes, and not numbers.
    _has_labels: ClassVar[bool] = True

    def _check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError for targets of another kind."""
        raise NotImplementedError

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Any:
        """What the binary problems are made from."""
        raise NotImplementedError

    def _arrays(self, targets: Any) -> Sequence[np.ndarray]:
        """What a warm start knows targets by."""
        raise NotImplementedError

    def _problems(self, targets: Any, settings: Settings) -> Pairs:
        """The binary problems."""
        raise NotImplementedError

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[Callable[[Pair, int, bool], RowSource], dict[str, Any]]:
        """Return ``make_rows(pair, n_at_once, brief)``, and attributes known before training."""
        raise NotImplementedError

    def _attributes(self, plan: FitPlan, targets: Any, results: Results) -> dict[str, Any]:
        """Fitted attributes of the model as it stands."""
        raise NotImplementedError

    def _exported(self, *, values: bool = False) -> Any:
        """The model as other programs are told of it, checked."""
        raise NotImplementedError

    def _decide(self, X: Any) -> np.ndarray:
        """Decisions of all binary models for validated rows, of shape (n_samples, n_pairs)."""
        raise NotImplementedError

    def _report_distance(self, X: Any, results: Results, settings: Settings) -> None:
        """Say so if a model that is done is nowhere near its optimum for a cause that is known."""

    def _set_aside(
        self, X: Any, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, list[CheckpointObserver]]:
        """Weights to train with, and observers of the fit."""
        return weight, []

    # --- fit ---

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on the examples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 are used as they are. With ``kernel="precomputed"``, the square
            kernel matrix.
        y : array-like of shape (n_samples,)
            Two or more classes; numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights c of the examples; positive ones between 1e-100 and 1e100.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Naming the parameter, what was expected and what came.
        KeyboardInterrupt
            After Ctrl-C, once the model reached so far has been set.
        Exception
            Whatever a callback or a kernel of yours raises. The model of before is left, if there
            was one; only a warning that is turned into an error comes when the new one is set.
        """
        stopper = Stopper()
        with interruptible(stopper), unchanged_by_errors(self):
            stopper.presses_kept = 0  # there is no model to wait for yet
            callbacks = CallbackObserver.of(self, X, y, sample_weight)
            X, y = self._validate(X, y, reset=not self._continues())
            self._check_targets(y)
            weight, observers = self._set_aside(X, y, some_weight(sample_weight, X))
            observers = [*([callbacks] if callbacks is not None else []), *observers]
            targets = self._targets(y, weight)
            plan = self._plan(X, targets, in_step=bool(observers))
            stopper.limit(plan.settings.max_time)
            results = self._train(plan, targets, observers, stopper)
            stopper.presses_kept = math.inf  # nothing may come between model and end
        report_early_end(
            type(self).__name__, results, stopper, plan.settings, stacklevel=4
        )  # the caller of fit, beyond its decorators
        self._report_distance(X, results, plan.settings)
        return self

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be."""
        return validated_rows(self, X, y, reset=reset, labels=self._has_labels)

    def _plan(self, X: Any, targets: Any, *, in_step: bool) -> FitPlan:
        """Make binary problems and rows of what has been validated."""
        settings = settings_of(self)
        pairs = self._problems(targets, settings)
        make_rows, known = self._prepare(X, pairs, settings)
        states: list[State | None] = [None] * len(pairs)
        known |= {"_states_digest": None, "_fitted": parameters_read_later(self)}
        if self.warm_start:
            data = [X, *self._arrays(targets)]
            digest = problem_digest(self.get_params(), data, known.get("_kernel"))
            if self._continues() and self._states is not None:
                states = states_to_go_on_from(self._states, digest, self._states_digest)
            known["_states_digest"] = digest
        seed = draw_seed(self.random_state)
        return FitPlan(
            X,
            pairs,
            make_rows,
            settings,
            seed,
            states,
            known,
            in_step,
            keeps_states=bool(self.warm_start),
            verbose=bool(self.verbose),
        )

    def _train(
        self,
        plan: FitPlan,
        targets: Any,
        observers: Sequence[CheckpointObserver],
        stopper: Stopper,
    ) -> Results:
        """Train what has been planned and make the results the model."""

        def attributes(results: Results) -> dict[str, Any]:
            return {**plan.known, **self._attributes(plan, targets, results)}

        stopper.presses_kept = 1
        with progress_bar(self.verbose, type(self).__name__, len(plan.pairs)) as update:
            if observers:
                results = train_in_step(plan, stopper, update, observers, attributes)
            else:
                results = train_each(plan, stopper, update)
            model = attributes(results)
            model["_states"] = [r.state for r in results] if self.warm_start else None
            for observer in observers:
                model.update(observer.attributes())
            set_model(self, model)
        return results

    def _continues(self) -> bool:
        return self.warm_start and getattr(self, "_states", None) is not None

    def _check_loaded(self) -> None:
        """Check a model that was read from a file.

        Raises
        ------
        ValueError
            If its parts do not fit each other.
        """
        if "_model_names" in vars(self):
            self._exported(values=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def validated_rows(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool,
    accept_sparse: bool = True,
    labels: bool = True,
) -> Any:
    """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be.

    Parameters
    ----------
    estimator : BaseEstimator
        Which learns number and names of the features if ``reset``, else they must be its own.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default="no_validation"
    reset : bool
    accept_sparse : bool, default=True
    labels : bool, default=True
        Whether y are labels of classes, and not numbers.
    """
    refuse_masked("X", X)
    refuse_masked("y", y)
    refuse_times("X", X)
    is_sparse = sparse.issparse(X) and accept_sparse
    if is_sparse:
        X = canonical_rows(X)  # before scikit-learn touches it, which trusts indices
    if not (labels or y is None or isinstance(y, str)):
        y = numbers_of(y)
    kinds: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "dtype": [np.float64, np.float32],
        "order": "C",
    }
    try:
        checked = validate_data(estimator, X, y, reset=reset, **kinds)
    except (TypeError, ValueError) as error:
        raise _told(error, X, kinds) from None
    X, y = checked if isinstance(checked, tuple) else (checked, None)
    X = X if is_sparse else canonical_rows(X)
    if y is None or not labels:
        return X if y is None else (X, y)
    y = plain_labels(y)
    if y.dtype.kind == "O":
        sorted_labels("y", y)
    return X, y


def _told(error: Exception, X: Any, kinds: dict[str, Any]) -> Exception:
    """An error that names X or y, where scikit-learn's or NumPy's does not."""
    text = str(error)
    if "feature names" in text or (re.search(r"\b[Xy]\b", text) and "\n" not in text):
        return error
    try:
        check_array(X, **kinds)
    except (TypeError, ValueError):
        return told_of(error, "X must be a matrix of real numbers")
    return told_of(error, "y must be a vector with an entry for each row of X")


def some_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the examples, not all of them zero."""
    weight = checked_weight(sample_weight, X)
    if not weight.any():
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return weight
