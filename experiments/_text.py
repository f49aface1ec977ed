"""Text with numbers in README and documentation, written from the results.

A block stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, each on a line of its
own. ``python -m experiments --text`` writes what the function of that name returns (BLOCKS in
`experiments._text_blocks`) between them; a test fails where text and results differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments._catalog import Experiment, discover
from experiments._claims import Claim
from experiments._meta import experiment_changed
from experiments._store import read, write

Block = Callable[["Documents"], str]

_BLOCK = re.compile(
    r"^<!-- begin: (?P<name>[\w-]+) -->\n(?P<text>.*?)^<!-- end: (?P=name) -->$", re.M | re.S
)
_MARKER = re.compile(r"^<!-- (?:begin|end): (?P<name>[\w-]+) -->$", re.M)


class Documents:
    """All results at hand, with their origin, and what the experiments say of them.

    Parameters
    ----------
    folder : Path
        The experiments; results are in its sub-folder ``results``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, dict[str, Any]] = {}

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments of the folder that have results, by name."""
        found = discover(self._folder)
        return {name: found[name] for name in found if self._path(name).exists()}

    def _path(self, name: str) -> Path:
        return self._folder / "results" / f"{name}.json"

    def _document(self, name: str) -> dict[str, Any]:
        if name not in self._read:
            self._read[name] = read(self._path(name))
        return self._read[name]

    def __contains__(self, name: str) -> bool:
        """Say whether an experiment has results."""
        return name in self.experiments

    def results(self, name: str) -> dict[str, Any]:
        """Return the results of an experiment."""
        found: dict[str, Any] = self._document(name)["results"]
        return found

    def meta(self, name: str) -> dict[str, Any]:
        """Return where the results of an experiment come from."""
        found: dict[str, Any] = self._document(name)["meta"]
        return found

    def changed(self, name: str) -> bool:
        """Say whether an experiment's own code has changed since, or may have."""
        return experiment_changed(self.experiments[name], self.meta(name))

    @cached_property
    def _newest_package(self) -> str:
        """The package that measured last."""
        codes = [
            (meta.get("date", ""), meta.get("time", ""), meta["code"]["package"])
            for meta in map(self.meta, self.experiments)
            if "code" in meta and meta["code"]["package"] != "mixed"
        ]
        return max(codes, default=("", "", ""))[-1]

    def older(self, name: str) -> bool:
        """Say whether results were measured by other code than the present or the newest one.

        This is the test of ``--stale``, but that the package is held against the one that the
        newest results were measured with: what is written does not change with every commit.
        """
        package = self.meta(name).get("code", {}).get("package")
        return self.changed(name) or package != self._newest_package

    def claims(self, name: str) -> list[Claim] | None:
        """Return what an experiment says; None if its results are of an older form."""
        try:
            return self.experiments[name].claims(self.results(name))
        except (KeyError, StopIteration):
            if not self.changed(name):
                raise
            return None


def pages(root: Path) -> list[Path]:
    """Return the pages that may have blocks."""
    docs = root / "docs"
    return [root / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("findings/*.md"))]


def render(page: str, blocks: dict[str, Block], documents: Documents) -> str:
    """Fill the blocks of a page.

    Parameters
    ----------
    page : str
        Text with markers.
    blocks : dict
        A function of the documents by the name of a block.
    documents : Documents
        The results.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a marker has no partner, or its name is not a block's.
    """

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in blocks:
            raise ValueError(f"there is no block {name!r}; there are: {', '.join(blocks)}")
        try:
            text = blocks[name](documents).strip("\n")
        except FileNotFoundError:  # results, while experiments are run anew
            text = "Not measured yet."
        middle = f"{text}\n" if text else ""
        return f"<!-- begin: {name} -->\n{middle}<!-- end: {name} -->"

    filled = _BLOCK.sub(fill, page)
    left = _MARKER.search(_BLOCK.sub("", page))
    if left:
        raise ValueError(f"the marker {left[0]!r} has no partner")
    return filled


def outside(page: str) -> str:
    """Return a page without its generated blocks, each line where it was."""
    return _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), page)


def write_all(root: Path, folder: Path) -> list[Path]:
    """Fill the blocks of all pages.

    Parameters
    ----------
    root : Path
        Folder of README and documentation.
    folder : Path
        The experiments.

    Returns
    -------
    list of Path
        The pages that have changed.
    """
    from experiments._text_blocks import BLOCKS

    documents, changed = Documents(folder), []
    for path in pages(root):
        if not path.exists():
            continue
        before = path.read_text(encoding="utf-8")
        after = render(before, BLOCKS, documents)
        if after != before:
            write(path, after)
            changed.append(path)
    return changed
