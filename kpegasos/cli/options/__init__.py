"""What each subcommand takes, so that ``kpegasos --help`` is there at once.

Lives here: a module for each subcommand, with a line on what it does (``SUMMARY``), a function
``add_options`` that tells a parser its arguments and, where argparse does not know their form, a
function ``prepared`` that rewrites them; and what several of them take (`arguments`).
May import: the standard library only; numbers and files are looked at by `kpegasos.cli.commands`.
"""

from kpegasos.cli.options import (
    convert,
    data,
    export,
    info,
    playground,
    predict,
    scale,
    train,
    tune,
)

#: In the order of the help.
SUBCOMMANDS = {
    "train": train,
    "predict": predict,
    "tune": tune,
    "scale": scale,
    "convert": convert,
    "info": info,
    "export": export,
    "data": data,
    "playground": playground,
}
