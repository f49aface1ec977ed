"""Models in LIBSVM's text format, which ``svm-train`` writes and ``svm-predict`` reads.

LIBSVM's signs are those of SVC inside scikit-learn: the decision of a pair is positive for the one
that ``label`` names first, and an intercept is ``-rho``. Of two classes the second comes first
here, so that decisions and ties are those of the estimators. What is wrong in a file that is read
is named with its line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.exports.model import Model, Sigmoids
from kpegasos.kernels.base import Kernel
from kpegasos.kernels.functions import RBF, Linear, Polynomial, Sigmoid
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import as_integer, optional, shown

#: Kernels that LIBSVM and SVC have, by LIBSVM's names: SVC's name, ours, and the parameters of all.
KERNELS: dict[str, tuple[str, type, tuple[str, ...]]] = {
    "linear": ("linear", Linear, ()),
    "polynomial": ("poly", Polynomial, ("degree", "gamma", "coef0")),
    "rbf": ("rbf", RBF, ("gamma",)),
    "sigmoid": ("sigmoid", Sigmoid, ("gamma", "coef0")),
}
#: A matrix of kernel values that the user gives, in LIBSVM's words and in SVC's.
GIVEN = "precomputed"
CLASSIFIERS = ("c_svc", "nu_svc")
REGRESSORS = ("epsilon_svr", "nu_svr")
#: C's int, of labels, degrees and indices.
LARGEST_INT = 2**31 - 1
#: Characters of a line, beyond which it is none of a model: two million entries have room.
_LONGEST_LINE = 2**26
_PROBABILITIES = ("probA", "probB")


def write_libsvm(path: str | PathLike[str], model: Model) -> None:
    """Write a model to a file that LIBSVM's programs read.

    Parameters
    ----------
    path : path-like
    model : Model

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel, the classes are no integers, or probabilities of several
        classes are not those of pairs.
    """
    if model.sigmoids is not None and not model.sigmoids.of_pairs:
        raise ValueError(
            f"calibrated must be of two classes for LIBSVM, which calibrates pairs, got "
            f"{model.sigmoids.slopes.size} classes instead"
        )
    if model.classes is not None and model.classes.size == 2:
        # Ours is positive for the second, which is now the first: no sign changes.
        model = _negated(_reordered(model, np.array([1, 0])))
    elif model.tie_order is not None:
        model = _reordered(model, model.tie_order)
    header = "".join(f"{line}\n" for line in _header(model))
    write_whole(path, _with_vectors(header, model))


def named_kernel(kernel: Kernel) -> tuple[str, dict[str, Any]] | None:
    """Name a kernel as LIBSVM does, with its parameters.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    tuple of (str, dict) or None
        None of a kernel that LIBSVM does not have, by its kind or by a degree that is no integer.
    """
    for name, (_, kind, parameters) in KERNELS.items():
        if type(kernel) is kind:
            values = {each: getattr(kernel, each) for each in parameters}
            if "degree" in values:
                degree = float(values["degree"])
                if not (degree.is_integer() and 0 <= degree <= LARGEST_INT):
                    return None
                values["degree"] = int(degree)
            return name, values
    return None


def _header(model: Model) -> Iterator[str]:
    """Yield the lines before the support vectors."""
    classes, kernel = model.classes, model.kernel
    yield f"svm_type {'epsilon_svr' if classes is None else 'c_svc'}"
    named = (GIVEN, {}) if kernel is None else named_kernel(kernel)
    if named is None and type(kernel) is Polynomial:
        raise ValueError(f"kernel must have a degree that is an integer for LIBSVM, got {kernel!r}")
    if named is None:
        raise ValueError(
            f"kernel must be one that LIBSVM has ({', '.join(KERNELS)} or {GIVEN}), "
            f"got {shown(kernel)} instead"
        )
    yield f"kernel_type {named[0]}"
    yield from (f"{key} {value!r}" for key, value in named[1].items())
    yield f"nr_class {2 if classes is None else classes.size}"
    yield f"total_sv {model.dual_coef.shape[1]}"
    yield f"rho {' '.join(repr(-each) for each in model.intercept.tolist())}"
    if classes is not None:
        yield f"label {' '.join(map(str, _integers(classes)))}"
        if model.sigmoids is not None:
            # LIBSVM's are of falling curves.
            for key, numbers in zip(_PROBABILITIES, model.sigmoids[:2], strict=True):
                yield f"{key} {' '.join(repr(0.0 - each) for each in numbers.tolist())}"
        yield f"nr_sv {' '.join(map(str, model.n_support.tolist()))}"
    yield "SV"


def _integers(classes: np.ndarray) -> list[int]:
    """Return classes as LIBSVM has them."""
    if classes.dtype.kind in "biuf":
        numbers = [int(each) for each in classes.tolist() if float(each).is_integer()]
        if len(numbers) == classes.size and max(map(abs, numbers)) <= LARGEST_INT:
            return numbers
    raise ValueError(
        f"classes_ must be integers below 2**31 for LIBSVM, got {shown(classes.tolist())} instead"
    )


def _with_vectors(header: str, model: Model) -> Iterator[bytes]:
    """Return the file's content, a support vector at a time."""
    yield header.encode("ascii")
    for number, coefs in enumerate(model.dual_coef.T.tolist()):
        entries = " ".join(_entries(model, number))
        yield f"{' '.join(map(repr, coefs))} {entries}\n".encode("ascii")


def _entries(model: Model, number: int) -> Iterator[str]:
    """Return the features of a support vector, or its place among the training examples."""
    if model.vectors is None:
        assert model.support is not None
        yield f"0:{int(model.support[number]) + 1}"
        return
    row: Any
    if sparse.issparse(model.vectors):
        matrix = model.vectors
        cut = slice(matrix.indptr[number], matrix.indptr[number + 1])
        columns, row = matrix.indices[cut], matrix.data[cut]
    else:
        dense = model.vectors[number]
        columns = np.flatnonzero(dense)
        row = dense[columns]
    for column, value in sorted(zip(columns.tolist(), row.tolist(), strict=True)):
        if value:
            yield f"{column + 1}:{value!r}"


def _sorted_by_class(model: Model) -> Model:
    """Return a model of LIBSVM's order and signs as the estimators have it."""
    assert model.classes is not None
    order = np.argsort(model.classes)
    in_order = _reordered(model, order)
    if order.size == 2:
        return _negated(in_order)
    is_sorted = (order == np.arange(order.size)).all()
    return in_order._replace(tie_order=None if is_sorted else np.argsort(order))


def _negated(model: Model) -> Model:
    """Return the model whose decisions are positive for the other class of each pair."""
    sigmoids = model.sigmoids
    return model._replace(
        dual_coef=-model.dual_coef,
        intercept=-model.intercept,
        sigmoids=sigmoids and sigmoids._replace(offsets=-sigmoids.offsets),
    )


def _reordered(model: Model, order: np.ndarray) -> Model:
    """Return the same model with its classes in another order, and without a ``tie_order``.

    Decisions of a pair are positive for the first, of two classes as well; ``order`` has the
    present number of each class-to-be.
    """
    assert model.classes is not None
    new, k = np.argsort(order), order.size
    ends = np.concatenate(([0], np.cumsum(model.n_support)))
    vectors_of = [np.arange(ends[each], ends[each + 1]) for each in range(k)]
    chosen = np.concatenate([vectors_of[each] for each in order.tolist()])
    dual_coef, intercept = np.empty_like(model.dual_coef), np.empty_like(model.intercept)
    slopes, offsets = np.empty((2, intercept.size))
    numbers = {pair: number for number, pair in enumerate(combinations(range(k), 2))}
    for (i, j), number in numbers.items():
        first, second = sorted((int(new[i]), int(new[j])))
        sign = 1.0 if first == new[i] else -1.0
        pair = numbers[first, second]
        intercept[pair] = sign * model.intercept[number]
        if model.sigmoids is not None:
            slopes[pair] = model.sigmoids.slopes[number]
            offsets[pair] = sign * model.sigmoids.offsets[number]
        for mine, other, row in ((i, j, j - 1), (j, i, i)):
            place, of_mine = new[other] - (new[mine] < new[other]), vectors_of[mine]
            dual_coef[place, of_mine] = sign * model.dual_coef[row, of_mine]
    return model._replace(
        vectors=None if model.vectors is None else model.vectors[chosen],
        support=None if model.support is None else model.support[chosen],
        dual_coef=dual_coef[:, chosen],
        n_support=model.n_support[order],
        intercept=intercept,
        classes=model.classes[order],
        tie_order=None,
        sigmoids=model.sigmoids and Sigmoids(slopes, offsets),
    )


def read_libsvm(
    path: str | PathLike[str], kinds: tuple[str, ...], n_features: int | None = None
) -> tuple[dict[str, Any], Model]:
    """Read a model that ``svm-train`` or `write_libsvm` has written.

    Parameters
    ----------
    path : path-like
    kinds : tuple of str
        Values of ``svm_type`` that are wanted.
    n_features : int, default=None
        Columns of the rows to predict; the largest index of the support vectors if None.

    Returns
    -------
    tuple of (dict, Model)
        The kernel's name and parameters, as the estimators have them, and the model.

    Raises
    ------
    ValueError
        Naming the file, the line and what is wrong there.
    """
    place = checked_path(path)
    n_features = optional(as_integer, "n_features", n_features, least=1, most=LARGEST_INT)
    if place.is_dir():
        raise ValueError(f"path must be the path of a file, got {shown(str(path))} instead")
    with place.open(encoding="utf-8-sig", errors="replace") as file:
        reader = _Reader(place, file)
        reader.read_header(kinds)
        values = reader.values
        name, kind, names = KERNELS.get(values["kernel_type"], (GIVEN, None, ()))
        parameters = {each: values[each] for each in names}
        model = reader.read_model(None if kind is None else kind(**parameters), n_features)
    return {"kernel": name, **parameters}, model


def _real(text: str) -> float:
    """Read a finite number as C does; Python would take ``1_000`` as well."""
    number = math.nan if "_" in text else float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _whole(text: str) -> int:
    number = int(text)
    if "_" in text or abs(number) > LARGEST_INT:
        raise ValueError
    return number


def _not_negative(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def checked(text: str) -> Any:
        if (number := read(text)) < 0:
            raise ValueError
        return number

    return checked


#: What each line of the header holds: how its words are read, and what they are called: one word
#: by "a", any number without.
_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "svm_type": (str, "a name"),
    "kernel_type": (str, "a name"),
    "degree": (_not_negative(_whole), "an integer that is not negative"),
    "gamma": (_not_negative(_real), "a finite number that is not negative"),
    "coef0": (_real, "a finite number"),
    "nr_class": (_not_negative(_whole), "an integer that is not negative"),
    "total_sv": (_not_negative(_whole), "an integer that is not negative"),
    "rho": (_real, "finite numbers"),
    "label": (_whole, "integers below 2**31"),
    "nr_sv": (_not_negative(_whole), "integers that are not negative"),
    "probA": (_real, "finite numbers"),
    "probB": (_real, "finite numbers"),
    # Of densities, which are not read.
    "prob_density_marks": (_real, "finite numbers"),
}


class _Reader:
    """The part of a file that has been read, and its place.

    Parameters
    ----------
    path : Path
    file : text file

    Attributes
    ----------
    values : dict
        What the header says.
    """

    def __init__(self, path: Path, file: Any) -> None:
        self._path = path
        self._file = file
        self.values: dict[str, Any] = {}
        self._lines: dict[str, int] = {}
        self._line = 0

    def _words(self) -> Iterator[list[str]]:
        """Yield the words of each line that is left."""
        while line := self._file.readline(_LONGEST_LINE):
            self._line += 1
            if len(line) == _LONGEST_LINE:
                raise self._error("a line must have less than 2**26 characters")
            yield line.split()

    def read_header(self, kinds: tuple[str, ...]) -> None:
        """Read all lines up to the one that says ``SV``."""
        chosen_of = {"svm_type": kinds, "kernel_type": (*KERNELS, GIVEN)}
        for name, *words in (line or [""] for line in self._words()):
            if name == "SV":
                return self._check_header()
            if name not in _READ:
                raise self._error(f"must begin with a name that LIBSVM has, got {shown(name)}")
            if name in self.values:
                raise self._error(f"{name} must be there once, got it again")
            read, expected = _READ[name]
            with self._blamed(f"{name} must be {expected}, got {shown(' '.join(words))} instead"):
                value: Any = [read(word) for word in words]
                if expected.startswith("a"):
                    (value,) = value
            if name in chosen_of and value not in chosen_of[name]:
                names = ", ".join(chosen_of[name])
                raise self._error(f"{name} must be one of {names}, got {shown(value)}")
            if name == "nr_class" and value < 2:
                raise self._error(f"nr_class must be at least 2, got {value}")
            if name == "label" and len(set(value)) < len(value):
                raise self._error("label must name each class once, got one of them twice")
            self.values[name], self._lines[name] = value, self._line
        raise self._error("the file must have a line 'SV' after its header, got its end")

    def _check_header(self) -> None:
        """Check the lines of the header with each other."""
        values = self.values
        classifies = values.get("svm_type") in CLASSIFIERS
        needed = ["svm_type", "kernel_type", "nr_class", "total_sv", "rho"]
        needed += ["label", "nr_sv"] if classifies else []
        needed += KERNELS.get(values.get("kernel_type", ""), (GIVEN, None, ()))[2]
        if missing := [name for name in needed if name not in values]:
            raise self._error(f"the header must have a line {missing[0]!r}, got none")
        k, total = values["nr_class"], values["total_sv"]
        sizes = {"rho": k * (k - 1) // 2}
        if classifies:
            curves = [name for name in _PROBABILITIES if name in values]
            if len(curves) == 1:
                raise self._error("probA and probB must both be there, or none", curves[0])
            sizes |= {"label": k, "nr_sv": k, **dict.fromkeys(curves, sizes["rho"])}
        elif k != 2:
            raise self._error("nr_class must be 2 of a regression", "nr_class")
        for name, size in sizes.items():
            if (found := len(values[name])) != size:
                raise self._error(f"{name} must have {size} entries, got {found}", name)
        if classifies and (found := sum(values["nr_sv"])) != total:
            raise self._error(f"nr_sv must sum to total_sv, {total}, got {found}", "nr_sv")

    def read_model(self, kernel: Kernel | None, n_features: int | None) -> Model:
        """Read the support vectors, and put the model together."""
        values = self.values
        dual_coef, vectors = self._vectors(kernel is None, n_features)
        n_vectors, width = vectors.shape
        if n_features is not None and n_features < width:
            raise ValueError(
                f"n_features must be at least {width}, the largest index in {self._path}, "
                f"got {n_features} instead"
            )
        model = Model(
            kernel=kernel,
            vectors=None if kernel is None else vectors,
            support=vectors.indices.astype(np.intp) if kernel is None else None,
            n_support=np.array([n_vectors], dtype=np.int32),
            dual_coef=dual_coef,
            intercept=0.0 - np.array(values["rho"]),  # no -0.0
            classes=None,
            n_features=width,
        )
        if values["svm_type"] in CLASSIFIERS:
            curves = [0.0 - np.array(values[name]) for name in _PROBABILITIES if name in values]
            model = model._replace(
                n_support=np.array(values["nr_sv"], dtype=np.int32),
                classes=np.array(values["label"], dtype=np.int64),
                sigmoids=Sigmoids(curves[0], curves[1]) if curves else None,
            )
            model = _sorted_by_class(model)
        # A file has no word on this; half of the entries is where memory is the same.
        if kernel is None or vectors.nnz < 0.5 * n_vectors * width:
            return model
        return model._replace(vectors=model.vectors.toarray())

    def _vectors(self, given: bool, n_features: int | None) -> tuple[np.ndarray, Any]:
        """Read coefficients, and support vectors as CSR rows at least one column wide."""
        n_coefs, total = self.values["nr_class"] - 1, self.values["total_sv"]
        coefs, indices, data, ends = array("d"), array("i"), array("d"), array("q", [0])
        for words in filter(None, self._words()):
            if len(ends) > total:
                raise self._error(f"the file must end after {total} support vectors, got another")
            coefs.extend(self._coefs(words[:n_coefs], n_coefs))
            for index, value in self._entries(words[n_coefs:], given):
                indices.append(index)
                data.append(value)
            ends.append(len(indices))
        if (found := len(ends) - 1) < total:
            raise self._error(f"the file must have {total} support vectors, got {found}")
        columns = np.array(indices, dtype=np.int32)
        width = max(n_features or 1, int(columns.max(initial=0)) + 1)
        vectors = sparse.csr_matrix((np.array(data), columns, np.array(ends)), shape=(total, width))
        return np.array(coefs).reshape(total, n_coefs).T.copy(), vectors

    def _coefs(self, words: list[str], n_coefs: int) -> list[float]:
        expected = "a coefficient" if n_coefs == 1 else f"{n_coefs} coefficients"
        with self._blamed(f"a support vector must begin with {expected}, got {shown(words)}"):
            coefs = [_real(word) for word in words]
            if len(coefs) < n_coefs:
                raise ValueError
            return coefs

    def _entries(self, words: list[str], given: bool) -> Iterator[tuple[int, float]]:
        """Yield columns from 0 on and values; of a given matrix, its example in place of these."""
        if given:
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
