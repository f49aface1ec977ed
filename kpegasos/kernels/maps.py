"""Maps of inner products to kernel values: one pass in place, which the compiler vectorises.

numpy takes a pass for each operation, and vectorises its float64 exponential on few processors; the
C library's is a call for each value. (numpy's hyperbolic tangent was as fast as a compiled one, so
the sigmoid kernel keeps it.) The exponential here is for numbers that are not positive. It is right
to 2 units in the last place, and zero where the value is at most about the smallest normal number.
Without a compiler (``NUMBA_DISABLE_JIT``) all kernels use numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import overload

from kpegasos.utils.boundary import checked, require_shapes
from kpegasos.utils.compiled import OVERLOADS, compiled

# --- float32: Cephes (Moshier 1992) ---

_LOG2_E_32 = np.float32(1.44269504)
#: ln 2 in two parts, the first of which has so few digits that its multiples are exact.
_HIGH_32, _LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
#: Below this exp is less than 1.65e-38, near the smallest normal number, 1.18e-38, and taken for
#: zero.
_LOWEST_32 = np.float32(-87.0)

# --- float64: the same with a polynomial of degree 11, through Chebyshev's points ---

_LOG2_E = 1.4426950408889634
_HIGH, _LOW = 0.6931471803691238, 1.9082149292705877e-10
_LOWEST = -708.39
#: Added to a number below 2^51 it leaves the nearest integer in the lowest bits. Few processors
#: can turn vectors of float64 into integers.
_SHIFT = 1.5 * 2.0**52


def exponential(x: Any) -> Any:
    """``exp(x)`` for ``x <= 0``, in the precision of x; compiled, zero for NaN."""
    return np.exp(x)


@overload(exponential, jit_options=OVERLOADS | {"fastmath": {"contract"}})
def _compiled_exponential(x: Any) -> Any:
    return _exponential32 if x == types.float32 else _exponential64


def _exponential32(x: Any) -> Any:
    bounded = x if x > _LOWEST_32 else _LOWEST_32
    n = np.floor(bounded * _LOG2_E_32 + np.float32(0.5))
    r = bounded - n * _HIGH_32 - n * _LOW_32
    y = np.float32(1.9875691500e-4)
    y = y * r + np.float32(1.3981999507e-3)
    y = y * r + np.float32(8.3334519073e-3)
    y = y * r + np.float32(4.1665795894e-2)
    y = y * r + np.float32(1.6666665459e-1)
    y = y * r + np.float32(5.0000001201e-1)
    y = y * r * r + r + np.float32(1.0)
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return y * power if x >= _LOWEST_32 else np.float32(0.0)


def _exponential64(x: Any) -> Any:
    bounded = x if x > _LOWEST else _LOWEST
    shifted = np.float64(bounded * _LOG2_E + _SHIFT)
    n = shifted - _SHIFT
    r = bounded - n * _HIGH - n * _LOW
    y = 2.510038549551032e-08
    y = y * r + 2.7620088445409746e-07
    y = y * r + 2.7557268459997064e-06
    y = y * r + 2.4801521295954376e-05
    y = y * r + 0.00019841269863053618
    y = y * r + 0.0013888888917213717
    y = y * r + 0.008333333333330062
    y = y * r + 0.04166666666662413
    y = y * r + 0.16666666666666669
    y = y * r + 0.5
    y = y * r * r + r + 1.0
    exponent = np.float64(shifted).view(np.int64) << np.int64(52)
    power = np.int64(exponent + np.int64(1023 << 52)).view(np.float64)
    return y * power if x >= _LOWEST else 0.0


#: Whether maps are compiled; loops over values in Python would take minutes.
COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]


def _check_gaussian(
    products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: np.floating
) -> None:
    rows, columns = products.shape[:1], products.shape[1:]
    require_shapes(("norms_a", norms_a, rows), ("norms_b", norms_b, columns))


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
