"""Models as ONNX graphs of primitive operators, in float64 throughout.

``SVMClassifier`` and ``SVMRegressor`` of ONNX-ML are not used: they compute in float32, and their
votes and signs differ from LIBSVM's.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from kpegasos.exports.model import Model
from kpegasos.exports.onnx_graph import Graph, import_onnx
from kpegasos.exports.onnx_kernels import kernel_nodes
from kpegasos.exports.onnx_votes import probability_nodes, values_of_classes, votes
from kpegasos.exports.terms import check_ties, dense, float64_rows
from kpegasos.kernels.functions import Linear
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import shown


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
