"""Slips in the printed sources, each run beside the correct rule.

Sources: MPB 2011; S. Karthik, "Pegasos for SVM Training" (a term paper) and its code; a blog post
on Pegasos. The correct rule is the package's; wrong ones get the same draws. Kernel rules run on
two moons with an RBF kernel, the printed gradient on two Gaussian clouds.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from experiments import _plots as plots
from experiments._claims import (
    BLOG,
    ICML,
    JOURNAL,
    OURS,
    Claim,
    exponent,
    inverse_rates,
    like_inverse,
    mark,
    rounded,
)
from experiments._run import ExperimentContext
from experiments._runs import first_within, hinge_objective, moons, spaced
from experiments._tables import percentiles
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.draws import IndexStream
from kpegasos.datasets import make_gaussian_noise

FULL_TIME = "30 s"
QUICK_TIME = "10 s"

N_SAMPLES, N_TEST, GAMMA, LAM = 1000, 4000, 2.0, 1e-3
N_STEPS = 100_000
SEEDS = 10
CORRECT = "correct"
#: Rules of the kernel algorithm that are run as they are printed.
WRONG = ("label", "threshold", "code")
#: What is printed, where; what is meant.
SLIPS: dict[str, tuple[str, str, str]] = {
    "label": ("yᵢ for yⱼ in the sum over j", "MPB 2011, Fig. 3", "yⱼ"),
    "threshold": (
        "1/(λt) in the margin test",
        "MPB 2011, Fig. 3; term paper, Alg. 2",
        "1/(λ(t − 1))",
    ),
    "scaling": ("w = Σ αᵢ yᵢ xᵢ", "term paper", "divided by λT"),
    "code": ("no self term, no division by t", "the term paper's code", "both"),
    "zero": ("t starts at 0, η = 1/(λt)", "term paper, Algs. 1 and 2", "t starts at 1"),
    "gradient": ("λ/2 ∇‖w‖² + mean loss as the full gradient", "blog post", "mean of ∇ loss"),
    "blog": ("runtime does not depend on λ", "blog post", "proportional to 1/λ"),
    "runtime": ("runtime in proportion to λ", "MPB 2011, §7.3", "to 1/λ"),
}
#: For the runtime: sizes, λ, and the suboptimality to reach.
SIZES, LAMS, EPSILON = (250, 1000, 4000), (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), 0.02
MOST_STEPS = 2_000_000
#: A loss beyond which a run has diverged.
LARGEST = 1e30


class Judge:
    """Suboptimality and test error of coefficients over the examples."""

    def __init__(self) -> None:
        X, self.y = moons(N_SAMPLES)
        X_test, self.y_test = moons(N_TEST, seed=1)
        self.gram = rbf_kernel(X, gamma=GAMMA)
        self.test_rows = rbf_kernel(X_test, X, gamma=GAMMA)
        self.problem = make_problem(self.y, LAM)
        self.rows = make_rows(self.gram, "precomputed")
        self.optimum = sdca(self.problem, self.rows, tol=1e-8, random_state=0).dual_bound

    def __call__(self, coef: np.ndarray) -> tuple[float, float]:
        """Judge ``f(x) = Σ coef_j k(x_j, x)``."""
        f = self.gram @ coef
        error = np.mean(self.y_test * (self.test_rows @ coef) <= 0)
        return hinge_objective(self.y, f, coef @ f, LAM) - self.optimum, float(error)


def _wrong(judge: Judge, slip: str, draws: np.ndarray, steps: list[int]) -> list[Any]:
    """Run a wrong rule of the kernel algorithm; the judgement of its model at each of the steps."""
    y, alpha, found = judge.y, np.zeros(judge.y.size), []
    # Σ_j α_j y_j K_ij for every i, without y_j where the labels cancel.
    sums, signs = np.zeros(y.size), np.ones(y.size) if slip == "label" else y
    for t, i in enumerate(draws.tolist(), start=1):
        if slip == "label":
            violates = t == 1 or sums[i] < LAM * (t - 1)
        elif slip == "threshold":
            violates = y[i] * sums[i] < LAM * t
        else:
            violates = y[i] * sums[i] - alpha[i] * judge.gram[i, i] < LAM
        if violates:
            alpha[i] += 1
            sums += signs[i] * judge.gram[i]
        if t in steps:
            found.append(judge(alpha * y / (LAM if slip == "code" else LAM * t)))
    return found


def _kernel_rules(n_steps: int, seeds: int) -> dict[str, Any]:
    """Suboptimality and test error along the runs of each rule, a row for each seed."""
    judge, steps = Judge(), spaced(n_steps, 8)
    found: dict[str, list[Any]] = {rule: [] for rule in (CORRECT, "scaling", *WRONG)}
    for seed in range(seeds):
        correct: list[Any] = []
        unscaled: list[Any] = []

        def note(run: Any, correct: list[Any] = correct, unscaled: list[Any] = unscaled) -> None:
            coef = run.result().coef
            correct.append(judge(coef))
            unscaled.append(judge(coef * LAM * run.state.steps))

        options: Any = {"sampling": "uniform", "average": None, "random_state": seed}
        options |= {"n_steps": n_steps, "checkpoints": steps, "monitor": note}
        run = pegasos(judge.problem, judge.rows, **options)
        assert run.state is not None
        draws = IndexStream(N_SAMPLES, "uniform", run.state.seed).take(0, n_steps)
        found[CORRECT].append(correct)
        found["scaling"].append(unscaled)
        for slip in WRONG:
            found[slip].append(_wrong(judge, slip, draws, steps))
    curves = {rule: np.moveaxis(np.array(values), -1, 0) for rule, values in found.items()}
    return {"steps": steps, **{rule: {"f": f, "error": e} for rule, (f, e) in curves.items()}}


def _gradients(n_steps: int) -> dict[str, Any]:
    """Steps along the full gradient, and along what is printed in its place."""
    X, y = make_gaussian_noise(N_SAMPLES, separation=4.0, random_state=0)
    y, lam = np.where(y == 1, 1.0, -1.0), 0.01
    problem, rows, steps = make_problem(y, lam), linear_rows(X), spaced(n_steps, 8)
    optimum = sdca(problem, rows, tol=1e-8, max_epochs=20_000, random_state=0).dual_bound
    options: dict[str, Any] = {"batch_size": N_SAMPLES, "average": None, "random_state": 0}
    right = pegasos(problem, rows, n_steps=n_steps, checkpoints=steps, **options).history
    w, printed = np.zeros(2), []
    for t in range(1, n_steps + 1):
        # The mean loss is a number: it is subtracted from every coordinate, as numpy would do.
        w = w - (lam * w + np.maximum(0.0, 1 - y * (X @ w)).mean()) / (lam * t)
        loss = np.maximum(0.0, 1 - y * (X @ w)).mean()
        if loss > LARGEST:
            break
        if t in steps:
            printed.append(lam / 2 * float(w @ w) + loss - optimum)
    correct = right["objective_last"] - optimum
    return {"steps": steps, "correct": correct, "printed": printed, "diverged_at": t}


def _zero() -> dict[str, Any]:
    """The first step with t = 0, in plain numbers and in numpy's."""
    try:
        eta: Any = 1 / (LAM * 0)
    except ZeroDivisionError as error:
        eta = type(error).__name__
    with np.errstate(all="ignore"):
        step = np.divide(1.0, LAM * 0)
        w = (1 - step * LAM) * np.zeros(1) + step * np.ones(1)
    return {"python": eta, "numpy": str(w[0])}


def _runtimes(m: int, lam: float, seeds: int, most: int) -> list[float]:
    """Steps until the t-weighted average is within ε of the optimum, for each seed."""
    X, y = moons(m)
    problem, rows = make_problem(y, lam), make_rows(X, gamma=GAMMA, cache="precomputed")
    optimum = sdca(problem, rows, tol=1e-4, max_epochs=20_000, random_state=0).dual_bound
    where = (problem, rows, spaced(most, 8), optimum + EPSILON)
    records = [first_within(*where, sampling="uniform", random_state=seed) for seed in range(seeds)]
    return [np.nan if record is None else record.iteration for record in records]


def _told_end(kernel: dict[str, Any], rule: str, what: str) -> float:
    """Median of a curve at the end of the runs."""
    return float(np.median(np.array(kernel[rule][what], dtype=float)[:, -1]))


def _table(
    kernel: dict[str, Any], full: dict[str, Any], zero: dict[str, Any], slope: float, spread: float
) -> list[dict[str, Any]]:
    """One row a slip: source, correction, and its consequence in numbers at the end of the run."""
    end = partial(_told_end, kernel)
    consequences = {
        slip: f"f − f* = {end(slip, 'f'):.3g} against {end(CORRECT, 'f'):.3g}, "
        f"test error {end(slip, 'error'):.2%} against {end(CORRECT, 'error'):.2%}"
        for slip in ("scaling", *WRONG)
    }
    consequences["zero"] = f"{zero['python']} at the first step; in numpy w = {zero['numpy']}"
    consequences["gradient"] = (
        f"f is beyond {LARGEST:.0e} after {full['diverged_at']} steps, "
        f"against f − f* = {full['correct'][-1]:.2g} after {full['steps'][-1]:,}"
    )
    consequences["blog"] = consequences["runtime"] = (
        f"steps to reach {EPSILON:g} go like λ^{slope:.2f} below 0.001, "
        f"for m = {SIZES[0]} to {SIZES[-1]} within a factor of {spread:.1f}"
    )
    return [
        {"slip": slip, "printed": printed, "source": source, "meant": meant}
        | {"consequence": consequences[slip]}
        for slip, (printed, source, meant) in SLIPS.items()
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every rule."""
    n_steps, seeds = (10_000, 2) if context.quick else (N_STEPS, SEEDS)
    lams = LAMS[:3] if context.quick else LAMS
    kernel = context.part("kernel rules", _kernel_rules, n_steps, seeds)
    full = context.part("full gradient", _gradients, min(n_steps, 10_000))
    zero = context.part("step zero", _zero)
    runtimes: dict[str, list[Any]] = {str(m): [] for m in SIZES}
    for m, lam in context.progress(list(product(SIZES, lams)), "runtimes"):
        reached = context.part(f"m = {m}, lam = {lam:g}", _runtimes, m, lam, seeds, MOST_STEPS)
        runtimes[str(m)].append(reached)
    medians = np.array([[np.median(reached) for reached in own] for own in runtimes.values()])
    # For the larger λ the first steps are nearly enough.
    slope = np.polyfit(np.log(lams[-3:]), np.log(medians[:, -3:]).mean(axis=0), 1)[0]
    spread = float((medians.max(axis=0) / medians.min(axis=0)).max())
    return {
        "seeds": list(range(seeds)),
        "table": _table(kernel, full, zero, float(slope), spread),
        "kernel": kernel,
        "full_gradient": full,
        "runtimes": {"lam": lams, "slope": slope, "spread": spread, "steps": runtimes},
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what the slips do, and judge the claims on the run time in λ and m."""
    table, runtimes = results["table"], results["runtimes"]
    kernel = results["kernel"]
    ends = {rule: _told_end(kernel, rule, "f") for rule in kernel if rule != "steps"}
    wrong = [rule for rule in ends if rule != CORRECT]
    harmless = [rule for rule in wrong if ends[rule] < 2 * ends[CORRECT]]
    steps = {int(m): [n for runs in own for n in runs if n] for m, own in runtimes["steps"].items()}
    rate = runtimes["slope"]
    small = f"Steps to f* + {EPSILON:g} have an exponent of 1/λ of {exponent(-rate)} at small λ."
    medians = [[np.median(reached) for reached in own] for own in runtimes["steps"].values()]
    decades = inverse_rates(runtimes["lam"], np.exp(np.log(medians).mean(axis=0)))
    return [
        Claim(
            f"{len(table)} slips in print, and what each does.",
            OURS,
            f"Each is run beside the correct rule. Of {len(wrong)} in the kernel algorithm, "
            f"{len(harmless)} {'is' if len(harmless) == 1 else 'are'} harmless; the others end at "
            f"least {rounded(min(ends[r] for r in wrong if r not in harmless) / ends[CORRECT])} "
            "times as far from the optimum. With a loss in place of its gradient the objective "
            f"diverges after {results['full_gradient']['diverged_at']} steps.",
        ),
        Claim(
            "The run time is in proportion to λ, or does not depend on it.",
            f"{JOURNAL}; {BLOG}",
            small,
            mark(-rate < 0.2),
            "✓ if the exponent is below 0.2, ✗ if not. The printed words contradict the paper's "
            "theorem.",
        ),
        Claim(
            "The number of iterations scales linearly with 1/λ.",
            ICML,
            f"Exponents of 1/λ in these steps by decade, from λ = {max(runtimes['lam']):g} down: "
            f"{', '.join(map(exponent, decades))}.",
            *like_inverse(decades),
        ),
        Claim(
            "The run time does not depend on the size of the training set, seen once or often.",
            ICML,
            f"From m = {min(steps):,} to {max(steps):,} steps differ by at most "
            f"{rounded(runtimes['spread'])} times. T is up to "
            f"{rounded(max(max(own) / m for m, own in steps.items()))} times m.",
            mark(runtimes["spread"] <= 1.5, runtimes["spread"] <= 2),
            "✓ if the steps are within 1.5 times for every λ, ~ if within 2.",
        ),
    ]


def _of_rules(ax: plots.Axes, kernel: dict[str, Any], slip: str, what: str) -> None:
    """A wrong rule beside the correct one."""
    scale = 100 if what == "error" else 1
    for rule, name, line, color in (
        (slip, "as printed", "-", plots.VERMILION),
        (CORRECT, "correct", "--", plots.BLACK),
    ):
        shown = percentiles(scale * np.array(kernel[rule][what]))
        style: Any = {"label": name, "linestyle": line, "linewidth": 1.8}
        plots.band(ax, kernel["steps"], shown, color=color, **style)
    label = plots.WORDS["test_error"] if what == "error" else plots.WORDS["suboptimality"]
    plots.log_log(ax, xlabel=plots.WORDS["steps"], ylabel=label)


def _ratio(kernel: dict[str, Any], slip: str, what: str) -> float:
    """How many times worse a slip is at the end, in the median."""
    return _told_end(kernel, slip, what) / _told_end(kernel, CORRECT, what)


def _consequence(kernel: dict[str, Any], slip: str, what: str) -> str:
    ratio = _ratio(kernel, slip, what)
    noun = "the test error" if what == "error" else "f − f*"
    if abs(ratio - 1) < 0.1:
        return "hardly a difference"
    number = f"{ratio:.1f}" if ratio < 10 else f"{float(f'{ratio:.1g}'):,.0f}"
    number = f"10^{round(np.log10(ratio))}" if ratio > 1e5 else number
    return f"{noun} × " + (f"${number.replace('^', '^{')}}}$" if "^" in number else number)


def _of_gradients(ax: plots.Axes, full: dict[str, Any]) -> None:
    left, steps = full["steps"][: len(full["printed"])], full["steps"]
    ax.plot(steps, full["correct"], "--", color=plots.BLACK, linewidth=1.8, label="correct")
    ax.plot(left, full["printed"], color=plots.VERMILION, linewidth=1.8, label="as printed")
    plots.log_log(
        ax, xlabel=plots.WORDS["steps"], ylabel=plots.WORDS["suboptimality"], ylim=(1e-10, 1e12)
    )


def _of_runtimes(ax: plots.Axes, runtimes: dict[str, Any]) -> None:
    lams = np.array(runtimes["lam"])
    colors = plots.shades(len(runtimes["steps"]))
    for (m, reached), color in zip(runtimes["steps"].items(), colors, strict=True):
        shown = np.nanpercentile(np.array(reached, dtype=float), [20, 50, 80], axis=1)
        style: Any = {"color": color, "marker": "o", "markersize": 4, "label": f"m = {int(m):,}"}
        plots.band(ax, 1 / lams, shown, **style)
    anchor = np.median(next(iter(runtimes["steps"].values()))[len(lams) // 2])
    for power, name in ((1, "1/λ, as proved"), (-1, "λ, as printed")):
        line = anchor * (lams[len(lams) // 2] / lams) ** power
        ax.plot(1 / lams, line, ":", color=plots.GREY, linewidth=1.5, label=name)
    plots.log_log(ax, xlabel="1/λ", ylabel=f"steps to f − f* < {EPSILON:g}", ylim=(10, 1e8))


def plot(results: dict[str, Any]) -> plots.Figure:
    """Six small panels, wrong against right, each with its consequence."""
    kernel, full, runtimes = (results[key] for key in ("kernel", "full_gradient", "runtimes"))
    figure, axes = plots.panels(2, 3, 6.6)
    label, code, scaling, threshold, gradient, runtime = axes.flat
    for ax, slip, what, title in (
        (label, "label", "error", "yᵢ for yⱼ in the sum"),
        (code, "code", "f", "no self term, no 1/t"),
        (scaling, "scaling", "f", "no division by λT"),
        (threshold, "threshold", "f", "1/(λt) for 1/(λ(t − 1))"),
    ):
        _of_rules(ax, kernel, slip, what)
        ax.set_title(f"{title}:\n{_consequence(kernel, slip, what)}", fontsize=10.5)
    _of_gradients(gradient, full)
    gradient.set_title(
        f"loss for its gradient:\ndiverges after {full['diverged_at']} steps", fontsize=10.5
    )
    _of_runtimes(runtime, runtimes)
    power = f"$(1/\\lambda)^{{{-runtimes['slope']:.2f}}}$"
    runtime.set_title(f"“runtime goes like λ”:\nsteps go like {power}", fontsize=10.5)
    wrong = [slip for slip in ("label", "code", "scaling") if _ratio(kernel, slip, "f") > 2]
    harmless = [slip for slip in ("threshold",) if _ratio(kernel, slip, "f") < 1.1]
    return plots.state(
        figure,
        f"{'Most' if len(wrong) + 1 > len(harmless) else 'Some'} slips in print ruin the "
        f"objective: {len(wrong) + 1} do, and {len(harmless) or 'none'} "
        f"{'does' if len(harmless) == 1 else 'do'} no harm",
        f"Each slip beside the correct rule, on the same draws; two moons, m = {N_SAMPLES:,}, "
        f"λ = {LAM:g}, last iterate (gradient: two clouds); median and 20–80% of "
        f"{len(results['seeds'])} runs.",
    )
