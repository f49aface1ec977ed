"""Slips in the printed sources, each run beside the correct rule, so that one sees what it does.

Sources: MPB 2011; S. Karthik, "Pegasos for SVM Training" (a term paper) and its code; a blog post
on Pegasos. The correct rule is the package's; wrong ones get the same draws. Kernel rules run on
two moons with an RBF kernel, the printed gradient on two Gaussian clouds.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from experiments._claims import BLOG, ICML, JOURNAL, Claim, exponent, mark, rounded
from experiments._plots import band, legend_below, log_log
from experiments._settings import hinge_objective
from experiments._tables import percentiles
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.draws import IndexStream
from kpegasos.datasets import make_gaussian_noise, make_toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "20 s"
QUICK_TIME = "10 s"

N_SAMPLES, N_TEST, GAMMA, LAM = 1000, 4000, 2.0, 1e-3
N_STEPS = 100_000
SEEDS = 10
CORRECT = "correct"
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


def _moons(n_samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_toy("moons", n_samples, noise=0.2, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


def _steps(n_steps: int) -> list[int]:
    return sorted({round(step) for step in 10 ** (np.arange(0, 8 * np.log10(n_steps) + 0.5) / 8)})


class Judge:
    """Suboptimality and test error of coefficients over the examples."""

    def __init__(self) -> None:
        X, self.y = _moons(N_SAMPLES)
        X_test, self.y_test = _moons(N_TEST, seed=1)
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
    judge, steps = Judge(), _steps(n_steps)
    found: dict[str, list[Any]] = {
        rule: [] for rule in (CORRECT, "label", "threshold", "scaling", "code")
    }
    for seed in range(seeds):
        correct: list[Any] = []
        unscaled: list[Any] = []

        def note(run: Any, correct: list[Any] = correct, unscaled: list[Any] = unscaled) -> None:
            coef = run.result().coef
            correct.append(judge(coef))
            unscaled.append(judge(coef * LAM * run.state.steps))

        options: dict[str, Any] = {"sampling": "uniform", "average": None, "random_state": seed}
        run = pegasos(
            judge.problem, judge.rows, n_steps=n_steps, checkpoints=steps, monitor=note, **options
        )
        assert run.state is not None
        draws = IndexStream(N_SAMPLES, "uniform", run.state.seed).take(0, n_steps)
        found[CORRECT].append(correct)
        found["scaling"].append(unscaled)
        for slip in ("label", "threshold", "code"):
            found[slip].append(_wrong(judge, slip, draws, steps))
    curves: dict[str, Any] = {rule: np.array(values) for rule, values in found.items()}
    return {
        "steps": steps,
        **{rule: {"f": v[:, :, 0], "error": v[:, :, 1]} for rule, v in curves.items()},
    }


def _gradients(n_steps: int) -> dict[str, Any]:
    """Steps along the full gradient, and along what is printed in its place."""
    X, y = make_gaussian_noise(N_SAMPLES, separation=4.0, random_state=0)
    y, lam = np.where(y == 1, 1.0, -1.0), 0.01
    problem, rows, steps = make_problem(y, lam), linear_rows(X), _steps(n_steps)
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
    X, y = _moons(m)
    problem, rows = make_problem(y, lam), make_rows(X, gamma=GAMMA, cache="precomputed")
    optimum = sdca(problem, rows, tol=1e-4, max_epochs=20_000, random_state=0).dual_bound
    reached = []
    for seed in range(seeds):
        options: dict[str, Any] = {"sampling": "uniform", "random_state": seed}
        run = pegasos(
            problem,
            rows,
            n_steps=most,
            checkpoints=_steps(most),
            monitor=lambda run: run.history.records[-1].objective_average < optimum + EPSILON,
            **options,
        )
        reached.append(run.n_steps if run.objective < optimum + EPSILON else np.nan)
    return reached


def _table(
    kernel: dict[str, Any], full: dict[str, Any], zero: dict[str, Any], slope: float, spread: float
) -> list[dict[str, Any]]:
    """One row a slip: source, correction, and its consequence in numbers at the end of the run."""

    def end(rule: str, what: str) -> float:
        return float(np.median(np.array(kernel[rule][what])[:, -1]))

    consequences = {
        slip: f"f − f* = {end(slip, 'f'):.3g} against {end(CORRECT, 'f'):.3g}, "
        f"test error {end(slip, 'error'):.2%} against {end(CORRECT, 'error'):.2%}"
        for slip in ("label", "threshold", "scaling", "code")
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
    kernel = context.part("kernel rules", partial(_kernel_rules, n_steps, seeds))
    full = context.part("full gradient", partial(_gradients, min(n_steps, 10_000)))
    zero = context.part("step zero", _zero)
    runtimes: dict[str, list[Any]] = {str(m): [] for m in SIZES}
    for m, lam in context.progress(list(product(SIZES, lams)), "runtimes"):
        work = partial(_runtimes, m, lam, seeds, MOST_STEPS)
        runtimes[str(m)].append(context.part(f"m = {m}, lam = {lam:g}", work))
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
    """What is printed, and how the run time goes with λ and m."""
    table, runtimes = results["table"], results["runtimes"]
    kernel = results["kernel"]

    def end(rule: str) -> float:
        return float(np.median(np.array(kernel[rule]["f"], dtype=float)[:, -1]))

    wrong = [rule for rule in kernel if rule not in ("steps", CORRECT)]
    harmless = [rule for rule in wrong if end(rule) < 2 * end(CORRECT)]
    steps = [step for own in runtimes["steps"].values() for runs in own for step in runs]
    sizes = [int(size) for size in runtimes["steps"]]
    rate = runtimes["slope"]
    told = f"Steps to a suboptimality of {EPSILON:g} go like a power of λ with an exponent of "
    small = f"{told}{exponent(rate)} over the smallest λ."
    return [
        Claim(
            "The algorithm and its formulas are as printed.",
            f"{JOURNAL}; Karthik; {BLOG}",
            f"{len(table)} slips, each run beside the correct rule: "
            f"{len(harmless)} of {len(wrong)} in the kernel algorithm without effect, the others "
            f"end {rounded(min(end(r) for r in wrong if r not in harmless) / end(CORRECT))} times "
            "as far from the optimum or more; a loss in the place of its gradient diverges after "
            f"{results['full_gradient']['diverged_at']} steps.",
            mark(len(harmless) == len(wrong)),
            "✗ if a printed rule ends more than twice as far from the optimum as the correct one.",
        ),
        Claim(
            "The run time is in proportion to λ, or does not depend on it.",
            f"{JOURNAL}; {BLOG}",
            small,
            mark(rate > -0.2),
            "✗ if the exponent is below −0.2; the printed words contradict the paper's theorem.",
        ),
        Claim(
            "The number of iterations scales linearly with 1/λ.",
            ICML,
            small,
            mark(abs(rate + 1) <= 0.15, rate <= -0.5),
            "✓ if the exponent is within 0.15 of −1, ~ if it is at most −0.5.",
        ),
        Claim(
            "The run time does not depend on the size of the training set, passes or no passes.",
            ICML,
            f"From m = {min(sizes):,} to {max(sizes):,} steps are within "
            f"{rounded(runtimes['spread'])} times, where T is up to "
            f"{rounded(max(s for s in steps if s) / min(sizes))} times m.",
            mark(runtimes["spread"] <= 1.5, runtimes["spread"] <= 2),
            "✓ if the steps are within 1.5 times for every λ, ~ if within 2.",
        ),
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Suboptimality and test error of the kernel rules; the printed gradient; runtimes."""
    import matplotlib.pyplot as plt

    kernel, full, runtimes = (results[key] for key in ("kernel", "full_gradient", "runtimes"))
    figure, axes = plt.subplots(2, 2, figsize=(9, 8.4))
    objective, error, gradient, runtime = axes.flat
    labels = {CORRECT: "correct"} | {slip: words[0] for slip, words in SLIPS.items()}

    def draw(ax: Axes, what: str, scale: float) -> None:
        for i, rule in enumerate((CORRECT, "label", "threshold", "scaling", "code")):
            shown = percentiles(scale * np.array(kernel[rule][what]))
            color = "k" if rule == CORRECT else f"C{i - 1}"
            line = "--" if rule in ("threshold", "scaling") else "-"
            band(ax, kernel["steps"], shown, color=color, ls=line, label=labels[rule])
        log_log(ax, xlabel="steps T")

    draw(objective, "f", 1)
    objective.set(ylabel="f − f*", title="Kernel rules: suboptimality")
    draw(error, "error", 100)
    error.set(ylabel="test error, %", title="Kernel rules: test error")
    error.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    error.minorticks_off()

    gradient.plot(full["steps"], full["correct"], "k", label="mean of ∇ loss: correct")
    n_left = len(full["printed"])
    gradient.plot(full["steps"][:n_left], full["printed"], "C0.-", label="mean loss: as printed")
    log_log(gradient, xlabel="steps T", ylabel="f − f*", ylim=(1e-10, 1e12))
    gradient.set_title("The full gradient")
    gradient.legend(frameon=False, fontsize=10, loc="upper right")

    lams = np.array(runtimes["lam"])
    for i, (m, reached) in enumerate(runtimes["steps"].items()):
        shown = np.nanpercentile(np.array(reached, dtype=float), [20, 50, 80], axis=1)
        style: dict[str, Any] = {"color": f"C{i}", "marker": "os^"[i], "ms": 5}
        band(runtime, lams, shown, label=f"m = {int(m):,}", **style)
    middle = len(lams) // 2
    anchor = np.median(runtimes["steps"][str(SIZES[1])][middle])
    for power, words, line in ((-1, "1/λ", "--"), (1, "λ, as printed", ":")):
        reference = anchor * (lams / lams[middle]) ** power
        runtime.plot(lams, reference, color="0.4", ls=line, label=f"proportional to {words}")
    log_log(runtime, xlabel="λ", ylabel=f"steps until f − f* < {EPSILON:g}", ylim=(10, 1e8))
    runtime.set_title("The runtime")
    runtime.legend(frameon=False, fontsize=10, loc="upper right")
    legend_below(figure, objective, ncols=3, fontsize=10)
    figure.suptitle(
        "Slips in the sources beside the correct rule; "
        f"median and 20–80% of {len(results['seeds'])} runs",
        fontsize=12,
    )
    return figure
