"""What each subcommand takes, so that ``kpegasos --help`` is there at once.

Lives here: a module for each subcommand, with a line on what it does (``SUMMARY``) and a function
``add_options`` that tells a parser its arguments.
May import: the standard library only; numbers and files are looked at by `kpegasos.cli.commands`.
"""

from kpegasos.cli.options import playground

#: In the order of the help.
SUBCOMMANDS = {"playground": playground}
