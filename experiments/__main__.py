"""Command line: list the experiments, run them, draw them again, find those to run again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments._run import ROOT, Folders, code, discover, draw, load, read, run, setting


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run experiments: results go to experiments/results, figures to figures.  "
        "Without names, list them.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run")
    for flag, words in (
        ("--all", "run all of them"),
        ("--quick", "run a small version, into build/quick"),
        ("--figures-only", "make the figures from results at hand"),
        ("--stale", "list the results that other code measured"),
        ("--text", "write the numbers of README and docs from the results"),
    ):
        parser.add_argument(flag, action="store_true", help=words)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="run one experiment, into build/set, with another value of a constant of its module; "
        "repeatable",
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write to DIR/results and DIR/figures instead"
    )
    return parser


def _folders(args: argparse.Namespace, root: Path) -> Folders:
    """Choose the folders to write to, and keep other runs away from the full results."""
    published = Folders(root / "experiments" / "results", root / "figures", root / "build/partial")
    if not (args.output or args.quick or args.set):
        return published
    what = "set" if args.set else "quick"
    folder = args.output or root / "build" / what
    if (args.quick or args.set) and folder.resolve() in (root.resolve(), root / "experiments"):
        raise ValueError(
            f"--{what} must not overwrite full results: choose another --output than {folder}."
        )
    return Folders(folder / "results", folder / "figures", folder / "partial")


def _list(experiments: dict[str, str]) -> None:
    width = max(map(len, experiments), default=0)
    for name, summary in experiments.items():
        print(f"{name.ljust(width)}  {summary}")


def _list_stale(names: Sequence[str], folders: Folders, root: Path) -> None:
    """List the results that other code measured than the present one."""
    stale = False
    for name in names:
        path = folders.results / f"{name}.json"
        meta = read(path)["meta"] if path.exists() else {}
        measured, now = meta.get("code", {}), code(name, root)
        changed = [part for part in now if measured.get(part) != now[part]]
        if changed:
            stale = True
            when = f"measured {meta['date']} at {meta.get('commit')}" if meta else "never measured"
            print(f"{name}: {when}; changed since: {' and '.join(changed)}")
    if not stale:
        print("All results were measured with the present code.")


def _run_all(
    names: list[str],
    args: argparse.Namespace,
    folders: Folders,
    settings: dict[str, Any] | None,
    root: Path,
) -> int:
    """Run and draw experiments one after the other; return the exit code."""
    experiments = discover(root)
    for name in names:
        document = folders.results / f"{name}.json"
        try:
            if not args.figures_only:
                print(f"{name}: {experiments[name]}", flush=True)
                run(name, folders, quick=args.quick, settings=settings, root=root)
            elif not document.exists():
                print(f"{name}: no results in {folders.results}, run it first", file=sys.stderr)
                return 1
            draw(name, folders, settings)
        except KeyboardInterrupt:
            left = "finished parts are kept for when it is run again"
            print(f"\nInterrupted in {name}: {left}.", file=sys.stderr)
            return 130
        print(f"{name}: written to {folders.figures / name}.png", flush=True)
        module = load(name)
        # A small version, or one with other constants, decides nothing.
        if hasattr(module, "claims") and not (args.quick or args.set or args.figures_only):
            print(*module.claims(read(document)["results"]), sep="\n", flush=True)
    return 0


def main(argv: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None
        Arguments; ``None`` takes those of the process.
    root : Path
        The folder that has the folders of experiments, figures and documentation.

    Returns
    -------
    int
        Exit code: 0, 1 if results for a figure are missing, 2 for a usage error, 130 after
        Ctrl-C.
    """
    parser = _parser()
    args = parser.parse_args(argv)
    experiments = discover(root)
    unknown = [name for name in args.names if name not in experiments]
    try:
        if unknown:
            known = ", ".join(experiments) or "none"
            raise ValueError(f"Unknown experiment {', '.join(unknown)}; there are: {known}.")
        if args.set and (len(args.names) != 1 or args.all or args.quick):
            raise ValueError("--set must be of one experiment, without --quick.")
        folders = _folders(args, root)
        settings = dict(setting(args.names[0], each) for each in args.set) or None
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    everything = args.all or not args.names
    names = list(experiments if everything else dict.fromkeys(args.names))
    if args.stale:
        _list_stale(names, folders, root)
    elif args.text:
        from experiments._results import write_all

        for path in write_all(root):
            print(f"written: {path.relative_to(root)}")
    elif args.names or args.all:
        return _run_all(names, args, folders, settings, root)
    else:
        _list(experiments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
