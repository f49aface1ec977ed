"""Dual ascent over the cells of a path on kernel rows that are held, each with its certificate.

One source of rows serves all values of the regularisation, and all folds: these differ by the
weights of the examples alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from kpegasos.core.additions import add_range, add_rows_together
from kpegasos.core.evaluation import Sums, roundings
from kpegasos.core.path import HARD, follow, new_path, path_sums, remove_held_out
from kpegasos.core.path_counts import BEFORE_PAUSE, CELL
from kpegasos.core.problem import (
    Problem,
    dual_bounds_of,
    is_impossible,
    primal_bound,
    primal_of,
)
from kpegasos.core.set_counts import CHOSEN, WANTED
from kpegasos.core.shrinking import active_examples
from kpegasos.core.small_runs import SAFE
from kpegasos.core.state import STEPS, Examples, PegasosOptions, State, new_state
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import ADD_MOVES, DONE, NEED_ROWS, add_moves
from kpegasos.rows.base import RowSource
from kpegasos.rows.evaluated import Evaluated
from kpegasos.solvers.account import OnAccount
from kpegasos.solvers.active import solve_among
from kpegasos.solvers.certificate import Certifier
from kpegasos.solvers.polish import sets_for
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heed, heeding
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

#: Sets between two looks at the clock, where a set takes next to no time.
_SETS_BEFORE_PAUSE = 64
#: Kernel values of a problem of active examples, as a share of those that rows may hold.
_ACTIVE_SHARE = 0.2


class Solutions(NamedTuple):
    """What cells have come to, those that are solved, in their order.

    Attributes
    ----------
    alphas : ndarray of shape (n_solved, n_samples)
        Dual variables β in [0, 1].
    coefs : ndarray of shape (n_solved, n_samples)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    intercepts : ndarray of shape (n_solved,)
    margins : ndarray of shape (n_solved, n_samples)
        ``f(x_i)``, of examples that are held out as well.
    objectives, dual_bounds, relative_gaps : ndarray of shape (n_solved,)
        The gaps have their rounding in them.
    n_sets : ndarray of shape (n_solved,), int64
        Working sets.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    margins: np.ndarray
    objectives: np.ndarray
    dual_bounds: np.ndarray
    relative_gaps: np.ndarray
    n_sets: np.ndarray

    def part(self, first: int, last: int) -> Solutions:
        """Some of the cells."""
        return Solutions(*(array[first:last] for array in self))


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
        Passes over the examples that the working sets of one cell come to at the most.
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

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """

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
            self._refuse_indefinite()
        n_samples, totals = rows.n_samples, weights.sum(axis=1)[:, None]
        lams = 1.0 / (Cs * totals)
        rows.check_lam(float(lams.min()))
        self.rows, self.tol = rows, tol
        self.weights = weights * (n_samples / totals)
        self.seconds, self.evaluations, self.whole = 0.0, rows.claim_construction(), True
        self._loop = new_state(n_samples, n_samples, PegasosOptions(average=None), 1.0, 0).loop
        self._sets = sets_for(rows, self._loop.alpha, alone=alone)
        most_sets = -(-max_epochs * n_samples // self._sets.members.size)
        # As many as are worth a problem of their own, which takes a fifth of the rows' memory.
        room = int((_ACTIVE_SHARE * rows.row_capacity * n_samples) ** 0.5)
        self._n_active = min(tuning.ACTIVE_EXAMPLES, rows.row_capacity, room)
        worth = self._n_active >= 2 * tuning.SMALL_WORKING_SET
        patience = tuning.PATIENT_SETS if worth else most_sets + 1
        self.path = new_path(y, self.weights, lams, SAFE * tol, most_sets, patience)
        self._alone = alone
        with OnAccount(rows, self):
            self._view = self._rows_of(self._sets.wanted[:0])

    def _refuse_indefinite(self) -> None:
        raise ValueError(
            "kernel must be positive semi-definite for certified solutions along C, got one that "
            "is not"
        )

    def _rows_of(self, members: np.ndarray) -> KernelView:
        """A view that holds the rows of some examples."""
        view = self.rows.ensure_rows(members, int(self._loop.counters[STEPS]) + 1)
        # When a row was used is written down: each thread has notes of its own.
        return view._replace(ticks=view.ticks.copy()) if self._alone else view

    @property
    def n_solved(self) -> int:
        """How many cells are solved, from the first on."""
        return int(self.path.counts[CELL])

    @property
    def finished(self) -> bool:
        """Whether all cells are solved."""
        return self.n_solved == self.path.lams.size

    def start_from(self, whole: PathRun) -> None:
        """Begin each fold at the first solution of another run, less the examples it holds out.

        Parameters
        ----------
        whole : PathRun
            Over the same rows, with one fold whose weights are positive where any of these are.
        """
        path, alpha = self.path, whole.path.alphas[0]
        cells = np.searchsorted(path.folds, np.arange(len(path.signed)))
        path.images[cells] = whole.path.images[0]
        removed = np.flatnonzero((alpha > 0.0) & (self.weights == 0.0).any(axis=0))
        moves = alpha * whole.path.signed[0]
        n_samples, height = alpha.size, self.rows.row_capacity
        threads = 1 if self._alone else threads_for(tuning.MEMORY_WORK * height * n_samples)
        for top in range(0, removed.size, height):
            members = removed[top : top + height]
            with OnAccount(self.rows, self):
                view = self._view if self._alone else self._rows_of(members)
                arguments = (path, cells, view, members, moves[members])
                parallel_for(partial(remove_held_out, *arguments), even_ranges(n_samples, threads))
        # The same vector by other weights: where these differ by a factor, so do all β.
        ratios = np.zeros(self.weights.shape)
        np.divide(whole.weights, self.weights, out=ratios, where=self.weights > 0.0)
        path.alphas[cells] = alpha * ratios
        if not self._sets.seen.all():
            self._sets.seen[:] = whole._sets.seen
        path.additions[cells] = whole.path.additions[0] + removed.size

    def advance(self, stopper: Stopper) -> str | None:
        """Go on until all cells are solved; returns the stopper's reason if that came first.

        What has been begun can be gone on with.
        """
        path, loop, sets = self.path, self._loop, self._sets
        reason = stopper.reason()
        while reason is None:
            path.counts[BEFORE_PAUSE] = _SETS_BEFORE_PAUSE
            status = NEED_ROWS
            with OnAccount(self.rows, self):
                try:
                    with heeding(stopper.lasts):
                        if sets.counts[CHOSEN]:  # and between two blocks rows may be another run's
                            self._view = self._rows_of(sets.wanted[: sets.counts[WANTED]])
                        status = follow(path, loop, self._view, sets)
                        if status == HARD:
                            self._solve_active(stopper)
                    if status == ADD_MOVES:
                        add_moves(loop, self._view, sets)
                except CutShort:  # for rows, before anything has moved
                    self.rows.forget()
            if status == DONE:
                break
            reason = stopper.reason()
            if reason is None:
                heed()
        return reason

    def _solve_active(self, stopper: Stopper) -> None:
        """Solve the cell in work over its active examples, the others held fixed."""
        path, loop = self.path, self._loop
        cell = int(path.counts[CELL])
        examples = Examples(path.label, path.signed[path.folds[cell]])
        to_margin = 1.0 / (path.lams.item(cell) * path.label.size)
        members = active_examples(loop, examples, to_margin, self._n_active)
        self._view = view = self._rows_of(members)
        before = loop.alpha[members]
        solve_among(view, members, loop, examples, path.lams.item(cell), path.enough, stopper)
        moves = (loop.alpha[members] - before) * examples.signed[members]
        moved = np.flatnonzero(moves)
        arguments = (view.values, view.values[:0], view.slots[members[moved]], moves[moved])
        image, nothing = loop.image, moves[:0]
        if self._alone:
            add_range(*arguments, moves[moved], view.kernel_offset, 0, image.size, image, nothing)
        else:
            add_rows_together(*arguments, moves[moved], view.kernel_offset, image, nothing)

    def solutions(self, stopper: Stopper | None = None) -> Solutions:
        """What the cells that are solved have come to.

        Parameters
        ----------
        stopper : Stopper, default=None
            Whose deadline and Ctrl-C bound what is computed again for the certificates.
        """
        path, rows, n_solved = self.path, self.rows, self.n_solved
        n_samples = rows.n_samples
        coefs, margins = np.empty((2, n_solved, n_samples))
        sums = np.empty((n_solved, len(Sums._fields)))
        path_sums(path, 0, rows.rounding_of_each, coefs, margins, sums)
        of_cells = Sums(*sums.T)
        additions = self._additions(of_cells)
        errors = roundings(of_cells, additions, n_samples, rows.largest)
        found = self._bounds(of_cells, *errors)
        for cell in np.flatnonzero(~(found[2] <= self.tol)).tolist():
            each, (loss, norm) = Sums(*sums[cell].tolist()), (error.item(cell) for error in errors)
            coef, margin, squared_norm = coefs[cell], margins[cell], each.squared_norm
            evaluated = Evaluated(
                coef, margin, squared_norm, None, loss, norm, additions.item(cell), each
            )
            margins[cell], found[:, cell] = self._certified(cell, evaluated, stopper)
        coefs *= path.signed[path.folds[:n_solved]]
        intercepts = self._view.kernel_offset * coefs.sum(axis=1)
        objectives, bounds, gaps = found
        alphas, n_sets = path.alphas[:n_solved], path.n_sets[:n_solved]
        return Solutions(alphas, coefs, intercepts, margins, objectives, bounds, gaps, n_sets)

    def _additions(self, sums: Sums) -> np.ndarray:
        """What `Iterate.additions` says of each cell."""
        path, n_samples = self.path, self.rows.n_samples
        unit = 1.0 / (path.lams[: self.n_solved] * n_samples)
        number = path.additions[: self.n_solved] + 4.0
        return np.asarray(number * unit * (sums.counts + n_samples))

    def _bounds(self, sums: Sums, of_loss: np.ndarray, of_norm: np.ndarray) -> np.ndarray:
        """Objective, dual bound and relative gap of each cell, infinite where values are doubtful.

        Parameters
        ----------
        sums : Sums
            Of all cells, each an array.
        of_loss, of_norm : ndarray of shape (n_cells,)
            Their roundings.
        """
        lams, found = self.path.lams, np.empty((3, of_loss.size))
        problem = Problem(self.path.label, self.path.label, 1.0)
        columns = (np.asarray(each).tolist() for each in (*sums[:4], of_loss, of_norm))
        for cell, (loss, norm, size, largest, loss_error, error) in enumerate(
            zip(*columns, strict=True)
        ):
            problem = problem._replace(lam=lams.item(cell))
            objective = primal_of(loss, norm, problem)
            upper = primal_bound(objective, loss_error, error, problem)
            _, bound = dual_bounds_of(largest, size, norm, error, problem)
            half_lam = 0.5 * problem.lam
            doubtful = is_impossible(upper, bound, half_lam * norm, half_lam * error)
            gap = abs(upper - bound) / objective
            found[:, cell] = objective, bound, np.inf if doubtful else gap
        return found

    def _certified(
        self, cell: int, evaluated: Evaluated, stopper: Stopper | None
    ) -> tuple[np.ndarray, tuple[float, float, float]]:
        """Margins of a cell, and its objective, dual bound and relative gap.

        For cells whose `_bounds` do not reach ``tol``: where rounding alone stands between, margins
        are computed again.
        """
        path = self.path
        problem = Problem(path.label, self.weights[path.folds[cell]], path.lams.item(cell))
        state = State(self._loop, 0, (), PegasosOptions(average=None), problem.lam)
        state.evaluations = before = self.evaluations
        certifier = Certifier(problem, self.rows, state, self._refuse_indefinite)
        found = certifier.evaluate(evaluated)
        certifier.reaches(found, self.tol, stopper or Stopper())
        found = certifier.final(found, is_over=True)
        self.evaluations += state.evaluations - before
        certificate = certifier.as_proven(found)
        return found.margins, (found.objective, certificate.dual_bound, certificate.relative_gap)
