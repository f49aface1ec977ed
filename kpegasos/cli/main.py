"""The program: parses the arguments, runs a command, and makes errors sentences."""

from __future__ import annotations

import argparse
import importlib
import io
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from kpegasos.cli.options import FAILED, INTERRUPTED, MISUSED, UsageError, parse

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


def _as_ctrl_c(number: int, frame: Any) -> None:
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
    """Say what is wrong, in one line and in words of the program."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror.lower()}"
    for word, ours in _WORDS.items():
        text = re.sub(word, ours, text)
    sentence = " ".join(text.split()) or type(error).__name__
    print(f"{f'kpegasos {options.command}'.strip()}: {sentence}", file=sys.stderr)
