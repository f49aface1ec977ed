"""Seconds of linear SVMs on synthetic text and on Covertype, beside their peers.

The journal paper's Table 1 has CCAT (λ = 1e-4), astro-ph (5e-5) and Covertype (1e-6). The texts are
not public; `datasets.make_text_like` makes rows of their shape, with as many labels flipped as the
published errors suggest: the level of the error is an input. Every solver is run
at growing numbers of steps or passes, several times; the first setting whose median is within 1% or
0.1% of the certified optimum, or within the paper's ε, or whose test error is at most 1.1 times the
optimum's, gives its time: the whole call of ``fit``, validation and certificate included. No
intercept, as in the paper; features are float32.

The peers make whole passes, so that their first point may be beyond what a goal asks for; the
results say where it is. Ours stop within a pass. Those that visit runs of neighbouring rows,
``sampling="contiguous"``, presuppose rows in random order, which these are.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from experiments import _plots as plots
from experiments._claims import JOURNAL, OURS, Claim, duration, mark, percent
from experiments._measure import repeated
from experiments._run import ExperimentContext
from experiments._runs import Split, documents, hinge_objective
from experiments._tables import columns, grouped, select
from kpegasos import LinearPegasosSVC, linear_rows, make_problem, sdca
from kpegasos.datasets import load_covtype

FULL_TIME = "14 min"
QUICK_TIME = "25 s"

#: λ of each problem.
PROBLEMS = {"CCAT-shaped": 1e-4, "astro-ph-shaped": 5e-5, "Covertype": 1e-6}
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
_PASSES = (1, 2, 3, 5, 10, 20, 50)
#: Seconds after which a fit is not repeated.
_ENOUGH = 5.0
#: The paper's ε, and its seconds of 2011 for Pegasos on the set that is real here.
EPSILONS = {"CCAT-shaped": 0.00589, "astro-ph-shaped": 0.0275, "Covertype": 0.0449}
#: Synthetic text: documents for training and testing, words, density, and the share of labels that
#: are flipped. The last is an input, near the published error at the optimum.
SHAPES = {
    "CCAT-shaped": (781_265, 23_149, 47_236, 0.0016, 0.06),
    "astro-ph-shaped": (29_882, 32_487, 99_757, 0.0008, 0.033),
}
PUBLISHED = {"Covertype": 0.32}
TO_EPSILON = "within the paper's ε of f*"
GOALS = ("within 1% of f*", "within 0.1% of f*", "1.1 times the optimal test error", TO_EPSILON)


@cache
def load(name: str, quick: bool) -> Split:
    """Load or make a problem."""
    if name == "Covertype":
        # With columns onto [0, 1] the error is 22.6% for class 1 and 23.8% for class 2.
        data = load_covtype(positive=1)
        n = 20_000 if quick else len(data.y_train)
        X, X_test = (np.asarray(X, np.float32) for X in (data.X_train[:n], data.X_test))
        return Split(X, data.y_train[:n], X_test, data.y_test)
    n_train, n_test, n_words, density, noise = SHAPES[name]
    n = min(20_000, n_train) if quick else n_train
    return documents(n, n_test, n_words, density, noise=noise, random_state=0)


class Ascent:
    """Dual coordinate ascent behind the methods that are asked of the other solvers."""

    def __init__(self, lam: float, passes: float) -> None:
        self.lam = lam
        self.passes = int(passes)

    def fit(self, X: Any, y: np.ndarray) -> Ascent:
        """Ascend for the number of passes."""
        problem = make_problem(y, self.lam)
        result = sdca(problem, linear_rows(X), tol=0.0, max_epochs=self.passes, random_state=0)
        self.coef_ = result.w
        return self


def _solvers(name: str, quick: bool) -> dict[str, tuple[Any, tuple[float, ...]]]:
    """Name: function from an effort to an estimator, and the efforts."""
    n_samples, lam = load(name, quick).y.size, PROBLEMS[name]
    common: dict[str, Any] = {"fit_intercept": False, "random_state": 0}

    def ours(share: float, **options: Any) -> LinearPegasosSVC:
        options |= {"n_steps": max(1, int(share * n_samples)), "checkpoints": None, **common}
        return LinearPegasosSVC(lam=lam, **options)

    def sgd(passes: float, average: bool) -> SGDClassifier:
        options: Any = {"max_iter": int(passes), "tol": None, **common}
        return SGDClassifier(alpha=lam, average=average, **options)

    def liblinear(passes: float) -> LinearSVC:
        options: Any = {"max_iter": int(passes), "tol": 1e-12, **common}
        return LinearSVC(C=1.0 / (lam * n_samples), loss="hinge", **options)

    thin = 4 if quick else 1
    shares, passes = _SHARES[::thin], _PASSES[::thin]
    averages = {"t-weighted": "weighted", "suffix": "suffix", "uniform": "uniform", "last": None}
    return {
        **{
            f"kpegasos, {label}": (partial(ours, average=average, sampling="contiguous"), shares)
            for label, average in averages.items()
        },
        "kpegasos, t-weighted, permutation": (ours, shares),
        "SGDClassifier": (partial(sgd, average=False), passes),
        "SGDClassifier, averaged": (partial(sgd, average=True), passes),
        "LinearSVC, hinge": (liblinear, passes),
        "SDCA": (partial(Ascent, lam), passes),
    }


def _optimum(name: str, quick: bool) -> dict[str, float]:
    """Certified optimum, and the test error there."""
    return load(name, quick).optimum(PROBLEMS[name], tol=2e-4, max_epochs=400, max_time=240)


def _measure(name: str, solver: str, effort: float, quick: bool) -> dict[str, float]:
    data = load(name, quick)
    make, _ = _solvers(name, quick)[solver]
    few = slice(0, 2000)
    make(effort).fit(data.X[few], data.y[few])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, model, _ = repeated(
            lambda: make(effort).fit(data.X, data.y), 1 if quick else 3, _ENOUGH
        )
    w = np.ravel(model.coef_).astype(float)
    return {
        "effort": effort,
        "seconds": float(np.median(seconds)),
        "objective": hinge_objective(data.y, data.X @ w, w @ w, PROBLEMS[name]),
        "test_error": data.error(w),
    }


def _reached(name: str, row: dict[str, Any], optimum: dict[str, float]) -> list[bool]:
    f_star = optimum["dual_bound"]
    return [
        row["objective"] <= 1.01 * f_star,
        row["objective"] <= 1.001 * f_star,
        row["test_error"] <= 1.1 * optimum["test_error"],
        row["objective"] <= f_star + EPSILONS[name],
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every solver until it has reached all goals."""
    optima, curves = {}, []
    for name in context.progress(PROBLEMS, "problems"):
        optima[name] = context.part(f"{name}, optimum", _optimum, name, context.quick)
        for solver, (_, efforts) in context.progress(_solvers(name, context.quick).items(), name):
            goals = np.zeros(len(GOALS), dtype=bool)
            for effort in efforts:
                key = f"{name}, {solver}, {effort:g}"
                row = context.part(key, _measure, name, solver, effort, context.quick)
                curves.append({"problem": name, "solver": solver, **row})
                goals |= _reached(name, row, optima[name])
                if goals.all() or row["seconds"] > 60:
                    break
    table = []
    for (name, solver), rows in grouped(curves, "problem", "solver").items():
        line: dict[str, Any] = {"problem": name, "solver": solver}
        for number, goal in enumerate(GOALS):
            good = [row for row in rows if _reached(name, row, optima[name])[number]]
            line[goal] = min((row["seconds"] for row in good), default=None)
            # The least that a solver can do may be more than the goal asks for.
            line[f"{goal}, at its least effort"] = rows[0] in good
        table.append(line)
    return {"seeds": [0], "table": table, "curves": curves, "optima": optima}


def _told_seconds(results: dict[str, Any], problem: str, goal: str) -> str:
    """Seconds of each solver to a goal; of ours, of the best average that is taken."""
    told = []
    for solver, name in (
        ("kpegasos, last", "last iterate"),
        ("kpegasos, t-weighted", "t-weighted average"),
        ("SDCA", "SDCA"),
        ("SGDClassifier", "SGDClassifier"),
        ("SGDClassifier, averaged", "the same averaged"),
        ("LinearSVC, hinge", "LinearSVC"),
    ):
        for row in select(results["table"], problem=problem, solver=solver):
            least = row[f"{goal}, at its least effort"] and not solver.startswith("kpegasos")
            note = " (its first pass)" if least else ""
            value = row[goal]
            told.append(f"{name} {'not reached' if value is None else duration(value)}{note}")
    return ", ".join(told)


def claims(results: dict[str, Any]) -> list[Claim]:
    """The journal paper's row on real data, and our seconds beside the peers'."""
    found = []
    for problem, optimum in results["optima"].items():
        shape = problem.removesuffix("-shaped")
        name = problem if shape == problem else f"synthetic text of {shape}'s shape"
        if problem in PUBLISHED:
            found.append(_told_published(results, problem, optimum["test_error"]))
        goals = "; ".join(f"{goal}: {_told_seconds(results, problem, goal)}" for goal in GOALS[:3])
        found.append(
            Claim(
                f"Seconds of linear SVMs on {name}.",
                OURS,
                f"Whole calls of fit, {goals}. Ours visits runs of neighbouring rows "
                '(sampling="contiguous") of shuffled data.',
            )
        )
    return found


def _told_published(results: dict[str, Any], problem: str, error: float) -> Claim:
    rows = select(results["table"], problem=problem)
    own = [row[TO_EPSILON] for row in rows if row["solver"].startswith("kpegasos")]
    best = min((value for value in own if value is not None), default=float("inf"))
    return Claim(
        f"{problem} is learnt to ε = {EPSILONS[problem]:g} in {PUBLISHED[problem]:g} s.",
        JOURNAL,
        f"Whole calls of fit: {_told_seconds(results, problem, TO_EPSILON)}. Test error at the "
        f"optimum {percent(error)}. The published seconds are from 2011.",
        mark(best <= PUBLISHED[problem]),
        "✓ if our best average takes no longer, ✗ if it does.",
    )


#: What is drawn: the method whose look it has, its name, and the solvers whose best runs it shows.
SHOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "weighted": ("LinearPegasosSVC", ("kpegasos, t-weighted",)),
    "SGDClassifier": ("SGDClassifier", ("SGDClassifier", "SGDClassifier, averaged")),
    "LinearSVC": ("LinearSVC", ("LinearSVC, hinge",)),
    "SDCA": ("SDCA", ("SDCA",)),
}
NAMES = {"CCAT-shaped": "Synthetic text of CCAT's shape", "Covertype": "Covertype"}
#: Below this a suboptimality is not told from the optimum's own bracket.
_LEAST = 1e-4


def _envelope(rows: list[dict[str, Any]], f_star: float) -> tuple[np.ndarray, np.ndarray]:
    """Seconds, and the least relative suboptimality of all runs that took no longer."""
    seconds, objective = columns(sorted(rows, key=itemgetter("seconds")), "seconds", "objective")
    return seconds, np.maximum(np.minimum.accumulate(objective) / f_star - 1, _LEAST)


def _first(results: dict[str, Any], goal: str) -> str:
    """Say who is first within a goal on each problem, and after how long."""
    found = {}
    for problem in results["optima"]:
        rows = [row for row in select(results["table"], problem=problem) if row.get(goal)]
        times = {
            name: min((row[goal] for row in rows if row["solver"] in solvers), default=np.inf)
            for name, solvers in SHOWN.values()
        }
        winner = min(times, key=lambda name: float(times[name]))
        if np.isfinite(times[winner]):
            found[problem] = (winner, f"{times[winner]:.2f} s on {problem}")
    winners = {winner for winner, _ in found.values()}
    if len(winners) == 1:
        return f"{winners.pop()} is first {goal}: " + ", ".join(time for _, time in found.values())
    return f"First {goal}: " + ", ".join(f"{name}, {time}" for name, time in found.values())


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality against seconds to fit, the best runs of each solver."""
    figure, axes = plots.panels(1, len(results["optima"]), 4.4, sharey=True)
    for ax, (problem, optimum) in zip(axes[0], results["optima"].items(), strict=True):
        for key, (name, solvers) in SHOWN.items():
            runs = select(results["curves"], problem=problem)
            own = [row for row in runs if row["solver"] in solvers]
            if own:
                seconds, above = _envelope(own, optimum["dual_bound"])
                ax.plot(seconds, above, **plots.METHODS[key].options(linestyle="-", label=name))
        title = NAMES.get(problem, problem).replace(" of", "\nof")
        for level in (0.01, 0.001):
            ax.axhline(level, color=plots.SILVER, linestyle=":", zorder=0)
        plots.log_log(ax, xlabel=plots.WORDS["fit_seconds"], title=title)
        ax.set_ylim(0.7 * _LEAST, 2)
    axes[0, 0].set_ylabel(plots.WORDS["relative_suboptimality"])
    told = _first(results, GOALS[0])
    winner, one, _ = told.partition(" is first ")
    return plots.state(
        figure,
        f"{winner if one else 'No solver'} is first on every problem: {told}",
        "The best run of each solver within the seconds, medians; float32, no intercept, "
        f"certificate included; LinearPegasosSVC is the {plots.METHODS['weighted'].name} over "
        "contiguous blocks of rows, which presupposes rows in random order. SGDClassifier and "
        "LinearSVC make whole passes. Labels of the text are flipped at random, 6% of them.",
    )
