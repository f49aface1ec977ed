"""Command line: list the experiments, run them, draw them again, find those to run again."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments._catalog import HERE, ROOT, Experiment, discover
from experiments._store import Output, read, write

#: Quick runs at a time, at most: each has the memory of a small fit.
_MOST_JOBS = 4


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
        ("--fresh", "do not resume an interrupted attempt"),
    ):
        parser.add_argument(flag, action="store_true", help=words)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GROUP",
        help="run a group of an experiment that has groups, and keep its other results; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="run one experiment, into build/set, with another value of a constant of its module; "
        "repeatable",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="run N experiments at a time, whose seconds then mean little; default 1, and with "
        f"--all --quick the number of cores, up to {_MOST_JOBS}",
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write to DIR/results and DIR/figures instead"
    )
    return parser


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())


def _list(experiments: Iterable[Experiment]) -> None:
    rows = [("experiment", "full", "quick", "what it shows")]
    _print_table(rows + [(e.name, e.full_time, e.quick_time, e.summary) for e in experiments])


def _list_stale(experiments: Iterable[Experiment], output: Output) -> None:
    """List the results whose experiment or package has changed since, or may have."""
    from experiments._meta import why_stale

    rows = [("experiment", "measured", "commit", "changed since")]
    for experiment in experiments:
        path = output.document(experiment.name)
        if not path.exists():
            rows.append((experiment.name, "never", "", ""))
            continue
        meta = read(path)["meta"]
        if reason := why_stale(experiment, meta):
            measured = (meta.get("date", "unknown"), meta.get("commit", "unknown"))
            rows.append((experiment.name, *measured, reason))
    if len(rows) == 1:
        print("All results were measured with the present code.")
    else:
        _print_table(rows)


# --- constants that are set ---


class _Changed(Experiment):
    """A copy of an experiment that the folder of its results has, as its processes import it."""

    def claims(self, results: dict[str, Any]) -> list[Any]:
        """Say nothing: criteria are those of the published values."""
        return []

    def sources(self) -> list[Path]:
        """Return the copy, and the helpers of the experiment that it was made of."""
        original = Experiment(HERE / self.path.name, self.summary, "", "")
        return [self.path, *(original.sources()[1:] if original.path.exists() else [])]

    def load(self) -> ModuleType:
        """Import the copy by its own name."""
        import matplotlib

        matplotlib.use("Agg")
        folder = str(self.path.parent)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        return importlib.import_module(self.name)


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any, Any, Any]]:
    """Give the constants of a module: name, value, and where the value is."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target: Any = node.targets[0] if isinstance(node, ast.Assign) else node.target
        found: list[tuple[Any, ...]] = [(target, node.value, vars(node), "value")]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = node.value.elts
            pairs = zip(target.elts, values, strict=True)
            found = [(name, value, values, at) for at, (name, value) in enumerate(pairs)]
        for name, value, place, at in found:
            if isinstance(name, ast.Name) and name.id.isupper() and name.id[0] != "_":
                yield name.id, value, place, at


def _changed(experiment: Experiment, settings: Sequence[str], folder: Path) -> Experiment:
    """Copy an experiment, with other values of its constants and of what is made of them.

    Raises
    ------
    ValueError
        If a constant is not there, or a value cannot be read.
    """
    tree = ast.parse(experiment.path.read_bytes())
    known = {name: where for name, *where in _constants(tree) if not name.endswith("_TIME")}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            names = ", ".join(sorted(known))
            raise ValueError(f"--set must be of one of {names} in {experiment.name}, got {name}.")
        before, place, at = known[name]
        words = text.split(",")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            if not all(map(str.isidentifier, words)):
                raise ValueError(f"--set {name} must be a value of Python, got {text!r}.") from None
            value = tuple(words) if len(words) > 1 else text
        value = tuple(value) if isinstance(value, list) else value
        # One is a list of one.
        alone = isinstance(before, ast.Tuple) and not isinstance(value, tuple)
        place[at] = ast.parse(repr((value,) if alone else value), mode="eval").body
    path = folder / experiment.path.name
    write(path, ast.unparse(tree))
    told = ", ".join(settings)
    return _Changed(**vars(replace(experiment, path=path, full_time=told, quick_time=told)))


# --- the command line ---


def _error(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


def _jobs(args: argparse.Namespace) -> int:
    """Return how many experiments to run at a time."""
    if args.jobs is not None:
        return int(args.jobs)
    if not (args.all and args.quick):
        return 1
    from joblib import cpu_count

    return min(cpu_count(), _MOST_JOBS)


def _resume_command(args: argparse.Namespace, names: Sequence[str]) -> str:
    options = ["--quick"] if args.quick else []
    options += ["--figures-only"] if args.figures_only else []
    options += [word for group in args.only for word in ("--only", group)]
    options += [word for setting in args.set for word in ("--set", setting)]
    options += ["--jobs", str(n_jobs)] if (n_jobs := _jobs(args)) > 1 else []
    options += ["--output", str(args.output)] if args.output else []
    return shlex.join(["python", "-m", "experiments", *names, *options])


def _output(args: argparse.Namespace, folder: Path, root: Path) -> Output:
    """Choose the folders to write to, and keep other runs away from the full results."""
    published = Output(folder / "results", root / "figures", root / "build" / "partial")
    if args.output:
        output = Output(*(args.output / name for name in ("results", "figures", "partial")))
    elif args.quick or args.set:
        own = root / "build" / ("set" if args.set else "quick")
        partial = own / "partial" if args.set else published.partial
        output = Output(own / "results", own / "figures", partial)
    else:
        return published
    both = ((output.results, published.results), (output.figures, published.figures))
    if (args.quick or args.set) and any(own.resolve() == full.resolve() for own, full in both):
        raise ValueError(
            f"--{'set' if args.set else 'quick'} must not overwrite full results: choose another "
            f"--output than {args.output}."
        )
    return output


def main(argv: Sequence[str] | None = None, *, folder: Path = HERE, root: Path = ROOT) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None
        Arguments; ``None`` takes those of the process.
    folder : Path
        Where the experiments are; full results go to its sub-folder ``results``.
    root : Path
        Full figures go to its sub-folder ``figures``, all else to ``build``.

    Returns
    -------
    int
        Exit code: 0, 1 if results for a figure are missing, 2 for a usage error, 130 after
        Ctrl-C.
    """
    args = _parser().parse_args(argv)
    experiments = discover(folder)
    unknown = [name for name in args.names if name not in experiments]
    if unknown:
        known = ", ".join(experiments) or "none"
        return _error(f"Unknown experiment {', '.join(unknown)}; there are: {known}.")
    everything = args.all or not args.names
    names = list(experiments if everything else dict.fromkeys(args.names))
    try:
        output = _output(args, folder, root)
        if args.set and (everything or len(names) > 1):
            raise ValueError("--set must be of one experiment.")
        if args.set and (args.quick or args.only):
            other = "--quick" if args.quick else "--only"
            raise ValueError(f"--set must not go with {other}: a changed copy is run whole.")
        if args.set:
            changed = _changed(experiments[names[0]], args.set, output.results)
            experiments = {changed.name: changed}
    except ValueError as error:
        return _error(str(error))
    if args.stale:
        _list_stale([experiments[name] for name in names], output)
        return 0
    if args.text:
        from experiments._text import write_all

        for path in write_all(root, folder):
            print(f"written: {path.relative_to(root)}")
        return 0
    if not args.names and not args.all:
        _list(experiments.values())
        return 0
    if args.jobs is not None and args.jobs < 1:
        return _error(f"--jobs must be at least 1, got {args.jobs}.")
    from experiments._run import Work, each

    made: dict[str, bool] = {}
    try:
        options = (args.quick, args.fresh, tuple(args.only), args.figures_only)
        work = Work(experiments, output, *options)
        for name, drawn in each(work, names, _jobs(args)):
            made[name] = drawn
    except KeyboardInterrupt:
        command = _resume_command(args, [name for name in names if name not in made])
        print(f"\nInterrupted; finished parts are kept: resume with `{command}`.", file=sys.stderr)
        return 130
    return 0 if all(made.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
