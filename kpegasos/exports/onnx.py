"""Models as ONNX graphs of primitive operators, in float64 throughout.

``SVMClassifier`` and ``SVMRegressor`` of ONNX-ML are not used: they compute in float32, and their
votes and signs differ from LIBSVM's. A graph grows node by node: kernel values between the rows of
the input and the support vectors, decisions of pairs, votes and one-vs-rest values as scikit-learn
has them. ONNX has no operator that solves equations, so the coupling of probabilities is an
elimination, written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import combinations
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kpegasos.exports.model import Model, Sigmoids, check_ties
from kpegasos.kernels.base import Product, Scaled, Sum
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

#: Of the operators used here the oldest that has them all, and the file format of its time; so that
#: runtimes of 2022 and later read it.
OPSET, IR_VERSION = 17, 8
#: A file of protocol buffers may not be larger.
LARGEST_BYTES = 2**31 - 2**20


class Graph:
    """Nodes and constants, in the order in which they were added.

    Parameters
    ----------
    prefix : str, default=""
        Begins every name, so that those of a graph inside another are its own.
    """

    def __init__(self, prefix: str = "") -> None:
        try:
            import onnx
            import onnx.helper
            import onnx.numpy_helper
        except ImportError as error:
            raise ImportError(
                "to_onnx needs the package onnx: pip install 'kpegasos[onnx]' installs it"
            ) from error
        self._onnx = onnx
        self.types = onnx.TensorProto
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._bytes = 0
        self._n_inner = 0

    def check_room(self, n_bytes: int) -> None:
        """Raise an error if a file would be too large with so many bytes more."""
        if self._bytes + n_bytes > LARGEST_BYTES:
            raise ValueError("support_vectors_ must be below 2 GiB for ONNX, whose files end there")

    def constant(self, values: Any) -> str:
        """Name of an array that is part of the model."""
        array = np.asarray(values)
        self.check_room(array.nbytes)
        self._bytes += array.nbytes
        name = f"{self._prefix}constant_{len(self._constants)}"
        make = self._onnx.numpy_helper.from_array
        if array.dtype.kind in "OU":
            array = np.array(array.tolist(), dtype=object)
        self._constants.append(make(np.ascontiguousarray(array), name))
        return name

    def node(
        self, operator: str, *inputs: Any, output: str | None = None, **attributes: Any
    ) -> str:
        """Name of the result of an operator, of names and of numbers."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = output or f"{self._prefix}{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def sum(self, values: str, axis: int) -> str:
        """Return sums along an axis, which stays."""
        return self.node("ReduceSum", values, np.array([axis]), keepdims=1)

    def row_sums(self, rows: str, of_row: Callable[[Graph, str], str]) -> str:
        """For each row the sums of a matrix that is made of it, all at once would be a cube.

        Parameters
        ----------
        rows : str
        of_row : callable
            ``of_row(graph, row)`` adds the nodes of a row to a graph, which may use the names of
            this one, and names the matrix.
        """
        self._n_inner += 1
        inner = Graph(f"{self._prefix}inner_{self._n_inner}_")
        row = f"{inner._prefix}row"
        result = inner.node(
            "ReduceSum", of_row(inner, row), self.constant(np.array([1])), keepdims=0
        )
        double = self.types.DOUBLE
        body = inner._made("of_a_row", {row: (double, None)}, {result: (double, None)})
        return self.node("Scan", rows, body=body, num_scan_inputs=1)

    def _made(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
        """ONNX's graph, of inputs and outputs by name, with type and shape."""
        ins, outs = (
            [self._onnx.helper.make_tensor_value_info(key, *kind) for key, kind in values.items()]
            for values in (inputs, outputs)
        )
        return self._onnx.helper.make_graph(self._nodes, name, ins, outs, self._constants)

    def serialised(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> bytes:
        """Return the file's content, of inputs and outputs by name, with type and shape."""
        model = self._onnx.helper.make_model(
            self._made("kpegasos", inputs, outputs),
            opset_imports=[self._onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="kpegasos",
        )
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _kernel_values(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    """Add the kernel values, of shape (n_samples, n_support_vectors), and name them.

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
    # Compositions have a subclass for inner products; users' own are not known.
    if isinstance(kernel, Sum | Product):
        parts = [_kernel_values(graph, x, vectors, part) for part in kernel.parts]
        return reduce(partial(graph.node, "Add" if isinstance(kernel, Sum) else "Mul"), parts)
    if isinstance(kernel, Scaled):
        values = _kernel_values(graph, x, vectors, kernel.kernel)
        return graph.node("Mul", values, float(kernel.factor))
    if type(kernel) not in _WRITERS:
        raise ValueError(
            f"kernel must be one of the package's, or made of these, for ONNX, got {shown(kernel)}"
        )
    return _WRITERS[type(kernel)](graph, x, vectors, kernel)


def _linear(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("MatMul", x, vectors.T)


def _affine(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    """``gamma <a, b> + coef0``."""
    scaled = graph.node("Mul", _linear(graph, x, vectors, kernel), float(kernel.gamma))
    return graph.node("Add", scaled, float(kernel.coef0))


def _polynomial(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Pow", _affine(graph, x, vectors, kernel), float(kernel.degree))


def _sigmoid(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Tanh", _affine(graph, x, vectors, kernel))


def _squared_distances(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    # About the vectors' mean: a distance is a difference of squares, which should be small.
    mean = vectors.mean(axis=0)
    vectors = vectors - mean
    x = graph.node("Sub", x, mean)
    own = graph.sum(graph.node("Mul", x, x), 1)
    norms = graph.node("Add", own, (vectors**2).sum(axis=1))
    doubled = graph.node("Mul", _linear(graph, x, vectors, kernel), 2.0)
    return graph.node("Max", graph.node("Sub", norms, doubled), 0.0)


def _cosine(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    norm = graph.node("Sqrt", graph.sum(graph.node("Mul", x, x), 1))
    norm = graph.node("Where", graph.node("Equal", norm, 0.0), 1.0, norm)
    unit = vectors / np.where(lengths == 0.0, 1.0, lengths)
    return _linear(graph, graph.node("Div", x, norm), unit, kernel)


def _absolute_distances(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    name = graph.constant(vectors)
    return graph.row_sums(x, lambda own, row: own.node("Abs", own.node("Sub", name, row)))


def _chi2_distances(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    """``Σ (a − b)² / (a + b)``, a term of zeros being none."""
    name = graph.constant(vectors)

    def terms(own: Graph, row: str) -> str:
        difference, total = own.node("Sub", name, row), own.node("Add", name, row)
        total = own.node("Where", own.node("Equal", total, 0.0), 1.0, total)
        return own.node("Div", own.node("Mul", difference, difference), total)

    return graph.row_sums(x, terms)


def _additive_chi2(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
    return graph.node("Neg", _chi2_distances(graph, x, vectors, kernel))


#: ``write(graph, x, vectors, kernel)`` adds the nodes and names the values.
Write = Callable[[Graph, str, np.ndarray, Any], str]


def _exponential(distances: Write) -> Write:
    def write(graph: Graph, x: str, vectors: np.ndarray, kernel: Any) -> str:
        found = distances(graph, x, vectors, kernel)
        return graph.node("Exp", graph.node("Mul", found, -float(kernel.gamma)))

    return write


_WRITERS: dict[type, Write] = {
    Linear: _linear,
    Polynomial: _polynomial,
    RBF: _exponential(_squared_distances),
    Sigmoid: _sigmoid,
    Laplacian: _exponential(_absolute_distances),
    Cosine: _cosine,
    Chi2: _exponential(_chi2_distances),
    AdditiveChi2: _additive_chi2,
}


def _sides(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Mark the first and the second class of each pair by ones, each (n_pairs, n_classes)."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    first, second = np.eye(n_classes)[pairs.T]
    return first, second


def _votes(graph: Graph, won: str, n_classes: int) -> str:
    """Return votes of each class, by whether the first class of each pair has won."""
    first, second = _sides(n_classes)
    number = graph.node("Cast", won, to=graph.types.DOUBLE)
    return graph.node("Add", graph.node("MatMul", number, first - second), second.sum(axis=0))


def _values_of_classes(graph: Graph, decisions: str, n_classes: int) -> str:
    """One-vs-rest values, of shape (n_samples, n_classes), of the decisions of pairs."""
    first, second = _sides(n_classes)
    # As scikit-learn has them: here a decision of zero is a vote for the first.
    won = graph.node("Not", graph.node("Less", decisions, 0.0))
    sums = graph.node("MatMul", decisions, first - second)
    size = graph.node("Add", graph.node("Abs", sums), 1.0)
    part = graph.node("Div", sums, graph.node("Mul", size, 3.0))
    return graph.node("Add", _votes(graph, won, n_classes), part)


def _write_probabilities(graph: Graph, values: str, sigmoids: Sigmoids, n_classes: int) -> None:
    """Add probabilities, of decisions of pairs or one-vs-rest values."""
    sloped = graph.node("Mul", values, sigmoids.slopes)
    found = graph.node("Sigmoid", graph.node("Add", sloped, sigmoids.offsets))
    if n_classes == 2:
        other = graph.node("Sub", 1.0, found)
        graph.node("Concat", other, found, axis=1, output="probabilities")
    elif sigmoids.of_pairs:
        _couple(graph, found, n_classes)
    else:
        total = graph.sum(found, 1)
        # Where all are zero, scikit-learn's are equal.
        nothing = graph.node("Equal", total, 0.0)
        shares = graph.node("Div", found, graph.node("Where", nothing, 1.0, total))
        graph.node("Where", nothing, 1.0 / n_classes, shares, output="probabilities")


def _couple(graph: Graph, found: str, n_classes: int) -> None:
    """Second method of Wu, Lin and Weng: ``p`` on the simplex that minimises ``pᵀ Q p``.

    There ``Q p`` is the same number for each class, so that ``(Q + 1 1ᵀ) p`` is another one. That
    matrix is positive definite, which makes an elimination without pivots stable.
    """
    k = n_classes
    eye, places = np.eye(k), np.array([-1, k, k])
    first, second = _sides(k)
    upper = np.einsum("pi,pj->pij", first, second)
    lower = upper.transpose(0, 2, 1)
    other = graph.node("Sub", 1.0, found)
    flat = graph.node(
        "Add",
        graph.node("MatMul", found, upper.reshape(-1, k * k)),
        graph.node("MatMul", other, lower.reshape(-1, k * k)),
    )
    r = graph.node("Reshape", flat, places)
    turned = graph.node("Transpose", r, perm=[0, 2, 1])
    squares = graph.sum(graph.node("Mul", turned, turned), 2)
    diagonal = graph.node("Mul", squares, eye)
    Q = graph.node("Sub", diagonal, graph.node("Mul", turned, r))
    matrix = graph.node("Add", Q, 1.0)
    ones = graph.node("Add", graph.node("Mul", squares, 0.0), 1.0)
    p = _solution(graph, graph.node("Concat", matrix, ones, axis=2), k)
    positive = graph.node("Max", p, 0.0)
    graph.node("Div", positive, graph.sum(positive, 1), output="probabilities")


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
        place = np.array([step])
        row, column = (graph.node("Gather", system, place, axis=axis) for axis in (1, 2))
        pivot = graph.node("Gather", row, place, axis=2)
        others = (np.arange(size) != step).astype(float)[:, None]
        factors = graph.node("Div", graph.node("Mul", column, others), pivot)
        system = graph.node("Sub", system, graph.node("Mul", factors, row))
    places, flat = np.arange(size), np.array([-1, size])
    diagonal = graph.node("Gather", system, places, axis=2)
    diagonal = graph.sum(graph.node("Mul", diagonal, np.eye(size)), 2)
    right = graph.node("Gather", system, np.array([size]), axis=2)
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
    graph = Graph()
    decisions = _decisions(graph, model, coefs)
    double, k = graph.types.DOUBLE, 0 if model.classes is None else model.classes.size
    outputs: dict[str, Any] = {}
    if model.classes is None:
        graph.node("Reshape", decisions, np.array([-1]), output="prediction")
        outputs["prediction"] = double, ["n_samples"]
    elif k == 2:
        graph.node("Reshape", decisions, np.array([-1]), output="decision")
        won = graph.node("Greater", "decision", 0.0)
        chosen = graph.node("Cast", won, to=graph.types.INT64)
        outputs["label"] = _label(graph, model.classes, chosen), ["n_samples"]
        outputs["decision"] = double, ["n_samples"]
    else:
        order = np.arange(k) if model.tie_order is None or break_ties else model.tie_order
        chosen = _vote(graph, decisions, order, shape, break_ties)
        outputs["label"] = _label(graph, model.classes[order], chosen), ["n_samples"]
        outputs["decision"] = double, ["n_samples", k * (k - 1) // 2 if shape == "ovo" else k]
    if model.classes is not None and model.sigmoids is not None:
        values = decisions if model.sigmoids.of_pairs else _values_of_classes(graph, decisions, k)
        _write_probabilities(graph, values, model.sigmoids, k)
        outputs["probabilities"] = double, ["n_samples", k]
    inputs = {"X": (double, ["n_samples", model.n_features])}
    write_whole(path, [graph.serialised(inputs, outputs)])


def pipeline_to_onnx(pipeline: Any, path: str | PathLike[str]) -> None:
    """Write a fitted pipeline as one graph: that of its last step behind skl2onnx's of the others.

    Inputs and outputs are those of the last step's ``to_onnx``, but for rows that are not
    transformed yet.

    Parameters
    ----------
    pipeline : Pipeline
        Whose last step has a ``to_onnx``.
    path : path-like

    Raises
    ------
    ImportError
        Without the packages onnx and skl2onnx.
    ValueError
        As ``to_onnx`` does, if the last step has none, or if skl2onnx has no graph of a step in
        float64.
    """
    path = checked_path(path)
    if not hasattr(pipeline[-1], "to_onnx"):
        raise ValueError(f"pipeline must end in a model with to_onnx, got {shown(pipeline[-1])}")
    check_is_fitted(pipeline)
    with TemporaryDirectory() as folder:
        pipeline[-1].to_onnx(Path(folder) / "last")
        import onnx
        from onnx import compose

        last = onnx.load(Path(folder) / "last")
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType

    sizes = (getattr(step, "n_features_in_", None) for _, step in pipeline.steps)
    rows = [("X", DoubleTensorType([None, next(filter(None, sizes))]))]
    opsets = {"": OPSET, "ai.onnx.ml": 3}
    try:
        # Of "passthrough" skl2onnx knows nothing in some places.
        steps = [step for step in pipeline.steps[:-1] if step[1] not in (None, "passthrough")]
        first = type(pipeline)(steps)
        first = skl2onnx.to_onnx(first, initial_types=rows, target_opset=opsets)
        if any(node.op_type == "Imputer" for node in first.graph.node):
            raise TypeError("an Imputer, which runtimes do not have in float64")
        first.ir_version = last.ir_version
        # Inputs of both are X; no other names are those of skl2onnx.
        named = ("nodes", "edges", "outputs", "initializers", "value_infos", "functions")
        kept = {f"rename_{each}": False for each in named}
        last = compose.add_prefix(last, "last_", **kept)
        joint = [(first.graph.output[0].name, "last_X")]
        whole = compose.merge_models(first, last, io_map=joint)
        onnx.checker.check_model(whole, full_check=True)
    except Exception as error:  # of skl2onnx and of onnx, which raise all kinds
        why = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"pipeline must have steps of which skl2onnx makes graphs in float64, got {why}"
        ) from error
    write_whole(path, [whole.SerializeToString()])


def _decisions(graph: Graph, model: Model, coefs: np.ndarray) -> str:
    """Return decisions of all pairs, of shape (n_samples, n_pairs)."""
    if model.vectors is None:
        assert model.support is not None
        values = graph.node("Gather", "X", model.support.astype(np.int64), axis=1)
    else:
        vectors = model.vectors.astype(np.float64)
        if type(model.kernel) is Linear or vectors.shape[0] == 0:
            # One weight for each feature; zeros without a support vector.
            graph.check_room(8 * len(coefs) * vectors.shape[1])
            coefs, values = np.asarray(coefs @ vectors), "X"
        else:
            graph.check_room(8 * vectors.shape[0] * vectors.shape[1])
            dense = vectors.toarray() if sparse.issparse(vectors) else vectors
            values = _kernel_values(graph, "X", dense, model.kernel)
    sums = graph.node("MatMul", values, coefs.T.astype(np.float64))
    return graph.node("Add", sums, model.intercept.astype(np.float64))


def _label(graph: Graph, classes: np.ndarray, chosen: str) -> int:
    """Name the classes that were chosen by number; their type in ONNX."""
    types, kind = graph.types, classes.dtype.kind
    if all(isinstance(each, str) and _is_unicode(each) for each in classes.tolist()):
        found = types.STRING
    elif kind == "b":
        found = types.BOOL
    elif kind == "f":
        found, classes = types.DOUBLE, classes.astype(np.float64)
    elif kind == "i" or (kind == "u" and classes.max() <= np.iinfo(np.int64).max):
        found, classes = types.INT64, classes.astype(np.int64)
    else:
        raise ValueError(
            f"classes_ must be integers, floats, strings of Unicode or truth values for ONNX, got "
            f"{shown(classes.tolist())} instead"
        )
    graph.node("Gather", classes, chosen, output="label")
    return int(found)


def _is_unicode(text: str) -> bool:
    """Tell whether UTF-8 has a text: a part of a surrogate pair it has not."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _vote(graph: Graph, decisions: str, order: np.ndarray, shape: str, break_ties: bool) -> str:
    """Place in an order of the class that the vote of the pairs chooses."""
    values = "" if shape == "ovo" else _values_of_classes(graph, decisions, order.size)
    graph.node("Identity", values or decisions, output="decision")
    won = graph.node("Greater", decisions, 0.0)
    chosen = values if break_ties else _votes(graph, won, order.size)
    chosen = graph.node("Gather", chosen, order.astype(np.int64), axis=1)
    return graph.node("ArgMax", chosen, axis=1, keepdims=0)
