"""Columns of histories in a figure: which go together, what they are called, their colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.style import METHODS, WORDS
from kpegasos.solvers.history import History
from kpegasos.utils.validation import shown

Columns = History | Mapping[str, ArrayLike]

X_LABELS = {
    "iteration": WORDS["steps"],
    "epoch": WORDS["epochs"],
    "seconds": WORDS["solver_seconds"],
    "kernel_evaluations": WORDS["kernel_values"],
}
VALUES = ("objective_last", "objective_average", "dual_bound")
_EXCESSES = ("suboptimality", "suboptimality_last", "gap")
_AVERAGE = "averaged iterate"
#: Name of a curve where it is not that of the method, and the method whose look it has.
_LOOKS = {
    "objective_last": ("", METHODS["last"]),
    "objective_average": (_AVERAGE, METHODS["weighted"]),
    "dual_bound": ("", METHODS["dual"]),
    "suboptimality_last": ("", METHODS["last"]),
    "suboptimality": (_AVERAGE, METHODS["weighted"]),
    "gap": ("", METHODS["gap"]),
}
_TITLES = {
    "gap": "certified gap",
    "relative_gap": "certified relative gap",
    "support_size": "support vectors",
    "seconds": X_LABELS["seconds"],
}


def title_of(name: str) -> str:
    """Return what a column is called where it stands alone."""
    return _TITLES.get(name, name.replace("_", " "))


def colors_of(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the options of ``Axes.plot`` that give each curve its colour, if it has one."""
    return {name: {"color": _LOOKS[name][1].color} if name in _LOOKS else {} for name in names}


def labels_of(names: Sequence[str], label: str | Sequence[str] | None) -> dict[str, str]:
    """Return the names of curves in the legend."""
    own = [_name_of(name) for name in names]
    labels = own if label is None else checks.names("label", label)
    if len(labels) != len(names):
        raise ValueError(
            f"label must name each of the {len(names)} curves, got {len(labels)} names"
        )
    return dict(zip(names, labels, strict=True))


def _name_of(name: str) -> str:
    """Return what a curve is called in a legend."""
    if name not in _LOOKS:
        return name.replace("_", " ")
    own, look = _LOOKS[name]
    return own or look.name


def kind_of(names: Sequence[str]) -> str:
    """Return the kind of columns: "value", "excess" or "other"."""
    if names and all(name in VALUES for name in names):
        return "value"
    if names and all(name in _EXCESSES for name in names):
        return "excess"
    if len(names) == 1:
        return "other"
    raise ValueError(
        f"y must name columns of one kind, some of {VALUES} or of "
        f"{_EXCESSES} or a single other, "
        f"got {shown(list(names))}"
    )


def y_label_of(names: Sequence[str]) -> str:
    """Return the label of the axis along which columns of one kind are shown."""
    kind = kind_of(names)
    if kind == "value":
        return "dual bound" if list(names) == ["dual_bound"] else WORDS["objective"]
    if kind == "excess":
        if "gap" not in names:
            return WORDS["suboptimality"]
        return "certified gap" if len(names) == 1 else "f(w) − f* and its bound"
    return title_of(names[0])


def has_column(runs: Columns | Sequence[Columns], name: str) -> bool:
    """Say whether there is a column of this name."""
    one: Any = runs if isinstance(runs, History | Mapping) else runs[0]
    return name in (one.columns if isinstance(one, History) else one)


def column(runs: Columns | Sequence[Columns], name: str) -> np.ndarray:
    """Return one column of all runs, of shape (n_runs, n_checkpoints)."""
    if isinstance(runs, History | Mapping):
        return np.atleast_2d(_column(runs, name))
    rows = [_column(run, name) for run in runs]
    if any(row.ndim != 1 for row in rows):
        raise ValueError(f"runs must have one value of {name} for each checkpoint")
    sizes = [len(row) for row in rows]
    if len(set(sizes)) != 1:
        raise ValueError(f"runs must all have the same checkpoints, got {sizes} of them")
    return np.array(rows)


def _column(run: Columns, name: str) -> np.ndarray:
    known = run.columns if isinstance(run, History) else run
    if name not in known:
        raise ValueError(f"runs must have the column {name!r} for x or y, got {shown(list(known))}")
    return checks.numbers(f"runs[{name!r}]", run[name])


def checked_runs(runs: Any) -> Any:
    """Return histories or columns if they are.

    Raises
    ------
    ValueError
        If they are neither, nor a sequence of these.
    """
    one = History | Mapping
    several = isinstance(runs, Sequence) and len(runs) > 0
    if isinstance(runs, one) or (several and all(isinstance(run, one) for run in runs)):
        return runs
    raise ValueError(
        f"runs must be a history, a mapping of columns or a sequence of these, got {shown(runs)}"
    )


def curve(runs: Columns | Sequence[Columns], name: str, optimum: float | None) -> np.ndarray:
    """Return a column, or the suboptimality that follows from one and the optimum."""
    if not name.startswith("suboptimality"):
        return column(runs, name)
    if optimum is None:
        raise ValueError(f"optimum must be given for y={name!r}, got None")
    last = name == "suboptimality_last"
    return column(runs, "objective_last" if last else "objective_average") - optimum
