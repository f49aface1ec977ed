"""`LinearPegasosSVC` and `LinearPegasosSVR`: linear machines through the primal vector."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators.base import BasePegasos, OneVsOneMixin, RegressionMixin
from kpegasos.estimators.bounds import EPS, Enclosed, squared_constant
from kpegasos.exports.libsvm import Model, check_model
from kpegasos.fitting.features import PairFeatures
from kpegasos.fitting.inputs import Settings
from kpegasos.fitting.observers import in_turn
from kpegasos.fitting.pairs import Pairs
from kpegasos.fitting.streams import OnlineClassifier, OnlineRegressor
from kpegasos.fitting.training import Fit
from kpegasos.kernels.functions import Linear
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.result import Results
from kpegasos.utils.boundary import checked_vectors, require_numbers, require_shape
from kpegasos.utils.validation import finite_decisions, without_empty_columns


class LinearEstimator(BasePegasos):
    """An estimator whose model is a weight of each feature."""

    coef_: Any
    _online: Any
    #: With a free intercept: the centre of the rows, and the rounding of the intercept.
    _centre: np.ndarray
    _rounded_off: np.ndarray

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[PairFeatures, dict[str, Any]]:
        rows, known = PairFeatures(X, pairs, settings), {"_online": None}
        return rows, known if rows.centre is None else {**known, "_centre": rows.centre}

    def _vectors(self, fit: Fit, support: np.ndarray, results: Results) -> dict[str, Any]:
        assert isinstance(fit.rows, PairFeatures)
        coef = fit.rows.weights(results)
        return {"coef_": coef[0] if is_regressor(self) else coef}

    def _completed(self, model: dict[str, Any]) -> dict[str, Any]:
        """Replace the intercept for centred rows by that for rows that are not centred."""
        if "_centre" not in model:
            return model
        at_centre, centred = np.atleast_2d(model["coef_"]) @ model["_centre"], model["intercept_"]
        intercept = centred - at_centre
        return model | {
            "intercept_": intercept,
            "intercept_interval_": model["intercept_interval_"] - at_centre[:, None],
            "_rounded_off": centred - (intercept + at_centre),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, which is smaller if most weights are zero.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef[0] if is_regressor(self) else coef
        return self

    def _decide(self, X: Any) -> np.ndarray:
        coef, intercept = self._weights()
        centre = getattr(self, "_centre", None)
        if centre is not None and not sparse.issparse(X):
            X, intercept = X - centre, (intercept + coef @ centre) + self._rounded_off
        if sparse.issparse(coef):
            if sparse.issparse(X) and coef.format == "csr":
                X, coef = without_empty_columns(X, coef)
            product = X @ coef.T
            product = product.toarray() if sparse.issparse(product) else product
            return finite_decisions(product + intercept)
        vectors = np.vstack([coef.T, np.zeros(len(coef))])
        return finite_decisions(FeatureRows(X, canonical=True).margins(vectors) + intercept)

    def _enclosed(self, X: Any, diagonal: np.ndarray | None) -> Enclosed:
        decisions, (coef, _), added = self._decide(X), self._weights(), (X.shape[1] + 8.0) * EPS
        norms = (1.0 + added) * FeatureRows(X, canonical=True).squared_norms()
        squares = coef.power(2) if sparse.issparse(coef) else coef**2
        sizes = np.outer(np.sqrt(norms), np.sqrt(squares.sum(axis=1)))
        return Enclosed(decisions, decisions, added * sizes, norms + squared_constant(self))

    def _weights(self) -> tuple[Any, np.ndarray]:
        """Check and return weights of shape (n_pairs, n_features) and intercepts."""
        classes, coef = getattr(self, "classes_", None), self.coef_
        n_pairs = 1 if classes is None else len(classes) * (len(classes) - 1) // 2
        shape = (n_pairs, self.n_features_in_)
        if sparse.issparse(coef):  # which no compiled loop reads
            require_shape("coef_", coef, shape)
        else:
            coef = checked_vectors("coef_", np.atleast_2d(coef), shape)
        return coef, require_numbers("intercept_", self.intercept_, (n_pairs,))

    def _exported(self, *, values: bool = False) -> Model:
        """Make a model whose support vectors are the weights of the pairs, one each."""
        (coef, intercept), classes = self._weights(), getattr(self, "classes_", None)
        dual_coef = np.ones((1, 1))
        if classes is None:
            n_support = [1]
        elif classes.size == 2:
            n_support = [0, 1]  # of the second class: its decision is positive
        else:
            # Pairs are in lexicographic order, so that those of a first class stand together.
            pairs = list(combinations(range(classes.size), 2))
            n_support = list(range(classes.size - 1, -1, -1))
            dual_coef = np.zeros((classes.size - 1, len(pairs)))
            dual_coef[[j - 1 for _, j in pairs], np.arange(len(pairs))] = 1.0
        model = Model(
            kernel=Linear(),
            vectors=coef,
            support=None,
            n_support=np.array(n_support, dtype=np.int32),
            dual_coef=dual_coef,
            intercept=intercept,
            classes=classes,
            n_features=self.n_features_in_,
        )
        return check_model(model, values=values)


@dataclass(eq=False, repr=False)
class LinearPegasosSVC(OneVsOneMixin, LinearEstimator):
    """Linear support vector classifier trained by Pegasos through the primal vector.

    A step costs O(non-zeros of the row). The model is that of ``PegasosSVC(kernel="linear")`` for
    the same ``random_state``, but for the rounding of its kernel values (``row_dtype``).

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation: ``lam = 1 / (C · Σ weights)`` of each pair.
    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "log_loss"} or Loss, default="hinge"
        What a margin costs: the papers' hinge, that of LinearSVC, the hinge with a rounded corner,
        or the logistic loss, which has ``predict_proba``; or one of your own, see
        `kpegasos.losses`.
    fit_intercept : bool or "free", default=True
        Add a constant feature; False is the papers' problem. "free" is SVC's problem, where the
        intercept is not regularised; see `PegasosSVC`. Streams do not have it.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised. With a free
        intercept in units of an example's typical length; the optimum does not depend on it.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, and with it half an epoch or 512 draws, whichever is less.
    n_steps : int, default=None
        Steps T of each pair; used in place of ``epochs`` if given. May be less than one epoch.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws, or runs of 64 consecutive rows in
        random order: several times faster on data larger than the processor's caches, for rows
        that come in no particular order (`sklearn.utils.shuffle` sees to that). A callable
        ``f(rng, n_samples)`` returns the draws of one epoch.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step, of radius ``1/sqrt(lam)`` with
        the hinge. A loss without a largest slope, such as a square, is always projected. In a
        stream, the ball holds the optimum of the examples seen.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    step : callable, default=None
        Sizes of the steps: ``step(t, lam)`` for an array of numbers t, positive and at most
        ``1 / lam``; see `kpegasos.core.steps`. None for Pegasos' own ``1 / (lam t)``.
    polish : bool or type, default=False
        Whether dual ascent goes on from the model of the Pegasos steps until the certified relative
        gap is at most ``tol`` (0.001 if None): by single coordinates, or, where these would take
        longer and the loss is the hinge, by an interior point method whose steps do not depend on
        the scale of the features. The latter needs at most 1,024 features or examples. The model is
        then no longer an average of Pegasos iterates. A class derived from
        `kpegasos.solvers.dual_ascent.DualAscent` is a solver of your own in place of ours.
    tol : float, default=None
        Certified relative gap at which training stops, with a `ConvergenceWarning` if it is not
        reached.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`. It is overrun by what is compiled for the first time, by the slice of
        draws in work (some 20 ms) or a part of the Newton step of `polish`, by 32 draws of each
        pair of classes not yet begun, and by the evaluation of the model.
    checkpoints : {"auto", "epoch", "log"}, sequence of int or None, default="auto"
        Steps at which the model is evaluated for ``history_``, at the cost of a pass over the data:
        ends of the epochs 1, 2, 5, 10, 20, 50 and so on, ends of all epochs, ten steps a decade,
        or these steps. None evaluates the end only. "auto" is all epochs with callbacks,
        ``verbose``, or ``tol`` without ``polish``.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class; 1 for classes that a dict leaves out. "balanced" is
        inversely proportional to the weight of the class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether ``decision_function`` has a column for each class or for each pair of classes.
    break_ties : bool, default=False
        Break ties of the vote by the decisions instead of by the order of the classes.
    n_jobs : int, default=None
        Largest number of threads, all if None; the model is the same.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Whether a progress bar is shown, with the certified gap, kernel values and seconds.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    coef_ : ndarray or CSC or CSR matrix of shape (n_pairs, n_features)
        Weights of the features, for each pair of classes in the order (0, 1), (0, 2), ..., (1, 2).
        With sparse X it is sparse where an array would take more than 64 MiB and twice as much;
        `densify` makes it an array. With several classes these are not the rows of LinearSVC, which
        has one for each class; `sklearn.multiclass.OneVsRestClassifier` around this estimator makes
        such a model, and takes less where classes are many.
    intercept_ : ndarray of shape (n_pairs,)
        Constant term of each pair's decision.
    intercept_interval_ : ndarray of shape (n_pairs, 2)
        The free intercepts, from the least to the largest, that are best for the model's w.
    alpha_ : ndarray of shape (n_samples,) or csr_array of shape (n_pairs, n_samples)
        How often each example was drawn while it violated the margin, int64; float64 with
        ``projection`` or ``step``, and with another loss than the hinge, whose pulls it sums.
        Sparse for more than two classes.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the examples with a coefficient, grouped by class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        Signed coefficients in SVC's layout.
    objective_, duality_gap_, relative_gap_ : float or ndarray of shape (n_pairs,)
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    history_ : History or list of History
        Objective, certificate and costs at each checkpoint, of each pair.
    n_steps_ : int or ndarray of shape (n_pairs,)
        Steps done, those of earlier fits that ``warm_start`` continued included.
    lam_ : float or ndarray of shape (n_pairs,)
        Regularisation λ.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had names that are all strings.

    Notes
    -----
    Ctrl-C stops a fit at the end of the step: the estimator gets the model reached so far, with all
    its attributes, and ``KeyboardInterrupt`` is raised. With ``warm_start``, the next ``fit`` goes
    on from there. A second Ctrl-C raises at once and leaves the earlier model.

    Features of the size of hundreds, or with a large mean, keep Pegasos far from its optimum. If
    the certified relative gap is above 0.9 after an epoch or more and the entries of X that are not
    zero are above 7 in root mean square, a `ConvergenceWarning` says so.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007), Fig. 1.
    Mehrotra: On the implementation of a primal-dual interior point method (SIAM J. Optim. 1992),
    for ``polish``.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kpegasos import LinearPegasosSVC
    >>> X, y = make_blobs(200, centers=3, random_state=0)
    >>> LinearPegasosSVC(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    @in_turn
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over a chunk of a stream, going on where the last call stopped.

        A stream begins at w = 0: the first call replaces the model of an earlier `fit`.

        The sequence of iterates is that of one run over all chunks, each in a fresh random order.
        Certificate and counts need all examples and are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_chunk, n_features)
            Examples of the chunk.
        y : array-like of shape (n_chunk,)
            Their classes.
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
        Without ``lam``, ``lam = 1 / (C · Σ weights)`` of the pair's first chunk, from then on. The
        parameters of the problem and of the steps must stay those of the first call. Ctrl-C waits
        for the end of the chunk, then ``KeyboardInterrupt`` is raised; a second Ctrl-C does not
        wait. It leaves model and stream as they were before the chunk, and so does any error.
        """
        online = getattr(self, "_online", None)
        if online is None:
            classes = getattr(self, "classes_", None) if classes is None else classes
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            online = OnlineClassifier(self, classes)
        else:
            if classes is not None:
                online.check_classes(classes)
            online.check_unchanged(self)
        online.fit_chunk(self, X, y, sample_weight)
        return self


@dataclass(eq=False, repr=False)
class LinearPegasosSVR(RegressionMixin, LinearEstimator):
    """Linear support vector regression through the primal vector.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation: ``lam = 1 / (C · Σ weights)``.
    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber"} or Loss, \
default="epsilon_insensitive"
        What an error costs: SVR's loss, its square (that of LinearSVR), Huber's loss, whose
        squares end at ``epsilon``; or one of your own, see `kpegasos.losses`.
    epsilon : float, default=0.1
        Errors up to this cost nothing; with "huber", errors up to this are squared. Of no use
        with a loss that is an object.
    fit_intercept : bool or "free", default=True
        Add a constant feature, and predict the deviation from the weighted median of y, so that the
        regularisation of the intercept does no harm; False is the papers' problem. "free" is SVR's
        problem, where the intercept is not regularised; streams do not have it. In a stream a
        weighted mean replaces the median, which does not add: that of the first chunk with
        ``partial_fit`` and `fit_chunks`, of all data with `fit_dask`.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised. With a free
        intercept in units of an example's typical length; the optimum does not depend on it.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, and with it half an epoch or 512 draws, whichever is less.
    n_steps : int, default=None
        Steps T; used in place of ``epochs`` if given. May be less than one epoch.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws, or runs of 64 consecutive rows in
        random order: several times faster on data larger than the processor's caches, for rows
        that come in no particular order (`sklearn.utils.shuffle` sees to that). A callable
        ``f(rng, n_samples)`` returns the draws of one epoch.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step. A loss without a largest slope,
        such as a square, is always projected. In a stream, the ball holds the optimum of the
        examples seen.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    step : callable, default=None
        Sizes of the steps: ``step(t, lam)`` for an array of numbers t, positive and at most
        ``1 / lam``; see `kpegasos.core.steps`. None for Pegasos' own ``1 / (lam t)``.
    polish : bool or type, default=False
        Whether dual ascent, one coordinate at a time, goes on from the model of the Pegasos steps
        until the certified relative gap is at most ``tol`` (0.001 if None). The model is then no
        longer an average of Pegasos iterates. A class derived from
        `kpegasos.solvers.dual_ascent.DualAscent` is a solver of your own in place of ours.
    tol : float, default=None
        Certified relative gap at which training stops, with a `ConvergenceWarning` if it is not
        reached.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`. It is overrun by what is compiled for the first time.
    checkpoints : {"auto", "epoch", "log"}, sequence of int or None, default="auto"
        Steps at which the model is evaluated for ``history_``, at the cost of a pass over the data:
        ends of the epochs 1, 2, 5, 10, 20, 50 and so on, ends of all epochs, ten steps a decade,
        or these steps. None evaluates the end only. "auto" is all epochs with callbacks,
        ``verbose``, or ``tol`` without ``polish``.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Whether a progress bar is shown, with the certified gap, kernel values and seconds.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are drawn.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Sum of the pulls of each example's draws: with the default loss 1 for a prediction below the
        tube, -1 above.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the examples with a coefficient.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_support_vectors)
        Their coefficients.
    intercept_ : ndarray of shape (1,)
        Constant term.
    intercept_interval_ : ndarray of shape (1, 2)
        The free intercepts, from the least to the largest, that are best for the model's w.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    objective_, duality_gap_, relative_gap_ : float
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    history_ : History
        Objective, certificate and costs at each checkpoint.
    n_steps_ : int
        Steps done, those of earlier fits that ``warm_start`` continued included.
    lam_ : float
        Regularisation λ.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    PegasosSVR : The same for any kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from kpegasos import LinearPegasosSVR
    >>> X, y = make_regression(200, 5, random_state=0)
    >>> LinearPegasosSVR(polish=True, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    @in_turn
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over a chunk of a stream, going on where the last call stopped.

        A stream begins at w = 0: the first call replaces the model of an earlier `fit`.

        The sequence of iterates is that of one run over all chunks, each in a fresh random order.
        Certificate and coefficients of the examples need all of them and are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_chunk, n_features)
            Examples of the chunk.
        y : array-like of shape (n_chunk,)
            Their targets.
        sample_weight : array-like of shape (n_chunk,), default=None
            Weights of the losses, taken as they are: not normalised, since the rest of the stream
            is unknown.

        Returns
        -------
        self

        Notes
        -----
        With an intercept, the weighted mean of the first chunk is subtracted from all targets,
        where `fit` takes the median of all: regularisation pulls predictions towards it. Without
        ``lam``, ``lam = 1 / (C · Σ weights)`` of the first chunk, from then on. The parameters of
        the problem and of the steps must stay those of the first call.

        What is projected (see ``projection``) stays in a ball of radius ``sqrt(P(0) / lam)``, with
        the mean loss ``P(0)`` at w = 0 of the examples seen, or in an earlier one that is larger.
        It holds the optimum of the examples seen, and that of later examples only as far as these
        are similar.

        Ctrl-C waits for the end of the chunk, then ``KeyboardInterrupt`` is raised; a second Ctrl-C
        does not wait. It leaves model and stream as they were before the chunk, and so does any
        error.
        """
        online = getattr(self, "_online", None)
        if online is None:
            online = OnlineRegressor(self)
        else:
            online.check_unchanged(self)
        online.fit_chunk(self, X, y, sample_weight)
        return self
