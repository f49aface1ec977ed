"""The estimators: scikit-learn classifiers over the solver, thin."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kpegasos import multiclass
from kpegasos.base import POSITIVE, BasePegasos
from kpegasos.blocks import KernelBlocks, PairBlocks, check_magnitude, kernel_decision
from kpegasos.cached import RowBuffers
from kpegasos.gram import check_gram, choose_source
from kpegasos.kernels import KERNELS, make_kernel, scale_gamma
from kpegasos.linear import LinearRows
from kpegasos.multiclass import Pair, share_classes
from kpegasos.sampling import SAMPLINGS
from kpegasos.solver import Result, Rows
from kpegasos.sources import Precomputed
from kpegasos.state import Options
from kpegasos.stopping import Stopper, interruptible
from kpegasos.streaming import Stream, advance_stream, new_stream

#: Attributes that a stream has not, and takes away if `fit` had set them.
_OF_ONE_FIT = (
    "alpha_",
    "support_",
    "n_support_",
    "dual_coef_",
    "lam_",
    "objective_",
    "duality_gap_",
    "relative_gap_",
    "history_",
)


class PegasosSVC(BasePegasos):
    """Kernel support vector classifier trained by Pegasos.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation in SVC's terms: ``lam = 1 / (C · Σ weights)`` of each pair.
    lam : float, default=None
        The papers' λ; wins over ``C``.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian", "precomputed"}, callable or kernel \
object, default="rbf"
        A callable is ``f(A, B) -> (n_a, n_b)`` and must be positive semi-definite for the gap to
        be a certificate; the sigmoid kernel is not, and has none (NaN).
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        ``1 / (n_features · X.var())``, ``1 / n_features`` or a positive number.
    coef0 : float, default=0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=True
        Add a constant feature (``K + intercept_scaling²``); False is the papers' problem.
    intercept_scaling : float, default=1.0
        Size of the constant feature: the larger, the less the intercept is regularised.
    epochs : float, default=20
        Draws per example. With ``warm_start`` they come on top of the earlier ones.
    n_iter : int, default=None
        Steps T of each pair; wins over ``epochs``.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform"}, default="permutation"
        A fresh permutation each epoch, or independent draws.
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
    trace : {"epoch", "log"}, sequence of int or None, default="epoch"
        Checkpoints of ``history_``.
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        Whether all kernel rows are computed at first, kept when first needed, or not kept. The
        model is the same.
    cache_mb : float, default=1024
        MiB that kernel values may take, all threads together.
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
    alpha_ : ndarray of shape (n_samples,) or (n_pairs, n_samples)
        How often each example was drawn while violating the margin; int64 without projection.
    support_ : ndarray of shape (n_support_vectors,)
        Indices of the support vectors, grouped by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_support_vectors, n_features)
        Empty with ``kernel="precomputed"``.
    n_support_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        Signed coefficients in SVC's layout.
    intercept_ : ndarray of shape (n_pairs,)
    coef_ : ndarray of shape (n_pairs, n_features)
        With ``kernel="linear"`` only.
    objective_, duality_gap_, relative_gap_ : float or ndarray of shape (n_pairs,)
        Primal objective, its certified distance to the optimum, and that divided by the objective.
    history_ : History or list of History
    n_iter_ : int or ndarray of shape (n_pairs,)
    lam_ : float or ndarray of shape (n_pairs,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

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
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable, HasMethods(["block", "diag"])],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "cache": [StrOptions({"auto", "precomputed", "cached", "streamed"})],
        "cache_mb": [POSITIVE],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        epochs: float = 20,
        n_iter: int | None = None,
        batch_size: int = 1,
        sampling: str = "permutation",
        projection: bool = False,
        average: str | None = "weighted",
        polish: bool = False,
        tol: float | None = None,
        max_time: float | None = None,
        trace: Any = "epoch",
        cache: str = "auto",
        cache_mb: float = 1024.0,
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
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.epochs = epochs
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.sampling = sampling
        self.projection = projection
        self.average = average
        self.polish = polish
        self.tol = tol
        self.max_time = max_time
        self.trace = trace
        self.cache = cache
        self.cache_mb = cache_mb
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _validate(
        self, X: Any, y: Any = "no_validation", *, reset: bool, accept_sparse: bool = True
    ) -> Any:
        accept_sparse = accept_sparse and not self._is_precomputed()
        return super()._validate(X, y, reset=reset, accept_sparse=accept_sparse)

    def _prepare(
        self, X: Any, pairs: list[Pair]
    ) -> tuple[Callable[[Pair, int], Rows], dict[str, Any]]:
        if self._is_precomputed():
            return self._gram_rows(check_gram(X)), {"_kernel": None}
        if isinstance(self.kernel, str):
            check_magnitude(X)
        kernel = make_kernel(
            self.kernel,
            gamma=scale_gamma(self.gamma, X),
            degree=self.degree,
            coef0=self.coef0,
        )
        buffers = RowBuffers()
        shared, shared_mb = None, 0.0
        if len(pairs) > 1:
            budget = self.cache_mb if self.cache in ("auto", "cached") else 0.0
            shared, shared_mb = share_classes(kernel, X, pairs, budget, self.n_jobs)

        def rows(pair: Pair, n_at_once: int) -> Rows:
            blocks: KernelBlocks
            if shared is not None:
                blocks = PairBlocks(shared, pair.classes)
            else:
                whole = pair.members.size == X.shape[0]
                blocks = KernelBlocks(kernel, X if whole else X[pair.members])
            return choose_source(
                blocks,
                cache=self.cache,
                cache_mb=self.cache_mb - shared_mb,
                shares=n_at_once,
                batch_size=self.batch_size,
                intercept_scaling=self._offset,
                buffers=buffers,
            )

        return rows, {"_kernel": kernel}

    def _gram_rows(self, gram: np.ndarray) -> Callable[[Pair, int], Rows]:
        def rows(pair: Pair, n_at_once: int) -> Rows:
            whole = pair.members.size == gram.shape[0]
            part = gram if whole else gram[np.ix_(pair.members, pair.members)]
            return Precomputed(part, intercept_scaling=self._offset)

        return rows

    def _model_attributes(
        self, X: Any, labels: np.ndarray, pairs: list[Pair], results: list[Result]
    ) -> dict[str, Any]:
        n_classes = max(pair.classes[1] for pair in pairs) + 1
        chosen = multiclass.assemble(pairs, [r.coef for r in results], labels, n_classes)
        vectors = np.empty((0, 0), X.dtype) if self._is_precomputed() else X[chosen.support]
        return {
            "support_": chosen.support,
            "support_vectors_": vectors,
            "n_support_": chosen.n_support,
            "dual_coef_": chosen.dual_coef,
        }

    @property
    def coef_(self) -> np.ndarray:
        """Primal weights of each pair, of shape (n_pairs, n_features); linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'")
        check_is_fitted(self)
        coefs = multiclass.pair_coefficients(self.dual_coef_, self.n_support_)
        return np.asarray(safe_sparse_dot(coefs, self.support_vectors_, dense_output=True))

    def _decide(self, X: Any) -> np.ndarray:
        coefs = multiclass.pair_coefficients(self.dual_coef_, self.n_support_)
        if self._kernel is None:
            return X[:, self.support_] @ coefs.T + self.intercept_
        return kernel_decision(self._kernel, X, self.support_vectors_, coefs) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


class LinearPegasosSVC(BasePegasos):
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
    n_iter : int, default=None
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
    trace : {"epoch", "log"}, sequence of int or None, default="epoch"
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
    n_iter_ : int or ndarray of shape (n_pairs,)
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
        "sampling": [StrOptions(set(SAMPLINGS))],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    _streams: list[Stream] | None

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        epochs: float = 20,
        n_iter: int | None = None,
        batch_size: int = 1,
        sampling: str = "permutation",
        projection: bool = False,
        average: str | None = "weighted",
        polish: bool = False,
        tol: float | None = None,
        max_time: float | None = None,
        trace: Any = "epoch",
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
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.sampling = sampling
        self.projection = projection
        self.average = average
        self.polish = polish
        self.tol = tol
        self.max_time = max_time
        self.trace = trace
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

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        watch: Callable[[dict[str, Any]], bool] | None = None,
    ) -> BasePegasos:
        if not self.early_stopping:
            return super()._fit(X, y, sample_weight, watch)
        if self.warm_start:
            raise ValueError("early_stopping must be False with warm_start=True, got True instead")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        aside = train_test_split(
            np.arange(weight.size),
            test_size=self.validation_fraction,
            stratify=np.asarray(y),
            random_state=self.random_state,
        )[1]
        # Examples of no weight take no part, and keep their place in alpha_ and support_.
        weight_aside = weight[aside].copy()
        weight[aside] = 0.0
        X_aside, y_aside = _safe_indexing(X, aside), np.asarray(y)[aside]
        scores: list[float] = []

        def score(attributes: dict[str, Any]) -> bool:
            model = copy.copy(self)
            model.__dict__.update(attributes)
            scores.append(model.score(X_aside, y_aside, sample_weight=weight_aside))
            recent, before = scores[-self.n_iter_no_change :], scores[: -self.n_iter_no_change]
            return bool(before) and max(recent) <= max(before)

        super()._fit(X, y, weight, score)
        self.validation_scores_ = scores
        return self

    def _prepare(
        self, X: Any, pairs: list[Pair]
    ) -> tuple[Callable[[Pair, int], Rows], dict[str, Any]]:
        check_magnitude(X)

        def rows(pair: Pair, n_at_once: int) -> Rows:
            whole = pair.members.size == X.shape[0]
            return LinearRows(
                X, members=None if whole else pair.members, intercept_scaling=self._offset
            )

        return rows, {"_streams": None}

    def _model_attributes(
        self, X: Any, labels: np.ndarray, pairs: list[Pair], results: list[Result]
    ) -> dict[str, Any]:
        n_classes = max(pair.classes[1] for pair in pairs) + 1
        chosen = multiclass.assemble(pairs, [r.coef for r in results], labels, n_classes)
        return {
            "support_": chosen.support,
            "n_support_": chosen.n_support,
            "dual_coef_": chosen.dual_coef,
            "coef_": np.array([result.w for result in results]),
        }

    def _decide(self, X: Any) -> np.ndarray:
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_

    @_fit_context(prefer_skip_nested_validation=True)
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
        with self._unchanged_by_errors():
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, **of_streams: Any
    ) -> LinearPegasosSVC:
        streams: list[Stream] | None = getattr(self, "_streams", None)
        X, y = self._validate(X, y, reset=streams is None)
        if streams is None:
            if classes is None:
                classes = getattr(self, "classes_", None)
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            classes = np.unique(classes)
            streams = self._new_streams(X.shape[1], classes, **of_streams)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, "
                f"got {np.unique(classes).tolist()} instead"
            )
        else:
            classes = self.classes_
        if streams[0].state.options != self._options or streams[0].offset != self._offset:
            raise ValueError(
                "batch_size, sampling, projection, average, fit_intercept and intercept_scaling "
                "must be those of the first call to partial_fit"
            )
        pairs = self._chunk_pairs(X, y, classes, sample_weight)
        # Ctrl-C waits for the end of the chunk: all pairs have seen it, or none.
        with interruptible(Stopper()) as stopper:
            for pair in pairs:
                if pair.members.size:
                    rows = LinearRows(X, members=pair.members, intercept_scaling=self._offset)
                    advance_stream(streams[pair.number], pair.problem, rows)
        self._take_over(streams, classes)
        if stopper.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def _options(self) -> Options:
        return Options(self.batch_size, self.sampling, self.projection, self.average)

    def _new_streams(
        self,
        n_features: int,
        classes: np.ndarray,
        *,
        seed: int | None = None,
        lams: np.ndarray | None = None,
    ) -> list[Stream]:
        """Streams of all pairs before their first chunk, which sets ``lam`` unless it is given."""
        if classes.size < 2:
            raise ValueError(f"classes must hold at least two classes, got {classes.tolist()}")
        if seed is None:
            seed = self._draw_seed()
        n_pairs = classes.size * (classes.size - 1) // 2
        streams = [
            new_stream(n_features, self._options, self._offset, seed, number)
            for number in range(n_pairs)
        ]
        if lams is not None:
            for stream, lam in zip(streams, lams, strict=True):
                stream.state.lam = float(lam)
        return streams

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _chunk_pairs(
        self, X: Any, y: np.ndarray, classes: np.ndarray, sample_weight: Any
    ) -> list[Pair]:
        """Pairs of classes within a chunk, whose weights are taken as they are."""
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight must be a dict or None for partial_fit, got 'balanced' instead: the "
                "frequencies of a stream are not known ahead"
            )
        check_magnitude(X)
        unknown = np.setdiff1d(y, classes)
        if unknown.size:
            raise ValueError(
                f"y must have classes among {classes.tolist()}, got {unknown.tolist()} too"
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labels = np.searchsorted(classes, y)
        weight = weight * self._class_weights(classes, classes)[labels]
        return multiclass.make_pairs(
            labels, classes.size, weight, self.lam, self.C, normalise=False
        )

    def _take_over(self, streams: list[Stream], classes: np.ndarray) -> None:
        """Make the streams' vectors the model."""
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
        self._streams = streams
        self.classes_ = classes
        vectors = np.array([stream.vector() for stream in streams])
        self.coef_ = vectors[:, :-1]
        self.intercept_ = self._offset * vectors[:, -1]
        steps = [stream.state.steps for stream in streams]
        self.n_iter_ = steps[0] if len(steps) == 1 else np.array(steps)
