"""The loops that read LIBSVM's format: bytes to numbers, each correctly rounded, or a stop.

They do no arithmetic with floating-point numbers: a decimal number becomes the bits of the nearest
double by whole numbers alone. What a loop stops at, and what to say of it, is for its caller, and
so are the few numbers that whole numbers of 64 bits do not decide.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpegasos.utils.compiled import compiled

#: Bits of a double that is no number: with the place of a text, a number still to be read.
UNREAD = 0x7FF8 << 48
#: Digits that fit into 64 bits.
_MOST_DIGITS = 19
#: Powers of ten that products of 64 bits decide; the others are next to none.
_LEAST_POWER, _MOST_POWER = -325, 308
#: Columns are C integers to other programs.
MOST_COLUMNS = 2**31 - 1

_TAB, _NEWLINE, _RETURN, _BLANK, _HASH = 9, 10, 13, 32, 35
_PLUS, _MINUS, _POINT, _ZERO, _COLON = 43, 45, 46, 48, 58
_FAULT = -1

_U0, _U1, _U10, _U32, _U64 = (np.uint64(number) for number in (0, 1, 10, 32, 64))
_LOW = np.uint64(2**32 - 1)
_SIGN = np.uint64(1 << 63)
_UNREAD = np.uint64(UNREAD)


@cache
def powers_of_five() -> NDArray[np.uint64]:
    """The first 128 bits of the powers of five that a decimal exponent may ask for.

    Returns
    -------
    ndarray of shape (n_powers, 2), uint64
        High and low bits; those of negative powers are rounded up, as Lemire's algorithm has it.
    """
    words = []
    for power in range(_LEAST_POWER, _MOST_POWER + 1):
        five = 5 ** abs(power)
        if power >= 0:
            bits = five << 128 >> five.bit_length()
        else:
            bits = (1 << (five.bit_length() + 127)) // five + 1
            bits >>= bits.bit_length() - 128
        words.append(divmod(bits, 1 << 64))
    return np.array(words, np.uint64)


@compiled(inner=True)
def _product(a: Any, b: Any) -> Any:
    """High and low 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _U32, b & _LOW, b >> _U32
    first = a_low * b_low
    middle = a_high * b_low + (first >> _U32)
    other = a_low * b_high + (middle & _LOW)
    high = a_high * b_high + (middle >> _U32) + (other >> _U32)
    return high, (other << _U32) | (first & _LOW)


@compiled(inner=True)
def _leading_zeros(number: Any) -> int:
    """Zeros before the first bit of a number that is not zero."""
    zeros = 0
    for width in (32, 16, 8, 4, 2, 1):
        if number >> np.uint64(64 - width) == _U0:
            number <<= np.uint64(width)
            zeros += width
    return zeros


@compiled(inner=True)
def _double(digits: Any, power: int, fives: NDArray[np.uint64]) -> Any:
    """Bits of the double nearest to ``digits`` times ten to the power; `UNREAD` if not known.

    D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience, 2021.
    """
    if digits == _U0:
        return _U0
    if power < _LEAST_POWER or power > _MOST_POWER:
        return _UNREAD
    zeros = _leading_zeros(digits)
    digits <<= np.uint64(zeros)
    high, low = _product(digits, fives[power - _LEAST_POWER, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # what follows may carry to here
        carried, _ = _product(digits, fives[power - _LEAST_POWER, 1])
        low += carried
        if carried > low:
            high += _U1
    if low == ~_U0 and (power < -27 or power > 55):
        return _UNREAD
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 1086 + np.int64(upper) - zeros
    if exponent <= 0:  # subnormal
        return _UNREAD
    # Halfway between two doubles: the even one.
    halfway = low <= _U1 and -4 <= power <= 23 and mantissa & np.uint64(3) == _U1
    if halfway and mantissa << shift == high:
        mantissa &= ~_U1
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >> np.uint64(53) != _U0:
        mantissa >>= _U1
        exponent += 1
    if exponent >= 2047:
        return _UNREAD
    return (mantissa & np.uint64(2**52 - 1)) | (np.uint64(exponent) << np.uint64(52))


@compiled(inner=True)
def _is_end(byte: Any) -> bool:
    """Whether a word ends before this byte."""
    return byte in (_BLANK, _HASH) or _TAB <= byte <= _RETURN


@compiled(inner=True)
def _past_blanks(text: NDArray[np.uint8], at: int) -> int:
    """Return where the next byte is that is no blank, or ends the line."""
    while text[at] == _BLANK or _TAB <= text[at] <= _RETURN:
        if text[at] == _NEWLINE:
            break
        at += 1
    return at


@compiled(inner=True)
def _exponent(text: NDArray[np.uint8], at: int) -> Any:
    """Read what follows an "e": the power, and where it ends; `_FAULT` if it is none."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begin, power = at, 0
    while _ZERO <= text[at] < _COLON:
        power = min(10 * power + text[at] - _ZERO, 100_000)
        at += 1
    return (-power if negative else power), (at if at > begin else _FAULT)


@compiled(inner=True)
def _number(text: NDArray[np.uint8], begin: int, fives: NDArray[np.uint64]) -> Any:
    """Read a decimal number that is a word: its bits, and where it ends; `_FAULT` if it is none."""
    at = begin
    sign = _SIGN if text[at] == _MINUS else _U0
    if text[at] == _MINUS or text[at] == _PLUS:
        at += 1
    digits, n_digits, n_significant, n_decimals = _U0, 0, 0, 0
    has_point = False
    while True:
        if _ZERO <= text[at] < _COLON:
            digits = digits * _U10 + np.uint64(text[at] - _ZERO)
            n_digits += 1
            n_significant += n_significant > 0 or text[at] != _ZERO
            n_decimals += has_point
        elif text[at] == _POINT and not has_point:
            has_point = True
        else:
            break
        at += 1
    power = 0
    if n_digits and (text[at] | 32) == 101:  # "e" or "E"
        power, at = _exponent(text, at + 1)
    if n_digits == 0 or at < 0 or not _is_end(text[at]):
        return _U0, _FAULT
    if n_significant > _MOST_DIGITS:
        return _UNREAD | np.uint64(begin), at
    bits = _double(digits, power - n_decimals, fives)
    return (_UNREAD | np.uint64(begin) if bits == _UNREAD else bits | sign), at


@compiled(inner=True)
def _column(text: NDArray[np.uint8], at: int, last: int) -> Any:
    """Read a column beyond the last one, and where its value begins; `_FAULT` if it is none."""
    if text[at] == _PLUS:
        at += 1
    begin, column = at, 0
    while _ZERO <= text[at] < _COLON:
        column = min(10 * column + text[at] - _ZERO, MOST_COLUMNS + 1)
        at += 1
    good = at > begin and text[at] == _COLON and last < column <= MOST_COLUMNS
    return column, (at + 1 if good else _FAULT)


@compiled(inner=True)
def _past_query(text: NDArray[np.uint8], at: int) -> int:
    """Return where "qid:" and a whole number end; `_FAULT` if it is another word."""
    for byte in (113, 105, 100, _COLON):
        if text[at] != byte:
            return _FAULT
        at += 1
    if text[at] == _MINUS:
        at += 1
    begin = at
    while _ZERO <= text[at] < _COLON:
        at += 1
    return at if at > begin and _is_end(text[at]) else _FAULT


@compiled(inner=True)
def _row(
    text: NDArray[np.uint8],
    at: int,
    fives: NDArray[np.uint64],
    values: NDArray[np.uint64],
    columns: NDArray[np.int32],
    entry: int,
) -> Any:
    """Read what follows a label: the number of entries so far, and where they end, or `_FAULT`."""
    last, first = 0, entry
    at = _past_blanks(text, at)
    if text[at] == 113:  # "q"
        at = _past_query(text, at)
    while at >= 0:
        at = _past_blanks(text, at)
        if text[at] == _NEWLINE or text[at] == _HASH:
            return entry, at
        last, at = _column(text, at, last)
        if at >= 0:
            values[entry], at = _number(text, at, fives)
            columns[entry] = last - 1
            entry += 1
    return first, _FAULT


@compiled()
def parse(
    text: NDArray[np.uint8],
    fives: NDArray[np.uint64],
    labels: NDArray[np.uint64],
    values: NDArray[np.uint64],
    columns: NDArray[np.int32],
    ends: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Read whole lines up to the first that is no row.

    Parameters
    ----------
    text : ndarray of uint8
        Ends with the end of a line.
    fives : ndarray of uint64
        See `powers_of_five`.
    labels, values : ndarray of uint64
        For the bits of doubles: one for each line, one for each colon. `UNREAD`, with the place of
        its text, stands for a number that is still to be read.
    columns : ndarray of int32
        For the columns of the values, counted from 0.
    ends : ndarray of int64
        For the number of values up to the end of each row.

    Returns
    -------
    n_rows, n_values : int
        Rows before the first line that is none, and their values.
    whole : bool
        Whether all lines are rows, or empty, or comments.
    """
    at, row, entry = 0, 0, 0
    while at < text.size:
        at = _past_blanks(text, at)
        if text[at] != _NEWLINE and text[at] != _HASH:
            labels[row], at = _number(text, at, fives)
            if at >= 0:
                entry, at = _row(text, at, fives, values, columns, entry)
            if at < 0:
                return row, entry, False
            ends[row] = entry
            row += 1
        while text[at] != _NEWLINE:
            at += 1
        at += 1
    return row, entry, True


@compiled()
def count(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Count ends of lines and colons."""
    lines, colons = 0, 0
    for byte in text:
        lines += byte == _NEWLINE
        colons += byte == _COLON
    return lines, colons
