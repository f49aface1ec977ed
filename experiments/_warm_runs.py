"""Dual ascent after so much Pegasos, in random order, and LIBSVM: what each takes to a gap.

The ascent over working sets is that of `polish`. It goes on from level to level of the gap, so that
one run serves all of them. Kernel rows are float64, and all of them fit into memory. Where C is
large, a certificate computes some margins once more, as rounding stands against it; these kernel
values are counted apart, as they depend on the end of a run and not on its start.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_moons

from experiments._kernel_judge import judge
from experiments._kernel_problems import PROBLEMS, Task, load
from kpegasos import RBF, Problem, make_problem, make_rows
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.estimators._settings import POLISH_DRAWS, POLISH_EPOCHS
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import WorkingSetAscent
from kpegasos.solvers.stopping import Stopper

#: Certified relative gaps, the loosest first.
TOLERANCES = (0.1, 0.01, 0.001)
_CACHE_MB = 3000
#: Passes of an ascent at the most.
_MOST_EPOCHS = 250
#: The first tolerance of LIBSVM, and the least factor of a next one.
_FIRST_TOL, _LEAST_FACTOR = 1.0, 0.02


class Kind(NamedTuple):
    """A set of data: the problem of the kernel benchmark that it is taken from, and a name."""

    problem: str
    title: str
    size: int


def sample(kind: Kind, seed: int, most: int | None = None) -> tuple[Task, np.ndarray]:
    """Take examples of a set by a seed: new ones where they are made, else a part of all.

    Parameters
    ----------
    kind : Kind
    seed : int
    most : int or None, default None
        Examples at the most; those of the set if None.

    Returns
    -------
    Task
        With float64 features.
    ndarray
        Its labels as ±1.
    """
    size = min(kind.size, most or kind.size)
    task = load(kind.problem, None, "float64")
    if kind.problem.startswith("moons"):
        X, y = make_moons(size, noise=0.25, random_state=seed)
        gamma = 1.0 / (X.shape[1] * X.var())
        task = task._replace(X=X, y=y, gamma=gamma, C=PROBLEMS[kind.problem].C)
    else:
        members = np.random.default_rng(seed).choice(len(task.y), size, replace=False)
        task = task._replace(X=np.ascontiguousarray(task.X[members]), y=task.y[members])
    return task, np.where(task.y == task.y.max(), 1.0, -1.0)


def draws_of(start: str, n_samples: int) -> int:
    """Return the draws of a start by its name: "0", "1 step", "default", or a number of epochs."""
    if start == "1 step":
        return 1
    if start == "default":
        return min(math.ceil(POLISH_EPOCHS * n_samples), POLISH_DRAWS)
    return math.ceil(float(start) * n_samples)


class _Ascent(NamedTuple):
    """An ascent, and the kernel values that its certificates have taken."""

    ascent: DualAscent
    of_certificates: list[int]

    @property
    def evaluations(self) -> int:
        """Kernel values of the ascent, without those of certificates."""
        return self.ascent.state.evaluations - sum(self.of_certificates)

    @property
    def gap(self) -> float:
        """The relative gap of the best iterate."""
        _, best = self.ascent.evaluate()
        return 1.0 - self.ascent.state.best_dual / best.objective


def _rows_of(task: Task) -> tuple[Any, list[int]]:
    """Return kernel rows, and a list that gets the kernel values of each certificate."""
    options: dict[str, Any] = {"cache": "cached", "cache_mb": _CACHE_MB, "intercept_scaling": 1.0}
    rows: Any = make_rows(task.X, "rbf", gamma=task.gamma, **options)
    settle, taken = rows.settle, []

    def counted(*arguments: Any, **more: Any) -> Any:
        before = rows.evaluations
        found = settle(*arguments, **more)
        taken.append(rows.evaluations - before)
        return found

    rows.settle = counted
    return rows, taken


def _from_zero(kind: type[DualAscent], problem: Problem, rows: Any, seed: int) -> DualAscent:
    """Return an ascent that begins at zero."""
    options = PegasosOptions(average=None)
    state = new_state(rows.n_samples, rows.image_size, options, problem.lam, seed)
    state.loss = problem.loss
    return kind(problem, rows, state, max_epochs=_MOST_EPOCHS)


def _started(problem: Problem, rows: Any, draws: int, seed: int) -> DualAscent:
    """Return an ascent that begins after so many draws of Pegasos; with none, at zero."""
    if draws == 0:
        return _from_zero(WorkingSetAscent, problem, rows, seed)
    options: dict[str, Any] = {"epochs": None, "checkpoints": None, "tol": None, "seed": seed}
    run = make_run(problem, rows, PegasosOptions(), n_steps=draws, **options)
    while not run.finished:
        run.advance(Stopper())
    return WorkingSetAscent.after(run, max_epochs=_MOST_EPOCHS)


def _climb(climber: _Ascent) -> list[dict[str, Any] | None]:
    """Go to each of `TOLERANCES`; those that are not reached are None."""
    ascent, stopper = climber.ascent, Stopper()
    levels: list[dict[str, Any] | None] = []
    for tol in TOLERANCES:
        if not ascent.reaches(tol, stopper):
            ascent.status = "running"
            while not ascent.finished:
                ascent.advance(stopper, tol)
        if not ascent.reaches(tol, stopper):
            levels += [None] * (len(TOLERANCES) - len(levels))
            break
        _, best = ascent.evaluate()
        levels.append(
            {
                "evaluations": climber.evaluations,
                "of_certificates": sum(climber.of_certificates),
                "support": int(np.count_nonzero(best.coef)),
                "gap": climber.gap,
                "moves": ascent.state.steps,
                "seconds": ascent.state.seconds,
            }
        )
    return levels


def polished(task: Task, y: np.ndarray, start: str, seed: int) -> dict[str, Any]:
    """Go from a start to each of `TOLERANCES`.

    Parameters
    ----------
    task : Task
    y : ndarray of shape (n_samples,)
    start : str
        As `draws_of` takes it.
    seed : int
        Of the draws.

    Returns
    -------
    dict
        ``before``: kernel values and gap of the start itself; ``levels``: for each tolerance kernel
        values, those of certificates apart, support, gap, moves of single examples, and seconds.
    """
    rows, taken = _rows_of(task)
    ascent = _started(make_problem(y, C=task.C), rows, draws_of(start, y.size), seed)
    climber = _Ascent(ascent, taken)
    before = {"evaluations": climber.evaluations, "gap": climber.gap}
    return {"before": before, "levels": _climb(climber)}


def in_random_order(task: Task, y: np.ndarray, seed: int) -> dict[str, Any]:
    """Ascend one example at a time, in random order, as `sdca` does.

    Parameters are those of `polished`, as is what it returns.
    """
    rows, taken = _rows_of(task)
    ascent = _from_zero(DualAscent, make_problem(y, C=task.C), rows, seed)
    return {"levels": _climb(_Ascent(ascent, taken))}


def by_libsvm(task: Task) -> dict[str, Any]:
    """Find tolerances at which the models of `SVC` have the gaps, and its iterations.

    The problem of `SVC` has an intercept that is free and ours one that is penalised. So its
    models are held to the same relative gap, that of its own problem and own dual. It is given the
    kernel matrix, which makes no difference to its iterations.

    Parameters
    ----------
    task : Task

    Returns
    -------
    dict
        ``levels``: for each of `TOLERANCES` the iterations, gap, support and tolerance.
    """
    from sklearn.svm import SVC

    matrix = RBF(task.gamma).block(task.X, task.X)
    tol, levels = _FIRST_TOL, []
    found: dict[str, Any] = {"gap": math.inf}
    for level in TOLERANCES:
        while found["gap"] > level:
            if math.isfinite(found["gap"]):
                tol *= max(_LEAST_FACTOR, min(0.7, 0.8 * level / found["gap"]))
            model = SVC(C=task.C, kernel="precomputed", tol=tol).fit(matrix, task.y)
            judged = judge(model, task)
            found = {
                "iterations": int(model.n_iter_[0]),
                "support": int(model.support_.size),
                "gap": 1.0 - judged["dual_bound"] / judged["objective"],
                "tol_of_libsvm": tol,
            }
        levels.append(dict(found))
    return {"levels": levels}
