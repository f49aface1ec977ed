"""Observers of a fit: callbacks, the progress bar of ``verbose=True``.

Where scikit-learn has no callbacks the estimators have no ``set_callbacks``. The bar counts kernel
values as they are computed, whatever for, and shows them with the seconds several times a second: a
bar that stands still shows that work goes on.
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


#: A call makes the fitted attributes of the model as it stands.
Model = Callable[[], dict[str, Any]]


class CallbackObserver:
    """Tells scikit-learn's callbacks of a fit, from checkpoint to checkpoint.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose callbacks are told.
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
        if begin is not None:  # a meta-estimator may have to know that this fit has no parts
            begin()
        return []

    def begin_fit(self, n_checkpoints: int) -> None:
        """Set the callbacks up and tell them that the fit begins."""
        self._fit = getattr(self._estimator, BEGIN_CALLBACKS)(max_subtasks=n_checkpoints)
        self._fit.call_on_fit_task_begin(**self._hook_arguments)

    def begin_checkpoint(self) -> None:
        """Report to the callbacks that the way to a checkpoint begins."""
        self._checkpoint = self._fit.subcontext(task_name="checkpoint")
        self._checkpoint.call_on_fit_task_begin(**self._hook_arguments)

    def on_checkpoint(self, model: Model) -> bool:
        """Show the callbacks the model, and hear whether one of them stops the fit."""
        stop = self._checkpoint.call_on_fit_task_end(
            **self._hook_arguments, reconstruction_attributes=model
        )
        return bool(stop)

    def end_fit(self) -> None:
        """Report to the callbacks that the fit has ended."""
        self._fit.call_on_fit_task_end(**self._hook_arguments)


# --- the progress bar: a line that says how far something has come, until it is done ---


@contextmanager
def shown(
    text: Callable[[str], str],
    stream: Any,
    share: Callable[[], float] | None = None,
    most_seconds: float | None = None,
) -> Iterator[None]:
    """Show a text that changes: a full disk or a reader who is gone costs nothing.

    Parameters
    ----------
    text : callable
        Returns the text as it is, in one line, with a time that it is given; called from a thread.
    stream : text stream or None
        On a terminal and in a notebook the line changes in place several times a second; elsewhere
        it is written once, at the end.
    share : callable, default=None
        Returns what part is done, from 0 to 1, by which the time left is told.
    most_seconds : float, default=None
        After which all ends.
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
        if moves:  # a line that is wrapped could not be taken back
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

    Of a pair, from 0 to 1, so much was done before the run, and so much is the run's own, of which
    the bar shows what is done by now.

    Parameters
    ----------
    enabled : bool
        Whether anything is shown.
    name : str
        What is being fitted.
    runs : int
        How many runs there are.
    most_seconds : float, default=None
        After which they end.
    is_even : bool, default=True
        Whether shares take time in proportion, so that what is left can be told.
    """
    if not enabled:
        yield lambda pair, run, before, own: None
        return
    parts: list[Callable[[], float]] = [lambda: 0.0] * runs
    gaps: dict[int, float] = {}

    def update(pair: int, run: Any, before: float, own: float) -> None:
        # What has ended is not held: states of all pairs may be large.
        parts[pair] = (lambda: before + own * run.progress) if own else (lambda: before)
        if len(run.history):
            record = run.history.records[-1]
            rounding = record.rounding / record.objective_average if record.rounding else 0.0
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
        How many cells there are.
    unit : str, default="cells"
        What they are called.
    values : float, default=inf
        About as many kernel values as all of them take: the bar moves by these before a first cell
        is done, and fills by cells alone.
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
    """Show a text, and behind it the kernel values of the block; on features there are none."""
    counter = Counter()

    def all_of_it(time: str) -> str:
        values = f", {counter.values:.1e} kernel values" if counter.values else ""
        return f"{text(counter.values)} {time}{values}"

    with shown(all_of_it, sys.stdout, share, most_seconds), counting(counter):
        yield
