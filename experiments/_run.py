"""Experiments: their form, where their results come from, and how they are run and drawn.

An experiment is a module of this folder, without a leading underscore, with a docstring whose first
line says what it shows, and

- ``compute(context: Context) -> dict``: the results, in what JSON can hold and numpy arrays;
- ``plot(results: dict) -> Figure``: a pure function of the results *as read back from the file*:
  arrays have become lists, keys strings, and numbers that are not finite None;
- if something is claimed, ``claims(results: dict) -> list[Claim]``, as pure a function: what came
  out, in sentences whose numbers are those of the results;
- if something moves, ``animate(results: dict, path: Path)``, which writes a GIF.

What is above ``claims`` and ``plot`` in the file computes; what is below only tells, and may change
without making the results those of other code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
#: Where the package shows models or brings them elsewhere: no number depends on that.
_SHOWING = ("cli", "exports", "playground", "plotting")
#: Helpers that take part in no result.
_TELLING = {"_plots", "_results", "_run"}
#: The variable that has the constants of ``--set``, for processes that an experiment starts.
_SETTINGS = "KPEGASOS_EXPERIMENT_SETTINGS"


@dataclass(frozen=True)
class Folders:
    """The folders that a command writes to."""

    results: Path
    figures: Path
    parts: Path


def discover(root: Path = ROOT) -> dict[str, str]:
    """Return what each experiment shows, by its name, without importing any."""
    paths = sorted((root / "experiments").glob("[!_]*.py"))
    return {path.stem: _first_line(path.read_bytes()) for path in paths}


@cache
def _first_line(source: bytes) -> str:
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


# Constants that are set


def constants(tree: ast.Module) -> Iterator[tuple[str, Any, Any]]:
    """Give the constants of a module: a name, and the list and place where its value is."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, holder, at = node.targets[0], vars(node), "value"
            if isinstance(target, ast.Name):
                yield target.id, holder, at
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for place, name in enumerate(target.elts):
                    yield ast.unparse(name), node.value.elts, place
        elif isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), vars(node), "value"


def setting(name: str, words: str) -> tuple[str, Any]:
    """Read ``NAME=VALUE``: a constant of an experiment, and a value, or words as they stand.

    Raises
    ------
    ValueError
        If the experiment has no such constant.
    """
    constant, _, text = words.partition("=")
    known = [each for each, *_ in constants(_tree(importlib.import_module(f"experiments.{name}")))]
    if constant not in known or not constant.isupper():
        names = ", ".join(sorted(filter(str.isupper, known)))
        raise ValueError(f"--set must be of one of {names} in {name}, got {constant}.")
    try:
        return constant, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return constant, text


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def load(name: str, settings: dict[str, Any] | None = None) -> ModuleType:
    """Import an experiment; with settings, make its constants and all that follows from them anew.

    Processes that are started from then on find the same settings.
    """
    module = importlib.import_module(f"experiments.{name}")
    if settings is not None:
        os.environ[_SETTINGS] = json.dumps(settings)
    values = json.loads(os.environ.get(_SETTINGS, "{}"))
    if values:
        tree = _tree(module)
        for constant, holder, at in constants(tree):
            if constant in values:
                value, before = values[constant], holder[at]
                value = tuple(value) if isinstance(value, list) else value
                alone = isinstance(before, ast.Tuple) and not isinstance(value, tuple)
                holder[at] = ast.parse(repr((value,) if alone else value), mode="eval").body
        exec(compile(ast.fix_missing_locations(tree), str(module.__file__), "exec"), vars(module))
    return module


# Provenance


def fingerprint(paths: list[Path]) -> str:
    """Hash the code of files, without comments and docstrings, and without what only tells."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.name}\n{_computing(path.read_text(encoding='utf-8'))}\n".encode())
    return digest.hexdigest()[:12]


@cache
def _computing(source: str) -> str:
    tree = ast.parse(re.split(r"^def (?:claims|plot)\(", source, maxsplit=1, flags=re.M)[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = node.body[ast.get_docstring(node) is not None :]
    return ast.unparse(tree)


@cache
def package_fingerprint() -> str:
    """Hash the code of the package, but for what no result depends on."""
    package = ROOT / "kpegasos"
    paths = package.rglob("*.py")
    return fingerprint([p for p in paths if p.relative_to(package).parts[0] not in _SHOWING])


def code(name: str, root: Path = ROOT) -> dict[str, str]:
    """Return fingerprints of the package, and of an experiment with the helpers that compute."""
    path = root / "experiments" / f"{name}.py"
    used = set(re.findall(r"^from experiments\.(\w+) import", path.read_text("utf-8"), re.M))
    helpers = [ROOT / "experiments" / f"{helper}.py" for helper in used - _TELLING]
    return {"package": package_fingerprint(), "experiment": fingerprint([path, *helpers])}


@cache
def commit() -> str | None:
    """Describe the commit; ``None`` outside a checkout."""
    with suppress(OSError, subprocess.CalledProcessError):
        describe = ["git", "describe", "--always", "--dirty"]
        return subprocess.run(
            describe, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
    return None


def vectors() -> list[str]:
    """Return the vectors that numba compiles for."""
    import numba
    from llvmlite import binding

    config: Any = numba.config
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    known = {"+avx2": "AVX2", "+avx512f": "AVX-512", "+neon": "NEON"}
    return [name for flag, name in known.items() if flag in features.split(",")]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    names = ("kpegasos", "numpy", "numba", "scipy", "scikit-learn")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version(), **found}


def machine() -> dict[str, Any]:
    """Return processor, the vectors that are used, cores at our disposal, and system."""
    from joblib import cpu_count

    system = f"{platform.system()} {platform.machine()}"
    own = {"processor": _processor(), "vectors": vectors(), "cores": cpu_count()}
    return {**own, "platform": system}


def provenance(name: str, root: Path = ROOT) -> dict[str, Any]:
    """Say what code computes the results of an experiment, when and where."""
    origin: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat(), "commit": commit()}
    with suppress(ImportError):
        import psutil

        # Of a moment: a load average would have what this process did before.
        origin["load"] = round(psutil.cpu_percent(0.2) / 100 * psutil.cpu_count(), 2)
    origin |= {"machine": machine(), "versions": versions()}
    return origin | {"code": code(name, root)}


def _processor() -> str:
    with suppress(OSError):
        model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if model:
            return model[1]
    return platform.processor() or platform.machine()


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


def write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


def read(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


# Runs


@dataclass
class Context:
    """The argument of ``compute``.  ``Context(quick=True)`` will do in a test.

    Attributes
    ----------
    quick : bool
        Whether a small version is asked for, to see that everything works.
    path : Path or None
        A file of finished parts, which are taken up; without one they are kept in memory.
    parts : dict
        What is finished, by key.
    seconds : float
        Time that the finished parts took.
    """

    quick: bool = False
    path: Path | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            stored = read(self.path)
            self.parts, self.seconds = stored["parts"], stored["seconds"]

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
        if key not in self.parts:
            begin = time.perf_counter()
            self.parts[key] = json.loads(to_json(fn(*args, **kwargs)))
            taken = time.perf_counter() - begin
            self.seconds += taken
            if self.path is not None:
                write(self.path, to_json({"seconds": self.seconds, "parts": self.parts}))
                if sys.stderr.isatty():
                    print(f"  {key}: {taken:.1f} s", file=sys.stderr)
        return self.parts[key]


def run(
    name: str,
    folders: Folders,
    *,
    quick: bool = False,
    settings: dict[str, Any] | None = None,
    root: Path = ROOT,
) -> None:
    """Compute the results of an experiment and write them.

    Parameters
    ----------
    name : str
        The experiment.
    folders : Folders
        Where results and finished parts go.
    quick : bool, default False
        Whether to run the small version.
    settings : dict or None, default None
        Other values of constants of the module.
    root : Path
        The folder that has the folder of experiments.
    """
    origin = provenance(name, root)
    what = json.dumps([quick, settings, origin["code"]])
    path = folders.parts / f"{name}-{hashlib.sha256(what.encode()).hexdigest()[:12]}.json"
    context = Context(quick, path)
    begin, before = time.perf_counter(), context.seconds
    if context.parts:
        print(f"{name}: resuming after {len(context.parts)} parts", flush=True)
    results = plain(load(name, settings).compute(context))
    # Of the processes that measured, which may be told to use fewer vectors.
    origin["machine"]["vectors"] = results.get("vectors") or origin["machine"]["vectors"]
    meta = {"quick": quick, "seconds": round(before + time.perf_counter() - begin, 1), **origin}
    write(folders.results / f"{name}.json", to_json({"results": results, "meta": meta}))
    path.unlink(missing_ok=True)


def draw(name: str, folders: Folders, settings: dict[str, Any] | None = None) -> None:
    """Make the figure, and what moves, from the results in the file."""
    results, module = read(folders.results / f"{name}.json")["results"], load(name, settings)
    import matplotlib
    from matplotlib import pyplot as plt

    from experiments._plots import STYLE

    folders.figures.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's matplotlibrc says
        matplotlib.rcParams.update(STYLE)  # type: ignore[arg-type]
        figure = module.plot(results)
        figure.savefig(folders.figures / f"{name}.png", metadata={"Software": None})
        plt.close(figure)
        if hasattr(module, "animate"):
            module.animate(results, folders.figures / f"{name}.gif")
