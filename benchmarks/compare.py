"""Compare the speed of this tree with that of another revision.

``python -m benchmarks.compare REV`` checks REV out into a temporary worktree and runs the same fits
in both trees in turn, each in a fresh process, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks._fits import FITS
from benchmarks._measure import ROOT, machine, measure, spread


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


@contextmanager
def worktree(revision: str, folder: Path) -> Iterator[Path]:
    """Check a revision out for the time of a block."""
    tree = folder / "tree"
    _git("worktree", "add", "--detach", str(tree), revision)
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def compare(
    trees: Sequence[Path], names: Sequence[str], repeat: int, folder: Path
) -> Iterator[tuple[str, list[list[float]]]]:
    """Time fits in some trees in turn.

    Parameters
    ----------
    trees : sequence of Path
    names : sequence of str
        Keys of `benchmarks._fits.FITS`.
    repeat : int
        Processes for each fit and tree.
    folder : Path
        Where each tree gets a disk cache of its own.

    Yields
    ------
    name : str
    seconds : list of list of float
        For each tree, in the order of its processes.
    """
    caches = [folder / f"numba{number}" for number in range(len(trees))]
    for name in names:
        for tree, cache in zip(trees, caches, strict=True):
            measure(tree, name, cache)  # compiles
        seconds: list[list[float]] = [[] for _ in trees]
        for _ in range(repeat):
            for tree, cache, times in zip(trees, caches, seconds, strict=True):
                times.append(measure(tree, name, cache))
        yield name, seconds


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("revision", metavar="REV", help="commit, branch or tag to compare with")
    parser.add_argument("--repeat", type=int, default=5, help="processes for each fit and tree")
    parser.add_argument(
        "--only", action="append", choices=FITS, metavar="NAME", help=", ".join(FITS)
    )
    args = parser.parse_args(argv)
    revision = _git("rev-parse", "--short", args.revision)
    print(machine())
    print(f"{'fit':<16}{revision:>12} {'':<18}{'this tree':>12} {'':<18}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name, worktree(args.revision, Path(name)) as tree:
        trees, names = (tree, ROOT), args.only or list(FITS)
        for fit, (before, after) in compare(trees, names, args.repeat, Path(name)):
            ratio = median(after) / median(before)
            columns = (f"{median(times):12.3f} {spread(times):<18}" for times in (before, after))
            print(f"{fit:<16}{''.join(columns)}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
