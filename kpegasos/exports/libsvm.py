"""Models in LIBSVM's text format, which ``svm-train`` writes and ``svm-predict`` reads.

LIBSVM's signs are those of SVC inside scikit-learn: the decision of a pair is positive for the one
that ``label`` names first, and an intercept is ``-rho``. Of two classes the second comes first
here, so that decisions and ties are those of the estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.exports.model import Model, Sigmoids
from kpegasos.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from kpegasos.utils.files import write_whole
from kpegasos.utils.validation import shown

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
