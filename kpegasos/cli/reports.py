"""What the program says at its end: one line, or one JSON object.

A percentage of the certificate is rounded up, so that what the line says is true.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from kpegasos.cli.model_files import core_of

#: Relative gap from which on it is no longer nearly a share of the optimum.
_LARGE = 0.5


def closing_line(model: Any, seconds: float) -> str:
    """How good a fitted model is, and what it took.

    Parameters
    ----------
    model : BaseEstimator
        Fitted; a pipeline or a search tells of the estimator inside.
    seconds : float

    Returns
    -------
    str
        Such as "objective 0.0521, within 0.8% of the optimum (certified), 70 support vectors,
        1.3 s".
    """
    fitted, parts = core_of(model), []
    if getattr(fitted, "objective_", None) is not None:
        objectives, gap = np.atleast_1d(fitted.objective_), worst_gap(fitted)
        if objectives.size > 1:
            least, most = float(objectives.min()), float(objectives.max())
            parts.append(f"objectives {least:.4g} to {most:.4g} of {objectives.size} pairs")
            each = "each "
        else:
            parts.append(f"objective {float(objectives[0]):.4g}")
            each = ""
        parts.append(each + _certificate(gap))
    else:
        parts.append("no certificate")
    if (size := support_size(fitted)) is not None:
        parts.append(counted(size, "support vector"))
    return ", ".join([*parts, shown_seconds(seconds)])


def counted(number: int, name: str) -> str:
    """So many of something, such as "1 row" and "3,000 rows".

    Parameters
    ----------
    number : int
    name : str
        Of one of them.
    """
    return f"{number:,} {name}{'s' if number != 1 else ''}"


def shown_seconds(seconds: float) -> str:
    """Seconds with two digits, or whole ones from ten on.

    Parameters
    ----------
    seconds : float
    """
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _certificate(gap: float) -> str:
    """What a relative gap says; one of that of a half or more says next to nothing."""
    if math.isnan(gap):
        return "without a certified gap"
    if gap >= _LARGE:
        return f"with a certified relative gap of {gap:.2g}"
    return f"within {percent(gap)} of the optimum (certified)"


def worst_gap(fitted: Any) -> float:
    """Largest certified relative gap of the pairs of classes; NaN if one of them has none.

    Parameters
    ----------
    fitted : BasePegasos
    """
    return float(np.max(getattr(fitted, "relative_gap_", math.nan)))


def support_size(fitted: Any) -> int | None:
    """Number of support vectors, None of a model that has kept none.

    Parameters
    ----------
    fitted : BasePegasos
    """
    counts = getattr(fitted, "n_support_", None)
    return None if counts is None else int(np.sum(counts))


def percent(share: float) -> str:
    """A share as a percentage of two digits, rounded up.

    Parameters
    ----------
    share : float
    """
    if not share > 0.0:
        return "0%"
    exact = Decimal(share) * 100
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING)
    return f"{rounded:f}%" if rounded >= 100 else f"{float(rounded):.2g}%"


def facts_of(model: Any) -> dict[str, Any]:
    """What ``--json`` tells of a fitted model.

    Parameters
    ----------
    model : BaseEstimator

    Returns
    -------
    dict
        Objectives, gaps and steps are lists, with an entry for each pair of classes.
    """
    fitted = core_of(model)
    facts: dict[str, Any] = {
        "estimator": type(fitted).__name__,
        "n_features": fitted.n_features_in_,
        "classes": getattr(fitted, "classes_", None),
        "kernel": getattr(fitted, "kernel", "linear"),
        "n_support": support_size(fitted),
    }
    for name in ("objective", "duality_gap", "relative_gap", "n_steps"):
        if getattr(fitted, f"{name}_", None) is not None:
            facts[name] = np.atleast_1d(getattr(fitted, f"{name}_"))
    return facts


def table_lines(rows: Sequence[Sequence[str]], *, left: Collection[int] = ()) -> Iterator[str]:
    """Lines of a table of text.

    Parameters
    ----------
    rows : sequence of sequence of str
        The first one has the titles.
    left : collection of int
        Columns that begin at one place; others end at one, as numbers do.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.ljust(width) if at in left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def print_json(value: dict[str, Any], file: Any = None) -> None:
    """Print an object in one line.

    Parameters
    ----------
    value : dict
        Of numbers, texts, arrays and more dicts; numbers that are not finite become null.
    file : text file, default=None
        The standard output if None.
    """
    print(json.dumps(plain(value), allow_nan=False), file=file or sys.stdout)


def plain(value: Any) -> Any:
    """What JSON can say of a value.

    Parameters
    ----------
    value : object
    """
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


@contextmanager
def warnings_as_lines(subcommand: str, *, quiet: bool = False) -> Iterator[None]:
    """Let a warning be one line of the standard error, once.

    Parameters
    ----------
    subcommand : str
    quiet : bool, default=False
        Whether nothing is said.
    """

    def show(message: Any, *_: Any, **__: Any) -> None:
        if not quiet:
            print(f"kpegasos {subcommand}: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
