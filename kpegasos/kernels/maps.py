"""Maps of inner products to kernel values: one pass in place, which the compiler vectorises.

numpy takes a pass for each operation, and has its exponential for float64 in vectors on few
processors. (Its hyperbolic tangent was as fast as a compiled one, so the sigmoid kernel keeps it.)
Without a compiler (``NUMBA_DISABLE_JIT``) all kernels use numpy.
"""

from __future__ import annotations

import numpy as np
from numba import config

from kpegasos.kernels.exponential import exponential
from kpegasos.utils.boundary import checked, require_shape
from kpegasos.utils.compiled import compiled

#: Whether maps are compiled; loops over values in Python would take minutes.
COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]


def _check_gaussian(
    products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: np.floating
) -> None:
    require_shape("norms_a", norms_a, products.shape[:1])
    require_shape("norms_b", norms_b, products.shape[1:])


@checked(_check_gaussian)
@compiled(fastmath={"contract"})
def gaussian(
    products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: np.floating
) -> None:
    """``exp(-gamma max(0, norms_a + norms_b - 2 products))`` in place, all of one dtype.

    A product that is NaN counts as distance zero.
    """
    number = products.dtype.type
    # A quarter of the squared distance is no larger than the larger norm, so it does not overflow.
    share = number(0.25 if gamma + gamma + gamma + gamma < np.inf else 1.0)
    zero, twice, factor = number(0.0), share + share, -gamma / share
    for i in range(products.shape[0]):
        row, norm = products[i], share * norms_a[i]
        for j in range(row.size):
            # The norms first: k(a, b) and k(b, a) are the same to the last bit.
            part = (norm + share * norms_b[j]) - twice * row[j]
            row[j] = exponential(factor * (part if part > zero else zero))


@compiled(fastmath={"contract"})
def power(products: np.ndarray, gamma: np.floating, coef0: np.floating, degree: int) -> None:
    """``(gamma products + coef0)^degree`` in place, for a degree of at least 1.

    By multiplication, which is exact on integers: a square for each further bit of the degree, and
    a factor for each that is set.
    """
    base = np.empty(products.shape[1], products.dtype)
    bits = 0
    while degree >> bits > 1:
        bits += 1
    for i in range(products.shape[0]):
        row = products[i]
        for j in range(row.size):
            row[j] = gamma * row[j] + coef0
            base[j] = row[j]
        for bit in range(bits - 1, -1, -1):
            if degree >> bit & 1:
                for j in range(row.size):
                    row[j] = row[j] * row[j] * base[j]
            else:
                for j in range(row.size):
                    row[j] = row[j] * row[j]
