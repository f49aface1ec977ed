"""The program `kpegasos`: fits, predictions and searches from files, in a shell.

Lives here: a file for each command, with a line on what it does (``SUMMARY``), a function
``add_options`` that tells a parser its arguments, ``run``, which takes the parsed ones and returns
the exit status, and where argparse does not know their form a function ``prepared`` that rewrites
them; what commands share: `files` and `models`, and in this module their options and exit statuses;
and the program that puts them together (`main`).
May import: everything; but this module, and a command outside of its functions, the standard
library only, so that ``kpegasos --help`` is there at once. Imported by nothing.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any

#: Exit statuses: data or a model are at fault, or the arguments are; ``--strict`` asked for a
#: tolerance that was not reached; Ctrl-C.
FAILED, MISUSED, UNREACHED, INTERRUPTED = 1, 2, 3, 130
#: The name of the standard input, and of the standard output.
STANDARD = "-"
DATA_FORMATS = ("svmlight", "csv", "tsv", "npz", "npy", "parquet", "arrow")
#: Those of LIBSVM's ``-t``, by number.
LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
KERNELS = (*LIBSVM_KERNELS, "polynomial", "laplacian", "chi2", "additive_chi2", "cosine")


def __getattr__(name: str) -> Any:
    """Import what commands share, and what needs NumPy, when it is first asked for."""
    if name in ("files", "models"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _StandIn(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def import_sklearn() -> None:
    """Import what all of scikit-learn needs, but for two packages of which it uses next to nothing.

    They take half of the time that most commands take. No stand-in stays among the modules.
    """
    absent = {"pandas", "scipy.stats"} - set(sys.modules)
    stand_ins = {name: _StandIn(name) for name in absent if find_spec(name)}
    sys.modules.update(stand_ins)
    try:
        importlib.import_module("sklearn.utils")
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


class UsageError(Exception):
    """Arguments do not go together; the message says which, in one sentence."""


def number(
    text: str, *, least: float = -math.inf, above: float = -math.inf, what: str = "a finite number"
) -> float:
    """Read a finite number, as an argparse type does."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least and value > above):
        raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")
    return value


positive = partial(number, above=0.0, what="a positive number")
not_negative = partial(number, least=0.0, what="a number that is not negative")


def integer_from(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Make a reader of integers from ``least`` to ``most``."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            end = "on" if most == math.inf else f"to {most}"
            raise argparse.ArgumentTypeError(f"must be an integer from {least} {end}, got {text!r}")
        return value

    return read


def _threads(text: str) -> int:
    """Read a number of threads as joblib counts them: -1 is all of them, and 0 is none."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(
            f"must be a number of threads, or -1 for all, got {text!r}"
        )
    return value


def flag(text: str) -> bool:
    """Read LIBSVM's 0 or 1."""
    if text not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"must be 0 or 1, got {text!r}")
    return text == "1"


def add_data(parser: argparse.ArgumentParser) -> None:
    """Tell a parser of the file of examples."""
    parser.add_argument("data", metavar="DATA", help="file of examples; - is the standard input")


def add_data_options(parser: argparse._ActionsContainer) -> None:
    """Tell a parser how the data are read."""
    parser.add_argument(
        "--data-format",
        choices=DATA_FORMATS,
        help="format of DATA, where its suffix or content does not tell; svmlight is LIBSVM's",
    )
    parser.add_argument(
        "--label",
        default="auto",
        metavar="COLUMN",
        help="column of the labels of a table: a name, a number from 0 on, first, last or none",
    )


def add_run_options(group: argparse._ActionsContainer) -> None:
    """Tell a parser of what a training and a search may take, by parameters of estimators."""
    group.add_argument(
        "-m",
        "--memory",
        dest="cache_mb",
        type=positive,
        metavar="MIB",
        help="MiB that kernel values may take",
    )
    group.add_argument("--jobs", dest="n_jobs", type=_threads, help="threads; -1 for all cores")
    group.add_argument("--max-time", type=positive, metavar="SECONDS", help="end after so long")
    group.add_argument(
        "--seed",
        dest="random_state",
        type=integer_from(0, 2**32 - 1),
        default=0,
        help="of the draws and folds; 0 unless given",
    )
    group.add_argument(
        "--scale",
        choices=("minmax", "standard", "maxabs"),
        help="scale the features within the model: to [-1, 1], to mean 0 and variance 1, or by "
        "their largest size",
    )


def add_model_options(parser: argparse._ActionsContainer) -> None:
    """Tell a parser how a model is written, and when its gap is too large."""
    parser.add_argument(
        "--format",
        choices=("libsvm", "native"),
        help="of MODEL; LIBSVM's if its name ends in .model, else native, unless given",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 3 if tol is not reached")


def parameters_among(options: argparse.Namespace, estimator: Any) -> dict[str, Any]:
    """Pick the options that are parameters of an estimator and given, by their `dest`."""
    known, given = estimator.get_params(), vars(options).items()
    return {name: value for name, value in given if name in known and value is not None}


def add_report_options(parser: argparse._ActionsContainer, *names: str) -> None:
    """Tell a parser of ``--json`` and ``--quiet``, as far as they are named."""
    if "json" in names:
        parser.add_argument("--json", action="store_true", help="print one JSON object and no text")
    if "quiet" in names:
        parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
