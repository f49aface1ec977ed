"""`LinearPegasosSVR`: linear support vector regression through the primal vector."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._counterparts import tells_counterparts
from kpegasos.estimators._linear_model import LinearMixin
from kpegasos.estimators._online import OnlineRegressor
from kpegasos.estimators._regressor import RegressionMixin
from kpegasos.estimators._sklearn_compat import fit_context
from kpegasos.estimators._training import FitPlan
from kpegasos.solvers.result import Results


# Longer than a class should be: most of it is the parameters' documentation and the constructor.
class LinearPegasosSVR(LinearMixin, RegressionMixin, BasePegasos):
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
    fit_intercept : bool, default=True
        Add a constant feature, and predict the deviation from the weighted median of y, so that the
        regularisation of the intercept does no harm; False is the papers' problem. Of a stream it
        is the deviation from a weighted mean, as medians do not add: that of the first chunk with
        ``partial_fit``, of all data with `fit_dask`, and with `fit_chunks` where it reads them
        beforehand.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, and with it half an epoch or 512 draws, whichever is less.
    n_steps : int, default=None
        Steps T; used in place of ``epochs`` if given. May be less than one epoch.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"}, default="permutation"
        A fresh permutation each epoch, independent draws, or runs of 64 consecutive rows in
        random order: several times faster on data larger than the processor's caches, for rows
        that come in no particular order (`sklearn.utils.shuffle` sees to that).
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step. A loss without a largest slope,
        such as a square, is always projected. Of a stream, a ball that holds the optimum of the
        examples seen.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    polish : bool, default=False
        Whether dual ascent, one coordinate at a time, goes on from the model of the Pegasos steps
        until the certified relative gap is at most ``tol`` (0.01 if None). The model is then no
        longer an average of Pegasos iterates.
    tol : float, default=None
        Certified relative gap at which training stops; a `ConvergenceWarning` tells if it is
        never reached.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`; what is compiled for the first time comes before.
    checkpoints : {"epoch", "log"}, sequence of int or None, default="epoch"
        Steps at which the model is evaluated for ``history_``, at the cost of a pass over the data:
        ends of epochs, ten steps a decade, or these steps. None evaluates the end only.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Whether a progress bar is shown, with the certified gap, kernel values and seconds.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are drawn.


    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Sums of what each example's draws pulled by: with the default loss 1 for a draw that found
        it below the tube, -1 above.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the examples with a coefficient.
    n_support_ : ndarray of shape (1,)
        How many these are.
    dual_coef_ : ndarray of shape (1, n_support_vectors)
        Their coefficients.
    intercept_ : ndarray of shape (1,)
        Constant term.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePegasos._parameter_constraints,
        **LinearMixin._own_constraints,
        **RegressionMixin._own_constraints,
    }

    _online: OnlineRegressor | None
    coef_: np.ndarray
    intercept_: np.ndarray

    @tells_counterparts
    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        loss: Any = "epsilon_insensitive",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        epochs: str | float = "auto",
        n_steps: int | None = None,
        batch_size: int = 1,
        sampling: str = "permutation",
        projection: bool = False,
        average: str | None = "weighted",
        polish: bool = False,
        tol: float | None = None,
        max_time: float | None = None,
        checkpoints: Any = "epoch",
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
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
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _attributes(self, plan: FitPlan, targets: Any, results: Results) -> dict[str, Any]:
        attributes = super()._attributes(plan, targets, results)
        return {**attributes, "coef_": attributes["coef_"][0]}

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearPegasosSVR:
        """Make one pass over a chunk of a stream, going on where the last call stopped.

        A stream begins at w = 0: the first call replaces the model of an earlier `fit`.

        The sequence of iterates is that of one run over all chunks, each in a fresh random order.
        Certificate and coefficients of the examples need all of them and are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_chunk, n_features)
            Examples of the chunk.
        y : array-like of shape (n_chunk,)
            Their numbers.
        sample_weight : array-like of shape (n_chunk,), default=None
            Weights of the losses, taken as they are: not normalised, since the rest of the stream
            is unknown.

        Returns
        -------
        self

        Notes
        -----
        With an intercept, the weighted mean of the first chunk is taken off the targets, from then
        on, where `fit` takes the median of all: regularisation pulls predictions towards it.
        Without ``lam``, ``lam = 1 / (C · Σ weights)`` of the first chunk, from then on. The
        parameters of the problem and of the steps must stay those of the first call.

        What is projected (see ``projection``) stays in a ball of radius ``sqrt(P(0) / lam)``, with
        the mean loss ``P(0)`` at w = 0 of the examples seen, or in an earlier one that is larger.
        It holds the optimum of the examples seen, and that of examples to come only as far as
        these are like them.

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
