"""An exponential of numbers that are not positive, which the compiler makes vector code of.

The C library's is a call for each value. These are right to 2 units in the last place, and zero
where the value is at most about the smallest normal number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

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
    """``exp(x)`` for ``x <= 0``, in the precision of x; zero for NaN."""
    return np.exp(x)


@overload(exponential, jit_options={"fastmath": {"contract"}})
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
