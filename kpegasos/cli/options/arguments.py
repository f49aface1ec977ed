"""What options of several subcommands have in common: numbers, data, outputs, LIBSVM's ways.

argparse knows no option that is glued to a label (``-w1 5``), and takes ``-5,15,2`` for an option.
`attached` brings both into a form that it knows.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Sequence

DATA_FORMATS = ("svmlight", "csv", "tsv", "npz", "npy", "parquet", "arrow")


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


def positive(text: str) -> float:
    """Read a number above zero."""
    return number(text, above=0.0, what="a positive number")


def not_negative(text: str) -> float:
    """Read a number from zero on."""
    return number(text, least=0.0, what="a number that is not negative")


def integer_from(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Make a reader of integers from ``least`` on, up to ``most``."""
    limits = f"from {least} on" if most == math.inf else f"from {least} to {most}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be an integer {limits}, got {text!r}")
        return value

    return read


def flag(text: str) -> bool:
    """Read LIBSVM's 0 or 1."""
    if text not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"must be 0 or 1, got {text!r}")
    return text == "1"


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


def add_json_option(parser: argparse._ActionsContainer) -> None:
    """Tell a parser of ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and no text")


def attached(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Join options with the word behind them, which may begin with a minus sign.

    Parameters
    ----------
    arguments : sequence of str
        What stands behind the subcommand.
    names : collection of str
        Options that take one value, such as ``-r`` or ``-log2c``.

    Returns
    -------
    list of str
        With ``-log2c=-5,15,2`` and ``-r-1e-3`` where two words stood.
    """
    words, joined = iter(arguments), []
    for word in words:
        value = next(words, None) if word in names else None
        if value is None:
            joined.append(word)
        else:
            joined.append(f"{word}{value}" if len(word) == 2 else f"{word}={value}")
    return joined
