"""Models as ONNX graphs of primitive operators, in float64 throughout.

``SVMClassifier`` and ``SVMRegressor`` of ONNX-ML are not used: they compute in float32, and their
votes and signs differ from LIBSVM's. A graph grows node by node: kernel values between the rows of
the input and the support vectors, decisions of pairs, votes and one-vs-rest values as scikit-learn
has them. ONNX has no operator that solves equations, so the coupling of probabilities is an
elimination, written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.exports.model import Model, Sigmoids, check_ties
from kpegasos.kernels.compose import Product, Scaled, Sum
from kpegasos.kernels.functions import (
    RBF,
    AdditiveChi2,
    Chi2,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import shown


def float64_rows(vectors: Any) -> Any:
    """Support vectors in float64, as an array or a CSR matrix."""
    if sparse.issparse(vectors):
        return vectors.tocsr().astype(np.float64)
    return np.asarray(vectors, dtype=np.float64)


def dense(vectors: Any) -> np.ndarray:
    """Support vectors as an array."""
    return np.asarray(vectors.toarray() if sparse.issparse(vectors) else vectors)


#: Of the operators used here the oldest that has them all, and the file format of its time; so that
#: runtimes of 2022 and later read it.
OPSET, IR_VERSION = 17, 8
#: A file of protocol buffers may not be larger.
LARGEST_BYTES = 2**31 - 2**20


def import_onnx() -> Any:
    """The package onnx.

    Raises
    ------
    ImportError
        Saying how to install it.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx: pip install 'kpegasos[onnx]' installs it"
        ) from error
    return onnx


class Graph:
    """Nodes and constants, in the order in which they were added.

    Parameters
    ----------
    prefix : str, default=""
        Begins every name, so that those of a graph inside another are its own.
    """

    def __init__(self, prefix: str = "") -> None:
        self._onnx = import_onnx()
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._bytes = 0
        self._n_inner = 0

    def inner(self) -> Graph:
        """A graph to be run inside this one, whose names are its own."""
        self._n_inner += 1
        return Graph(f"{self._prefix}inner_{self._n_inner}_")

    def name(self, name: str) -> str:
        """A name that no other graph has."""
        return f"{self._prefix}{name}"

    def check_room(self, n_bytes: int) -> None:
        """Raise an error if a file would be too large with so many bytes more."""
        if self._bytes + n_bytes > LARGEST_BYTES:
            raise ValueError("support_vectors_ must be below 2 GiB for ONNX, whose files end there")

    def constant(self, values: Any) -> str:
        """Name of an array that is part of the model."""
        array = np.asarray(values)
        self.check_room(array.nbytes)
        self._bytes += array.nbytes
        name = self.name(f"constant_{len(self._constants)}")
        make = self._onnx.numpy_helper.from_array
        if array.dtype.kind in "OU":
            array = np.array(array.tolist(), dtype=object)
        self._constants.append(make(np.ascontiguousarray(array), name))
        return name

    def node(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Name of the result of an operator."""
        name = output or self.name(f"{operator.lower()}_{len(self._nodes)}")
        made = self._onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self._nodes.append(made)
        return name

    def number(self, condition: str, kind: int | None = None) -> str:
        """0 and 1 for false and true; float64 unless another type is named."""
        return self.node("Cast", condition, to=kind or self._onnx.TensorProto.DOUBLE)

    def sum(self, values: str, axis: int) -> str:
        """Sums along an axis, which stays."""
        return self.node("ReduceSum", values, self.constant(np.array([axis])), keepdims=1)

    def each_row(self, rows: str, inner: Graph, row: str, result: str) -> str:
        """What a graph makes of each row, stacked; it may use the names of this one."""
        helper, double = self._onnx.helper, self._onnx.TensorProto.DOUBLE
        body = helper.make_graph(
            inner._nodes,
            "of_a_row",
            [helper.make_tensor_value_info(row, double, None)],
            [helper.make_tensor_value_info(result, double, None)],
            inner._constants,
        )
        return self.node("Scan", rows, body=body, num_scan_inputs=1)

    def serialised(
        self, name: str, inputs: dict[str, tuple[int, list[Any]]], outputs: dict[str, Any]
    ) -> bytes:
        """The file's content.

        Parameters
        ----------
        name : str
            Of the graph.
        inputs, outputs : dict of str to (type, shape)
        """
        helper = self._onnx.helper

        def described(values: dict[str, Any]) -> list[Any]:
            return [helper.make_tensor_value_info(key, *kind) for key, kind in values.items()]

        graph = helper.make_graph(
            self._nodes, name, described(inputs), described(outputs), self._constants
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="kpegasos",
        )
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


#: ``write(graph, x, vectors, kernel)`` adds the nodes and names the values.
Write = Callable[[Graph, str, np.ndarray, Any], str]


def kernel_nodes(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    """Name of the kernel values, of shape (n_samples, n_support_vectors).

    Parameters
    ----------
    graph : Graph
    x : str
        Name of the rows.
    vectors : ndarray of shape (n_support_vectors, n_features), float64
    kernel : Kernel

    Raises
    ------
    ValueError
        If the kernel is a function, or of a class of the user's.
    """
    for kind, write in _WRITERS.items():
        # Compositions have a subclass for inner products; users' own are not known.
        if type(kernel) is kind or (kind in _COMPOSED and isinstance(kernel, kind)):
            return write(graph, x, vectors, kernel)
    raise ValueError(
        f"kernel must be one of the package's, or made of these, for ONNX, got {shown(kernel)}"
    )


def _products(graph: Graph, x: str, vectors: np.ndarray) -> str:
    return graph.node("MatMul", x, graph.constant(vectors.T))


def _affine(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    """``gamma <a, b> + coef0``."""
    scaled = _times(graph, _products(graph, x, vectors), kernel.gamma)
    return graph.node("Add", scaled, graph.constant(float(kernel.coef0)))


def _times(graph: Graph, values: str, factor: float) -> str:
    return graph.node("Mul", values, graph.constant(float(factor)))


def _linear(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return _products(graph, x, vectors)


def _polynomial(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    power = graph.constant(float(kernel.degree))
    return graph.node("Pow", _affine(graph, x, vectors, kernel), power)


def _sigmoid(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Tanh", _affine(graph, x, vectors, kernel))


def _gaussian(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    # About the vectors' mean: a distance is a difference of squares, which should be small.
    mean = vectors.mean(axis=0)
    vectors = vectors - mean
    x = graph.node("Sub", x, graph.constant(mean))
    own = graph.sum(graph.node("Mul", x, x), 1)
    norms = graph.node("Add", own, graph.constant((vectors**2).sum(axis=1)))
    doubled = _times(graph, _products(graph, x, vectors), 2.0)
    distances = graph.node("Max", graph.node("Sub", norms, doubled), graph.constant(0.0))
    return graph.node("Exp", _times(graph, distances, -kernel.gamma))


def _cosine(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    def length(squares: Any) -> Any:
        return np.where(squares == 0.0, 1.0, np.sqrt(squares))

    unit = vectors / length((vectors**2).sum(axis=1, keepdims=True))
    norm = graph.node("Sqrt", graph.sum(graph.node("Mul", x, x), 1))
    zero = graph.node("Equal", norm, graph.constant(0.0))
    norm = graph.node("Where", zero, graph.constant(1.0), norm)
    return _products(graph, graph.node("Div", x, norm), unit)


def _laplacian(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    inner, row = _row_of(graph)
    sizes = inner.node("Abs", inner.node("Sub", graph.constant(vectors), row))
    distances = graph.each_row(x, inner, row, _row_sums(inner, sizes))
    return graph.node("Exp", _times(graph, distances, -kernel.gamma))


def _chi2_sums(graph: Graph, x: str, vectors: np.ndarray) -> str:
    """``Σ (a − b)² / (a + b)``, a term of zeros being none."""
    inner, row = _row_of(graph)
    name = graph.constant(vectors)
    difference, total = inner.node("Sub", name, row), inner.node("Add", name, row)
    zero = inner.node("Equal", total, inner.constant(0.0))
    total = inner.node("Where", zero, inner.constant(1.0), total)
    terms = inner.node("Div", inner.node("Mul", difference, difference), total)
    return graph.each_row(x, inner, row, _row_sums(inner, terms))


def _row_of(graph: Graph) -> tuple[Graph, str]:
    """A graph for one row at a time, as all at once would take a cube of differences."""
    inner = graph.inner()
    return inner, inner.name("row")


def _row_sums(graph: Graph, values: str) -> str:
    return graph.node("ReduceSum", values, graph.constant(np.array([1])), keepdims=0)


def _chi2(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Exp", _times(graph, _chi2_sums(graph, x, vectors), -kernel.gamma))


def _additive_chi2(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Neg", _chi2_sums(graph, x, vectors))


def _scaled(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return _times(graph, kernel_nodes(graph, x, vectors, kernel.kernel), kernel.factor)


def _joined(operator: str) -> Write:
    def write(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
        parts = [kernel_nodes(graph, x, vectors, part) for part in kernel.parts]
        return reduce(lambda left, right: graph.node(operator, left, right), parts)

    return write


_COMPOSED = (Product, Scaled, Sum)
_WRITERS: dict[type, Write] = {
    Linear: _linear,
    Polynomial: _polynomial,
    RBF: _gaussian,
    Sigmoid: _sigmoid,
    Laplacian: _laplacian,
    Cosine: _cosine,
    Chi2: _chi2,
    AdditiveChi2: _additive_chi2,
    Sum: _joined("Add"),
    Product: _joined("Mul"),
    Scaled: _scaled,
}


def _sides(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Ones at the first and at the second class of each pair, of shape (n_pairs, n_classes)."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    first, second = np.eye(n_classes)[pairs.T]
    return first, second


def votes(graph: Graph, won: str, n_classes: int) -> str:
    """Votes of each class, of shape (n_samples, n_classes).

    Parameters
    ----------
    graph : Graph
    won : str
        Name of truth values, of shape (n_samples, n_pairs): whether the first class has won.
    n_classes : int
    """
    first, second = _sides(n_classes)
    of_wins = graph.node("MatMul", graph.number(won), graph.constant(first - second))
    return graph.node("Add", of_wins, graph.constant(second.sum(axis=0)))


def values_of_classes(graph: Graph, decisions: str, n_classes: int) -> str:
    """One-vs-rest values, of shape (n_samples, n_classes).

    Parameters
    ----------
    graph : Graph
    decisions : str
        Name of the decisions, of shape (n_samples, n_pairs).
    n_classes : int
    """
    first, second = _sides(n_classes)
    # As scikit-learn has them: here a decision of zero is a vote for the first.
    won = graph.node("Not", graph.node("Less", decisions, graph.constant(0.0)))
    sums = graph.node("MatMul", decisions, graph.constant(first - second))
    size = graph.node("Add", graph.node("Abs", sums), graph.constant(1.0))
    part = graph.node("Div", sums, graph.node("Mul", size, graph.constant(3.0)))
    return graph.node("Add", votes(graph, won, n_classes), part)


def probability_nodes(
    graph: Graph, values: str, sigmoids: Sigmoids, n_classes: int, output: str
) -> None:
    """Add probabilities, of shape (n_samples, n_classes).

    Parameters
    ----------
    graph : Graph
    values : str
        Name of what the sigmoids are of: decisions of pairs, or one-vs-rest values.
    sigmoids : Sigmoids
    n_classes : int
    output : str
        Name of the probabilities.
    """
    sloped = graph.node("Mul", values, graph.constant(sigmoids.slopes))
    found = graph.node("Sigmoid", graph.node("Add", sloped, graph.constant(sigmoids.offsets)))
    if n_classes == 2:
        other = graph.node("Sub", graph.constant(1.0), found)
        graph.node("Concat", other, found, axis=1, output=output)
    elif sigmoids.of_pairs:
        _couple(graph, found, n_classes, output)
    else:
        total = graph.sum(found, 1)
        # Where all are zero, scikit-learn's are equal.
        nothing = graph.node("Equal", total, graph.constant(0.0))
        shares = graph.node("Div", found, graph.node("Where", nothing, graph.constant(1.0), total))
        graph.node("Where", nothing, graph.constant(1.0 / n_classes), shares, output=output)


def _couple(graph: Graph, found: str, n_classes: int, output: str) -> None:
    """Second method of Wu, Lin and Weng: ``p`` on the simplex that minimises ``pᵀ Q p``.

    There ``Q p`` is the same number for each class, so that ``(Q + 1 1ᵀ) p`` is another one. That
    matrix is positive definite, which makes an elimination without pivots stable.
    """
    k = n_classes
    eye, places = np.eye(k), graph.constant(np.array([-1, k, k]))
    first, second = _sides(k)
    upper = np.einsum("pi,pj->pij", first, second)
    lower = upper.transpose(0, 2, 1)
    other = graph.node("Sub", graph.constant(1.0), found)
    flat = graph.node(
        "Add",
        graph.node("MatMul", found, graph.constant(upper.reshape(-1, k * k))),
        graph.node("MatMul", other, graph.constant(lower.reshape(-1, k * k))),
    )
    r = graph.node("Reshape", flat, places)
    turned = graph.node("Transpose", r, perm=[0, 2, 1])
    squares = graph.sum(graph.node("Mul", turned, turned), 2)
    diagonal = graph.node("Mul", squares, graph.constant(eye))
    Q = graph.node("Sub", diagonal, graph.node("Mul", turned, r))
    matrix = graph.node("Add", Q, graph.constant(1.0))
    ones = graph.node("Add", graph.node("Mul", squares, graph.constant(0.0)), graph.constant(1.0))
    p = _solution(graph, graph.node("Concat", matrix, ones, axis=2), k)
    positive = graph.node("Max", p, graph.constant(0.0))
    graph.node("Div", positive, graph.sum(positive, 1), output=output)


def _solution(graph: Graph, system: str, size: int) -> str:
    """Solve by Gauss and Jordan's elimination.

    Parameters
    ----------
    graph : Graph
    system : str
        Name of positive definite matrices with the right side as another column.
    size : int
        Number of unknowns.
    """
    for step in range(size):
        place = graph.constant(np.array([step]))
        row, column = (graph.node("Gather", system, place, axis=axis) for axis in (1, 2))
        pivot = graph.node("Gather", row, place, axis=2)
        others = graph.constant((np.arange(size) != step).astype(float)[:, None])
        factors = graph.node("Div", graph.node("Mul", column, others), pivot)
        system = graph.node("Sub", system, graph.node("Mul", factors, row))
    places, flat = graph.constant(np.arange(size)), graph.constant(np.array([-1, size]))
    diagonal = graph.node("Gather", system, places, axis=2)
    diagonal = graph.sum(graph.node("Mul", diagonal, graph.constant(np.eye(size))), 2)
    right = graph.node("Gather", system, graph.constant(np.array([size])), axis=2)
    return graph.node("Reshape", graph.node("Div", right, diagonal), flat)


def write_onnx(
    path: str | PathLike[str],
    model: Model,
    coefs: np.ndarray,
    *,
    shape: str = "ovr",
    break_ties: bool = False,
) -> None:
    """Write a model as an ONNX graph.

    Its input is ``X``, float64. Of a classifier its outputs are ``label``, ``decision`` and, if the
    model has them, ``probabilities``; of a regression ``prediction``. Shapes are those of the
    estimators' methods.

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
    ImportError
        Without the package onnx.
    ValueError
        If the kernel has no graph, or the classes are of a type that ONNX does not have.
    """
    checked_path(path)
    check_ties(shape, break_ties)
    onnx = import_onnx()
    graph, types = Graph(), onnx.TensorProto
    decisions = _decisions(graph, model, coefs)
    outputs: dict[str, Any]
    if model.classes is None:
        graph.node("Reshape", decisions, graph.constant(np.array([-1])), output="prediction")
        outputs = {"prediction": (types.DOUBLE, ["n_samples"])}
    elif model.classes.size == 2:
        graph.node("Reshape", decisions, graph.constant(np.array([-1])), output="decision")
        chosen = graph.number(graph.node("Greater", "decision", graph.constant(0.0)), types.INT64)
        outputs = _label(graph, types, model.classes, chosen)
        outputs["decision"] = (types.DOUBLE, ["n_samples"])
    else:
        k = model.classes.size
        order = np.arange(k) if model.tie_order is None or break_ties else model.tie_order
        chosen, width = _vote(graph, decisions, order, shape, break_ties)
        outputs = _label(graph, types, model.classes[order], chosen)
        outputs["decision"] = (types.DOUBLE, ["n_samples", width])
    if model.classes is not None and model.sigmoids is not None:
        k = model.classes.size
        values = decisions if model.sigmoids.of_pairs else values_of_classes(graph, decisions, k)
        probability_nodes(graph, values, model.sigmoids, k, output="probabilities")
        outputs["probabilities"] = (types.DOUBLE, ["n_samples", k])
    inputs = {"X": (types.DOUBLE, ["n_samples", model.n_features])}
    write_whole(path, [graph.serialised("kpegasos", inputs, outputs)])


def _decisions(graph: Graph, model: Model, coefs: np.ndarray) -> str:
    """Decisions of all pairs, of shape (n_samples, n_pairs)."""
    if model.vectors is None:
        assert model.support is not None
        places = graph.constant(model.support.astype(np.int64))
        values = graph.node("Gather", "X", places, axis=1)
    else:
        vectors = float64_rows(model.vectors)
        if type(model.kernel) is Linear or vectors.shape[0] == 0:
            # One weight for each feature; zeros without a support vector.
            graph.check_room(8 * len(coefs) * vectors.shape[1])
            coefs, values = np.asarray(coefs @ vectors), "X"
        else:
            graph.check_room(8 * vectors.shape[0] * vectors.shape[1])
            values = kernel_nodes(graph, "X", dense(vectors), model.kernel)
    sums = graph.node("MatMul", values, graph.constant(coefs.T.astype(np.float64)))
    return graph.node("Add", sums, graph.constant(model.intercept.astype(np.float64)))


def _label(graph: Graph, types: Any, classes: np.ndarray, chosen: str) -> dict[str, Any]:
    """Name the classes that were chosen by number."""
    kinds = {"b": types.BOOL, "i": types.INT64, "u": types.INT64, "f": types.DOUBLE}
    kind, values = kinds.get(classes.dtype.kind), classes
    if all(isinstance(each, str) and _is_unicode(each) for each in classes.tolist()):
        kind = types.STRING
    if kind is None or (classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max):
        raise ValueError(
            f"classes_ must be integers, floats, strings of Unicode or truth values for ONNX, got "
            f"{shown(classes.tolist())} instead"
        )
    if classes.dtype.kind in "iuf":
        values = classes.astype(np.float64 if kind == types.DOUBLE else np.int64)
    graph.node("Gather", graph.constant(values), chosen, output="label")
    return {"label": (kind, ["n_samples"])}


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 has a text: a part of a surrogate pair it has not."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _vote(
    graph: Graph, decisions: str, order: np.ndarray, shape: str, break_ties: bool
) -> tuple[str, int]:
    """Place in an order of the class that the vote of the pairs chooses; width of the output."""
    k = order.size
    values = "" if shape == "ovo" else values_of_classes(graph, decisions, k)
    graph.node("Identity", values or decisions, output="decision")
    won = graph.node("Greater", decisions, graph.constant(0.0))
    chosen = values if break_ties else votes(graph, won, k)
    chosen = graph.node("Gather", chosen, graph.constant(order.astype(np.int64)), axis=1)
    chosen = graph.node("ArgMax", chosen, axis=1, keepdims=0)
    return chosen, k * (k - 1) // 2 if shape == "ovo" else k
