"""The program: parses the arguments, runs a command, and makes errors sentences.

Letters of options are those of LIBSVM's programs. Only the standard library is imported here, so
that ``kpegasos --help`` is there at once.
"""

from __future__ import annotations

import argparse
import importlib
import io
import math
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import kpegasos

#: What messages of the package advise, in words of the program.
_WORDS = {
    r", as StandardScaler does(, or set polish=True)?": " (--scale standard)",
    r", of which row_dtype='float64' leaves less": "",
    r", polish=False, or LinearPegasosSVC on features of Nystroem": "",
    r"\bdid not reach tol\b": "did not reach -e",
    r"\bmax_time\b": "--max-time",
    r"\bcache_mb\b": "-m",
    r" for cache='\w+'|; use cache='\w+' to keep no rows": "",
}


def main(arguments: Sequence[str] | None = None, ready: Callable[[], object] = int) -> int:
    """Run the program; returns the exit status.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Those of the command line if None.
    ready : callable, default=int
        Called once everything is imported; nothing happens by default.
    """
    options = argparse.Namespace(command="", quiet=False)
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        with _warnings_as_lines(options):
            command = importlib.import_module(f"kpegasos.cli.{options.command}")
            ready()
            status = int(command.run(options))
            print(end="", flush=True)  # so that an error of it is heard of
            return status
    except KeyboardInterrupt:
        _say(options, "stopped by Ctrl-C, nothing was kept")
        return INTERRUPTED
    except (UsageError, OSError, ValueError, TypeError, MemoryError, ImportError) as error:
        if getattr(error, "name", None) is not None:  # a module that is broken
            raise
        _say(options, error)
        return MISUSED if isinstance(error, UsageError) else FAILED


def program() -> NoReturn:
    """Run the program and end the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # imports that it breaks raise other errors
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever read our output has enough
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    status = main(ready=_heed_signals)
    try:
        print(end="", flush=True)
    except OSError:  # it has been said, and Python would try once more
        sys.stdout = None
    sys.exit(status)


def _heed_signals() -> None:
    """Let Ctrl-C raise an error again, and SIGTERM do what it does."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_ctrl_c)


def _as_ctrl_c(signum: int, frame: Any) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


@contextmanager
def _warnings_as_lines(options: argparse.Namespace) -> Iterator[None]:
    """Let a warning be one line of the standard error, or nothing after ``--quiet``."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        if not options.quiet:
            _say(options, message)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _say(options: argparse.Namespace, error: Any) -> None:
    """Print what is wrong, in one line and in words of the program."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror.lower()}"
    for word, ours in _WORDS.items():
        text = re.sub(word, ours, text)
    sentence = " ".join(text.split()) or type(error).__name__
    print(f"{f'kpegasos {options.command}'.strip()}: {sentence}", file=sys.stderr)


# --- arguments ---


#: Exit statuses: data or a model are at fault, or the arguments are; Ctrl-C.
FAILED, MISUSED, INTERRUPTED = 1, 2, 130
#: The name of the standard input, and of the standard output.
STANDARD = "-"
#: By the number of ``-t``.
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

#: What each command does, in the order of the help, and the files that it takes.
COMMANDS = {
    "train": ("train a support vector machine to a certified duality gap", "DATA [MODEL]"),
    "predict": ("predict labels, and compare them with those of the data", "DATA MODEL [OUT]"),
    "tune": ("choose C and gamma by cross-validation on shared kernel values", "DATA [MODEL]"),
    "warm": ("compile for this processor what fits and searches need, on all cores", ""),
}
_EPILOG = """\
DATA is in LIBSVM's format, or a table (.csv, .tsv, .parquet); MODEL is LIBSVM's text, or skops' if
its name ends in .skops, which has a scaling and names of columns, too; - is the standard stream,
except for the MODEL of predict.
Exit status: 1 if a file is at fault, 2 if arguments are, 130 after Ctrl-C or SIGTERM."""


class UsageError(Exception):
    """Arguments do not go together; the message says which, in one sentence."""


def _reader(what: str, fits: Callable[[float], bool], kind: Any = float) -> Callable[[str], Any]:
    """Make a reader of numbers, as an argparse type."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not fits(value):
            raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")
        return value

    return read


_number = _reader("a finite number", lambda value: True)
_positive = _reader("a positive number", lambda value: value > 0)
_not_negative = _reader("a number that is not negative", lambda value: value >= 0)
_degree = _reader("an integer that is not negative", lambda value: value >= 0, int)
_folds = _reader("an integer from 2 on", lambda value: value >= 2, int)
_threads = _reader("a number of threads, or -1 for all", lambda value: value != 0, int)
_seed = _reader("an integer from 0 to 4294967295", lambda value: 0 <= value < 2**32, int)
_flag = _reader("0 or 1", lambda value: value in (0, 1), int)
_kernel_number = _reader("an integer from 0 to 4", lambda value: 0 <= value <= 4, int)
_svm_type = _reader("0 (C-SVC) or 3 (epsilon-SVR)", lambda value: value in (0, 3), int)


def _regression(text: str) -> bool:
    return bool(_svm_type(text) == 3)


def _kernel(text: str) -> str:
    return KERNELS[_kernel_number(text)]


def _gamma(text: str) -> Any:
    return text if text in ("scale", "auto") else _positive(text)


def _list_of(read: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda text: [read(word) for word in text.split(",")]


def _weight(text: str) -> tuple[str, float]:
    label, _, factor = text.rpartition("=")
    return label, _positive(factor)


def _add_data(add: Callable[..., Any]) -> None:
    add("--zero-based", action="store_true", help="columns of LIBSVM's format count from 0")
    help = "column of a table's labels: its name or number; label, target, class or y unless given"
    add("--label", default="auto", metavar="COLUMN", help=help)
    add("--json", action="store_true", help="print one JSON object and no text")


def _add_fit(add: Callable[..., Any]) -> None:
    """Add what a training and a search take."""
    help = "kernel: 0 linear, 1 polynomial, 2 RBF (unless given), 3 sigmoid, 4 precomputed"
    add("-t", dest="kernel", type=_kernel, default="2", metavar="0..4", help=help)
    add("-d", dest="degree", type=_degree, default=3, metavar="D", help="of -t 1; 3 unless given")
    add("-r", dest="coef0", type=_number, default=0.0, metavar="R", help="of -t 1 and 3; 0")
    add("-m", dest="cache_mb", type=_positive, metavar="MIB", help="that kernel values may take")
    help = "factor of C for a class; -wLABEL FACTOR is the same"
    add("--weight", action="append", type=_weight, default=[], metavar="LABEL=FACTOR", help=help)
    help = "scale the features, within the model"
    add("--scale", choices=("minmax", "standard", "maxabs"), help=help)
    add("--jobs", dest="n_jobs", type=_threads, metavar="N", help="threads; -1 for all cores")
    add("--max-time", type=_positive, metavar="SECONDS", help="end after so long")
    help = "of draws and folds; 0 unless given"
    add("--seed", dest="random_state", type=_seed, default=0, metavar="N", help=help)


def _add_train(add: Callable[..., Any]) -> None:
    help = "C-SVC, unless given, or epsilon-SVR"
    add("-s", dest="regression", type=_regression, default=False, metavar="0|3", help=help)
    add("-c", dest="C", type=_positive, default=1.0, metavar="C", help="cost; 1 unless given")
    help = "of -t 1, 2 and 3: a number, scale, or auto, 1 / columns, as it is unless given"
    add("-g", dest="gamma", type=_gamma, default="auto", metavar="GAMMA", help=help)
    help = "certified relative gap of the objective to reach; 0.001 unless given"
    add("-e", dest="tol", type=_positive, default=0.001, metavar="GAP", help=help)
    help = "of -s 3; 0.1 unless given"
    add("-p", dest="epsilon", type=_not_negative, default=0.1, metavar="EPSILON", help=help)
    help = "1 for probabilities: sigmoids of held-out decisions"
    add("-b", dest="probability", type=_flag, default=0, metavar="0|1", help=help)
    add("-v", dest="folds", type=_folds, metavar="N", help="cross-validate, and write nothing")
    add("-h", dest="_", type=_flag, metavar="0|1", help="taken, and changes nothing")


def _add_tune(add: Callable[..., Any]) -> None:
    help = "values of C, as 0.1,1,10; five from 0.1 to 1,000 unless given"
    add("-c", dest="Cs", type=_list_of(_positive), default=5, metavar="LIST", help=help)
    help = "values of gamma, scale and auto among them; 1/16 to 16 times scale unless given"
    add("-g", dest="gammas", type=_list_of(_gamma), default=5, metavar="LIST", help=help)
    help = "certified relative gap of each model; 0.01 unless given"
    add("-e", dest="tol", type=_positive, default=0.01, metavar="GAP", help=help)
    add("-v", dest="folds", type=_folds, default=5, metavar="N", help="folds; 5 unless given")


def _add_predict(add: Callable[..., Any]) -> None:
    help = "1 writes the probabilities of all classes behind each label"
    add("-b", dest="probability", type=_flag, default=0, metavar="0|1", help=help)


def _make_parser(command: str) -> argparse.ArgumentParser:
    """Make the parser of a command."""
    summary, files = COMMANDS[command]
    parser = argparse.ArgumentParser(
        prog=f"kpegasos {command}",
        usage=f"kpegasos {command} [options] {files}".rstrip(),
        description=summary,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,  # -h is LIBSVM's
    )
    for name in files.split():  # those in brackets may be left out
        nargs = "?" if "[" in name else None
        parser.add_argument(name.strip("[]").lower(), nargs=nargs, help=argparse.SUPPRESS)
    groups: dict[str, tuple[Callable[..., None], ...]] = {
        "train": (_add_train, _add_fit, _add_data),
        "predict": (_add_predict, _add_data),
        "tune": (_add_tune, _add_fit, _add_data),
    }
    for group in groups.get(command, ()):
        group(parser.add_argument)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    parser.add_argument("--help", action="help", help="show this")
    return parser


def _prepared(arguments: Sequence[str]) -> list[str]:
    """Bring LIBSVM's ``-w1 5`` and ``-r -1e-3`` into a form that argparse knows."""
    words, options = iter(arguments), []
    for word in words:
        is_weight = word.startswith("-w") and word != "-w"
        value = next(words, None) if is_weight or word == "-r" else None
        if value is not None:
            word = f"--weight={word[2:]}={value}" if is_weight else f"-r{value}"
        options.append(word)
    return options


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; options may stand between files.

    Raises
    ------
    SystemExit
        With status 2, after a sentence on the standard error, or after ``--help``.
    """
    command, *rest = arguments or ["--help"]
    if command == "help" and rest:
        command, rest = rest[0], ["--help"]
    if command in COMMANDS:
        options = argparse.Namespace(command=command)
        return _make_parser(command).parse_intermixed_args(_prepared(rest), options)
    if command == "--version":
        print(f"kpegasos {kpegasos.__version__}")
        raise SystemExit(0)
    is_help = command in ("help", "--help", "-h")
    names = "\n".join(f"  {name:<9}{summary}" for name, (summary, _) in COMMANDS.items())
    usage = "usage: kpegasos COMMAND [options] [files], or kpegasos help COMMAND"
    print(f"{usage}\n\n{names}", file=sys.stdout if is_help else sys.stderr)
    raise SystemExit(0 if is_help else MISUSED)
