"""``kpegasos tune``: the search over C and the kernel's parameters.

Values are numbers, lists, powers from one to another: ``0.1,1,10`` is a list, ``2^-5:15:2`` are the
powers of 2 with the exponents -5, -3 up to 15, and ``scale`` and ``auto`` are left for the search
to resolve. ``-5,15,2`` after ``-log2c`` is what LIBSVM's grid.py takes.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kpegasos import cli
from kpegasos.cli import train

if TYPE_CHECKING:
    from kpegasos import PegasosSVCCV
    from kpegasos.cli.models import Fit

SUMMARY = "choose C and the kernel's parameters by cross-validation on shared kernel values"
USAGE = "kpegasos tune [options] DATA [MODEL]"
EPILOG = """\
Values are numbers, lists of them (0.1,1,10) and powers of 2 or 10 from one exponent to another
(2^-5:15:2). Ctrl-C leaves what is done in the file of --resume. Exit statuses: 0; 1 for data at
fault; 2 for arguments that are; 3 if --strict and the model has not reached --tol; 130 after
Ctrl-C."""

# --- options: those that are parameters of `PegasosSVCCV` have their names as `dest` ---

#: Of LIBSVM's ``-w1 5``.
prepared = train.prepared


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what a search takes."""
    cli.add_data(parser)
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="file to write the best model to, trained on all examples; none unless given",
    )
    _add_values(parser.add_argument_group("values"))
    group = parser.add_argument_group("search")
    add = group.add_argument
    add("-v", "--folds", type=cli.integer_from(2), default=5, metavar="N", help="5 unless given")
    add(
        "--metric",
        dest="scoring",
        default="accuracy",
        metavar="NAME",
        help="a name of scikit-learn's scorers, of labels or decisions; accuracy unless given",
    )
    add(
        "-e",
        "--tol",
        type=cli.positive,
        default=0.01,
        metavar="GAP",
        help="certified relative gap of each cell and of the model; 0.01 unless given",
    )
    cli.add_run_options(group)
    train.add_weights(group)
    add(
        "--resume",
        metavar="FILE",
        help="what is done is kept there, and another call with the same data and values goes on",
    )
    output = parser.add_argument_group("files and reports")
    output.add_argument("--plot", metavar="FILE", help="a picture of the scores: png, pdf, svg")
    output.add_argument("--results", metavar="FILE", help="a table of all cells: CSV")
    cli.add_data_options(output)
    cli.add_model_options(output)
    cli.add_report_options(output, "json", "quiet")
    # What a training is asked besides.
    parser.set_defaults(regression=False, probability=False)


def _add_values(group: argparse._ArgumentGroup) -> None:
    """Tell a parser of the kernels whose rows can be read from a file, and of their parameters."""
    kernels = [name for name in cli.KERNELS if name not in ("precomputed", "polynomial")]
    group.add_argument("--kernel", choices=kernels, default="rbf", help="rbf unless given")

    def add(name: str, dest: str, read: Any, help: str, **options: Any) -> None:
        options.setdefault("metavar", "VALUES")
        group.add_argument(name, dest=dest, type=read, help=help, **options)

    gamma = "scale and auto are values too; scale times 1/16, 1/4, 1, 4 and 16 unless given"
    coef0 = "of the polynomial and the sigmoid kernel; 0 unless given"
    add("--C", "Cs", positive_numbers, "five from 0.1 to 1,000 unless given")
    add("--gamma", "gammas", gammas, gamma)
    add("--degree", "degrees", degrees, "of the polynomial kernel; 3 unless given", default=[3])
    add("--coef0", "coef0s", numbers, coef0, default=[0.0])
    exponents = "exponents of 2, as grid.py takes them; null for C = 1"
    add("-log2c", "Cs", log2_of_C, exponents, metavar="BEGIN,END,STEP")
    exponents = "the same of gamma; null for one divided by the number of features"
    add("-log2g", "gammas", log2_of_gamma, exponents, metavar="BEGIN,END,STEP")


# --- values ---

#: Most values of one parameter, as in `PegasosSVCCV`.
_MOST_VALUES = 1000
Value = float | str


def numbers(text: str) -> list[Value]:
    """Read numbers of a list, whose members may be ranges of powers."""
    return _different(text, [value for part in text.split(",") for value in _members(part)])


def positive_numbers(text: str) -> list[Value]:
    """Read numbers above zero, as values of C are."""
    values = numbers(text)
    for value in values:
        if not float(value) > 0.0:
            raise argparse.ArgumentTypeError(f"must be positive, got {value:g} in {text!r}")
    return values


def gammas(text: str) -> list[Value]:
    """Read numbers above zero, ``scale`` and ``auto``."""
    found: list[Value] = []
    for part in text.split(","):
        word = part.strip()
        found += [word] if word in ("scale", "auto") else positive_numbers(part)
    return _different(text, found)


def degrees(text: str) -> list[int]:
    """Read integers that are not negative."""
    values = [float(value) for value in numbers(text)]
    for value in values:
        if value < 0 or not value.is_integer():
            raise argparse.ArgumentTypeError(
                f"must be integers that are not negative, got {value:g} in {text!r}"
            )
    return [int(value) for value in values]


def log2_of_C(text: str) -> list[Value]:
    """Read values of C as grid.py has them; LIBSVM's default, 1, if they are ``null``."""
    return [1.0] if text == "null" else _powers_of_two(text)


def log2_of_gamma(text: str) -> list[Value]:
    """Read values of gamma as grid.py has them; LIBSVM's default, ``auto``, for ``null``."""
    return ["auto"] if text == "null" else _powers_of_two(text)


def _powers_of_two(text: str) -> list[Value]:
    """Read what ``begin,end,step`` means to grid.py."""
    parts = text.split(",")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f"must be begin,end,step or null, got {text!r}")
    return _different(text, _powers(text, "2", parts))


def _members(text: str) -> list[Value]:
    """Read a number, a power, or a range of powers."""
    base, hat, exponents = text.strip().partition("^")
    return _powers(text, base, exponents.split(":")) if hat else [_number(text, base)]


def _powers(text: str, base: str, exponents: list[str]) -> list[Value]:
    """Make powers of 2 or 10 with the exponents from one to another."""
    if base not in ("2", "10"):
        raise argparse.ArgumentTypeError(f"must have powers of 2 or 10, got {text!r}")
    if len(exponents) > 3:
        raise argparse.ArgumentTypeError(f"must be base^begin:end:step, got {text!r}")
    begin, *others = (_number(text, exponent) for exponent in exponents)
    end = others[0] if others else begin
    step = others[1] if len(others) > 1 else math.copysign(1.0, end - begin)
    if step == 0.0 or (end - begin) / step < 0.0:
        raise argparse.ArgumentTypeError(
            f"must have a step that leads from {begin:g} to {end:g}, got {step:g} in {text!r}"
        )
    n_steps = (end - begin) / step + 1e-9  # which the last step may miss the end by
    if n_steps >= _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"must have at most {_MOST_VALUES} values, got {text!r}")
    return [_power(int(base), begin + k * step) for k in range(int(n_steps) + 1)]


def _power(base: int, exponent: float) -> float:
    # 10.0**-1 is 0.1 to the last bit, where other exponents may differ from what is written.
    is_decimal = base == 10 and exponent.is_integer()
    try:
        power = float(f"1e{exponent:g}") if is_decimal else float(base**exponent)
    except OverflowError:
        power = math.inf
    if not 0.0 < power < math.inf:
        raise argparse.ArgumentTypeError(f"must have finite powers, got {base}^{exponent:g}")
    return power


def _number(text: str, word: str) -> float:
    """Read a finite number; ``1_000`` is none outside of Python."""
    try:
        number = math.nan if "_" in word else float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(
            f"must be numbers, a list of them or powers as 2^-5:15:2, got {text!r}"
        )
    return number


def _different(text: str, values: list[Value]) -> list[Value]:
    if len(values) > _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"must have at most {_MOST_VALUES} values, got {text!r}")
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"must have different values, got one twice in {text!r}")
    return values


# --- the search ---


def run(options: argparse.Namespace) -> int:
    """Search, write what is asked for, and say what was found; returns the exit status."""
    _check(options)
    table = cli.files.read_data(options)
    X, y = table.X, cli.files.labels_of(table, options.data)
    cli.files.refuse_one_class(y, options.data)
    place = None if options.model is None else cli.models.place_of(options, y)
    # Indices, which can be kept beside what is done.
    search = _search_of(list(cli.models.folds_for(y, options).split(X, y)), options)
    search.class_weight = train.class_weight_of(options, y)
    fit = _fitted(search, X, y, options)
    if place is not None and fit.model is not None:
        cli.models.write_model(place, fit.model)
    _write(search, options)
    if not options.quiet:
        _report(search, fit, options)
    if fit.interrupted:
        kept = f", {options.resume} has what is done" if options.resume is not None else ""
        missing = f"{len(search.missing_)} of {search.scores_.size} cells missing"
        print(f"kpegasos tune: stopped by Ctrl-C with {missing}{kept}", file=sys.stderr)
        return cli.INTERRUPTED
    if not hasattr(search, "best_params_"):
        raise ValueError("--max-time was too short for a cell to be complete in all folds")
    gap = (
        cli.models.worst_gap(search.best_estimator_) if hasattr(search, "best_estimator_") else 0.0
    )
    # NaN, where nothing is certified, has not been reached.
    reached = (search.relative_gaps_ <= search.tol).all() and gap <= search.tol
    return cli.UNREACHED if options.strict and (search.missing_ or not reached) else 0


def _check(options: argparse.Namespace) -> None:
    """Find out before long work what cannot be done."""
    from matplotlib.backend_bases import FigureCanvasBase

    from kpegasos.model_selection.scoring import make_scorer_of

    train.check_weights(options)
    try:
        make_scorer_of(options.scoring)
    except ValueError as error:
        raise cli.UsageError(str(error).replace("scoring", "--metric", 1)) from None
    if options.plot is not None:
        known = sorted(FigureCanvasBase.get_supported_filetypes())
        if _suffix(options.plot) not in known:
            raise cli.UsageError(
                f"--plot must end in one of {', '.join(known)}, got {options.plot!r}"
            )
        if options.Cs is not None and len(options.Cs) < 2:
            raise cli.UsageError("--plot must come with at least two values of C, got one")
    if options.resume == cli.STANDARD:
        raise cli.UsageError("--resume must be the name of a file, got '-'")
    outputs = {f"--{name}": getattr(options, name) for name in ("resume", "results", "plot")}
    if options.model is not None:
        outputs = {"MODEL": cli.models.place_of(options, None).path, **outputs}
    cli.files.check_outputs(outputs, options.data)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower().removeprefix(".")


def _search_of(folds: list[tuple[Any, Any]], options: argparse.Namespace) -> PegasosSVCCV:
    """Make the search that was asked for, with what is done of it.

    Raises
    ------
    OSError, ValueError
        Naming the file that is to be gone on from.
    """
    from kpegasos import PegasosSVCCV, load

    search = PegasosSVCCV()
    # Parameters that are not given have their defaults, whatever they were.
    parameters = search.get_params() | cli.parameters_among(options, search)
    parameters |= {
        "cv": folds,
        "refit": options.model is not None,
        "warm_start": options.resume is not None,
        "verbose": cli.models.shows_progress(options.quiet),
    }
    if options.resume is not None and os.path.exists(options.resume):
        search = load(options.resume)
        if not isinstance(search, PegasosSVCCV) or getattr(search, "_states", None) is None:
            got = type(search).__name__
            raise ValueError(f"{options.resume}: must be what --resume has written, got a {got}")
    return search.set_params(**parameters)


def _fitted(search: PegasosSVCCV, X: Any, y: Any, options: argparse.Namespace) -> Fit:
    """Search, and keep what is done; the model is the best one, behind its scaling.

    Raises
    ------
    KeyboardInterrupt
        If it came before there was anything to keep.
    ValueError
        If the file to go on from holds another search.
    """
    from sklearn.pipeline import make_pipeline

    from kpegasos import save
    from kpegasos.model_selection.search import OtherSearchError

    whole = cli.models.with_scaling(search, options.scale, X)
    try:
        fit = cli.models.run_fit(whole, lambda: whole.fit(X, y))
    except OtherSearchError:
        raise ValueError(
            f"{options.resume}: holds another search; data, weights, values, folds, metric, "
            f"kernel and --tol must be the same"
        ) from None
    search.verbose = False  # of this call, and no part of what is kept
    if options.resume is not None:
        save(search, options.resume)
    best = getattr(search, "best_estimator_", None)
    if best is None:
        return fit._replace(model=None)
    best.verbose = False
    return fit._replace(model=best if whole is search else make_pipeline(whole[0], best))


# --- what is written and said ---


def _write(search: PegasosSVCCV, options: argparse.Namespace) -> None:
    """Write the table and the picture, as far as they are asked for and there."""
    import numpy as np

    if options.results is not None:
        columns = {name: each for name, each in search.cv_results_.items() if name != "params"}
        rows = zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)
        cli.files.write_csv(options.results, [columns, *rows])
    if options.plot is not None and hasattr(search, "best_params_"):
        cli.files.write_by(options.plot, lambda name: _draw(search, name, _suffix(options.plot)))


def _draw(search: PegasosSVCCV, name: str, suffix: str) -> None:
    """Draw scores over C and gamma, or over C where there is one gamma, into a file."""
    from matplotlib.figure import Figure

    from kpegasos.plotting import RegularizationPathDisplay, ValidationSurfaceDisplay
    from kpegasos.utils.files import opened_whole

    figure, panels = Figure(figsize=(10.0, 4.5), layout="constrained"), ("score", "support_size")
    surface = len(getattr(search, "gammas_", ())) > 1
    display: Any = ValidationSurfaceDisplay if surface else RegularizationPathDisplay
    display.from_estimator(search, panels=panels, ax=figure.subplots(1, len(panels)))
    with opened_whole(name) as file:
        figure.savefig(file, format=suffix)


def _report(search: PegasosSVCCV, fit: Fit, options: argparse.Namespace) -> None:
    """Say what was found, on the standard output if nothing else goes there.

    The line of the chosen values and their score is the last one of LIBSVM's grid.py, such as
    "8.0 0.03125 94.8"; C comes first, then what else the kernel has.
    """
    out = sys.stderr if cli.STANDARD in (options.model, options.results) else sys.stdout
    if options.json:
        model = {} if fit.model is None else {"model": cli.models.facts_of_model(fit.model)}
        cli.files.print_json({**_facts_of(search), "seconds": fit.seconds, **model}, out)
        return
    if out.isatty():
        for line in cli.files.table_lines(list(_cells(search))):
            print(line, file=out)
    if hasattr(search, "best_params_"):
        score = _shown_score(search.best_score_, search.scoring)
        print(*map(repr, search.best_params_.values()), score, file=out)
    print(_certified_line(search, fit.seconds), file=out)
    if fit.model is not None:
        print(cli.models.closing_line(fit.model, search.refit_time_), file=out)


def _facts_of(search: Any) -> dict[str, Any]:
    """Return what ``--json`` tells of a search."""
    results = search.cv_results_
    columns = {
        "mean_score": results["mean_test_score"],
        "std_score": results["std_test_score"],
        "largest_relative_gap": results["max_relative_gap"],
        "mean_n_support": results["mean_n_support"],
    }
    cells = [
        {**parameters, **{name: values[row] for name, values in columns.items()}}
        for row, parameters in enumerate(results["params"])
    ]
    return {
        **cli.models.facts_of_search(search),
        "n_folds": search.n_splits_,
        "kernel_evaluations": search.kernel_evaluations_,
        "cells": cells,
    }


def _cells(search: Any) -> Iterator[list[str]]:
    """Give rows of a table of the cells, the titles and then the best cell first."""
    results, metric = search.cv_results_, search.scoring
    names = [name.removeprefix("param_") for name in results if name.startswith("param_")]
    score = f"{metric} %" if metric == "accuracy" else metric
    yield [*names, score, "deviation", "largest gap", "support"]

    def shown_or_dash(column: str, row: int, shown: Callable[[float], str]) -> str:
        value = results[column][row]
        return "–" if math.isnan(value) else shown(value)

    for row in results["rank_test_score"].argsort(kind="stable").tolist():
        yield [
            *(f"{results[f'param_{name}'][row]:.6g}" for name in names),
            *(
                shown_or_dash(
                    f"{kind}_test_score", row, lambda score: _shown_score(score, metric, 4)
                )
                for kind in ("mean", "std")
            ),
            shown_or_dash("max_relative_gap", row, cli.files.percent),
            shown_or_dash("mean_n_support", row, "{:.0f}".format),
        ]


def _shown_score(score: float, metric: str, digits: int = 6) -> str:
    """Say a score: accuracies are percentages, as in grid.py, and others what they are."""
    return f"{100.0 * score if metric == 'accuracy' else score:.{digits}g}"


def _certified_line(search: Any, seconds: float) -> str:
    """Say how many cells are done, and how exactly."""
    facts = cli.models.facts_of_search(search)
    n_cells, n_missing, gap = (
        facts[name] for name in ("n_cells", "n_missing", "largest_relative_gap")
    )
    done = f"{n_cells - n_missing} of {n_cells} cells" if n_missing else f"{n_cells} cells"
    certified = "no certified gaps"
    if gap is not None:
        certified = f"each within {cli.files.percent(gap)} of its optimum (certified)"
    return f"{done}, {certified}, {cli.files.shown_seconds(seconds)}"
