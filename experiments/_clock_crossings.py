"""Crossings of `experiments.clock`: the step that divides a run into before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: What crosses: a ratio, and the level below which it is to stay.
LEVELS = {"close": 0.1, "gap": 0.5, "average": 1.0, "projection": 1.1, "batches": 2.0}
REPLICATES = 200


def crossing(steps: Sequence[int], ratio: np.ndarray, level: float) -> float | None:
    """Return the step that best divides a run into above and below a level; None if none does.

    It is the one up to which the logarithms of ratio over level have the largest sum, so that a
    swing back to the level, as noise makes them, does not count. Between two steps the logarithms
    are joined by a line.
    """
    height, at = np.log(np.asarray(ratio) / level), np.log(np.asarray(steps, dtype=float))
    i = int(np.argmax(np.concatenate(([0.0], np.cumsum(height))))) - 1
    if i == at.size - 1:
        return None
    if i < 0:
        return float(steps[0])
    share = height[i] / (height[i] - height[i + 1])
    return float(np.exp(at[i] + share * (at[i + 1] - at[i])))


def crossing_of(steps: Sequence[int], ratios: np.ndarray, level: float) -> dict[str, Any]:
    """Return the crossing of the median over the seeds, and 20–80% over resampled seeds.

    Its ``"state"`` is "crossed", "always" if the ratio is below the level from the first step on,
    "never" if it ends above, or "unclear" if resampling moves it by more than a decade.
    """
    rng, found = np.random.default_rng(0), []
    for _ in range(REPLICATES):
        rows = ratios[rng.integers(len(ratios), size=len(ratios))]
        at = crossing(steps, np.median(rows, axis=0), level)
        found.append(np.inf if at is None else at)
    low, high = np.sort(found)[[REPLICATES // 5, 4 * REPLICATES // 5]]
    T = crossing(steps, np.median(ratios, axis=0), level)
    if T is None:
        state = "never"
    elif steps[0] >= T:
        state = "always"
    else:
        state = "crossed" if high <= 10 * low else "unclear"
    return {"T": T, "T_20": low, "T_80": high, "state": state}


def decades(values: Sequence[float]) -> float:
    """Return the decades that some values span."""
    return float(np.log10(max(values) / min(values)))


def exponent_of(rows: Sequence[dict[str, Any]]) -> float:
    """Fit p of T ~ λ^−p, with a constant for each problem."""
    x, y = [], []
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        lam, T = (np.log([row[key] for row in own]) for key in ("lam", "T"))
        x += (lam - lam.mean()).tolist()
        y += (T - T.mean()).tolist()
    return float(-np.dot(x, y) / np.dot(x, x)) if np.dot(x, x) else float("nan")


def spread_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Say how far the crossings of a kind lie apart, by each of three clocks."""
    known = [row for row in rows if row["state"] == "crossed"]
    row: dict[str, Any] = {"crossings": len(known), "of": len(rows)}
    if known:
        for key in ("T", "epochs", "lam_T"):
            values = [one[key] for one in known]
            row[f"decades_{key}"] = decades(values)
            row[f"{key}_from"], row[f"{key}_to"] = min(values), max(values)
        row["lam_T_median"] = float(np.median([one["lam_T"] for one in known]))
        row["exponent"] = exponent_of(known)
    return row


def _told_spreads(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """How far the crossings lie apart; one that did not come counts where its run ended."""
    spreads = {}
    for kind, spread in results["spreads"].items():
        rows = [row for row in results["table"] if (row["kind"], row["state"]) == (kind, "never")]
        spread = spread | {"beyond": 0}
        if spread["crossings"]:
            for key, scale in (("lam_T", lambda row: 1.0), ("T", lambda row: row["lam"])):
                ends = [row["last_lam_T"] / scale(row) for row in rows]
                far = max([spread[f"{key}_to"], *ends])
                spread[f"decades_{key}"] = decades([spread[f"{key}_from"], far])
                if key == "lam_T":
                    spread["beyond"] = sum(end > spread["lam_T_to"] for end in ends)
        spreads[kind] = spread
    return spreads
