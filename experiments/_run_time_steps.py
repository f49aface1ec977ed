"""Steps of `run_time`: to a suboptimality against m, λ and ε, and to a test error against m."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments._settings import setting
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import load_adult, load_mnist, load_rcv1_sample

#: Kernel rows of Adult: width, λ, and the suboptimality to reach.
GAMMA, LAM, EPSILON = 0.05, 1e-3, 0.03
CACHE_MB = 4096
#: Examples of Adult where λ and ε are what matters.
SMALL_ADULT = 4000
#: The optimum is known to this share of the suboptimality to reach.
SHARE = 0.1


def percentiles(key: str, values: Any) -> dict[str, float]:
    """Return columns for the 20%, 50% and 80% percentiles of runs, of which some may be infinite.

    Parameters
    ----------
    key : str
        Name of the column of the median; the others have the percentage behind it.
    values : array-like of shape (n_runs,)
        One value for each run, infinite where the goal was not reached.

    Returns
    -------
    dict
        Values of single runs, the upper one where two are as near.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    at = np.ceil(np.array([0.2, 0.5, 0.8]) * (ordered.size - 1)).astype(int)
    return dict(zip((f"{key}_20", key, f"{key}_80"), ordered[at].tolist(), strict=True))


def _points(first: float, last: float, per_decade: int) -> list[int]:
    decades = np.arange(np.log10(first), np.log10(last) + 1e-9, 1 / per_decade)
    return sorted({round(step) for step in 10**decades})


def _known(values: Any) -> list[float]:
    """Put infinity where a file has nothing."""
    return [np.inf if value is None else value for value in values]


# Kernel: m


@cache
def _adult() -> tuple[np.ndarray, np.ndarray]:
    """Adult in a random order, dense."""
    data = load_adult()
    order = np.random.default_rng(0).permutation(data.y_train.size)
    return data.X_train[order].toarray().astype(np.float32), data.y_train[order]


def by_size(m: int, seeds: int) -> dict[str, Any]:
    """Steps and kernel values until the average is within ε of the optimum, on m examples.

    The values are those of the rows of all violators, each row once. The package computes some more
    ahead of need, which a longer run would use.

    Parameters
    ----------
    m : int
        Training examples, the first of a fixed random order.
    seeds : int
        Number of runs.

    Returns
    -------
    dict
        A row of the table.
    """
    X, y = (part[:m] for part in _adult())
    problem = make_problem(y, LAM)
    optimum = sdca(
        problem,
        make_rows(X, gamma=GAMMA, cache_mb=CACHE_MB),
        tol=SHARE * EPSILON / 0.4,  # relative to an objective of about that size
        max_epochs=200,
        random_state=0,
    )
    goal, points = optimum.dual_bound + EPSILON, _points(300, 1e6, 24)
    steps, values, computed = [], [], []
    for seed in range(seeds):
        rows = make_rows(X, gamma=GAMMA, cache="cached", cache_mb=CACHE_MB)
        record = pegasos(
            problem,
            rows,
            n_steps=points[-1],
            sampling="uniform",
            checkpoints=points,
            monitor=lambda run: run.history[-1].objective_average <= goal,
            random_state=seed,
        ).history[-1]
        reached = record.objective_average <= goal
        steps.append(record.iteration if reached else np.inf)
        values.append(m * record.support_size if reached else np.inf)
        computed.append(record.kernel_evaluations if reached else np.inf)
    found = {"optimum": optimum.dual_bound, "gap": optimum.gap}
    counts = {"steps": steps, "kernel_values": values, "computed": computed}
    return {
        "m": m,
        **found,
        **{k: v for key in counts for k, v in percentiles(key, counts[key]).items()},
    }


# Linear: m, with the best λ of each


@cache
def _digits() -> tuple[np.ndarray, ...]:
    """Even against odd digits, rows of length one: training, validation and test part.

    The test set, of other writers, is halved at random: λ is chosen where the error is as high.
    """
    data = load_mnist()
    X, X_test = (normalize(part.astype(np.float32)) for part in (data.X_train, data.X_test))
    y, y_test = (np.where(part % 2 == 0, 1, -1) for part in (data.y_train, data.y_test))
    halves = np.array_split(np.random.default_rng(0).permutation(y_test.size), 2)
    first, second = ((X_test[half], y_test[half]) for half in halves)
    return X, y, *first, *second


def to_error(
    m: int, seed: int, lambdas: tuple[float, ...], target: float, most: int
) -> list[list[float]]:
    """Steps until the validation and the test error are at most a target, for each λ.

    Parameters
    ----------
    m : int
        Training examples.
    seed : int
        Of the choice of the examples and of the draws.
    lambdas : tuple of float
        The λ to try.
    target : float
        Error to reach.
    most : int
        Steps after which a run is given up.

    Returns
    -------
    list of two numbers for each λ
    """
    X, y, *parts = _digits()
    chosen = np.random.default_rng(seed).permutation(y.size)[:m]
    rows, points = linear_rows(X[chosen]), _points(300, most, 12)
    found = []
    for lam in lambdas:
        reached = [np.inf, np.inf]

        def test(run: Any, reached: list[float] = reached) -> bool:
            w = run.result().w.astype(np.float32)  # as the images
            for part in (0, 1):
                X_part, y_part = parts[2 * part : 2 * part + 2]
                if np.isinf(reached[part]) and np.mean((X_part @ w) * y_part <= 0) <= target:
                    reached[part] = run.history[-1].iteration
            return bool(np.isfinite(reached).all())

        pegasos(
            make_problem(y[chosen], lam),
            rows,
            n_steps=points[-1],
            sampling="uniform",
            checkpoints=points,
            monitor=test,
            random_state=seed,
        )
        found.append(reached)
    return found


def tuned(m: int, lambdas: tuple[float, ...], runs: list[Any]) -> list[dict[str, Any]]:
    """Return a row for each λ; the one of fewest validation steps is chosen.

    Parameters
    ----------
    m : int
        Training examples.
    lambdas : tuple of float
        The λ that were tried.
    runs : list
        What `to_error` returned for each seed.

    Returns
    -------
    list of dict
    """
    table, order = [], []
    for number, lam in enumerate(lambdas):
        validation, test = (_known(run[number][part] for run in runs) for part in (0, 1))
        found = percentiles("validation_steps", validation)
        row = {"m": m, "lam": lam, "validation_steps": found["validation_steps"]}
        table.append(
            {**row, **percentiles("steps", test), "reached": float(np.isfinite(test).mean())}
        )
        order.append((found["validation_steps"], found["validation_steps_80"], number))
    median, _, best = min(order)
    return [
        {**row, "chosen": bool(i == best and np.isfinite(median))} for i, row in enumerate(table)
    ]


# λ and ε


@cache
def _gram(name: str) -> tuple[np.ndarray, Any]:
    """Labels, and rows with all kernel values at hand: steps are what counts here."""
    if name == "moons":
        return setting(name)[1:]
    if name == "rcv1":
        data = load_rcv1_sample()
        X, y = data.X_train, data.y_train
    else:
        X, y = (part[:SMALL_ADULT] for part in _adult())
        X = normalize(X)
    return y, make_rows(X, "linear", cache="precomputed")


def to_epsilon(
    name: str, lam: float, epsilons: tuple[float, ...], seeds: int, most: int
) -> list[dict[str, Any]]:
    """Steps until the average is within each ε of the optimum.

    Parameters
    ----------
    name : {"moons", "rcv1", "adult"}
        The set.
    lam : float
        Its λ.
    epsilons : tuple of float
        Suboptimalities, falling.
    seeds : int
        Number of runs.
    most : int
        Steps after which a run is given up.

    Returns
    -------
    list of dict
        A row of the table for each ε that the optimum is known well enough for.
    """
    y, rows = _gram(name)
    problem, points = make_problem(y, lam), _points(1, most, 10)
    optimum = sdca(problem, rows, tol=1e-5, max_epochs=3000, random_state=0)
    known = [epsilon for epsilon in epsilons if optimum.gap <= SHARE * epsilon]
    reached = []
    for seed in range(seeds if known else 0):
        history = pegasos(
            problem,
            rows,
            n_steps=points[-1],
            sampling="uniform",
            checkpoints=points,
            monitor=lambda run: run.history[-1].objective_average - optimum.dual_bound <= known[-1],
            random_state=seed,
        ).history
        excess = history["objective_average"] - optimum.dual_bound
        reached.append([_crossing(history["iteration"], excess, epsilon) for epsilon in known])
    return [
        {
            "data": name,
            "lam": lam,
            "epsilon": epsilon,
            "gap": optimum.gap,
            **percentiles("steps", column),
            "reached": float(np.isfinite(column).mean()),
        }
        for epsilon, column in zip(known, np.array(reached).T, strict=True)
    ]


def _crossing(steps: np.ndarray, excess: np.ndarray, epsilon: float) -> float:
    """Step at which a curve is down to ε for the first time, on a line between its points."""
    below = np.flatnonzero(excess <= epsilon)
    if not below.size:
        return np.inf
    end = below[0]
    if end == 0:
        return float(steps[0])
    part = slice(end - 1, end + 1)
    log_excess = np.log(np.maximum(excess[part], 1e-300))[::-1]
    return float(np.exp(np.interp(np.log(epsilon), log_excess, np.log(steps[part])[::-1])))
