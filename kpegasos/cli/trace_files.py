"""Histories of a fit as CSV: a line for each checkpoint of each pair of classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from kpegasos.cli.output_files import csv_lines
from kpegasos.solvers.history import Record


def trace_lines(fitted: Any) -> Iterator[str]:
    """Lines of a trace, the first of which names the columns.

    Parameters
    ----------
    fitted : BasePegasos
        With a history.

    Returns
    -------
    iterator of str
        Of a classifier the two classes of the pair come first, then the fields of
        `kpegasos.Record`.
    """
    histories = fitted.history_ if isinstance(fitted.history_, list) else [fitted.history_]
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        names: tuple[str, ...] = ()
        pairs: list[tuple[Any, ...]] = [()]
    else:
        names = ("class", "other_class")
        pairs = list(combinations(classes.tolist(), 2))
    rows = [
        (*pair, *record)
        for pair, history in zip(pairs, histories, strict=True)
        for record in history
    ]
    return csv_lines([(*names, *Record._fields), *rows])
