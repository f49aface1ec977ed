"""A graph of ONNX's primitive operators that grows node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

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
