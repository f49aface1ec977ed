"""Models as plain arrays in SVC's layout, and LIBSVM's text, which ``svm-train`` writes.

LIBSVM's signs are those of SVC inside scikit-learn: the decision of a pair is positive for the one
that ``label`` names first, and an intercept is ``-rho``. Of two classes the second comes first
here, so that decisions and ties are those of the estimators. What is wrong in a file that is read
is named with its line.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator
from itertools import chain, pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.kernels.base import Kernel
from kpegasos.kernels.functions import RBF, Linear, Polynomial, Sigmoid
from kpegasos.utils.boundary import as_indices, checked_vectors, require_numbers
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import as_integer, largest_magnitude, optional, shown

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
_PROBABILITIES = ("probA", "probB")


class Sigmoids(NamedTuple):
    """Probabilities of decisions: ``1 / (1 + exp(-(slope · decision + offset)))``.

    Those of the pairs' positive classes, to be coupled by Wu, Lin and Weng's second method.

    Attributes
    ----------
    slopes, offsets : ndarray of shape (n_pairs,)
    """

    slopes: np.ndarray
    offsets: np.ndarray


class Model(NamedTuple):
    """A fitted model, without how it was trained.

    Attributes
    ----------
    kernel : Kernel or None
        None for a matrix of kernel values that the user gives.
    vectors : ndarray or CSR matrix of shape (n_support_vectors, n_features), or None
        None without a kernel.
    support : ndarray of shape (n_support_vectors,) or None
        Indices of the support vectors among the training examples, if they are known.
    n_support : ndarray of shape (n_classes,) or (1,)
        Support vectors of each class, which come class by class.
    dual_coef : ndarray of shape (n_classes - 1, n_support_vectors)
        One row of a regression.
    intercept : ndarray of shape (n_pairs,)
    classes : ndarray of shape (n_classes,) or None
        Sorted; None of a regression. Of two classes a decision is positive for the second, of more
        that of a pair for the first of the pair.
    n_features : int
        Columns of X; of a given matrix the number of training examples.
    tie_order : ndarray of shape (n_classes,) or None
        Numbers of more than two classes in the order in which ties of the vote go to them; from the
        first to the last if None.
    sigmoids : Sigmoids or None
        None of a model without probabilities.
    """

    kernel: Kernel | None
    vectors: Any
    support: np.ndarray | None
    n_support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray | None
    n_features: int
    tie_order: np.ndarray | None = None
    sigmoids: Sigmoids | None = None


def check_model(model: Model, *, values: bool = False) -> Model:
    """Check what loops and other programs trust, of a model that was read or edited.

    Parameters
    ----------
    model : Model
    values : bool, default=False
        Whether numbers have to be finite and classes to differ, too; it is a look at all of them.

    Returns
    -------
    Model
        With vectors as loops take them.

    Raises
    ------
    ValueError
        Naming an attribute that does not fit the others.
    """
    n_classes = 1
    if model.classes is not None:
        n_classes = require_numbers("classes_", model.classes, None).size
        if n_classes < 2:
            raise ValueError(f"classes_ must be at least two, got {shown(model.classes)} instead")
    n_support = require_numbers("n_support_", model.n_support, (n_classes,), "iu")
    if n_support.min() < 0:
        raise ValueError(f"n_support_ must not be negative, got {shown(n_support)} instead")
    n_vectors, n_pairs = int(n_support.sum()), max(1, n_classes * (n_classes - 1) // 2)
    require_numbers("dual_coef_", model.dual_coef, (max(1, n_classes - 1), n_vectors))
    require_numbers("intercept_", model.intercept, (n_pairs,))
    if model.tie_order is not None:
        require_numbers("_tie_order", model.tie_order, (n_classes,), "iu")
        as_indices("_tie_order", model.tie_order, n_classes)
    n_features = as_integer("n_features_in_", model.n_features, least=1)
    vectors = None
    if model.kernel is None or model.support is not None:  # which a file may not know
        require_numbers("support_", model.support, (n_vectors,), "iu")
    if model.kernel is None:
        as_indices("support_", model.support, n_features)
    else:
        vectors = checked_vectors("support_vectors_", model.vectors, (n_vectors, n_features))
    if values:
        if not (model.kernel is None or isinstance(model.kernel, Kernel)):
            raise ValueError(f"_kernel must be a kernel, got {shown(model.kernel)} instead")
        numbers = {"dual_coef_": model.dual_coef, "intercept_": model.intercept}
        for name, array in {**numbers, "support_vectors_": vectors}.items():
            if array is not None and not np.isfinite(largest_magnitude(array)):
                raise ValueError(f"{name} must be finite, got NaN or infinity")
    return model._replace(vectors=vectors)


# --- the text ---


def write_libsvm(path: str | PathLike[str], model: Model) -> None:
    """Write a model to a file that LIBSVM's programs read.

    Parameters
    ----------
    path : path-like
    model : Model

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel, or the classes are no integers.
    """
    if model.classes is not None:
        order = np.array([1, 0]) if model.classes.size == 2 else model.tie_order
        model = model if order is None else _reordered(model, order)
    lines = [*_header(model), "SV"]
    write_whole(path, (f"{line}\n".encode("ascii") for line in chain(lines, _rows(model))))


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
    whole = float(getattr(kernel, "degree", 0.0)).is_integer()
    for name, (_, kind, parameters) in KERNELS.items():
        if type(kernel) is kind and whole:
            values = {each: getattr(kernel, each) for each in parameters}
            return name, {k: int(v) if k == "degree" else v for k, v in values.items()}
    return None


def _header(model: Model) -> Iterator[str]:
    """Yield the lines before the support vectors."""
    classes, kernel = model.classes, model.kernel
    yield f"svm_type {'epsilon_svr' if classes is None else 'c_svc'}"
    named = (GIVEN, {}) if kernel is None else named_kernel(kernel)
    if named is None:
        raise ValueError(
            f"kernel must be one that LIBSVM has ({', '.join(KERNELS)} or {GIVEN}; degrees are "
            f"integers), got {shown(kernel)} instead"
        )
    yield f"kernel_type {named[0]}"
    yield from (f"{key} {value!r}" for key, value in named[1].items())
    yield f"nr_class {2 if classes is None else classes.size}"
    yield f"total_sv {model.dual_coef.shape[1]}"
    numbers: dict[str, Any] = {"rho": -model.intercept}
    if classes is not None:
        numbers["label"] = _integers(classes)
        if model.sigmoids is not None:  # LIBSVM's are of falling curves
            falling = (0.0 - each for each in model.sigmoids)
            numbers |= dict(zip(_PROBABILITIES, falling, strict=True))
        numbers["nr_sv"] = model.n_support
    for name, values in numbers.items():
        yield f"{name} {' '.join(map(repr, values.tolist()))}"


def _integers(classes: np.ndarray) -> np.ndarray:
    """Return classes as LIBSVM has them."""
    numbers = classes.astype(np.float64) if classes.dtype.kind in "biuf" else np.full(1, np.nan)
    whole = (numbers == np.trunc(numbers)).all() and np.abs(numbers).max() <= LARGEST_INT
    got = shown(classes.tolist())
    _require(bool(whole), f"classes_ must be integers below 2**31 for LIBSVM, got {got} instead")
    return classes.astype(np.int64)


def _rows(model: Model) -> Iterator[str]:
    """Yield a line for each support vector."""
    places: Any = model.support
    rows = sparse.csr_matrix(model.dual_coef.T.shape if model.kernel is None else model.vectors)
    rows = rows.sorted_indices()
    for k, coefs in enumerate(model.dual_coef.T.tolist()):
        cut = slice(rows.indptr[k], rows.indptr[k + 1])
        columns, values = rows.indices[cut].tolist(), rows.data[cut].tolist()
        entries = [f"{c + 1}:{v!r}" for c, v in zip(columns, values, strict=True) if v]
        entries = [f"0:{places[k] + 1}"] if model.kernel is None else entries
        yield " ".join([*map(repr, coefs), *entries])


def _reordered(model: Model, order: np.ndarray) -> Model:
    """Return the same model with its classes in another order, and without a ``tie_order``.

    Decisions of a pair are positive for its first class; of two classes for the second where they
    are ours, and for the first where they are LIBSVM's.

    Parameters
    ----------
    model : Model
    order : ndarray of shape (n_classes,)
        The present index of each class-to-be.
    """
    assert model.classes is not None
    k, numbers = order.size, np.arange(order.size)[:, None]
    pairs, other_way = np.triu_indices(k, 1), -1.0 if k == 2 else 1.0
    before, after = (np.repeat(numbers, n) for n in (model.n_support, model.n_support[order]))
    chosen = np.argsort(np.argsort(order)[before], kind="stable")
    # Of each support vector against each class, in decisions that are positive for its own.
    coefs = np.zeros((k, before.size))
    coefs.T[(numbers != before).T] = model.dual_coef.T.ravel()
    coefs *= np.where(numbers > before, 1.0, -1.0)
    coefs = other_way * coefs[order][:, chosen] * np.where(numbers > after, 1.0, -1.0)

    def of_pairs(values: np.ndarray, sign: float) -> np.ndarray:
        square = np.zeros((k, k))
        square[pairs], square.T[pairs] = values, sign * values
        return np.asarray(square[np.ix_(order, order)][pairs])

    sigmoids = model.sigmoids
    if sigmoids is not None:
        offsets = other_way * of_pairs(sigmoids.offsets, -1.0)
        sigmoids = Sigmoids(of_pairs(sigmoids.slopes, 1.0), offsets)
    return model._replace(
        vectors=None if model.vectors is None else model.vectors[chosen],
        support=None if model.support is None else model.support[chosen],
        dual_coef=coefs.T[(numbers != after).T].reshape(-1, k - 1).T,
        n_support=model.n_support[order],
        intercept=other_way * of_pairs(model.intercept, -1.0),
        classes=model.classes[order],
        tie_order=None,
        sigmoids=sigmoids,
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
    with place.open(encoding="utf-8-sig", errors="replace") as file:
        lines = _Lines(file)
        try:
            header = _read_header(lines, kinds)
            dual_coef, vectors = _read_vectors(lines, header)
        except ValueError as error:
            raise ValueError(f"{place}, line {lines.number}: {error}") from None
    width, needed = n_features or vectors.shape[1], vectors.shape[1]
    message = f"n_features must be at least {needed}, the largest index in {place}, got {width}"
    _require(width >= needed, message)
    vectors.resize(vectors.shape[0], width)
    name, kind, names = KERNELS.get(header["kernel_type"][0], (GIVEN, None, ()))
    parameters = {each: header[each][0] for each in names}
    # A file has no word on this; half of the entries is where memory is the same.
    is_sparse = vectors.nnz < 0.5 * vectors.shape[0] * width
    model = Model(
        kernel=None if kind is None else kind(**parameters),
        vectors=None if kind is None else vectors if is_sparse else vectors.toarray(),
        support=vectors.indices.astype(np.intp) if kind is None else None,
        n_support=np.array(header["nr_sv"], dtype=np.int32),
        dual_coef=dual_coef,
        intercept=0.0 - np.array(header["rho"]),  # no -0.0
        classes=None,
        n_features=width,
    )
    if header["svm_type"][0] in CLASSIFIERS:
        model = _classifier(model, header)
    return {"kernel": name, **parameters}, model


def _classifier(model: Model, header: dict[str, list[Any]]) -> Model:
    """Return a model with the classes that a header has, in order."""
    labels = np.array(header["label"], dtype=np.int64)
    curves = [0.0 - np.array(header[name]) for name in _PROBABILITIES if name in header]
    sigmoids, order = Sigmoids(*curves) if curves else None, np.argsort(labels)
    model = _reordered(model._replace(classes=labels, sigmoids=sigmoids), order)
    is_sorted = labels.size == 2 or (order == np.arange(order.size)).all()
    return model._replace(tie_order=None if is_sorted else np.argsort(order))


#: What lines of the header hold that name nothing: numbers of a kind, of this size at the least.
_READ: dict[str, tuple[type, float]] = {
    **dict.fromkeys(("degree", "total_sv", "nr_sv"), (int, 0.0)),
    **{"nr_class": (int, 2.0), "label": (int, -LARGEST_INT), "gamma": (float, 0.0)},
    # Marks of a density are not used.
    **dict.fromkeys(("coef0", "rho", "probA", "probB", "prob_density_marks"), (float, -math.inf)),
}


class _Lines:
    """The lines of a file that are left, and the number of the last one that was read.

    Parameters
    ----------
    file : text file
    """

    def __init__(self, file: Any) -> None:
        self._file, self.number = file, 0

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the words of each."""
        for line in self._file:
            self.number += 1
            yield line.split()


def _require(fact: bool, message: str) -> None:
    if not fact:
        raise ValueError(message)


def _numbers(words: list[str], kind: type, least: float, message: str) -> list[Any]:
    """Read finite numbers as C does; Python would take ``1_000`` as well."""
    most = LARGEST_INT if kind is int else sys.float_info.max
    try:
        numbers = [kind(word) for word in words]
    except ValueError:
        raise ValueError(message) from None
    fits = all(max(least, -most) <= number <= most for number in numbers)
    _require(fits and "_" not in "".join(words), message)
    return numbers


def _read_header(lines: _Lines, kinds: tuple[str, ...]) -> dict[str, list[Any]]:
    """Read all lines up to the one that says ``SV``; return what each holds by its name."""
    choices = {"svm_type": kinds, "kernel_type": (*KERNELS, GIVEN)}
    header: dict[str, list[Any]] = {}
    for name, *words in (line or [""] for line in lines):
        if name == "SV":
            break
        got = f"got {shown(' '.join(words))} instead"
        is_new = name in (*choices, *_READ) and name not in header
        _require(is_new, f"must begin with a name that LIBSVM has, and once, got {shown(name)}")
        if name in choices:
            names = ", ".join(choices[name])
            _require(" ".join(words) in choices[name], f"{name} must be one of {names}, {got}")
        header[name] = words
        if name in _READ:
            kind, least = _READ[name]
            expected = "whole" if kind is int else "finite"
            limit = f" of at least {least:g}" if abs(least) < LARGEST_INT else ""
            message = f"{name} must be {expected} numbers{limit}, {got}"
            header[name] = _numbers(words, kind, least, message)
    else:
        raise ValueError("the file must have a line 'SV' after its header, got its end")
    sizes = dict.fromkeys((*choices, "nr_class", "total_sv", "rho"), 1)
    of_kernel = KERNELS.get(" ".join(header.get("kernel_type", ())))
    sizes |= dict.fromkeys(of_kernel[2] if of_kernel else (), 1)
    if header.get("svm_type", [""])[0] in CLASSIFIERS:
        (k,) = header.get("nr_class") or [2]
        curves = _PROBABILITIES if header.keys() & set(_PROBABILITIES) else ()
        sizes |= {"label": k, "nr_sv": k, **dict.fromkeys(("rho", *curves), k * (k - 1) // 2)}
    else:
        header["nr_class"], header["nr_sv"], header["label"] = [2], header.get("total_sv", []), [0]
    for name, size in sizes.items():
        n = len(header.get(name, ()))
        _require(n == size, f"the header must have {size} entries of {name}, got {n}")
    labels, total, counted = header["label"], header["total_sv"][0], sum(header["nr_sv"])
    _require(len(set(labels)) == len(labels), "label must name each class once")
    _require(counted == total, f"nr_sv must sum to total_sv, {total}, got {counted}")
    return header


def _read_vectors(lines: _Lines, header: dict[str, list[Any]]) -> tuple[np.ndarray, Any]:
    """Read coefficients, and support vectors as CSR rows at least one column wide.

    Those of a precomputed kernel have an entry in the column of their example.
    """
    n_coefs, total = header["nr_class"][0] - 1, header["total_sv"][0]
    precomputed = header["kernel_type"] == [GIVEN]
    entries = "'0:' and a number" if precomputed else "'index:value', indices ascending"
    coefs, indices, data, ends = array("d"), array("i"), array("d"), array("q", [0])
    for words in filter(None, lines):
        _require(len(ends) <= total, f"the file must end after {total} support vectors")
        got = shown(" ".join(words))
        message = f"must be {n_coefs} coefficients and {entries} from 1 on, got {got} instead"
        row_coefs = _numbers(words[:n_coefs], float, -math.inf, message)
        parts = [word.partition(":") for word in words[n_coefs:]]
        columns = _numbers([head for head, _, _ in parts], int, not precomputed, message)
        tails, kind = [tail for _, _, tail in parts], int if precomputed else float
        values = _numbers(tails, kind, 1 if precomputed else -math.inf, message)
        if precomputed:
            columns, values = values, [1.0] * (columns == [0])
        ascend = all(one < other for one, other in pairwise(columns))
        _require(ascend and len(columns) == len(values) and len(row_coefs) == n_coefs, message)
        coefs.extend(row_coefs)
        indices.extend(columns)
        data.extend(values)
        ends.append(len(indices))
    n_read = len(ends) - 1
    _require(n_read == total, f"the file must have {total} support vectors, got {n_read}")
    places = np.array(indices, dtype=np.int32) - 1
    shape = total, int(places.max(initial=0)) + 1
    vectors = sparse.csr_matrix((np.array(data), places, np.array(ends)), shape=shape)
    return np.array(coefs).reshape(total, n_coefs).T.copy(), vectors
