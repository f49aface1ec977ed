"""The progress bar of ``verbose=True``: over pairs with the certified gap, or over cells.

Kernel values are counted as they are computed, whatever for, and shown with the seconds several
times a second: a bar that stands still shows that work goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)

from kpegasos.solvers.driver import SolverRun
from kpegasos.utils.patience import Counter, counting


class _Unfailing:
    """A stream that keeps its errors to itself: a full disk, a reader who is gone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class _KernelValues(ProgressColumn):
    """Kernel values that have been computed so far, or are being computed."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self._counter = counter

    def render(self, task: Task) -> str:
        """Nothing on features."""
        return f"{self._counter.values:.1e} kernel values" if self._counter.values else ""


@contextmanager
def progress_bar(
    enabled: bool, name: str, runs: int
) -> Iterator[Callable[[int, SolverRun, float], None]]:
    """Yield a function ``update(pair, run, share)`` to call at each checkpoint, from any thread.

    The share is what is done of a pair, from 0 to 1.

    Parameters
    ----------
    enabled : bool
        Whether anything is shown.
    name : str
        What is being fitted.
    runs : int
        How many runs there are.
    """
    if not enabled or sys.stdout is None:
        yield lambda pair, run, share: None
        return
    done = [0.0] * runs
    with _progress(TextColumn("gap {task.fields[gap]}")) as progress:
        task = progress.add_task(name, total=runs, gap="?")

        def update(pair: int, run: SolverRun, share: float) -> None:
            done[pair] = share
            gap = f"{run.history.records[-1].relative_gap:.2%}" if len(run.history) else "?"
            progress.update(task, completed=sum(done), gap=gap)

        yield update
        progress.refresh()


@contextmanager
def cell_bar(
    enabled: bool, name: str, cells: int, done: int = 0
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
    done : int, default=0
        How many of them are done.
    """
    if not enabled or sys.stdout is None:
        yield lambda n_cells: None
        return
    with _progress(MofNCompleteColumn(), TextColumn("cells")) as progress:
        task = progress.add_task(name, total=cells, completed=done)
        yield lambda n_cells: progress.advance(task, n_cells)
        progress.refresh()


@contextmanager
def _progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """A bar with further columns, which counts the kernel values of the block."""
    counter = Counter()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        *columns,
        _KernelValues(counter),
        TimeElapsedColumn(),
        console=_console(),
    )
    with bar, counting(counter):
        yield bar


def _console() -> Console:
    """Where the bar goes: a bar must not cost the model.

    In a notebook rich moves it with ipywidgets, and does not draw it once more at its end; without
    them it warns at each change. As text it is written once, when the fit is done.
    """
    as_text = find_spec("ipywidgets") is None
    return Console(file=cast(Any, _Unfailing(sys.stdout)), force_jupyter=False if as_text else None)
