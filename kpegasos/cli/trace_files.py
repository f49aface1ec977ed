"""Histories of a fit as CSV: a line for each checkpoint of each pair of classes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from kpegasos.solvers.history import Record


def trace_lines(fitted: Any) -> Iterator[str]:
    """Lines of a trace, the first of which names the columns.

    Parameters
    ----------
    fitted : BasePegasos
        With a history.

    Yields
    ------
    str
        Of a classifier the two classes of the pair come first, then the fields of
        `kpegasos.Record`.
    """
    histories = fitted.history_ if isinstance(fitted.history_, list) else [fitted.history_]
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        yield _line(Record._fields)
        pairs: list[tuple[Any, ...]] = [()]
    else:
        yield _line(("class", "other_class", *Record._fields))
        pairs = list(combinations(classes.tolist(), 2))
    for pair, history in zip(pairs, histories, strict=True):
        for record in history:
            yield _line((*pair, *record))


def _line(values: tuple[Any, ...]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()
