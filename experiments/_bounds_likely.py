"""What holds with high probability, next to the runs: rows of the table, and two panels.

Zhou's report bounds the mean excess of all iterates by their regret; here the regret is bounded, as
in its Theorem 3.6, or measured, as Theorem 3.3 allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._bounds_runs import DELTA, DELTAS
from experiments._plots import BLACK, BLUE, GREEN, VERMILION
from experiments._tables import select
from kpegasos.theory import (
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    median_excess_bound,
    regret_bound,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sources of what is said of the mean of all iterates with high probability, without projection.
MEASURED, BOUNDED, ONE_TERM = "Zhou, Thm. 3.3", "Zhou, Cor. 3.6.1", "derived here, as MPB 2011"
#: The same statements by name.
LIKELY = {
    BOUNDED: "mean of iterates, regret bounded",
    MEASURED: "mean of iterates, regret measured",
    ONE_TERM: "mean of iterates, one term",
}


def compare(
    statement: str, source: str, n_steps: int, delta: float | None, values: np.ndarray, bound: Any
) -> dict[str, Any]:
    """Compare excess objectives with a bound on their mean, or on all but a fraction delta.

    Of bounds that differ by run, the median is noted.
    """
    measured = float(values.mean() if delta is None else np.quantile(values, 1 - delta))
    return {
        "statement": statement,
        "source": source,
        "T": n_steps,
        "delta": delta,
        "measured": measured,
        "bound": float(np.median(bound)),
        "bound_over_measured": float(np.median(bound)) / measured,
        "fraction_above_bound": float(np.mean(values > bound)),
    }


def likely_rows(
    measured: dict[str, Any], steps: list[int], optimum: float, where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Hold what is said of the mean of all iterates, and of a random one, next to the runs."""
    regrets = np.array(measured["regrets"])
    means, random = (np.array(measured[key]) - optimum for key in ("means", "random"))
    rows = []
    for i, n in enumerate(steps):
        for delta in DELTAS:
            share = delta / (4 * np.log(n))
            bounds = {
                BOUNDED: mean_excess_bound(n, **where, delta=delta),
                MEASURED: measured_regret_bound(regrets[:, i], n, **where, delta=share),
                ONE_TERM: high_probability_bound(n, **where, delta=delta),
            }
            for source, bound in bounds.items():
                rows.append(compare(LIKELY[source], source, n, delta, means[:, i], bound))
        stops = random[..., i].ravel()
        bound = median_excess_bound(n, **where, delta=DELTA)
        rows.append(compare("random stop", "Zhou, Cor. 3.6.3", n, 0.5, stops, bound))
    return rows


def split_terms(
    measured: dict[str, Any], steps: list[int], where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Split the bound of the mean excess into its three terms, for each of two regrets.

    In units of R²/(lam T), for all but a fraction `DELTA` of the runs.
    """
    rows = []
    for n, regrets in zip(steps, np.array(measured["regrets"]).T, strict=True):
        share = DELTA / (4 * np.log(n))
        unit = where["radius"] ** 2 / (where["lam"] * n)
        bounded = regret_bound(n, where["lam"], 2 * where["radius"])
        tail = measured_regret_bound(0.0, n, **where, delta=share)
        for source, regret, whole in (
            (BOUNDED, bounded, generalization_bound(n, **where, delta=share)),
            (
                MEASURED,
                max(0.0, float(np.median(regrets))),
                np.median(measured_regret_bound(regrets, n, **where, delta=share)),
            ),
        ):
            parts = {"regret": regret, "cross": whole - regret - tail, "tail": tail}
            values = {key: float(part / unit) for key, part in parts.items()}
            rows.append({"source": source, "T": n, "delta": DELTA, **values})
    return rows


def draw_likely(ax: Axes, table: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw the mean of all iterates and its bounds with probability; return the lines by name."""
    rows = select(table, source=MEASURED, delta=DELTA)
    steps = [row["T"] for row in rows]
    means = [row["measured"] for row in rows]
    ax.plot(steps, means, "o-", markersize=4, color=BLACK)
    names: dict[str, Any] = {"mean of all iterates": (steps, means, BLACK)}
    for source, color, name in (
        (ONE_TERM, VERMILION, "one term"),
        (BOUNDED, GREEN, "regret bounded, 3.6"),
        (MEASURED, BLUE, "regret measured, 3.3"),
    ):
        bounds = [row["bound"] for row in select(table, source=source, delta=DELTA)]
        ax.plot(steps, bounds, "--", color=color)
        names[name] = (steps, bounds, color)
    ax.set_title(f"{100 * (1 - DELTA):.0f}% of runs, without projection")
    return names


def draw_terms(ax: Axes, terms: list[dict[str, Any]]) -> None:
    """Draw what the bound of the mean excess is made of, with the regret bounded and measured."""
    last = max(row["T"] for row in terms)
    names = {BOUNDED: "3.6", MEASURED: "3.3"}
    rows = [select(terms, source=source, T=last)[0] for source in names]
    labels = {"regret": "regret", "cross": "regret and chance", "tail": "chance alone"}
    gap = 0.07 * sum(rows[0][key] for key in labels)
    ends, text = np.zeros(len(rows)), gap / 2
    for (key, label), color in zip(labels.items(), ("C0", "C5", "0.7"), strict=True):
        values = np.array([row[key] for row in rows])
        ax.bar(range(len(rows)), values, bottom=ends, color=color, width=0.5)
        text = max(text, ends[-1] + values[-1] / 2)
        ax.text(len(rows) - 0.7, text, f" {label}", va="center", fontsize=10)
        ends += values
        text += gap
    ax.set(
        title=f"T = {last:,}: measuring gains {ends[0] / ends[1]:.1f} times",
        xlabel="theorem",
        ylabel="bound, in units of R²/(λT)",
        xticks=range(len(rows)),
        xticklabels=names.values(),
        xlim=(-0.5, len(rows) + 0.3),
    )
