"""What ``kpegasos tune`` takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kpegasos.cli.options import search_values
from kpegasos.cli.options.arguments import (
    MOST_SEED,
    add_data_options,
    add_json_option,
    attached,
    integer_from,
    positive,
    threads,
)
from kpegasos.cli.options.train import SCALES

SUMMARY = "choose C and the kernel's parameters by cross-validation on shared kernel values"

#: The kernels of `PegasosSVCCV` whose rows can be read from a file.
_KERNELS = (
    "rbf",
    "linear",
    "poly",
    "sigmoid",
    "laplacian",
    "chi2",
    "additive_chi2",
    "cosine",
)
#: Options whose value may begin with a minus sign.
_SIGNED = ("-log2c", "-log2g", "--coef0")


def prepared(arguments: Sequence[str]) -> list[str]:
    """Let exponents begin with a minus sign."""
    return attached(arguments, _SIGNED)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what a search takes."""
    parser.epilog = (
        "Values are numbers, lists of them (0.1,1,10) and powers of 2 or 10 from one exponent to "
        "another (2^-5:15:2). Ctrl-C leaves what is done in the file of --resume. Exit statuses: "
        "0; 1 for data at fault; 2 for arguments that are; 3 if --strict and the model has not "
        "reached --tol; 130 after Ctrl-C."
    )
    parser.usage = "kpegasos tune [options] DATA [MODEL]"
    parser.add_argument("data", metavar="DATA", help="file of examples; - is the standard input")
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="file to write the best model to, trained on all examples; none unless given",
    )
    _add_values(parser.add_argument_group("values"))
    _add_search(parser.add_argument_group("search"))
    _add_output(parser.add_argument_group("output"))
    add_data_options(parser.add_argument_group("data"))
    # What `place_of` asks of a training besides.
    parser.set_defaults(regression=False, probability=False)


def _add_values(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--kernel", choices=_KERNELS, default="rbf", help="rbf unless given")
    group.add_argument(
        "--C",
        dest="Cs",
        type=search_values.positive_numbers,
        metavar="VALUES",
        help="five from 0.1 to 1,000 unless given",
    )
    group.add_argument(
        "--gamma",
        dest="gammas",
        type=search_values.gammas,
        metavar="VALUES",
        help="scale and auto are values too; scale times 1/16, 1/4, 1, 4 and 16 unless given",
    )
    group.add_argument(
        "--degree",
        dest="degrees",
        type=search_values.degrees,
        default=[3],
        metavar="VALUES",
        help="of the polynomial kernel; 3 unless given",
    )
    group.add_argument(
        "--coef0",
        dest="coef0s",
        type=search_values.numbers,
        default=[0.0],
        metavar="VALUES",
        help="of the polynomial and the sigmoid kernel; 0 unless given",
    )
    group.add_argument(
        "-log2c",
        dest="Cs",
        type=search_values.log2_of_C,
        metavar="BEGIN,END,STEP",
        help="exponents of 2, as grid.py takes them; null for C = 1",
    )
    group.add_argument(
        "-log2g",
        dest="gammas",
        type=search_values.log2_of_gamma,
        metavar="BEGIN,END,STEP",
        help="the same of gamma; null for one divided by the number of features",
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-v", "--folds", type=integer_from(2), default=5, metavar="N", help="5 unless given"
    )
    group.add_argument(
        "--metric",
        default="accuracy",
        metavar="NAME",
        help="a name of scikit-learn's scorers, of labels or decisions; accuracy unless given",
    )
    group.add_argument(
        "--scale",
        choices=SCALES,
        help="scale the features within the model: to [-1, 1], to mean 0 and variance 1, or by "
        "their largest size",
    )
    group.add_argument(
        "-e",
        "--tol",
        type=positive,
        default=0.01,
        metavar="GAP",
        help="certified relative gap of each cell and of the model; 0.01 unless given",
    )
    group.add_argument(
        "-m", "--memory", type=positive, metavar="MIB", help="MiB that kernel values may take"
    )
    group.add_argument("--jobs", type=threads, metavar="N", help="threads; -1 for all cores")
    group.add_argument(
        "--seed",
        type=integer_from(0, MOST_SEED),
        default=0,
        metavar="N",
        help="of the folds; 0 unless given",
    )
    group.add_argument(
        "--max-time", type=positive, metavar="SECONDS", help="then the best so far is chosen"
    )
    group.add_argument(
        "--resume",
        metavar="FILE",
        help="what is done is kept there, and another call with the same data and values goes on",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--format",
        choices=("libsvm", "native"),
        help="of MODEL; libsvm if its name ends in .model, else native",
    )
    group.add_argument("--plot", metavar="FILE", help="a picture of the scores: png, pdf, svg")
    group.add_argument("--results", metavar="FILE", help="a table of all cells: CSV")
    group.add_argument(
        "--strict", action="store_true", help="exit status 3 if the model has not reached --tol"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_json_option(group)
