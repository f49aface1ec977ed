"""Kernel values between the rows of an input and support vectors, as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from kpegasos.exports.onnx_graph import Graph
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
from kpegasos.utils.validation import shown

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
