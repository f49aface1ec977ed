"""The journal paper's kernel table: seconds to its accuracy on Adult, USPS, MNIST, then and now.

Shalev-Shwartz, Singer, Srebro, Cotter (2011), Tables 2 and 3: Gaussian kernel, no intercept,
seconds until the primal objective is within ε of its optimum, where ε is such that the test error
is 1.1 times the optimum's. The paper does not say how features are scaled, so the error at the
optimum is computed for several normalisations and held against the published one.

USPS is said to be "8 against the rest". In LIBSVM's file the labels are 1 to 10, so that its 8 is
the digit 7; with rows of length one and random splits of the paper's sizes the error at the optimum
is then near the published one. That is an inference, shown beside the digit 8 and beside pixels in
[0, 1], where γ = 2 makes nearly all examples support vectors and loose models predict the larger
class. The first split is timed.

Pegasos, dual coordinate ascent (SDCA) and our polished runs have the paper's problem. The peers
have an intercept; they are judged on the problem with a constant feature, against that problem's
optimum. Each tolerance of theirs is run; the table has the first that is within ε, and no seconds
if none is. LIBSVM takes minutes on MNIST and runs there at one tolerance. Every solver has 1,024
MiB for kernel values. Data are dense float32. The fourth set of the paper, Reuters money-fx, is not
at hand in its features and split. The seconds of 2011 are those of the paper's machine; LASVM and
SVM-Light are not run here. LIBSVM solves by sequential minimal optimisation (SMO) too, and stands
in for SVM-Light where then and now are compared.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from experiments._claims import JOURNAL, Claim, duration, mark, percent, rounded, span
from experiments._kernel_peers import installed, load
from experiments._plots import DARK_GREY, log_x, look, panels, state, text_color
from experiments._table_solvers import (
    CHOSEN,
    NORMALISATIONS,
    PUBLISHED,
    SOLVERS,
    bound_with_intercept,
    certified_optimum,
    peer_run,
    pegasos_run,
    polished_run,
    resplit_usps,
    sdca_run,
    succeeded,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "12 min"
QUICK_TIME = "25 s"

#: Random splits of USPS, and how its digits and pixels are read in them.
_SPLITS = 10
_READINGS = ((7, "unit rows"), (8, "unit rows"), (8, "to [0, 1]"))


def _errors(context: ExperimentContext, names: list[str]) -> dict[str, Any]:
    """The optimum of each set under each normalisation that changes it."""
    errors = {}
    for name in context.progress(names, "normalisations"):
        task = load(name, 1500 if context.quick else None)
        for label, scale in NORMALISATIONS.items():
            # Adult and MNIST are in [0, 1] as they come; USPS is read in several ways below.
            if label == "to [0, 1]" or (name == "USPS 7" and label != CHOSEN[name]):
                continue
            X, X_test = (
                (task.X, task.X_test)
                if label == CHOSEN[name]
                else map(scale, (task.X, task.X_test))
            )
            work = partial(certified_optimum, X, task.y, X_test, task.y_test, name)
            errors[f"{name}, {label}"] = context.part(f"{name}, {label}", work)
    return errors


def _row(context: ExperimentContext, name: str, optimum: dict[str, Any]) -> dict[str, Any]:
    """Time every solver on a set, and put the published seconds beside."""
    f_star, quick = optimum["dual_bound"], context.quick
    row: dict[str, Any] = {
        "data": name,
        "normalisation": CHOSEN[name],
        "published_error": PUBLISHED[name]["error"],
        "error_at_optimum": optimum["test_error"],
        "majority_error": optimum["majority_error"],
        "epsilon": PUBLISHED[name]["epsilon"],
        "relative_epsilon": PUBLISHED[name]["epsilon"] / f_star,
    }
    plain = context.part(f"{name}, Pegasos", partial(pegasos_run, name, f_star, quick))
    for kind in ("last", "average"):
        at = plain["reached"].get(kind, {})
        row[f"pegasos_{kind}_seconds"] = at.get("seconds")
        row[f"pegasos_{kind}_epochs"] = at.get("epochs")
    row["pegasos_average_test_error"] = plain["test_error"]
    row["published_Pegasos_test_error"] = PUBLISHED[name]["pegasos_error"]
    for solver, solve in (("sdca", sdca_run), ("polished", polished_run)):
        found = context.part(f"{name}, {solver}", partial(solve, name, f_star, quick))
        row |= {f"{solver}_{key}": found[key] for key in ("seconds", "test_error")}
    bound = context.part(f"{name}, with intercept", partial(bound_with_intercept, name, quick))
    for solver in installed()[1:]:
        peer = context.part(f"{name}, {solver}", partial(peer_run, name, solver, bound, quick))
        row |= {f"{solver}_{key}": peer[key] for key in ("seconds", "test_error", "tol")}
    seconds = zip(SOLVERS, PUBLISHED[name]["seconds"], strict=True)
    return row | {f"published_{solver}_seconds": published for solver, published in seconds}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Find the normalisation, then time every solver to the paper's ε."""
    names = ["Adult"] if context.quick else list(PUBLISHED)
    errors = _errors(context, names)
    readings = [] if context.quick else list(product(_READINGS, range(_SPLITS)))
    splits = []
    for (number, label), seed in context.progress(readings, "splits of USPS"):
        work = partial(resplit_usps, seed, number, label)
        splits.append(context.part(f"USPS {number}, {label}, split {seed}", work))
    table = [
        _row(context, name, errors[f"{name}, {CHOSEN[name]}"])
        for name in context.progress(names, "solvers")
    ]
    return {"seeds": [0], "table": table, "normalisations": errors, "usps_splits": splits}


def _told_errors(results: dict[str, Any]) -> Claim:
    """The errors at the optimum beside the published ones; on USPS over the splits."""
    table = {row["data"]: row for row in results["table"]}
    splits = [
        row["test_error"]
        for row in results["usps_splits"]
        if (row["digit"], row["normalisation"]) == _READINGS[0]
    ]
    told, close = [], []
    for name, row in table.items():
        published = row["published_error"]
        errors = splits if name == "USPS 7" and splits else [row["error_at_optimum"]]
        least = min(abs(error / published - 1) for error in errors)
        close.append(least <= 0.05 or min(errors) <= published <= max(errors))
        where = f" ({len(splits)} random splits, digit 7, inferred)" if len(errors) > 1 else ""
        told.append(
            f"{name} {span(errors, lambda e: percent(e, 2))}{where}, published "
            f"{percent(published, 2)}"
        )
    return Claim(
        "The optimum of the Gaussian kernel's problems has the published test errors.",
        JOURNAL,
        f"{'; '.join(told)}.",
        mark(all(close), any(close)),
        "✓ if each is within a twentieth of the published one, or the splits' errors are on both "
        "sides of it; ~ if some are.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Errors at the optimum; Pegasos beside SMO, which is on both sides of fifteen years."""
    told, as_then = [], []
    for row in results["table"]:
        ours = [
            row[f"pegasos_{kind}_seconds"]
            for kind in ("last", "average")
            if row[f"pegasos_{kind}_seconds"] is not None
        ]
        then = row["published_Pegasos_seconds"] / row["published_SVM-Light_seconds"]
        if ours and succeeded(row, "scikit-learn"):
            now = min(ours) / row["scikit-learn_seconds"]
            as_then.append(0.5 <= now / then <= 2)
            ratio = f"{rounded(now)} times LIBSVM's (SVM-Light's then: {rounded(then)})"
        else:
            ratio = "not compared"
        shown = {
            "Pegasos": min(ours, default=None),
            "SDCA": row["sdca_seconds"],
            "polished": row["polished_seconds"],
        }
        seconds = ", ".join(f"{name} {duration(value)}" for name, value in shown.items())
        told.append(f"{row['data']}: {seconds}; {ratio}")
    return [
        _told_errors(results),
        Claim(
            "With a kernel Pegasos is slower than LASVM and, but for Adult, than SVM-Light.",
            JOURNAL,
            f"Seconds to the paper's ε on this machine: {'. '.join(told)}. LASVM was not run.",
            mark(bool(as_then) and all(as_then), any(as_then) or not as_then),
            "✓ if Pegasos' seconds relative to those of SMO (SVM-Light then, LIBSVM now) are as in "
            "2011 within two times on every set, ~ if on some; ✗ if on none.",
        ),
    ]


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
        ax.set_xlim(0.03, 5e5)
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
