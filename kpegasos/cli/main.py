"""The program: parses the arguments, runs a command, and makes errors sentences.

Exit statuses: 0; 1 for data or a model that is at fault, in one line; 2 for arguments that are;
3 where ``--strict`` asked for a tolerance that was not reached; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import atexit
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from kpegasos.cli import FAILED, INTERRUPTED, MISUSED, UsageError, import_sklearn

#: In the order of the help.
COMMANDS = (
    "train",
    "predict",
    "tune",
    "scale",
    "convert",
    "info",
    "export",
    "data",
    "playground",
    "warm",
)
#: What is a file in the help.
_FILES = ("DATA", "FILE", "IN", "MODEL", "OUT")
#: Packages that a command asks for, and the extras that bring them.
_EXTRAS = {
    "websockets": "playground",
    "onnx": "onnx",
    "skl2onnx": "onnx",
    "shtab": "completion",
}


class _Version(argparse.Action):
    """Print the version, which takes a look into the installed package."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import kpegasos

        print(f"kpegasos {kpegasos.__version__}")
        parser.exit()


class _Completion(argparse.Action):
    """Print what a shell completes words by."""

    def __call__(self, _: object, __: object, shell: Any, *___: object) -> None:
        import shtab

        parser, of_commands = make_parsers()
        for action in (each for command in of_commands.values() for each in command._actions):
            if action.dest == "data" or action.metavar in _FILES:
                vars(action)["complete"] = shtab.FILE
        print(shtab.complete(parser, shell))
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """A parser whose help is written, or whose error is heard of."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Not only numbers may begin with a minus sign, but lists of them, as in -log2c -5,15,2.
        self._negative_number_matcher = re.compile(r"-[.\d]")

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is not sys.stdout:
            super()._print_message(message, file)
        elif message:
            file.write(message)


def _command(name: str) -> Any:
    return importlib.import_module(f"kpegasos.cli.{name}")


def make_parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Make the parser of the whole command line, and those of the commands by name."""
    parser = _Parser(
        prog="kpegasos",
        description="Support vector machines from files, trained to a certified duality gap.",
        epilog="'kpegasos help SUBCOMMAND' tells what a subcommand takes.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.add_argument(
        "--completion",
        action=_Completion,
        choices=("bash", "zsh", "tcsh"),
        help="print what the Tab key completes words by in this shell",
    )
    subparsers = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    for name in COMMANDS:
        command = _command(name)
        command.add_options(
            subparsers.add_parser(
                name,
                help=command.SUMMARY,
                description=command.SUMMARY,
                usage=getattr(command, "USAGE", None),
                epilog=getattr(command, "EPILOG", None),
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
        )
    return parser, dict(subparsers.choices)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; options may stand between files.

    Parameters
    ----------
    arguments : sequence of str

    Raises
    ------
    SystemExit
        With status 2, after a sentence on the standard error, or after ``--help``.
    """
    parser, of_commands = make_parsers()
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    name, *rest = _without_dashes(arguments) or [""]
    if name not in of_commands:
        return parser.parse_args(arguments)
    # Options of LIBSVM's that argparse does not know are brought into a form that it does.
    rest = getattr(_command(name), "prepared", list)(rest)
    return of_commands[name].parse_intermixed_args(rest, argparse.Namespace(subcommand=name))


def _without_dashes(arguments: Sequence[str]) -> list[str]:
    """Files behind ``--`` by names that are no options; argparse intermixes nothing with it."""
    words = list(arguments)
    if "--" not in words:
        return words
    at = words.index("--")
    hidden = (f"./{word}" if word[:1] == "-" and word != "-" else word for word in words[at + 1 :])
    return [*words[:at], *hidden]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Those of the command line if None.
    """
    _ready_streams()
    parsed = argparse.Namespace(subcommand="")
    try:
        with _written_output():
            parsed = parse(sys.argv[1:] if arguments is None else arguments)
            with _warnings_as_lines(parsed):
                import_sklearn()
                return int(_command(parsed.subcommand).run(parsed))
    except UsageError as error:
        _fail(parsed, str(error))
        return MISUSED
    except KeyboardInterrupt:
        _fail(parsed, "stopped by Ctrl-C, nothing was kept")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has enough
        return FAILED
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        return _fail(parsed, f"needs {error.name}: pip install 'kpegasos[{_EXTRAS[error.name]}]'")
    except ImportError as error:
        if error.name is not None:  # of a module that is broken, and not of one that is not there
            raise
        return _fail(parsed, _sentence(error))
    except (OSError, ValueError, TypeError, MemoryError) as error:
        return _fail(parsed, _sentence(error))


def program() -> NoReturn:
    """Run the program and end the process.

    Without the destructors of libraries: threads that they have begun may still run, as those of
    pyarrow after a table that it refuses, and abort the process after its last word.
    """
    try:
        status = main()
    except SystemExit as end:  # of argparse, which has said why
        status = int(end.code or 0)
    sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(status)


@contextmanager
def _written_output() -> Iterator[None]:
    """Write what was printed, so that an error is heard of; what cannot be written is given up."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError:
        try:
            sys.stdout.flush()
        except OSError:  # Python would try once more at its exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def _warnings_as_lines(parsed: argparse.Namespace) -> Iterator[None]:
    """Let a warning be one line of the standard error, or nothing after ``--quiet``."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        if not vars(parsed).get("quiet"):
            _fail(parsed, _sentence(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.filterwarnings("ignore", ".* sees little but column")  # `train` says it of files
        yield


def _ready_streams() -> None:
    """Let a closed stream (``>&-``) be empty or lead nowhere, and print names in any encoding."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, to the end
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _sentence(error: Exception) -> str:
    """Return what is wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__


def _fail(parsed: argparse.Namespace, sentence: str) -> int:
    print(f"{f'kpegasos {parsed.subcommand}'.strip()}: {sentence}", file=sys.stderr)
    return FAILED
