"""Dual ascent along values of ``lam`` on kernel rows that are held, each with its certificate.

One problem and one source of rows serve all values. Examples of weight zero are held out: they
never get a coefficient, and their margins come with everybody else's. So a fold of a
cross-validation is a run over other weights, and starts from the run over all examples.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.evaluation import Sums, path_sums
from kpegasos.core.path import PAUSED, follow, new_path, remove_members
from kpegasos.core.path_counts import BEFORE_PAUSE, VALUE
from kpegasos.core.problem import (
    Problem,
    dual_bounds_of,
    is_impossible,
    primal_bound,
    primal_of,
)
from kpegasos.core.set_counts import WANTED
from kpegasos.core.state import INHERITED, STEPS, Iterate, PegasosOptions, State, new_state
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import ADD_MOVES, DONE, NEED_ROWS, add_moves
from kpegasos.rows.base import KernelSource
from kpegasos.rows.evaluated import Evaluated, roundings
from kpegasos.solvers.certificate import Certifier
from kpegasos.solvers.dual_ascent import INDEFINITE
from kpegasos.solvers.polish import SAFE, sets_for
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

#: Sets between two looks at the clock, where a set takes next to no time.
_SETS_BEFORE_PAUSE = 64


class Solutions(NamedTuple):
    """What values of the regularisation have come to, those that are solved.

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


class PathRun:
    """A run along values of ``lam`` that can be advanced and stopped.

    Parameters
    ----------
    problem : Problem
        Its weights may be zero; its own ``lam`` is not used.
    rows : KernelSource
        With room for a few rows.
    lams : ndarray of shape (n_values,), float64
        In the order in which they are solved; decreasing ones are cheapest.
    tol : float
        Certified relative gap of each value.
    most_sets : int
        Working sets of one value at the most.
    alone : bool, default=False
        Whether the run has one thread for all it does; rows that it shares with others must then
        all be held.

    Attributes
    ----------
    seconds : float
        Time in `advance` so far.
    evaluations : int
        Kernel values computed for it so far.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """

    def __init__(
        self,
        problem: Problem,
        rows: KernelSource,
        lams: np.ndarray,
        *,
        tol: float,
        most_sets: int,
        alone: bool = False,
    ) -> None:
        if not rows.positive_definite:
            self._refuse_indefinite()
        rows.check_lam(float(lams.min()))
        n_samples = rows.n_samples
        self.problem, self.rows, self.tol = problem, rows, tol
        self.examples = problem.examples
        self.path = new_path(lams, SAFE * tol, n_samples, most_sets)
        self.seconds, self.evaluations = 0.0, rows.claim_construction()
        self._loop = new_state(n_samples, n_samples, PegasosOptions(average=None), 1.0, 0).loop
        self._sets = sets_for(rows, self._loop.alpha, alone=alone)
        self._alone = alone
        self._view = self._rows_of(self._sets.wanted[:0])

    def _refuse_indefinite(self) -> None:
        raise ValueError(INDEFINITE)

    def _rows_of(self, members: np.ndarray) -> KernelView:
        """A view that holds the rows of some examples."""
        before = self.rows.evaluations
        view = self.rows.ensure_rows(members, int(self._loop.counters[STEPS]) + 1)
        self.evaluations += self.rows.evaluations - before
        # When a row was used is written down: each thread has notes of its own.
        return view._replace(ticks=view.ticks.copy()) if self._alone else view

    @property
    def n_solved(self) -> int:
        """How many values are solved, from the first on."""
        return int(self.path.counts[VALUE])

    @property
    def finished(self) -> bool:
        """Whether all values are solved."""
        return self.n_solved == self.path.lams.size

    def start_from(self, whole: PathRun) -> None:
        """Take the solutions of a run as other starts, less the examples that are held out here.

        Parameters
        ----------
        whole : PathRun
            Over the same rows and the first of the values, finished. Its weights are positive where
            these are.
        """
        path, weight, other = self.path, self.problem.weight, whole.problem.weight
        n_values = whole.path.lams.size
        path.alphas[:n_values], path.images[:n_values] = whole.path.alphas, whole.path.images
        held_out = np.flatnonzero((weight == 0.0) & path.alphas.any(axis=0))
        n_samples, height = weight.size, self.rows.row_capacity
        threads = 1 if self._alone else threads_for(tuning.MEMORY_WORK * height * n_samples)
        signed = whole.examples.signed
        for top in range(0, held_out.size, height):
            members = held_out[top : top + height]
            view = self._view if self._alone else self._rows_of(members)

            def piece(
                first: int, last: int, view: KernelView = view, members: np.ndarray = members
            ) -> None:
                remove_members(path, view, members, signed, first, last)

            parallel_for(piece, even_ranges(n_samples, threads))
        # The same vector by other weights: where these differ by a factor, so do all β.
        path.alphas[:] *= np.divide(other, weight, out=np.zeros(n_samples), where=weight > 0.0)
        if not self._sets.seen.all():
            self._sets.seen[:] = whole._sets.seen
        inherited = whole._loop.counters[[STEPS, INHERITED]].sum() + held_out.size
        self._loop.counters[INHERITED] += inherited

    def advance(self, stopper: Stopper) -> str | None:
        """Go on until all values are solved; returns the stopper's reason if that came first.

        What has been begun can be gone on with.
        """
        path, loop, sets = self.path, self._loop, self._sets
        begin, reason = time.perf_counter(), stopper.reason()
        while reason is None:
            path.counts[BEFORE_PAUSE] = _SETS_BEFORE_PAUSE
            status = follow(path, loop, self._view, sets, self.examples)
            if status == DONE:
                break
            if status == NEED_ROWS:
                self._view = self._rows_of(sets.wanted[: sets.counts[WANTED]])
            elif status == ADD_MOVES:
                add_moves(loop, self._view, sets)
            else:
                assert status == PAUSED
            reason = stopper.reason()
        self.seconds += time.perf_counter() - begin
        return reason

    def solutions(self, stopper: Stopper | None = None) -> Solutions:
        """What the values that are solved have come to.

        Parameters
        ----------
        stopper : Stopper, default=None
            Whose deadline and Ctrl-C bound what is computed again for the certificates.
        """
        path, examples, n_solved = self.path, self.examples, self.n_solved
        n_samples = self.rows.n_samples
        to_margins = 1.0 / (path.lams[:n_solved] * n_samples)
        alphas = path.alphas[:n_solved]
        coefs, margins = np.empty((2, n_solved, n_samples))
        sums = np.empty((n_solved, len(Sums._fields)))
        rounding = self.rows.rounding_of_each
        images = path.images[:n_solved]
        path_sums(to_margins, alphas, images, examples, rounding, coefs, margins, sums)
        found = np.empty((3, n_solved))
        for value, of in enumerate(map(Sums._make, sums.tolist())):
            unit = Iterate(LinearCombination(float(to_margins[value]), 0.0))
            additions = unit.additions(self._loop, examples.label, of.counts)
            errors = roundings(of, additions, n_samples, self.rows.largest)
            evaluated = Evaluated(
                coefs[value], margins[value], of.squared_norm, None, *errors, additions, of
            )
            margins[value], found[:, value] = self._certified(value, evaluated, stopper)
        coefs *= examples.signed
        intercepts = self.rows.kernel_offset * coefs.sum(axis=1)
        objectives, bounds, gaps = found
        n_sets = path.n_sets[:n_solved]
        return Solutions(alphas, coefs, intercepts, margins, objectives, bounds, gaps, n_sets)

    def _certified(
        self, value: int, evaluated: Evaluated, stopper: Stopper | None
    ) -> tuple[np.ndarray, tuple[float, float, float]]:
        """Margins of a value, and its objective, dual bound and relative gap.

        Where rounding stands between them and ``tol``, margins are computed again.
        """
        problem, sums = self.problem._replace(lam=float(self.path.lams[value])), evaluated.sums
        assert sums is not None
        norm, error = evaluated.squared_norm, evaluated.norm_rounding
        objective = primal_of(sums.loss, norm, problem)
        upper = primal_bound(objective, evaluated.loss_rounding, error, problem)
        _, bound = dual_bounds_of(sums.largest, sums.size, norm, error, problem)
        half_lam = 0.5 * problem.lam
        impossible = is_impossible(upper, bound, half_lam * norm, half_lam * error)
        gap = abs(upper - bound)
        if gap <= self.tol * objective and not impossible:
            return evaluated.margins, (objective, bound, gap / objective)
        state = State(self._loop, 0, (), PegasosOptions(average=None), problem.lam)
        state.evaluations = before = self.evaluations
        certifier = Certifier(problem, self.rows, state, self._refuse_indefinite)
        found = certifier.evaluate(evaluated)
        certifier.reaches(found, self.tol, stopper or Stopper())
        found = certifier.final(found, is_over=False)
        self.evaluations += state.evaluations - before
        certificate = certifier.as_proven(found)
        return found.margins, (found.objective, certificate.dual_bound, certificate.relative_gap)
