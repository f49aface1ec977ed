"""Slips in the printed sources, run and compared with the correct rule.

Sources: MPB 2011; S. Karthik, "Pegasos for SVM Training" (a term paper) and its code; a blog post
on Pegasos. The correct rule is the package's; wrong ones get the same draws. Kernel rules run on
two moons with an RBF kernel, the printed gradient on two Gaussian clouds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from experiments import _plots as plots
from experiments._data import hinge_objective, moons, spaced
from experiments._results import OURS, Claim, markdown, medians, percent, percentiles, rounded
from experiments._run import Context
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.draws import IndexStream
from kpegasos.datasets import make_gaussian_noise

N_SAMPLES, N_TEST, GAMMA, LAM = 1000, 4000, 2.0, 1e-3
N_STEPS = 100_000
SEEDS = 10
CORRECT = "correct"
#: Rules of the kernel algorithm that are run as they are printed.
WRONG = ("label", "threshold", "code")
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


def compute(context: Context) -> dict[str, Any]:
    """Run every rule."""
    n_steps, seeds = (10_000, 2) if context.quick else (N_STEPS, SEEDS)
    return {
        "seeds": list(range(seeds)),
        "kernel": context.part("kernel rules", _kernel_rules, n_steps, seeds),
        "full_gradient": _gradients(min(n_steps, 10_000)),
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what the slips in the kernel algorithm do."""
    kernel, full = results["kernel"], results["full_gradient"]
    times = {slip: _end(kernel, slip, "f") / _end(kernel, CORRECT, "f") for slip in TITLES}
    harmless = [slip for slip in times if times[slip] < 2]
    return [
        Claim(
            "Most slips in print ruin the objective.",
            OURS,
            f"Of {len(times)} in the kernel algorithm, {len(harmless)} is harmless; the others end "
            f"at least {rounded(min(times[slip] for slip in times if slip not in harmless))} times "
            "as far from the optimum. With a loss in place of its gradient the objective diverges "
            f"after {full['diverged_at']} steps.",
        )
    ]


def _end(kernel: dict[str, Any], rule: str, what: str) -> float:
    """Median of a curve at the end of the runs."""
    return float(medians(kernel[rule][what])[-1])


def table(results: dict[str, Any]) -> str:
    """Return the slips: what is printed and where, what is meant, and what it does."""
    kernel, full = results["kernel"], results["full_gradient"]

    def ends(slip: str) -> str:
        f, error = (
            [write(_end(kernel, rule, what)) for rule in (slip, CORRECT)]
            for what, write in (("f", rounded), ("error", percent))
        )
        return f"f − f* = {f[0]} against {f[1]}, test error {error[0]} against {error[1]}"

    diverges = (
        f"f diverges after {full['diverged_at']} steps, against f − f* = "
        f"{rounded(full['correct'][-1])} after {full['steps'][-1]:,}"
    )
    grows = "steps grow as λ falls (`run_time`)"
    rows = (
        ("yᵢ for yⱼ in the sum over j", "MPB 2011, Fig. 3", "yⱼ", ends("label")),
        (
            "1/(λt) in the margin test",
            "MPB 2011, Fig. 3; term paper, Alg. 2",
            "1/(λ(t − 1))",
            ends("threshold"),
        ),
        ("w = Σ αᵢ yᵢ xᵢ", "term paper", "divided by λT", ends("scaling")),
        ("no self term, no division by t", "the term paper's code", "both", ends("code")),
        ("t starts at 0", "term paper, Algs. 1 and 2", "at 1", "the first step is infinite"),
        ("λ/2 ∇‖w‖² + mean loss", "blog post, full gradient", "mean of ∇ loss", diverges),
        ("O(1/ε) steps", "blog post", "Õ(1/ε)", "a logarithm is lost"),
        ("runtime does not depend on λ", "blog post", "proportional to 1/λ", grows),
        ("runtime in proportion to λ", "MPB 2011, §7.3", "to 1/λ", grows),
    )
    return markdown(["printed", "where", "meant", "what it does"], rows)


#: Slips of the kernel algorithm, and what is drawn of each.
TITLES = {
    "label": ("yᵢ for yⱼ in the sum", "error"),
    "code": ("no self term, no 1/t", "f"),
    "scaling": ("no division by λT", "f"),
    "threshold": ("1/(λt) for 1/(λ(t − 1))", "f"),
}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Small panels, wrong against right."""
    kernel, full = results["kernel"], results["full_gradient"]
    figure, axes = plots.panels(2, 3, 6.0)
    for ax, (slip, (title, what)) in zip(axes.flat, TITLES.items(), strict=False):
        for rule, label, line, color in (
            (slip, "as printed", "-", plots.VERMILION),
            (CORRECT, "correct", "--", plots.BLACK),
        ):
            shown = percentiles((100 if what == "error" else 1) * np.array(kernel[rule][what]))
            style: Any = {"label": label, "linestyle": line, "linewidth": 1.8}
            plots.band(ax, kernel["steps"], shown, color=color, **style)
        label = plots.TEST_ERROR if what == "error" else plots.EXCESS
        plots.log_log(ax, xlabel=plots.STEPS, ylabel=label, title=title)
    gradient, empty = axes.flat[4:]
    empty.set_axis_off()
    n = len(full["printed"])
    gradient.plot(full["steps"], full["correct"], "--", color=plots.BLACK, linewidth=1.8)
    gradient.plot(full["steps"][:n], full["printed"], color=plots.VERMILION, linewidth=1.8)
    plots.log_log(gradient, xlabel=plots.STEPS, ylabel=plots.EXCESS, ylim=(1e-10, 1e12))
    gradient.set_title("loss for its gradient")
    return plots.state(
        figure,
        "Most slips in print ruin the objective",
        f"Each slip beside the correct rule, on the same draws; two moons, m = {N_SAMPLES:,}, "
        f"λ = {LAM:g}, last iterate (gradient: two clouds); median and 20–80% of "
        f"{len(results['seeds'])} runs.",
    )
