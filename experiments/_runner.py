"""What every experiment needs: progress, resuming, results in files, figures from results.

An experiment is a module of this folder (its name without a leading underscore) with

- a docstring whose first line says what it shows, and the strings ``FULL_TIME`` and
  ``QUICK_TIME``, about how long it takes;
- ``compute(run: Run) -> dict``: the results, in what JSON can hold and numpy arrays;
- ``plot(results: dict) -> Figure``: a pure function of the results *as read back from the file*,
  so that the figure can be made again without computing: arrays have become lists, keys strings,
  and numbers that are not finite None (which ``np.asarray(x, dtype=float)`` turns into NaN);
- if something moves, ``animate(results: dict, stem: Path)``, which writes files of that name beside
  the figure.

A list of flat dictionaries under the key ``"table"`` is written as a CSV file too; a value under
``"seeds"`` is noted in the metadata.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

STYLE: dict[str, Any] = {
    # An opaque white ground reads well in a light and in a dark README alike; at 150 dpi the
    # default figure is 1350 pixels wide, half as many again as a README shows.
    "figure.facecolor": "white",
    "figure.figsize": (9.0, 4.5),
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Okabe and Ito's palette, told apart by the colour-blind too.
    "axes.prop_cycle": "cycler('color', ['0072B2', 'D55E00', '009E73', 'CC79A7', 'E69F00',"
    " '56B4E9', '000000'])",
    # Text as outlines: the same picture wherever it is looked at, whatever fonts are there.
    "svg.fonttype": "path",
}


# ---------------------------------------------------------------------------------------------
# Files


def plain(value: Any) -> Any:
    """Turn a value into what JSON holds, floats rounded to ten significant digits."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def to_json(value: Any) -> str:
    """Write JSON with the innermost lists and dictionaries on one line each."""
    text = json.dumps(plain(value), indent=1, ensure_ascii=False)
    flat = re.compile(r"([\[{])\n\s*([^\[\]{}]*)\n\s*([\]}])")  # no JSON string has a bare newline
    return flat.sub(lambda m: m[1] + re.sub(r"\n\s*", " ", m[2]) + m[3], text) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@dataclass(frozen=True)
class Output:
    """The folders that an invocation writes to."""

    results: Path
    figures: Path
    partial: Path


# ---------------------------------------------------------------------------------------------
# Running


class Parts:
    """Finished parts of a run, kept in a file from the moment that they are finished.

    Parameters
    ----------
    path : Path or None
        The file; what it holds is taken up.  ``None`` keeps the parts in memory only.
    package : str
        Fingerprint of the code that the parts depend on beside the experiment's own.
    fresh : bool
        Whether to ignore what the file holds.
    """

    def __init__(self, path: Path | None = None, package: str = "", fresh: bool = False) -> None:
        self.path = path
        self.package = package
        self.values: dict[str, Any] = {}
        self.stale = False
        self._seconds_before = 0.0
        self._start = time.perf_counter()
        if path is not None and path.exists() and not fresh:
            stored = json.loads(path.read_text(encoding="utf-8"))
            self.values = stored["parts"]
            self.stale = stored["package"] != package
            self._seconds_before = stored["seconds"]

    @property
    def seconds(self) -> float:
        """Time spent on these parts and since, the earlier attempts included."""
        return self._seconds_before + time.perf_counter() - self._start

    def store(self, key: str, value: Any) -> None:
        """Add a part and write the file."""
        self.values[key] = value
        if self.path is not None:
            # A resumed part keeps the fingerprint of the oldest code it stands beside.
            package = "mixed" if self.stale else self.package
            stored = {"package": package, "seconds": self.seconds, "parts": self.values}
            _write(self.path, to_json(stored))


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )


def _never() -> None:
    """Stand in for the check of an interrupt."""


@dataclass(frozen=True)
class Run:
    """What ``compute`` is given.  ``Run(quick=True)`` will do in a test.

    Attributes
    ----------
    quick : bool
        Whether a small version is asked for, to see that everything works.
    cache : Parts
        The parts that are finished.
    """

    quick: bool = False
    cache: Parts = field(default_factory=Parts)
    bars: Progress = field(default_factory=_bars)
    check_interrupt: Callable[[], None] = _never

    def part(self, key: str, fn: Callable[[], Any]) -> Any:
        """Return ``fn()``, or what it returned when an earlier attempt was interrupted later on.

        The value comes back as it would from a file, whether it is new or not.  Keys must be
        unique in an experiment.
        """
        if key not in self.cache.values:
            value = json.loads(to_json(fn()))
            self.check_interrupt()  # a fit that Ctrl-C cut short is no result
            self.cache.store(key, value)
        return self.cache.values[key]

    def progress(self, work: Iterable[Any] | int, description: str = "") -> Iterator[Any]:
        """Iterate over ``work``, or over ``range(work)``, with a progress bar; may be nested."""
        items = work if isinstance(work, Iterable) else range(work)
        total = len(items) if isinstance(items, Sized) else None
        task = self.bars.add_task(description, total=total)
        try:
            for item in items:
                self.check_interrupt()
                yield item
                self.bars.advance(task)
        finally:
            self.bars.remove_task(task)


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl-C came since.

    A fit takes Ctrl-C as "return what you have" and installs a handler of its own for that, so a
    handler here would not notice; the wake-up descriptor is written to whatever the handler.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _never
        return
    ours, pythons = socket.socketpair()

    def check() -> None:
        with suppress(BlockingIOError):
            if signal.SIGINT in ours.recv(4096):
                raise KeyboardInterrupt

    with ours, pythons:
        ours.setblocking(False)
        pythons.setblocking(False)
        previous = signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        try:
            yield check
        finally:
            signal.set_wakeup_fd(previous)


@dataclass(frozen=True)
class Experiment:
    """A module of the folder, described without importing it."""

    path: Path
    summary: str
    full_time: str
    quick_time: str

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.path.stem

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """Take the description from the source."""
        tree = ast.parse(path.read_bytes(), filename=str(path))
        times = {
            target.id: str(node.value.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        summary = (ast.get_docstring(tree) or "").partition("\n")[0]
        return cls(path, summary, times.get("FULL_TIME", "?"), times.get("QUICK_TIME", "?"))

    def load(self) -> ModuleType:
        """Import the module, with a matplotlib that opens no windows."""
        import matplotlib

        matplotlib.use("Agg")
        if self.path.parent == HERE:  # by its real name, so that worker processes find it too
            return importlib.import_module(f"experiments.{self.name}")
        spec = importlib.util.spec_from_file_location(f"_experiment_{self.name}", self.path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{self.path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def run(self, output: Output, *, quick: bool = False, fresh: bool = False) -> None:
        """Compute the results and write them; an earlier attempt is taken up where it stopped."""
        stem = f"{self.name}-{'quick' if quick else 'full'}"
        partial = output.partial / f"{stem}-{_fingerprint([self.path])}.json"
        around = [*(ROOT / "kpegasos").rglob("*.py"), *self.path.parent.glob("_*.py")]
        parts = Parts(partial, _fingerprint(around), fresh)
        if parts.values:
            changed = "; the package has changed since, --fresh starts over" if parts.stale else ""
            print(f"{self.name}: resuming after {len(parts.values)} parts{changed}", flush=True)
        with interrupts() as check, _bars() as bars:
            try:
                results = plain(self.load().compute(Run(quick, parts, bars, check)))
            except Exception:
                check()  # what a fit that was cut short led to is not the experiment's error
                raise
            check()
        meta: dict[str, Any] = {"quick": quick, "seconds": round(parts.seconds, 1)}
        if "seeds" in results:
            meta["seeds"] = results["seeds"]
        meta |= {"versions": versions(), "machine": machine()}
        document = {"experiment": self.name, "results": results, "meta": meta}
        _write(output.results / f"{self.name}.json", to_json(document))
        if "table" in results:
            _write_table(output.results / f"{self.name}.csv", results["table"])
        for path in output.partial.glob(f"{stem}-*.json"):
            path.unlink()

    def draw(self, output: Output) -> None:
        """Make the figure from the results in the file, to the same bytes each time."""
        results = json.loads((output.results / f"{self.name}.json").read_bytes())["results"]
        module = self.load()
        import matplotlib
        from matplotlib import pyplot as plt

        output.figures.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context():
            matplotlib.rcdefaults()  # whatever the user's matplotlibrc says
            style: Any = {**STYLE, "svg.hashsalt": self.name}
            matplotlib.rcParams.update(style)
            figure = module.plot(results)
            stem = output.figures / self.name
            figure.savefig(stem.with_suffix(".png"), metadata={"Software": None})
            figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
            plt.close(figure)
            if hasattr(module, "animate"):
                module.animate(results, stem)


def discover(folder: Path = HERE) -> dict[str, Experiment]:
    """Find the experiments of a folder, by name."""
    paths = sorted(folder.glob("[!_]*.py"))
    return {path.stem: Experiment.read(path) for path in paths}


def _fingerprint(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


# ---------------------------------------------------------------------------------------------
# Where the figures come from


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the results depend on."""
    names = ["numpy", "numba", "scipy", "scikit-learn"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "kpegasos": project["version"],  # of this checkout, installed or not
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def machine() -> dict[str, Any]:
    """Processor, cores at our disposal, and system."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return {
        "processor": _processor(),
        "cores": cores,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    with suppress(OSError):
        model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if model:
            return model[1]
    if sys.platform == "darwin":
        with suppress(OSError):
            query = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(query, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()
