"""Results of a search, as the displays read them.

The columns of a search are those of `sklearn.model_selection.GridSearchCV`, whoever has filled
them. Names of parameters may have a prefix, as the steps of a pipeline give them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kpegasos.plotting import checks
from kpegasos.plotting.style import title_of
from kpegasos.utils.validation import as_integer, is_number, shown

#: Columns of quantities that have names of their own; a score's follows from its metric.
QUANTITIES = {
    "support_size": "mean_n_support",
    "relative_gap": "max_relative_gap",
    "seconds": "mean_fit_time",
}
_TITLES = {"seconds": "seconds of a fit", "objective": "objective f(w)"}


def name_of(name: str, metric: str = "score") -> str:
    """Return what a quantity is called beside a colour bar or an axis."""
    if name == "score":
        return "mean score" if metric == "score" else f"mean {metric.replace('_', ' ')}"
    return _TITLES.get(name) or title_of(name)


def log_edges(centres: np.ndarray) -> np.ndarray:
    """Return the edges of cells around increasing positive numbers, halfway on a log scale."""
    logs = np.log(centres)
    halves = np.diff(logs) / 2
    inner = logs[:-1] + halves
    ends = logs[[0, -1]] + [-halves[0], halves[-1]]
    return np.exp(np.concatenate((ends[:1], inner, ends[1:])))


def results_of(search: Any) -> tuple[Any, int | None]:
    """Return the results of a fitted search, and the index of its chosen cell if it has one.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If it is no search.
    """
    if isinstance(search, type) or not hasattr(search, "fit"):
        raise ValueError(f"search must be a fitted search, got {shown(search)} instead")
    check_is_fitted(search)
    if not hasattr(search, "cv_results_"):
        raise ValueError(
            f"search must be a fitted search with cv_results_, got {type(search).__name__} instead"
        )
    return search.cv_results_, getattr(search, "best_index_", None)


class SearchResults:
    """The cells of a search, one a row.

    Parameters
    ----------
    cv_results : mapping of str to array-like, or pandas.DataFrame
        Columns as in ``GridSearchCV.cv_results_``.
    metric : str, default="score"
        Which score, where a search has several: the end of ``mean_test_score``.
    best_index : int, default=None
        Row of the chosen cell; that of the highest mean score if None.

    Raises
    ------
    ValueError
        If columns are missing or of several lengths, or there is no such row.
    """

    def __init__(self, cv_results: Any, metric: str = "score", best_index: Any = None) -> None:
        self.metric = checks.name("metric", metric)
        self.columns = _columns(cv_results)
        self.scores = self.values("score")
        self.parameters = {
            name.removeprefix("param_"): column
            for name, column in self.columns.items()
            if name.startswith("param_")
        }
        for name, column in self.parameters.items():
            if len(column) != self.scores.size:
                raise ValueError(
                    f"cv_results must have columns of one length, got {len(column)} entries of "
                    f"param_{name} and {self.scores.size} scores"
                )
        if best_index is not None:
            best_index = as_integer("best_index", best_index, least=0, most=self.scores.size - 1)
        self.best_index: int | None = best_index

    def _column_of(self, name: str) -> str:
        return f"mean_test_{self.metric}" if name == "score" else QUANTITIES.get(name, name)

    def has(self, name: str) -> bool:
        """Say whether there is such a quantity."""
        return self._column_of(name) in self.columns

    def values(self, name: str) -> np.ndarray:
        """Return a quantity of all cells.

        Raises
        ------
        ValueError
            If there is no such column of numbers, one for each cell.
        """
        column = self._column_of(name)
        if column not in self.columns:
            if name == "score":
                start = "mean_test_"
                known = [key.removeprefix(start) for key in self.columns if key.startswith(start)]
                raise ValueError(
                    f"metric must be one of the scores {tuple(known)} of the search, "
                    f"got {shown(self.metric)} instead"
                )
            lacking = "" if column == name else f" without its column {column!r}"
            raise ValueError(f"panels must name columns of cv_results, got {shown(name)}{lacking}")
        values = checks.numbers(f"cv_results[{column!r}]", self.columns[column], ndim=1)
        scores = getattr(self, "scores", values)
        if values.size != scores.size or not values.size:
            raise ValueError(
                f"cv_results[{column!r}] must have an entry for each cell, got {values.size} of "
                f"{scores.size}"
            )
        return values

    def standard_errors(self) -> np.ndarray:
        """Return the standard error of each mean score; NaN where there is only one split.

        ``std_test_score`` is divided by the square root of one less than the number of splits:
        scikit-learn's deviation is that of the splits themselves, not of what they are drawn from.
        """
        split = re.compile(rf"split\d+_test_{re.escape(self.metric)}$")
        n_splits = sum(bool(split.match(name)) for name in self.columns)
        deviation = f"std_test_{self.metric}"
        if deviation not in self.columns or n_splits < 2:
            return np.full(self.scores.size, np.nan)
        return self.values(deviation) / np.sqrt(n_splits - 1)

    def name_of(self, parameter: str) -> str | None:
        """Return the full name of a parameter, that of its step included; None if there is none.

        Raises
        ------
        ValueError
            If several steps have one of this name.
        """
        if parameter in self.parameters:
            return parameter
        found = [name for name in self.parameters if name.endswith(f"__{parameter}")]
        if len(found) > 1:
            raise ValueError(f"cv_results must have one parameter {parameter}, got {shown(found)}")
        return found[0] if found else None

    def along(
        self, names: tuple[str, ...], where: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, int | None]:
        """Return the cells that differ in some parameters only.

        Parameters
        ----------
        names : tuple of str
            Parameters that may differ.
        where : mapping of str to object or None
            Values of others; where it has none, they are those of the chosen cell.

        Returns
        -------
        rows : ndarray of int
        chosen : int or None
            Row of the chosen cell; None if no cell has a score.

        Raises
        ------
        ValueError
            If no cell has these values.
        """
        fixed = dict(checks.mapping("where", where)) if where is not None else {}
        rows = np.arange(self.scores.size)
        for name, value in fixed.items():
            known = self.name_of(name)
            if known is None:
                raise ValueError(
                    f"where must name parameters of the search {sorted(self.parameters)}, "
                    f"got {shown(name)}"
                )
            rows = rows[[_same(self.parameters[known][row], value) for row in rows]]
        if not rows.size:
            raise ValueError(f"where must be the values of some cell, got {shown(where)}")
        chosen = self._best_of(rows)
        reference = rows[0] if chosen is None else chosen
        varying = {self.name_of(name) for name in names}
        for name, column in self.parameters.items():
            if name not in varying:
                rows = rows[[_same(column[row], column[reference]) for row in rows]]
        return rows, chosen

    def _best_of(self, rows: np.ndarray) -> int | None:
        """Return the chosen cell if it is among these, else that of the highest score."""
        if self.best_index in rows:
            return self.best_index
        scores = self.scores[rows]
        return int(rows[np.nanargmax(scores)]) if np.isfinite(scores).any() else None

    def numbers_of(self, parameter: str, rows: np.ndarray) -> np.ndarray:
        """Return the values of a parameter as positive numbers.

        Raises
        ------
        ValueError
            If there is no such parameter, or it is something else in a cell.
        """
        name = self.name_of(parameter)
        if name is None:
            other = "; RegularizationPathDisplay needs C only" if parameter == "gamma" else ""
            raise ValueError(
                f"cv_results must have the parameter {parameter}, "
                f"got {shown(list(self.parameters))}{other}"
            )
        column = self.parameters[name][rows]
        unfit = [value for value in column if not _is_positive(value)]
        if unfit:
            came = "none in some" if _is_absent(unfit[0]) else shown(unfit[0])
            raise ValueError(
                f"cv_results must have a positive number for {parameter} in each cell that is "
                f"shown, got {came}"
            )
        return np.array([float(value) for value in column])


def _columns(cv_results: Any) -> dict[str, np.ndarray]:
    """Return columns as arrays; masked entries are None.

    Raises
    ------
    ValueError
        If they are no columns.
    """
    if hasattr(cv_results, "to_dict") and hasattr(cv_results, "columns"):  # a frame of pandas
        cv_results = {str(name): cv_results[name].to_numpy() for name in cv_results.columns}
    known = checks.mapping("cv_results", cv_results)
    found = {}
    for name, column in known.items():
        if name.startswith("param_"):
            found[name] = _objects(name, column)
        elif name != "params":
            found[name] = column
    return found


def _objects(name: str, column: Any) -> np.ndarray:
    """Return values of a parameter, which may be anything, as an array of objects."""
    if isinstance(column, np.ma.MaskedArray):
        absent, column = np.ma.getmaskarray(column), column.data.astype(object)
        column[absent] = None
    if not isinstance(column, np.ndarray | list | tuple):
        raise ValueError(f"cv_results[{name!r}] must be an array, got {shown(column)} instead")
    array = np.empty(len(column), dtype=object)
    array[:] = list(column)
    return array


def _is_absent(value: Any) -> bool:
    """Tell whether a cell has no such parameter; tables from files have NaN there."""
    return value is None or (is_number(value, Real) and bool(np.isnan(float(value))))


def _is_positive(value: Any) -> bool:
    return is_number(value, Real) and bool(np.isfinite(float(value))) and float(value) > 0.0


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values of a parameter are one, numbers up to rounding."""
    if one is other or (_is_absent(one) and _is_absent(other)):
        return True
    if is_number(one, Real) and is_number(other, Real):
        return bool(np.isclose(float(one), float(other), rtol=1e-9, atol=0.0))
    try:
        return bool(np.all(one == other))
    except (TypeError, ValueError):
        return False
