"""`RowSource`: what a solver asks about its examples, and all that it sees of them.

A source lets a loop run over an index stream, and answers what is asked at a checkpoint. It keeps
the *image* of the unscaled iterate q up to date (see `kpegasos.core.state`): margins of all
examples where kernel rows are held, q itself for features. `KernelSource` is what sources of
kernel rows have in common. `kpegasos.rows.choose` picks one.

A result outlives its rows. It decides by the kernel and the examples of its coefficients, and keeps
no kernel value; decisions of features are in `kpegasos.rows.features`.
"""

from __future__ import annotations

import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.core.certificate import (
    evaluate_held,
    limits_of,
    loss_errors,
)
from kpegasos.core.free_intercept import best_intercept, middle_of
from kpegasos.core.state import (
    RESCALE,
    STEPS,
    Examples,
    Iterate,
    LoopParameters,
    LoopState,
    absorb_scale,
)
from kpegasos.core.views import KernelView, View
from kpegasos.kernels.base import CallableKernel, Kernel
from kpegasos.kernels.decision import Kept, gram_decision, kernel_decision
from kpegasos.kernels.exact import errors_of_sums, exact_products
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.rows.budget import Grant
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked_vectors, require_numbers
from kpegasos.utils.threads import cached_property
from kpegasos.utils.validation import (
    canonical_rows,
    check_scaling,
    finite_decisions,
    largest_magnitude,
)


class Algorithm(NamedTuple):
    """A compiled loop, and how soon it will update an example.

    Attributes
    ----------
    loop : callable
        Such as `kpegasos.core.loops.primal_steps`.
    priority : callable
        ``priority(state, members, examples, parameters)`` scores each member, in the units of the
        image: negative if the loop would update it now, the larger the less likely soon, infinite
        if never.
    from_zero : bool
        Whether step 0 is ``w = 0``.
    """

    loop: Callable[..., tuple[int, int]]
    priority: Callable[[LoopState, np.ndarray, Examples, LoopParameters], np.ndarray]
    from_zero: bool


@dataclass(eq=False, slots=True)
class Steps:
    """A loop in the midst of a run.

    Attributes
    ----------
    algorithm : Algorithm
    state : LoopState
    examples : Examples
    parameters : LoopParameters
    """

    algorithm: Algorithm
    state: LoopState
    examples: Examples
    parameters: LoopParameters

    @property
    def done(self) -> int:
        """Steps that have been done."""
        return self.state.counters.item(STEPS)

    def priority(self, members: np.ndarray) -> np.ndarray:
        """Score how soon the loop will update some examples; see `Algorithm`."""
        return self.algorithm.priority(self.state, members, self.examples, self.parameters)

    def take(self, view: View, draws: np.ndarray, start: int, stop: int) -> tuple[int, int]:
        """Run the loop over ``draws[start:stop]``; returns its status and the next draw.

        Parameters
        ----------
        view : View
        draws : ndarray of int64
        start, stop : int
        """
        found = self.algorithm.loop(
            self.state, view, draws, start, stop, self.examples, self.parameters
        )
        if found[0] == RESCALE:
            absorb_scale(self.state)
        return found


def run_loop(steps: Steps, view: View, draws: np.ndarray, stop: int) -> None:
    """Run a loop over ``draws[:stop]`` where no row is missing."""
    status, position = RESCALE, 0
    while status == RESCALE:
        status, position = steps.take(view, draws, position, stop)


class Evaluated(NamedTuple):
    """An iterate as its rows see it.

    Attributes
    ----------
    coef : ndarray of shape (n_samples,)
        ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``; non-negative with the hinge.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)``.
    squared_norm : float
        ``‖w‖²``.
    loss_rounding, norm_rounding : float
        Largest rounding errors of the mean loss and of ``‖w‖²``.
    margin_rounding : float
        Largest rounding error of a margin without its free intercept.
    additions : float
        See `kpegasos.core.certificate.additions`.
    vector : ndarray of shape (n_features + 1,) or None
        Primal vector, the coordinate of the constant feature last; from features only.
    intercept : float or None
        The free intercept in the margins, once the best for this w has been found.
    interval : tuple of float or None
        Smallest and largest best intercept.
    objective, upper_bound : float
        ``P(w)`` as computed, and an upper bound in spite of rounding; NaN until it is judged.
    dual : float
        Its dual value, as computed; NaN without a certificate.
    settled : bool
        Whether its margins have been computed again.
    """

    coef: np.ndarray
    margins: np.ndarray
    squared_norm: float
    loss_rounding: float = 0.0
    norm_rounding: float = 0.0
    margin_rounding: float = 0.0
    additions: float = 0.0
    vector: np.ndarray | None = None
    intercept: float | None = None
    interval: tuple[float, float] | None = None
    objective: float = math.nan
    upper_bound: float = math.nan
    dual: float = math.nan
    settled: bool = False

    @property
    def is_free(self) -> bool:
        """Whether the intercept is free, and has been found."""
        return self.intercept is not None

    @property
    def image(self) -> np.ndarray:
        """Its image: the primal vector, or margins without a free intercept."""
        if self.vector is not None:
            return self.vector
        return self.margins if self.intercept is None else self.margins - self.intercept

    def primal(self, examples: Examples, kernel_offset: float) -> tuple[np.ndarray | None, float]:
        """Return weights of shape (n_features,) if rows are features, and the intercept.

        Parameters
        ----------
        examples : Examples
        kernel_offset : float
            ``B²`` of the rows.
        """
        w, intercept = None, self.intercept
        if self.vector is not None:
            w, of_constant = self.vector[:-1], kernel_offset**0.5 * float(self.vector[-1])
        else:
            of_constant = kernel_offset * float((self.coef * examples.signed).sum())
        return w, of_constant if intercept is None else intercept


class Factor(ABC):
    """A matrix Z of as many rows as there are examples, in float64.

    Attributes
    ----------
    size : int
        Its columns.
    """

    size: int

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z`` of shape (size, size).

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Non-negative.
        """

    @abstractmethod
    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""

    @abstractmethod
    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""


# --- decisions on new examples --------------------------------------------------------------------


#: ``f(X)`` for new examples: float64 of shape (n_new,).
Decisions = Callable[[Any], np.ndarray]


def new_rows(X: Any, n_features: int, *, finite: bool = True) -> Any:
    """Return new examples as rows of so many features, copied only if need be.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_new, n_features)
    n_features : int
    finite : bool, default=True
        Whether they must be finite.

    Returns
    -------
    ndarray or CSR matrix, float32 as given or float64

    Raises
    ------
    ValueError
        If they have another number of features, or are not finite where they must be.
    """
    X = canonical_rows(X)
    if X.shape[1] != n_features:
        raise ValueError(
            f"X must have the {n_features} features of the training examples, got {X.shape[1]} "
            f"instead"
        )
    if finite and not np.isfinite(largest_magnitude(X)):
        raise ValueError("X must be finite, got NaN or infinity")
    return X


class KernelDecisions:
    """``f(x) = Σ_j coef_j k(x_j, x) + intercept``, by the kernel.

    It refers to the data until it is called for the first time or pickled. From then on it holds a
    copy of the support vectors.

    Parameters
    ----------
    values : KernelMatrix
        Kernel values of the examples.
    coef : ndarray of shape (n_samples,)
        Signed coefficients.
    intercept : float
    """

    def __init__(self, values: KernelMatrix, coef: np.ndarray, intercept: float) -> None:
        support = np.flatnonzero(coef)
        rows = support if values.members is None else values.members[support]
        self._kernel: Kernel | None = values.kernel
        # One attribute, which is replaced as a whole: calls may come from several threads.
        self._terms: tuple[Any, np.ndarray | None, np.ndarray] = values.X, rows, coef[support]
        self._intercept, self._kept = intercept, Kept()

    def __call__(self, X: Any) -> np.ndarray:
        """Return decisions on new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X does not have the features of the training examples, or leaves no finite decision.
        """
        kernel = self._kernel
        if kernel is None:
            raise ValueError(
                "kernel must be one that can be pickled where a pickled result is to decide on new "
                "examples, got one that could not, such as a lambda, instead"
            )
        vectors, coefs = self._support()
        vectors = checked_vectors("vectors", vectors, (coefs.shape[1], vectors.shape[1]))
        # A function of a user's own may accept NaN.
        X = new_rows(X, vectors.shape[1], finite=not isinstance(kernel, CallableKernel))
        sums = kernel_decision(kernel, X, vectors, coefs, kept=self._kept)
        return finite_decisions(sums[:, 0] + self._intercept)

    def _support(self) -> tuple[Any, np.ndarray]:
        """Return support vectors and coefficients of shape (1, n_support); release the rest."""
        X, rows, coef = self._terms
        if rows is not None:
            X = X[rows]
            self._terms = X, None, coef
        return X, require_numbers("coef", coef, (X.shape[0],))[None]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the support vectors, if the kernel can be pickled as well."""
        vectors, coefs = self._support()
        kernel = self._kernel if _can_be_pickled(self._kernel) else None
        n_kept = 0 if kernel is None else coefs.shape[1]
        terms = vectors[:n_kept], None, coefs[0, :n_kept]
        return {"_kernel": kernel, "_terms": terms, "_intercept": self._intercept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _kept=Kept())


def _can_be_pickled(kernel: Any) -> bool:
    try:
        pickle.dumps(kernel)
    except Exception:  # whatever a class of a user's own raises
        return False
    return True


class GramDecisions:
    """``f(x) = Σ_j coef_j k(x_j, x) + intercept``, by kernel values that are given.

    Parameters
    ----------
    coef : ndarray of shape (n_samples,)
        Signed coefficients.
    intercept : float
    """

    def __init__(self, coef: np.ndarray, intercept: float) -> None:
        self._coef = coef
        self._intercept = intercept

    def __call__(self, X: Any) -> np.ndarray:
        """Return decisions on new examples.

        Parameters
        ----------
        X : array-like of shape (n_new, n_samples)
            Kernel values of the new examples with the training examples.

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X is sparse, has another number of columns, or leaves no finite decision.
        """
        if sparse.issparse(X):
            raise ValueError("X must be a dense array of kernel values, got a sparse one instead")
        values = canonical_rows(X)
        if values.shape[1] != self._coef.size:
            raise ValueError(
                f"X must hold kernel values with the {self._coef.size} training examples, as the "
                f"kernel was given as a matrix, got shape {values.shape} instead"
            )
        require_numbers("coef", self._coef, values.shape[1:])
        support = np.flatnonzero(self._coef)
        sums = gram_decision(values, support, self._coef[None, support])
        return finite_decisions(sums[:, 0] + self._intercept)


# --- the interface --------------------------------------------------------------------------------


class RowSource(ABC):
    """Rows of the examples of a binary problem, as solvers see them.

    Runs on several threads may share them: they take turns, slice by slice (see
    `kpegasos.utils.threads`), and each gets the model that it would get alone.

    Parameters
    ----------
    unchanging : bool, default=False
        Argument of the class, not inherited: whether runs may go on at the same time, as only
        `settle` changes anything.

    Attributes
    ----------
    n_samples : int
    image_kind : {"margins", "vector"}
        What the image that `advance` maintains is; of a vector, `evaluate` is a pass over the data.
    image_size : int
        Its length; for margins, as many as there are examples.
    row_capacity : int
        Rows that `ensure_rows` can hold at a time; 0 where rows cannot be asked for one by one.
    positive_definite : bool
        Whether the kernel is positive semi-definite, so that duality gaps are certificates.
    block_size : int
        Examples of a block of violators (`kpegasos.solvers.polish`), whose kernel matrix `block`
        returns; 0 where dual ascent uses no blocks.
    computes_as_asked : bool
        Whether a loop waits for kernel values. Before those of a step `advance` may raise
        `kpegasos.utils.patience.CutShort`.
    pace : float
        Least seconds of a kernel value that is computed, its use included.
    is_costly : bool
        Whether kernel values cost more than all else a solver does, and the kernel keeps them.
    evaluations : int
        Kernel values computed so far.
    unclaimed : int
        Those computed before any run, until one claims them.
    kernel_offset : float
        B², which is added to kernel values; 0 without a constant feature.
    rounding : float or ndarray of shape (n_samples,)
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most; 0
        where values, or features, are the problem itself.
    tolerated_error : float
        Error of kernel values up to which a contradiction counts as rounding, not as a sign of an
        indefinite kernel.
    """

    image_kind: str = "margins"
    row_capacity: int = 0
    block_size: int = 0
    computes_as_asked: bool = False
    pace: float = math.inf
    is_costly: bool = False
    tolerated_error: float = 0.0
    evaluations: int = 0
    unclaimed: int = 0
    kernel_offset: float = 0.0
    rounding: np.ndarray | float = 0.0
    unchanging: bool = False

    def __init_subclass__(cls, *, unchanging: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.unchanging = unchanging

    def __init__(self, n_samples: int, positive_definite: bool) -> None:
        self.n_samples = self.image_size = n_samples
        self.positive_definite = positive_definite

    @abstractmethod
    def advance(self, steps: Steps, draws: np.ndarray, stop: int) -> None:
        """Run the loop over ``draws[:stop]``; later draws are for look-ahead only."""

    @abstractmethod
    def evaluate(
        self,
        iterates: Sequence[Iterate],
        state: LoopState,
        examples: Examples,
        *,
        shift: float | None = None,
    ) -> list[Evaluated]:
        """Return coefficients, margins and norm of some iterates of a state.

        With ``shift``, which has been added to the image, the intercept is free and will be found
        anew: margins and norm are then without it and the constant feature's part.
        """

    def decisions(
        self, coef: np.ndarray, w: np.ndarray | None, intercept: float
    ) -> Decisions | None:
        """Return the decision function of a model of these rows; None where there is none."""
        return None

    def settle(
        self,
        evaluated: Evaluated,
        examples: Examples,
        *,
        losses: bool = True,
    ) -> Evaluated:
        """Evaluate an iterate again, with as little rounding as the rows can, if that gains any.

        Parameters
        ----------
        evaluated : Evaluated
        examples : Examples
        losses : bool, default=True
            Whether margins of examples with a loss are wanted, and not the norm alone.
        """
        return evaluated

    def prepare(self) -> None:  # noqa: B027
        """Prepare what projection and dual ascent need, before a step is begun."""

    def ensure_rows(self, members: np.ndarray, t: int) -> KernelView:
        """Compute kernel rows of some examples, at most `row_capacity`; return a view."""
        raise NotImplementedError(f"{type(self).__name__} holds no kernel rows")

    def block(self, members: np.ndarray) -> KernelView:
        """Return the kernel matrix of some examples, valid until rows are asked for again.

        Parameters
        ----------
        members : ndarray of int64
            At most `block_size` examples.

        Returns
        -------
        KernelView
            Of these examples alone, in this order.
        """
        raise NotImplementedError(f"{type(self).__name__} has no blocks")

    def add_rows(self, members: np.ndarray, increments: np.ndarray, image: np.ndarray) -> None:
        """Add multiples of kernel rows to an image; the order of each sum is that of the members.

        Parameters
        ----------
        members : ndarray of int64
        increments : ndarray of shape (n_members,), float64
        image : ndarray of shape (n_samples,), float64
            Modified in place.
        """
        raise NotImplementedError(f"{type(self).__name__} has no blocks")

    @property
    def largest(self) -> float:
        """Upper bound on kernel values, B² included."""
        raise NotImplementedError

    def factor_passes(self) -> float:
        """Return how many passes of single steps cost as much as a system; see `VectorSource`."""
        return math.inf

    def forget(self) -> None:  # noqa: B027
        """Give up what is kept of earlier steps, since an error may have left it half done."""

    def close(self) -> None:  # noqa: B027
        """Give memory back to where it came from.

        No further step is made on the rows. Iterates whose images are held can still be evaluated.
        """


class VectorSource(RowSource):
    """Rows of features, whose image is the primal vector: the base of all sources of them."""

    image_kind = "vector"

    @abstractmethod
    def factor(self) -> Factor | None:
        """Return Z with ``K = Z Zᵀ``; None if it has too many columns to solve systems of them."""

    @abstractmethod
    def sums(self, columns: np.ndarray) -> np.ndarray:
        """Return the primal vector ``Σ columns[j] φ(x_j)``, of shape (image_size,)."""


_EPS = float(np.finfo(np.float64).eps)
#: Relative rounding of a sum over the examples by numpy, which adds pairs.
SUM_ROUNDING = 64.0 * _EPS
#: Largest error of a margin that adding ``B²`` in float64 may make.
_MOST_LOST = 1e-3


#: How negative the value of a point with itself may be, relative to the largest, by rounding.
_DOUBT = 1e-5


def may_be_definite(diagonal: np.ndarray) -> bool:
    """Check whether a kernel with these values of points with themselves may be semi-definite."""
    return bool(diagonal.min(initial=0.0) >= -_DOUBT * np.abs(diagonal).max(initial=0.0))


def most_scaling(lam: float) -> float:
    """Return the largest constant feature beside which margins keep their digits."""
    return (_MOST_LOST * lam / _EPS) ** 0.5


def check_rows(rows: RowSource, n_samples: int, lam: float) -> None:
    """Check that rows are those of a problem, whose margins keep their digits.

    A margin sums coefficients, ``1 / lam`` in all at the most, times ``B²`` in float64.

    Raises
    ------
    ValueError
        If they are of other examples, or the constant feature is too large.
    """
    if n_samples != rows.n_samples:
        raise ValueError(
            f"rows must belong to the {n_samples} examples of the problem, "
            f"got {rows.n_samples} instead"
        )
    most = most_scaling(lam)
    if rows.image_kind == "margins" and rows.kernel_offset**0.5 > most:
        raise ValueError(
            f"intercept_scaling must be at most {most:.3g} for lam={lam:.3g} (less for a large "
            f"C or sample_weight), or margins lose their digits beside its square, "
            f"got {rows.kernel_offset**0.5:.3g} instead"
        )


def claim_construction(rows: RowSource) -> int:
    """Return kernel values computed before any run, which the first run alone counts."""
    return int(vars(rows).pop("unclaimed", 0))  # one operation: runs may begin together


def holds_sets(rows: RowSource) -> bool:
    """Check whether kernel rows can be held for a working set."""
    return rows.row_capacity >= min(4, rows.n_samples)


def window_ahead(done: int) -> int:
    """Return how many draws ahead violators are looked for after ``done`` draws.

    Early on margins change quickly relative to t, and a far forecast is mostly wrong.
    """
    return max(tuning.TILE_ROWS, done // 4)


def block_size(values: KernelMatrix) -> int:
    """Choose how many examples a block of violators has; 0 for none. It depends on no budget."""
    n_samples = values.n_samples
    if n_samples < tuning.BLOCKS_FROM or not values.can_pass:
        return 0
    return min(tuning.BLOCK, n_samples // tuning.EXAMPLES_OF_A_BLOCK)


def block_view(rows: KernelSource, members: np.ndarray, matrix: np.ndarray) -> KernelView:
    """Return the view of a block from its kernel matrix."""
    size, norms = members.size, rows.squared_norms()[members]
    ticks = np.zeros(size, dtype=np.int64)
    return KernelView.of(matrix, np.arange(size), ticks, norms, rows.kernel_offset)


class KernelSource(RowSource):
    """Rows of kernel values: the base of all sources of them.

    Parameters
    ----------
    n_samples : int
    intercept_scaling : float
        Size B of the constant feature; the kernel becomes ``K + B²``.
    positive_definite : bool

    Attributes
    ----------
    exact : KernelMatrix or None
        Kernel and features, where they are known, for values in float64.
    """

    #: Memory that the rows may take; their builder may ask for it.
    grant: Grant | None = None
    exact: KernelMatrix | None = None

    def __init__(self, n_samples: int, intercept_scaling: float, positive_definite: bool) -> None:
        super().__init__(n_samples, positive_definite)
        self.kernel_offset = check_scaling(intercept_scaling) ** 2

    def _know(self, values: KernelMatrix) -> None:
        """Set the kernel matrix, and bounds on the error of its values."""
        self.rounding, self.exact = values.rounding, values
        self.is_costly = values.is_costly
        self.tolerated_error = float(np.finfo(values.dtype).eps) * self.largest

    @cached_property
    def largest(self) -> float:
        """Upper bound on kernel values, if the kernel is positive semi-definite."""
        return float(np.abs(self.squared_norms()).max())

    @cached_property
    def rounding_of_each(self) -> np.ndarray:
        """`rounding` as a vector."""
        # A copy: a read-only array is another type, for which loops would be compiled anew.
        return np.full(self.n_samples, self.rounding, dtype=np.float64)

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + B²) @ columns``, float64 of shape (n_samples, n_columns).

        Used where `exact` is None.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither product nor exact")

    @abstractmethod
    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""

    def evaluate(
        self,
        iterates: Sequence[Iterate],
        state: LoopState,
        examples: Examples,
        *,
        shift: float | None = None,
    ) -> list[Evaluated]:
        """Return coefficients, margins and norm of some iterates of a state."""
        coefs, margins = np.empty((2, len(iterates), examples.label.size))
        known, found = (self.rounding_of_each, self.largest, limits_of(examples.loss)), []
        for iterate, coef, margin in zip(iterates, coefs, margins, strict=True):
            sums = evaluate_held(state, examples, iterate, *known, coef, margin)
            evaluated = Evaluated(coef, margin, *sums)
            if shift is not None:
                evaluated = self._without_constant(evaluated, examples, shift * iterate.plain)
            found.append(evaluated)
        return found

    def _without_constant(
        self, evaluated: Evaluated, examples: Examples, shift: float
    ) -> Evaluated:
        """Remove the constant part of margins and norm of an iterate, and count its rounding."""
        signed, largest = evaluated.coef * examples.signed, float(np.abs(evaluated.margins).max())
        size, total = float(np.abs(signed).sum()), float(signed.sum())
        of_feature = self.kernel_offset * total
        own = SUM_ROUNDING * self.kernel_offset * size
        own += 4.0 * _EPS * (largest + abs(of_feature) + abs(shift))
        margins = evaluated.margins - (of_feature + shift)
        terms = signed * margins
        error = evaluated.norm_rounding + abs(total) * own
        error += margins.size * _EPS * float(np.abs(terms).sum())
        return evaluated._replace(
            margins=margins,
            squared_norm=float(terms.sum()),
            norm_rounding=error,
            margin_rounding=evaluated.margin_rounding + own,
            additions=evaluated.additions + own / (_EPS * self.largest),
        )

    def settle(
        self,
        evaluated: Evaluated,
        examples: Examples,
        *,
        losses: bool = True,
    ) -> Evaluated:
        """Compute margins again, of those examples whose loss or coefficient may not be zero."""
        signed, weight = evaluated.coef * examples.signed, np.abs(examples.signed)
        size = np.abs(signed)
        each = self.rounding_of_each
        before = float(size.sum()) * each + float(size @ each)
        intercept = evaluated.intercept or 0.0
        own = evaluated.margins - intercept
        others = evaluated.additions * _EPS * self.largest
        if evaluated.is_free:
            others = others + 2.0 * _EPS * (np.abs(evaluated.margins) + abs(intercept))
        needed = signed != 0.0
        if losses and self.exact is not None:
            doubts = loss_errors(examples, evaluated.margins, before + others) > 0.0
            doubtful = np.flatnonzero(doubts & ~needed)
            self.evaluations += errors_of_sums(self.exact, size, doubtful, before)
        before = before + others
        if losses:
            needed |= loss_errors(examples, evaluated.margins, before) > 0.0
        margins, rounding = _margins_again(self, own, signed, needed, before, evaluated.is_free)
        while losses and evaluated.is_free:  # the best intercept may give others a loss
            low, high = best_intercept(margins, examples)
            new = sum(loss_errors(examples, margins + b, rounding) for b in (low, high)) > 0.0
            evaluated = evaluated._replace(interval=(low, high), intercept=middle_of(low, high))
            if not (new & ~needed).any():
                break
            needed |= new
            margins, rounding = _margins_again(self, own, signed, needed, before, evaluated.is_free)
        squared_norm, size_of_terms = float(signed @ margins), float(np.abs(signed * margins).sum())
        margins = margins + (evaluated.intercept or 0.0)
        of_losses = loss_errors(examples, margins, rounding)
        return evaluated._replace(
            margins=margins,
            squared_norm=squared_norm,
            loss_rounding=float(weight @ of_losses) / signed.size,
            norm_rounding=float((size * rounding)[signed != 0.0].sum())
            + 0.5 * signed.size * _EPS * size_of_terms,
        )

    def decisions(self, coef: np.ndarray, w: np.ndarray | None, intercept: float) -> Decisions:
        """Return sums over the support: of the kernel's values, or of values that are given."""
        if self.exact is None:
            return GramDecisions(coef, intercept)
        return KernelDecisions(self.exact, coef, intercept)

    def close(self) -> None:
        """Give back what was granted."""
        self.grant = None


def _margins_again(
    rows: KernelSource,
    margins: np.ndarray,
    signed: np.ndarray,
    needed: np.ndarray,
    before: np.ndarray,
    is_free: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute needed margins anew; return all margins and bounds on their errors.

    They are without the constant feature where the intercept is free.
    """
    total, of_feature = float(np.abs(signed).sum()), rows.kernel_offset * float(signed.sum())
    if rows.exact is not None:
        sums, rounding, evaluations = exact_products(rows.exact, signed, needed, rows.largest)
        rows.evaluations += evaluations
        if not is_free:
            sums += of_feature
            rounding += signed.size * _EPS * rows.kernel_offset * total
    else:
        sums = rows.product(signed[:, None])[:, 0]
        added = (2.0 + np.count_nonzero(signed)) * _EPS * total * rows.largest
        if is_free:
            sums -= of_feature
            added += SUM_ROUNDING * rows.kernel_offset * total
        of_each = rows.rounding_of_each
        rounding = total * of_each + float(np.abs(signed) @ of_each) + added
    better = needed & (rounding < before)
    return np.where(better, sums, margins), np.where(better, rounding, before)
