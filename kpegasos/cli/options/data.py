"""What ``kpegasos data`` takes."""

from __future__ import annotations

import argparse

from kpegasos.cli.options.arguments import add_json_option

SUMMARY = "list and fetch the real data sets"
#: argparse lets no options stand between the arguments of these.
HAS_SUBCOMMANDS = True


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what is done with data sets."""
    parser.epilog = (
        "Sets are looked for in the folder that KPEGASOS_DATA names, then in the user's cache."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what there is, how large, and whether it is here")
    add_json_option(listing)
    fetching = actions.add_parser(
        "fetch", help="download sets that have a mirror, and verify what is there"
    )
    fetching.add_argument("names", metavar="NAME", nargs="+", help="as 'kpegasos data list' says")
    add_json_option(fetching)
