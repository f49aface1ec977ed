"""Results of a search, as the displays read them.

The columns of a search are those of `sklearn.model_selection.GridSearchCV`, whoever has filled
them, as a mapping or a frame of pandas. Names of parameters may have a prefix, as the steps of a
pipeline give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from kpegasos.plotting import checks
from kpegasos.utils.validation import as_integer, is_number, optional, shown


def results_of(search: Any) -> tuple[Any, int | None]:
    """Return the results of a fitted search, and the index of its chosen cell if it has one.

    Raises
    ------
    NotFittedError
        If it has none.
    """
    results = getattr(search, "cv_results_", None)
    if not (isinstance(results, Mapping) or hasattr(results, "columns")):
        raise NotFittedError(
            f"search must be a fitted search with cv_results_, got {shown(search)}"
        )
    return results, getattr(search, "best_index_", None)


def column_of(cv_results: Any, name: str, parameter: str, size: int | None = None) -> np.ndarray:
    """Return the column of numbers that a parameter asks for, one for each cell.

    Raises
    ------
    ValueError
        If there is no such column, or it has another length.
    """
    if name not in cv_results:
        raise ValueError(f"{parameter} must name a column of cv_results, got {shown(name)} instead")
    column = checks.numbers(f"cv_results[{name!r}]", cv_results[name], ndim=1)
    if size is not None:
        checks.one_for_each(f"cv_results[{name!r}]", column, size, "cells")
    elif not column.size:
        raise ValueError("cv_results must have cells, got none")
    return column


def scores_of(cv_results: Any, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score of each cell, and its standard error, NaN of a single split.

    ``std_test_score`` is divided by the square root of one less than the number of splits:
    scikit-learn's deviation is that of the splits themselves, not of what they are drawn from.
    """
    scores = column_of(cv_results, f"mean_test_{checks.name('metric', metric)}", "metric")
    n_splits = 0
    while f"split{n_splits}_test_{metric}" in cv_results:
        n_splits += 1
    if n_splits < 2:
        return scores, np.full(scores.size, np.nan)
    deviations = column_of(cv_results, f"std_test_{metric}", "metric", scores.size)
    return scores, deviations / np.sqrt(n_splits - 1)


def cells_of(
    cv_results: Any, names: tuple[str, ...], scores: np.ndarray, best_index: Any
) -> tuple[np.ndarray, int | None, list[np.ndarray]]:
    """Return the cells that differ from the chosen one in some parameters only.

    Parameters
    ----------
    cv_results : mapping of str to array-like, or pandas.DataFrame
        Columns as in ``GridSearchCV.cv_results_``.
    names : tuple of str
        Parameters that may differ, whose values are positive numbers.
    scores : ndarray of shape (n_cells,)
        Mean scores.
    best_index : int or None
        Row of the chosen cell; that of the highest mean score if None.

    Returns
    -------
    rows : ndarray of int
    chosen : int or None
        Row of the chosen cell; None if no cell has a score.
    values : list of ndarray of shape (n_rows,)
        Values of each parameter.
    """
    parameters = {
        str(name): list(cv_results[name]) for name in cv_results if str(name).startswith("param_")
    }
    for name, values in parameters.items():
        if len(values) != scores.size:
            raise ValueError(
                f"cv_results[{name!r}] must have an entry for each of the {scores.size} cells, "
                f"got {len(values)}"
            )
    varying = [_name_of(name, list(parameters)) for name in names]
    chosen = optional(as_integer, "best_index", best_index, least=0, most=scores.size - 1)
    if chosen is None and np.isfinite(scores).any():
        chosen = int(np.nanargmax(scores))
    rows = np.arange(scores.size)
    for name, values in parameters.items():
        if name not in varying:
            # Values may be anything, estimators too; what is missing reads alike as well.
            told = np.array([str(value) for value in values])
            rows = rows[told[rows] == told[chosen or 0]]
    return rows, chosen, [_positive(name, parameters[name], rows) for name in varying]


def _name_of(parameter: str, columns: list[str]) -> str:
    """Return the column of a parameter, whichever step it belongs to."""
    found = [name for name in columns if name.split("__")[-1] == parameter]
    found += [name for name in columns if name == f"param_{parameter}"]
    if len(found) != 1:
        other = "; RegularizationPathDisplay needs C only" if parameter == "gamma" else ""
        raise ValueError(
            f"cv_results must have one parameter {parameter}, got {shown(found or columns)}{other}"
        )
    return found[0]


def _positive(name: str, values: list[Any], rows: np.ndarray) -> np.ndarray:
    """Return the values of a parameter as positive numbers."""
    kept = [values[row] for row in rows]
    for value in kept:
        if not (is_number(value, Real) and 0.0 < float(value) < np.inf):
            raise ValueError(
                f"cv_results must have a positive number for {name} in each cell that is shown, "
                f"got {shown(value)}"
            )
    return np.array(kept, dtype=float)
