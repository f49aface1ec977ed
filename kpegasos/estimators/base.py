"""The base of every estimator: check, train, set attributes.

For each binary problem an estimator solves

    min_w  lam/2 ‖w‖² + (1/Σc) Σ c_i ℓ(f(x_i), y_i),    f(x) = <w, φ(x)>,

with the hinge loss ``max(0, 1 − y_i f(x_i))`` or another, ``lam = 1 / (C · Σc)`` unless ``lam`` is
given, and ``φ`` extended by a constant feature when ``fit_intercept`` is on, so that the intercept
is regularised like every other weight; with "free" it is not. `OneVsOneMixin` and `RegressionMixin`
define the problems and what is made of their decisions, `KernelEstimator` and `LinearEstimator` the
rows and the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators.attributes import (
    ClassifierAttributes,
    ClassifierParameters,
    ModelAttributes,
    RegressorAttributes,
    RegressorParameters,
    RunParameters,
)
from kpegasos.estimators.bounds import BoundsMixin, bounds_of_pairs, warn_of_gap
from kpegasos.estimators.exports import ExportMixin
from kpegasos.exports.libsvm import Sigmoids
from kpegasos.fitting.features import PairFeatures
from kpegasos.fitting.inputs import Settings, settings_of, some_weight, validated_rows
from kpegasos.fitting.model import (
    fitted,
    of_one_model,
    origin_of,
    parameters_read_later,
    set_model,
    states_to_go_on_from,
    unchanged_by_errors,
)
from kpegasos.fitting.observers import CallbackObserver, in_turn, progress_bar
from kpegasos.fitting.pairs import (
    KernelRows,
    Numbers,
    Pairs,
    Targets,
    assemble,
    assemble_counts,
    is_decided,
    one_vs_rest,
    one_vs_rest_bounds,
    vote,
)
from kpegasos.fitting.training import Fit, report_end, train
from kpegasos.losses import Logistic
from kpegasos.solvers.result import Results
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.bases import (
    BaseEstimator,
    CallbackSupportMixin,
    ClassifierMixin,
    RegressorMixin,
)
from kpegasos.utils.boundary import require_numbers
from kpegasos.utils.threads import at_work
from kpegasos.utils.validation import as_choice, as_flag, draw_seed, shown


class BasePegasos(ExportMixin, CallbackSupportMixin, RunParameters, ModelAttributes, BaseEstimator):
    """Base of kernel and linear estimators."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Keep the names: scikit-learn reads the constructor's signature each time."""
        return list(super()._get_param_names())

    _states: list[Any] | None
    _states_origin: Any

    # --- what subclasses define ---

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Targets | Numbers:
        """Return what the binary problems are made from."""
        raise NotImplementedError

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[KernelRows | PairFeatures, dict[str, Any]]:
        """Return what makes rows of any pair, and attributes known before training."""
        raise NotImplementedError

    def _attributes(self, fit: Fit, targets: Any, results: Results) -> dict[str, Any]:
        """Return fitted attributes of the model as it stands, in the layout of SVC or SVR."""
        raise NotImplementedError

    def _vectors(self, fit: Fit, support: np.ndarray, results: Results) -> dict[str, Any]:
        """Return what decisions are made from, beside coefficients and intercepts."""
        raise NotImplementedError

    def _completed(self, model: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a model, with what follows from all of them."""
        return model

    def _decide(self, X: Any) -> np.ndarray:
        """Return decisions of all pairs for validated rows, of shape (n_samples, n_pairs)."""
        raise NotImplementedError

    # --- fit ---

    @in_turn
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
            Whatever a callback or a kernel of yours raises. An earlier model stays, unless the
            error is a warning about the new one.
        """
        stopper = Stopper()
        with interruptible(stopper), unchanged_by_errors(self):
            stopper.presses_kept = 0  # there is no model to wait for yet
            observers = CallbackObserver.of(self, X, y, sample_weight)
            settings = settings_of(self)
            n_jobs = settings.n_jobs
            threads = nullcontext() if n_jobs is None else at_work(n_jobs)
            with threads, stopper.paying(settings.max_kernel_evaluations):
                X, y = self._validate(X, y, reset=not self._continues())
                weight = some_weight(sample_weight, X)
                fit = self._new_fit(X, self._targets(y, weight), settings, in_step=bool(observers))
                stopper.limit(settings.max_time)
                results = self._train(fit, observers, stopper)
            stopper.presses_kept = math.inf  # nothing may come between model and end
        # outside of the block: the new model stays if a warning is an error
        report_end(type(self).__name__, results, stopper, fit)
        return self

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be."""
        return validated_rows(self, X, y, reset=reset)

    def _new_fit(
        self, X: Any, targets: Targets | Numbers, settings: Settings, *, in_step: bool
    ) -> Fit:
        """Make binary problems and rows of validated data."""
        pairs = targets.pairs(settings)
        pairs.free_intercept = settings.free_intercept
        rows, known = self._prepare(X, pairs, settings)
        states = None
        known |= {"_states_origin": None, "_fitted": parameters_read_later(self)}
        if settings.warm_start:
            parameters = self.get_params() | settings.own
            origin = origin_of(parameters, [X, *targets[:2]], known.get("_kernel"))
            if self._continues() and self._states is not None:
                states = states_to_go_on_from(self._states, origin, self._states_origin)
            known["_states_origin"] = origin

        def attributes(fit: Fit, results: Results) -> dict[str, Any]:
            of_examples = self._attributes(fit, targets, results)
            if settings.free_intercept:
                intervals = np.array(results.column("intercept_interval"))
                of_examples["intercept_interval_"] = intervals + getattr(targets, "offset", 0.0)
            vectors = self._vectors(fit, of_examples["support_"], results)
            return self._completed({**known, **of_examples, **vectors})

        seed = draw_seed(self.random_state)
        return Fit(X, pairs, rows, settings, seed, states, known, attributes, in_step)

    def _train(self, fit: Fit, observers: Sequence[CallbackObserver], stopper: Stopper) -> Results:
        """Train all pairs, and make the results the model."""
        stopper.presses_kept = 1
        settings, name = fit.settings, type(self).__name__
        try:
            with progress_bar(
                settings.verbose,
                name,
                len(fit.pairs),
                settings.max_time,
                is_even=not settings.polish,
            ) as update:
                results = train(fit, stopper, update, observers)
                model = fit.attributes(fit, results)
                model["_states"] = [r.state for r in results] if settings.warm_start else None
                set_model(self, model)
        except MemoryError as error:
            if "cache_mb" not in settings.own:
                raise
            raise MemoryError(
                "cache_mb must be less where memory is short, got "
                f"{shown(settings.own['cache_mb'])} instead: {error or 'out of memory'}"
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


# --- classifiers ---


def couple(of_pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of the classes.

    Parameters
    ----------
    of_pairs : ndarray of shape (n_samples, n_pairs)
        Probabilities of the first class of each pair; with two classes, of the second.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to one.
    """
    if n_classes == 2:
        return np.column_stack((1.0 - of_pairs[:, 0], of_pairs[:, 0]))
    n_samples = len(of_pairs)
    r = np.zeros((n_samples, n_classes, n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = of_pairs[:, k], 1.0 - of_pairs[:, k]
    other_way = r.transpose(0, 2, 1)
    Q = -other_way * r
    classes = np.arange(n_classes)
    Q[:, classes, classes] = (other_way**2).sum(axis=2)
    # Where the gradient along the simplex is zero: Q p + b = 0 and Σ p = 1.
    system = np.ones((n_samples, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = Q
    system[:, -1, -1] = 0.0
    right = np.zeros((n_samples, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(0.0, np.linalg.solve(system, right)[:, :-1, 0])
    return np.asarray(p / p.sum(axis=1, keepdims=True))


#: Decisions that are voted on together: 64 MiB with temporaries.
_VOTED_TOGETHER = 64 * tuning.MEBIBYTE // 32


def set_sigmoids(estimator: Any, sigmoids: Sigmoids) -> None:
    """Set sigmoids of the decisions of pairs, so that a classifier has a ``predict_proba``."""
    estimator._sigmoids = np.array([sigmoids.slopes, sigmoids.offsets])


def _has_log_odds(estimator: Any) -> bool:
    """Return whether decisions of a classifier are log-odds."""
    loss = fitted(estimator, "loss") if hasattr(estimator, "loss") else "hinge"  # of a search
    return isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "log_loss")


def _gives_probabilities(estimator: Any) -> bool:
    """Return true if decisions are log-odds or have sigmoids, else raise an AttributeError."""
    if _has_log_odds(estimator) or hasattr(estimator, "_sigmoids"):
        return True
    raise AttributeError(
        "predict_proba is only available with loss='log_loss'; for other losses, and around the "
        "best_estimator_ of a search, see CalibratedClassifierCV"
    )


class OneVsOneMixin(BoundsMixin, ClassifierMixin, ClassifierAttributes, ClassifierParameters):
    """A binary problem for each pair of classes, attributes in SVC's layout, SVC's vote."""

    # --- fit ---

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Targets:
        return Targets.of(y, weight, self.class_weight)

    def _attributes(self, fit: Fit, targets: Targets, results: Results) -> dict[str, Any]:
        """Return fitted attributes of the model as it stands."""
        pairs, labels = fit.pairs, targets.labels
        counts, coefs = map(results.of_members, ("alpha", "coef"))
        if fit.settings.counts:
            counts = counts.astype(np.int64)
        names = ("n_steps", "objective", "gap", "relative_gap", "history", "intercept")
        *per_pair, histories, intercepts = map(results.column, names)
        if targets.classes.size == 2:
            lam, history, numbers = pairs.lam.item(0), histories[0], [of[0] for of in per_pair]
        else:
            lam, history, numbers = pairs.lam, histories, [np.array(of) for of in per_pair]
        n_steps, objective, gap, relative_gap = numbers
        return {
            "classes_": targets.classes,
            "alpha_": assemble_counts(pairs, counts, labels.size),
            **assemble(pairs, coefs, labels, targets.classes.size),
            "intercept_": np.array(intercepts),
            "lam_": lam,
            "n_steps_": n_steps,
            "objective_": objective,
            "duality_gap_": gap,
            "relative_gap_": relative_gap,
            "history_": history,
        }

    # --- predict ---

    def _votes(self) -> tuple[str, bool]:
        """Return ``decision_function_shape`` and ``break_ties``, which may be set after a fit."""
        shape = as_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        return shape, as_flag("break_ties", self.break_ties)

    @of_one_model
    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, positive for ``classes_[1]``. For more, by
            ``decision_function_shape``: ``"ovr"`` is the votes made continuous, ``"ovo"`` is one
            column a pair, positive for the first.
        """
        check_is_fitted(self)
        X, n_classes = self._validate(X, reset=False), len(self.classes_)
        if n_classes == 2:
            return self._decide(X)[:, 0]
        if self._votes()[0] == "ovo":
            return self._decide(X)
        return self._by_blocks(X, lambda d: one_vs_rest(d, n_classes))

    @of_one_model
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each example, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        check_is_fitted(self)
        if self._votes() == ("ovo", True):
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._by_blocks(self._validate(X, reset=False), self._vote)

    @available_if(_gives_probabilities)
    @of_one_model
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, with ``loss="log_loss"`` or of a LIBSVM model.

        The sigmoid of a decision is a probability; those of the pairs are coupled as in SVC (Wu,
        Lin, Weng, JMLR 2004). A model that ``svm-train -b 1`` has written has sigmoids of its own.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        n_classes, sigmoids = len(self.classes_), self._own_sigmoids()
        assert sigmoids is not None
        slopes, offsets = sigmoids
        return self._by_blocks(
            self._validate(X, reset=False),
            lambda decisions: couple(expit(slopes * decisions + offsets), n_classes),
        )

    def _own_sigmoids(self) -> Sigmoids | None:
        n_pairs, of_file = self.intercept_.size, getattr(self, "_sigmoids", None)
        if of_file is not None:
            curves = require_numbers("_sigmoids", of_file, (2, n_pairs))
            if not np.isfinite(curves).all():
                raise ValueError("_sigmoids must be finite, got NaN or infinity")
            return Sigmoids(*curves)
        return Sigmoids(np.ones(n_pairs), np.zeros(n_pairs)) if _has_log_odds(self) else None

    @available_if(lambda estimator: hasattr(estimator, "predict_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # of a probability that is 0
            return np.log(self.predict_proba(X))

    @of_one_model
    def is_certified(self, X: Any, diagonal: Any = None) -> np.ndarray:
        """Return whether the exact solution is certain to predict what `predict` does.

        That is where zero is not within the ends of `decision_bounds`; with several classes, where
        no undecided pair can change the winner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        diagonal : array-like of shape (n_samples,), default=None
            ``k(x, x)`` of each row, with ``kernel="precomputed"`` only.

        Returns
        -------
        ndarray of shape (n_samples,), bool

        Raises
        ------
        AttributeError
            If the model has no certificate or a free intercept; see `decision_bounds`.
        ValueError
            Naming the parameter, what was expected and what came.

        Warns
        -----
        UserWarning
            If nearly nothing is certain, with the ``tol`` that would change it.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from kpegasos import PegasosSVC
        >>> X, y = make_moons(300, noise=0.15, random_state=0)
        >>> clf = PegasosSVC(gamma=2.0, polish=True, tol=1e-4, random_state=0).fit(X, y)
        >>> bool(clf.is_certified(X).mean() > 0.9)
        True
        """
        parts = []
        for ends in bounds_of_pairs(self, X, diagonal):
            parts.append(self._is_decided(*ends))
        certain = np.concatenate(parts)
        warn_of_gap(self, certain, ends, self._is_decided)
        return certain

    def _is_decided(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return where all decisions of pairs within these bounds give the same class."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.asarray((lower[:, 0] > 0.0) | (upper[:, 0] <= 0.0))
        least, most = one_vs_rest_bounds(lower, upper, n_classes)
        if not self._votes()[1]:
            least, most = np.rint(least), np.rint(most)  # votes alone
        return is_decided(least, most)

    def _by_blocks(self, X: Any, of_decisions: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return what is made of the decisions of all pairs, a block of rows at a time."""
        height = max(1, _VOTED_TOGETHER // max(1, np.size(self.intercept_)))
        parts = [
            of_decisions(self._decide(X[top : top + height]))
            for top in range(0, max(1, X.shape[0]), height)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _vote(self, decisions: np.ndarray) -> np.ndarray:
        """Return classes by the decisions of all pairs."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            chosen = (decisions[:, 0] > 0).astype(np.intp)
        elif self._votes()[1]:
            chosen = one_vs_rest(decisions, n_classes).argmax(axis=1)
        else:
            # Of a model that was read: the order of its classes in the file.
            chosen = vote(decisions, n_classes, getattr(self, "_tie_order", None))
        predicted: np.ndarray = self.classes_[chosen]
        return predicted


# --- regressors ---


class RegressionMixin(BoundsMixin, RegressorMixin, RegressorAttributes, RegressorParameters):
    """One problem over all examples, attributes in SVR's layout."""

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Numbers:
        """Centre targets on their weighted median: the intercept is regularised like a weight."""
        return Numbers.of(y, weight, centred=bool(self.fit_intercept))

    def _attributes(self, fit: Fit, targets: Numbers, results: Results) -> dict[str, Any]:
        """Return fitted attributes of the model as it stands."""
        members, result = fit.pairs[0].members, results[0]
        coef, alpha = np.zeros((2, targets.values.size))
        coef[members], alpha[members] = result.coef, result.alpha
        support = np.flatnonzero(coef)
        return {
            "alpha_": alpha,
            "support_": support,
            "n_support_": np.array([support.size], dtype=np.int32),
            "dual_coef_": coef[None, support],
            "intercept_": np.array([result.intercept + targets.offset]),
            "lam_": fit.pairs[0].problem.lam,
            "n_steps_": result.n_steps,
            "objective_": result.objective,
            "duality_gap_": result.gap,
            "relative_gap_": result.relative_gap,
            "history_": result.history,
        }

    @of_one_model
    def predict(self, X: Any) -> np.ndarray:
        """Return predicted targets, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))[:, 0]
