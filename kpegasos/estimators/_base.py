"""What the kernel and the linear estimator share: validation, one-vs-one fits, callbacks, votes.

Both solve, for each pair of classes,

    min_w  lam/2 ‖w‖² + (1/Σc) Σ c_i max(0, 1 − y_i f(x_i)),    f(x) = <w, φ(x)>,

with ``lam = 1 / (C · Σc)`` unless ``lam`` is given, and ``φ`` extended by a constant feature when
``fit_intercept`` is on, so that the intercept is regularised like every other weight.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kpegasos.core.state import PegasosOptions, State
from kpegasos.estimators import _one_vs_one as multiclass
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators.progress import progress_bar
from kpegasos.rows.base import RowSource as Rows
from kpegasos.solvers.dual_ascent import polish
from kpegasos.solvers.pegasos import PegasosRun, make_run
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.validation import canonical_rows, draw_seed

POSITIVE = Interval(Real, 0, None, closed="neither")
#: Far enough from the ends of float64 for squares and reciprocals.
MODERATE = Interval(Real, 1e-100, 1e100, closed="both")

#: Parameters that change neither the problem nor the sequence of iterates.
_NOT_OF_THE_MODEL = {
    "epochs", "n_steps", "polish", "tol", "max_time", "checkpoints", "cache", "cache_mb", "n_jobs",
    "decision_function_shape", "break_ties", "warm_start", "verbose", "random_state",
}  # fmt: skip

_STOPPED = {
    "interrupted": "stopped by Ctrl-C",
    "max_time": "stopped by max_time",
    "completed": "did not reach tol",
}


class BasePegasos(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """What kernel and linear estimators share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [MODERATE],
        "lam": [MODERATE, None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, 1e50, closed="right")],
        "epochs": [POSITIVE],
        "n_steps": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"permutation", "uniform"})],
        "projection": ["boolean"],
        "average": [StrOptions({"weighted", "suffix", "uniform"}), None],
        "polish": ["boolean"],
        "tol": [POSITIVE, None],
        "max_time": [POSITIVE, None],
        "checkpoints": [StrOptions({"epoch", "log"}), "array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }

    _states: list[State | None] | None
    _states_digest: str | None
    classes_: np.ndarray

    # --- what the two kinds differ in ---

    def _validate(
        self, X: Any, y: Any = "no_validation", *, reset: bool, accept_sparse: bool = True
    ) -> Any:
        """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be."""
        checked = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if accept_sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
            reset=reset,
        )
        X, y = checked if isinstance(checked, tuple) else (checked, None)
        X = canonical_rows(X)
        return X if y is None else (X, y)

    def _prepare(
        self, X: Any, pairs: list[Pair]
    ) -> tuple[Callable[[Pair, int], Rows], dict[str, Any]]:
        """Return ``rows(pair, n_at_once)`` and attributes of the model to be."""
        raise NotImplementedError

    def _model_attributes(
        self, X: Any, labels: np.ndarray, pairs: list[Pair], results: list[Result]
    ) -> dict[str, Any]:
        raise NotImplementedError

    def _decide(self, X: Any) -> np.ndarray:
        """Decisions of all pairs, of shape (n_samples, n_pairs)."""
        raise NotImplementedError

    # --- fit ---

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BasePegasos:
        """Train on the examples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 are used as they are. With ``kernel="precomputed"``, the square
            kernel matrix.
        y : array-like of shape (n_samples,)
            Two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights c of the examples.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Naming the parameter, what was expected and what came.
        """
        with self._unchanged_by_errors():
            return self._fit(X, y, sample_weight)

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Take back what validation has set, so that a failed fit leaves what was there before."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            for name in [n for n in vars(self) if n.endswith("_in_") and n not in before]:
                delattr(self, name)
            for name in [n for n in before if n.endswith("_in_")]:
                setattr(self, name, before[name])
            raise

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        watch: Callable[[dict[str, Any]], bool] | None = None,
    ) -> BasePegasos:
        """Fit; ``watch`` is shown the attributes at each checkpoint and may end it."""
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        given = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        X, y = self._validate(X, y, reset=not self._continues())
        labels, weight, classes = self._targets(X, y, sample_weight)
        pairs = multiclass.make_pairs(
            labels, classes.size, weight, self.lam, self.C, grouped=self.sampling != "contiguous"
        )
        key = self._problem_digest(X, labels, weight)
        states = self._earlier_states(key, len(pairs))
        rows_of, prepared = self._prepare(X, pairs)
        seed = draw_seed(self.random_state)
        options = PegasosOptions(self.batch_size, self.sampling, self.projection, self.average)
        callbacks = bool(getattr(self, "_skl_callbacks", []))
        in_step = callbacks or watch is not None
        checkpoints = "epoch" if in_step and self.checkpoints is None else self.checkpoints

        for pair in pairs:
            if self.batch_size > pair.members.size:
                raise ValueError(
                    f"batch_size must be at most the number of examples of each pair of classes, "
                    f"{pair.members.size} for classes {classes[list(pair.classes)].tolist()}, "
                    f"got {self.batch_size} instead"
                )

        def run_of(pair: Pair, n_at_once: int) -> PegasosRun:
            return make_run(
                pair.problem,
                rows_of(pair, n_at_once),
                options,
                n_steps=self.n_steps,
                epochs=self.epochs,
                checkpoints=checkpoints,
                tol=self._gap_target,
                seed=seed,
                spawn_key=(pair.number,),
                state=states[pair.number],
            )

        def attributes(results: list[Result]) -> dict[str, Any]:
            return {**prepared, **self._attributes(X, labels, classes, pairs, results)}

        name = type(self).__name__
        with (
            interruptible(Stopper(self.max_time)) as stopper,
            progress_bar(self.verbose, name, len(pairs)) as update,
        ):
            if in_step:
                runs = self._fit_in_step(pairs, run_of, stopper, update, attributes, given, watch)
                results = [self._finish(run, stopper) for run in runs]
            else:
                self._init_callback_context()
                results = multiclass.train_one_by_one(
                    pairs, run_of, self._finish, stopper, self._gap_target, self.n_jobs, update
                )
            # All at once, and before Ctrl-C is let through again.
            model = attributes(results)
            model["_states"] = [r.state for r in results] if self.warm_start else None
            model["_states_digest"] = key
            self.__dict__.update(model)
        self._warn_of_early_end(results)
        return self

    def _fit_in_step(
        self,
        pairs: list[Pair],
        run_of: Callable[[Pair, int], PegasosRun],
        stopper: Stopper,
        update: Callable[[int, PegasosRun], None],
        attributes: Callable[[list[Result]], dict[str, Any]],
        given: dict[str, Any],
        watch: Callable[[dict[str, Any]], bool] | None,
    ) -> list[PegasosRun]:
        """Train with callbacks: a whole model exists after each round of checkpoints."""
        runs = [run_of(pair, len(pairs)) for pair in pairs]
        context = self._init_callback_context(max_subtasks=max(len(run.points) for run in runs))
        context.call_on_fit_task_begin(**given)
        while not all(run.finished for run in runs):
            checkpoint = context.subcontext(task_name="checkpoint")
            checkpoint.call_on_fit_task_begin(**given)
            multiclass.advance_in_step(runs, stopper, self._gap_target, update)
            stop = checkpoint.call_on_fit_task_end(
                **given, reconstruction_attributes=lambda: attributes([r.result() for r in runs])
            )
            if stop or (watch is not None and watch(attributes([r.result() for r in runs]))):
                for run in runs:
                    run.stop()
        context.call_on_fit_task_end(**given)
        return runs

    def _finish(self, run: PegasosRun, stopper: Stopper) -> Result:
        """Result of a run at its end, polished if asked for."""
        if not self.polish or run.status == "stopped":
            return run.result()
        return polish(run, tol=self._polish_tol, stopper=stopper)

    @property
    def _polish_tol(self) -> float:
        return 1e-2 if self.tol is None else self.tol

    @property
    def _gap_target(self) -> float | None:
        """Certified relative gap at which to stop."""
        return self._polish_tol if self.polish else self.tol

    def _continues(self) -> bool:
        return self.warm_start and getattr(self, "_states", None) is not None

    def _problem_digest(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> str | None:
        """Digest of what a sequence of iterates depends on; None without ``warm_start``."""
        if not self.warm_start:
            return None
        parameters = {k: v for k, v in self.get_params().items() if k not in _NOT_OF_THE_MODEL}
        # A function is known by its name and code, a kernel object by its parameters.
        code = getattr(parameters.get("kernel"), "__code__", None)
        if code is not None:
            parameters["kernel"] = (parameters["kernel"].__qualname__, code.co_code, code.co_consts)
        text = sorted((name, repr(value)) for name, value in parameters.items())
        return str(joblib.hash([X, labels, weight, text]))

    def _earlier_states(self, key: str | None, n_pairs: int) -> list[State | None]:
        """States to go on from; the key tells whether they belong to this fit."""
        if not self._continues() or self._states is None:
            return [None] * n_pairs
        if key != self._states_digest:
            raise ValueError(
                "warm_start=True goes on with the earlier fit and needs the same X, y, "
                "sample_weight and parameters of the problem and the update parameters, got others"
            )
        # A copy: a fit that fails must not have moved the earlier one.
        return copy.deepcopy(self._states)

    def _targets(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Class numbers, weights (class weights included) and classes."""
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weight.min() < 0:
            raise ValueError(
                f"sample_weight must not be negative, got a minimum of {weight.min():g} instead"
            )
        if not weight.any():
            raise ValueError("sample_weight must have a positive entry, got zeros only instead")
        present = np.unique(labels[weight > 0])
        if present.size < 2:
            raise ValueError(
                f"y must have at least two classes (with positive weight), got "
                f"{present.size} class: {classes[present].tolist()}"
            )
        if present.size < classes.size:
            # Classes of weight zero are as good as absent.
            classes = classes[present]
            kept = np.isin(labels, present)
            labels = np.where(kept, np.searchsorted(present, labels), 0)
        kept = weight > 0
        by_class = self._class_weights(classes, classes[labels[kept]], weight[kept])
        return labels, weight * by_class[labels], classes

    def _class_weights(
        self, classes: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Weight of each class, by ``class_weight``."""
        by_class: np.ndarray = compute_class_weight(
            self.class_weight,
            classes=classes,
            y=y,
            sample_weight=weight if self.class_weight == "balanced" else None,
        )
        if not (np.isfinite(by_class).all() and by_class.min() > 0):
            raise ValueError(
                f"class_weight must be positive and finite for every class, got "
                f"{by_class.tolist()} for {classes.tolist()} instead"
            )
        return by_class

    def _attributes(
        self,
        X: Any,
        labels: np.ndarray,
        classes: np.ndarray,
        pairs: list[Pair],
        results: list[Result],
    ) -> dict[str, Any]:
        """Fitted attributes of the model as it stands."""
        alpha = np.zeros((len(pairs), labels.size))
        for pair, result in zip(pairs, results, strict=True):
            alpha[pair.number, pair.members] = result.alpha
        if not self.projection:
            alpha = alpha.astype(np.int64)
        binary = classes.size == 2

        def per_pair(values: list[Any]) -> Any:
            return values[0] if binary else np.array(values)

        return {
            "classes_": classes,
            "alpha_": alpha[0] if binary else alpha,
            "lam_": per_pair([pair.problem.lam for pair in pairs]),
            "n_steps_": per_pair([result.n_steps for result in results]),
            "objective_": per_pair([result.objective for result in results]),
            "duality_gap_": per_pair([result.gap for result in results]),
            "relative_gap_": per_pair([result.relative_gap for result in results]),
            "history_": results[0].history if binary else [r.history for r in results],
            "intercept_": np.array([result.intercept for result in results]),
            **self._model_attributes(X, labels, pairs, results),
        }

    def _warn_of_early_end(self, results: list[Result]) -> None:
        for status in ("interrupted", "max_time", "completed"):
            if status == "completed" and self._gap_target is None:
                continue
            found = [result for result in results if result.status == status]
            if found:
                worst = max(found, key=lambda result: result.relative_gap)
                of = f" ({len(found)} of {len(results)} pairs)" if len(results) > 1 else ""
                warnings.warn(
                    f"{type(self).__name__} {_STOPPED[status]} after {worst.n_steps} iterations{of} "
                    f"with a certified relative gap of {worst.relative_gap:.3g}; "
                    f"the model reached so far is returned.",
                    ConvergenceWarning,
                    stacklevel=5,  # the caller of fit, beyond its decorator
                )

    # --- predict ---

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

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
        decisions = self._decide(self._validate(X, reset=False))
        if self.classes_.size == 2:
            return decisions[:, 0]
        if self.decision_function_shape == "ovo":
            return decisions
        return multiclass.one_vs_rest(decisions, self.classes_.size)

    def predict(self, X: Any) -> np.ndarray:
        """Class of each example, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        decisions = self._decide(self._validate(X, reset=False))
        n_classes = self.classes_.size
        if n_classes == 2:
            chosen = (decisions[:, 0] > 0).astype(np.intp)
        elif self.break_ties:
            chosen = multiclass.one_vs_rest(decisions, n_classes).argmax(axis=1)
        else:
            chosen = multiclass.vote(decisions, n_classes)
        predicted: np.ndarray = self.classes_[chosen]
        return predicted

    @property
    def _offset(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
