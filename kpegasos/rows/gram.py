"""Rows of a whole Gram matrix: for a small problem, or a kernel that is given as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.core.state import Examples
from kpegasos.core.views import KernelView, add_rows_together
from kpegasos.kernels import gemm
from kpegasos.kernels.base import InnerProductKernel
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.rows.base import (
    Evaluated,
    KernelSource,
    Steps,
    block_size,
    block_view,
    may_be_definite,
    run_loop,
)
from kpegasos.rows.budget import array_of
from kpegasos.utils import tuning
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import cached_property
from kpegasos.utils.validation import as_flag, as_integer, shown

#: Up to so many members, taking values one by one is faster than looking for blocks.
_FEW_MEMBERS = 100
#: Machine epsilon of each dtype that a matrix may have.
_SPACING = {np.dtype(kind): float(np.finfo(kind).eps) for kind in (np.float32, np.float64)}


class GramRows(KernelSource, unchanging=True):
    """Rows of a whole Gram matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        C-contiguous float32 or float64, only read.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    positive_definite : bool, default=True
        Whether the matrix is known to be positive semi-definite.
    evaluations : int, default=0
        Kernel values that were computed for the matrix; the first run counts them as its own.
    rounding : float or ndarray of shape (n_samples,), default=0.0
        The value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most. A matrix
        that is given is the problem itself.
    exact : KernelMatrix, default=None
        Source of values in float64.
    """

    def __init__(
        self,
        gram: np.ndarray,
        *,
        intercept_scaling: float = 0.0,
        positive_definite: bool = True,
        evaluations: int = 0,
        rounding: np.ndarray | float = 0.0,
        exact: KernelMatrix | None = None,
    ) -> None:
        gram = _square(gram)
        positive_definite = as_flag("positive_definite", positive_definite)
        evaluations = as_integer("evaluations", evaluations, least=0)
        super().__init__(gram.shape[0], intercept_scaling, positive_definite)
        self.evaluations = self.unclaimed = evaluations
        self._scaling = intercept_scaling
        self.row_capacity = self.n_samples
        self.gram = np.ascontiguousarray(gram)
        self.rounding, self.exact = rounding, exact
        self.block_size = 0 if exact is None else block_size(exact)
        self.positive_definite &= may_be_definite(self.gram.diagonal())

    @cached_property
    def _view(self) -> KernelView:
        norms = self.gram.diagonal().astype(np.float64) + self.kernel_offset
        ticks = np.zeros(self.n_samples, dtype=np.int64)
        return KernelView.of(self.gram, np.arange(self.n_samples), ticks, norms, self.kernel_offset)

    @cached_property
    def tolerated_error(self) -> float:
        """Spacing of the largest value."""
        return _SPACING[self.gram.dtype] * self.largest

    @classmethod
    def from_values(cls, values: KernelMatrix, *, intercept_scaling: float = 0.0) -> GramRows:
        """Compute the whole matrix, a block of rows at a time.

        Half of the values are computed where they are symmetric to the last bit: where both the
        products of packed examples and the kernel's map of them are.
        """
        n_samples = values.n_samples
        gram = array_of((n_samples, n_samples), values.dtype)
        # Temporaries come on top of the matrix, so they have to be small.
        work = 64 * tuning.MEBIBYTE if values.can_pack else tuning.MEBIBYTE
        height = max(1, work // max(1, 24 * n_samples))
        is_symmetric = _is_symmetric(values)
        if is_symmetric:
            height = min(height, tuning.TILE_ROWS)
        evaluations = 0
        for top in range(0, n_samples, height):
            bottom = min(n_samples, top + height)
            members = np.arange(top, bottom)
            if is_symmetric:
                evaluations += values.write_rows(members, gram[top:bottom, top:], top)
                for left in range(bottom, n_samples, height):
                    heed()  # writing to fresh memory may take long
                    part = slice(left, left + height)
                    gram[part, top:bottom] = gram[top:bottom, part].T
            else:
                evaluations += values.write_rows(members, gram[top:bottom])
        values.unpack()
        return cls(
            gram,
            intercept_scaling=intercept_scaling,
            positive_definite=values.kernel.positive_definite,
            evaluations=evaluations,
            rounding=values.rounding,
            exact=values,
        )

    def subset(self, members: np.ndarray, *, claims: bool = False) -> GramRows:
        """Return the rows of some of the examples.

        Parameters
        ----------
        members : ndarray of int
            Examples of this matrix: all in their order, or a part.
        claims : bool, default=False
            Whether their first run counts the kernel values of the matrix as its own.
        """
        whole, exact = members.size == self.n_samples, self.exact
        rounding = np.broadcast_to(self.rounding, self.n_samples)
        return GramRows(
            self.gram if whole else _values_of(self.gram, members),
            intercept_scaling=self._scaling,
            positive_definite=self.positive_definite,
            evaluations=self.evaluations if claims else 0,
            rounding=rounding if whole else rounding[members],
            exact=exact if whole or exact is None else exact.subset(members),
        )

    def advance(self, steps: Steps, draws: np.ndarray, stop: int) -> None:
        """Run the loop over ``draws[:stop]``."""
        run_loop(steps, self._view, draws, stop)

    def ensure_rows(self, members: np.ndarray, t: int) -> KernelView:
        """Return all kernel rows."""
        return self._view

    def block(self, members: np.ndarray) -> KernelView:
        """Take the kernel matrix of some examples."""
        return block_view(self, members, self.gram[np.ix_(members, members)])

    def add_rows(self, members: np.ndarray, increments: np.ndarray, image: np.ndarray) -> None:
        """Add multiples of kernel rows to an image."""
        kept = self.gram, self.gram[:0], members
        images = self.kernel_offset, image, increments[:0]
        add_rows_together(*kept, increments, increments, *images)

    def settle(self, evaluated: Evaluated, examples: Examples, *, losses: bool = True) -> Evaluated:
        """Evaluate an iterate again, unless the values for that have been given up."""
        if not self.gram.size and self.exact is None:
            return evaluated
        return super().settle(evaluated, examples, losses=losses)

    def close(self) -> None:
        """Give up the matrix."""
        of_examples = self._view[2:]
        self.gram = self.gram[:0].copy()
        self._view = KernelView.of(self.gram, *of_examples)
        super().close()

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + B²) @ columns``."""
        if self.gram.dtype == np.float64:
            product = self.gram @ columns
        else:
            # One product would copy the whole matrix to float64.
            product = np.empty((self.n_samples, columns.shape[1]))
            height = max(1, tuning.MEBIBYTE // self.n_samples)
            for top in range(0, self.n_samples, height):
                product[top : top + height] = self.gram[top : top + height] @ columns
        return np.asarray(product + self.kernel_offset * columns.sum(axis=0), dtype=np.float64)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""
        return self._view.squared_norms.copy()


def _values_of(gram: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the kernel values between some examples."""
    size = members.size
    out = array_of((size, size), gram.dtype)
    if size <= _FEW_MEMBERS or (ends := np.flatnonzero(np.diff(members) != 1) + 1).size > 1:
        height = max(1, tuning.GATHER_BYTES // gram[0].nbytes)  # of rows that are copied whole
        for top in range(0, size, height):
            part = slice(top, top + height)
            np.take(gram[members[part]], members, axis=1, out=out[part], mode="clip")
        return out
    # Two classes of examples that are sorted by class: four blocks.
    parts = [slice(0, size)] if ends.size == 0 else [slice(0, ends[0]), slice(ends[0], size)]
    ranges = [slice(members[part.start], members[part.stop - 1] + 1) for part in parts]
    for rows, of_rows in zip(parts, ranges, strict=True):
        for columns, of_columns in zip(parts, ranges, strict=True):
            out[rows, columns] = gram[of_rows, of_columns]
    return out


def _is_symmetric(values: KernelMatrix) -> bool:
    """Check whether kernel values are symmetric to the last bit."""
    kernel = values.kernel
    own = isinstance(kernel, InnerProductKernel) and kernel.symmetric
    return own and values.can_pack and gemm.IMPLEMENTATION == "compiled"


def _square(gram: Any) -> np.ndarray:
    """Return a square matrix of numbers; whether it is symmetric is for its maker to know.

    Raises
    ------
    ValueError
        If it is not one.
    """
    try:
        array = np.asarray(gram)
    except (TypeError, ValueError):
        array = np.empty(0)
    is_square = array.ndim == 2 and array.shape[0] == array.shape[1] > 0
    if not is_square or array.dtype.kind not in "iuf":
        raise ValueError(f"gram must be a square matrix of numbers, got {shown(gram)} instead")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
