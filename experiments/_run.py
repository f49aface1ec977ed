"""Running experiments: parts that survive an interrupt, results with their origin, figures, jobs.

What an experiment is given is an `ExperimentContext`; what a command does for each is `Work`, in
this process or in several, each of which takes the next one when it has ended its own. Ctrl-C ends
them all as it ends one: what is under way is broken off, the rest is not begun.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from experiments._catalog import ROOT, Experiment
from experiments._meta import commit, fingerprint, package_fingerprint, provenance
from experiments._plots import STYLE, freeze
from experiments._store import Output, Parts, plain, read, to_json, write, write_table
from experiments._tables import Row
from kpegasos.utils.progress import shown


@dataclass(frozen=True)
class ExperimentContext:
    """The argument of ``compute``.  ``ExperimentContext(quick=True)`` will do in a test.

    Attributes
    ----------
    quick : bool
        Whether a small version is asked for, to see that everything works.
    cache : Parts
        The parts that are finished.
    bars : list
        Description, items done and number of items of each loop under way, the outermost first.
    only : tuple of str
        The groups that are asked for; all if empty.
    previous : dict
        The results at hand, from which an experiment takes the groups that it does not run.
    """

    quick: bool = False
    cache: Parts = field(default_factory=Parts)
    bars: list[list[Any]] = field(default_factory=list)
    only: tuple[str, ...] = ()
    previous: dict[str, Any] = field(default_factory=dict)

    def wants(self, group: str) -> bool:
        """Say whether a group of parts is to be run: its name has one of the words in ``only``."""
        return not self.only or any(word.lower() in group.lower() for word in self.only)

    def groups(
        self,
        work: Mapping[str, Callable[[], Mapping[str, list[Row]]]],
        column: str = "group",
        on_request: str = "",
    ) -> dict[str, Any]:
        """Run the groups that are asked for, and take the others from the results at hand.

        Parameters
        ----------
        work : dict of str to callable
            What measures each group, and returns tables by name: lists of rows.
        column : str, default "group"
            Column of the tables that has the name of the group.
        on_request : str, default ""
            A group that is run only where groups are asked for.

        Returns
        -------
        dict
            The tables of all groups, and under ``"groups"`` when and by what code each was
            measured.
        """
        tables: dict[str, list[Row]] = {}
        origins: dict[str, Any] = {}
        for name, measure in work.items():
            if self.wants(name) and (name != on_request or self.only):
                found = measure()
                today = datetime.now(UTC).date().isoformat()
                code = {"commit": commit(), "package": package_fingerprint()}
                origins[name] = {"date": today, **code}
            elif name in self.previous.get("groups", {}):
                origins[name] = self.previous["groups"][name]
                found = {
                    key: [row for row in rows if isinstance(row, dict) and row.get(column) == name]
                    for key, rows in self.previous.items()
                    if isinstance(rows, list)
                }
            else:
                continue
            for key, rows in found.items():
                tables.setdefault(key, []).extend(rows)
        return {**tables, "groups": origins}

    def part(self, key: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function, or return what it returned before an earlier attempt was interrupted.

        Parameters
        ----------
        key : str
            Name of the part, unique in the experiment.
        fn : callable
            What computes it.  If it raises, as a fit does after Ctrl-C, nothing is stored.
        *args, **kwargs
            Its arguments.

        Returns
        -------
        object
            The value as it would come back from a file, whether it is new or not.
        """
        if key not in self.cache.values:
            self.cache.store(key, json.loads(to_json(fn(*args, **kwargs))))
        return self.cache.values[key]

    def job(self, group: str, job: Row, work: Callable[[Row], Any]) -> Any:
        """Do a job of a group once; it is named by all that it has, and so new after an edit."""
        return self.part(f"{group}: {json.dumps(job, sort_keys=True)}", work, job)

    def progress(self, work: Iterable[Any] | int, description: str = "") -> Iterator[Any]:
        """Iterate, and show on a terminal how far it is; may be nested.

        Parameters
        ----------
        work : iterable or int
            Items, or their number for ``range(work)``.
        description : str
            What is shown beside the numbers.

        Yields
        ------
        object
            The next item.
        """
        items = range(work) if isinstance(work, int) else work
        items = items if isinstance(items, Sized) else list(items)
        bar: list[Any] = [description, 0, len(items)]
        self.bars.append(bar)
        try:
            for item in items:
                yield item
                bar[1] += 1
        finally:
            self.bars.remove(bar)

    def line(self) -> str:
        """Write how far the loops under way are."""
        return "  ".join(f"{name} {done}/{number}" for name, done, number in self.bars)


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
    document = output.document(name)
    previous = read(document) if document.exists() else {}
    earlier = previous.get("meta", {}).get("code", {}).get("package")
    if parts.stale or (only and previous and earlier != origin["code"]["package"]):
        origin["code"]["package"] = "mixed"
    kept = {} if quick else previous.get("results", {})
    context = ExperimentContext(quick, parts, only=only, previous=kept)
    with shown(context.line, sys.stderr) if sys.stderr.isatty() else nullcontext():
        results = plain(experiment.load().compute(context))
    meta: dict[str, Any] = {"quick": quick, "seconds": round(parts.seconds, 1)}
    if "seeds" in results:
        meta["seeds"] = results["seeds"]
    if results.get("vectors"):  # of the processes that measured, which may be told to use fewer
        origin["machine"]["vectors"] = results["vectors"]
    if results.get("load") is not None:  # at which its groups began, not we
        origin["load"] = results["load"]
    write(document, to_json({"experiment": name, "results": results, "meta": meta | origin}))
    if "table" in results:
        write_table(output.results / f"{name}.csv", results["table"])
    for path in output.partial.glob(f"{stem}-*.json"):
        path.unlink()


def draw(experiment: Experiment, output: Output) -> None:
    """Make the figure, and what moves, from the results in the file.

    Parameters
    ----------
    experiment : Experiment
        The experiment to draw.
    output : Output
        Folders of the results and of the figures.
    """
    results = read(output.document(experiment.name))["results"]
    module = experiment.load()
    import matplotlib
    from matplotlib import pyplot as plt

    output.figures.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's matplotlibrc says
        style: Any = {**STYLE, "svg.hashsalt": experiment.name}
        matplotlib.rcParams.update(style)
        figure = module.plot(results)
        freeze(figure)
        stem = output.figures / experiment.name
        figure.savefig(stem.with_suffix(".png"), metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
        plt.close(figure)
        if hasattr(module, "animate"):
            module.animate(results, stem)


@dataclass(frozen=True)
class Work:
    """The options that hold for all experiments of a command.

    Attributes
    ----------
    experiments : dict
        All experiments, by name.
    output : Output
        The folders to write to.
    quick, fresh, only
        As `run` has them.
    figures_only : bool
        Whether to draw from the results at hand.
    """

    experiments: dict[str, Experiment]
    output: Output
    quick: bool
    fresh: bool
    only: tuple[str, ...]
    figures_only: bool

    def __call__(self, name: str) -> bool:
        """Run and draw an experiment; return whether its figure was made."""
        experiment, output = self.experiments[name], self.output
        if not self.figures_only:
            expected = experiment.quick_time if self.quick else experiment.full_time
            print(f"{name}: {experiment.summary} ({expected})", flush=True)
            run(experiment, output, quick=self.quick, fresh=self.fresh, only=self.only)
        elif not output.document(name).exists():
            print(f"{name}: no results in {output.results}, run it first", file=sys.stderr)
            return False
        draw(experiment, output)
        print(f"{name}: written to {output.figures / name}.png and .svg", flush=True)
        if not (self.figures_only or self.quick):  # a small version decides nothing
            for claim in experiment.claims(read(output.document(name))["results"]):
                print(f"{claim.mark or '-'} {claim.claim} {claim.found}", flush=True)
        return True


_interrupted = False


def _start() -> None:
    """Leave Ctrl-C to the work, and bars to processes that have a terminal of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TERM"] = "dumb"


def _end_pools() -> None:
    """End the processes that joblib keeps for later, which this one would wait for at its end."""
    loky = sys.modules.get("joblib.externals.loky")
    if loky is not None:
        loky.get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _interruptible(work: Callable[[str], bool], name: str) -> bool:
    """Do the work, unless an earlier one of this process was interrupted."""
    global _interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if _interrupted:
            raise KeyboardInterrupt
        return work(name)
    except KeyboardInterrupt:
        _interrupted = True
        raise KeyboardInterrupt from None  # without the model of the fit, which stays here
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_pools()


def each(
    work: Callable[[str], bool], names: Sequence[str], n_jobs: int
) -> Iterator[tuple[str, bool]]:
    """Do some work for each name.

    Parameters
    ----------
    work : callable
        What to do; with several processes it can be pickled.
    names : sequence of str
        What it is called with.
    n_jobs : int
        Number of processes; 1 does the work in this one, in the order of the names.

    Yields
    ------
    tuple
        A name and what ``work`` returned, as each ends. What it raises is raised here.
    """
    n_jobs = min(n_jobs, len(names))
    if n_jobs <= 1:
        for name in names:
            yield name, work(name)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_jobs, spawn, initializer=_start)
    try:
        futures = {pool.submit(_interruptible, work, name): name for name in names}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
