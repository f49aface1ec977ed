"""The progress bar of ``verbose=True``: one bar over all pairs, with the certified gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kpegasos.solvers.pegasos import PegasosRun


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
    if not enabled:
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
    with Progress(*columns) as progress:
        task = progress.add_task(name, total=runs, gap="?")

        def update(pair: int, run: PegasosRun) -> None:
            done[pair] = run.progress
            gap = f"{run.history.records[-1].relative_gap:.2%}" if len(run.history) else "?"
            progress.update(task, completed=sum(done), gap=gap)

        yield update
