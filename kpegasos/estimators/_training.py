"""The two ways to train the binary runs of a fit: each to its end, or all in step.

Pairs of classes are independent, so the model is the same either way. In step, a whole model exists
at every checkpoint, which is what callbacks and early stopping look at.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kpegasos.core.state import State
from kpegasos.estimators._kernel_rows import WholeMatrix
from kpegasos.estimators._one_vs_one import Pair, Pairs
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import CheckpointObserver
from kpegasos.estimators._small_pairs import small_pairs
from kpegasos.rows.base import RowSource
from kpegasos.solvers.driver import SolverRun
from kpegasos.solvers.pegasos import PegasosRun, make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.result import Result, Results
from kpegasos.solvers.small import SmallResults, train_small
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.patience import CutShort, heed, heeding
from kpegasos.utils.threads import even_ranges, n_threads, parallel_for

#: Called at each checkpoint with the number of a pair, its run, and what share of all is done.
Update = Callable[[int, SolverRun, float], None]

_STOPPED = {"max_time": "stopped by max_time", "completed": "did not reach tol"}


@dataclass
class FitPlan:
    """What a fit trains.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
        The binary problems.
    make_rows : callable
        ``make_rows(pair, n_at_once, brief)`` makes the rows of a pair; so many pairs share the
        memory, and a brief run will make few draws.
    settings : Settings
    seed : int
        Of all draws; the number of a pair tells its draws apart.
    states : list of State or None
        For each pair, where to go on from.
    known : dict
        Attributes of the model that training does not change.
    in_step : bool, default=False
        Whether the pairs are to be trained in step.
    keeps_states : bool, default=True
        Whether results are to be gone on from.
    verbose : bool, default=False
        Whether progress is shown.
    is_slow : bool, default=False
        Whether rows have taken all the time of a pair, so that every draw is one too many.
    """

    X: Any
    pairs: Pairs
    make_rows: Callable[[Pair, int, bool], RowSource]
    settings: Settings
    seed: int
    states: list[State | None]
    known: dict[str, Any]
    in_step: bool = False
    keeps_states: bool = True
    verbose: bool = False
    is_slow: bool = False

    @property
    def checkpoints(self) -> Any:
        """Those of the settings; whoever looks on, or waits for a gap, does so at each epoch."""
        settings, chosen = self.settings, self.settings.checkpoints
        watched = self.in_step or self.verbose or (settings.tol is not None and not settings.polish)
        if (chosen is None and self.in_step) or (_is_auto(chosen) and watched):
            return "epoch"
        return chosen

    def make_run(self, pair: Pair, n_at_once: int, stopper: Stopper) -> PegasosRun:
        """Set up the run of a pair; a brief one if there is reason to stop."""
        settings = self.settings
        run = make_run(
            pair.problem,
            self._rows(pair, n_at_once, stopper),
            settings.options,
            n_steps=settings.n_steps,
            epochs=settings.epochs_of(pair.problem.y.size),
            checkpoints=self.checkpoints,
            tol=settings.tol,
            seed=self.seed,
            spawn_key=(pair.number,),
            state=self.states[pair.number],
        )
        if self.is_slow:
            run.fewest_draws = 1
        return run

    def prepare(self, stopper: Stopper) -> None:
        """Make what the rows of all pairs share, while there is no reason to stop.

        Where that is quick it is done in any case, as the pairs one by one would take longer.
        """
        make_rows = self.make_rows
        if isinstance(make_rows, WholeMatrix):
            try:
                with heeding(stopper.bears_delay if make_rows.is_quick else stopper.lasts):
                    heed()
                    self.make_rows = make_rows.prepare()
            except CutShort:
                self.is_slow = True

    def _rows(self, pair: Pair, n_at_once: int, stopper: Stopper) -> RowSource:
        """Rows of a pair; for a brief run if there is reason to stop before they are made."""
        if stopper.reason() not in ("interrupted", "max_time"):
            try:
                with heeding(stopper.lasts):
                    return self.make_rows(pair, n_at_once, False)
            except CutShort:
                self.is_slow = True
        with heeding(stopper.bears_delay):
            heed()
            return self.make_rows(pair, n_at_once, True)

    def advance(self, number: int, run: PegasosRun, stopper: Stopper, update: Update) -> None:
        """Take the run of a pair to its next checkpoint."""
        run.advance(stopper, self.settings.tol)
        update(number, run, (0.5 if self.settings.polish else 1.0) * run.progress)

    def finish(self, number: int, run: PegasosRun, stopper: Stopper, update: Update) -> Result:
        """Result of the run of a pair at its end, polished if asked for."""
        if not self.settings.polish or run.status == "stopped":
            return run.result()
        assert self.settings.tol is not None
        result = polish(
            run,
            tol=self.settings.tol,
            stopper=stopper,
            on_round=lambda ascent: update(number, ascent, 0.5 + 0.5 * ascent.progress),
        )
        update(number, run, 1.0)
        return result


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def train_each(plan: FitPlan, stopper: Stopper, update: Update) -> Results:
    """Train each pair to its end, several at a time on threads.

    Pairs of few examples go through compiled code together, as far as it can finish them.

    Parameters
    ----------
    plan : FitPlan
    stopper : Stopper
        A deadline is shared evenly: every pair gets a model.
    update : callable
        See `Update`.
    """
    plan.prepare(stopper)
    threads = n_threads(plan.settings.n_jobs, len(plan.pairs))
    found = _train_small(plan, stopper, threads)
    left = range(len(plan.pairs)) if found is None else found.left
    waiting = [len(left)]
    lock = Lock()
    failures: list[BaseException] = []

    def train(number: int) -> Result:
        pair = plan.pairs[number]
        with lock:
            part = stopper.split(max(1.0, waiting[0] / threads))
            waiting[0] -= 1
        try:
            if failures:  # the same sentence, whichever thread is heard first
                raise failures[0]
            run = plan.make_run(pair, threads, part)
            while not run.finished:
                plan.advance(pair.number, run, part, update)
            # A state takes as much memory as the model; only a warm start needs it.
            run.keeps_state = plan.keeps_states
            result = plan.finish(pair.number, run, part, update)
            run.rows.close()
        except BaseException as error:
            failures.append(error)
            stopper.fail()  # or the other threads would go on to their end
            raise
        return result

    results = _on_threads(train, [(number,) for number in left], threads)
    if found is None:
        return Results(results)
    for number, result in zip(left, results, strict=True):
        found.put(number, result)
    return found


def _on_threads(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], threads: int) -> Any:
    """What work returns for each of the tasks, several at a time."""
    if threads == 1 or len(tasks) <= 1:
        return [work(*task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    numbers = iter(range(len(tasks)))

    def do_some(_: int) -> None:
        for number in numbers:
            results[number] = work(*tasks[number])

    # The pairs' threads and those inside BLAS share the same cores.
    with threadpool_limits(limits=1, user_api="blas"):
        parallel_for(do_some, [(thread,) for thread in range(threads)])
    return results


def _train_small(plan: FitPlan, stopper: Stopper, threads: int) -> SmallResults | None:
    """Results of pairs of few examples, if nobody looks on and their kernel values are there."""
    pairs = None if plan.in_step or plan.verbose or plan.keeps_states else small_pairs(plan)
    if pairs is None:
        return None

    def share_out(work: Callable[[int, int], None], n_pairs: int) -> None:
        _on_threads(work, even_ranges(n_pairs, threads), threads)

    return train_small(pairs, stopper, polished=plan.settings.polish, share_out=share_out)


def train_in_step(
    plan: FitPlan,
    stopper: Stopper,
    update: Update,
    observers: Sequence[CheckpointObserver],
    attributes: Callable[[Results], dict[str, Any]],
) -> Results:
    """Train all pairs from checkpoint to checkpoint, where observers see the model.

    Parameters
    ----------
    plan : FitPlan
    stopper : Stopper
    update : callable
        See `Update`.
    observers : sequence of CheckpointObserver
        The first whose ``on_checkpoint`` is true stops the fit; those after it are not asked.
    attributes : callable
        ``attributes(results)`` makes the fitted attributes.
    """
    plan.prepare(stopper)
    runs = [plan.make_run(pair, len(plan.pairs), stopper) for pair in plan.pairs]
    for observer in observers:
        observer.begin_fit(max(len(run.points) for run in runs))
    while not all(run.finished for run in runs):
        for observer in observers:
            observer.begin_checkpoint()
        for number, run in enumerate(runs):
            if not run.finished:
                plan.advance(number, run, stopper, update)
        model = cache(lambda: attributes(Results([run.result() for run in runs])))
        if any(observer.on_checkpoint(model) for observer in observers):
            for run in runs:
                run.stop()
    for observer in observers:
        observer.end_fit()
    return Results([plan.finish(number, run, stopper, update) for number, run in enumerate(runs)])


def report_early_end(
    name: str, results: Results, stopper: Stopper, settings: Settings, *, stacklevel: int
) -> None:
    """Say that a fit has been cut short.

    Parameters
    ----------
    name : str
        Of the estimator.
    results : Results
    stopper : Stopper
    settings : Settings
        What was asked for.
    stacklevel : int
        Of the warning, seen from here.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.

    Warns
    -----
    ConvergenceWarning
        If time was up, or the steps before ``tol`` was reached.
    """
    if stopper.interrupted:
        cut = _with_status(results, "interrupted")
        raise KeyboardInterrupt(
            f"{name} was stopped by Ctrl-C {_where(cut or results, len(results))}; "
            f"the estimator holds the model reached so far."
        )
    tol = settings.tol
    for status, reason in _STOPPED.items():
        cut = _with_status(results, status) if status != "completed" or tol is not None else []
        if status == "completed":
            # The last look, without rounding, may have found more than was known before.
            cut = [result for result in cut if tol is not None and not result.relative_gap <= tol]
        if cut:
            # A polish that ends by itself has met an ill-conditioned problem.
            ill = settings.polish and status == "completed"
            remedy = "; scale the features, as StandardScaler does, or reduce C" if ill else ""
            warnings.warn(
                f"{name} {reason} {_where(cut, len(results))}; "
                f"the model reached so far is returned{remedy}.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )


def _with_status(results: Results, status: str) -> list[Result]:
    return [results[k] for k, of in enumerate(results.column("status")) if of == status]


def _where(results: Sequence[Result], n_pairs: int) -> str:
    """How far the worst of some results has come."""
    worst = max(results, key=lambda result: result.relative_gap)
    of_pairs = f" ({len(results)} of {n_pairs} pairs)" if n_pairs > 1 else ""
    # Of a gap that is mostly rounding, more steps take nothing off.
    rounding = (
        " that is mostly rounding, of which float64 features (and row_dtype='float64') leave less"
    )
    return (
        f"after {worst.n_steps} steps{of_pairs}, "
        f"with a certified relative gap of {worst.relative_gap:.3g}"
        + (rounding if worst.rounding > 0.5 * worst.gap else "")
    )
