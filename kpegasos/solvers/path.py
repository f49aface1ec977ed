"""`regularization_path`: one problem along values of C, each warm from the one before.

On kernel rows that are held, sets of examples move together (`kpegasos.solvers.path_run`). On
features, and on kernel rows that nobody keeps, each value is a dual ascent of its own that begins
at the solution before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.problem import Problem, best_multiple
from kpegasos.core.state import INHERITED, STEPS, Iterate, PegasosOptions, new_state
from kpegasos.losses import Hinge
from kpegasos.rows.base import RowSource
from kpegasos.solvers.account import alone_with
from kpegasos.solvers.interior_point import InteriorPointAscent
from kpegasos.solvers.path_run import PathRun
from kpegasos.solvers.pegasos import check_task
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils.validation import (
    LARGEST,
    SMALLEST,
    as_array,
    as_integer,
    as_number,
    draw_seed,
    optional,
    shown,
)


@dataclass(frozen=True, repr=False)
class RegularizationPath:
    """Solutions along values of C, each with its certificate; all arrays in the order of ``Cs``.

    Where time was up before a value was solved, its numbers are NaN and its arrays zero.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        The values that were asked for.
    alphas : ndarray of shape (n_Cs, n_samples)
        Dual variables β in [0, 1] of the coefficients.
    coefs : ndarray of shape (n_Cs, n_samples)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    intercepts : ndarray of shape (n_Cs,)
    margins : ndarray of shape (n_Cs, n_samples)
        ``f(x_i)`` of all examples, those that are held out as well.
    objectives, dual_bounds, relative_gaps : ndarray of shape (n_Cs,)
        The primal objective, a lower bound on its minimum, and their distance over the objective,
        with its rounding.
    evaluations : int
        Kernel values computed.
    status : {"tolerance", "completed", "max_time", "interrupted"}
        "completed" where a value did not come to ``tol``.
    """

    Cs: np.ndarray
    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    margins: np.ndarray
    objectives: np.ndarray
    dual_bounds: np.ndarray
    relative_gaps: np.ndarray
    evaluations: int
    status: str

    @property
    def n_support(self) -> np.ndarray:
        """Examples with a coefficient, of shape (n_Cs,)."""
        return np.asarray(np.count_nonzero(self.coefs, axis=1))

    @property
    def missing(self) -> np.ndarray:
        """Values of C that have no solution."""
        return self.Cs[np.isnan(self.objectives)]

    def __repr__(self) -> str:
        return (
            f"RegularizationPath({self.n_steps} of {self.Cs.size} values, status {self.status!r}, "
            f"largest relative gap {self.relative_gap:.2g})"
        )

    # What `Interrupted` tells of a result.

    @property
    def n_steps(self) -> int:
        """Values of C that have a solution."""
        return self.Cs.size - self.missing.size

    @property
    def relative_gap(self) -> float:
        """The largest relative gap."""
        return float(np.fmax.reduce(self.relative_gaps))


def regularization_path(
    problem: Problem,
    rows: RowSource,
    Cs: Sequence[float] | np.ndarray,
    *,
    held_out: np.ndarray | None = None,
    tol: float = 1e-2,
    max_epochs: int = 1000,
    max_time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> RegularizationPath:
    """Solve a problem for several values of C, each to a certified relative gap.

    Parameters
    ----------
    problem : Problem
        From `make_problem`. Its own ``lam`` is not used: that of a value is
        ``1 / (C · Σ weights)``, with weights of mean one, over the examples that are not held out.
    rows : RowSource
        From `make_rows` (kernel) or `linear_rows` (primal vector).
    Cs : sequence of float
        Positive values, none of them twice, in any order; they are solved from the smallest on.
    held_out : ndarray of shape (n_samples,), bool, default=None
        Examples that get no coefficient. Their margins are found all the same, so that a fold of a
        cross-validation needs no rows of its own. Kernel rows must be held for that.
    tol : float, default=1e-2
        Certified ``(P − D) / P`` at which a value is solved.
    max_epochs : int, default=1000
        Passes over the data for one value at the most.
    max_time : float, default=None
        Seconds after which the values that are solved are returned.
    random_state : int, RandomState or None, default=None
        Makes the permutations where examples move one at a time.

    Returns
    -------
    RegularizationPath

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite, or a parameter will not do.
    Interrupted
        After Ctrl-C: a `KeyboardInterrupt` whose ``result`` is the path as far as it has come.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import make_problem, make_rows, regularization_path
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> problem, rows = make_problem(2.0 * y - 1.0, lam=1.0), make_rows(X, "rbf", gamma=2.0)
    >>> held_out = np.arange(200) % 5 == 0
    >>> path = regularization_path(problem, rows, [0.1, 1.0, 10.0], held_out=held_out)
    >>> bool((path.relative_gaps <= 0.01).all())
    True
    >>> correct = path.margins * problem.y > 0
    >>> bool((correct[:, held_out].mean(axis=1) > 0.9).all())
    True
    """
    check_task(problem, rows)
    rows.check_length(problem.y.size)
    if type(problem.loss) is not Hinge:
        raise ValueError(
            f"problem must have the hinge loss for a path, "
            f"got {type(problem.loss).__name__} instead"
        )
    values = _checked_values(Cs)
    weight = problem.weight
    if held_out is not None:
        weight = np.where(_checked_held_out(held_out, problem), 0.0, weight)
        if not rows.holds_sets:
            raise ValueError(
                "held_out must be None unless kernel rows are held (GramRows, CachedRows), got "
                f"{rows.__class__.__name__} instead"
            )
    tol = as_number("tol", tol, positive=True)
    max_epochs = as_integer("max_epochs", max_epochs, least=1)
    max_time = optional(as_number, "max_time", max_time, least=0.0)
    order, seed = np.argsort(values), draw_seed(random_state)
    with interruptible(Stopper(max_time)) as stopper:
        if rows.holds_sets:
            run = PathRun(
                problem.y, weight[None], rows, values[order], tol=tol, max_epochs=max_epochs
            )
            reason = run.advance(stopper)
            found = run.solutions(stopper)
            parts, evaluations = list(found[:-1]), run.evaluations
        else:
            parts, evaluations, reason = _by_ascents(
                problem, rows, values[order], tol, max_epochs, seed, stopper
            )
        path = _in_order(values, order, parts, evaluations, reason, tol)
        stopper.presses_kept = np.inf
    if stopper.interrupted:
        raise Interrupted(path)
    return path


def _checked_values(Cs: Any) -> np.ndarray:
    """Values of C, each once.

    Raises
    ------
    ValueError
        If they are not.
    """
    values = as_array("Cs", Cs)
    if values.ndim != 1 or not values.size or not _are_moderate(values):
        raise ValueError(
            f"Cs must be one or more numbers from {SMALLEST:g} to {LARGEST:g}, got {shown(Cs)} "
            "instead"
        )
    if np.unique(values).size < values.size:
        raise ValueError(f"Cs must differ from each other, got {shown(Cs)} instead")
    return values


def _are_moderate(values: np.ndarray) -> bool:
    # A comparison that is false for NaN.
    return bool(((values >= SMALLEST) & (values <= LARGEST)).all())


def _checked_held_out(held_out: Any, problem: Problem) -> np.ndarray:
    """A mask that leaves examples of both classes.

    Raises
    ------
    ValueError
        If it does not.
    """
    mask = np.asarray(held_out)
    if mask.dtype != bool or mask.shape != problem.y.shape:
        raise ValueError(
            f"held_out must be {problem.y.size} booleans, got {mask.dtype} of shape "
            f"{mask.shape} instead"
        )
    if np.unique(problem.y[~mask]).size < min(2, np.unique(problem.y).size):
        raise ValueError("held_out must leave examples of both classes, got one that does not")
    return mask


def _by_ascents(
    problem: Problem,
    rows: RowSource,
    Cs: np.ndarray,
    tol: float,
    max_epochs: int,
    seed: int,
    stopper: Stopper,
) -> tuple[list[np.ndarray], int, str | None]:
    """Solve values by an ascent each; returns what `_in_order` takes."""
    n_samples, evaluations = problem.y.size, 0
    before: Any = None
    found: list[Any] = []
    for C in Cs:
        reason = stopper.reason()
        if reason is not None:
            return _stacked(found, n_samples), evaluations, reason
        own = problem._replace(lam=1.0 / (float(C) * n_samples))
        state = new_state(n_samples, rows.image_size, PegasosOptions(average=None), own.lam, seed)
        if before is not None:
            to_w = Iterate(LinearCombination(1.0 / (own.lam * n_samples), 0.0))
            with alone_with(rows):
                (evaluated,) = rows.evaluate([to_w], before, own.examples)
            factor = best_multiple(evaluated.coef, evaluated.squared_norm, own)
            np.minimum(1.0, factor * before.alpha, out=state.loop.alpha)
            state.loop.image[:] = factor * before.image
            state.loop.counters[INHERITED] = before.counters[[STEPS, INHERITED]].sum()
        ascent = InteriorPointAscent(own, rows, state, max_epochs=max_epochs)
        while not ascent.finished:
            ascent.advance(stopper, tol)
        result, before = ascent.result(), state.loop
        evaluations += state.evaluations
        if result.status in ("max_time", "interrupted") and not result.relative_gap <= tol:
            return _stacked(found, n_samples), evaluations, result.status
        numbers = (result.intercept, result.objective, result.dual_bound, result.relative_gap)
        # The last dual variables may be those of a worse iterate than the one that is returned.
        alpha = np.minimum(1.0, np.abs(result.coef) / (float(C) * problem.weight))
        found.append((alpha, result.coef, result.margins, *numbers))
    return _stacked(found, n_samples), evaluations, None


def _stacked(found: list[Any], n_samples: int) -> list[np.ndarray]:
    """Arrays over the values: alphas, coefs, intercepts, margins, and three numbers."""
    alphas, coefs, margins, *numbers = zip(*found, strict=True) if found else [()] * 7
    rows = [np.array(part).reshape(len(found), n_samples) for part in (alphas, coefs, margins)]
    intercepts, objectives, bounds, gaps = (np.array(part, dtype=float) for part in numbers)
    return [rows[0], rows[1], intercepts, rows[2], objectives, bounds, gaps]


def _in_order(
    Cs: np.ndarray,
    order: np.ndarray,
    parts: Sequence[np.ndarray],
    evaluations: int,
    reason: str | None,
    tol: float,
) -> RegularizationPath:
    """The path in the order of ``Cs``, from arrays over those that are solved, in their order."""
    n_solved = parts[0].shape[0]
    filled: list[Any] = []
    for part in parts:
        whole = np.full((Cs.size, *part.shape[1:]), np.nan if part.ndim == 1 else 0.0)
        whole[order[:n_solved]] = part
        filled.append(whole)
    reached = n_solved == Cs.size and bool((filled[-1] <= tol).all())
    status = reason or ("tolerance" if reached else "completed")
    return RegularizationPath(*[Cs, *filled, evaluations, status])
