"""Runs of `experiments.clock`: its problems, and what is recorded along the steps.

Rows have at most length one in all four problems, so that 1/λ is what the theory measures T by.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments._settings import Setting, hinge_objective, setting
from kpegasos import make_problem, make_rows, pegasos
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.datasets import load_adult, load_covtype, load_usps
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import PegasosRun, make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper

DATA = ("moons", "usps", "adult", "covtype")
TOL = 1e-8


@cache
def problem_of(name: str) -> Setting:
    """Make labels and rows; kernel matrices are held, of the linear kernel too."""
    if name == "moons":
        return setting(name)
    rng = np.random.default_rng(0)
    if name == "usps":
        data = load_usps()
        chosen = rng.permutation(data.y_train.size)[:2000]
        X = data.X_train[chosen].astype(float)
        y = np.where(data.y_train[chosen] % 2 == 0, 1, -1)
        rows = make_rows(X, "rbf", gamma=2 / 256, cache="precomputed")
        return Setting("USPS even/odd, RBF", y, rows)
    data = load_adult() if name == "adult" else load_covtype(positive=1)
    chosen = rng.permutation(data.y_train.size)[:1000]
    X = normalize(data.X_train[chosen].astype(float))
    title = {"adult": "Adult, linear", "covtype": "Covertype, linear"}[name]
    return Setting(title, data.y_train[chosen], make_rows(X, "linear", cache="precomputed"))


def optimum(name: str, lam: float) -> dict[str, Any]:
    """Bracket the optimum by polishing an epoch of Pegasos; ``"f*"`` is the lower end."""
    _, y, rows = problem_of(name)
    run = make_run(
        make_problem(y, lam),
        rows,
        PegasosOptions(),
        n_steps=None,
        epochs=1,
        checkpoints=None,
        tol=None,
        seed=0,
    )
    stopper = Stopper()
    while not run.finished:
        run.advance(stopper)
    found = polish(run, tol=TOL, max_epochs=100_000, stopper=stopper)
    return {"f*": found.dual_bound, "objective": found.objective, "gap": found.gap}


def weighted(
    name: str, lam: float, steps: list[int], seeds: int, projection: bool
) -> dict[str, Any]:
    """Objective of the last and of the t-weighted iterate, and the gap, a row for each seed."""
    _, y, rows = problem_of(name)
    problem = make_problem(y, lam)
    options: dict[str, Any] = {"n_steps": steps[-1], "checkpoints": steps, "projection": projection}
    histories = [
        pegasos(problem, rows, sampling="uniform", random_state=seed, **options).history
        for seed in range(seeds)
    ]
    columns = {"last": "objective_last", "weighted": "objective_average", "gap": "gap"}
    return {key: np.array([h[column] for h in histories]) for key, column in columns.items()}


def others(name: str, lam: float, steps: list[int], seeds: int) -> dict[str, Any]:
    """Objective of the suffix and of the uniform average of the same iterates."""
    _, y, rows = problem_of(name)
    problem = make_problem(y, lam)
    found: dict[str, Any] = {"suffix": [], "uniform": []}
    for seed in range(seeds):
        uniform: list[float] = []

        def note(run: PegasosRun, values: list[float] = uniform) -> None:
            # Both averages are made from the same sums.
            iterate = run.state.iterate("uniform")
            (model,) = run.rows.evaluate([iterate], run.state.loop, run.examples)
            values.append(hinge_objective(y, model.margins, model.squared_norm, lam))

        history = pegasos(
            problem,
            rows,
            n_steps=steps[-1],
            checkpoints=steps,
            sampling="uniform",
            average="suffix",
            random_state=seed,
            monitor=note,
        ).history
        found["suffix"].append(history["objective_average"])
        found["uniform"].append(uniform)
    return {key: np.array(values) for key, values in found.items()}


def batches(name: str, lam: float, sizes: list[int], draws: int, seeds: int) -> np.ndarray:
    """Objective of the t-weighted average after so many draws, for each size and each seed."""
    _, y, rows = problem_of(name)
    problem = make_problem(y, lam)
    return np.array(
        [
            [
                pegasos(
                    problem,
                    rows,
                    n_steps=draws // k,
                    batch_size=k,
                    sampling="uniform",
                    checkpoints=None,
                    random_state=seed,
                ).objective
                for k in sizes
            ]
            for seed in range(seeds)
        ]
    )


def ascents(name: str, lam: float, steps: list[int], seeds: int) -> np.ndarray:
    """Objective of dual coordinate ascent after each number of its steps, a row for each seed."""
    _, y, rows = problem_of(name)
    problem, values = make_problem(y, lam), []
    for seed in range(seeds):
        state = new_state(rows.n_samples, rows.image_size, PegasosOptions(average=None), lam, seed)
        state.loss = problem.loss
        ascent = DualAscent(problem, rows, state, max_epochs=1 + steps[-1] // y.size)
        stopper, curve = Stopper(), []
        for step in steps:
            ascent.take_steps(step, stopper)
            curve.append(ascent.evaluate()[0].objective)
        values.append(curve)
    return np.array(values)
