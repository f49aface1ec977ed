"""Scaling of features and targets, as LIBSVM's ``svm-scale`` does it, and its files of ranges.

A feature whose values are all the same says nothing, and becomes zero. Where features are brought
to mean 0 and variance 1 the file begins with ``standard``, and ``svm-scale`` does not read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler


class Target(NamedTuple):
    """Limits of targets, those wanted and those found."""

    lower: float
    upper: float
    least: float
    most: float

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Bring targets to the limits."""
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = self.lower + (self.upper - self.lower) * (y - self.least) / (
                self.most - self.least
            )
        return np.where(y == self.least, self.lower, np.where(y == self.most, self.upper, inside))


class Ranges(NamedTuple):
    """How features are scaled.

    Attributes
    ----------
    method : {"minmax", "standard"}
    lower, upper : float
        Limits of "minmax".
    first, second : ndarray of shape (n_features,)
        Least and largest value, or mean and standard deviation; of a feature that becomes zero
        both are NaN.
    target : Target or None
        None where targets stay as they are.
    """

    method: str
    lower: float
    upper: float
    first: np.ndarray
    second: np.ndarray
    target: Target | None = None

    def apply(self, values: np.ndarray, columns: Any) -> np.ndarray:
        """Scale values that belong to some columns.

        Parameters
        ----------
        values : ndarray
        columns : ndarray or slice
            One for each entry of the last axis.
        """
        first, second = self.first[columns], self.second[columns]
        with np.errstate(invalid="ignore"):
            if self.method == "standard":
                scaled = (values - first) / second
            else:
                scaled = self.lower + (self.upper - self.lower) * (values - first) / (
                    second - first
                )
                # Rounding must not leave the limits.
                scaled = np.where(values == second, self.upper, scaled)
                scaled = np.where(values == first, self.lower, scaled)
        return np.where(np.isnan(first), 0.0, scaled)


def learn(X: Any, method: str, lower: float, upper: float) -> Ranges:
    """Find the ranges of features.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Of sparse data "standard" takes no mean off, so that zeros stay zeros.
    method : {"minmax", "standard"}
    lower, upper : float
        Limits of "minmax".
    """
    least, most = (_dense(each(axis=0)) for each in (X.min, X.max))
    first, second = least, most
    if method == "standard":
        scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
        first = scaler.mean_ if scaler.with_mean else np.zeros(X.shape[1])
        second = scaler.scale_
    nothing = np.where(least == most, np.nan, 0.0)
    return Ranges(method, lower, upper, first + nothing, second + nothing)


def varying(X: Any) -> np.ndarray:
    """Columns whose values are not all the same, counted from 0.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    """
    return np.flatnonzero(_dense(X.min(axis=0)) != _dense(X.max(axis=0)))


def _dense(vector: Any) -> np.ndarray:
    """A row of any kind as a vector."""
    dense = vector.toarray() if sparse.issparse(vector) else np.asarray(vector)
    return np.asarray(dense, dtype=np.float64).ravel()


def range_lines(ranges: Ranges) -> Iterator[str]:
    """Lines of a file of ranges; numbers have all digits.

    Parameters
    ----------
    ranges : Ranges
    """
    if ranges.target is not None:
        yield f"y\n{_digits(*ranges.target[:2])}\n{_digits(*ranges.target[2:])}\n"
    yield "standard\n" if ranges.method == "standard" else "x\n"
    if ranges.method == "minmax":
        yield f"{_digits(ranges.lower, ranges.upper)}\n"
    for column in np.flatnonzero(~np.isnan(ranges.first)).tolist():
        yield f"{column + 1} {_digits(ranges.first[column], ranges.second[column])}\n"


def _digits(*numbers: float) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def read_ranges(path: str, n_features: int) -> Ranges:
    """Read a file of ranges.

    Parameters
    ----------
    path : str
    n_features : int
        Columns at the least; those that the file does not name become zero.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        Naming the file, the line and what is wrong there.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = _Lines(path, [line.split() for line in file])
    target = None
    if lines.head() == ["y"]:
        lines.next()
        target = Target(*lines.numbers(2), *lines.numbers(2))
    method = {"x": "minmax", "standard": "standard"}.get(" ".join(lines.next()))
    if method is None:
        raise lines.error("must be 'x' or 'standard'")
    lower, upper = lines.numbers(2) if method == "minmax" else (0.0, 0.0)
    rows = {}
    while lines.head() is not None:
        number, first, second = lines.numbers(3)
        if not (number.is_integer() and 1 <= number < 2**31):
            raise lines.error("must begin with the number of a feature, from 1 on")
        rows[int(number) - 1] = (first, second)
    values = np.full((max([n_features, *(column + 1 for column in rows)]), 2), np.nan)
    for column, row in rows.items():
        if row[0] != row[1] or method == "standard":
            values[column] = row
    return Ranges(method, lower, upper, values[:, 0].copy(), values[:, 1].copy(), target)


class _Lines:
    """The lines of a file of ranges, read one after the other."""

    def __init__(self, path: str, lines: list[list[str]]) -> None:
        self._path = path
        self._lines = lines
        self._number = 0

    def head(self) -> list[str] | None:
        """Words of the next line that has any, which stays the next; None at the end."""
        while self._number < len(self._lines):
            if self._lines[self._number]:
                return self._lines[self._number]
            self._number += 1
        return None

    def next(self) -> list[str]:
        """Words of the next line that has any."""
        words = self.head()
        self._number += 1
        if words is None:
            raise self.error("must be there, but the file ends")
        return words

    def numbers(self, count: int) -> list[float]:
        """The next line as so many finite numbers."""
        words = self.next()
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) != count or not np.isfinite(found).all():
            raise self.error(f"must hold {count} finite numbers")
        return found

    def error(self, what: str) -> ValueError:
        """What is wrong with the line that was read last."""
        words = self._lines[self._number - 1] if self._number <= len(self._lines) else []
        got = f", got {' '.join(words)[:40]!r}" if words else ""
        return ValueError(f"{self._path}, line {self._number}: {what}{got}")
