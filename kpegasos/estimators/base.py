"""What every estimator does: check, plan, train, set attributes.

For each binary problem an estimator solves

    min_w  lam/2 ‖w‖² + (1/Σc) Σ c_i ℓ(f(x_i), y_i),    f(x) = <w, φ(x)>,

with the hinge loss ``max(0, 1 − y_i f(x_i))`` or another, ``lam = 1 / (C · Σc)`` unless ``lam`` is
given, and ``φ`` extended by a constant feature when ``fit_intercept`` is on, so that the intercept
is regularised like every other weight. Which problems there are is left to `OneVsOneMixin` and
`RegressionMixin`, rows and model to `KernelEstimator` and `LinearEstimator`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from kpegasos.estimators.exports import ExportMixin
from kpegasos.fitting.data import some_weight, validated_rows
from kpegasos.fitting.model import (
    parameters_read_later,
    problem_digest,
    set_model,
    states_to_go_on_from,
    unchanged_by_errors,
)
from kpegasos.fitting.observers import (
    CallbackObserver,
    CallbackSupportMixin,
    CheckpointObserver,
    in_turn,
    progress_bar,
)
from kpegasos.fitting.pairs import Numbers, Pair, Pairs, Targets
from kpegasos.fitting.settings import Settings, settings_of
from kpegasos.fitting.training import FitPlan, report_end, train_each, train_in_step
from kpegasos.rows.base import RowSource
from kpegasos.solvers.result import Results
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.validation import draw_seed, shown

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


def keeps_parameters(
    init: Callable[Concatenate[Estimator, Parameters], None],
) -> Callable[Concatenate[Estimator, Parameters], None]:
    """Have a constructor keep its parameters as attributes, and do nothing else.

    A parameter of another estimator is answered with what it is called here. The signature stays
    that of the constructor, which scikit-learn reads.
    """
    defaults = {each.name: each.default for each in signature(init).parameters.values()}
    del defaults["self"]

    @wraps(init)
    def keeping(self: Estimator, *args: Parameters.args, **options: Parameters.kwargs) -> None:
        try:
            init(self, *args, **options)
        except TypeError:
            for name in COUNTERPARTS.keys() & options.keys() - defaults.keys():
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; its counterpart: "
                    f"{COUNTERPARTS[name]}. The page 'From SVC, LinearSVC, SGDClassifier' of the "
                    f"documentation has them all"
                ) from None
            raise
        vars(self).update({**defaults, **dict(zip(defaults, args, strict=False)), **options})

    return keeping


class BasePegasos(ExportMixin, CallbackSupportMixin, BaseEstimator):
    """What kernel and linear estimators share."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters; scikit-learn reads the constructor's signature each time."""
        return list(super()._get_param_names())

    _states: list[Any] | None
    _states_digest: str | None

    # --- what a kind of estimator says ---

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Targets | Numbers:
        """What the binary problems are made from."""
        raise NotImplementedError

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[Callable[[Pair, int, bool], RowSource], dict[str, Any]]:
        """Return ``make_rows(pair, n_at_once, brief)``, and attributes known before training."""
        raise NotImplementedError

    def _attributes(self, plan: FitPlan, targets: Any, results: Results) -> dict[str, Any]:
        """Fitted attributes of the model as it stands, in the layout of SVC or SVR."""
        raise NotImplementedError

    def _vectors(self, X: Any, support: np.ndarray, results: Results) -> dict[str, Any]:
        """What decisions are made from, beside coefficients and intercepts."""
        raise NotImplementedError

    def _decide(self, X: Any) -> np.ndarray:
        """Decisions of all binary models for validated rows, of shape (n_samples, n_pairs)."""
        raise NotImplementedError

    def _set_aside(
        self, X: Any, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, list[CheckpointObserver]]:
        """Weights to train with, and observers of the fit."""
        return weight, []

    # --- fit ---

    @in_turn
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
            settings = settings_of(self)
            X, y = self._validate(X, y, reset=not self._continues())
            weight, observers = self._set_aside(X, y, some_weight(sample_weight, X))
            if callbacks is not None:
                observers = [callbacks, *observers]
            plan = self._plan(X, self._targets(y, weight), settings, in_step=bool(observers))
            stopper.limit(settings.max_time)
            results = self._train(plan, observers, stopper)
            stopper.presses_kept = math.inf  # nothing may come between model and end
        # the caller of fit, beyond its decorators
        report_end(type(self).__name__, results, stopper, plan, stacklevel=5)
        return self

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be."""
        return validated_rows(self, X, y, reset=reset)

    def _plan(
        self, X: Any, targets: Targets | Numbers, settings: Settings, *, in_step: bool
    ) -> FitPlan:
        """Make binary problems and rows of what has been validated."""
        pairs = targets.pairs(settings)
        make_rows, known = self._prepare(X, pairs, settings)
        states: list[Any] = [None] * len(pairs)
        known |= {"_states_digest": None, "_fitted": parameters_read_later(self)}
        if settings.warm_start:
            digest = problem_digest(self.get_params(), [X, *targets[:2]], known.get("_kernel"))
            if self._continues() and self._states is not None:
                states = states_to_go_on_from(self._states, digest, self._states_digest)
            known["_states_digest"] = digest

        def attributes(results: Results) -> dict[str, Any]:
            found = self._attributes(plan, targets, results)
            return {**known, **found, **self._vectors(X, found["support_"], results)}

        seed = draw_seed(self.random_state)
        plan = FitPlan(X, pairs, make_rows, settings, seed, states, known, attributes, in_step)
        return plan

    def _train(
        self, plan: FitPlan, observers: Sequence[CheckpointObserver], stopper: Stopper
    ) -> Results:
        """Train what has been planned and make the results the model."""
        stopper.presses_kept = 1
        settings, name = plan.settings, type(self).__name__
        try:
            with progress_bar(settings.verbose, name, len(plan.pairs)) as update:
                if observers:
                    results = train_in_step(plan, stopper, update, observers)
                else:
                    results = train_each(plan, stopper, update)
                model = plan.attributes(results)
                model["_states"] = [r.state for r in results] if settings.warm_start else None
                for observer in observers:
                    model.update(observer.attributes())
                set_model(self, model)
        except MemoryError as error:
            if "cache_mb" not in settings.own:
                raise
            raise MemoryError(
                f"cache_mb must be less where memory is short, got {shown(self.cache_mb)} instead: "
                f"{error or 'out of memory'}"
            ) from error
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
            self._own_sigmoids()


def plan_fit(estimator: BasePegasos, X: Any, y: np.ndarray) -> FitPlan:
    """Plan the fit of an estimator to examples that have been validated, all of weight one."""
    targets = estimator._targets(y, np.ones(len(y)))
    return estimator._plan(X, targets, settings_of(estimator), in_step=False)
