"""Packed support vectors that are kept from one prediction to the next.

A model that is asked about a row at a time would else pack all its support vectors for each. They
are kept beside the model and not in it, so they are neither pickled nor copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
from scipy import sparse

from kpegasos.kernels import maps
from kpegasos.kernels.base import InnerProductKernel, Kernel
from kpegasos.utils import tuning
from kpegasos.utils.compiled import compiled

#: Most bytes of support vectors and coefficients that are kept for one model.
_MOST_BYTES = 64 * tuning.MEBIBYTE
#: Of coefficients: to compare with, scaled, and packed for many outputs, padded to twice at most.
_COPIES = 4


class Parts(NamedTuple):
    """What a kernel expansion is made of; see `kpegasos.kernels.decision.KernelExpansion`."""

    kernel: Kernel
    support_vectors: Any
    coefs: np.ndarray
    n_support: np.ndarray | None

    def can_be_kept(self) -> bool:
        """Whether the support vectors are packed, and they and their coefficients are few."""
        dense = not sparse.issparse(self.support_vectors)
        if not (maps.COMPILED and dense and isinstance(self.kernel, InnerProductKernel)):
            return False
        n_bytes = self.support_vectors.nbytes + _COPIES * self.coefs.nbytes
        return bool(self.support_vectors.flags.c_contiguous and n_bytes <= _MOST_BYTES)


class _Kept(NamedTuple):
    """An expansion, and what it was made of: arrays as copies or, where they are large, sums."""

    parts: Parts
    sums: tuple[int, int]
    expansion: Any

    def is_made_of(self, parts: Parts) -> bool:
        old = self.parts
        return (
            old.kernel is parts.kernel
            and old.support_vectors is parts.support_vectors
            and np.array_equal(old.coefs, parts.coefs)
            and _equal(old.n_support, parts.n_support)
            and self.sums == _sums(parts.support_vectors)
        )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


_kept: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()


@compiled()
def _mixed_sums(words: np.ndarray) -> tuple[np.uint32, np.uint32]:
    """Sums over words, each mixed with its place: an edit leaves both as they were once in 2^64.

    A linear sum would not do: edits of zeros and ones that keep it are easily made. The mixing is
    that of MurmurHash3 (Appleby 2011) by its own constants; each sum is taken after one round.
    """
    first, second = np.uint32(0), np.uint32(0)
    for k in range(words.size):
        # Products and sums of uint32 are of 64 bits in numba.
        mixed = np.uint32((words[k] ^ np.uint32(k * 0x9E3779B1)) * np.uint32(0x85EBCA6B))
        mixed ^= mixed >> np.uint32(13)
        first = np.uint32(first + mixed)
        mixed = np.uint32(mixed * np.uint32(0xC2B2AE35))
        mixed ^= mixed >> np.uint32(16)
        second = np.uint32(second + mixed)
    return first, second


def _sums(vectors: np.ndarray) -> tuple[int, int]:
    first, second = _mixed_sums(vectors.reshape(-1).view(np.uint32))
    return int(first), int(second)


def _can_own(owner: Any) -> bool:
    """Whether something can be kept beside an object: it needs a hash and weak references."""
    if owner is None:
        return False
    try:
        hash(ref(owner))
    except TypeError:  # of a class with an equality of its own, for one
        return False
    return True


def kept(owner: Any, parts: Parts) -> Any:
    """The expansion that is kept for an owner, if it is made of these parts; else None."""
    found = _kept.get(owner) if _can_own(owner) else None
    if found is None or not parts.can_be_kept():
        return None
    return found.expansion if found.is_made_of(parts) else None


def keep(owner: Any, parts: Parts, expansion: Any) -> None:
    """Keep an expansion for an owner in place of an earlier one, if it is small."""
    if not _can_own(owner):
        return
    if not parts.can_be_kept():
        _kept.pop(owner, None)
        return
    n_support = None if parts.n_support is None else parts.n_support.copy()
    copies = parts._replace(coefs=parts.coefs.copy(), n_support=n_support)
    _kept[owner] = _Kept(copies, _sums(parts.support_vectors), expansion)
