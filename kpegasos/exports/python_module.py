"""Models as Python modules that need NumPy and nothing else.

A module holds the arrays in base64, exact to the last bit, and the few lines that make decisions,
votes and probabilities of them; `python_pieces` has these lines.
"""

from __future__ import annotations

import base64
from os import PathLike
from textwrap import fill

import numpy as np

from kpegasos.exports import python_pieces as pieces
from kpegasos.exports.model import Model
from kpegasos.exports.terms import check_ties, dense, float64_rows, kernel_terms, plain_classes
from kpegasos.kernels.functions import Linear
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.version import VERSION

#: Of arrays, in bytes; a module is text, which is read as a whole.
LARGEST_BYTES = 2**30


def write_python(
    path: str | PathLike[str],
    model: Model,
    coefs: np.ndarray,
    *,
    shape: str = "ovr",
    break_ties: bool = False,
) -> None:
    """Write a model as a Python module.

    Parameters
    ----------
    path : path-like
    model : Model
    coefs : ndarray of shape (n_pairs, n_support_vectors)
        Coefficients of each pair.
    shape : {"ovr", "ovo"}, default="ovr"
        Whether decisions of several classes have a column for each class, or for each pair.
    break_ties : bool, default=False
        Break ties of the vote by the decisions.

    Raises
    ------
    ValueError
        If the kernel or the classes cannot be written, or the model is too large.
    """
    checked_path(path)
    check_ties(shape, break_ties)
    arrays, expression = _arrays(model, coefs)
    sums = (
        "X @ WEIGHTS.T" if "WEIGHTS" in arrays else "_kernel(X, SUPPORT_VECTORS) @ COEFFICIENTS.T"
    )
    body = pieces.DECISIONS.format(sums=sums) + _functions(model, shape, break_ties)
    helpers = ""
    for name, text in pieces.HELPERS.items():
        if f"{name}(" in body + helpers:
            helpers = text.replace("{expression}", expression) + helpers
    head = [f"N_FEATURES = {int(model.n_features)}\n"]
    if model.classes is not None:
        head.append(f"CLASSES = {_classes(model.classes)}\n")
    head += [_assignment(name, values) for name, values in arrays.items()]
    parts = [_docstring(model), pieces.IMPORTS, pieces.ARRAY, *head, helpers, body]
    if "combinations(" not in helpers:
        parts[1] = pieces.IMPORTS.replace("from itertools import combinations\n", "")
    write_whole(path, (part.encode("ascii") for part in parts))


def _docstring(model: Model) -> str:
    kernel = kernel_terms(model.kernel, "Python")
    kind = "regressor" if model.classes is None else f"classifier of {model.classes.size} classes"
    about = (
        f"It is a {kind} with {model.dual_coef.shape[1]} support vectors, and needs NumPy only. "
        f"Rows to predict have {model.n_features} features. The functions have the names and the "
        f"results of the estimator's methods."
    )
    return (
        f'"""A model that kpegasos {VERSION} has trained, with the kernel {kernel["name"]!r}.\n\n'
        f'{fill(about, 88)}\n"""\n\n'
    )


def _classes(classes: np.ndarray) -> str:
    """The classes as an array of the same type."""
    listed = ", ".join(ascii(each) for each in plain_classes(classes, "Python"))
    kind = "object" if classes.dtype == object else repr(classes.dtype.str)
    return f"np.array([{listed}], dtype={kind})"


def _assignment(name: str, values: np.ndarray) -> str:
    """An array by its name."""
    text = base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")
    lines = "\n".join(text[begin : begin + 96] for begin in range(0, len(text), 96))
    return f'{name} = _array({values.shape}, """\n{lines}\n""")\n'


def _arrays(model: Model, coefs: np.ndarray) -> tuple[dict[str, np.ndarray], str]:
    """Arrays by their names, and the kernel as an expression of them."""
    terms = kernel_terms(model.kernel, "Python")
    others = {"INTERCEPTS": model.intercept}
    if model.sigmoids is not None:
        others |= {"SLOPES": model.sigmoids.slopes, "OFFSETS": model.sigmoids.offsets}
    if coefs.shape[1] == 0:
        return {"WEIGHTS": np.zeros((len(coefs), model.n_features)), **others}, ""
    if model.vectors is None:
        assert model.support is not None
        named = {"SUPPORT_VECTORS": model.support.astype(np.float64)}
    else:
        vectors, is_linear = float64_rows(model.vectors), type(model.kernel) is Linear
        _check_size(len(coefs) if is_linear else vectors.shape[0], vectors.shape[1])
        if is_linear:
            return {"WEIGHTS": np.asarray(coefs @ vectors), **others}, ""
        named = {"SUPPORT_VECTORS": dense(vectors)}
    return {**named, "COEFFICIENTS": coefs, **others}, pieces.expression(terms)


def _check_size(n_rows: int, n_features: int) -> None:
    """Check that an array may be part of a module."""
    if 8 * n_rows * n_features > LARGEST_BYTES:
        raise ValueError("support_vectors_ must be below 1 GiB with their zeros for Python")


def _functions(model: Model, shape: str, break_ties: bool) -> str:
    """What the module offers."""
    if model.classes is None:
        return pieces.REGRESSION
    k, of_pairs = model.classes.size, model.sigmoids and model.sigmoids.of_pairs
    order = list(range(k)) if model.tie_order is None else model.tie_order.tolist()
    return pieces.classifier(k, shape, break_ties, order, of_pairs)
