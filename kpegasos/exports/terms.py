"""A model's kernel and classes in words and numbers that any program has."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.kernels.compose import Product, Scaled, Sum
from kpegasos.kernels.functions import (
    RBF,
    AdditiveChi2,
    Chi2,
    Cosine,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from kpegasos.utils.validation import shown

#: Kinds of kernels by the estimators' names, and their parameters.
_NAMED: dict[type, tuple[str, tuple[str, ...]]] = {
    Linear: ("linear", ()),
    Polynomial: ("poly", ("gamma", "degree", "coef0")),
    RBF: ("rbf", ("gamma",)),
    Sigmoid: ("sigmoid", ("gamma", "coef0")),
    Laplacian: ("laplacian", ("gamma",)),
    Chi2: ("chi2", ("gamma",)),
    AdditiveChi2: ("additive_chi2", ()),
    Cosine: ("cosine", ()),
}


def check_ties(shape: str, break_ties: bool) -> None:
    """Check that ties are broken only where there are values of classes.

    Parameters
    ----------
    shape : {"ovr", "ovo"}
        Whether decisions have a column for each class, or for each pair.
    break_ties : bool

    Raises
    ------
    ValueError
    """
    if break_ties and shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")


def kernel_terms(kernel: Kernel | None, program: str) -> dict[str, Any]:
    """A kernel as names and numbers.

    Parameters
    ----------
    kernel : Kernel or None
    program : str
        What they are for, for messages.

    Returns
    -------
    dict
        ``"name"`` and parameters; of ``"sum"`` and ``"product"`` the ``"parts"``, of ``"scaled"``
        the ``"factor"`` and the ``"kernel"``. Without a kernel the name is ``"precomputed"``.

    Raises
    ------
    ValueError
        If the kernel is a function, or of a class of the user's.
    """
    if kernel is None:
        return {"name": "precomputed"}
    if type(kernel) in _NAMED:
        name, parameters = _NAMED[type(kernel)]
        return {"name": name, **{each: _number(getattr(kernel, each)) for each in parameters}}
    if isinstance(kernel, Scaled):
        inner = kernel_terms(kernel.kernel, program)
        return {"name": "scaled", "factor": _number(kernel.factor), "kernel": inner}
    for kind, name in ((Sum, "sum"), (Product, "product")):
        if isinstance(kernel, kind):
            parts = [kernel_terms(part, program) for part in kernel.parts]
            return {"name": name, "parts": parts}
    raise ValueError(
        f"kernel must be one of the package's, or made of these, for {program}, got {shown(kernel)}"
    )


def _number(value: Any) -> int | float:
    """A number of Python's."""
    return value if type(value) is int else float(value)


def plain_classes(classes: np.ndarray, program: str) -> list[Any]:
    """Classes as truth values, integers, floats or strings of Python.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    program : str
        What they are for, for messages.

    Raises
    ------
    ValueError
        If they are of another type.
    """
    values = classes.tolist()
    if all(isinstance(each, bool | int | float | str) for each in values):
        return values
    raise ValueError(
        f"classes_ must be integers, floats, strings or truth values for {program}, got "
        f"{shown(values)} instead"
    )


def float64_rows(vectors: Any) -> Any:
    """Support vectors in float64, as an array or a CSR matrix."""
    if sparse.issparse(vectors):
        return vectors.tocsr().astype(np.float64)
    return np.asarray(vectors, dtype=np.float64)


def dense(vectors: Any) -> np.ndarray:
    """Support vectors as an array."""
    return np.asarray(vectors.toarray() if sparse.issparse(vectors) else vectors)
