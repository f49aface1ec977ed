"""Models in LIBSVM's text format, which ``svm-train`` writes and ``svm-predict`` reads.

LIBSVM's signs are those of SVC inside scikit-learn: the decision of a pair is positive for the one
that ``label`` names first, and an intercept is ``-rho``. Of two classes the second comes first
here, so that decisions and ties are those of the estimators. What is wrong in a file that is read
is named with its line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.exports.model import Model, Sigmoids
from kpegasos.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import as_integer, optional, shown

#: LIBSVM's names of the kernels that it has, and of their parameters there and here.
KERNELS: dict[str, tuple[type, tuple[str, ...]]] = {
    "linear": (Linear, ()),
    "polynomial": (Polynomial, ("degree", "gamma", "coef0")),
    "rbf": (RBF, ("gamma",)),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
}
#: What scikit-learn and the estimators call those that have another name there.
NAMES = {"polynomial": "poly"}
#: C's int, of labels, degrees and indices.
LARGEST_INT = 2**31 - 1


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
    ordered = _as_libsvm_orders(model)
    header = "".join(f"{line}\n" for line in _header(ordered))
    write_whole(path, _with_vectors(header, ordered))


def named_kernel(kernel: Kernel) -> tuple[str, dict[str, Any]] | None:
    """LIBSVM's name and parameters of a kernel.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    tuple of (str, dict) or None
        None of a kernel that LIBSVM does not have, by its kind or by a degree that is no integer.
    """
    for name, (kind, parameters) in KERNELS.items():
        if type(kernel) is kind:
            values = {each: getattr(kernel, each) for each in parameters}
            if "degree" in values:
                degree = float(values["degree"])
                if not (degree.is_integer() and 0 <= degree <= LARGEST_INT):
                    return None
                values["degree"] = int(degree)
            return name, values
    return None


def _kernel_lines(kernel: Kernel | None) -> list[str]:
    """The lines of the kernel."""
    if kernel is None:
        return ["kernel_type precomputed"]
    named = named_kernel(kernel)
    if named is None and type(kernel) is Polynomial:
        raise ValueError(f"kernel must have a degree that is an integer for LIBSVM, got {kernel!r}")
    if named is None:
        raise ValueError(
            f"kernel must be one that LIBSVM has ({', '.join(KERNELS)} or precomputed), "
            f"got {shown(kernel)} instead"
        )
    name, values = named
    return [f"kernel_type {name}", *(f"{key} {value!r}" for key, value in values.items())]


def _integers(classes: np.ndarray) -> list[int]:
    """Classes as LIBSVM has them."""
    if classes.dtype.kind in "biuf":
        numbers = [int(each) for each in classes.tolist() if float(each).is_integer()]
        if len(numbers) == classes.size and max(map(abs, numbers)) <= LARGEST_INT:
            return numbers
    raise ValueError(
        f"classes_ must be integers below 2**31 for LIBSVM, got {shown(classes.tolist())} instead"
    )


def _header(model: Model) -> Iterator[str]:
    """The lines before the support vectors."""
    yield f"svm_type {'epsilon_svr' if model.classes is None else 'c_svc'}"
    yield from _kernel_lines(model.kernel)
    yield f"nr_class {2 if model.classes is None else model.classes.size}"
    yield f"total_sv {model.dual_coef.shape[1]}"
    yield f"rho {' '.join(repr(-each) for each in model.intercept.tolist())}"
    if model.classes is not None:
        yield f"label {' '.join(map(str, _integers(model.classes)))}"
        if model.sigmoids is not None:
            # LIBSVM's are of falling curves.
            yield f"probA {' '.join(repr(0.0 - each) for each in model.sigmoids.slopes.tolist())}"
            yield f"probB {' '.join(repr(0.0 - each) for each in model.sigmoids.offsets.tolist())}"
        yield f"nr_sv {' '.join(map(str, model.n_support.tolist()))}"
    yield "SV"


def _with_vectors(header: str, model: Model) -> Iterator[bytes]:
    """The file's content, a support vector at a time."""
    yield header.encode("ascii")
    for number, coefs in enumerate(model.dual_coef.T.tolist()):
        entries = " ".join(_entries(model, number))
        yield f"{' '.join(map(repr, coefs))} {entries}\n".encode("ascii")


def _entries(model: Model, number: int) -> Iterator[str]:
    """The features of a support vector, or its place among the training examples."""
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


def _as_libsvm_orders(model: Model) -> Model:
    """The model with the first of two classes last, or several as ties go to them."""
    if model.classes is None:
        return model
    if model.classes.size == 2:
        # Ours is positive for the second, which is now the first: no sign changes.
        return _negated(reordered(model, np.array([1, 0])))
    return model if model.tie_order is None else reordered(model, model.tie_order)


def sorted_by_class(model: Model) -> Model:
    """A model with LIBSVM's order of the classes and LIBSVM's signs, as the estimators have it.

    Parameters
    ----------
    model : Model
        Decisions of a pair are positive for the first, of two classes as well.

    Returns
    -------
    Model
    """
    assert model.classes is not None
    order = np.argsort(model.classes)
    in_order = reordered(model, order)
    if order.size == 2:
        return _negated(in_order)
    is_sorted = (order == np.arange(order.size)).all()
    return in_order._replace(tie_order=None if is_sorted else np.argsort(order))


def _negated(model: Model) -> Model:
    """The model whose decisions are positive for the other class of each pair."""
    sigmoids = model.sigmoids
    return model._replace(
        dual_coef=-model.dual_coef,
        intercept=-model.intercept,
        sigmoids=sigmoids and sigmoids._replace(offsets=-sigmoids.offsets),
    )


def reordered(model: Model, order: np.ndarray) -> Model:
    """The same model with its classes in another order.

    Parameters
    ----------
    model : Model
        Decisions of a pair are positive for the first, of two classes as well.
    order : ndarray of shape (n_classes,)
        The present number of each class-to-be.

    Returns
    -------
    Model
        Without a ``tie_order``.
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
