"""Experiments: their form, and a list of them.

An experiment is a module of this folder (its name without a leading underscore) with

- a docstring whose first line says what it shows, and the strings ``FULL_TIME`` and
  ``QUICK_TIME``, about how long it takes;
- ``compute(context: ExperimentContext) -> dict``: the results, in what JSON can hold and numpy
  arrays;
- ``plot(results: dict) -> Figure``: a pure function of the results *as read back from the file*,
  so that the figure can be made again without computing: arrays have become lists, keys strings,
  and numbers that are not finite None (which ``np.asarray(x, dtype=float)`` turns into NaN);
- if a source claims something that it tests, ``claims(results: dict) -> list[Claim]``, as pure a
  function: what came out, in sentences whose numbers are those of the results. Helpers of it begin
  with ``_told``;
- if something moves, ``animate(results: dict, stem: Path)``, which writes files of that name beside
  the figure.

A list of flat dictionaries under the key ``"table"`` is written as a CSV file too; a value under
``"seeds"`` is noted in the metadata, and one under ``"vectors"`` in place of this process's.

How an experiment is run and drawn is left to `experiments._run`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments._claims import Claim

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

#: Helpers that take part in no result.
TELLING = {"_claims", "_plots", "_run"}


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

    def sources(self) -> list[Path]:
        """Return the files that its results depend on: its own, and those that it needs."""
        found = [self.path]
        for path in found:  # which grows, as helpers import helpers
            names = [name for node in ast.parse(path.read_bytes()).body for name in imported(node)]
            needed = [path.with_name(f"{name}.py") for name in names if name not in TELLING]
            found += [one for one in needed if one.exists() and one not in found]
        return found

    def claims(self, results: dict[str, Any]) -> list[Claim]:
        """Return what the experiment says of the claims that it tests; nothing without claims."""
        tell = getattr(self.load(), "claims", None)
        return [] if tell is None else list(tell(results))

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


def imported(node: ast.stmt) -> list[str]:
    """Return the modules of this folder that a statement imports."""
    if not isinstance(node, ast.ImportFrom):
        return []
    module = node.module or ""
    if module == "experiments":
        return [alias.name for alias in node.names]
    return [module.removeprefix("experiments.")] if module.startswith("experiments.") else []


def discover(folder: Path = HERE) -> dict[str, Experiment]:
    """Find the experiments of a folder, by name."""
    paths = sorted(folder.glob("[!_]*.py"))
    return {path.stem: Experiment.read(path) for path in paths}
