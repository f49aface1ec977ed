"""`LinearPegasosSVC`: linear support vector classifier through the primal vector."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight

from kpegasos.core.draws import SAMPLINGS
from kpegasos.core.state import PegasosOptions
from kpegasos.estimators import _one_vs_one as multiclass
from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.rows.base import RowSource as Rows
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.online import Stream, advance_stream, new_stream
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.validation import check_magnitude, draw_seed

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
            return FeatureRows(
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
                    rows = FeatureRows(X, members=pair.members, intercept_scaling=self._offset)
                    advance_stream(streams[pair.number], pair.problem, rows)
        self._set_model_from_streams(streams, classes)
        if stopper.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def _options(self) -> PegasosOptions:
        return PegasosOptions(self.batch_size, self.sampling, self.projection, self.average)

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
        return draw_seed(self.random_state)

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

    def _set_model_from_streams(self, streams: list[Stream], classes: np.ndarray) -> None:
        """Make the streams' vectors the model."""
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
        self._streams = streams
        self.classes_ = classes
        vectors = np.array([stream.vector() for stream in streams])
        self.coef_ = vectors[:, :-1]
        self.intercept_ = self._offset * vectors[:, -1]
        steps = [stream.state.steps for stream in streams]
        self.n_steps_ = steps[0] if len(steps) == 1 else np.array(steps)
