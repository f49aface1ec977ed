"""Rows of an open file in LIBSVM's format, block by block, and a sentence for what is none.

Compiled loops make numbers of bytes, each with the bits of Python's ``float``, by whole numbers
alone, and stop at what they do not know. Only there is looked for what is wrong, so that an error
names the file, the line and the word; the few numbers that 64 bits do not decide are read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets.files import number_of
from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import parallel_for, threads_for

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

_U0, _U1, _U10, _U32 = (np.uint64(number) for number in (0, 1, 10, 32))
_LOW = np.uint64(2**32 - 1)
_SIGN = np.uint64(1 << 63)
_UNREAD = np.uint64(UNREAD)


@cache
def powers_of_five() -> NDArray[np.uint64]:
    """Return the first 128 bits of the powers of five that a decimal exponent may ask for.

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
    """Tell whether a word ends before this byte."""
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


#: Bytes of a line, beyond which it is no row: two million entries have room.
LONGEST_LINE = 2**26
#: Bytes that are read at a time.
_BLOCK = 2**23
#: A byte costs as much as this many multiplications.
_WORK = 6.0
_WORD = re.compile(rb"[^\s#]*")


class Rows(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), float64
    values : ndarray of shape (n_values,), float32 or float64
    columns : ndarray of shape (n_values,), int32
        Counted from 0; they increase within a row.
    ends : ndarray of shape (n_rows,), int64
        Number of values up to the end of each row.
    """

    labels: NDArray[np.float64]
    values: NDArray[Any]
    columns: NDArray[np.int32]
    ends: NDArray[np.int64]

    def part(self, first: int, last: int) -> Rows:
        """Return rows from the first up to, but without, the last."""
        begin = int(self.ends[first - 1]) if first else 0
        end = int(self.ends[last - 1]) if last else 0
        return Rows(
            self.labels[first:last],
            self.values[begin:end],
            self.columns[begin:end],
            self.ends[first:last] - begin,
        )


class Form(NamedTuple):
    """Requirements of rows.

    Attributes
    ----------
    n_features : int or None
        The most columns; None for any number.
    dtype : type
        float32 or float64.
    """

    n_features: int | None
    dtype: Any


def too_long() -> str:
    """Return what is wrong with a line that does not end."""
    return f"a line must have less than {LONGEST_LINE} bytes"


# --- from a file to rows ---


def read_rows(
    path: Path | str, file: BinaryIO, form: Form, before: Callable[[], int] = int
) -> Iterator[Rows]:
    """Read all rows of an open file, some at a time.

    Parameters
    ----------
    path : Path or str
        Name of the file, for errors.
    file : binary file
    form : Form
    before : callable, default=int
        Gives the number of lines of the file before those of ``file``; none by default.

    Yields
    ------
    Rows

    Raises
    ------
    ValueError
        Naming file and line, after the rows before it.
    """
    n_lines, ended = 0, False
    while not ended:
        block, fault = _next_block(file)
        ended = not block or fault is not None
        for rows, n_read, wrong in _parsed(block, form):
            if rows.labels.size:
                yield rows
            if wrong is not None:
                line, what = wrong
                raise ValueError(f"{path}, line {before() + n_lines + line}: {what}")
            n_lines += n_read
        if fault is not None:
            raise ValueError(f"{path}, line {before() + n_lines + 1}: {fault}")


def _next_block(file: BinaryIO) -> tuple[bytes, str | None]:
    """Read whole lines, and what is wrong with the line after them."""
    block = file.read(min(_BLOCK, LONGEST_LINE))
    if not block or block.endswith(b"\n"):
        return block, None
    begin = block.rfind(b"\n") + 1
    rest = file.readline(LONGEST_LINE)
    if len(block) - begin + len(rest) >= LONGEST_LINE:
        return block[:begin], too_long()
    block += rest
    return block if block.endswith(b"\n") else block + b"\n", None


#: Rows of some lines up to the first that is wrong, how many lines, and where and what that is.
_Piece = tuple[Rows, int, tuple[int, str] | None]


def _parsed(block: bytes, form: Form) -> Iterable[_Piece]:
    """Read the lines of a block, on some threads."""
    n_pieces = threads_for(_WORK * len(block))
    cuts = {block.find(b"\n", len(block) * piece // n_pieces) + 1 for piece in range(1, n_pieces)}
    begins = sorted({0, len(block), *cuts})
    texts = [np.frombuffer(block, np.uint8, end - begin, begin) for begin, end in pairwise(begins)]
    pieces: dict[int, _Piece] = {}

    def work(number: int, text: NDArray[np.uint8]) -> None:
        pieces[number] = _piece(text, form)

    if texts:
        parallel_for(work, enumerate(texts))
    return (pieces[number] for number in range(len(texts)))


def _piece(text: NDArray[np.uint8], form: Form) -> _Piece:
    n_lines, n_colons = count(text)
    labels, values = np.empty(n_lines, np.uint64), np.empty(n_colons, np.uint64)
    columns, ends = np.empty(n_colons, np.int32), np.empty(n_lines, np.int64)
    n_rows, n_values, whole = parse(text, powers_of_five(), labels, values, columns, ends)
    with np.errstate(over="ignore"):
        rows = Rows(
            _numbers(labels[:n_rows], text),
            _numbers(values[:n_values], text).astype(form.dtype, copy=False),
            columns[:n_values],
            ends[:n_rows],
        )
    faults = dict(_unfit(rows, form.n_features))
    if not whole:
        faults.setdefault(n_rows, "")
    if not faults:
        return rows, n_lines, None
    row = min(faults)
    line, words = _line_of(text.tobytes(), row)
    return rows.part(0, row), n_lines, (line, faults[row] or _fault(words))


def _numbers(bits: NDArray[np.uint64], text: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the numbers of some bits, with those that the loop left to Python."""
    numbers = bits.view(np.float64)
    for place in np.flatnonzero(np.isnan(numbers)):
        found = _WORD.match(text, int(bits[place]) ^ UNREAD)  # type: ignore[call-overload]
        numbers[place] = float(found.group())
    return numbers


def assembled(parts: Iterable[Rows], form: Form) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Put rows together; labels are integers where all are whole."""
    # One array after the other: only one of them is in memory twice at a time.
    empty = Rows(*(np.empty(0, kind) for kind in (float, form.dtype, np.int32, np.int64)))
    of_labels, of_values, of_columns, of_ends = map(list, zip(empty, *parts, strict=True))
    y = _joined(of_labels)
    sizes = [ends[-1] if ends.size else 0 for ends in of_ends]
    begins = np.cumsum([0, *sizes[:-1]])
    nnz = int(sum(sizes))
    # SciPy has one type for both arrays of indices.
    kind: Any = np.int32 if nnz <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate(
        [[0], *(ends + begin for ends, begin in zip(of_ends, begins, strict=True))]
    ).astype(kind)
    values = _joined(of_values)
    columns = _joined(of_columns).astype(kind, copy=False)
    n_features = form.n_features or int(columns.max(initial=0)) + 1
    X = sparse.csr_matrix((values, columns, indptr), shape=(y.size, n_features))
    X.has_canonical_format = True
    return X, as_labels(y)


def _joined(parts: list[Any]) -> NDArray[Any]:
    """Concatenate arrays, and let go of them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def as_labels(y: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers as integers where all are whole and exact."""
    whole = bool(np.all((np.trunc(y) == y) & (np.abs(y) < 2**53)))
    return y.astype(np.int64) if whole else y


# --- what is wrong ---


def _unfit(rows: Rows, n_features: int | None) -> Iterator[tuple[int, str]]:
    """First rows of numbers that are too large, or have too large columns, and what is wrong."""
    what = f"label and values must be finite in {rows.values.dtype}, got larger ones"
    finite = np.isfinite(rows.values)
    if not finite.all():
        yield _row_of(rows, ~finite), what
    finite = np.isfinite(rows.labels)
    if not finite.all():
        yield int(np.argmin(finite)), what
    if n_features is not None and rows.columns.max(initial=-1) >= n_features:
        row = _row_of(rows, rows.columns >= n_features)
        largest = rows.columns[rows.ends[row] - 1] + 1
        yield row, f"columns must be at most n_features = {n_features}, got {largest}"


def _row_of(rows: Rows, wrong: NDArray[np.bool_]) -> int:
    """Row of the first value that is wrong."""
    return int(np.searchsorted(rows.ends, np.argmax(wrong), "right"))


def _line_of(text: bytes, row: int) -> tuple[int, bytes]:
    """Find the line of a row, counted from 1, and what is on it."""
    for number, line in enumerate(text.split(b"\n"), 1):
        words = line.partition(b"#")[0].strip()
        if words:
            if row == 0:
                return number, words
            row -= 1
    raise IndexError(row)


def _fault(row: bytes) -> str:
    """Return what is wrong with a row."""
    label, *entries = row.split()
    if not _is_number(label):
        return f"the label must be a finite number, got {_shown(label)}"
    if entries and entries[0].startswith(b"qid:"):
        query = entries.pop(0)[4:]
        if not query.removeprefix(b"-").isdigit():
            return f"qid must be a whole number, got {_shown(query)}"
    last = 0
    for entry in entries:
        column, colon, value = entry.partition(b":")
        if not (colon and column.removeprefix(b"+").isdigit()) or not _is_number(value):
            return f"entries must be column:value, two numbers, got {_shown(entry)}"
        number = int(column[:20])  # whose digits Python limits
        if not last < number <= MOST_COLUMNS:
            based = "; dump_svmlight_file writes such files with zero_based=False" * (not number)
            return (
                f"columns must increase from 1 to {MOST_COLUMNS} at most, "
                f"got {_shown(column)} after {last}{based}"
            )
        last = number
    return f"a row must be a label and entries column:value, got {_shown(row)}"


def _is_number(text: bytes) -> bool:
    # To Python "nan", "inf" and "1_0" are numbers as well.
    return number_of(text) is not None and not re.search(rb"[nN_]", text)


def _shown(text: bytes) -> str:
    """Return some bytes of a file, not too many."""
    return repr(text[:32])[1:] + ("..." if len(text) > 32 else "")
