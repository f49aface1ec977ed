"""The progress bar of ``verbose=True``: one bar over all pairs, with the certified gap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kpegasos.solvers.pegasos import PegasosRun


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


@contextmanager
def progress_bar(
    enabled: bool, name: str, runs: int
) -> Iterator[Callable[[int, PegasosRun], None]]:
    """Yield a function ``update(pair, run)`` to call at each checkpoint, from any thread.

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
        yield lambda pair, run: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  gap {task.fields[gap]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    done = [0.0] * runs
    console = Console(file=cast(Any, _Unfailing(sys.stdout)))  # a bar must not cost the model
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(name, total=runs, gap="?")

        def update(pair: int, run: PegasosRun) -> None:
            done[pair] = run.progress
            gap = f"{run.history.records[-1].relative_gap:.2%}" if len(run.history) else "?"
            progress.update(task, completed=sum(done), gap=gap)

        yield update
