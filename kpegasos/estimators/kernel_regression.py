"""`PegasosSVR`: kernel support vector regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._counterparts import tells_counterparts
from kpegasos.estimators._kernel_model import KernelMixin
from kpegasos.estimators._regressor import RegressionMixin
from kpegasos.exports.libsvm import REGRESSORS


# Longer than a class should be: most of it is the parameters' documentation and the constructor.
class PegasosSVR(KernelMixin, RegressionMixin, BasePegasos):
    """Kernel support vector regression trained by stochastic subgradient steps.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation in SVR's terms: ``lam = 1 / (C · Σ weights)``.
    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber"} or Loss, \
default="epsilon_insensitive"
        What an error costs: SVR's loss, its square (that of LinearSVR), Huber's loss, whose
        squares end at ``epsilon``; or one of your own, see `kpegasos.losses`.
    epsilon : float, default=0.1
        Errors up to this cost nothing; with "huber", errors up to this are squared. Of no use
        with a loss that is an object.
    kernel : str, callable or kernel object, default="rbf"
        A name of scikit-learn's `pairwise_kernels`: "rbf", "poly" or "polynomial", "linear",
        "sigmoid", "laplacian", "chi2", "additive_chi2", "cosine"; or "precomputed". Kernel objects
        can be added and multiplied, as in ``RBF(1.0) + 0.5 * Linear()``. A callable is ``f(A, B) ->
        (n_a, n_b)``, symmetric, and positive semi-definite for the gap to be a certificate;
        "sigmoid" and "additive_chi2" are not definite, and have none (NaN).
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the RBF, polynomial, sigmoid, Laplacian and chi2 kernels:
        ``1 / (n_features · X.var())`` for "scale", ``1 / n_features`` for "auto", or a positive
        number.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=True
        Add a constant feature, and predict the deviation from the weighted median of y, so that the
        regularisation of the intercept does no harm; False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, after which the accuracy of usual data has settled, and with it half an epoch
        or 512 draws, whichever is less.
    n_steps : int, default=None
        Steps T; used in place of ``epochs`` if given.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform"}, default="permutation"
        A fresh permutation each epoch, or independent draws.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step. A loss without a largest slope,
        such as a square, is always projected.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    polish : bool, default=False
        Whether dual coordinate ascent goes on from the model of the Pegasos steps until the
        certified relative gap is at most ``tol`` (0.01 if None). The model is then no longer an
        average of Pegasos iterates. Who wants the model soon, or the optimum for a large C, wants
        ``polish=True``. Who studies Pegasos, compares with the papers, or needs the average of its
        iterates wants the plain fit.
    tol : float, default=None
        Certified relative gap at which training stops; a `ConvergenceWarning` tells if it is
        never reached.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`; what is compiled for the first time comes before.
    checkpoints : {"auto", "epoch", "log"}, sequence of int or None, default="auto"
        Steps at which the model is evaluated for ``history_``: ends of the epochs 1, 2, 5, 10,
        20, 50 and so on, ends of all epochs, ten steps a decade, or these steps. None
        evaluates the end only. "auto" is all epochs where somebody waits for them: callbacks,
        ``verbose``, or ``tol`` without ``polish``.
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        Whether all kernel rows are computed at first ("precomputed"), kept when first needed
        ("cached") or not kept ("streamed"). The model is the same; polished without kept rows, it
        is another one within the certified gap.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take, all threads together; less is taken where less is free.
        "auto" is half of the memory that is free, 4,096 at the most, and 1,024 where the system
        does not say. The model is the same; the user guide says what comes on top.
    row_dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which kernel values are computed and kept for training. "auto" is that of X for
        up to 2,000 examples (1,000 without ``tol``, ``polish`` and ``warm_start``), and beyond that
        float32, which takes half the time and memory. It stays that of X if ``tol`` is below 1e-5
        (not looked at with ``warm_start``), C times the largest weight is above 1,000, or the
        kernel is a function of your own. Where float32 would round too much, the arithmetic is
        float64 all the same. The certificate accounts for the rounding.
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
    support_vectors_ : ndarray or CSR matrix of shape (n_support_vectors, n_features)
        Rows of X with a coefficient; empty with ``kernel="precomputed"``.
    n_support_ : ndarray of shape (1,)
        How many these are.
    dual_coef_ : ndarray of shape (1, n_support_vectors)
        Their coefficients.
    intercept_ : ndarray of shape (1,)
        Constant term.
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
    LinearPegasosSVR : The same for the linear kernel, through the primal vector.
    PegasosSVC : The classifier.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro, Cotter: Mathematical Programming 127:3-30 (2011), Sec. 4, for
    other losses than the hinge.
    Smola, Schölkopf: A tutorial on support vector regression (2004), for the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from kpegasos import PegasosSVR
    >>> X = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> reg = PegasosSVR(C=10.0, polish=True, random_state=0).fit(X, np.sinc(X[:, 0]))
    >>> reg.score(X, np.sinc(X[:, 0])) > 0.9
    True
    >>> reg.relative_gap_ <= 0.01
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePegasos._parameter_constraints,
        **KernelMixin._own_constraints,
        **RegressionMixin._own_constraints,
    }

    @tells_counterparts
    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        loss: Any = "epsilon_insensitive",
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
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
        checkpoints: Any = "auto",
        cache: str = "auto",
        cache_mb: float | str = "auto",
        row_dtype: str = "auto",
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
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
        self.cache = cache
        self.cache_mb = cache_mb
        self.row_dtype = row_dtype
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    _libsvm_types = REGRESSORS

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.dual_coef_, None
