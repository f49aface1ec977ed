"""`regularization_path`: one problem along values of C, each begun at the solution before.

On kernel rows that are held, sets of examples move together (`PathRun`): one source of rows serves
all values of the regularisation, and all folds, which differ by the weights of the examples alone.
On features, and on kernel rows that are not held, each value is a dual ascent of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.certificate import limits_of, relative, start_ascent
from kpegasos.core.draws import MOST_DRAWS
from kpegasos.core.path import (
    BEFORE_PAUSE,
    CELL,
    OBJECTIVE,
    follow,
    new_path,
)
from kpegasos.core.problem import Problem
from kpegasos.core.small_runs import SAFE
from kpegasos.core.state import (
    INHERITED,
    STEPS,
    Iterate,
    PegasosOptions,
    State,
    new_state,
)
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import (
    ADD_MOVES,
    CHOSEN,
    DONE,
    NEED_ROWS,
    WANTED,
    add_moves,
)
from kpegasos.losses import is_hinge
from kpegasos.rows.base import (
    Evaluated,
    RowSource,
    check_rows,
    claim_construction,
    holds_sets,
)
from kpegasos.solvers.driver import Certifier, OnAccount, alone_with
from kpegasos.solvers.dual_ascent import InteriorPointAscent
from kpegasos.solvers.pegasos import check_task
from kpegasos.solvers.polish import sets_for
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils.patience import CutShort, heed, heeding
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
        The primal objective, a lower bound on its minimum, and their distance, rounding included,
        over the objective.
    evaluations : int
        Kernel values computed.
    status : {"tolerance", "completed", "max_time", "interrupted"}
        "completed" where a value did not reach ``tol``.
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

    # What `Interrupted` reports of a result.

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
        From `make_problem`; on kernel rows without a free intercept. Its own ``lam`` is not used:
        that of a value is ``1 / (C · Σ weights)``, with weights of mean one, over the examples that
        are not held out.
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
        Seeds the permutations where examples move one at a time.

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
    if not is_hinge(problem.loss):
        raise ValueError(
            f"problem must have the hinge loss for a path, "
            f"got {type(problem.loss).__name__} instead"
        )
    if problem.free_intercept and holds_sets(rows):
        raise ValueError(
            "problem must have free_intercept=False for a path on kernel rows, got True instead; "
            "pegasos and sdca solve it for one C"
        )
    values = _checked_values(Cs)
    weight = problem.weight
    if held_out is not None:
        weight = np.where(_checked_held_out(held_out, problem), 0.0, weight)
        if not holds_sets(rows):
            raise ValueError(
                "held_out must be None unless kernel rows are held (GramRows, CachedRows), got "
                f"{rows.__class__.__name__} instead"
            )
    tol = as_number("tol", tol, positive=True)
    max_epochs = as_integer("max_epochs", max_epochs, least=1)
    max_time = optional(as_number, "max_time", max_time, least=0.0)
    order, seed = np.argsort(values), draw_seed(random_state)
    with interruptible(Stopper(max_time)) as stopper:
        if holds_sets(rows):
            run = PathRun(
                problem.y, weight[None], rows, values[order], tol=tol, max_epochs=max_epochs
            )
            reason = run.advance(stopper)
            found, evaluations = run.solutions(stopper), run.evaluations
        else:
            found, evaluations, reason = _by_ascents(
                problem, rows, values[order], tol, max_epochs, seed, stopper
            )
        path = _in_order(values, order, weight, found, evaluations, reason, tol)
        stopper.presses_kept = np.inf
    if stopper.interrupted:
        raise Interrupted(path)
    return path


def _checked_values(Cs: Any) -> np.ndarray:
    """Return the values of C as an array.

    Raises
    ------
    ValueError
        If one is out of range or occurs twice, or there is none.
    """
    values = as_array("Cs", Cs)
    # A comparison that is false for NaN.
    if (
        values.ndim != 1
        or not values.size
        or not ((values >= SMALLEST) & (values <= LARGEST)).all()
    ):
        raise ValueError(
            f"Cs must be one or more numbers from {SMALLEST:g} to {LARGEST:g}, got {shown(Cs)} "
            "instead"
        )
    if np.unique(values).size < values.size:
        raise ValueError(f"Cs must differ from each other, got {shown(Cs)} instead")
    return values


def _checked_held_out(held_out: Any, problem: Problem) -> np.ndarray:
    """Return a mask that leaves examples of both classes.

    Raises
    ------
    ValueError
        If it does not.
    """
    try:
        mask = np.asarray(held_out)
    except ValueError:  # rows of several lengths
        mask = np.empty(0)
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
) -> tuple[Solutions, int, str | None]:
    """Solve each value by an ascent; return also kernel values and the reason for an early stop."""
    n_samples, evaluations, before, found = problem.y.size, 0, None, list[Result]()
    for C in Cs.tolist():
        reason = stopper.reason()
        if reason is not None:
            break
        own = problem._replace(lam=1.0 / (C * n_samples))
        state = new_state(n_samples, rows.image_size, PegasosOptions(average=None), own.lam, seed)
        if before is not None:
            to_w = Iterate(1.0 / (own.lam * n_samples))
            with alone_with(rows):
                (evaluated,) = rows.evaluate([to_w], before, own.examples)
            iterate = evaluated.coef, evaluated.image, evaluated.squared_norm
            start_ascent(state.loop, own.examples, limits_of(own.loss), *iterate, own.lam)
            state.loop.counters[INHERITED] = before.counters[[STEPS, INHERITED]].sum()
        ascent = InteriorPointAscent(own, rows, state, max_epochs=max_epochs)
        while not ascent.finished:
            ascent.advance(stopper, tol)
        result, before = ascent.result(), state.loop
        evaluations += state.evaluations
        if result.status in ("max_time", "interrupted") and not result.relative_gap <= tol:
            reason = result.status
            break
        found.append(result)
    names = ("coef", "intercept", "margins", "objective", "dual_bound", "relative_gap", "n_steps")
    columns = [np.array([getattr(result, name) for result in found]) for name in names]
    return Solutions(*columns), evaluations, reason


def _in_order(
    Cs: np.ndarray,
    order: np.ndarray,
    weight: np.ndarray,
    solutions: Solutions,
    evaluations: int,
    reason: str | None,
    tol: float,
) -> RegularizationPath:
    """Put the solutions, which are in the order ``order``, into that of ``Cs``."""
    solved = order[: solutions.objectives.size]
    numbers = np.full((4, Cs.size), np.nan)
    coefs, margins, alphas = np.zeros((3, Cs.size, weight.size))
    arrays = coefs, numbers[0], margins, *numbers[1:]
    for whole, part in zip(arrays, solutions, strict=False):
        if solved.size:
            whole[solved] = part
    # The last dual variables of a run may be those of a worse iterate than the one of its model.
    most = Cs[:, None] * weight
    np.divide(np.abs(coefs), most, out=alphas, where=most > 0.0)
    reached = bool((numbers[3] <= tol).all())
    status = reason or ("tolerance" if reached else "completed")
    found: list[Any] = [Cs, np.minimum(1.0, alphas), *arrays, evaluations, status]
    return RegularizationPath(*found)


class Solutions(NamedTuple):
    """The solutions of solved cells, in their order.

    Attributes
    ----------
    coefs : ndarray of shape (n_solved, n_samples)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    intercepts : ndarray of shape (n_solved,)
    margins : ndarray of shape (n_solved, n_samples)
        ``f(x_i)``, of examples that are held out as well.
    objectives, dual_bounds, relative_gaps : ndarray of shape (n_solved,)
        The gaps have their rounding in them.
    work : ndarray of shape (n_solved,)
        Working sets, or steps.
    """

    coefs: np.ndarray
    intercepts: np.ndarray
    margins: np.ndarray
    objectives: np.ndarray
    dual_bounds: np.ndarray
    relative_gaps: np.ndarray
    work: np.ndarray


_INDEFINITE = (
    "kernel must be positive semi-definite for certified solutions along C, got one that is not"
)


class PathRun:
    """A run over folds and values of ``lam`` that can be advanced and stopped.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    weights : ndarray of shape (n_folds, n_samples)
        Weights of each fold, zero for what it holds out; scaled to mean one, zeros included.
    rows : RowSource
        With room for a few rows.
    Cs : ndarray of shape (n_values,), float64
        In the order in which they are solved, increasing for the least work; ``lam`` of a fold is
        ``1 / (C · Σ weights)``.
    tol : float
        Certified relative gap of each cell.
    max_epochs : int
        Limit on the working sets of one cell, in passes over the examples.
    alone : bool, default=False
        Whether the run has one thread for all it does; rows that it shares with others must then
        all be held.

    Attributes
    ----------
    seconds : float
        Time with the rows so far.
    evaluations : int
        Kernel values computed for it so far.
    whole : bool
        False once an error has come in the middle of a set.
    sets_before_pause, additions_before_pause : int
        Most sets between two looks at the clock, and about the most examples times sets.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """

    sets_before_pause, additions_before_pause = 64, 1 << 18

    def __init__(
        self,
        y: np.ndarray,
        weights: np.ndarray,
        rows: RowSource,
        Cs: np.ndarray,
        *,
        tol: float,
        max_epochs: int,
        alone: bool = False,
    ) -> None:
        if not rows.positive_definite:
            raise ValueError(_INDEFINITE)
        n_samples, totals = y.size, weights.sum(axis=1)[:, None]
        lams = 1.0 / (Cs * totals)
        check_rows(rows, n_samples, float(lams.min()))
        self.rows, self.tol = rows, tol
        self.weights = weights * (n_samples / totals)
        self.seconds, self.evaluations, self.whole = 0.0, claim_construction(rows), True
        self._loop = new_state(n_samples, n_samples, PegasosOptions(average=None), 1.0, 0).loop
        self._sets, _ = sets_for(rows, self._loop.alpha, alone=alone)
        most_sets = min(-(-max_epochs * n_samples // self._sets.members.size), MOST_DRAWS)
        known = np.full(n_samples, rows.rounding, dtype=np.float64), rows.largest
        self.path = new_path(y, self.weights, lams, SAFE * tol, most_sets, *known)
        self._alone = alone
        with OnAccount(rows, self):
            self._view = self._rows_of(self._sets.wanted[:0])

    def _rows_of(self, members: np.ndarray) -> KernelView:
        """Return a view that holds the rows of some examples."""
        view = self.rows.ensure_rows(members, int(self._loop.counters[STEPS]) + 1)
        # Ticks record when a row was used: each thread has its own.
        return view._replace(ticks=view.ticks.copy()) if self._alone else view

    @property
    def n_solved(self) -> int:
        """How many cells are solved, from the first on."""
        return int(self.path.counts[CELL])

    @property
    def finished(self) -> bool:
        """Whether all cells are solved."""
        return self.n_solved == self.path.lams.size

    def advance(self, stopper: Stopper, n_cells: int | None = None) -> str | None:
        """Go on until all cells are solved; returns the stopper's reason if that came first.

        Another call goes on from there.

        Parameters
        ----------
        stopper : Stopper
        n_cells : int, default=None
            How many cells are enough, from the first on; more may be solved by then.
        """
        path, loop, sets = self.path, self._loop, self._sets
        reason = stopper.reason()
        while reason is None:
            sets_in_time = 1 + self.additions_before_pause // path.label.size
            path.counts[BEFORE_PAUSE] = min(self.sets_before_pause, sets_in_time)
            status = NEED_ROWS
            with OnAccount(self.rows, self):
                try:
                    with heeding(stopper.lasts):
                        if sets.counts[CHOSEN]:  # another run may have used the rows since
                            self._view = self._rows_of(sets.wanted[: sets.counts[WANTED]])
                        status = follow(path, loop, self._view, sets)
                    if status == ADD_MOVES:
                        add_moves(loop, self._view, sets)
                except CutShort:  # while rows were computed, before anything has moved
                    self.rows.forget()
            if status == DONE or (n_cells is not None and self.n_solved >= n_cells):
                break
            reason = stopper.reason()
            if reason is None:
                heed()
        return reason

    def solutions(self, stopper: Stopper | None = None, first: int = 0) -> Solutions:
        """Certify and return the solutions of the solved cells.

        Parameters
        ----------
        stopper : Stopper, default=None
            Its deadline and Ctrl-C bound what is computed again for the certificates.
        first : int, default=0
            The first of the cells that are asked for.
        """
        path, cells = self.path, slice(first, self.n_solved)
        arrays = path.coefs, path.margins, path.numbers
        coefs, margins, numbers = (array[cells].copy() for array in arrays)
        objectives, upper_bounds, bounds, n_sets = numbers.T[OBJECTIVE:]
        gaps = np.abs(upper_bounds - bounds) / objectives
        is_impossible = (bounds > objectives) | (numbers[:, 0] + numbers[:, 2] < 0.0)
        for k in np.flatnonzero(~(gaps <= self.tol) | is_impossible).tolist():
            evaluated = Evaluated(coefs[k], margins[k], *numbers[k, :OBJECTIVE].tolist())
            certified = self._certified(first + k, evaluated, stopper)
            margins[k], (objectives[k], bounds[k], gaps[k]) = certified
        coefs *= path.signed[path.folds[cells]]
        intercepts = self._view.kernel_offset * coefs.sum(axis=1)
        return Solutions(coefs, intercepts, margins, objectives, bounds, gaps, n_sets)

    def _certified(
        self, cell: int, evaluated: Evaluated, stopper: Stopper | None
    ) -> tuple[np.ndarray, tuple[float, float, float]]:
        """Return margins of a cell, and its objective, dual bound and relative gap.

        For cells whose sums do not reach ``tol``: where rounding alone prevents it, margins are
        computed again.
        """
        path, tol = self.path, self.tol
        problem = Problem(path.label, self.weights[path.folds[cell]], path.lams.item(cell))
        state = State(self._loop, 0, (), PegasosOptions(average=None), problem.lam)
        state.evaluations = before = self.evaluations
        certifier = Certifier(problem, self.rows, state, _INDEFINITE, stopper or Stopper(), tol)
        found = certifier.evaluate(evaluated)
        certifier.reaches(found, tol)
        found = certifier.final(found, is_over=True)
        self.evaluations += state.evaluations - before
        gaps = certifier.gaps(found)
        numbers = found.objective, gaps.dual_bound, relative(gaps.proven, found.objective)
        return found.margins, numbers
