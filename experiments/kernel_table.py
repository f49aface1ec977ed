"""The journal paper's kernel table: seconds to its accuracy on Adult, USPS, MNIST, then and now.

Shalev-Shwartz, Singer, Srebro, Cotter (2011), Tables 2 and 3: Gaussian kernel, no intercept,
seconds until the primal objective is within ε of its optimum, where ε is such that the test error
is 1.1 times the optimum's. The paper does not say how features are scaled, so the error at the
optimum is computed for several normalisations and held against the published one.

Pegasos and our polished runs have the paper's problem. The peers have an intercept; they are judged
on the problem with a constant feature, against that problem's optimum. Each tolerance of theirs is
run; the table has the first that is within ε. Data are dense float32.

Verdict: with Adult as it comes (0 and 1) and pixels of MNIST divided by 255 the published errors at
the optimum hold (14.93% for 14.9%, .57% for .57%). On USPS none of these gives .457%: features in
[0, 1] come nearest, 1.30% in the files' split and .56 to .96% in five others of the paper's size.
Pegasos is at ε after 4.3 s on Adult (30 s in 2011) and 84 s on MNIST (4,200 s), the ratio to LASVM
of then turned round; on USPS, where all but a few examples are support vectors and ε is .08% of the
optimum, not within 200 epochs. Polished runs take 2.1, .3 and 2.9 s, intelex 3.1, .8 and 8.0 s.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments._kernel_peers import expansion, in_a_process, installed, load
from experiments._plots import DARK_GREY, log_x, look, panels, state, text_color
from kpegasos import RBF, PegasosSVC, make_problem, make_rows, pegasos
from kpegasos.datasets import load_usps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "15 min"
QUICK_TIME = "15 s"

#: γ, λ, ε, error at the optimum, Pegasos' error, seconds of Pegasos, SDCA, SVM-Light, LASVM.
PUBLISHED: dict[str, dict[str, Any]] = {
    name: dict(
        zip(("gamma", "lam", "epsilon", "error", "pegasos_error", "seconds"), values, strict=True)
    )
    for name, values in {
        "Adult": (0.05, 3.07e-5, 0.0445, 0.149, 0.155, (30, 4.8, 59, 1.5)),
        "USPS 8": (2.0, 1.36e-4, 0.000381, 0.00457, 0.00457, (120, 21, 3.3, 1.8)),
        "MNIST 8": (0.02, 1.67e-5, 0.00144, 0.0057, 0.006, (4200, 1800, 290, 280)),
    }.items()
}
SOLVERS = ("Pegasos", "SDCA", "SVM-Light", "LASVM")
NORMALISATIONS: dict[str, Any] = {
    "as they come": lambda X: X,
    "to [0, 1]": lambda X: (X - X.min()) / (X.max() - X.min()),
    "unit rows": normalize,
}
CHOSEN = {"Adult": "as they come", "USPS 8": "to [0, 1]", "MNIST 8": "as they come"}
_EPOCHS = {"Adult": 10, "USPS 8": 200, "MNIST 8": 30}
_CACHE_MB = 1024.0


def _optimum(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, name: str
) -> dict[str, Any]:
    """Certified optimum of the paper's problem, and the test error there."""
    published = PUBLISHED[name]
    tol = min(1e-3, 0.02 * published["epsilon"] / 0.03)
    model = PegasosSVC(
        lam=published["lam"],
        gamma=published["gamma"],
        fit_intercept=False,
        epochs=0.5,
        polish=True,
        tol=tol,
        checkpoints=None,
        cache_mb=_CACHE_MB,
        random_state=0,
    ).fit(X, y)
    return {
        "test_error": 1.0 - model.score(X_test, y_test),
        "objective": float(model.objective_),
        "dual_bound": float(model.objective_ - model.duality_gap_),
        "support_vectors": int(model.support_.size),
    }


def _resplit_usps(seed: int) -> dict[str, Any]:
    """All 9,298 digits in another split: the paper has 7,329 for training, the files 7,291."""
    data = load_usps()
    X = NORMALISATIONS["to [0, 1]"](np.vstack((data.X_train, data.X_test)).astype(np.float32))
    y = np.where(np.concatenate((data.y_train, data.y_test)) == 8, 1, -1)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:7329], order[7329:]
    return _optimum(X[train], y[train], X[test], y[test], "USPS 8")


def _task(name: str, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    task = load(name, 1500 if quick else None)
    scale = NORMALISATIONS[CHOSEN[name]]
    return scale(task.X), task.y, scale(task.X_test), task.y_test


def _pegasos(name: str, optimum: float, quick: bool) -> dict[str, Any]:
    """Seconds of Pegasos until the last and the averaged iterate are within ε, and errors there."""
    X, y, X_test, y_test = _task(name, quick)
    published = PUBLISHED[name]
    signs = np.where(y == np.unique(y)[1], 1, -1)
    n_samples = signs.size
    begin = time.perf_counter()
    rows = make_rows(X, RBF(published["gamma"]), cache_mb=_CACHE_MB)
    before = time.perf_counter() - begin
    reached: dict[str, dict[str, float]] = {}
    errors: list[float] = []

    def watch(run: Any) -> bool:
        record = run.history.records[-1]
        for kind in ("last", "average"):
            value = getattr(record, f"objective_{kind}")
            if kind not in reached and value <= optimum + published["epsilon"]:
                reached[kind] = {"seconds": before + record.seconds, "epochs": record.epoch}
                if kind == "average":
                    coef = run.result().coef
                    support = np.flatnonzero(coef)
                    decision = expansion(published["gamma"], X_test, X[support], coef[support])
                    predicted = np.where(decision > 0, np.unique(y)[1], np.unique(y)[0])
                    errors.append(float(np.mean(predicted != y_test)))
        return len(reached) == 2

    # The paper's sampling; five checkpoints an epoch.
    epochs = 5 if quick else _EPOCHS[name]
    step = max(1, n_samples // 5)
    pegasos(
        make_problem(signs, published["lam"]),
        rows,
        epochs=epochs,
        sampling="uniform",
        checkpoints=list(range(step, epochs * n_samples + 1, step)),
        random_state=0,
        monitor=watch,
    )
    return {"reached": reached, "test_error": errors[0] if errors else None, "epochs": epochs}


def _polished(name: str, optimum: float, quick: bool) -> dict[str, Any]:
    """Seconds of a run that is polished to ε, with its certificate."""
    X, y, X_test, y_test = _task(name, quick)
    published = PUBLISHED[name]
    seconds = []
    for _ in range(1 if quick else 3):
        model = PegasosSVC(
            lam=published["lam"],
            gamma=published["gamma"],
            fit_intercept=False,
            epochs=0.5,
            polish=True,
            tol=published["epsilon"] / (optimum + published["epsilon"]),
            checkpoints=None,
            cache_mb=_CACHE_MB,
            random_state=0,
        )
        begin = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - begin)
    return {
        "seconds": float(np.median(seconds)),
        "test_error": 1.0 - model.score(X_test, y_test),
        "suboptimality": float(model.objective_) - optimum,
    }


def _peer(name: str, solver: str, quick: bool) -> dict[str, Any]:
    """Seconds of a peer's first tolerance that is within ε."""
    n_samples = 1500 if quick else None
    published = PUBLISHED[name]
    size = load(name, n_samples).y.size
    common = {
        "problem": name,
        "n_samples": n_samples,
        "repeats": 1,
        "scale": CHOSEN[name] == "to [0, 1]",
        "C": 1.0 / (published["lam"] * size),
    }
    ours = {"epochs": 0.5, "polish": True, "tol": 1e-3, "cache_mb": _CACHE_MB}
    bound = in_a_process({**common, "solver": "kpegasos", "parameters": ours})["dual_bound"]
    result: dict[str, Any] = {}
    for tol in (1e-1, 1e-2, 1e-3):
        result = in_a_process({**common, "solver": solver, "parameters": {"tol": tol}})
        if result["our_objective"] <= bound + published["epsilon"]:
            break
    return {
        "seconds": result["fit_seconds"],
        "test_error": 1.0 - result["test_accuracy"],
        "suboptimality": result["our_objective"] - bound,
        "tol": tol,
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Find the normalisation, then time every solver to the paper's ε."""
    errors = {}
    names = ["Adult"] if context.quick else list(PUBLISHED)
    for name in context.progress(names, "normalisations"):
        task = load(name, 1500 if context.quick else None)
        for label, scale in NORMALISATIONS.items():
            if (name, label) in (("Adult", "to [0, 1]"), ("MNIST 8", "to [0, 1]")):
                continue  # they are in [0, 1] as they come
            scaled = scale(task.X), task.y, scale(task.X_test), task.y_test
            errors[f"{name}, {label}"] = context.part(
                f"{name}, {label}", partial(_optimum, *scaled, name)
            )
    splits = [
        context.part(f"USPS split {seed}", partial(_resplit_usps, seed))
        for seed in context.progress(0 if context.quick else 5, "splits")
    ]
    table = []
    for name in context.progress(names, "solvers"):
        optimum = errors[f"{name}, {CHOSEN[name]}"]
        f_star = optimum["dual_bound"]
        row: dict[str, Any] = {
            "data": name,
            "normalisation": CHOSEN[name],
            "published_error": PUBLISHED[name]["error"],
            "error_at_optimum": optimum["test_error"],
            "epsilon": PUBLISHED[name]["epsilon"],
        }
        plain = context.part(f"{name}, Pegasos", partial(_pegasos, name, f_star, context.quick))
        for kind in ("last", "average"):
            at = plain["reached"].get(kind, {})
            row[f"pegasos_{kind}_seconds"] = at.get("seconds")
            row[f"pegasos_{kind}_epochs"] = at.get("epochs")
        row["pegasos_error"] = plain["test_error"]
        work = partial(_polished, name, f_star, context.quick)
        polished = context.part(f"{name}, polished", work)
        row |= {f"polished_{key}": polished[key] for key in ("seconds", "test_error")}
        for solver in installed()[1:]:
            if solver == "scikit-learn" and name == "MNIST 8":
                continue  # minutes
            peer = context.part(f"{name}, {solver}", partial(_peer, name, solver, context.quick))
            row |= {f"{solver}_{key}": peer[key] for key in ("seconds", "test_error", "tol")}
        row |= {
            f"published_{solver}_seconds": seconds
            for solver, seconds in zip(SOLVERS, PUBLISHED[name]["seconds"], strict=True)
        }
        table.append(row)
    return {"seeds": [0], "table": table, "normalisations": errors, "usps_splits": splits}


#: Rows of the figure: what they are called, the method whose look they have, and their seconds.
NOW = (
    ("Pegasos, last iterate", "last", "pegasos_last"),
    ("Pegasos, average", "weighted", "pegasos_average"),
    ("Pegasos, polished", "polished", "polished"),
    ("SDCA", "SDCA", "sdca"),
    ("SVC (LIBSVM)", "SVC", "scikit-learn"),
    ("SVC (intelex)", "intelex", "scikit-learn-intelex"),
)
THEN = (
    ("Pegasos, 2011", "last", "published_Pegasos"),
    ("SDCA, 2011", "SDCA", "published_SDCA"),
    ("SVM-Light, 2011", "SVC", "published_SVM-Light"),
    ("LASVM, 2011", "LASVM", "published_LASVM"),
)


def _is_failure(row: dict[str, Any], key: str) -> bool:
    """Say whether a model errs so much more than the optimum that its seconds are worth nothing."""
    error = row.get(f"{key}_test_error")
    return error is not None and error > 2 * row["error_at_optimum"] + 0.01


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"


def _draw_row(ax: Any, height: int, name: tuple[str, str, str], row: dict[str, Any]) -> None:
    """A dot at the seconds of a solver, or why there is none."""
    _, method, key = name
    style = look(method)
    seconds = row.get(f"{key}_seconds")
    if seconds is None or _is_failure(row, key):
        text = f"not within {row['epsilon']:g}" if f"{key}_seconds" in row else "not run"
        if seconds is not None:
            text = f"no model: error {row[f'{key}_test_error']:.1%}"
        place = {"xycoords": ("axes fraction", "data"), "fontsize": 9}
        ax.annotate(text, (0.03, height), color=DARK_GREY, va="center", **place)
        return
    then = key.startswith("published")
    fill = {"markerfacecolor": "white"} if then else {}
    ax.plot(seconds, height, style.marker, color=style.color, markersize=8, **fill)
    ax.annotate(
        _seconds(seconds),
        (seconds, height),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
        color=text_color(style.color),
    )


def _finding(table: list[dict[str, Any]]) -> str:
    """Compare Pegasos with SMO, which was run then and is run now."""
    words = []
    for row in table:
        ours = [row.get(f"pegasos_{kind}_seconds") for kind in ("last", "average")]
        smo = row.get("scikit-learn_seconds")
        if all(ours) and smo and not _is_failure(row, "scikit-learn"):
            then = row["published_Pegasos_seconds"] / row["published_SVM-Light_seconds"]
            now = min(filter(None, ours)) / smo
            words.append(f"{then:.2g} of SMO's seconds on {row['data']} in 2011, {now:.2g} here")
    if not words:
        return "Pegasos to the accuracy of the paper, then and now"
    return "Pegasos took " + "; ".join(words)


def plot(results: dict[str, Any]) -> Figure:
    """Seconds to ε, now above and then below, a panel for each set."""
    table = results["table"]
    figure, ((*axes,),) = panels(1, len(table), 5.0, sharey=True)
    # What no set was measured with takes no row.
    rows = [name for name in NOW if any(f"{name[2]}_seconds" in row for row in table)]
    names = [*rows, *THEN]
    for ax, row in zip(axes, table, strict=True):
        for height, name in enumerate(names):
            _draw_row(ax, height, name, row)
        ax.axhspan(len(rows) - 0.5, len(names) - 0.5, color="0.94", zorder=0)
        log_x(ax, xlabel="seconds to ε")
        ax.set_xlim(0.03, 2e5)
        ax.set_xticks([0.1, 1, 10, 100, 1000, 10_000], ["0.1", "", "10", "", "1,000", ""])
        ax.set_title(
            f"{row['data']}, ε = {row['epsilon']:g}\nerror at optimum {row['error_at_optimum']:.2%}"
            f"\npublished {row['published_error']:.2%}",
            fontsize=10.5,
        )
    axes[0].set_yticks(range(len(names)), [name for name, _, _ in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].tick_params(axis="y", length=0)
    state(
        figure,
        _finding(table),
        "Gaussian kernel. Grey, hollow: published in 2011, on a machine of 15 years ago, so that "
        "only ratios within white or within grey compare. SMO is SVM-Light then and LIBSVM now. "
        "No model: an error of more than twice that of the optimum.",
    )
    return figure
