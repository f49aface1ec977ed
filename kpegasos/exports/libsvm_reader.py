"""The reader of LIBSVM's models: what is wrong in a file is named with its line."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.exports.libsvm import KERNELS, LARGEST_INT, NAMES, sorted_by_class
from kpegasos.exports.model import Model, Sigmoids
from kpegasos.utils.files import checked_path
from kpegasos.utils.validation import as_integer, optional, shown

CLASSIFIERS = ("c_svc", "nu_svc")
REGRESSORS = ("epsilon_svr", "nu_svr")
#: Characters of a line, beyond which it is none of a model: two million entries have room.
_LONGEST_LINE = 2**26


class LibsvmModel(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    parameters : dict
        ``kernel`` as the estimators name it, and those of ``degree``, ``gamma``, ``coef0`` that it
        has.
    model : Model
    """

    parameters: dict[str, Any]
    model: Model


def read_libsvm(
    path: str | PathLike[str], kinds: tuple[str, ...], n_features: int | None = None
) -> LibsvmModel:
    """Read a model that ``svm-train`` or `write_libsvm` has written.

    Parameters
    ----------
    path : path-like
    kinds : tuple of str
        Values of ``svm_type`` that are wanted.
    n_features : int, default=None
        Columns of the rows to predict; the largest index of the support vectors if None.

    Raises
    ------
    ValueError
        Naming the file, the line and what is wrong there.
    """
    place = checked_path(path)
    n_features = optional(as_integer, "n_features", n_features, least=1, most=LARGEST_INT)
    if place.is_dir():
        raise ValueError(f"path must be the path of a file, got {shown(str(path))} instead")
    reader = _Reader(place)
    with place.open(encoding="utf-8-sig", errors="replace") as file:
        numbered = _numbered(file, place)
        reader.read_header(numbered, kinds)
        return reader.read_model(numbered, n_features)


def _numbered(file: Any, path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1 on."""
    for number in range(1, LARGEST_INT):
        line = file.readline(_LONGEST_LINE)
        if not line:
            return
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"{path}, line {number}: a line must have less than 2**26 characters")
        yield number, line


def _real(text: str) -> float:
    """A finite number as C reads it; Python would take ``1_000`` as well."""
    number = math.nan if "_" in text else float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _whole(text: str) -> int:
    number = int(text)
    if "_" in text or abs(number) > LARGEST_INT:
        raise ValueError
    return number


def _natural(text: str) -> int:
    number = _whole(text)
    if number < 0:
        raise ValueError
    return number


def _not_negative(text: str) -> float:
    number = _real(text)
    if number < 0:
        raise ValueError
    return number


#: What each line of the header holds: how its words are read, and what they are called.
_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "svm_type": (str, "a name"),
    "kernel_type": (str, "a name"),
    "degree": (_natural, "an integer that is not negative"),
    "gamma": (_not_negative, "a finite number that is not negative"),
    "coef0": (_real, "a finite number"),
    "nr_class": (_natural, "an integer that is not negative"),
    "total_sv": (_natural, "an integer that is not negative"),
    "rho": (_real, "finite numbers"),
    "label": (_whole, "integers below 2**31"),
    "nr_sv": (_natural, "integers that are not negative"),
    "probA": (_real, "finite numbers"),
    "probB": (_real, "finite numbers"),
    # Of densities, which are not read.
    "prob_density_marks": (_real, "finite numbers"),
}
_PROBABILITIES = ("probA", "probB")
_LISTS = {"rho", "label", "nr_sv", "probA", "probB", "prob_density_marks"}


class _Reader:
    """What has been read of a file, and where.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        self._lines: dict[str, int] = {}
        self._line = 0

    def read_header(self, numbered: Iterable[tuple[int, str]], kinds: tuple[str, ...]) -> None:
        """Read all lines up to the one that says ``SV``."""
        for self._line, line in numbered:
            name, *words = line.split() or [""]
            if name == "SV":
                break
            if name not in _READ:
                raise self._error(f"must begin with a name that LIBSVM has, got {shown(name)}")
            if name in self._values:
                raise self._error(f"{name} must be there once, got it again")
            self._lines[name] = self._line
            self._values[name] = self._read(name, words)
            self._check(name, kinds)
        else:
            raise self._error("the file must have a line 'SV' after its header, got its end")
        self._check_header()

    def _read(self, name: str, words: list[str]) -> Any:
        read, expected = _READ[name]
        with self._blamed(f"{name} must be {expected}, got {shown(' '.join(words))} instead"):
            values = [read(word) for word in words]
            if name in _LISTS:
                return values
            (value,) = values
            return value

    def _check(self, name: str, kinds: tuple[str, ...]) -> None:
        """Check a line of the header by itself."""
        value = self._values[name]
        names = {"svm_type": kinds, "kernel_type": (*KERNELS, "precomputed")}.get(name)
        if names and value not in names:
            raise self._error(f"{name} must be one of {', '.join(names)}, got {shown(value)}")
        if name == "nr_class" and value < 2:
            raise self._error(f"nr_class must be at least 2, got {value}")
        if name == "label" and len(set(value)) < len(value):
            raise self._error("label must name each class once, got one of them twice")

    def _check_header(self) -> None:
        """Check the lines of the header with each other."""
        needed = ["svm_type", "kernel_type", "nr_class", "total_sv", "rho"]
        values = self._values
        needed += ["label", "nr_sv"] if values.get("svm_type") in CLASSIFIERS else []
        kernel = values.get("kernel_type")
        needed += KERNELS[kernel][1] if kernel in KERNELS else ()
        missing = [name for name in needed if name not in values]
        if missing:
            raise self._error(f"the header must have a line {missing[0]!r}, got none")
        k = values["nr_class"]
        sizes = {"rho": k * (k - 1) // 2}
        if "label" in needed:
            sizes |= {"label": k, "nr_sv": k}
            self._check_probabilities()
            sizes |= {name: k * (k - 1) // 2 for name in _PROBABILITIES if name in values}
        elif k != 2:
            raise self._error("nr_class must be 2 of a regression", "nr_class")
        for name, size in sizes.items():
            if len(values[name]) != size:
                found = len(values[name])
                raise self._error(f"{name} must have {size} entries, got {found}", name)
        if "nr_sv" in needed and sum(values["nr_sv"]) != values["total_sv"]:
            raise self._error(
                f"nr_sv must sum to total_sv, {values['total_sv']}, got {sum(values['nr_sv'])}",
                "nr_sv",
            )

    def _check_probabilities(self) -> None:
        """Check that both lines of the sigmoids of a classifier are there, or none."""
        there = [name for name in _PROBABILITIES if name in self._values]
        if len(there) == 1:
            raise self._error(
                f"{' and '.join(_PROBABILITIES)} must both be there, or none", there[0]
            )

    def read_model(
        self, numbered: Iterable[tuple[int, str]], n_features: int | None
    ) -> LibsvmModel:
        """Read the support vectors, and put the model together."""
        values, kernel = self._values, self._values["kernel_type"]
        n_coefs, total = values["nr_class"] - 1, values["total_sv"]
        coefs, indices, data, ends = array("d"), array("i"), array("d"), array("q", [0])
        for self._line, line in numbered:
            words = line.split()
            if not words:
                continue
            if len(ends) > total:
                raise self._error(f"the file must end after {total} support vectors, got another")
            coefs.extend(self._coefs(words[:n_coefs], n_coefs))
            read = self._entries(words[n_coefs:], kernel == "precomputed")
            for index, value in read:
                indices.append(index)
                data.append(value)
            ends.append(len(indices))
        found = len(ends) - 1
        if found < total:
            raise self._error(f"the file must have {total} support vectors, got {found}")
        dual_coef = np.array(coefs).reshape(total, n_coefs).T.copy()
        model = self._model(dual_coef, _rows(indices, data, ends, n_features))
        self._check_width(model, n_features)
        parameters = {name: values[name] for name in KERNELS.get(kernel, (None, ()))[1]}
        name = NAMES.get(kernel, kernel)
        return LibsvmModel({"kernel": name, **parameters}, model)

    def _check_width(self, model: Model, n_features: int | None) -> None:
        if n_features is not None and n_features < model.n_features:
            raise ValueError(
                f"n_features must be at least {model.n_features}, the largest index in "
                f"{self._path}, got {n_features} instead"
            )

    def _coefs(self, words: list[str], n_coefs: int) -> list[float]:
        expected = "a coefficient" if n_coefs == 1 else f"{n_coefs} coefficients"
        with self._blamed(f"a support vector must begin with {expected}, got {shown(words)}"):
            coefs = [_real(word) for word in words]
            if len(coefs) < n_coefs:
                raise ValueError
            return coefs

    def _entries(self, words: list[str], precomputed: bool) -> Iterator[tuple[int, float]]:
        """Columns from 0 on and values; of a given matrix, the number of the example in place."""
        if precomputed:
            with self._blamed(f"a support vector must be '0:' and a number from 1 on, got {words}"):
                (word,) = words
                head, tail = word.split(":")
                number = _real(tail)
                if int(head) != 0 or not number.is_integer() or not 1 <= number <= LARGEST_INT:
                    raise ValueError
            yield int(number) - 1, 1.0
            return
        before = 0
        for word in words:
            with self._blamed(f"features must be 'index:value', got {shown(word)}"):
                head, tail = word.split(":")
                index, value = _whole(head), _real(tail)
            if index <= before:
                raise self._error(f"indices must ascend from 1 on, got {index} after {before}")
            before = index
            yield index - 1, value

    def _model(self, dual_coef: np.ndarray, vectors: Any) -> Model:
        values, kernel = self._values, self._values["kernel_type"]
        precomputed = kernel == "precomputed"
        made, names = KERNELS.get(kernel, (None, ()))
        intercept = np.array([0.0 - each for each in values["rho"]])  # no -0.0
        regression = values["svm_type"] in REGRESSORS
        total = values["total_sv"]
        model = Model(
            kernel=None if made is None else made(**{name: values[name] for name in names}),
            vectors=None if precomputed else vectors,
            support=vectors.indices.astype(np.intp) if precomputed else None,
            n_support=np.array([total] if regression else values["nr_sv"], dtype=np.int32),
            dual_coef=dual_coef,
            intercept=intercept,
            classes=None if regression else np.array(values["label"], dtype=np.int64),
            n_features=vectors.shape[1],
            sigmoids=None if regression else self._sigmoids(),
        )
        if not regression:
            model = sorted_by_class(model)
        if precomputed:
            return model
        # A file has no word on this; half of the entries is where memory is the same.
        few = vectors.nnz < 0.5 * total * vectors.shape[1]
        return model if few else model._replace(vectors=model.vectors.toarray())

    def _sigmoids(self) -> Sigmoids | None:
        """Those of the pairs, if there are any; LIBSVM's fall."""
        found = [self._values.get(name) for name in _PROBABILITIES]
        if None in found:
            return None
        slopes, offsets = (0.0 - np.array(each) for each in found)
        return Sigmoids(slopes, offsets)

    @contextmanager
    def _blamed(self, message: str) -> Iterator[None]:
        """Say what was expected where something is not that."""
        try:
            yield
        except ValueError:
            raise self._error(message) from None

    def _error(self, message: str, name: str | None = None) -> ValueError:
        line = self._lines[name] if name else self._line
        return ValueError(f"{self._path}, line {line}: {message}")


def _rows(indices: array, data: array, ends: array, n_features: int | None) -> Any:
    """Support vectors as a CSR matrix, at least one column wide."""
    columns = np.array(indices, dtype=np.int32)
    width = max(n_features or 1, int(columns.max(initial=0)) + 1)
    shape = (len(ends) - 1, width)
    return sparse.csr_matrix((np.array(data), columns, np.array(ends)), shape=shape)
