"""`PegasosSVCCV`: kernel support vector classifier that chooses C and its kernel's parameters.

Here a user's values, folds and scorer become cells, and the solved cells become a table, a choice
and a model. `kpegasos.model_selection.cells` solves the cells. The steps of a fit are functions
behind the class; none sets anything of the estimator.
"""

from __future__ import annotations

import math
import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators import PegasosSVC
from kpegasos.estimators.attributes import ModelAttributes
from kpegasos.estimators.base import OneVsOneMixin
from kpegasos.estimators.bounds import Enclosed
from kpegasos.estimators.exports import ExportMixin
from kpegasos.estimators.kernel import KernelInputMixin
from kpegasos.exports.libsvm import Model
from kpegasos.fitting.inputs import (
    Settings,
    settings_of,
    some_weight,
)
from kpegasos.fitting.model import (
    of_one_model,
    parameters_read_later,
    set_model,
    unchanged_by_errors,
)
from kpegasos.fitting.observers import cell_bar, in_turn
from kpegasos.fitting.pairs import Targets
from kpegasos.kernels.base import takes_objects
from kpegasos.model_selection.cells import Surface
from kpegasos.model_selection.grid import (
    Folds,
    Grid,
    make_folds,
    make_grid,
)
from kpegasos.model_selection.results import (
    HeldOutScorer,
    SearchRecord,
    cv_results,
    held_out_decisions,
    make_scorer_of,
)
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.bases import BaseEstimator
from kpegasos.utils.threads import at_work
from kpegasos.utils.validation import (
    as_flag,
    as_generator,
    check_gram,
    check_magnitude,
    shown,
    warn_caller,
)

_WITHOUT_MODEL = (
    "%(name)s has no model of all examples to write, since refit was False or the search was "
    "stopped before it"
)


@dataclass(eq=False, repr=False)
class _SearchParameters:
    """Parameters of a search, beside those of all classifiers."""

    Cs: Any = 5
    _: KW_ONLY
    gammas: Any = 5
    kernel: Any = "rbf"
    degrees: Any = (3,)
    coef0s: Any = (0.0,)
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    tol: float = 1e-2
    max_time: float | None = None
    cache_mb: float | str = "auto"
    row_dtype: str = "auto"
    verbose: bool = False
    random_state: Any = None


class _SearchAttributes(ModelAttributes):
    """Attributes of a search that has ended."""

    Cs_: np.ndarray
    gammas_: Any
    best_estimator_: PegasosSVC
    cv_results_: dict[str, Any]
    scores_: np.ndarray
    relative_gaps_: np.ndarray
    n_splits_: int
    status_: str
    refit_time_: float
    support_vectors_: Any


class _OfTheBest:
    """An attribute of a search that has chosen a cell; the error says why there is none."""

    def __get__(self, search: Any, owner: type) -> Any:
        """Raise the error; only called where an instance lacks the attribute."""
        if search is None:
            return self
        if "status_" not in vars(search):
            raise AttributeError(f"{owner.__name__} has chosen nothing before it is fitted")
        raise AttributeError(
            f"{owner.__name__} has chosen nothing, since the search ended before any cell was done "
            f"in all folds (status_ is {search.status_!r})"
        )


@dataclass(eq=False, repr=False)
class PegasosSVCCV(
    KernelInputMixin,
    ExportMixin,
    OneVsOneMixin,
    _SearchAttributes,
    _SearchParameters,
    BaseEstimator,
):
    """Kernel support vector classifier whose C and kernel parameters are chosen on held-out data.

    Every cell, a value of C with a kernel on the training part of a fold, is solved to a certified
    relative gap of at most ``tol``. Cells share what they have in common, so that a search costs a
    fraction of what `GridSearchCV` over `PegasosSVC` costs, for the same scores up to what the gaps
    allow.

    Parameters
    ----------
    Cs : int or array-like of float, default=5
        Values of C, in SVC's terms; a number of them is spread evenly from 0.1 to 1,000 on the
        logarithmic scale. Larger ones take longer.
    gammas : int or array-like of {float, "scale", "auto"}, default=5
        Values of gamma of all named kernels that have one. A number of them is "scale"
        times powers of 4, as many below as above. "scale" and "auto" are those of `PegasosSVC` on
        all of X, and not of each training part.
    kernel : str, callable or kernel object, default="rbf"
        As in `PegasosSVC`. Callables, objects, "precomputed" and names of kernels without
        parameters are searched over C only. "sigmoid", "additive_chi2" and polynomials with
        negative coef0 are not positive semi-definite, and refused.
    degrees : array-like of int, default=(3,)
        Degrees of the polynomial kernel.
    coef0s : array-like of float, default=(0.0,)
        Constant terms of the polynomial and the sigmoid kernel.
    cv : int, splitter or iterable, default=None
        Number of stratified folds, a splitter of scikit-learn, or pairs of index arrays (train,
        test); None for 5. The training part of a fold needs examples of each class, and has none
        of the test part.
    scoring : str or callable, default=None
        A name of scikit-learn's scorers, or a callable ``f(estimator, X, y)`` that returns a
        number; None for accuracy. It may ask the estimator for predictions and decisions, but not
        for probabilities. A callable is tried once before the search.
    refit : bool, default=True
        Whether a `PegasosSVC` with the chosen values is fitted to all examples.
    fit_intercept : bool, default=True
        Add a constant feature (``K + intercept_scaling²``); False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    tol : float, default=1e-2
        Certified relative gap of each cell, and of the refitted model, where there is one.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which cells that are missing stay so, with a
        `ConvergenceWarning`; the best of the complete cells is chosen. First compilation counts,
        and cannot be cut short; the refit comes on top, with as many seconds at the most.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take, all threads together; see the page on memory.
    row_dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which kernel values are kept; they are computed in float64. "auto" is float64
        for up to 2,000 examples, C above 1,000 or ``tol`` below 1e-5, and float32 else.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class. "balanced" is inversely proportional to the weight of
        the class in the training part of a fold.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether ``decision_function`` has a column for each class or for each pair of classes.
    break_ties : bool, default=False
        Break ties of the vote by the decisions instead of by the order of the classes.
    n_jobs : int, default=None
        Largest number of threads, all if None; the results are the same.
    verbose : bool, default=False
        Whether a progress bar is shown.
    random_state : int, RandomState or None, default=None
        Seed of the draws of the refitted model.

    Attributes
    ----------
    best_params_ : dict
        Of the cell with the highest mean score among those that are complete in all folds; of
        equal ones the one with the smallest C, then gamma, degree and coef0, the flattest model.
    best_index_ : int
        Its row in ``cv_results_``.
    best_score_ : float
        Its mean score.
    cv_results_ : dict of str to array
        The columns of `GridSearchCV`, and ``split{k}_relative_gap``, ``max_relative_gap``,
        ``split{k}_n_support`` and ``mean_n_support``. Rows are in the order of `ParameterGrid` over
        the values as they came, with numbers for "scale" and "auto". Cells that are missing are
        NaN.
    scores_, relative_gaps_ : ndarray of shape (n_folds, ..., n_Cs)
        Score and certified relative gap of each cell; between folds and values of C an axis for
        each parameter of the kernel: gamma, degree, coef0. NaN for missing cells.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, increasing.
    gammas_, degrees_, coef0s_ : ndarray
        Values of the kernel's parameters, increasing, for each that the kernel has.
    n_splits_ : int
        Number of folds.
    oof_decision_ : ndarray of shape (n_samples,) or (n_samples, n_pairs)
        Held-out decisions of the chosen cell, one column a pair for more than two classes. NaN for
        examples that are never tested, the mean for those that are tested more than once.
    status_ : {"completed", "max_time", "interrupted"}
        Why the search ended.
    best_estimator_ : PegasosSVC
        The refitted model. Its fitted attributes (``support_``, ``dual_coef_``, ``intercept_``,
        ``relative_gap_`` and so on) are those of the search as well.
    refit_time_ : float
        Seconds of the refit.
    scorer_ : callable
        The scorer that ``score`` calls.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had names that are all strings.

    Notes
    -----
    Scores are weighted by ``sample_weight`` where the scorer takes weights, and their mean over the
    folds is not, as in later versions of `GridSearchCV`. Examples of weight zero are in no score.

    Scaling of the features belongs in a `Pipeline` around the search, where it sees all examples.
    To fit it on the training parts alone, use `GridSearchCV` over a pipeline with `PegasosSVC`.

    Ctrl-C stops a search: the estimator gets all attributes of the cells that are done, without a
    refitted model, and ``KeyboardInterrupt`` is raised. A second Ctrl-C raises at once and leaves
    the earlier model.

    See Also
    --------
    PegasosSVC : One fit.
    sklearn.model_selection.GridSearchCV : Search over any estimator.

    References
    ----------
    Chu, Ho, Tsai, Lin, Lin: Warm Start for Parameter Selection of Linear Classifiers (KDD 2015).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVCCV
    >>> X, y = make_moons(200, noise=0.15, random_state=0)
    >>> search = PegasosSVCCV(Cs=[1.0, 10.0], gammas=[0.5, 2.0], cv=3, random_state=0).fit(X, y)
    >>> search.best_score_ > 0.95
    True
    >>> bool(search.relative_gaps_.max() <= 0.01)
    True
    """

    best_index_ = best_params_ = best_score_ = oof_decision_ = _OfTheBest()

    # --- fit ---

    @in_turn
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search all cells, and fit the chosen one to all examples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 are used as they are. With ``kernel="precomputed"``, the square
            kernel matrix.
        y : array-like of shape (n_samples,)
            Two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the examples; positive ones between 1e-100 and 1e100.
        groups : array-like of shape (n_samples,), default=None
            Groups of the examples, for splitters that use them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Naming the parameter, what was expected and what came.
        KeyboardInterrupt
            After Ctrl-C, once what has been found so far has been set.
        Exception
            Whatever a scorer, a splitter or a kernel of yours raises. What an earlier fit has set
            stays.
        """
        stopper = Stopper()
        with interruptible(stopper), unchanged_by_errors(self):
            stopper.presses_kept = 0  # there is nothing to wait for yet
            settings, facts = _settings_of(self), parameters_read_later(self)
            X_as_passed = X
            X, y = self._validate(X, y, reset=True)
            weight = some_weight(sample_weight, X)
            weighted = sample_weight is not None
            plan = _make_plan(self, X, y, weight, (X_as_passed, groups), weighted=weighted)
            stopper.limit(settings.max_time)
            stopper.presses_kept = 1
            with at_work(settings.n_jobs):
                _solve(plan, settings, stopper)
            attributes = _attributes_of(plan, stopper)
            if self.refit and "best_params_" in attributes and not stopper.interrupted:
                stopper.presses_kept = 0  # the fit of the model keeps the first itself
                attributes.update(_refitted(plan, stopper))
                stopper.presses_kept = math.inf
            # Nothing may come between the model and the end of the fit.
            stopper.presses_kept = math.inf
            set_model(self, {**attributes, "_fitted": facts})
        _report_early_end(self, settings.tol)
        return self

    @property
    def _kernel(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError(
                "PegasosSVCCV has no model of all examples to predict with, since refit was False "
                "or the search was stopped before it"
            )
        return self.best_estimator_._kernel

    # --- predict ---

    def _decide(self, X: Any) -> np.ndarray:
        model = self.best_estimator_
        if len(self.classes_) != len(model.classes_):
            raise ValueError(
                f"classes_ must be those of best_estimator_, {shown(model.classes_)}, "
                f"got {shown(self.classes_)} instead"
            )
        return model._decide(X)

    def _enclosed(self, X: Any, diagonal: np.ndarray | None) -> Enclosed:
        return self.best_estimator_._enclosed(X, diagonal)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features of each pair; linear kernel only."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.coef_)

    @property
    def scorer_(self) -> Any:
        """The scorer that ``score`` calls."""
        check_is_fitted(self)
        return make_scorer_of(self.scoring)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score by ``scoring``, accuracy if None.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Handed to the scorer if given.
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self, X, y, **weights))

    # --- files and exports ---

    def _exported(self, *, values: bool = False) -> Model:
        check_is_fitted(self, "best_estimator_", msg=_WITHOUT_MODEL)
        model: Model = self.best_estimator_._exported(values=values)
        return model

    @of_one_model
    def to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn with the same predictions.

        Returns
        -------
        SVC
            That of the chosen model, see `PegasosSVC.to_sklearn`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``, and without a model of all examples.
        """
        check_is_fitted(self)
        check_is_fitted(self, "best_estimator_", msg=_WITHOUT_MODEL)
        shape, ties = self._votes()
        svc = self.best_estimator_.to_sklearn()
        return svc.set_params(decision_function_shape=shape, break_ties=ties)


# --- the steps of a fit ---


class _Plan(NamedTuple):
    """The plan of a search, and what it has found.

    Attributes
    ----------
    search : PegasosSVCCV
        For its parameters.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    grid : Grid
    folds : Folds
    targets : Targets
        Of all examples.
    score : HeldOutScorer
    record : SearchRecord
    """

    search: Any
    X: Any
    y: np.ndarray
    weight: np.ndarray
    grid: Grid
    folds: Folds
    targets: Targets
    score: HeldOutScorer
    record: SearchRecord

    @property
    def best_index(self) -> int:
        """The row of the chosen cell in the table."""
        best = self.record.best
        assert best is not None
        places = [(candidate.kernel, candidate.C) for candidate in self.grid.candidates]
        return places.index((best.kernel, best.C))


def _model_of(search: Any, **chosen: Any) -> PegasosSVC:
    """Make the estimator of one fit, with the parameters that it shares with the search."""
    names = set(PegasosSVC._get_param_names()) & set(PegasosSVCCV._get_param_names())
    shared = {"polish": True, **{name: getattr(search, name) for name in names}}
    return PegasosSVC(**{**shared, **chosen})


def _settings_of(search: Any) -> Settings:
    """Check all parameters of a search; return those that one fit has as well.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    as_flag("refit", search.refit)
    as_flag("fit_intercept", search.fit_intercept)
    if search.tol is None:
        raise ValueError("tol must be a positive finite number, got None instead")
    as_generator(search.random_state)
    return settings_of(_model_of(search))


def _make_plan(
    search: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    for_splitter: tuple[Any, Any],
    *,
    weighted: bool,
) -> _Plan:
    """Make the cells of the parameters.

    Parameters
    ----------
    search : PegasosSVCCV
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    for_splitter : tuple
        X as it came, and the groups.
    weighted : bool
        Whether the weights are the user's, so that scores use them.

    Warns
    -----
    UserWarning
        If the scorer takes no weights, as in `GridSearchCV`.
    """
    targets = search._targets(y, weight)
    if search._is_precomputed():
        check_gram(X)
    elif isinstance(search.kernel, str):
        check_magnitude(X)
    values = {name: getattr(search, name) for name in ("Cs", "gammas", "degrees", "coef0s")}
    grid = make_grid(search.kernel, X, **values)
    folds = make_folds(search.cv, *for_splitter, y, weight, targets, search._targets)
    own_weight = weight if weighted else None
    score = HeldOutScorer(
        search.scoring,
        X,
        y,
        own_weight,
        targets.classes,
        decision_function_shape=search.decision_function_shape,
        break_ties=search.break_ties,
    )
    if score.lacks_weight:
        warn_caller(
            f"scoring={search.scoring} takes no sample_weight, so that scores count all examples "
            f"alike."
        )
    score.try_out(folds.tests[0], targets)
    record = SearchRecord(grid, folds)
    return _Plan(search, X, y, weight, grid, folds, targets, score, record)


def _solve(plan: _Plan, settings: Settings, stopper: Stopper) -> None:
    """Solve all cells, and score those that come."""
    search, grid, folds, record = plan.search, plan.grid, plan.folds, plan.record
    assert settings.tol is not None
    name = type(search).__name__
    # Folds share a kernel's values; each computes some of them again.
    values = 2.0 * plan.y.size**2 * len(grid.kernels)
    with cell_bar(bool(search.verbose), name, record.done.size, values=values) as advance:
        Surface(
            plan.X,
            plan.targets.labels,
            folds,
            grid.kernels,
            grid.Cs,
            tol=settings.tol,
            intercept_scaling=settings.intercept_scaling,
            cache_mb=search.cache_mb,
            row_dtype=search.row_dtype,
            stopper=stopper,
            on_kernel=lambda outcome: record.take(outcome, folds, plan.score),
            on_cells=advance,
        ).solve()


def _attributes_of(plan: _Plan, stopper: Stopper) -> dict[str, Any]:
    """Make the fitted attributes of the search, without a model of all examples."""
    grid, folds, record, classes = plan.grid, plan.folds, plan.record, plan.targets.classes
    shape = (len(folds.tests), *grid.shape, grid.Cs.size)
    if record.done.all() or stopper.interrupted:
        status = "interrupted" if stopper.interrupted else "completed"
    else:
        status = "max_time"
    attributes: dict[str, Any] = {
        "classes_": classes,
        "cv_results_": cv_results(record, grid),
        "scores_": record.scores.reshape(shape).copy(),
        "relative_gaps_": record.relative_gaps.reshape(shape).copy(),
        "Cs_": grid.Cs,
        **{f"{name}s_": values for name, values in grid.axes.items()},
        "n_splits_": len(folds.tests),
        "status_": status,
    }
    if record.best is None:
        return attributes
    attributes["best_index_"] = index = plan.best_index
    attributes["best_params_"] = dict(grid.candidates[index].parameters)
    attributes["best_score_"] = float(attributes["cv_results_"]["mean_test_score"][index])
    decisions = held_out_decisions(record.best, folds, plan.y.size)
    attributes["oof_decision_"] = decisions[:, 0] if classes.size == 2 else decisions
    return attributes


def _refitted(plan: _Plan, stopper: Stopper) -> dict[str, Any]:
    """Fit a model to all examples with the chosen parameters; return the fitted attributes."""
    begin, search, chosen = time.perf_counter(), plan.search, plan.grid.candidates[plan.best_index]
    own: dict[str, Any] = {}
    if takes_objects(search.kernel):  # with the values that are known by now
        own["kernel"] = plan.grid.kernels[chosen.kernel]
    model = _model_of(search, **chosen.parameters, **own)
    ended = {}
    try:
        model.fit(plan.X, plan.y, plan.weight)
    except KeyboardInterrupt:
        stopper.interrupt()
        ended["status_"] = "interrupted"
        if not hasattr(model, "classes_"):
            return ended
    if hasattr(search, "feature_names_in_"):
        model.feature_names_in_ = search.feature_names_in_
    attributes = {
        name: value
        for name, value in vars(model).items()
        # What the validation of X sets, the search has already.
        if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_")
    }
    return {
        **attributes,
        **ended,
        "best_estimator_": model,
        "refit_time_": time.perf_counter() - begin,
    }


def _report_early_end(search: Any, tol: float | None) -> None:
    """Warn that cells are missing for want of time, or have not reached ``tol``.

    Parameters
    ----------
    search : PegasosSVCCV
        With what it has found.
    tol : float

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.

    Warns
    -----
    ConvergenceWarning
    """
    name, n_cells = type(search).__name__, search.scores_.size
    n_missing = np.count_nonzero(np.isnan(search.relative_gaps_))
    missing = f"with {n_missing} of {n_cells} cells missing"
    if search.status_ == "interrupted":
        raise KeyboardInterrupt(
            f"{name} was stopped by Ctrl-C {missing}; the estimator holds what was found so far."
        )
    if search.status_ == "max_time":
        chosen = hasattr(search, "best_params_")
        then = "the best of those that are complete is chosen" if chosen else "nothing is chosen"
        warn_caller(f"{name} stopped by max_time {missing}; {then}.", ConvergenceWarning)
    far = search.relative_gaps_[search.relative_gaps_ > tol]
    if far.size:
        warn_caller(
            f"{name} did not reach tol in {far.size} of {n_cells} cells, with a certified relative "
            f"gap of {far.max():.3g} at worst.",
            ConvergenceWarning,
        )
