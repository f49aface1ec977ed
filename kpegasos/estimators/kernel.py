"""`PegasosSVC`: kernel support vector classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._classifier import OneVsOneMixin
from kpegasos.estimators._counterparts import tells_counterparts
from kpegasos.estimators._kernel_model import KernelMixin
from kpegasos.estimators._one_vs_one import pair_coefficients
from kpegasos.exports.libsvm import CLASSIFIERS
from kpegasos.kernels.decision import FEW_OUTPUTS
from kpegasos.kernels.functions import Linear


# Longer than a class should be: most of it is the parameters' documentation and the constructor.
class PegasosSVC(KernelMixin, OneVsOneMixin, BasePegasos):
    """Kernel support vector classifier trained by Pegasos.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation in SVC's terms: ``lam = 1 / (C · Σ weights)`` of each pair.
    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
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
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "log_loss"} or Loss, default="hinge"
        What a margin costs: the papers' hinge, that of LinearSVC, the hinge with a rounded corner,
        or the logistic loss, which has ``predict_proba``; or one of your own, see
        `kpegasos.losses`.
    fit_intercept : bool, default=True
        Add a constant feature (``K + intercept_scaling²``); False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, after which the accuracy of usual data has settled, and with it half an epoch
        or 512 draws, whichever is less.
    n_steps : int, default=None
        Steps T of each pair; used in place of ``epochs`` if given.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform"}, default="permutation"
        A fresh permutation each epoch, or independent draws.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step, of radius ``1/sqrt(lam)`` with
        the hinge. A loss without a largest slope, such as a square, is always projected.
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
        `ConvergenceWarning`. It is overrun by what is compiled for the first time, by the slice of
        draws in work (some 20 ms, or the first 1,024 draws), by 32 draws of each pair of classes
        not yet begun, or one if the kernel is slow, and by the evaluation of the model.
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
        float32, which takes half the time and memory. Where pairs of several classes have 512
        examples at the most it is float64. It stays that of X if ``tol`` is below 1e-5
        (not looked at with ``warm_start``), C times the largest weight is above 1,000, or the
        kernel is a function of your own. Where float32 would round too much, the arithmetic is
        float64 all the same. The certificate accounts for the rounding.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class; 1 for classes that a dict leaves out. "balanced" is
        inversely proportional to the weight of the class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether ``decision_function`` has a column for each class or for each pair of classes.
    break_ties : bool, default=False
        Break ties of the vote by the decisions instead of by the order of the classes.
    n_jobs : int, default=None
        Number of threads on which pairs of classes are trained; 1 if None, all cores if -1.
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
    alpha_ : ndarray of shape (n_samples,) or csr_array of shape (n_pairs, n_samples)
        How often each example was drawn while it violated the margin, int64; float64 with
        ``projection``, and with another loss than the hinge, whose pulls it sums. Sparse for more
        than two classes.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the support vectors, grouped by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_support_vectors, n_features)
        Rows of X with a coefficient; empty with ``kernel="precomputed"``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        Signed coefficients in SVC's layout.
    intercept_ : ndarray of shape (n_pairs,)
        Constant term of each pair's decision.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the features, of a model with ``kernel="linear"`` only.
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

    See Also
    --------
    LinearPegasosSVC : The same for the linear kernel, through the primal vector.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007); with Cotter: Mathematical Programming
    127:3-30 (2011), Fig. 3.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> X, y = make_moons(300, noise=0.15, random_state=0)
    >>> clf = PegasosSVC(gamma=2.0, C=10.0, polish=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    >>> clf.relative_gap_ <= 0.01
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePegasos._parameter_constraints,
        **KernelMixin._own_constraints,
        **OneVsOneMixin._own_constraints,
    }

    # long: each parameter takes two lines
    @tells_counterparts
    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        loss: Any = "hinge",
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
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
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
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @property
    def coef_(self) -> np.ndarray:
        """Primal weights of each pair, of shape (n_pairs, n_features); linear kernel only."""
        check_is_fitted(self)
        if type(self._kernel) is not Linear:
            raise AttributeError("coef_ is only available of a model with kernel='linear'")
        coefs = pair_coefficients(self.dual_coef_, self.n_support_)
        return np.asarray(safe_sparse_dot(coefs, self.support_vectors_, dense_output=True))

    _libsvm_types = CLASSIFIERS

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        if self.intercept_.size <= FEW_OUTPUTS:
            # For more pairs these would be mostly zeros.
            return pair_coefficients(self.dual_coef_, self.n_support_), None
        return self.dual_coef_, self.n_support_
