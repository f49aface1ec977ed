"""What one-vs-one makes of the decisions of pairs, as nodes of an ONNX graph.

Votes and one-vs-rest values are scikit-learn's. ONNX has no operator that solves equations, so the
coupling of probabilities is an elimination, written out.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kpegasos.exports.model import Sigmoids
from kpegasos.exports.onnx_graph import Graph


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
