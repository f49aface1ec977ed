"""T is the regulariser: which exact SVM Pegasos has after T steps.

Pegasos runs on random parts of six sets with several C, far too few steps for the large ones. After
each of some numbers T of steps its average is held against the exact solutions along the whole
regularisation path: the one whose direction it shares best is that of some λ′. Where the cosine is
near one and λ′T is of order one whatever C, to stop after T steps is to regularise by 1/T. A set
where it is not so is shown like the others.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import spaced
from experiments._tables import columns, grouped, select, shortened, spread, summary
from experiments.gap_and_error import SETS, Draw
from kpegasos import make_problem, make_rows, pegasos, regularization_path

FULL_TIME = "10 min"
QUICK_TIME = "20 s"

CS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Numbers of steps at which runs are looked at, two a decade.
STEPS = spaced(100_000.0, 2, 100.0)
#: Values of C whose exact solutions the averages are held against, five a decade, and how exact.
PATH_CS = tuple(float(C) for C in 10 ** np.linspace(-3, 4, 36))
EXACT = 1e-3
#: From this cosine on two models are called alike.
ALIKE = 0.9
#: λ′T is of order one between these.
ORDER_ONE = (0.1, 10.0)
#: Share of the numbers of steps, with λT below one, for which a set has to follow.
FOLLOWS = 0.8


def _compared(name: str, seed: int, sizes: tuple[int, int], Cs: tuple[float, ...]) -> Any:
    """Hold averages of one random part of a set against the exact solutions of that part."""
    draw = Draw(name, seed, *sizes)
    m = draw.y.size
    rows = make_rows(draw.X, "rbf", gamma=draw.gamma)
    path = regularization_path(make_problem(draw.y, C=1.0), rows, PATH_CS, tol=EXACT)
    norms = np.sqrt(np.einsum("ij,ij->i", path.coefs, path.margins))
    errors = [draw.error(coef) for coef in path.coefs]
    found: list[dict[str, Any]] = []
    for C in Cs:
        own = int(np.abs(np.log(np.array(PATH_CS) / C)).argmin())

        def look(run: Any, C: float = C, own: int = own) -> None:
            average = run.evaluate()[1]
            coef = average.coef * draw.y
            cosines = path.margins @ coef / (norms * average.squared_norm**0.5)
            best, T = int(cosines.argmax()), int(run.history[-1].iteration)
            found.append(
                {
                    "C": C,
                    "T": T,
                    "lam_T": T / (C * m),
                    "cosine": float(cosines[best]),
                    "own_cosine": float(cosines[own]),
                    "lam_prime_T": T / (PATH_CS[best] * m),
                    "error": draw.error(coef),
                    "alike_error": errors[best],
                    "exact_error": errors[own],
                }
            )

        problem, limits = make_problem(draw.y, C=C), {"n_steps": STEPS[-1], "checkpoints": STEPS}
        pegasos(problem, rows, random_state=seed, monitor=look, **limits)
    return [{key: shortened(value, 4) for key, value in row.items()} for row in found]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Compare on every set with every seed."""
    seeds, sizes = (2, (400, 2000)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names = ["moons", "usps", "adult"] if context.quick else list(SETS)
    Cs = CS[:3] if context.quick else CS
    runs: list[dict[str, Any]] = []
    for name, seed in context.progress(product(names, range(seeds)), "sets and seeds"):
        rows = context.part(f"{name}, seed {seed}", _compared, name, seed, sizes, Cs)
        runs += [{"data": name, **row} for row in rows]
    table = []
    for (name, C, T), own in grouped(runs, "data", "C", "T").items():
        row = {"data": name, "C": C, "T": T, "lam_T": own[0]["lam_T"]}
        for key in ("cosine", "own_cosine", "lam_prime_T", "error", "alike_error", "exact_error"):
            row |= summary(key, [one[key] for one in own])
        table.append(row)
    return {
        "seeds": list(range(seeds)),
        "sizes": list(sizes),
        "Cs": list(Cs),
        "titles": {name: SETS[name][0] for name in names},
        "table": table,
    }


def _told_early(results: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return rows of a set where Pegasos has not yet come to its own λ."""
    return [row for row in select(results["table"], data=name) if row["lam_T"] <= 1]


def _told_share(rows: list[dict[str, Any]]) -> float:
    """Return the share of rows whose model is alike an exact one with λ′T of order one."""
    low, high = ORDER_ONE
    return float(
        np.mean([row["cosine"] >= ALIKE and low <= row["lam_prime_T"] <= high for row in rows])
    )


def _told_followers(results: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the sets that follow, and those that do not."""
    shares = {name: _told_share(_told_early(results, name)) for name in results["titles"]}
    follow = [name for name, share in shares.items() if share >= FOLLOWS]
    return follow, [name for name in shares if name not in follow]


def claims(results: dict[str, Any]) -> list[Claim]:
    """Whether a number of steps is a regularisation, on which sets, and what it does to errors."""
    titles, (follow, others) = results["titles"], _told_followers(results)
    rows = [row for name in follow or titles for row in _told_early(results, name)]
    cosines, own, lam_T = columns(rows, "cosine", "own_cosine", "lam_prime_T")
    where = f"on {len(follow)} of {len(titles)} sets" if others else "on all sets"
    left = ""
    if others:
        told = listed(
            f"{titles[name]} ({percent(_told_share(_told_early(results, name)), 0)})"
            for name in others
        )
        left = f" Where it is not so, by the share of cases that are: {told}."
    differences = {
        name: [100 * (row["error"] - row["alike_error"]) for row in _told_early(results, name)]
        for name in titles
    }
    overfit = [
        row
        for name in titles
        for row in _told_early(results, name)
        if row["exact_error"] - row["error"] > 0.01
    ]
    most = max(overfit, key=lambda row: row["exact_error"] - row["error"], default=None)
    gained = (
        f" It errs less than the exact solution of its own λ by more than a point in "
        f"{len(overfit)} cases, most on {titles[most['data']]} at C = {most['C']:g}: "
        f"{percent(most['error'])} after {most['T']:,} steps, {percent(most['exact_error'])} exact."
        if most
        else ""
    )
    return [
        Claim(
            f"T is the regulariser {where}: stopped at λT ≤ 1, Pegasos has the SVM of some "
            f"λ′ ~ 1/T.",
            OURS,
            f"The cosine with the exact SVM of λ′ is {rounded(float(np.median(cosines)))} in the "
            f"median over C, T and seeds, with that of its own λ "
            f"{rounded(float(np.median(own)))}. λ′T is "
            f"{span(np.percentile(lam_T, [10, 90]))} (eight cases of ten).{left}",
        ),
        Claim(
            "It errs like the SVM that it is alike.",
            OURS,
            f"Test errors after T steps differ from those of that SVM by "
            f"{span([float(np.median(np.abs(own))) for own in differences.values()])} points in "
            f"the median, by the set.{gained}",
        ),
    ]


def _panel(above: Any, below: Any, rows: list[dict[str, Any]], Cs: list[float]) -> None:
    """Cosine above and λ′ below against T, a line for each C; hollow beyond λT = 1."""
    for C, color in zip(Cs, plots.shades(len(Cs)), strict=True):
        own = select(rows, C=C)
        T, lam_T, lam_prime_T = columns(own, "T", "lam_T", "lam_prime_T")
        style: Any = {"color": color, "linewidth": 1.6, "label": f"C = {C:g}"}
        plots.band(above, T, spread(own, "cosine"), **style)
        below.plot(T, lam_prime_T / T, **style)
        late = lam_T > 1
        hollow: Any = {"color": color, "markerfacecolor": "white", "markersize": 4}
        below.plot(T[late], (lam_prime_T / T)[late], "o", **hollow)
    below.plot(T, 1.0 / T, ":", color=plots.BLACK, linewidth=1.2, label="λ′ = 1/T")
    above.axhline(ALIKE, color=plots.GREY, linewidth=1, linestyle=":")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Two panels a set."""
    names = list(results["titles"])
    figure, axes = plots.panels(2, len(names), 6.0, sharex=True, sharey="row")
    for name, (above, below) in zip(names, axes.T, strict=True):
        _panel(above, below, select(results["table"], data=name), results["Cs"])
        plots.log_x(above, ylim=(0.4, 1.01))
        plots.log_log(below)
        above.set_title(results["titles"][name])
    plots.outer_labels(axes, x=plots.WORDS["steps"])
    axes[0, 0].set_ylabel("cosine with the best exact SVM")
    axes[1, 0].set_ylabel("its λ′")
    axes[1, -1].legend(fontsize=8.5)
    follow, _ = _told_followers(results)
    return plots.state(
        figure,
        f"Stopping after T steps regularises like λ′ = 1/T on {len(follow)} of {len(names)} sets",
        "Medians over seeds. The average of Pegasos after T steps, held against the exact SVMs of "
        "all λ′. Hollow: λT above 1, where Pegasos comes to its own λ.",
    )
