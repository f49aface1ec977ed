"""What ``kpegasos train`` takes: LIBSVM's short options, and long ones for all that there is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kpegasos.cli.options.arguments import (
    MOST_SEED,
    add_data_options,
    add_json_option,
    attached,
    flag,
    integer_from,
    not_negative,
    number,
    positive,
    threads,
)

SUMMARY = "train a support vector machine to a certified duality gap"

#: Those of LIBSVM's ``-t``, by number.
LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
KERNELS = (*LIBSVM_KERNELS, "polynomial", "laplacian", "chi2", "additive_chi2", "cosine")
LOSSES = ("hinge", "squared_hinge", "smoothed_hinge", "log_loss")
REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber")
SCALES = ("minmax", "standard", "maxabs")
_SVM_TYPES = {
    "0": "C-SVC",
    "1": "nu-SVC",
    "2": "the one-class SVM",
    "3": "epsilon-SVR",
    "4": "nu-SVR",
}
_TAKE_A_VALUE = ("-s", "-t", "-d", "-g", "-r", "-c", "-n", "-p", "-m", "-e", "-b", "-v")

_EPILOG = """\
The short options are those of LIBSVM's svm-train, with its meaning, and so is the default of gamma.
-e is the certified relative gap. -h 0 and -h 1 are taken and change nothing. -s 1, 2 and 4 and -n
are not there. Exit status 3 tells that --strict asked for a gap that was not reached, 130 that
Ctrl-C stopped training; the model reached so far is written then."""


def prepared(arguments: Sequence[str]) -> list[str]:
    """Bring LIBSVM's ``-w1 5`` and ``-h 0`` into a form that argparse knows."""
    words, found = list(arguments), []
    while words:
        word, after = words.pop(0), words[0] if words else None
        if word.startswith("-w") and word != "-w" and after is not None:
            found.append(f"--weight={word[2:]}={words.pop(0)}")
        elif word == "-h" and after in ("0", "1"):
            found.append(f"--shrinking={words.pop(0)}")
        else:
            found.append(word)
            if word in _TAKE_A_VALUE and after is not None:
                found.append(words.pop(0))
    return attached(found, (*_TAKE_A_VALUE, "--coef0"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what training takes."""
    parser.usage = "kpegasos train [options] DATA [MODEL]"
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", metavar="DATA", help="file of examples; - is the standard input")
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="file to write, - for the standard output; DATA.model here, or DATA.skops for what "
        "LIBSVM's format cannot say, unless given",
    )
    problem = parser.add_argument_group("the problem")
    _add_kernel(problem)
    _add_problem(problem)
    _add_training(parser.add_argument_group("training"))
    _add_files(parser.add_argument_group("files and reports"))


def _add_kernel(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--kernel", choices=KERNELS, default="rbf", help="rbf unless given")
    group.add_argument(
        "-t", dest="kernel", type=_kernel, metavar="0..4", help="linear, poly, rbf, sigmoid or "
        "precomputed, by number"
    )  # fmt: skip
    group.add_argument(
        "-g", "--gamma", type=_gamma, default="auto", help="a number, scale, or auto for "
        "1 / n_features, as it is unless given"
    )  # fmt: skip
    group.add_argument(
        "-d", "--degree", type=integer_from(0), default=3, help="of poly; 3 unless given"
    )
    group.add_argument(
        "-r", "--coef0", type=number, default=0.0, help="of poly and sigmoid; 0 unless given"
    )


def _add_problem(group: argparse._ArgumentGroup) -> None:
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("-c", "--C", type=positive, default=1.0, help="cost; 1 unless given")
    strength.add_argument("--lam", type=positive, help="lambda of the papers, in place of C")
    group.add_argument("-s", dest="regression", type=_svm_type, metavar="0|3", help=(
        "C-SVC, or epsilon-SVR as --regression"
    ))  # fmt: skip
    group.add_argument("--regression", action="store_true", help="labels are numbers to predict")
    group.add_argument(
        "--loss",
        choices=(*LOSSES, *REGRESSION_LOSSES),
        help="hinge, or epsilon_insensitive of a regression, unless given",
    )
    group.add_argument(
        "-p", "--epsilon", type=not_negative, default=0.1, help="of a regression; 0.1 unless given"
    )
    group.add_argument(
        "--weight",
        action="append",
        type=_weight,
        default=[],
        metavar="LABEL=FACTOR",
        help="factor of C for a class; -wLABEL FACTOR is the same",
    )
    group.add_argument("--balanced", action="store_true", help="weigh all classes equally")
    intercept = group.add_mutually_exclusive_group()
    intercept.add_argument("--no-intercept", action="store_true", help="the problem of the papers")
    intercept.add_argument(
        "--intercept-scaling",
        type=positive,
        default=1.0,
        help="1 unless given; the larger, the less the intercept is regularised, which in LIBSVM "
        "it is not",
    )
    group.add_argument(
        "--scale",
        choices=SCALES,
        help="scale the features within the model: to [-1, 1], to mean 0 and variance 1, or by "
        "their largest size",
    )
    group.add_argument("-b", dest="probability", type=flag, metavar="0|1", default=False, help=(
        "1 is --probability"
    ))  # fmt: skip
    group.add_argument(
        "--probability",
        action="store_true",
        help="fit a sigmoid to held-out decisions, for probabilities",
    )
    group.add_argument("-n", type=_no_nu, metavar="NU", help=argparse.SUPPRESS)
    group.add_argument("--shrinking", help=argparse.SUPPRESS)


def _add_training(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-e", "--tol", type=positive, help="certified relative gap to reach; 0.01 unless given"
    )
    group.add_argument(
        "--no-polish", action="store_true", help="steps of Pegasos only, without dual ascent"
    )
    length = group.add_mutually_exclusive_group()
    length.add_argument("--epochs", type=positive, help="draws of Pegasos per example")
    length.add_argument("--steps", type=integer_from(1), help="steps of Pegasos")
    group.add_argument("--batch-size", type=integer_from(1), default=1, help="examples of a step")
    group.add_argument(
        "--sampling", choices=("permutation", "uniform"), default="permutation", help="of the draws"
    )
    group.add_argument(
        "--average",
        choices=("weighted", "suffix", "uniform", "none"),
        default="weighted",
        help="of the iterates; weighted unless given",
    )
    group.add_argument(
        "--max-time", type=positive, metavar="SECONDS", help="end a fit after so long"
    )
    group.add_argument(
        "-m", "--memory", type=positive, metavar="MIB", help="MiB that kernel values may take"
    )
    group.add_argument("--jobs", type=threads, help="threads for the pairs of classes; -1 for all")
    group.add_argument(
        "--seed",
        type=integer_from(0, MOST_SEED),
        default=0,
        help="of the draws and folds; 0 unless given",
    )
    group.add_argument(
        "--chunks",
        action="store_true",
        help="read a file of LIBSVM's format part by part in each epoch, for a linear model "
        "without a certificate; files above half of the free memory are, without being asked",
    )


def _add_files(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-v", "--folds", type=integer_from(2), help="cross-validate in so many folds, write nothing"
    )
    group.add_argument(
        "--format",
        choices=("libsvm", "native"),
        help="of MODEL; LIBSVM's if its name ends in .model, else native, unless given",
    )
    add_data_options(group)
    group.add_argument(
        "--n-features", type=integer_from(1), help="columns of DATA, if more than it names"
    )
    group.add_argument("--trace", metavar="FILE", help="write objectives and gaps as CSV")
    group.add_argument("--strict", action="store_true", help="exit with 3 if tol is not reached")
    add_json_option(group)
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def _kernel(text: str) -> str:
    if text not in ("0", "1", "2", "3", "4"):
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 4, got {text!r}")
    return LIBSVM_KERNELS[int(text)]


def _gamma(text: str) -> str | float:
    return text if text in ("scale", "auto") else positive(text)


def _svm_type(text: str) -> bool:
    if text not in ("0", "3"):
        got = _SVM_TYPES.get(text, repr(text))
        raise argparse.ArgumentTypeError(
            f"must be 0 (C-SVC) or 3 (epsilon-SVR), as there is nothing else; got {got}"
        )
    return text == "3"


def _no_nu(text: str) -> None:
    raise argparse.ArgumentTypeError("there is no nu, as -s 1, 2 and 4 are not there")


def _weight(text: str) -> tuple[str, float]:
    label, _, factor = text.rpartition("=")
    if not label:
        raise argparse.ArgumentTypeError(f"must be a label and a factor, as 1=5, got {text!r}")
    return label, positive(factor)
