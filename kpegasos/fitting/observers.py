"""Observers of a fit: callbacks, the progress bar of ``verbose=True``.

Where scikit-learn has no callbacks the estimators have no ``set_callbacks``. The bar shows the time
and all kernel values computed so far, several times a second. So one sees that work goes on while
the bar stands still.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from threading import Event, Thread
from typing import Any, TypeVar

from kpegasos.core.certificate import relative
from kpegasos.utils.bases import BEGIN_CALLBACKS, with_callbacks
from kpegasos.utils.patience import Counter, counting
from kpegasos.utils.threads import turn

_Method = TypeVar("_Method", bound=Callable[..., Any])


def in_turn(method: _Method) -> _Method:
    """Decorate a method that fits: threads take turns, and callbacks are torn down after it."""
    method = with_callbacks(method)

    @wraps(method)
    def fit(estimator: Any, *arguments: Any, **options: Any) -> Any:
        with turn(estimator, "estimator"):
            return method(estimator, *arguments, **options)

    return fit  # type: ignore[return-value]


#: Makes the fitted attributes of the model as it stands.
Model = Callable[[], dict[str, Any]]


class CallbackObserver:
    """Reports a fit to scikit-learn's callbacks, from checkpoint to checkpoint.

    Parameters
    ----------
    estimator : BaseEstimator
        Has the callbacks.
    X, y, sample_weight : array-like
        As ``fit`` got them.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._estimator = estimator
        self._hook_arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    @staticmethod
    def of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> list[CallbackObserver]:
        """Return an observer for the estimator's callbacks, if it has some."""
        if getattr(estimator, "_skl_callbacks", []):
            return [CallbackObserver(estimator, X, y, sample_weight)]
        begin = getattr(estimator, BEGIN_CALLBACKS, None)
        if begin is not None:  # a meta-estimator may need to know that this fit has no subtasks
            begin()
        return []

    def begin_fit(self, n_checkpoints: int) -> None:
        """Set up the callbacks, and report that the fit begins."""
        self._fit = getattr(self._estimator, BEGIN_CALLBACKS)(max_subtasks=n_checkpoints)
        self._fit.call_on_fit_task_begin(**self._hook_arguments)

    def begin_checkpoint(self) -> None:
        """Report that the steps to a checkpoint begin."""
        self._checkpoint = self._fit.subcontext(task_name="checkpoint")
        self._checkpoint.call_on_fit_task_begin(**self._hook_arguments)

    def on_checkpoint(self, model: Model) -> bool:
        """Show the callbacks the model; return whether one of them stops the fit."""
        stop = self._checkpoint.call_on_fit_task_end(
            **self._hook_arguments, reconstruction_attributes=model
        )
        return bool(stop)

    def end_fit(self) -> None:
        """Report that the fit has ended."""
        self._fit.call_on_fit_task_end(**self._hook_arguments)


# --- the progress bar ---


@contextmanager
def shown(
    text: Callable[[str], str],
    stream: Any,
    share: Callable[[], float] | None = None,
    most_seconds: float | None = None,
) -> Iterator[None]:
    """Show a text that changes during a block; errors of the stream are ignored.

    Parameters
    ----------
    text : callable
        ``text(time)`` returns the present text, one line with the time; called from a thread.
    stream : text stream or None
        On a terminal and in a notebook the line changes in place several times a second; elsewhere
        it is written once, at the end.
    share : callable, default=None
        Returns the share that is done, from 0 to 1; the time left is estimated from it.
    most_seconds : float, default=None
        Time limit of the block.
    """
    ended, begin, widest = Event(), time.monotonic(), 0
    moves = False
    with suppress(OSError, ValueError, AttributeError):
        moves = stream.isatty()

    def write(end: str) -> None:
        nonlocal widest
        passed = time.monotonic() - begin
        line = _minutes(passed)
        if share is not None and not end and passed > 1.0 and 0.0 < (done := share()) < 1.0:
            left = passed * (1.0 - done) / done
            left = left if most_seconds is None else max(0.0, min(left, most_seconds - passed))
            line += f", {_minutes(left)} left"
        line = text(line)
        if moves:  # a wrapped line could not be overwritten
            line = line[: shutil.get_terminal_size().columns - 1]
        widest = max(widest, len(line))
        with suppress(OSError, ValueError, AttributeError):
            stream.write("\r" * moves + line.ljust(widest) + end)
            stream.flush()

    def draw() -> None:
        while not ended.wait(0.1):
            write("")

    thread = Thread(target=draw, daemon=True)
    if moves:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if moves:
            thread.join()
        write("\n")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def bar(share: float) -> str:
    """Draw a share, from 0 to 1."""
    full = int(20 * share)
    return f"[{'#' * full}{'.' * (20 - full)}] {share:4.0%}"


@contextmanager
def progress_bar(
    enabled: bool, name: str, runs: int, most_seconds: float | None = None, *, is_even: bool = True
) -> Iterator[Callable[[int, Any, float, float], None]]:
    """Yield a function ``update(pair, run, before, own)`` to call at checkpoints, from any thread.

    ``before`` is the share of a pair, from 0 to 1, that was done before the run, and ``own`` the
    share of the run, of which the bar shows what is done by now.

    Parameters
    ----------
    enabled : bool
        Whether anything is shown.
    name : str
        What is being fitted.
    runs : int
        Number of runs.
    most_seconds : float, default=None
        Time limit of all runs.
    is_even : bool, default=True
        Whether time is proportional to shares, so that the time left can be estimated.
    """
    if not enabled:
        yield lambda pair, run, before, own: None
        return
    parts: list[Callable[[], float]] = [lambda: 0.0] * runs
    gaps: dict[int, float] = {}

    def update(pair: int, run: Any, before: float, own: float) -> None:
        # Runs that have ended are not held: the states of all pairs may be large.
        parts[pair] = (lambda: before + own * run.progress) if own else (lambda: before)
        if len(run.history):
            record = run.history.records[-1]
            rounding = relative(record.rounding, record.objective_average)
            gaps[pair] = record.relative_gap + rounding

    def share() -> float:
        return sum(part() for part in parts) / runs

    def text(_: int) -> str:
        gap = f"{max(gaps.values()):.2%}" if gaps else "?"
        return f"{name} {bar(share())} gap {gap}"

    with _counted(text, share if is_even else None, most_seconds):
        yield update


@contextmanager
def cell_bar(
    enabled: bool, name: str, cells: int, unit: str = "cells", values: float = math.inf
) -> Iterator[Callable[[float], None]]:
    """Yield a function ``advance(n_cells)`` to call when cells are done, from any thread.

    Parameters
    ----------
    enabled : bool
        Whether anything is shown.
    name : str
        What is being searched.
    cells : int
        Number of cells.
    unit : str, default="cells"
        What they are called.
    values : float, default=inf
        Estimate of the kernel values of all cells. The bar shows the share of these, up to 95%, or
        that of the cells if it is larger.
    """
    if not enabled:
        yield lambda n_cells: None
        return
    parts = [0.0]

    def text(computed: int) -> str:
        now = sum(parts)
        share = max(now / cells, min(0.95, computed / values))
        return f"{name} {bar(share)} {now:.0f}/{cells} {unit}"

    with _counted(text):
        yield parts.append


@contextmanager
def _counted(
    text: Callable[[int], str],
    share: Callable[[], float] | None = None,
    most_seconds: float | None = None,
) -> Iterator[None]:
    """Show a text, followed by the number of kernel values of the block if there are any."""
    counter = Counter()

    def all_of_it(time: str) -> str:
        values = f", {counter.values:.1e} kernel values" if counter.values else ""
        return f"{text(counter.values)} {time}{values}"

    with shown(all_of_it, sys.stdout, share, most_seconds), counting(counter):
        yield
