"""The origin of results: code, commit, versions, machine, date."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from joblib import cpu_count

import kpegasos
from experiments._catalog import ROOT, TELLING, Experiment, imported

#: Where the package shows models, brings them elsewhere, or reads tables of users: no number
#: depends on that.
_SHOWING = ("cli/", "exports/", "playground/", "plotting/", "datasets/tables.py")
#: What is in an experiment, or a helper, that its results do not depend on.
_TELLING = ("plot", "animate", "claims", "quiet_load")
_TIMES = ("FULL_TIME", "QUICK_TIME")
#: Registers in a listing, the widest first, and the vectors that they stand for.
_VECTORS = {"zmm": ["AVX2", "AVX-512"], "ymm": ["AVX2"], ".4s": ["NEON"]}
_ADDITION = """define <16 x i32> @add(<16 x i32> %a, <16 x i32> %b) {
  %c = add <16 x i32> %a, %b
  ret <16 x i32> %c
}"""


def fingerprint(paths: Iterable[Path]) -> str:
    """Hash the code of some files: without comments and docstrings, and without what only tells."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.name}\n{_code_of(path.read_bytes())}\n".encode())
    return digest.hexdigest()[:12]


@cache
def _code_of(source: bytes) -> str:
    """The code of a file that computes; experiments share most of their files."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not _tells(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = node.body[ast.get_docstring(node) is not None :]
    return ast.unparse(tree)


def _tells(node: ast.stmt) -> bool:
    """Say whether a definition, or what an import brings, takes part in no result."""
    if names := imported(node):
        return set(names) <= TELLING
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in _TIMES
    name = getattr(node, "name", "")
    return name in _TELLING or name.startswith("_told")


@cache
def package_fingerprint() -> str:
    """Hash the code of the package, but for what no result depends on."""
    package = ROOT / "kpegasos"
    paths = {path: path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    return fingerprint(path for path, name in paths.items() if not name.startswith(_SHOWING))


@cache
def commit() -> str | None:
    """Describe the commit; ``None`` outside a checkout.

    Asked once, as the results that a process writes make the working tree dirty.
    """
    if not (ROOT / ".git").exists():
        return None
    try:
        describe = ["git", "describe", "--always", "--dirty"]
        done = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def provenance(experiment: Experiment) -> dict[str, Any]:
    """Say what code computes the results of an experiment, when and where."""
    now = datetime.now(UTC)
    origin: dict[str, Any] = {"date": now.date().isoformat(), "time": f"{now:%H:%M}"}
    if commit() is not None:
        origin["commit"] = commit()
    with suppress(ImportError):
        origin["load"] = round(busy_processors(0.2), 2)
    return origin | {"code": _code(experiment), "versions": versions(), "machine": machine()}


def _code(experiment: Experiment) -> dict[str, str]:
    return {"package": package_fingerprint(), "experiment": fingerprint(experiment.sources())}


def why_stale(experiment: Experiment, meta: dict[str, Any]) -> str:
    """Say in what the code has changed since results were measured; ``""`` if in nothing."""
    if "code" not in meta:
        return "unknown"
    now = _code(experiment).items()
    return " and ".join(part for part, code in now if meta["code"].get(part) != code)


def experiment_changed(experiment: Experiment, meta: dict[str, Any]) -> bool:
    """Say whether an experiment's own code has changed since its results were measured."""
    measured: str = meta.get("code", {}).get("experiment", "unknown")
    return measured != fingerprint(experiment.sources())


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the results depend on."""
    names = ["numpy", "numba", "scipy", "scikit-learn"]
    return {
        "kpegasos": kpegasos.__version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def busy_processors(seconds: float) -> float:
    """Return how many processors others keep busy, on average over the seconds that this sleeps.

    A load average would hold what this process did before.
    """
    import psutil

    return float(psutil.cpu_percent(seconds) / 100 * psutil.cpu_count())


def machine() -> dict[str, Any]:
    """Return processor, the vectors that are used, cores at our disposal, and system."""
    return {
        "processor": _processor(),
        "vectors": vectors(),
        "cores": cpu_count(),
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


def vectors() -> list[str]:
    """Return the vectors that numba compiles for, as its environment variables have it.

    LLVM is asked to add two vectors of 512 bits for numba's processor and features, and the
    registers that it takes are looked for: a name like "haswell" does not tell its features.
    """
    import numba
    from llvmlite import binding

    with suppress(RuntimeError):  # LLVM does not know the features of every processor
        binding.initialize_native_target()  # done by numba once something is compiled
        binding.initialize_native_asmprinter()
        config: Any = numba.config
        name, features = config.CPU_NAME, config.CPU_FEATURES
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name() if name is None else name,
            features=binding.get_host_cpu_features().flatten() if features is None else features,
        )
        assembly = machine.emit_assembly(binding.parse_assembly(_ADDITION))
        return next((names for register, names in _VECTORS.items() if register in assembly), [])
    return []
