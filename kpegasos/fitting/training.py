"""A fit: its binary problems, and how their runs are trained, each to its end, or all in step.

Pairs of classes are independent, so the model is the same either way. In step, a whole model exists
at every checkpoint, which is what callbacks look at.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from threading import Event, Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos.core.draws import stream_key
from kpegasos.core.free_intercept import best_intercept, middle_of
from kpegasos.core.problem import Problem, mean_loss
from kpegasos.core.small_runs import SmallPairs
from kpegasos.core.state import State
from kpegasos.fitting.features import PairFeatures
from kpegasos.fitting.inputs import Settings
from kpegasos.fitting.observers import CallbackObserver
from kpegasos.fitting.pairs import KernelRows, Pair, Pairs
from kpegasos.kernels.base import takes_objects
from kpegasos.kernels.functions import Linear
from kpegasos.rows.base import RowSource, most_scaling
from kpegasos.solvers.dual_ascent import INDEFINITE, DualAscent
from kpegasos.solvers.pegasos import (
    Checkpoints,
    PegasosRun,
    check_earlier,
    make_run,
    total_steps,
)
from kpegasos.solvers.polish import ascent_after, polished, seconds_of_first_moves
from kpegasos.solvers.result import Result, Results
from kpegasos.solvers.small import SmallResults
from kpegasos.solvers.stopping import CUT_SHORT, PAUSED, Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heed, heeding
from kpegasos.utils.threads import n_threads, parallel_for
from kpegasos.utils.validation import warn_caller

#: Entries of X up to which a first kernel matrix takes some milliseconds.
_MOST_ENTRIES = 1 << 19
#: Called at each checkpoint with the number of a pair, its run, and the shares of the pair, from 0
#: to 1, that were done before the run and that are the run's own.
Update = Callable[[int, Any, float, float], None]


_EPS = float(np.finfo(np.float64).eps)
_STOPPED = {
    "max_time": "stopped by max_time",
    "max_kernel_evaluations": "stopped by max_kernel_evaluations",
    "completed": "did not reach tol",
}


@dataclass
class Fit:
    """The problems of a fit, and their results.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
        The binary problems.
    rows : KernelRows or PairFeatures
        Makes the rows of any pair.
    settings : Settings
    seed : int
        Of all draws; each pair has its own stream.
    states : list of State, or None
        For each pair, where to go on from; None to begin anew.
    known : dict
        Attributes of the model that training does not change.
    attributes : callable
        ``attributes(fit, results)`` makes the fitted attributes of the model as it stands.
    in_step : bool
        Whether the pairs are to be trained in step.
    seconds_before : float, default=0.0
        From the beginning of the fit until what all pairs need is ready; the first pair counts
        them.
    is_slow : bool, default=False
        Whether there was no time to make the rows, so that a pair makes as few draws as possible.
    """

    X: Any
    pairs: Pairs
    rows: KernelRows | PairFeatures
    settings: Settings
    seed: int
    states: list[State | None] | None
    known: dict[str, Any]
    attributes: Callable[[Fit, Results], dict[str, Any]]
    in_step: bool
    seconds_before: float = 0.0
    is_slow: bool = False

    @property
    def checkpoints(self) -> Any:
        """Those of the settings; each epoch for callbacks, ``verbose``, or a gap without polish."""
        settings, chosen = self.settings, self.settings.checkpoints
        if chosen is None:
            return "epoch" if self.in_step else None
        waits = settings.tol is not None and not settings.polish
        watched = self.in_step or settings.verbose or waits
        return "epoch" if watched and isinstance(chosen, str) and chosen == "auto" else chosen

    def make_run(self, pair: Pair, n_at_once: int, stopper: Stopper) -> PegasosRun:
        """Set up the run of a pair; a brief one if there is reason to stop."""
        settings, begin = self.settings, stopper.seconds
        rows = self._rows_of(pair, n_at_once, stopper)
        seconds = stopper.seconds - begin
        run = make_run(
            pair.problem,
            rows,
            settings.options,
            n_steps=settings.n_steps,
            epochs=settings.epochs_of(
                pair.problem.y.size, n_values=self.n_values, is_costly=self.rows.is_costly
            ),
            checkpoints=self.checkpoints,
            tol=settings.tol,
            seed=self.seed,
            spawn_key=self.pairs.spawn_keys([pair.number])[0],
            state=None if self.states is None else self.states[pair.number],
        )
        run.state.seconds += seconds + (self.seconds_before if pair.number == 0 else 0.0)
        if self.is_slow or run.rows.is_costly:
            run.fewest_draws = 1
        return run

    @property
    def n_values(self) -> float:
        """Kernel values that all pairs may ask for; pairs share costly ones."""
        rows = self.rows
        if isinstance(rows, KernelRows) and rows.whole is not None:
            return 0.0  # they are there
        if rows.is_costly:
            return float(self.X.shape[0]) ** 2
        return float((self.pairs.sizes.astype(np.float64) ** 2).sum())

    @property
    def keeps_rows(self) -> bool:
        """Whether a pair keeps its rows while it waits: in step, or with a budget of values."""
        return self.in_step or self.settings.max_kernel_evaluations is not None

    def n_threads(self) -> int:
        """Count threads for pairs: with a costly kernel, jobs share the values of a row instead."""
        return 1 if self.rows.is_costly else min(len(self.pairs), n_threads())

    def prepare(self, stopper: Stopper) -> None:
        """Make what the rows of all pairs share, while there is no reason to stop.

        If the kernel is quick, it is done in any case for several pairs, which would take longer
        one by one, and for a small X.
        """
        rows = self.rows
        if isinstance(rows, KernelRows) and rows.at_once:
            in_any_case = rows.is_quick and (len(self.pairs) > 1 or self.X.size <= _MOST_ENTRIES)
            try:
                with heeding(stopper.bears_delay if in_any_case else stopper.lasts):
                    rows.prepare()
            except CutShort:
                self.is_slow = True
        self.seconds_before = stopper.seconds

    def _rows_of(self, pair: Pair, n_at_once: int, stopper: Stopper) -> RowSource:
        """Return rows of a pair; for a brief run if there is reason to stop."""
        if stopper.reason() not in CUT_SHORT:
            try:
                with heeding(stopper.lasts):
                    return self.rows(pair, n_at_once, False)
            except CutShort:
                self.is_slow = True
        with heeding(stopper.bears_delay):
            heed()
            return self.rows(pair, n_at_once, True)


class PairTraining:
    """The training of a pair: its Pegasos run, and the dual ascent after that.

    It may be paused and resumed, with the same result.

    Parameters
    ----------
    fit : Fit
    pair : Pair
    n_at_once : int
        Number of pairs that share the memory.
    stopper : Stopper
        Of the fit.
    update : callable
        See `Update`.
    """

    def __init__(
        self, fit: Fit, pair: Pair, n_at_once: int, stopper: Stopper, update: Update
    ) -> None:
        self.pair, self._fit, self._n_at_once = pair, fit, n_at_once
        self._stopper, self._update = stopper, update
        self.run = fit.make_run(pair, n_at_once, stopper)
        self._ascent: DualAscent | None = None
        self._ends_with_run = not fit.settings.polish
        self._is_closed = False
        self._may_give_way = fit.settings.shortened
        self._tell()

    def _tell(self) -> None:
        """Report how much of the pair is done."""
        half = 0.5 if self._fit.settings.polish else 1.0
        if self._ascent is None:
            self._update(self.pair.number, self.run, 0.0, half)
        else:
            self._update(self.pair.number, self._ascent, half, half)

    def advance(self, share: Stopper) -> bool:
        """Advance the run to its next checkpoint; return false if a pause comes before."""
        settings, run = self._fit.settings, self.run
        n_records = len(run.history)
        run.advance(share, settings.tol)
        self._tell()
        return len(run.history) > n_records

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        if self._ascent is not None:
            return self._ascent.finished
        run = self.run
        return run.finished and (self._ends_with_run or run.status == "stopped")

    def go_on(self, turns: Turns, share: Stopper) -> bool:
        """Go on to the end; return false if a pause comes before.

        Parameters
        ----------
        turns : Turns
        share : Stopper
            Of this turn.
        """
        if self._is_closed:
            self._open()
        try:
            while not self.is_over:
                self._go_on(turns, share)
                if share.reason() == PAUSED and not self.is_over:
                    return False
        except ValueError as error:
            # Costly values make a model even without a certificate.
            if not takes_objects(self._fit.known.get("_kernel")) or INDEFINITE not in str(error):
                raise
            self.run.state.certified = False
            self._ascent, self._ends_with_run = None, True
        return True

    def _go_on(self, turns: Turns, share: Stopper) -> None:
        """Go on to the next checkpoint."""
        settings, run, ascent = self._fit.settings, self.run, self._ascent
        if not run.finished:
            self.advance(share)
        elif ascent is None:
            if self._has_no_time(run, turns):
                self._take_plain_steps()
                return
            assert settings.tol is not None
            self._n_records = len(run.history)
            own = settings.polish if isinstance(settings.polish, type) else None
            self._ascent = ascent_after(run, tol=settings.tol, stopper=self._stopper, kind=own)
            self._ends_with_run = self._ascent is None
        elif self._is_too_slow(ascent):
            for name in ("best_dual", "proven_bound", "seconds", "evaluations"):
                setattr(run.state, name, getattr(ascent.state, name))
            del run.history.records[self._n_records :]
            self._ascent = None
            self._take_plain_steps()
        else:
            ascent.advance(self._stopper, settings.tol)
            self._tell()

    def _has_no_time(self, run: PegasosRun, turns: Turns) -> bool:
        """Check whether time is too short for ascents to move all examples that matter.

        Until then the model of an ascent is worse than that of plain steps in the same time.
        """
        left = self._stopper.seconds_left
        if run.status in CUT_SHORT or not (self._may_give_way and left < math.inf):
            return False
        return turns.seconds_needed(self.pair.number, seconds_of_first_moves(run)) > left

    def _is_too_slow(self, ascent: DualAscent) -> bool:
        """Check whether too little time is left for an ascent that has begun.

        Its gap falls about linearly with time, from 1. After half of the time too little is left
        for plain steps.
        """
        if not (self._may_give_way and ascent.rows.computes_as_asked):
            return False
        seconds = ascent.state.seconds
        part = seconds / (seconds + self._stopper.seconds_left)
        return part <= 0.5 and ascent.history[-1].relative_gap > 1.2 - part

    def _take_plain_steps(self) -> None:
        """Go on with the steps of a plain fit, after which there may be time for an ascent."""
        run, settings, self._may_give_way = self.run, self._fit.settings, False
        first, n, k = run.points.first, run.problem.y.size, settings.options.batch_size
        last = max(run.points.last, first + total_steps(None, settings.epochs, n, k))
        run.extend(Checkpoints(self._fit.checkpoints, first, last, n, k))

    def pause(self) -> None:
        """Pause the pair, and leave the memory of its rows to others."""
        if not self._fit.keeps_rows:
            self.run.rows.close()
            self._is_closed = True

    def _open(self) -> None:
        """Make the rows again, or end where the pair was paused if there is no time for that."""
        rows, begin = None, self._stopper.seconds
        if self._stopper.reason() is None:
            with suppress(CutShort), heeding(self._stopper.lasts):
                rows = self._fit.rows(self.pair, self._n_at_once, False)
        if rows is None:
            (self._ascent or self.run).end(self._stopper.reason() or "max_time")
            return
        self._is_closed = False
        for each in (self._ascent, self.run):
            if each is not None:
                each.use_rows(rows)
        (self._ascent or self.run).state.seconds += self._stopper.seconds - begin

    def result(self) -> Result:
        """Make the result, at the end."""
        # A state takes as much memory as a model; only a warm start needs it.
        self.run.keeps_state = self._fit.settings.warm_start
        run, ascent = self.run, self._ascent
        share = 0.5 + 0.5 * ascent.progress if ascent is not None else run.progress
        result = run.result() if ascent is None else polished(run, ascent)
        self._update(self.pair.number, run, share if result.status in CUT_SHORT else 1.0, 0.0)
        run.rows.close()
        return result


class Turns:
    """The order of the pairs, and the part of the remaining time that each may take in its turn.

    Parts are proportional to squared sizes, and small pairs come first. What some pairs leave of a
    round is shared out among the others in the next.

    Parameters
    ----------
    numbers : sequence of int
        Of the pairs to train.
    sizes : ndarray of shape (n_pairs,)
    settings : Settings
    threads : int
    """

    def __init__(
        self, numbers: Sequence[int], sizes: np.ndarray, settings: Settings, threads: int
    ) -> None:
        self.threads, self._lock = threads, Lock()
        self._squares = sizes.astype(np.float64) ** 2
        # With a budget of kernel values, each pair takes its first step first.
        self._is_first = settings.max_kernel_evaluations is not None
        self._is_limited = len(numbers) > 1 and (self._is_first or settings.max_time is not None)
        order = sorted(numbers, key=sizes.__getitem__) if self._is_limited else numbers
        self._waiting, self._later = deque(order), deque[int]()
        self._needed: dict[int, float] = {}

    def take(self) -> tuple[int, float] | None:
        """Return a pair and its part, if one waits."""
        with self._lock:
            if not self._waiting:
                self._waiting, self._later, self._is_first = self._later, deque(), False
            if not self._waiting:
                return None
            number, part = self._waiting.popleft(), 1.0
            if self._is_limited:
                squares = self._squares[[number, *self._waiting]]
                # Small pairs take longer than their share of the squares.
                squares += 0.1 * squares.mean()
                part = 0.0 if self._is_first else self.threads * squares[0] / squares.sum()
            return number, float(part)

    def others_wait(self) -> bool:
        """Check whether a pair waits."""
        return bool(self._waiting or self._later)

    def leave(self, number: int) -> None:
        """Have a pair wait for another round."""
        with self._lock:
            self._later.append(number)

    def seconds_needed(self, number: int, seconds: float) -> float:
        """Forecast the seconds that a pair and all that wait take on all threads.

        Pairs without a forecast of their own have the mean pace of the others, by squared size.
        """
        if not seconds:
            return 0.0
        with self._lock:
            needed, squares = self._needed, self._squares
            needed[number] = seconds
            pace = sum(needed.values()) / squares[[*needed]].sum()
            waiting = (*self._waiting, *self._later)
            others = sum(needed.get(each, pace * squares[each]) for each in waiting)
        return float(seconds + others) / self.threads


def train(
    fit: Fit, stopper: Stopper, update: Update, observers: Sequence[CallbackObserver] = ()
) -> Results:
    """Train each pair to its end, several at a time on threads, or in step for observers.

    Pairs of few examples go through compiled code together, as far as it can finish them.

    Parameters
    ----------
    fit : Fit
    stopper : Stopper
        Every pair gets a part of the time and of the kernel values, and a model; what some leave
        goes to the others.
    update : callable
        See `Update`.
    observers : sequence of CallbackObserver, default=()
        The first whose ``on_checkpoint`` is true stops the steps; those after it are not asked.
    """
    fit.prepare(stopper)
    settings, threads = fit.settings, fit.n_threads()
    n_at_once = len(fit.pairs) if fit.keeps_rows else threads

    def begin(number: int) -> PairTraining:
        return PairTraining(fit, fit.pairs[number], n_at_once, stopper, update)

    numbers: Sequence[int] = range(len(fit.pairs))
    begun: dict[int, PairTraining] = {}
    small, found = small_pairs(fit), None
    if small is not None:
        for number, state in enumerate(fit.states or ()):
            if state is not None:
                problem = fit.pairs[number].problem
                check_earlier(state, problem, settings.options, "margins", problem.y.size)
        found = SmallResults(small, settings.options, fit.seconds_before, fit.states)
    if fit.in_step:
        begun = _train_in_step(
            fit, found, lambda: {number: begin(number) for number in numbers}, stopper, observers
        )
        found = None if begun else found
    elif found is not None:
        found.advance(stopper, threads, len(found.points), polished=bool(settings.polish))
    if found is not None:
        if settings.warm_start:
            found.hold_states(fit.seed, fit.pairs.spawn_keys(numbers))
        numbers = found.left
        for number in set(range(len(found))).difference(numbers) if settings.verbose else ():
            update(number, found[number], 1.0, 0.0)
        if not numbers:
            return found
    turns = Turns(numbers, fit.pairs.sizes, settings, threads)
    results = _train_in_turns(turns, begun, begin, stopper)
    if found is None:
        return Results([results[number] for number in numbers])
    for number, result in results.items():
        found.put(number, result)
    return found


def _train_in_turns(
    turns: Turns,
    left: dict[int, PairTraining],
    begin: Callable[[int], PairTraining],
    stopper: Stopper,
) -> dict[int, Result]:
    """Train pairs to their ends, on threads; return results by their numbers.

    Pairs that have already begun are in ``left``.
    """
    results: dict[int, Result] = {}
    failures: list[BaseException] = []

    def train() -> None:
        while (turn := turns.take()) is not None:
            number, part = turn
            try:
                if failures:  # so that all threads raise the same error
                    raise failures[0]
                training = left.pop(number, None) or begin(number)
                is_over = training.go_on(turns, stopper.share(part))
                if not is_over and turns.others_wait():
                    training.pause()
                    left[number] = training
                    turns.leave(number)
                    continue
                if not is_over:
                    training.go_on(turns, stopper.share(1.0))
                results[number] = training.result()
            except BaseException as error:
                failures.append(error)
                stopper.fail()  # or the other threads would go on to their end
                raise

    _on_threads(train, turns.threads)
    return results


def _on_threads(work: Callable[[], None], threads: int) -> None:
    """Call a function on several threads if it takes long.

    Short work is mostly the interpreter's, which threads would only wait for.
    """
    over = Event()

    def do_some(thread: int) -> None:
        if thread and over.wait(tuning.SLICE_SECONDS):
            return
        work()
        over.set()

    parallel_for(do_some, [(thread,) for thread in range(threads)])


def _train_in_step(
    fit: Fit,
    found: SmallResults | None,
    begin_all: Callable[[], dict[int, PairTraining]],
    stopper: Stopper,
    observers: Sequence[CallbackObserver],
) -> dict[int, PairTraining]:
    """Take the steps of all pairs from checkpoint to checkpoint, where observers see the model.

    Returns the pairs that the drivers have trained: none, or all if compiled code has left one.
    """
    begun = begin_all() if found is None else {}
    runs: list[Any] = [each.run for each in begun.values()] or [found]
    for observer in observers:
        observer.begin_fit(max(len(run.points) for run in runs))
    n_ahead, threads = 0, fit.n_threads()
    while not all(run.finished for run in runs):
        for observer in observers:
            observer.begin_checkpoint()
        n_ahead += 1  # checkpoints that the drivers have not reached
        if found is not None:
            found.advance(stopper, threads)
            if found.left:  # to the drivers, which have to come to the same checkpoint
                found, begun = None, begin_all()
                runs = [each.run for each in begun.values()]
        if found is None:
            for _ in range(n_ahead):
                _advance_in_step(fit, begun, stopper)
            n_ahead = 0
        model = cache(partial(_model_in_step, fit, found, runs))
        if any(observer.on_checkpoint(model) for observer in observers):
            for run in runs:
                run.stop()
    for observer in observers:
        observer.end_fit()
    return begun


def _model_in_step(fit: Fit, found: SmallResults | None, runs: list[Any]) -> dict[str, Any]:
    """Make the fitted attributes of the model as it stands."""
    return fit.attributes(fit, found or Results([run.result() for run in runs]))


def _advance_in_step(fit: Fit, begun: dict[int, PairTraining], stopper: Stopper) -> None:
    """Go on to the next checkpoint of each pair."""
    going = [number for number, each in begun.items() if not each.run.finished]
    turns = Turns(going, fit.pairs.sizes, fit.settings, 1)
    while (turn := turns.take()) is not None:
        number, part = turn
        if not begun[number].advance(stopper.share(part)):
            turns.leave(number)


#: Most additions to margins of a small run, some milliseconds: it cannot be interrupted.
_MOST_ADDITIONS = 1 << 25
#: Most checkpoints of a small run: records of many runs are held at a time.
_MOST_POINTS = 128
_AVERAGES = {None: -1, "weighted": 0, "uniform": 1}


def small_pairs(fit: Fit) -> SmallPairs | None:
    """Return a fit's pairs for `kpegasos.solvers.small`, or None if they are not all suited.

    With so few examples the interpreter would take longer than the steps.
    """
    settings, rows, pairs = fit.settings, fit.rows, fit.pairs
    options = settings.options
    if not isinstance(rows, KernelRows) or (whole := rows.whole) is None:
        return None
    if not (
        whole.positive_definite
        and whole.gram.flags.carray
        and settings.counts
        and isinstance(settings.polish, bool)
        and not (fit.in_step and settings.polish)
        and all(state is None or state.certified for state in fit.states or ())
        and not settings.free_intercept
        and options.batch_size == 1
        and options.sampling in ("permutation", "uniform")
        and options.average in _AVERAGES
        and options.step is None
    ):
        return None
    is_large = int(pairs.sizes.max()) > tuning.SMALL_PAIR
    if is_large or whole.kernel_offset**0.5 > most_scaling(pairs.lam.min()):
        return None
    states = fit.states or [None] * len(pairs)
    firsts = (0 if state is None else state.steps for state in states)
    begins = list(zip(firsts, pairs.sizes.tolist(), strict=True))
    # With a ``tol`` each epoch, unless they are given.
    chosen, kinds, points = fit.checkpoints, dict.fromkeys(begins), []
    chosen = "epoch" if chosen is None and settings.tol is not None else chosen
    for kind, (first, n) in enumerate(kinds):
        n_steps = total_steps(settings.n_steps, settings.epochs_of(n), n, 1)
        if n * n_steps > _MOST_ADDITIONS:
            return None
        # Without `iter`, `list` would ask for their length, which is another pass.
        points.append(list(iter(Checkpoints(chosen, first, first + n_steps, n, 1))))
        kinds[first, n] = kind
    longest = max(map(len, points))
    if longest > _MOST_POINTS:
        return None
    keys = pairs.spawn_keys(range(len(pairs)))
    return SmallPairs(
        gram=whole.gram,
        offset=whole.kernel_offset,
        rounding=np.full(whole.n_samples, whole.rounding),
        evaluations=np.array([whole.evaluations] + [0] * (len(pairs) - 1)),
        members=rows.members,
        label=pairs.y,
        signed=pairs.y * pairs.weight,
        ends=pairs.ends,
        lam=pairs.lam,
        key=np.array([stream_key(fit.seed, key) for key in keys], dtype=np.uint64),
        kind=np.array([kinds[each] for each in begins]),
        points=np.array([each + each[-1:] * (longest - len(each)) for each in points]),
        uniform=options.sampling == "uniform",
        average=_AVERAGES[options.average],
        tol=math.nan if settings.tol is None else settings.tol,
        loss=settings.loss,
    )


def report_end(name: str, results: Results, stopper: Stopper, fit: Fit) -> None:
    """Warn that a fit has been cut short, or is far from its optimum for a cause that is known.

    Parameters
    ----------
    name : str
        Of the estimator.
    results : Results
    stopper : Stopper
    fit : Fit

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.

    Warns
    -----
    ConvergenceWarning
        If a limit or the steps came before ``tol``, the kernel shows not to be positive
        semi-definite, or features are large.
    UserWarning
        If columns of X, or the targets, leave little to be learnt.
    """
    statuses = results.column("status")
    if stopper.interrupted:
        cut = [results[k] for k, of in enumerate(statuses) if of == "interrupted"]
        raise KeyboardInterrupt(
            f"{name} was stopped by Ctrl-C {_where(cut or results, fit)}; "
            f"the estimator holds the model reached so far."
        )
    settings, tol = fit.settings, fit.settings.tol
    kernel: Any = fit.known.get("_kernel")
    claimed = takes_objects(kernel) and kernel.positive_definite
    if claimed and any(map(math.isnan, results.column("gap"))):
        warn_caller(
            f"{name} has no certificate, as the kernel's values show that it is not positive "
            f"semi-definite.",
            ConvergenceWarning,
        )
        return
    told = ""
    for status, reason in _STOPPED.items():
        if status not in statuses or (status == "completed" and tol is None):
            continue
        cut = [results[k] for k, of in enumerate(statuses) if of == status]
        if status == "completed" and tol is not None:
            # The last evaluation, with less rounding, may have found a smaller gap.
            cut = [result for result in cut if not result.relative_gap <= tol]
        if cut:
            told = f"{reason} {_where(cut, fit)}; the model reached so far is returned"
            warn_caller(f"{name} {told}{_remedy(cut, fit)}.", ConvergenceWarning)
    if text := _of_hidden_columns(fit.X, settings.own.get("kernel")):
        warn_caller(f"{name} {text}")
    if tol is None and "kernel" not in settings.own:  # else the warning above has come
        told = _of_large_features(fit.X, results, settings.options.batch_size)
        if told:
            warn_caller(f"{name} {told}", ConvergenceWarning)
    if not told and (text := _of_far_column(results, fit)):
        warn_caller(f"{name} {text}")
    if fit.pairs.loss.regression and (text := _of_targets(fit.pairs[0].problem, results[0])):
        warn_caller(f"{name} {text}")


#: Relative gaps beyond which polish has not come far in its time, and beyond which a model may be
#: no better than w = 0.
_NOT_FAR, _FAR = 0.1, 0.9
_CENTRE = "scale the features, as StandardScaler does, or set fit_intercept='free'"


def _remedy(cut: Sequence[Result], fit: Fit) -> str:
    """Name a remedy for a fit that ended early, if one is known."""
    gap = max(result.relative_gap for result in cut)
    if gap > _FAR and (cause := _far_column(fit)):
        return f"; {_CENTRE}, since {cause}"
    if not fit.settings.polish:
        return ""
    if cut[0].status == "completed":  # by itself: the problem is ill-conditioned
        return "; scale the features, as StandardScaler does, or reduce C"
    if cut[0].status == "max_time" and gap > _NOT_FAR and "kernel" in fit.settings.own:
        return (
            "; in as little time, fewer rows, polish=False, or LinearPegasosSVC on features of "
            "Nystroem may do better"
        )
    return ""


def _where(results: Sequence[Result], fit: Fit) -> str:
    """Describe how far the worst of some results has come."""
    worst, n_pairs = max(results, key=lambda result: result.relative_gap), len(fit.pairs)
    place = (
        f"in {len(results)} of {n_pairs} pairs" if n_pairs > 1 else f"after {worst.n_steps} steps"
    )
    at_most = "at most " if len(results) > 1 else ""
    rounding = ""
    if worst.rounding > 0.5 * worst.gap:  # which more steps do not reduce
        rounding = f" that is mostly rounding{_less_rounding(worst, fit)}"
    return f"{place}, with a certified relative gap of {at_most}{worst.relative_gap:.3g}{rounding}"


def _less_rounding(result: Result, fit: Fit) -> str:
    """Name what would reduce the rounding of a result, if anything would."""
    offset = fit.pairs.offset
    if _EPS * abs(offset) > 0.1 * result.rounding:
        return f" beside targets of about {offset:.4g} (subtract that from y)"
    if fit.rows.is_double or "kernel" not in fit.settings.own:
        return ""
    way = "a matrix of float64" if fit.known["_kernel"] is None else "row_dtype='float64'"
    return f", of which {way} leaves less"


#: Features are large if their root mean square, over what is not zero, is more than this.
_LARGE = 7.0


def _of_large_features(X: Any, results: Results, batch_size: int) -> str:
    """Describe large features and their cure, if a model is far from its optimum after an epoch.

    Pegasos' suboptimality grows with the largest squared length of a row. The certificate shows
    that a model is far from its optimum, and the size of the features shows why.
    """
    far = [
        result
        for result in results
        if result.relative_gap > _FAR
        and result.status in ("completed", "stopped")
        and result.n_steps * batch_size >= result.margins.size
    ]
    size = _typical_size(X) if far else 0.0
    if size <= _LARGE:
        return ""
    of_pairs = f" for {len(far)} of {len(results)} pairs" if len(results) > 1 else ""
    return (
        f"ended far from the optimum{of_pairs}, with a certified relative gap of "
        f"{max(result.relative_gap for result in far):.3g}, since the features are large "
        f"({size:.3g} in root mean square): "
        f"scale them, as StandardScaler does, or set polish=True."
    )


#: A column hides the others if it has more than this share of the variance.
_HIDES = 0.95


def _of_hidden_columns(X: Any, kernel: Any) -> str:
    """Name a column that makes up nearly all distances of a kernel, with the cure, if any."""
    if not isinstance(kernel, str) or kernel not in ("rbf", "laplacian") or sparse.issparse(X):
        return ""
    variances = X[:: max(1, X.shape[0] // 4096)].var(axis=0, dtype=np.float64)  # of some rows
    others = np.count_nonzero(variances) > 1
    if not (others and variances.max() > _HIDES * variances.sum()):
        return ""
    column = int(variances.argmax())
    return (
        f"sees little but column {column} of X, which has "
        f"{variances[column] / variances.sum():.1%} of the variance, as the kernel is one of "
        f"distances: scale the features, as StandardScaler does."
    )


#: A column is far from zero if its mean is beyond these multiples of its deviation and of the size
#: of the constant feature, and the intercept that it needs costs this share of what w = 0 costs.
_DEVIATIONS, _SIZES, _COSTS = 3.0, 10.0, 0.1


def _far_column(fit: Fit) -> str:
    """Name a column of X that needs too large an intercept of a linear model, if any.

    A column of mean μ and deviation σ that decides, with a weight of ``1/σ``, needs an intercept of
    ``μ/σ``; beside a constant feature of size B that costs ``lam/2 (μ / (σ B))²``.
    """
    settings, X = fit.settings, fit.X
    is_linear = "kernel" not in settings.own or type(fit.known.get("_kernel")) is Linear
    regularised = settings.own["fit_intercept"] is True
    if not (is_linear and regularised) or sparse.issparse(X):
        return ""
    some = X[:: max(1, X.shape[0] // 4096)]
    means, deviations = some.mean(axis=0, dtype=np.float64), some.std(axis=0, dtype=np.float64)
    least = np.maximum(_DEVIATIONS * deviations, _SIZES * settings.intercept_scaling)
    is_far = np.abs(means) > least
    ratios = np.zeros(means.size)
    np.divide(means, deviations, out=ratios, where=is_far & (deviations > 0.0))
    column, problem = int(np.abs(ratios).argmax()), fit.pairs[0].problem
    needed = ratios[column] * np.abs(problem.y).mean() / settings.intercept_scaling
    nothing = mean_loss(np.zeros(problem.y.size), problem)
    if not 0.5 * fit.pairs.lam.min() * needed**2 > _COSTS * nothing:
        return ""
    return (
        f"column {column} of X is far from zero ({means[column]:.4g} on average, with a standard "
        f"deviation of {deviations[column]:.3g}), and the intercept is regularised"
    )


def _lacks_intercept(result: Result, problem: Problem) -> bool:
    """Check whether a model has learnt little, and multiples of it with an intercept far more.

    Negative multiples count, as rounding and ``tol`` may have chosen the sign of a small w.
    """
    decisions, examples = result.margins - result.margins.mean(), problem.examples
    size, loss = float(decisions.std()), mean_loss(result.margins, problem)
    if not (size > 0.0 and loss > 0.5 * mean_loss(np.zeros(decisions.size), problem)):
        return False
    losses = []
    factors = np.abs(problem.y).mean() / size * np.geomspace(0.1, 1e3, 9)
    for factor in (*factors, *-factors):
        scaled = factor * decisions
        own = scaled + middle_of(*best_intercept(scaled, examples))
        losses.append([mean_loss(own, problem), mean_loss(factor * result.margins, problem)])
    with_own, without = np.min(losses, axis=0)
    return bool(with_own < 0.5 * min(without, loss))


def _of_far_column(results: Results, fit: Fit) -> str:
    """Name a column whose intercept costs too much to learn from it, with the cure, if any."""
    batch, cause = fit.settings.options.batch_size, _far_column(fit)
    for pair, result in zip(fit.pairs, results, strict=True) if cause else ():
        has_epoch = fit.settings.polish or result.n_steps * batch >= pair.problem.y.size
        if has_epoch and _lacks_intercept(result, pair.problem):
            return f"has learnt little, since {cause}: {_CENTRE}."
    return ""


#: Predictions are far too close to their median if multiplying their distance by this is better.
_TIMIDITY = 10.0


def _of_targets(problem: Problem, result: Result) -> str:
    """Describe targets whose size leaves nothing to be learnt, with the cure, if they do."""
    y, middle = problem.y, np.median(result.margins)
    farther = middle + _TIMIDITY * (result.margins - middle)
    if np.ptp(y) == 0.0 or result.status in CUT_SHORT:
        return ""
    if mean_loss(np.zeros(y.size), problem) == 0.0:
        text = "the same for all, since every target is within epsilon of it"
        remedy = "reduce epsilon"
    elif mean_loss(farther, problem) < mean_loss(result.margins, problem):
        text = "nearly the same for all, since C is small for targets of such a size"
        remedy = "increase C"
    else:
        return ""
    return (
        f"predicts {text} ({np.ptp(y):.3g} from the least to the largest): scale y, as "
        f"TransformedTargetRegressor with a StandardScaler does, or {remedy}."
    )


def _typical_size(X: Any) -> float:
    """Return the root mean square of the entries that are not zero; 0 if all are.

    Parameters
    ----------
    X : ndarray or CSR matrix
    """
    total, number = 0.0, 0
    flat = X.data if sparse.issparse(X) else X.ravel()
    for begin in range(0, flat.size, 1 << 20):
        part = np.asarray(flat[begin : begin + (1 << 20)], dtype=np.float64)
        total += float(part @ part)
        number += int(np.count_nonzero(part))
    return math.sqrt(total / max(1, number))
