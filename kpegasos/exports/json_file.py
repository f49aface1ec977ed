"""Models as JSON, for programs that have no reader of their own; numbers are exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import Any

from scipy import sparse

from kpegasos.exports.model import Model
from kpegasos.exports.terms import float64_rows, kernel_terms, plain_classes
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.version import VERSION

#: Of the names and their meaning; a reader of one version reads no other.
FORMAT_VERSION = 1


def write_json(
    path: str | PathLike[str], model: Model, *, shape: str = "ovr", break_ties: bool = False
) -> None:
    """Write a model as a JSON object; ``docs/exports.md`` has its names.

    Parameters
    ----------
    path : path-like
    model : Model
    shape : {"ovr", "ovo"}, default="ovr"
        Whether decisions of several classes have a column for each class, or for each pair.
    break_ties : bool, default=False
        Whether ties of the vote are broken by the decisions.

    Raises
    ------
    ValueError
        If the kernel or the classes cannot be written.
    """
    checked_path(path)
    content: dict[str, Any] = {
        "format": "kpegasos model",
        "format_version": FORMAT_VERSION,
        "kpegasos": VERSION,
        "model": "regressor" if model.classes is None else "classifier",
        "n_features": int(model.n_features),
        "kernel": kernel_terms(model.kernel, "JSON"),
    }
    if model.classes is not None:
        content |= {
            "classes": plain_classes(model.classes, "JSON"),
            "decision_function_shape": shape,
            "break_ties": break_ties,
            "tie_order": None if model.tie_order is None else model.tie_order.tolist(),
            "sigmoids": _sigmoids(model),
        }
    content["n_support"] = model.n_support.tolist()
    content["intercept"] = model.intercept.tolist()
    content["dual_coef"] = model.dual_coef.tolist()
    write_whole(path, _lines({**content, **_vectors(model)}))


def _sigmoids(model: Model) -> dict[str, Any] | None:
    if model.sigmoids is None:
        return None
    slopes, offsets, of_pairs = model.sigmoids
    of = "pairs" if of_pairs else "classes"
    return {"of": of, "slopes": slopes.tolist(), "offsets": offsets.tolist()}


def _vectors(model: Model) -> dict[str, Any]:
    """The support vectors, or their places among the training examples."""
    if model.vectors is None:
        assert model.support is not None
        return {"support": model.support.tolist()}
    vectors = float64_rows(model.vectors)
    if not sparse.issparse(vectors):
        return {"support_vectors": vectors.tolist()}
    entries = {"indptr": vectors.indptr, "indices": vectors.indices, "data": vectors.data}
    return {"sparse_support_vectors": {name: each.tolist() for name, each in entries.items()}}


def _lines(content: dict[str, Any]) -> Iterator[bytes]:
    """The object, a name a line, and a row of numbers a line."""
    for number, (name, value) in enumerate(content.items()):
        yield (",\n " if number else "{\n ").encode() + f"{json.dumps(name)}: ".encode()
        if value and isinstance(value, list) and isinstance(value[0], list):
            for place, row in enumerate(value):
                yield (",\n  " if place else "[\n  ").encode() + _dumped(row)
            yield b"]"
        else:
            yield _dumped(value)
    yield b"\n}\n"


def _dumped(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode("ascii")
