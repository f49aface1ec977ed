"""`PegasosSVCCV`: kernel support vector classifier that chooses C and its kernel's parameters.

Here a user's values, folds and scorer become cells, and what comes of the cells becomes a table, a
choice and a model. How the cells are solved is left to `kpegasos.model_selection.surface`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators import PegasosSVC
from kpegasos.estimators._base import some_weight, validated_rows
from kpegasos.estimators._classifier import OneVsOneMixin
from kpegasos.estimators._fitted import (
    fitted,
    parameters_read_later,
    set_model,
    unchanged_by_errors,
)
from kpegasos.estimators._sklearn_compat import CallbackObserver, CallbackSupportMixin, fit_context
from kpegasos.model_selection._calibration import features_of
from kpegasos.model_selection._exports import SearchExportMixin
from kpegasos.model_selection._results import OfTheBest, SearchRecord
from kpegasos.model_selection._scoring import make_scorer_of
from kpegasos.model_selection._search_steps import (
    found_by,
    make_plan,
    refitted,
    report_early_end,
    search_settings,
    solve_missing,
)
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.validation import shown


def _calibrates(search: Any) -> bool:
    """Whether there are, or will be, probabilities."""
    if fitted(search, "calibration") is None:
        raise AttributeError("probabilities are available only with calibration, got None")
    return True


# Longer than a class should be: most of it is the parameters' documentation and the constructor.
class PegasosSVCCV(SearchExportMixin, OneVsOneMixin, CallbackSupportMixin, BaseEstimator):
    """Kernel support vector classifier whose C and kernel parameters are chosen on held-out data.

    Every cell, a value of C with a kernel on the training part of a fold, is solved to a certified
    relative gap of at most ``tol``, if the kernel is positive semi-definite. Cells share what they
    have in common, so that a search costs a fraction of what `GridSearchCV` over `PegasosSVC`
    costs, for the same scores up to what the gaps allow.

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
        negative coef0 are not positive semi-definite: each of their cells, and the refit, is a run
        of Pegasos without a certified gap (NaN), and costs what `GridSearchCV` pays.
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
    calibration : {"sigmoid", "isotonic"} or None, default=None
        How the held-out decisions of the chosen cell are made into probabilities, by
        scikit-learn's `CalibratedClassifierCV` and without further fits. None for no
        ``predict_proba``.
    fit_intercept : bool, default=True
        Add a constant feature (``K + intercept_scaling²``); False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    tol : float, default=1e-2
        Certified relative gap of each cell, and of the refitted model, where there is one.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which cells that are missing stay so, with a
        `ConvergenceWarning`; the best of the complete cells is chosen. What is compiled for the
        first time comes before, and the refit, of as many seconds at the most, behind.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take, all threads together; see the user guide.
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
        Number of threads: as many as a single fit uses if None, all cores if -1.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data, folds and parameters goes on with the cells that
        are missing. Functions are the same if all that they do is.
    verbose : bool, default=False
        Whether a progress bar is shown.
    random_state : int, RandomState or None, default=None
        Seed of the draws of the refitted model, and of cells without a certified gap.

    Attributes
    ----------
    best_params_ : dict
        Of the cell with the highest mean score among those that are complete in all folds; of
        equal ones that with the smallest C, then gamma, degree and coef0, the flattest model.
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
        each parameter of the kernel: gamma, degree, coef0. NaN for missing cells, and for gaps that
        are not certified.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, increasing.
    gammas_, degrees_, coef0s_ : ndarray
        Values of the kernel's parameters, increasing; there are those that the kernel has.
    n_splits_ : int
        Number of folds.
    oof_decision_ : ndarray of shape (n_samples,) or (n_samples, n_pairs)
        Held-out decisions of the chosen cell, one column a pair for more than two classes. NaN for
        examples that are never tested, the mean for those that are tested more than once.
    kernel_evaluations_ : int
        Kernel values that the search computed.
    missing_ : list of dict
        Parameters and ``"fold"`` of each cell that has not been done.
    status_ : {"completed", "max_time", "stopped", "interrupted"}
        Why the search ended; "stopped" is by a callback.
    best_estimator_ : PegasosSVC
        The refitted model. Its fitted attributes (``support_``, ``dual_coef_``, ``intercept_``,
        ``relative_gap_`` and so on) are those of the search as well.
    refit_time_ : float
        Seconds of the refit.
    scorer_ : callable
        What ``score`` asks.
    calibrator_ : CalibratedClassifierCV
        Makes probabilities of decisions, with ``calibration`` only.
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

    Scaling of the features belongs into a `Pipeline` around the search, where it sees all
    examples. To have it fitted on the training parts alone, search with `GridSearchCV` over a
    pipeline with `PegasosSVC`.

    scikit-learn's callbacks are told of a task for each kernel, once its cells are done, and of the
    refit. One that stops a task stops the search, and the best of the complete cells is chosen.

    Ctrl-C stops a search: the estimator gets all attributes of the cells that are done, without a
    refitted model, and ``KeyboardInterrupt`` is raised. With ``warm_start``, the next ``fit`` goes
    on from there. A second Ctrl-C raises at once and leaves the earlier model.

    See Also
    --------
    PegasosSVC : One fit.
    sklearn.model_selection.GridSearchCV : Search over any estimator.

    References
    ----------
    Chu, Ho, Tsai, Lin, Lin: Warm Start for Parameter Selection of Linear Classifiers (KDD 2015).
    Platt: Probabilistic Outputs for Support Vector Machines (1999).

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

    def __init__(
        self,
        Cs: Any = 5,
        *,
        gammas: Any = 5,
        kernel: Any = "rbf",
        degrees: Any = (3,),
        coef0s: Any = (0.0,),
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        calibration: str | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-2,
        max_time: float | None = None,
        cache_mb: float | str = "auto",
        row_dtype: str = "auto",
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.degrees = degrees
        self.coef0s = coef0s
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.calibration = calibration
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_time = max_time
        self.cache_mb = cache_mb
        self.row_dtype = row_dtype
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    #: All are checked by `search_settings`.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    best_index_ = best_params_ = best_score_ = oof_decision_ = OfTheBest()
    best_estimator_: PegasosSVC
    calibrator_: Any
    _states: SearchRecord | None
    _states_digest: str | None

    # --- fit ---

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> PegasosSVCCV:
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
            Groups of the examples, for splitters that heed them.

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
            is left.
        """
        stopper = Stopper()
        with interruptible(stopper), unchanged_by_errors(self):
            stopper.presses_kept = 0  # there is nothing to wait for yet
            callbacks = CallbackObserver.of(self, X, y, sample_weight)
            settings, facts = search_settings(self), parameters_read_later(self)
            given = X
            X, y = self._validate(X, y, reset=True)
            self._check_targets(y)
            weight = some_weight(sample_weight, X)
            weighted = sample_weight is not None
            plan = make_plan(self, X, y, weight, (given, groups), weighted=weighted)
            stopper.limit(settings.max_time)
            stopper.presses_kept = 1
            solve_missing(self, plan, X, settings, stopper, callbacks)
            found = found_by(self, plan, y, weight, stopper)
            if self.refit and "best_params_" in found and not stopper.interrupted:
                stopper.presses_kept = 0  # the fit of the model bears the first itself
                found.update(refitted(self, plan, X, y, weight, stopper))
                stopper.presses_kept = math.inf
                if callbacks is not None:
                    callbacks.tell_task("refit")
            if callbacks is not None:
                callbacks.end_fit()
            # Nothing may come between the model and the end of the fit.
            stopper.presses_kept = math.inf
            set_model(self, {**found, "_fitted": facts})
        report_early_end(self, settings.tol, stacklevel=5)  # the caller, beyond the decorator
        return self

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        if not reset and not hasattr(self, "best_estimator_"):
            raise NotFittedError(
                "PegasosSVCCV has no model of all examples to predict with, since refit was False "
                "or the search was stopped before it"
            )
        given = self._is_precomputed() if reset else self.best_estimator_._kernel is None
        return validated_rows(self, X, y, reset=reset, accept_sparse=not given)

    # --- predict ---

    def _decide(self, X: Any) -> np.ndarray:
        model = self.best_estimator_
        if len(self.classes_) != len(model.classes_):
            raise ValueError(
                f"classes_ must be those of best_estimator_, {shown(model.classes_)}, "
                f"got {shown(self.classes_)} instead"
            )
        return model._decide(X)

    @property
    def coef_(self) -> np.ndarray:
        """Primal weights of each pair, of shape (n_pairs, n_features); linear kernel only."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.coef_

    @property
    def scorer_(self) -> Any:
        """What ``score`` asks."""
        check_is_fitted(self)
        return make_scorer_of(self.scoring)

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of the classes; with ``calibration`` only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The most probable class may differ from that of ``predict``.
        """
        check_is_fitted(self)
        X, n_classes = self._validate(X, reset=False), self.classes_.size
        probabilities: np.ndarray = self.calibrator_.predict_proba(
            self._by_blocks(X, lambda decisions: features_of(decisions, n_classes))
        )
        return probabilities

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of ``predict_proba``, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
