"""Linear SVMs on text and forest data against the clock: ours beside SGDClassifier and LinearSVC.

The journal paper's Table 1 has CCAT (λ = 1e-4) and Covertype (λ = 1e-6). The documents of CCAT are
not freely redistributable; `datasets.make_text_like` makes rows of that shape. Every solver is run
at growing numbers of steps or passes, several times; the first setting whose median is within 1% or
0.1% of the certified optimum, or whose test error is at most 1.1 times the optimum's, gives its
time: the whole call of ``fit``, validation and certificate included. No intercept, as in the paper;
features are float32.

Verdict: on text ours is first to 1% (.32 s for the last iterate, .41 s for the t-weighted average;
SGDClassifier .43, LinearSVC 2.2) and to 0.1% (.40, .43 and 2.8 s), of which some .2 s are checking
the data and the certificate; a step takes 220 to 280 ns, reading its row from memory would take 36.
On Covertype the error at the optimum is 22.4% (published 22.6); at 1.1 times that ours is after
.09 s, SGDClassifier after .19 averaged and 1.5 not; to 1% 2.3 s, LinearSVC 4.8, SGDClassifier
not within 50 passes, while 0.1% is reached by LinearSVC alone.
"""

from __future__ import annotations

import time
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from experiments._plots import SILVER, log_log, look, name_lines, panels, state, words
from experiments._settings import hinge_objective
from experiments._tables import select
from kpegasos import LinearPegasosSVC, linear_rows, make_problem, sdca
from kpegasos.datasets import load_covtype, make_text_like

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "12 min"
QUICK_TIME = "25 s"

#: λ, and the published seconds of Pegasos, SDCA, SVM-Perf, LASVM to the paper's ε (MPB, Table 1).
PROBLEMS: dict[str, tuple[float, str]] = {
    "CCAT-shaped": (1e-4, ".16 / .36 / 3.6 / > 18,000 s"),
    "Covertype": (1e-6, ".32 / .20 / 4.2 / 210 s"),
}
_TEST = 23_149
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
_PASSES = (1, 2, 3, 5, 10, 20, 50)
GOALS = ("within 1% of f*", "within 0.1% of f*", "1.1 times the optimal test error")


class Data(NamedTuple):
    """Training and test examples of a binary problem."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    lam: float


@cache
def load(name: str, quick: bool) -> Data:
    """Load or make a problem."""
    lam = PROBLEMS[name][0]
    if name == "Covertype":
        # With columns onto [0, 1] the error is 22.6% for class 1 and 23.8% for class 2.
        data = load_covtype(positive=1)
        n = 20_000 if quick else len(data.y_train)
        X, X_test = (np.asarray(X, np.float32) for X in (data.X_train[:n], data.X_test))
        return Data(X, data.y_train[:n], X_test, data.y_test, lam)
    n = 20_000 if quick else 781_265
    X, y = make_text_like(n + _TEST, random_state=0)
    return Data(X[:n], y[:n], X[n:], y[n:], lam)


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
    data = load(name, quick)
    n_samples = data.y.size
    common: dict[str, Any] = {
        "lam": data.lam,
        "fit_intercept": False,
        "checkpoints": None,
        "random_state": 0,
    }

    def ours(share: float, **options: Any) -> LinearPegasosSVC:
        return LinearPegasosSVC(n_steps=max(1, int(share * n_samples)), **common, **options)

    def sgd(passes: float, average: bool) -> SGDClassifier:
        return SGDClassifier(
            alpha=data.lam,
            max_iter=int(passes),
            tol=None,
            fit_intercept=False,
            average=average,
            random_state=0,
        )

    def liblinear(passes: float) -> LinearSVC:
        return LinearSVC(
            C=1.0 / (data.lam * n_samples),
            loss="hinge",
            fit_intercept=False,
            tol=1e-12,
            max_iter=int(passes),
            random_state=0,
        )

    shares = _SHARES[::4] if quick else _SHARES
    passes = _PASSES[::4] if quick else _PASSES
    averages = {"t-weighted": "weighted", "suffix": "suffix", "uniform": "uniform", "last": None}
    solvers: dict[str, tuple[Any, tuple[float, ...]]] = {
        f"kpegasos, {label}": (partial(ours, average=average, sampling="contiguous"), shares)
        for label, average in averages.items()
    }
    solvers["kpegasos, t-weighted, permutation"] = (partial(ours), shares)
    solvers["SGDClassifier"] = (partial(sgd, average=False), passes)
    solvers["SGDClassifier, averaged"] = (partial(sgd, average=True), passes)
    solvers["LinearSVC, hinge"] = (liblinear, passes)
    solvers["SDCA"] = (partial(Ascent, data.lam), passes)
    return solvers


def _optimum(name: str, quick: bool) -> dict[str, float]:
    """Certified optimum, and the test error there."""
    data = load(name, quick)
    result = sdca(
        make_problem(data.y, data.lam), linear_rows(data.X), tol=2e-4, max_epochs=400, max_time=240
    )
    errors = np.mean((data.X_test @ result.w > 0) != (data.y_test > 0))
    return {
        "objective": result.objective,
        "dual_bound": result.dual_bound,
        "test_error": float(errors),
    }


def _measure(name: str, solver: str, effort: float, quick: bool) -> dict[str, float]:
    data = load(name, quick)
    make, _ = _solvers(name, quick)[solver]
    few = slice(0, 2000)
    make(effort).fit(data.X[few], data.y[few])
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1 if quick else 3):
            model = make(effort)
            begin = time.perf_counter()
            model.fit(data.X, data.y)
            seconds.append(time.perf_counter() - begin)
            if seconds[0] > 5:
                break
    w = np.ravel(model.coef_).astype(float)
    wrong = (data.X_test @ w > 0) != (data.y_test > 0)
    row = {
        "effort": effort,
        "seconds": float(np.median(seconds)),
        "objective": hinge_objective(data.y, data.X @ w, w @ w, data.lam),
        "test_error": float(np.mean(wrong)),
    }
    if isinstance(model, LinearPegasosSVC):
        row["relative_gap"] = float(model.relative_gap_)
        row["loop_nanoseconds_a_step"] = float(
            1e9 * model.history_["seconds"][-1] / np.ravel(model.n_steps_)[0]
        )
    return row


def _bandwidth() -> float:
    """Bytes a second that one thread reads, the limit of the loop over rows."""
    values = np.ones(1 << 26)
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        values.sum()
        best = min(best, time.perf_counter() - begin)
    return values.nbytes / best


def _reached(row: dict[str, Any], optimum: dict[str, float]) -> list[bool]:
    f_star = optimum["dual_bound"]
    return [
        row["objective"] <= 1.01 * f_star,
        row["objective"] <= 1.001 * f_star,
        row["test_error"] <= 1.1 * optimum["test_error"],
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every solver until it has reached all goals."""
    optima, curves = {}, []
    for name in context.progress(PROBLEMS, "problems"):
        optima[name] = context.part(f"{name}, optimum", partial(_optimum, name, context.quick))
        for solver, (_, efforts) in context.progress(_solvers(name, context.quick).items(), name):
            goals = [False] * len(GOALS)
            for effort in efforts:
                key = f"{name}, {solver}, {effort:g}"
                row = context.part(key, partial(_measure, name, solver, effort, context.quick))
                curves.append({"problem": name, "solver": solver, **row})
                now = _reached(row, optima[name])
                goals = [a or b for a, b in zip(goals, now, strict=True)]
                if all(goals) or row["seconds"] > 60:
                    break
    table = []
    for name, optimum in optima.items():
        for solver in dict.fromkeys(row["solver"] for row in curves):
            rows = select(curves, problem=name, solver=solver)
            line: dict[str, Any] = {"problem": name, "solver": solver}
            for number, goal in enumerate(GOALS):
                times = [row["seconds"] for row in rows if _reached(row, optimum)[number]]
                line[goal] = min(times) if times else None
            key = "loop_nanoseconds_a_step"
            steps = [row[key] for row in rows if key in row]
            line["nanoseconds_a_step"] = min(steps, default=None)
            table.append(line)
    bandwidth = context.part("bandwidth", _bandwidth)
    limits = {}
    for name in optima:
        X = load(name, context.quick).X
        size = X.data.nbytes + X.indices.nbytes if hasattr(X, "indptr") else X.nbytes
        limits[name] = 1e9 * size / X.shape[0] / bandwidth
    return {
        "seeds": [0],
        "table": table,
        "curves": curves,
        "optima": optima,
        "bytes_a_second": bandwidth,
        "nanoseconds_to_read_a_row": limits,
    }


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
    rows = sorted(rows, key=lambda row: float(row["seconds"]))
    seconds = np.array([row["seconds"] for row in rows])
    above = np.array([row["objective"] / f_star - 1 for row in rows])
    return seconds, np.maximum(np.minimum.accumulate(above), _LEAST)


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


def plot(results: dict[str, Any]) -> Figure:
    """Suboptimality against seconds to fit, the best runs of each solver."""
    figure, axes = panels(1, len(results["optima"]), 4.4, sharey=True)
    for ax, (problem, optimum) in zip(axes[0], results["optima"].items(), strict=True):
        names: dict[str, Any] = {}
        for key, (name, solvers) in SHOWN.items():
            own = [row for row in select(results["curves"], problem=problem)]
            own = [row for row in own if row["solver"] in solvers]
            if own:
                seconds, above = _envelope(own, optimum["dual_bound"])
                ax.plot(seconds, above, **look(key).options(linestyle="-"))
                names[name] = (seconds, above, look(key).color)
        for level in (0.01, 0.001):
            ax.axhline(level, color=SILVER, linestyle=":", zorder=0)
        log_log(ax, xlabel=words("fit_seconds"), title=NAMES.get(problem, problem))
        ax.set_ylim(0.7 * _LEAST, 2)
        name_lines(ax, names)
    axes[0, 0].set_ylabel(words("relative_suboptimality"))
    state(
        figure,
        _first(results, GOALS[0]),
        "The best run of each solver within the seconds, medians; float32, no intercept, "
        f"certificate included; LinearPegasosSVC is the {look('weighted').name} over contiguous "
        "blocks of rows, which presupposes rows in random order. SGDClassifier and LinearSVC make "
        "whole passes. Labels of the text are flipped at random, 6% of them.",
    )
    return figure
