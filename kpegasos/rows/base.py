"""What the solver asks of a source of kernel rows, and the simplest one: a whole Gram matrix.

Every source lets a loop run over an index stream and supplies the kernel rows it needs, in blocks
of one matrix product each. Because the stream is known ahead, a block holds the missing row
together with the rows that upcoming violators will need; that changes the cost, never the
algorithm. The model is the same for every source, cache size and block size, up to the rounding of
the products. `kpegasos.rows.choose` chooses among the sources.
"""

from __future__ import annotations

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.loops import Examples, KernelView, LoopParameters, LoopState
from kpegasos.core.state import Algorithm, run_loop
from kpegasos.kernels.matrix import KernelValues
from kpegasos.utils import tuning


class KernelSource:
    """What the solver asks of every source of kernel rows.

    Attributes
    ----------
    n_samples : int
    image_size : int
        Length of the maintained margins; 0 where none are held.
    row_capacity : int
        Rows that can be held at a time.
    evaluations : int
        Kernel values computed while training.
    charged : int
        How many of them a run has taken on its account.
    positive_definite : bool
    """

    image_size: int = 0
    row_capacity: int = 0

    def __init__(self, n_samples: int, offset: float, positive_definite: bool) -> None:
        self.n_samples = n_samples
        self.offset = float(offset)
        self.positive_definite = positive_definite
        self.evaluations = 0
        self.charged = 0

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """PegasosRun the loop over ``draws[:stop]``; what lies behind is for look-ahead only."""
        raise NotImplementedError

    def ensure_rows(self, members: np.ndarray, step: int) -> KernelView:
        """Kernel rows among which are those of the members, at most `row_capacity` of them."""
        raise NotImplementedError

    def refresh_margins(self, state: LoopState, examples: Examples) -> None:
        """Bring the margins of a state up to date, where `advance` may leave them behind."""

    def evaluate(
        self,
        combinations: list[LinearCombination],
        state: LoopState,
        prefixes: list[tuple[np.ndarray, np.ndarray] | None],
        examples: Examples,
    ) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Coefficients, margins and squared norm of each iterate."""
        coefs = [
            c.apply(state.alpha, state.stamps, p and p[0])
            for c, p in zip(combinations, prefixes, strict=True)
        ]
        if self.image_size:
            margins = [
                c.apply(state.base, state.stamped_image, p and p[1])
                for c, p in zip(combinations, prefixes, strict=True)
            ]
        else:
            columns = np.stack([coef * examples.signed for coef in coefs], axis=1)
            margins = list(self.product(columns).T)
        return [
            (coef, margin, float((coef * examples.signed) @ margin))
            for coef, margin in zip(coefs, margins, strict=True)
        ]

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``, float64 of shape (n_samples, n_columns)."""
        raise NotImplementedError

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        raise NotImplementedError


class GramRows(KernelSource):
    """Rows of a whole Gram matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        C-contiguous float32 or float64, only read.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    """

    def __init__(self, gram: np.ndarray, *, intercept_scaling: float = 0.0) -> None:
        super().__init__(gram.shape[0], intercept_scaling**2, True)
        self.image_size = self.row_capacity = self.n_samples
        self.gram = np.ascontiguousarray(gram)
        self._rows = KernelView(
            self.gram,
            np.arange(self.n_samples),
            np.zeros(self.n_samples, dtype=np.int64),
            self.squared_norms(),
            self.offset,
        )

    @classmethod
    def from_blocks(cls, blocks: KernelValues, *, intercept_scaling: float = 0.0) -> GramRows:
        """Compute the whole matrix, a block at a time."""
        n_samples = blocks.n_samples
        gram = np.empty((n_samples, n_samples), dtype=blocks.dtype)
        # Temporaries come on top of the matrix, so they have to be small.
        work = 64 * tuning.MEBIBYTE if blocks.can_pack else tuning.MEBIBYTE
        height = max(1, work // max(1, 24 * n_samples))
        evaluations = 0
        for top in range(0, n_samples, height):
            members = np.arange(top, min(n_samples, top + height))
            evaluations += blocks.write_rows(members, gram[top : top + height])
        source = cls(gram, intercept_scaling=intercept_scaling)
        source.positive_definite = blocks.kernel.positive_definite
        source.evaluations = evaluations
        return source

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """PegasosRun the loop over ``draws[:stop]``."""
        run_loop(algorithm, state, self._rows, draws, stop, examples, parameters)

    def ensure_rows(self, members: np.ndarray, step: int) -> KernelView:
        """All kernel rows."""
        return self._rows

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        return np.asarray(self.gram @ columns + self.offset * columns.sum(axis=0), dtype=np.float64)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self.gram.diagonal().astype(np.float64) + self.offset
