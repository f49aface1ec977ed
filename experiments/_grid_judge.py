"""What the searches of `grid_search` say beside each other: differences, ratios, and the goals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from experiments._grid_peers import SINGLE
from experiments._grid_problems import SIMULATED
from experiments._torchkm import PUBLISHED

Row = dict[str, Any]
#: Peers that say what the scores should be, the first that was measured; LIBSVM's solver in both.
_REFERENCES = ("SVC", "intelex")
OURS = "PegasosSVCCV"
_JUDGED = (
    *("times_ours", "reference", "largest_difference"),
    *("differing_cells", "same_cell", "shortfall", "standard_error"),
)
#: Mean scores that differ by no more are alike.
ALIKE = 0.003


def _array(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)


def find(rows: Iterable[Row], problem: str, tool: str, setting: str = "") -> Row:
    """Return the row of a problem and tool, an empty one if it was not measured."""
    for row in rows:
        if (row["problem"], row["tool"], row["setting"]) == (problem, tool, setting):
            return row
    return {}


def _against(row: Row, surface: Row, reference: Row, its_surface: Row) -> Row:
    """Compare the scores of two searches over the same cells."""
    scores, truth = _array(surface["scores"]), _array(its_surface["scores"])
    differences = np.abs(scores - truth)
    if np.isnan(scores).all():
        return {}
    chosen = np.unravel_index(np.nanargmax(scores), scores.shape)
    best = np.unravel_index(np.nanargmax(truth), truth.shape)
    error = _array(its_surface["deviations"])[best] / math.sqrt(its_surface["n_splits"])
    return {
        "reference": reference["tool"],
        "largest_difference": float(np.nanmax(differences)),
        "differing_cells": int(np.sum(differences > ALIKE)),
        "same_cell": bool(chosen == best),
        # How far the reference's score of the chosen cell is below that of its own choice.
        "shortfall": float(truth[best] - truth[chosen]),
        "standard_error": float(error),
    }


def judge(rows: list[Row], surfaces: list[Row]) -> None:
    """Write into the rows how their scores differ from a peer's, and how much longer they took.

    Parameters
    ----------
    rows : list of dict
        One for each search or fit; those of a problem have ``times_ours``, its seconds over ours,
        and where there are peers ``reference``, ``largest_difference`` of the mean scores over all
        cells, ``differing_cells``, ``same_cell``, ``shortfall`` and ``standard_error`` of the
        chosen cell.
    surfaces : list of dict
        Scores of the searches, by ``problem``, ``tool`` and ``setting``.
    """
    for row in rows:
        for column in _JUDGED:
            row.pop(column, None)
        ours = find(rows, row["problem"], OURS)
        if row.get("seconds") and ours.get("seconds"):
            row["times_ours"] = row["seconds"] / ours["seconds"]
        for name in _REFERENCES:
            its_surface = find(surfaces, row["problem"], name)
            surface = find(surfaces, row["problem"], row["tool"], row["setting"])
            if its_surface and surface and row["tool"] != name:
                row |= _against(row, surface, find(rows, row["problem"], name), its_surface)
                break


def _goal(goal: str, found: float | None, *, at_least: float = -math.inf, at_most: float) -> Row:
    met = None if found is None else at_least <= found <= at_most
    return {"goal": goal, "found": found, "at_least": at_least, "at_most": at_most, "met": met}


def goals(rows: list[Row]) -> list[Row]:
    """Hold the measurements against what was set out to be reached.

    Parameters
    ----------
    rows : list of dict
        Judged rows.

    Returns
    -------
    list of dict
        ``goal``, ``found``, ``at_least`` and ``at_most``, and ``met``, None where nothing was
        measured.
    """
    images, many = "T-shirt or shirt 4,000", "T-shirt or shirt 12,000"
    ours = find(rows, images, OURS)
    single = find(rows, many, SINGLE).get("times_ours")
    against_svc = ours if ours.get("reference") == "SVC" else {}
    error, shortfall = against_svc.get("standard_error"), against_svc.get("shortfall")
    found = [
        _goal(f"{problem}: seconds of {tool} over ours", times, at_least=least, at_most=math.inf)
        for problem, tool, least in (
            (images, "intelex", 8.0),
            (images, "SVC", 40.0),
            ("digits", "SVC", 10.0),
        )
        for times in [find(rows, problem, tool).get("times_ours")]
    ]
    found += [
        _goal(
            f"{images}: largest difference to SVC's scores",
            against_svc.get("largest_difference"),
            at_most=ALIKE,
        ),
        _goal(
            f"{images}: shortfall of the chosen cell in standard errors",
            shortfall / error if error else shortfall,
            at_most=1.0,
        ),
        _goal(
            f"{many}: our seconds over the dearest fit", 1 / single if single else None, at_most=6.0
        ),
    ]
    for problem, (n_features, _) in SIMULATED.items():
        row = find(rows, problem, OURS)
        found.append(_goal(f"{problem}: fits missing", row.get("missing"), at_most=0.0))
        if n_features > 10:
            published = PUBLISHED[n_features].torchkm
            found.append(_goal(f"{problem}: seconds", row.get("seconds"), at_most=published))
    return found
