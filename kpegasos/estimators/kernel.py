"""`PegasosSVC` and `PegasosSVR`: support vector machines over a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators.attributes import KernelParameters, KernelValueParameters
from kpegasos.estimators.base import (
    BasePegasos,
    OneVsOneMixin,
    RegressionMixin,
)
from kpegasos.estimators.bounds import EPS, Enclosed, squared_constant
from kpegasos.exports.libsvm import CLASSIFIERS, REGRESSORS, Model, check_model, read_libsvm
from kpegasos.fitting.inputs import Settings, validated_objects, validated_rows
from kpegasos.fitting.model import of_one_model, parameters_read_later, set_model
from kpegasos.fitting.pairs import (
    KernelRows,
    Pairs,
    pair_coefficients,
)
from kpegasos.fitting.training import Fit
from kpegasos.kernels.base import bounds_rounding, takes_objects
from kpegasos.kernels.decision import (
    Kept,
    decision_rounding,
    gram_decision,
    kernel_decision,
    object_decision,
)
from kpegasos.kernels.functions import Linear, make_kernel, parameters_of, scale_gamma
from kpegasos.kernels.pairwise import copied
from kpegasos.solvers.result import Results
from kpegasos.utils.validation import (
    as_objects,
    check_gram,
    check_magnitude,
    finite_decisions,
    shown,
)


class KernelInputMixin:
    """Tags and checks of X where it may be a kernel matrix, or objects."""

    kernel: Any
    _kernel: Any

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        kernel = self.kernel if reset else self._kernel
        if takes_objects(kernel):
            return validated_objects(self, X, y)
        precomputed = self._is_precomputed() if reset else kernel is None
        return validated_rows(self, X, y, reset=reset, accept_sparse=not precomputed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.two_d_array = not takes_objects(self.kernel)
        tags.input_tags.sparse = tags.input_tags.two_d_array and not self._is_precomputed()
        return tags


class KernelEstimator(KernelInputMixin, KernelValueParameters, BasePegasos, KernelParameters):
    """An estimator whose model is a sum of kernel values."""

    #: LIBSVM's names of the models that become such an estimator.
    _libsvm_types: ClassVar[tuple[str, ...]]
    support_vectors_: Any
    _kept: Kept
    #: With a linear kernel and a free intercept: the centre of the rows, and their intercept.
    _centre: np.ndarray
    _centred_intercept: np.ndarray

    @classmethod
    def from_libsvm(cls, path: str | PathLike[str], n_features: int | None = None) -> Any:
        """Read a model that ``svm-train`` or `to_libsvm` has written.

        Parameters
        ----------
        path : path-like
        n_features : int, default=None
            Columns of the rows to predict, which the file does not hold; the largest index of the
            support vectors if None. With a precomputed kernel, the number of training examples.

        Returns
        -------
        PegasosSVC or PegasosSVR
            Fitted, with the kernel's parameters; all others have their defaults. It has neither a
            certificate nor ``history_``, ``alpha_``, ``lam_``, ``n_steps_``, and ``support_`` only
            with a precomputed kernel: the file does not hold the training examples. It has a
            ``predict_proba`` if ``svm-train -b 1`` or `to_libsvm` has written probabilities.

        Raises
        ------
        ValueError
            Naming file, line and what is wrong there.
        OSError
            If the file cannot be read.
        """
        parameters, model = read_libsvm(path, cls._libsvm_types, n_features)
        estimator = cls(**parameters)
        precomputed = model.vectors is None
        attributes = {
            "_fitted": parameters_read_later(estimator),
            "support_vectors_": np.empty((0, 0)) if precomputed else model.vectors,
            "n_support_": model.n_support,
            "dual_coef_": model.dual_coef,
            "intercept_": model.intercept,
            "_kernel": model.kernel,
            "_kept": Kept(),
            "_states": None,
            "_states_origin": None,
        }
        if model.classes is not None:
            attributes["classes_"] = model.classes
        if model.tie_order is not None:
            attributes["_tie_order"] = model.tie_order
        if model.sigmoids is not None:
            attributes["_sigmoids"] = np.array([model.sigmoids.slopes, model.sigmoids.offsets])
        if precomputed:
            attributes["support_"] = model.support
        estimator.n_features_in_ = model.n_features
        set_model(estimator, attributes)
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in super().__getstate__().items() if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_kept": Kept()} if "_kernel" in state else state)

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return coefficients, and for several pairs how many support vectors a class has."""
        raise NotImplementedError

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[KernelRows, dict[str, Any]]:
        if self._is_precomputed():
            return KernelRows(None, check_gram(X), pairs, settings), {"_kernel": None}
        kernel, values = self.kernel, settings.own
        if isinstance(kernel, str):
            check_magnitude(X)
            parameters = {"degree": values["degree"], "coef0": values["coef0"]}
            if "gamma" in parameters_of(kernel):  # a pass over X
                parameters["gamma"] = scale_gamma(values["gamma"], X)
            kernel = make_kernel(kernel, **parameters)
        else:
            kernel = make_kernel(kernel)
        rows = KernelRows(kernel, X, pairs, settings)
        known = {"_kernel": kernel, "_kept": Kept()}
        return rows, known if rows.centre is None else {**known, "_centre": rows.centre}

    def _vectors(self, fit: Fit, support: np.ndarray, results: Results) -> dict[str, Any]:
        X = fit.X
        vectors = np.empty((0, 0), X.dtype) if self._is_precomputed() else X[support]
        if takes_objects(self.kernel):  # or changes of the objects would change the model
            vectors = as_objects([copied(each) for each in vectors])
        return {"support_vectors_": vectors}

    def _completed(self, model: dict[str, Any]) -> dict[str, Any]:
        """Add the intercept for rows that are not centred to a model of centred ones."""
        if "_centre" not in model:
            return model
        coefs, centre = model["dual_coef_"], model["_centre"].astype(np.float64)
        n_support = model["n_support_"] if len(coefs) > 1 else None
        vectors = model["support_vectors_"] - centre
        at_centre = kernel_decision(
            model["_kernel"], centre[None], vectors, coefs, n_support=n_support
        )
        centred, intervals = model["intercept_"], model["intercept_interval_"]
        return model | {
            "_centred_intercept": centred,
            "intercept_": centred - at_centre[0],
            "intercept_interval_": intervals - at_centre.T,
        }

    def _decide(self, X: Any) -> np.ndarray:
        if takes_objects(self._kernel):
            decisions = object_decision(
                self._kernel, X, self.support_vectors_, *self._coefficients(), kept=self._kept
            )
            return finite_decisions(decisions + self.intercept_)
        model, intercept = self._exported(), self.intercept_
        coefs, n_support = self._coefficients()
        centre = getattr(self, "_centre", None)
        if centre is not None and not sparse.issparse(X):
            X, intercept = X - centre, self._centred_intercept
        if model.kernel is None:
            decisions = gram_decision(X, self.support_, coefs, n_support)
        else:
            decisions = kernel_decision(
                model.kernel,
                X,
                model.vectors,
                coefs,
                n_support=n_support,
                kept=self._kept,
            )
        decisions += intercept
        return finite_decisions(decisions)

    def _enclosed(self, X: Any, diagonal: np.ndarray | None) -> Enclosed:
        decisions, constant = self._decide(X), squared_constant(self)
        coefs, n_support = self._coefficients()
        if takes_objects(self._kernel):
            squares, vectors = np.maximum(self._kernel.diag(X), 0.0), self.support_vectors_
            coefs = coefs if n_support is None else pair_coefficients(coefs, n_support)
            largest = float(self._kernel.diag(vectors).max()) if len(vectors) else 0.0
            sizes = np.outer(np.sqrt(largest * squares) + constant, np.abs(coefs).sum(axis=1))
            return Enclosed(
                decisions, decisions, (len(vectors) + 8.0) * EPS * sizes, squares + constant
            )
        model = self._exported()
        if diagonal is not None:
            sizes = gram_decision(np.abs(X) + constant, self.support_, np.abs(coefs), n_support)
            return Enclosed(
                decisions, decisions, (coefs.shape[1] + 8.0) * EPS * sizes, diagonal + constant
            )
        kernel, closest, vectors = model.kernel, decisions, model.vectors
        assert kernel is not None
        if bounds_rounding(kernel):
            X, vectors = (rows.astype(np.float64, copy=False) for rows in (X, vectors))
        if vectors.dtype != model.vectors.dtype:
            closest = kernel_decision(kernel, X, vectors, coefs, n_support=n_support)
            closest += self.intercept_
        rounding, squares = decision_rounding(kernel, X, vectors, coefs, constant, n_support)
        return Enclosed(decisions, closest, rounding, squares)

    @property
    @of_one_model
    def coef_(self) -> Any:
        """Weights of the features of each pair, or of a regression; linear kernel only."""
        check_is_fitted(self)
        if type(self._kernel) is not Linear:
            raise AttributeError("coef_ is only available of a model with kernel='linear'")
        coefs, n_support = self._coefficients()
        coefs = coefs if n_support is None else pair_coefficients(coefs, n_support)
        coef = np.asarray(safe_sparse_dot(coefs, self._exported().vectors, dense_output=True))
        coef.flags.writeable = False  # each access makes another
        return coef

    @property
    def kernel_evaluations_(self) -> int:
        """Kernel values that were computed for the model."""
        check_is_fitted(self)
        if not hasattr(self, "history_"):
            raise AttributeError("kernel_evaluations_ is not known of a model that was read")
        histories = self.history_ if isinstance(self.history_, list) else [self.history_]
        return sum(int(history["kernel_evaluations"][-1]) for history in histories)

    def _check_loaded(self) -> None:
        if not takes_objects(getattr(self, "_kernel", None)):
            super()._check_loaded()

    def _exported(self, *, values: bool = False) -> Model:
        if takes_objects(self._kernel):
            raise ValueError(
                f"kernel must be one of vectors, as other programs know no objects, got "
                f"{shown(self._kernel)} instead"
            )
        vectors, centre = self.support_vectors_, getattr(self, "_centre", None)
        if self._kernel is None:
            vectors = None
        elif centre is not None:
            vectors = vectors - centre
        model = Model(
            kernel=self._kernel,
            vectors=vectors,
            support=getattr(self, "support_", None),  # unknown of a model that was read
            n_support=self.n_support_,
            dual_coef=self.dual_coef_,
            intercept=self.intercept_,
            classes=getattr(self, "classes_", None),
            n_features=self.n_features_in_,
            tie_order=getattr(self, "_tie_order", None),
        )
        return check_model(model, values=values)  # of a file, or edited


@dataclass(eq=False, repr=False)
class PegasosSVC(OneVsOneMixin, KernelEstimator):
    """Kernel support vector classifier trained by Pegasos.

    Most models need the first seven parameters only.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation in SVC's terms: ``lam = 1 / (C · Σ weights)`` of each pair.
    kernel : str, callable or kernel object, default="rbf"
        A name of scikit-learn's `pairwise_kernels`: "rbf", "poly" or "polynomial", "linear",
        "sigmoid", "laplacian", "chi2", "additive_chi2", "cosine"; or "precomputed". Kernel objects
        can be added and multiplied, as in ``RBF(1.0) + 0.5 * Linear()``. A callable is ``f(A, B) ->
        (n_a, n_b)``, symmetric, and positive semi-definite for the gap to be a certificate;
        "sigmoid" and "additive_chi2" are not definite, and have none (NaN). With a
        `PairwiseKernel`, X is a sequence of any objects.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the RBF, polynomial, sigmoid, Laplacian and chi2 kernels:
        ``1 / (n_features · X.var())`` for "scale", ``1 / n_features`` for "auto", or a positive
        number.
    polish : bool or type, default=False
        Whether dual coordinate ascent goes on from the model of the Pegasos steps until the
        certified relative gap is at most ``tol`` (0.001 if None). The model is then no longer an
        average of Pegasos iterates. ``polish=True`` is for a model soon, or for the optimum with a
        large C. The plain fit is for studies of Pegasos, comparisons with the papers, and the
        average of its iterates. A class derived from `kpegasos.solvers.dual_ascent.DualAscent` is a
        solver of your own in place of ours.
    tol : float, default=None
        Certified relative gap at which training stops, with a `ConvergenceWarning` if it is not
        reached.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, after which the accuracy on usual data hardly changes, and with it half an epoch
        or 512 draws, whichever is less.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are drawn.
    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "log_loss"} or Loss, default="hinge"
        What a margin costs: the papers' hinge, that of LinearSVC, the hinge with a rounded corner,
        or the logistic loss, which has ``predict_proba``; or one of your own, see
        `kpegasos.losses`.
    fit_intercept : bool or "free", default=True
        Add a constant feature (``K + intercept_scaling²``); False is the papers' problem. "free" is
        SVC's problem, where the intercept is not regularised: for a model that is to be SVC's, for
        classes of very different sizes, or for a small C. The intercept is then the best one for
        the model's w, and ``polish`` comes as close to the optimum as ``tol`` asks. Pegasos steps
        alone are those of the constant feature (MPB 2011, Sec. 6, the first treatment, which keeps
        the rate of Theorem 1). At best they end within ``lam b² / (2 B²)`` of the optimum, with its
        intercept b and the size B of the feature.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised. With a free
        intercept in units of an example's typical length; the optimum does not depend on it.
    n_steps : int, default=None
        Steps T of each pair; used in place of ``epochs`` if given.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws, or runs of 64 consecutive rows in
        random order. A callable ``f(rng, n_samples)`` returns the draws of one epoch.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step, of radius ``1/sqrt(lam)`` with
        the hinge. A loss without a largest slope, such as a square, is always projected.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    step : callable, default=None
        Sizes of the steps: ``step(t, lam)`` for an array of numbers t, positive and at most
        ``1 / lam``; see `kpegasos.core.steps`. None for Pegasos' own ``1 / (lam t)``.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`. With several classes, the part of a pair goes with the square of its
        examples, and what some leave goes to the others. Where it is too short for ``polish`` to
        get far, steps of a plain fit come first. It is overrun by what is compiled for the first
        time, by the slice of draws in work (some 20 ms, or the first 1,024 draws), by 32 draws of
        each pair not yet begun, or one if the kernel is slow, and by the evaluation of the model.
    max_kernel_evaluations : int, default=None
        Kernel values after which the model reached so far is returned, with a
        `ConvergenceWarning`. It is exact for a `PairwiseKernel`, and overrun for others by the rows
        in work, or a whole small matrix. The diagonal and a first row of each pair come in any
        case. Below an eighth of the matrix, ``polish`` begins with the steps of a plain fit.
    checkpoints : {"auto", "epoch", "log"}, sequence of int or None, default="auto"
        Steps at which the model is evaluated for ``history_``: ends of the epochs 1, 2, 5, 10,
        20, 50 and so on, ends of all epochs, ten steps a decade, or these steps. None
        evaluates the end only. "auto" is all epochs with callbacks, ``verbose``, or ``tol`` without
        ``polish``.
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        Whether all kernel rows are computed at first ("precomputed"), kept when first needed
        ("cached"), or computed a few at a time ("streamed"). The model is the same; polished with
        few rows, it may be another one within the certified gap.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take, all threads together; less is taken where less is free.
        "auto" is half of the free memory, at most 4,096, and 1,024 where the system does not report
        that. The model is the same; the page on memory lists what comes on top.
    row_dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which kernel values are computed and kept for training. "auto" is that of X for
        up to 2,000 examples (1,000 without ``tol``, ``polish`` and ``warm_start``), and beyond that
        float32, which takes half the time and memory. Where pairs of several classes have up
        to 1,000 examples it is float64. It stays that of X if ``tol`` is below 1e-5
        (ignored with ``warm_start``), C times the largest weight is above 1,000, or the
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
        Largest number of threads, all if None; the model is the same.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Whether a progress bar is shown, with the certified gap, kernel values and seconds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    alpha_ : ndarray of shape (n_samples,) or csr_array of shape (n_pairs, n_samples)
        How often each example was drawn while it violated the margin, int64; float64 with
        ``projection`` or ``step``, and with another loss than the hinge, whose pulls it sums.
        Sparse for more than two classes.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the support vectors, grouped by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_support_vectors, n_features)
        Rows of X with a coefficient, or objects; empty with ``kernel="precomputed"``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        Signed coefficients in SVC's layout.
    intercept_ : ndarray of shape (n_pairs,)
        Constant term of each pair's decision.
    intercept_interval_ : ndarray of shape (n_pairs, 2)
        The free intercepts, from the least to the largest, that are best for the model's w; the
        middle is ``intercept_``. They are several where no example lies on the margin.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the features, of a model with ``kernel="linear"`` only; not to be written to.
    objective_, duality_gap_, relative_gap_ : float or ndarray of shape (n_pairs,)
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    history_ : History or list of History
        Objective, certificate and costs at each checkpoint, of each pair.
    n_steps_ : int or ndarray of shape (n_pairs,)
        Steps done, those of earlier fits that ``warm_start`` continued included.
    kernel_evaluations_ : int
        Kernel values computed for the model.
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
    >>> clf.relative_gap_ <= 0.001
    True
    """

    _libsvm_types = CLASSIFIERS

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.dual_coef_, None if self.n_support_.size == 2 else self.n_support_


@dataclass(eq=False, repr=False)
class PegasosSVR(RegressionMixin, KernelEstimator):
    """Kernel support vector regression trained by stochastic subgradient steps.

    Most models need the first eight parameters only.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation in SVR's terms: ``lam = 1 / (C · Σ weights)``.
    epsilon : float, default=0.1
        Errors up to this cost nothing; with "huber", errors up to this are squared. Of no use
        with a loss that is an object.
    kernel : str, callable or kernel object, default="rbf"
        A name of scikit-learn's `pairwise_kernels`: "rbf", "poly" or "polynomial", "linear",
        "sigmoid", "laplacian", "chi2", "additive_chi2", "cosine"; or "precomputed". Kernel objects
        can be added and multiplied, as in ``RBF(1.0) + 0.5 * Linear()``. A callable is ``f(A, B) ->
        (n_a, n_b)``, symmetric, and positive semi-definite for the gap to be a certificate;
        "sigmoid" and "additive_chi2" are not definite, and have none (NaN). With a
        `PairwiseKernel`, X is a sequence of any objects.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the RBF, polynomial, sigmoid, Laplacian and chi2 kernels:
        ``1 / (n_features · X.var())`` for "scale", ``1 / n_features`` for "auto", or a positive
        number.
    polish : bool or type, default=False
        Whether dual coordinate ascent goes on from the model of the Pegasos steps until the
        certified relative gap is at most ``tol`` (0.001 if None). The model is then no longer an
        average of Pegasos iterates. ``polish=True`` is for a model soon, or for the optimum with a
        large C. The plain fit is for studies of Pegasos, comparisons with the papers, and the
        average of its iterates. A class derived from `kpegasos.solvers.dual_ascent.DualAscent` is a
        solver of your own in place of ours.
    tol : float, default=None
        Certified relative gap at which training stops, with a `ConvergenceWarning` if it is not
        reached.
    epochs : "auto" or float, default="auto"
        Passes over the data; with ``warm_start`` each fit adds as many. "auto" is 20 without
        ``polish``, after which the accuracy on usual data hardly changes, and with it half an epoch
        or 512 draws, whichever is less.
    random_state : int, RandomState or None, default=None
        Seed of the order in which examples are drawn.

    lam : float, default=None
        The regularisation λ of the papers; used in place of ``C`` if given.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber"} or Loss, \
default="epsilon_insensitive"
        What an error costs: SVR's loss, its square (that of LinearSVR), Huber's loss, whose
        squares end at ``epsilon``; or one of your own, see `kpegasos.losses`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    fit_intercept : bool or "free", default=True
        Add a constant feature, and predict the deviation from the weighted median of y, so that the
        regularisation of the intercept does no harm; False is the papers' problem. "free" is that
        of SVR, where the intercept is not regularised; see `PegasosSVC`.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised. With a free
        intercept in units of an example's typical length; the optimum does not depend on it.
    n_steps : int, default=None
        Steps T; used in place of ``epochs`` if given.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws, or runs of 64 consecutive rows in
        random order. A callable ``f(rng, n_samples)`` returns the draws of one epoch.
    projection : bool, default=False
        Project onto a ball that holds the optimum after each step. A loss without a largest slope,
        such as a square, is always projected.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which average of the iterates is the model; None is the papers' last iterate.
    step : callable, default=None
        Sizes of the steps: ``step(t, lam)`` for an array of numbers t, positive and at most
        ``1 / lam``; see `kpegasos.core.steps`. None for Pegasos' own ``1 / (lam t)``.
    max_time : float, default=None
        Seconds from the call of ``fit`` after which the model reached so far is returned, with a
        `ConvergenceWarning`. It is overrun by what is compiled for the first time.
    max_kernel_evaluations : int, default=None
        Kernel values after which the model reached so far is returned, with a
        `ConvergenceWarning`. It is exact for a `PairwiseKernel`, and overrun for others by the rows
        in work, or a whole small matrix. The diagonal and a first row come in any case. Below
        an eighth of the matrix, ``polish`` begins with the steps of a plain fit.
    checkpoints : {"auto", "epoch", "log"}, sequence of int or None, default="auto"
        Steps at which the model is evaluated for ``history_``: ends of the epochs 1, 2, 5, 10,
        20, 50 and so on, ends of all epochs, ten steps a decade, or these steps. None
        evaluates the end only. "auto" is all epochs with callbacks, ``verbose``, or ``tol`` without
        ``polish``.
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        Whether all kernel rows are computed at first ("precomputed"), kept when first needed
        ("cached"), or computed a few at a time ("streamed"). The model is the same; polished with
        few rows, it may be another one within the certified gap.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take, all threads together; less is taken where less is free.
        "auto" is half of the free memory, at most 4,096, and 1,024 where the system does not report
        that. The model is the same; the page on memory lists what comes on top.
    row_dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which kernel values are computed and kept for training. "auto" is that of X for
        up to 2,000 examples (1,000 without ``tol``, ``polish`` and ``warm_start``), and beyond that
        float32, which takes half the time and memory. It stays that of X if ``tol`` is below 1e-5
        (ignored with ``warm_start``), C times the largest weight is above 1,000, or the
        kernel is a function of your own. Where float32 would round too much, the arithmetic is
        float64 all the same. The certificate accounts for the rounding.
    warm_start : bool, default=False
        Whether another ``fit`` on the same data goes on with the same sequence of iterates.
    verbose : bool, default=False
        Whether a progress bar is shown, with the certified gap, kernel values and seconds.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Sum of the pulls of each example's draws: with the default loss 1 for a prediction below the
        tube, -1 above.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the examples with a coefficient.
    support_vectors_ : ndarray or CSR matrix of shape (n_support_vectors, n_features)
        Rows of X with a coefficient, or objects; empty with ``kernel="precomputed"``.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_support_vectors)
        Their coefficients.
    intercept_ : ndarray of shape (1,)
        Constant term.
    intercept_interval_ : ndarray of shape (1, 2)
        Of a free intercept: from the least to the largest that is best for the model's w; its
        middle is ``intercept_``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, of a model with ``kernel="linear"`` only; not to be written to.
    objective_, duality_gap_, relative_gap_ : float
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    history_ : History
        Objective, certificate and costs at each checkpoint.
    n_steps_ : int
        Steps done, those of earlier fits that ``warm_start`` continued included.
    kernel_evaluations_ : int
        Kernel values computed for the model.
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
    >>> reg.relative_gap_ <= 0.001
    True
    """

    _libsvm_types = REGRESSORS

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.dual_coef_, None
