"""What a search says: a table of its cells, the best of them, and how exactly they were solved."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kpegasos.cli.output_files import csv_lines
from kpegasos.cli.reports import percent, shown_seconds, table_lines
from kpegasos.plotting import RegularizationPathDisplay, ValidationSurfaceDisplay

#: Accuracies are percentages, as in grid.py; other scores are what they are.
_ACCURACY = "accuracy"
#: What is drawn of each cell beside its score.
_PANELS = ("score", "support_size")


def best_line(search: Any) -> str:
    """The chosen values and their score, as the last line of LIBSVM's grid.py.

    Parameters
    ----------
    search : PegasosSVCCV
        With a cell that is complete in all folds.

    Returns
    -------
    str
        Such as "8.0 0.03125 94.8"; C comes first, then what else the kernel has.
    """
    values = search.best_params_.values()
    return " ".join([*map(repr, values), shown_score(search.best_score_, search.scoring)])


def shown_score(score: float, metric: str, digits: int = 6) -> str:
    """A score to print: a percentage if it is an accuracy.

    Parameters
    ----------
    score : float
    metric : str
        Name of the scorer.
    digits : int, default=6
    """
    return f"{100.0 * score if metric == _ACCURACY else score:.{digits}g}"


def certified_line(search: Any, seconds: float) -> str:
    """How many cells are done, and how exactly.

    Parameters
    ----------
    search : PegasosSVCCV
    seconds : float
    """
    gaps = search.relative_gaps_[np.isfinite(search.relative_gaps_)]
    n_cells, n_missing = search.scores_.size, len(search.missing_)
    done = f"{n_cells - n_missing} of {n_cells} cells" if n_missing else f"{n_cells} cells"
    certified = "no certified gaps"
    if gaps.size:
        certified = f"each within {percent(float(gaps.max()))} of its optimum (certified)"
    return f"{done}, {certified}, {shown_seconds(seconds)}"


def cell_lines(search: Any) -> Iterator[str]:
    """A table of the cells, the best first.

    Parameters
    ----------
    search : PegasosSVCCV
    """
    results, metric = search.cv_results_, search.scoring
    names = [name.removeprefix("param_") for name in results if name.startswith("param_")]
    score = f"{metric} %" if metric == _ACCURACY else metric
    rows = [[*names, score, "deviation", "largest gap", "support"]]
    for row in np.argsort(results["rank_test_score"], kind="stable").tolist():
        scores = [results[f"{kind}_test_score"][row] for kind in ("mean", "std")]
        rows.append(
            [
                *(f"{results[f'param_{name}'][row]:.6g}" for name in names),
                *(_or_dash(score, lambda score: shown_score(score, metric, 4)) for score in scores),
                _or_dash(results["max_relative_gap"][row], percent),
                _or_dash(results["mean_n_support"][row], lambda size: f"{size:.0f}"),
            ]
        )
    return table_lines(rows)


def _or_dash(value: float, shown: Callable[[float], str]) -> str:
    return "–" if math.isnan(value) else shown(value)


def facts_of_search(search: Any) -> dict[str, Any]:
    """What ``--json`` tells of a search.

    Parameters
    ----------
    search : PegasosSVCCV
    """
    results = search.cv_results_
    columns = {
        "mean_score": results["mean_test_score"],
        "std_score": results["std_test_score"],
        "largest_relative_gap": results["max_relative_gap"],
        "mean_n_support": results["mean_n_support"],
    }
    cells = [
        {**parameters, **{name: values[row] for name, values in columns.items()}}
        for row, parameters in enumerate(results["params"])
    ]
    return {
        "status": search.status_,
        "metric": search.scoring,
        "n_folds": search.n_splits_,
        "best_parameters": getattr(search, "best_params_", None),
        "best_score": getattr(search, "best_score_", None),
        "n_missing": len(search.missing_),
        "kernel_evaluations": search.kernel_evaluations_,
        "cells": cells,
    }


def results_lines(search: Any) -> Iterator[str]:
    """``cv_results_`` as lines of CSV, a column for each but ``params``.

    Parameters
    ----------
    search : PegasosSVCCV
    """
    columns = {name: values for name, values in search.cv_results_.items() if name != "params"}
    rows = zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)
    return csv_lines([columns, *rows])


def picture_of(search: Any, suffix: str) -> bytes:
    """The scores over C and gamma, or over C where there is one gamma.

    Parameters
    ----------
    search : PegasosSVCCV
        With at least two values of C.
    suffix : str
        Format of the picture, such as "png".
    """
    figure = Figure(figsize=(10.0, 4.5), layout="constrained")
    axes = figure.subplots(1, len(_PANELS))
    surface = getattr(search, "gammas_", np.empty(0)).size > 1
    display = ValidationSurfaceDisplay if surface else RegularizationPathDisplay
    display.from_estimator(search, panels=_PANELS, ax=axes)
    picture = io.BytesIO()
    figure.savefig(picture, format=suffix)
    return picture.getvalue()
