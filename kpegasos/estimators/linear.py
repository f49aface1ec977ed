"""`LinearPegasosSVC`: linear support vector classifier through the primal vector."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._classifier import OneVsOneMixin, Targets
from kpegasos.estimators._early_stopping import EarlyStopping, draw_aside
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._online import OnlineClassifier
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import (
    CheckpointObserver,
    Interval,
    StrOptions,
    fit_context,
)
from kpegasos.estimators._training import FitPlan
from kpegasos.rows.base import RowSource
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.result import Result
from kpegasos.utils.validation import check_magnitude


# Longer than a class should be: most of it is the parameters' documentation and the constructor.
class LinearPegasosSVC(OneVsOneMixin, BasePegasos):
    """Linear support vector classifier trained by Pegasos through the primal vector.

    A step costs O(non-zeros of the row). The model is that of ``PegasosSVC(kernel="linear")`` for
    the same ``random_state``.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation: ``lam = 1 / (C · Σ weights)`` of each pair.
    lam : float, default=None
        The papers' λ; wins over ``C``.
    fit_intercept : bool, default=True
        Add a constant feature; False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    epochs : float, default=20
        Draws per example.
    n_steps : int, default=None
        Steps T of each pair; wins over ``epochs``. May be less than one epoch.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "block"}, default="permutation"
        A fresh permutation each epoch, independent draws, or blocks of 64 consecutive rows in
        random order: several times faster on data larger than the processor's caches, for rows
        that come in no particular order (`sklearn.utils.shuffle` sees to that).
    projection : bool, default=False
        Project onto the ball of radius ``1/sqrt(lam)`` after each step.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    polish : bool, default=False
        After the Pegasos steps, go on from their model by dual coordinate ascent, on the same rows
        and certificate, until the relative gap is at most ``tol`` (1e-2 if None). Not Pegasos any
        more, but exact.
    tol : float, default=None
        Stop when the certified relative gap is at most this; `ConvergenceWarning` if it never is.
    max_time : float, default=None
        Seconds after which the model reached so far is returned, with a `ConvergenceWarning`.
    checkpoints : {"epoch", "log"}, sequence of int or None, default="epoch"
        Checkpoints of ``history_``; each costs one pass over the data.
    early_stopping : bool, default=False
        Set a part of the examples aside, and stop when its accuracy has not risen for some
        checkpoints, as `SGDClassifier` does.
    validation_fraction : float, default=0.1
        That part, of each class.
    n_iter_no_change : int, default=5
        These checkpoints.
    class_weight : dict, "balanced" or None, default=None
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
        Break ties of the vote by the decisions instead of by the order of the classes.
    n_jobs : int, default=None
        Threads that train pairs of classes.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Progress bar with the certified gap.
    random_state : int, RandomState or None, default=None
        Makes the order of the examples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_pairs, n_features)
    intercept_ : ndarray of shape (n_pairs,)
    alpha_ : ndarray of shape (n_samples,) or (n_pairs, n_samples)
        How often each example was drawn while violating the margin; int64 without projection.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the examples with a coefficient, grouped by class.
    n_support_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        Signed coefficients in SVC's layout.
    objective_, duality_gap_, relative_gap_ : float or ndarray of shape (n_pairs,)
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    validation_scores_ : list of float
        Accuracy on the part set aside, at each checkpoint; with ``early_stopping`` only.
    history_ : History or list of History
    n_steps_ : int or ndarray of shape (n_pairs,)
    lam_ : float or ndarray of shape (n_pairs,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    References
    ----------
    Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007), Fig. 1.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kpegasos import LinearPegasosSVC
    >>> X, y = make_blobs(200, centers=3, random_state=0)
    >>> LinearPegasosSVC(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePegasos._parameter_constraints,
        "sampling": [
            StrOptions({"permutation", "uniform", "contiguous", "block"}, deprecated={"block"})
        ],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    _online: OnlineClassifier | None
    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        epochs: float = 20,
        n_steps: int | None = None,
        batch_size: int = 1,
        sampling: str = "permutation",
        projection: bool = False,
        average: str | None = "weighted",
        polish: bool = False,
        tol: float | None = None,
        max_time: float | None = None,
        checkpoints: Any = "epoch",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.epochs = epochs
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.sampling = sampling
        self.projection = projection
        self.average = average
        self.polish = polish
        self.tol = tol
        self.max_time = max_time
        self.checkpoints = checkpoints
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _set_aside(
        self, X: Any, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, list[CheckpointObserver]]:
        if not self.early_stopping:
            return weight, []
        if self.warm_start:
            raise ValueError("early_stopping must be False with warm_start=True, got True instead")
        aside = draw_aside(y, weight, float(self.validation_fraction), self.random_state)
        observer = EarlyStopping(self, X[aside], y[aside], weight[aside])
        # Examples of no weight take no part, and keep their place in alpha_ and support_.
        weight = weight.copy()
        weight[aside] = 0.0
        return weight, [observer]

    def _prepare(
        self, X: Any, pairs: list[Pair], settings: Settings
    ) -> tuple[Callable[[Pair, int], RowSource], dict[str, Any]]:
        check_magnitude(X)

        def make_rows(pair: Pair, n_at_once: int) -> RowSource:
            whole = pair.members.size == X.shape[0]
            return FeatureRows(
                X,
                members=None if whole else pair.members,
                intercept_scaling=settings.intercept_scaling,
            )

        return make_rows, {"_online": None}

    def _attributes(self, plan: FitPlan, targets: Targets, results: list[Result]) -> dict[str, Any]:
        attributes = super()._attributes(plan, targets, results)
        return {**attributes, "coef_": np.array([result.w for result in results])}

    def _decide(self, X: Any) -> np.ndarray:
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearPegasosSVC:
        """Make one pass over a chunk of a stream, going on where the last call stopped.

        A stream begins at w = 0: the first call replaces the model of an earlier `fit`.

        The sequence of iterates is that of one run over all chunks, each in a fresh random order.
        Certificate and counts need all examples and are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_chunk, n_features)
        y : array-like of shape (n_chunk,)
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed at the first call only, and not after ``fit``.
        sample_weight : array-like of shape (n_chunk,), default=None
            Weights of the losses, taken as they are: not normalised, since the rest of the stream
            is unknown.

        Returns
        -------
        self

        Notes
        -----
        Without ``lam``, ``lam = 1 / (C · Σ weights)`` of the pair's first chunk, from then on.
        """
        self._warn_of_deprecated_parameters()
        online = getattr(self, "_online", None)
        if online is None:
            classes = getattr(self, "classes_", None) if classes is None else classes
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            online = OnlineClassifier.new(self, classes)
        else:
            online.check_unchanged(self, classes)
        online.fit_chunk(self, X, y, sample_weight)
        return self
