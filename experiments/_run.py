"""Running an experiment: progress, parts that survive an interrupt, results with their origin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments._catalog import ROOT, Experiment
from experiments._meta import fingerprint, provenance
from experiments._store import Output, Parts, plain, read, to_json, write, write_table


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )


@dataclass(frozen=True)
class ExperimentContext:
    """What ``compute`` is given.  ``ExperimentContext(quick=True)`` will do in a test.

    Attributes
    ----------
    quick : bool
        Whether a small version is asked for, to see that everything works.
    cache : Parts
        The parts that are finished.
    bars : rich.progress.Progress
        The progress bars on display.
    only : tuple of str
        The groups that are asked for; all if empty.
    previous : dict
        The results at hand, from which an experiment takes the groups that it does not run.
    """

    quick: bool = False
    cache: Parts = field(default_factory=Parts)
    bars: Progress = field(default_factory=_bars)
    only: tuple[str, ...] = ()
    previous: dict[str, Any] = field(default_factory=dict)

    def wants(self, group: str) -> bool:
        """Say whether a group of parts is to be run: its name has one of the words in ``only``."""
        return not self.only or any(word.lower() in group.lower() for word in self.only)

    def part(self, key: str, fn: Callable[[], Any]) -> Any:
        """Return ``fn()``, or what it returned when an earlier attempt was interrupted later on.

        Parameters
        ----------
        key : str
            Name of the part, unique in the experiment.
        fn : callable
            Function without arguments.  If it raises, as a fit does after Ctrl-C, nothing is
            stored.

        Returns
        -------
        object
            The value as it would come back from a file, whether it is new or not.
        """
        if key not in self.cache.values:
            self.cache.store(key, json.loads(to_json(fn())))
        return self.cache.values[key]

    def progress(self, work: Iterable[Any] | int, description: str = "") -> Iterator[Any]:
        """Iterate with a progress bar; may be nested.

        Parameters
        ----------
        work : iterable or int
            Items, or their number for ``range(work)``.
        description : str
            Text beside the bar.

        Yields
        ------
        object
            The next item.
        """
        items = work if isinstance(work, Iterable) else range(work)
        total = len(items) if isinstance(items, Sized) else None
        task = self.bars.add_task(description, total=total)
        try:
            for item in items:
                yield item
                self.bars.advance(task)
        finally:
            self.bars.remove_task(task)


def run(
    experiment: Experiment,
    output: Output,
    *,
    quick: bool = False,
    fresh: bool = False,
    only: tuple[str, ...] = (),
) -> None:
    """Compute the results and write them.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run.
    output : Output
        Folders for the results and for the finished parts.
    quick : bool, default False
        Whether to run the small version.
    fresh : bool, default False
        Whether to start over; by default an earlier attempt is taken up where it stopped.
    only : tuple of str, default ()
        The groups to run, of an experiment that has groups; the others stay as they are.
    """
    name = experiment.name
    stem = f"{name}-{'quick' if quick else 'full'}"
    if only:
        stem += "+" + re.sub(r"[^a-z0-9+]+", "_", "+".join(only).lower())
    partial = output.partial / f"{stem}-{fingerprint([experiment.path])}.json"
    around = [*(ROOT / "kpegasos").rglob("*.py"), *experiment.path.parent.glob("_*.py")]
    parts = Parts(partial, fingerprint(around), fresh)
    if parts.values:
        changed = "; the package has changed since, --fresh starts over" if parts.stale else ""
        print(f"{name}: resuming after {len(parts.values)} parts{changed}", flush=True)
    origin = provenance(experiment)
    if parts.stale:
        origin["code"]["package"] = "mixed"
    document = output.document(name)
    previous = read(document) if document.exists() else {}
    if only and previous:
        earlier = previous["meta"].get("code", {}).get("package")
        if earlier != origin["code"]["package"]:
            origin["code"]["package"] = "mixed"
    with _bars() as bars:
        context = ExperimentContext(
            quick, parts, bars, only, {} if quick else previous.get("results", {})
        )
        results = plain(experiment.load().compute(context))
    meta: dict[str, Any] = {"quick": quick, "seconds": round(parts.seconds, 1)}
    if "seeds" in results:
        meta["seeds"] = results["seeds"]
    if results.get("vectors"):  # of the processes that measured, which may be told to use fewer
        origin["machine"]["vectors"] = results["vectors"]
    write(document, to_json({"experiment": name, "results": results, "meta": meta | origin}))
    if "table" in results:
        write_table(output.results / f"{name}.csv", results["table"])
    for path in output.partial.glob(f"{stem}-*.json"):
        path.unlink()
