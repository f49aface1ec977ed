"""Kernel values in blocks of bounded memory: of a data set against itself, and of new rows.

The numerics live here: rows are centred where the kernel allows it, norms are computed once, and
overflow is found before anything is fitted. Which blocks are wanted is decided by `kpegasos.rows.choose`.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from kpegasos.kernels.functions import InnerProductKernel, Kernel, check_values
from kpegasos.kernels.packed import PackedKernel
from kpegasos.utils import tuning
from kpegasos.utils.validation import largest_value, too_large

#: Rows to predict from which on packing them pays.
_WORTH_PACKING = 64


class KernelMatrix:
    """Blocks of the kernel matrix of one data set, in the dtype of its rows.

    Whole rows come from examples that are packed when the first is asked for, on several threads;
    see `kpegasos.kernels.gemm`.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    members : ndarray of int, default=None
        Rows of X that are the examples, in this order; None for all.
    threads : int, default=None
        Threads for whole rows; None for as many as OpenMP would use.

    Raises
    ------
    ValueError
        If the values overflow the dtype of X.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.shared_norms = isinstance(kernel, InnerProductKernel)
        self._members = members
        self._shift = None
        if getattr(kernel, "translation_invariant", False) and not sparse.issparse(X):
            # ‖a‖² + ‖b‖² − 2<a, b> cancels less around the mean.
            self._shift = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self._threads = threads
        self._packed: PackedKernel | None = None
        self._lock = Lock()
        self._find_norms()

    def _find_norms(self) -> None:
        diagonals, squared_norms = [np.empty(0)], [np.empty(0)]
        finite = True
        with np.errstate(over="ignore", invalid="ignore"):
            for top in range(0, self.n_samples, tuning.FEATURE_ROWS):
                rows = self.features(slice(top, top + tuning.FEATURE_ROWS))
                diagonals.append(self.kernel.diag(rows))
                finite &= bool(np.isfinite(diagonals[-1]).all())
                if self.shared_norms:
                    squared_norms.append(row_norms(rows, squared=True))
                    finite &= bool(np.isfinite(squared_norms[-1]).all())
        self.diagonal = np.concatenate(diagonals)
        self.squared_norms = np.concatenate(squared_norms).astype(self.dtype)
        if not finite or np.abs(self.diagonal).max(initial=0.0) > largest_value(self.dtype):
            what = f"{type(self.kernel).__name__} values"
            raise ValueError(too_large(what, self.dtype, float(abs(self.X).max())))

    def features(self, which: Any) -> Any:
        """Rows of features (a slice or indices of examples), centred where that helps."""
        rows = self.X[which] if self._members is None else self.X[self._members[which]]
        return rows if self._shift is None else rows - self._shift

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the rows ``left`` against the rows ``right`` (slices or indices)."""
        A, B = self.features(left), self.features(right)
        if self.shared_norms:
            norms = (self.squared_norms[left], self.squared_norms[right])
            return self.kernel.block(  # type: ignore[call-arg]
                A, B, squared_norms=norms, out=out
            )
        values = check_values(self.kernel.block(A, B), A, B)
        if out is not None:
            out[...] = values
            return out
        return values

    def rows(
        self, members: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None
    ) -> int:
        """Write the rows of some examples, in increasing order, against a range of examples.

        Returns how many kernel values that took.
        """
        last = self.n_samples if last is None else last
        if self.has_temporaries:
            self.block(members, slice(first, last), out=out)
        else:
            norms = self.squared_norms[members]
            self._pack().write(self.features(members), norms, out, first, last)
        return int(members.size * (last - first))

    def _pack(self) -> PackedKernel:
        """The examples, packed when first asked for."""
        with self._lock:
            if self._packed is None:
                packed = self.packed_kernel(capacity=self.n_samples)
                for top in range(0, self.n_samples, tuning.FEATURE_ROWS):
                    part = slice(top, top + tuning.FEATURE_ROWS)
                    packed.append(self.features(part), self.squared_norms[part])
                self._packed = packed
        return self._packed

    def packed_kernel(self, capacity: int = 0) -> PackedKernel:
        """The kernel against examples that are yet to be added; not where `has_temporaries`."""
        assert isinstance(self.kernel, InnerProductKernel)
        return PackedKernel(
            self.kernel, self.X.shape[1], self.dtype, capacity=capacity, threads=self._threads
        )

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self.X.shape[0] if self._members is None else self._members.size)

    @property
    def dtype(self) -> np.dtype:
        """Type of the kernel values."""
        return np.dtype(self.X.dtype)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        size = self.X.data.nbytes + self.X.indices.nbytes if self.is_sparse else self.X.nbytes
        return int(size // max(1, self.X.shape[0]))

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sparse.issparse(self.X))

    @property
    def has_temporaries(self) -> bool:
        """Whether a block needs memory of its own before it is what was asked for."""
        return bool(sparse.issparse(self.X)) or not self.shared_norms


def _copy_rows(source: np.ndarray, here: Any, target: np.ndarray, there: Any) -> None:
    # Row by row: indexing with arrays goes through memory of its own, and fresh pages cost more.
    for i, j in zip(here, there, strict=True):
        target[j] = source[i]


class ClassBlocks:
    """Kernel values of several classes, whose own blocks are shared by the pairs they belong to.

    In one-vs-one, the values of an example against its own class are wanted by every pair with
    that class. They are computed once, when a pair first needs them, and copied from then on.

    Parameters
    ----------
    blocks : KernelMatrix
        Over examples that are sorted by class.
    sizes : ndarray of shape (n_classes,), int
        Examples of each class.
    keep : bool, default=True
        Whether there is memory for that; otherwise only the packed examples are shared.
    """

    def __init__(self, blocks: KernelMatrix, sizes: np.ndarray, *, keep: bool = True) -> None:
        self.blocks = blocks
        self.keep = keep
        self.ends = np.concatenate(([0], np.cumsum(sizes)))
        if keep:
            self._known = [np.zeros(size, dtype=bool) for size in sizes]
            self._values = [np.empty((size, size), dtype=blocks.dtype) for size in sizes]
            self._locks = [Lock() for _ in sizes]

    @staticmethod
    def memory_mb(sizes: np.ndarray, dtype: np.dtype) -> float:
        """MiB that the shared values of such classes may come to."""
        return float((sizes.astype(float) ** 2).sum() * np.dtype(dtype).itemsize / tuning.MEBIBYTE)

    def own_rows(self, number: int, members: np.ndarray, out: np.ndarray) -> int:
        """Write rows of a class against itself; returns how many kernel values were new."""
        first, last = int(self.ends[number]), int(self.ends[number + 1])
        if not self.keep:
            return self.blocks.rows(first + members, out, first, last)
        known, values = self._known[number], self._values[number]
        with self._locks[number]:
            missing = members[~known[members]]
            if missing.size:
                rows = out[: missing.size]
                self.blocks.rows(first + missing, rows, first, last)
                _copy_rows(rows, range(missing.size), values, missing)
                known[missing] = True
        _copy_rows(values, members, out, range(members.size))
        return int(missing.size * values.shape[0])


class PairBlocks(KernelMatrix):
    """Kernel values over two classes of a `ClassBlocks`: first those of the one, then of the other.

    Parameters
    ----------
    shared : ClassBlocks
    classes : tuple of int
    """

    def __init__(self, shared: ClassBlocks, classes: tuple[int, int]) -> None:
        self.kernel = shared.blocks.kernel
        self.shared = shared
        self.classes = classes
        self._ranges = [slice(shared.ends[c], shared.ends[c + 1]) for c in classes]
        self._order = np.concatenate([np.arange(r.start, r.stop) for r in self._ranges])
        self.diagonal = shared.blocks.diagonal[self._order]
        if shared.blocks.shared_norms:
            self.squared_norms = shared.blocks.squared_norms[self._order]

    def packed_kernel(self, capacity: int = 0) -> PackedKernel:
        """The kernel against examples that are yet to be added; not where `has_temporaries`."""
        return self.shared.blocks.packed_kernel(capacity)

    @property
    def n_samples(self) -> int:
        """Number of examples of both classes."""
        return self._order.size

    @property
    def dtype(self) -> np.dtype:
        """Type of the kernel values."""
        return self.shared.blocks.dtype

    @property
    def has_temporaries(self) -> bool:
        """Whether a block needs memory of its own before it is what was asked for."""
        return self.shared.blocks.has_temporaries

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        return self.shared.blocks.row_bytes

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.shared.blocks.is_sparse

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the rows ``left`` against the rows ``right`` (slices or indices)."""
        return self.shared.blocks.block(self._order[left], self._order[right], out=out)

    def features(self, which: Any) -> Any:
        """Rows of features (a slice or indices of examples), centred where that helps."""
        return self.shared.blocks.features(self._order[which])

    def rows(
        self, members: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None
    ) -> int:
        """Write the rows of some examples, in increasing order, against all of both classes.

        Returns how many kernel values that took.
        """
        assert first == 0
        assert last is None
        one, two = self._ranges
        size = one.stop - one.start
        split = int(np.searchsorted(members, size))
        evaluations = 0
        for number, own, other, part, own_columns, other_columns in (
            (0, one, two, slice(0, split), slice(0, size), slice(size, None)),
            (1, two, one, slice(split, None), slice(size, None), slice(0, size)),
        ):
            local = members[part] - own_columns.start
            if local.size:
                target = out[part]
                evaluations += self.shared.own_rows(
                    self.classes[number], local, target[:, own_columns]
                )
                evaluations += self.shared.blocks.rows(
                    own.start + local, target[:, other_columns], other.start, other.stop
                )
        return evaluations


def streamed_product(
    blocks: KernelMatrix, columns: np.ndarray, offset: float, height: int, width: int | None = None
) -> np.ndarray:
    """``(K + offset) @ columns`` over blocks of ``height × width`` kernel values, float64."""
    n_samples = columns.shape[0]
    support = np.flatnonzero(columns.any(axis=1))
    result = np.tile(offset * columns.sum(axis=0), (n_samples, 1))
    width = width or max(1, support.size)
    for left in range(0, support.size, width):
        part = support[left : left + width]
        for top in range(0, n_samples, height):
            rows = slice(top, min(n_samples, top + height))
            result[rows] += blocks.block(rows, part) @ columns[part]
    return result


def kernel_decision(
    kernel: Kernel, X: Any, support_vectors: Any, coefs: np.ndarray, *, block_mb: float = 64.0
) -> np.ndarray:
    """``K(X, support vectors) @ coefs.T`` in blocks of bounded memory, one matrix product each.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    support_vectors : ndarray or CSR matrix of shape (n_support_vectors, n_features)
    coefs : ndarray of shape (n_outputs, n_support_vectors)
    block_mb : float, default=64
        MiB of kernel values at a time.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64
    """
    result = np.zeros((X.shape[0], coefs.shape[0]))
    n_support = support_vectors.shape[0]
    if n_support == 0:
        return result
    shift = None
    if getattr(kernel, "translation_invariant", False) and not sparse.issparse(X):
        shift = support_vectors.mean(axis=0, dtype=np.float64).astype(support_vectors.dtype)
        support_vectors = support_vectors - shift
    columns = np.ascontiguousarray(coefs.T.astype(support_vectors.dtype, copy=False))
    is_dense = not (sparse.issparse(X) or sparse.issparse(support_vectors))
    if isinstance(kernel, InnerProductKernel) and is_dense and X.shape[0] >= _WORTH_PACKING:
        _packed_decision(kernel, X, shift, support_vectors, columns, block_mb, result)
        return result
    height = max(1, int(block_mb * tuning.MEBIBYTE) // (n_support * support_vectors.dtype.itemsize))
    for top in range(0, X.shape[0], height):
        part = X[top : top + height]
        if shift is not None:
            part = part - shift
        result[top : top + height] = kernel.block(part, support_vectors) @ columns
    return result


def _packed_decision(
    kernel: InnerProductKernel,
    X: np.ndarray,
    shift: np.ndarray | None,
    support_vectors: np.ndarray,
    columns: np.ndarray,
    block_mb: float,
    result: np.ndarray,
) -> None:
    """Add ``K(X, support vectors) @ columns`` to the result, with packed rows of X."""
    support_norms = row_norms(support_vectors, squared=True)
    height = min(X.shape[0], tuning.FEATURE_ROWS * 4)
    width = int(block_mb * tuning.MEBIBYTE) // (height * support_vectors.dtype.itemsize)
    width = max(1, min(width, tuning.FEATURE_ROWS))
    values = np.empty((width, height), support_vectors.dtype)
    for top in range(0, X.shape[0], height):
        rows = X[top : top + height].astype(values.dtype, copy=False)
        if shift is not None:
            rows = rows - shift
        packed = PackedKernel(kernel, X.shape[1], values.dtype, capacity=rows.shape[0])
        packed.append(rows, row_norms(rows, squared=True))
        for left in range(0, support_vectors.shape[0], width):
            part = slice(left, left + width)
            vectors = support_vectors[part]
            block = values[: vectors.shape[0], : rows.shape[0]]
            packed.write(vectors, support_norms[part], block)
            result[top : top + height] += block.T @ columns[part]
