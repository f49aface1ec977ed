"""`RowSource`: what a solver asks about its examples, and all that it sees of them.

A source lets a loop run over an index stream, and answers what is asked at a checkpoint. It keeps
the *image* of the unscaled iterate q up to date (see `kpegasos.core.state`): margins of all
examples where kernel rows are held, q itself for features. `KernelSource` is what sources of
kernel rows have in common. `kpegasos.rows.choose` picks one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kpegasos.core.duals import loss_errors, steepness
from kpegasos.core.state import (
    RESCALE,
    Examples,
    Iterate,
    LoopParameters,
    LoopState,
    fold_scale,
)
from kpegasos.core.views import KernelView, View
from kpegasos.kernels.exact import ExactProducts
from kpegasos.kernels.matrix import KernelValues
from kpegasos.losses.hinge import Hinge
from kpegasos.rows.algorithm import Algorithm
from kpegasos.rows.budget import Grant
from kpegasos.rows.decisions import Decisions, TrainingPoints, kernel_decisions
from kpegasos.rows.evaluated import Evaluated, evaluated_at_once
from kpegasos.rows.factor import Factor
from kpegasos.utils.validation import check_scaling


class RowSource(ABC):
    """Rows of the examples of a binary problem, as solvers see them.

    Runs on several threads may share them: they take turns, slice by slice (see
    `kpegasos.utils.turns`), and each gets the model that it would get alone.

    Parameters
    ----------
    unchanging : bool, default=False
        Of the class, which does not inherit it: whether runs may go on at the same time, as nothing
        but `settle` changes anything.

    Attributes
    ----------
    n_samples : int
    image_kind : {"margins", "vector", "none"}
        What the image that `advance` maintains is.
    image_size : int
        Its length; 0 where there is none.
    row_capacity : int
        Rows that `ensure_rows` can hold at a time; 0 where rows cannot be asked for one by one.
    positive_definite : bool
        Whether the kernel is positive semi-definite, so that duality gaps are certificates.
    computes_as_asked : bool
        Whether a loop waits for kernel values. Before those of a step `advance` may raise
        `kpegasos.utils.patience.CutShort`.
    cheap_evaluation : bool
        Whether `evaluate` costs no pass over the data.
    evaluations : int
        Kernel values computed so far.
    blameless : float
        Error of a kernel value for which the kernel is not blamed, although the certificate takes
        the values as they are.
    """

    image_kind: str = "margins"
    image_size: int = 0
    row_capacity: int = 0
    computes_as_asked: bool = False
    cheap_evaluation: bool = True
    blameless: float = 0.0
    evaluations: int = 0
    unchanging: bool = False

    def __init_subclass__(cls, *, unchanging: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.unchanging = unchanging

    def __init__(self, n_samples: int, positive_definite: bool) -> None:
        self.n_samples = n_samples
        self.positive_definite = positive_definite

    @abstractmethod
    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Run the loop over ``draws[:stop]``; later draws are for look-ahead only."""

    @abstractmethod
    def evaluate(
        self, iterates: Sequence[Iterate], state: LoopState, examples: Examples
    ) -> list[Evaluated]:
        """Coefficients, margins and norm of some iterates of a state."""

    @abstractmethod
    def primal(self, evaluated: Evaluated, examples: Examples) -> tuple[np.ndarray | None, float]:
        """Weights of shape (n_features,) if rows are features, and the intercept."""

    def decisions(
        self, coef: np.ndarray, w: np.ndarray | None, intercept: float
    ) -> Decisions | None:
        """What decides on new examples for a model of these rows; None where nothing can."""
        return None

    @abstractmethod
    def image_of(self, evaluated: Evaluated) -> np.ndarray:
        """Image of an iterate, of shape (image_size,)."""

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
            Whether margins are wanted that may lie below 1, and not the norm alone.
        """
        return evaluated

    def prepare(self) -> None:  # noqa: B027
        """Have ``‖φ(x)‖²`` ready, which projection and dual ascent need."""

    @property
    def holds_sets(self) -> bool:
        """Whether kernel rows can be had for a working set."""
        return self.row_capacity >= 4

    def check_length(self, n_samples: int) -> None:
        """Raise a ValueError unless these are the rows of a problem of so many examples."""
        if n_samples != self.n_samples:
            raise ValueError(
                f"rows must belong to the {n_samples} examples of the problem, "
                f"got {self.n_samples} instead"
            )

    def check_lam(self, lam: float) -> None:  # noqa: B027
        """Raise a ValueError where rounding forbids so little regularisation."""

    def look_ahead(self, done: int, batch_size: int) -> int:
        """How many draws beyond ``stop`` are of use when ``done`` draws have been made."""
        return 0

    def ensure_rows(self, members: np.ndarray, t: int) -> KernelView:
        """A view that holds the kernel rows of some examples, at most `row_capacity` of them."""
        raise NotImplementedError(f"{type(self).__name__} holds no kernel rows")

    @property
    def rounding_of_each(self) -> np.ndarray:
        """How far off kernel values are: that of i and j by the sum of two entries, if held."""
        raise NotImplementedError(f"{type(self).__name__} holds no kernel rows")

    @property
    def largest(self) -> float:
        """No kernel value is larger, where kernel rows are held."""
        raise NotImplementedError(f"{type(self).__name__} holds no kernel rows")

    def factor(self) -> Factor | None:
        """Z with ``K = Z Zᵀ``, if it has so few columns that systems of them can be solved."""
        return None

    def factor_passes(self) -> float:
        """How many passes of single steps cost as much as one system of `factor`."""
        return math.inf

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """Primal vector ``Σ columns[j] φ(x_j)``, of shape (image_size,); from features only."""
        raise NotImplementedError(f"{type(self).__name__} has no primal vector")

    def images(self, columns: np.ndarray) -> list[np.ndarray]:
        """Images of sums ``Σ columns[j] φ(x_j)``, for a state that comes from other rows."""
        raise ValueError(
            "state must come from a run on the same kind of rows, which keep the same image, got "
            "others"
        )

    def claim_construction(self) -> int:
        """Kernel values that were computed before any run; the first run counts them as its own."""
        return int(vars(self).pop("_unclaimed", 0))  # at once: runs may begin together

    def forget(self) -> None:  # noqa: B027
        """Give up what is kept of earlier steps, since an error may have left it half done."""

    def close(self) -> None:  # noqa: B027
        """Give memory back to where it came from; the rows are not used any more."""


def run_loop(
    algorithm: Algorithm,
    state: LoopState,
    view: View,
    draws: np.ndarray,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> None:
    """Run a loop over ``draws[:stop]`` where no row is missing."""
    position, status = 0, RESCALE
    while status == RESCALE:
        status, position = algorithm.loop(state, view, draws, position, stop, examples, parameters)
        if status == RESCALE:
            fold_scale(state)


_EPS = float(np.finfo(np.float64).eps)
#: Largest error of a margin that adding ``B²`` in float64 may make.
_MOST_LOST = 1e-3


def most_scaling(lam: float) -> float:
    """The largest constant feature beside which margins keep their digits."""
    return (_MOST_LOST * lam / _EPS) ** 0.5


class KernelSource(RowSource):
    """What sources of kernel rows have in common.

    Parameters
    ----------
    n_samples : int
    intercept_scaling : float
        Size B of the constant feature; the kernel becomes ``K + B²``.
    positive_definite : bool

    Attributes
    ----------
    rounding : float or ndarray of shape (n_samples,)
        That of examples i and j is off by ``rounding[i] + rounding[j]`` at the most; 0 where the
        values are the problem itself.
    exact : ExactProducts or None
        The same values in float64, where they can be had.
    points : TrainingPoints or None
        Kernel and features, where they are known.
    """

    #: Memory that the rows may take; whoever builds them may ask for it.
    grant: Grant | None = None
    rounding: np.ndarray | float = 0.0
    exact: ExactProducts | None = None
    points: TrainingPoints | None = None

    def __init__(self, n_samples: int, intercept_scaling: float, positive_definite: bool) -> None:
        super().__init__(n_samples, positive_definite)
        self.kernel_offset = check_scaling(intercept_scaling) ** 2

    def _take_accuracy(self, values: KernelValues) -> None:
        """Know how far off the values of a kernel matrix are."""
        self.rounding, self.exact = values.rounding, values.exact
        self.blameless = float(np.finfo(values.dtype).eps) * self.largest

    @cached_property
    def largest(self) -> float:
        """No kernel value is larger, if the kernel is positive semi-definite."""
        return float(np.abs(self.squared_norms()).max())

    def check_lam(self, lam: float) -> None:
        """Check that margins keep their digits beside the constant feature.

        A margin sums coefficients of up to ``1 / lam`` together, each times ``B²`` in float64.

        Raises
        ------
        ValueError
            If they do not.
        """
        most = most_scaling(lam)
        if self.kernel_offset**0.5 > most:
            raise ValueError(
                f"intercept_scaling must be at most {most:.3g} for lam={lam:.3g} (less for a large "
                f"C or sample_weight), or margins lose their digits beside its square, "
                f"got {self.kernel_offset**0.5:.3g} instead"
            )

    @abstractmethod
    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + B²) @ columns``, float64 of shape (n_samples, n_columns)."""

    @abstractmethod
    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""

    def evaluate(
        self, iterates: Sequence[Iterate], state: LoopState, examples: Examples
    ) -> list[Evaluated]:
        """Coefficients, margins and norm of some iterates of a state."""
        if self.image_size and all(iterate.prefix is None for iterate in iterates):
            return evaluated_at_once(iterates, state, examples, self.rounding_of_each, self.largest)
        coefs = [iterate.coefficients(state) for iterate in iterates]
        signed = [coef * examples.signed for coef in coefs]
        if self.image_size:
            margins = [iterate.image(state) for iterate in iterates]
        else:
            margins = list(self.product(np.stack(signed, axis=1)).T)
        return [
            self._with_rounding(
                Evaluated(coef, margin, float(coef_signed @ margin)),
                examples,
                iterate.additions(state, examples) if self.image_size else None,
            )
            for iterate, coef, coef_signed, margin in zip(
                iterates, coefs, signed, margins, strict=True
            )
        ]

    @cached_property
    def rounding_of_each(self) -> np.ndarray:
        """`rounding` as a vector."""
        # A copy: what may not be written to would be another type, and compiled for by itself.
        return np.full(self.n_samples, self.rounding, dtype=np.float64)

    def _with_rounding(
        self, evaluated: Evaluated, examples: Examples, additions: float | None
    ) -> Evaluated:
        """Say how far off an iterate's losses and norm may be."""
        weight, coef = np.abs(examples.signed), np.abs(evaluated.coef)
        size = float(coef @ weight)
        if additions is None:
            additions = (1.0 + np.count_nonzero(evaluated.coef)) * size
        of_sums = additions * _EPS * self.largest
        if isinstance(self.rounding, np.ndarray):
            weighted = self.rounding * weight
            of_values, average = float(coef @ weighted), float(weighted.sum())
        else:
            of_values, average = size * self.rounding, weight.size * self.rounding
        # The sum over the examples rounds the squared norm, whose terms come to this at the most.
        of_norm = 0.5 * weight.size * _EPS * size * size * self.largest
        of_loss = of_sums + of_values + size * average / weight.size
        if type(examples.loss) is not Hinge:
            error = of_sums + of_values + size * float(np.max(self.rounding))
            of_loss *= steepness(examples.loss, evaluated.margins, examples.label, error)
        return evaluated._replace(
            loss_rounding=of_loss,
            norm_rounding=size * (of_sums + 2.0 * of_values) + of_norm,
            additions=additions,
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
        total = float(size.sum())
        of_values = total * self.rounding + float((size * self.rounding).sum())
        before = np.asarray(of_values + evaluated.additions * _EPS * self.largest)
        needed = signed != 0.0
        if losses:
            needed |= loss_errors(examples.loss, evaluated.margins, examples.label, before) > 0.0
        if self.exact is not None:
            sums, rounding, evaluations = self.exact.products(signed, needed, self.largest)
            self.evaluations += evaluations
            sums += self.kernel_offset * float(signed.sum())
            rounding += signed.size * _EPS * self.kernel_offset * total
        else:
            sums = self.product(signed[:, None])[:, 0]
            added = (2.0 + np.count_nonzero(signed)) * _EPS * total * self.largest
            rounding = np.asarray(of_values + added)
        better = needed & (rounding < before)
        margins = np.where(better, sums, evaluated.margins)
        rounding = np.where(better, rounding, before)
        terms = signed * margins
        of_losses = loss_errors(examples.loss, margins, examples.label, rounding)
        return evaluated._replace(
            margins=margins,
            sums=None,
            squared_norm=float(signed @ margins),
            loss_rounding=float(weight @ of_losses) / signed.size,
            norm_rounding=float((size * rounding)[signed != 0.0].sum())
            + 0.5 * signed.size * _EPS * float(np.abs(terms).sum()),
        )

    def primal(self, evaluated: Evaluated, examples: Examples) -> tuple[np.ndarray | None, float]:
        """No weights, and the intercept."""
        return None, self.kernel_offset * float((evaluated.coef * examples.signed).sum())

    def decisions(self, coef: np.ndarray, w: np.ndarray | None, intercept: float) -> Decisions:
        """Sums over the support: of the kernel's values, or of values that are given."""
        return kernel_decisions(self.points, coef, intercept)

    def image_of(self, evaluated: Evaluated) -> np.ndarray:
        """Margins, where they are held."""
        return evaluated.margins if self.image_size else np.empty(0)

    def images(self, columns: np.ndarray) -> list[np.ndarray]:
        """Margins of sums ``Σ columns[j] φ(x_j)``, where they are held."""
        if self.image_size:
            return list(self.product(columns).T.copy())
        return [np.empty(0)] * columns.shape[1]
