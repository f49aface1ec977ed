"""T is the regulariser: which exact SVM Pegasos has after T steps.

Pegasos runs on random parts of six sets with several C, far too few steps for the large ones. After
each of some numbers T of steps its average is held against the exact solutions along the whole
regularisation path: the one whose direction it shares best is that of some λ′. Where λ′T is
of order one whatever C, to stop after T steps is to regularise by 1/T. A set where it is not so is
shown like the others.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import SETS, Draw, spaced
from experiments._tables import columns, grouped, select, shortened, spread, summary
from kpegasos import RBF, make_problem, make_rows, pegasos, regularization_path

FULL_TIME = "3 min"
QUICK_TIME = "20 s"

CS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Numbers of steps at which runs are looked at, two a decade.
STEPS = spaced(100_000.0, 2, 100.0)
#: Values of C whose exact solutions the averages are held against, five a decade, and how exact.
PATH_CS = tuple(float(C) for C in 10 ** np.linspace(-3, 4, 36))
EXACT = 1e-3
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
    values = RBF(draw.gamma).block(draw.X_test, draw.X)

    def error(coef: np.ndarray) -> float:
        decisions = values @ coef.astype(values.dtype)
        return float(np.mean(np.where(decisions > 0, 1, -1) != draw.y_test))

    errors = [error(coef) for coef in path.coefs]
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
                    "error": error(coef),
                    "alike_error": errors[best],
                    "exact_error": errors[own],
                }
            )

        limits: Any = {"n_steps": STEPS[-1], "checkpoints": STEPS}
        pegasos(make_problem(draw.y, C=C), rows, random_state=seed, monitor=look, **limits)
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
    """Return the share of rows whose λ′T is of order one."""
    low, high = ORDER_ONE
    return float(np.mean([low <= row["lam_prime_T"] <= high for row in rows]))


def _told_followers(results: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the sets that follow, and those that do not."""
    shares = {name: _told_share(_told_early(results, name)) for name in results["titles"]}
    follow = [name for name, share in shares.items() if share >= FOLLOWS]
    return follow, [name for name in shares if name not in follow]


def _told_agreement(rows: list[dict[str, Any]]) -> float:
    """Return how many times the largest λ′ of all C is the least, in the median over T."""
    of_T = grouped(rows, "T").values()
    found = [[row["lam_prime_T"] for row in own] for own in of_T if len(own) > 1]
    return float(np.median([max(own) / min(own) for own in found]))


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say on which sets a number of steps regularises, and what it does to errors."""
    titles, (follow, others) = results["titles"], _told_followers(results)
    by_set = {name: _told_early(results, name) for name in titles}
    rows = [row for name in follow or titles for row in by_set[name]]
    lam_T, cosines, own = columns(rows, "lam_prime_T", "cosine", "own_cosine")
    agree = [_told_agreement(by_set[name]) for name in follow or titles]
    shares = listed(f"{titles[name]} ({percent(_told_share(by_set[name]), 0)})" for name in others)
    left = f" Fewer cases follow on {shares}." if others else ""
    first, last = (
        [row["cosine"] for row in rows if row["T"] == T]
        for T in (min(row["T"] for row in rows), max(row["T"] for row in rows))
    )
    errors = [
        float(np.median([100 * abs(row["error"] - row["alike_error"]) for row in by_set[name]]))
        for name in titles
    ]
    better = [
        {**row, "gain": row["exact_error"] - row["error"]}
        for rows in by_set.values()
        for row in rows
        if row["exact_error"] - row["error"] > 0.01
    ]
    gained = ""
    if better:
        most = max(better, key=lambda row: float(row["gain"]))
        gained = (
            f" In {len(better)} cases it beats the exact solution of its own λ by more "
            f"than a point, most on {titles[most['data']]} at C = {most['C']:,g}: "
            f"{percent(most['error'])} after {most['T']:,.0f} steps, "
            f"{percent(most['exact_error'])} exact."
        )
    return [
        Claim(
            f"Stopping after T steps regularises like a λ′ of about 1/T, whatever C, on "
            f"{len(follow)} of {len(titles)} sets.",
            OURS,
            f"While λT is at most one, the exact SVM most like the average has a λ′T of "
            f"{span(np.percentile(lam_T, [10, 90]))} (eight cases of ten). At one T, the largest "
            f"λ′ of all C is {span(agree)} times the least (medians over T, across sets).{left}",
        ),
        Claim(
            "The average of an unfinished run is on the way to that SVM, not there.",
            OURS,
            f"Its cosine with the SVM of λ′ is {span(first)} at the fewest steps and "
            f"{span(last)} at the most, with a median of {rounded(float(np.median(cosines)))}; "
            f"with that of its own λ it is {rounded(float(np.median(own)))}. Its test error "
            f"differs from that of the SVM of λ′ by {span(errors)} points (medians, across sets)."
            f"{gained}",
        ),
    ]


def _panel(above: Any, below: Any, rows: list[dict[str, Any]], Cs: list[float], last: bool) -> None:
    """Cosine above and λ′ below against T, a line for each C; hollow beyond λT = 1."""
    for C, color in zip(Cs, plots.shades(len(Cs)), strict=True):
        own = select(rows, C=C)
        T, lam_T, lam_prime_T = columns(own, "T", "lam_T", "lam_prime_T")
        style: Any = {"color": color, "linewidth": 1.6}
        plots.band(above, T, spread(own, "cosine"), **style)
        below.plot(T, lam_prime_T / T, label=f"C = {C:,g}" if last else "_", **style)
        late = lam_T > 1
        hollow: Any = {"color": color, "markerfacecolor": "white", "markersize": 4}
        below.plot(T[late], (lam_prime_T / T)[late], "o", **hollow)
    below.plot(T, 1.0 / T, ":", color=plots.BLACK, linewidth=1.4, label="1/T" if last else "_")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Two panels a set."""
    names = list(results["titles"])
    n_columns = -(-len(names) // 2)
    figure, axes = plots.panels(4, n_columns, 9.0, sharex=True)
    Cs = [*results["Cs"][:3], *results["Cs"][3:][-1:]]
    pairs = [pair for rows in (axes[:2], axes[2:]) for pair in rows.T]
    for at, (name, (above, below)) in enumerate(zip(names, pairs, strict=False)):
        rows = select(results["table"], data=name)
        _panel(above, below, rows, Cs, at == n_columns - 1)
        plots.log_x(above, ylim=(0.15, 1.02))
        plots.log_log(below, ylim=(5e-6, 0.1))
        below.set_xticks([1e2, 1e3, 1e4, 1e5], ["10²", "10³", "10⁴", "10⁵"])
        above.set_title(results["titles"][name])
    for ax in (ax for pair in pairs[len(names) :] for ax in pair):
        ax.set_visible(False)
    plots.outer_labels(axes, plots.WORDS["steps"])
    for above, below in (axes[:2, 0], axes[2:, 0]):
        above.set_ylabel("cosine with\nthe nearest SVM")
        below.set_ylabel("λ′ of that SVM")
    for ax in (*axes[:, 1:].flat, *axes[:-1].flat):
        ax.label_outer()
    follow, _ = _told_followers(results)
    like = "like" if 2 * len(follow) > len(names) else "not like"
    return plots.state(
        figure,
        f"Stopping early is {like} choosing a larger λ: after T steps λ′ is of order 1/T on "
        f"{len(follow)} of {len(names)} sets",
        "Medians over seeds. The average of Pegasos after T steps, held against the exact SVMs of "
        "all λ′. Hollow: λT above 1, where Pegasos comes to its own λ.",
    )
