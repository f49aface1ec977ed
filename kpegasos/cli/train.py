"""``kpegasos train``: fit a model to a file, write it, and say how good it is.

A file that is larger than memory is read part by part in each epoch, for a linear model.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpegasos import cli

if TYPE_CHECKING:
    from kpegasos.cli.models import Fit, Place

SUMMARY = "train a support vector machine to a certified duality gap"
USAGE = "kpegasos train [options] DATA [MODEL]"
EPILOG = """\
The short options are those of LIBSVM's svm-train, with its meaning, and so is the default of gamma.
-e is the certified relative gap. -h 0 and -h 1 are taken and change nothing. -s 1, 2 and 4 and -n
are not there. Exit status 3 tells that --strict asked for a gap that was not reached, 130 that
Ctrl-C stopped training; the model reached so far is written then."""

_LOSSES = ("hinge", "squared_hinge", "smoothed_hinge", "log_loss")
_REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber")
_OTHER_SVM_TYPES = {"1": "nu-SVC", "2": "the one-class SVM", "4": "nu-SVR"}

# --- options: those that are parameters of the estimators have their names as `dest` ---


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
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what training takes."""
    cli.add_data(parser)
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
    files = parser.add_argument_group("files and reports")
    add = files.add_argument
    add(
        "-v",
        "--folds",
        type=cli.integer_from(2),
        help="cross-validate in so many folds, write nothing",
    )
    add("--n-features", type=cli.integer_from(1), help="columns of DATA, if more than it names")
    cli.add_data_options(files)
    cli.add_model_options(files)
    cli.add_report_options(files, "json", "quiet")


def _add_kernel(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--kernel", choices=cli.KERNELS, default="rbf", help="rbf unless given")
    kernel = "linear, poly, rbf, sigmoid or precomputed, by number"
    add("-t", dest="kernel", type=_kernel, metavar="0..4", help=kernel)
    gamma = "a number, scale, or auto for 1 / n_features, as it is unless given"
    add("-g", "--gamma", type=_gamma, default="auto", help=gamma)
    add("-d", "--degree", type=cli.integer_from(0), default=3, help="of poly; 3 unless given")
    add("-r", "--coef0", type=cli.number, default=0.0, help="of poly and sigmoid; 0 unless given")


def _add_problem(group: argparse._ArgumentGroup) -> None:
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("-c", "--C", type=cli.positive, default=1.0, help="cost; 1 unless given")
    strength.add_argument("--lam", type=cli.positive, help="lambda of the papers, in place of C")
    add = group.add_argument
    svm_type = "C-SVC, or epsilon-SVR as --regression"
    add("-s", dest="regression", type=_svm_type, metavar="0|3", help=svm_type)
    add("--regression", action="store_true", help="labels are numbers to predict")
    loss = "hinge, or epsilon_insensitive of a regression, unless given"
    add("--loss", choices=(*_LOSSES, *_REGRESSION_LOSSES), help=loss)
    epsilon = "of a regression; 0.1 unless given"
    add("-p", "--epsilon", type=cli.not_negative, default=0.1, help=epsilon)
    add_weights(group)
    intercept = group.add_mutually_exclusive_group()
    intercept.add_argument(
        "--no-intercept",
        dest="fit_intercept",
        action="store_false",
        help="the problem of the papers",
    )
    intercept.add_argument(
        "--intercept-scaling",
        type=cli.positive,
        help="regularise the intercept, the less the larger this is; unless given it is not, as in "
        "LIBSVM, but for data that are read in parts",
    )
    probability = "fit a sigmoid to held-out decisions, for probabilities"
    add("-b", dest="probability", type=cli.flag, metavar="0|1", default=False, help=(
        "1 is --probability"
    ))  # fmt: skip
    add("--probability", action="store_true", help=probability)
    add("-n", type=_no_nu, metavar="NU", help=argparse.SUPPRESS)
    add("--shrinking", help=argparse.SUPPRESS)


def add_weights(group: argparse._ArgumentGroup) -> None:
    """Tell a parser of weights of classes."""
    group.add_argument(
        "--weight",
        action="append",
        type=_weight,
        default=[],
        metavar="LABEL=FACTOR",
        help="factor of C for a class; -wLABEL FACTOR is the same",
    )
    group.add_argument("--balanced", action="store_true", help="weigh all classes equally")


def _add_training(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("-e", "--tol", type=cli.positive, help="certified relative gap to reach; 0.01 unless given")
    no_polish = "steps of Pegasos only, without dual ascent"
    add("--no-polish", dest="polish", action="store_false", help=no_polish)
    length = group.add_mutually_exclusive_group()
    length.add_argument("--epochs", type=cli.positive, help="draws of Pegasos per example")
    length.add_argument(
        "--steps", dest="n_steps", type=cli.integer_from(1), help="steps of Pegasos"
    )
    add("--batch-size", type=cli.integer_from(1), default=1, help="examples of a step")
    sampling = ("permutation", "uniform")
    add("--sampling", choices=sampling, default="permutation", help="of the draws")
    add(
        "--average",
        choices=("weighted", "suffix", "uniform", "none"),
        default="weighted",
        help="of the iterates; weighted unless given",
    )
    cli.add_run_options(group)
    add(
        "--chunks",
        action="store_true",
        help="read a file of LIBSVM's format part by part in each epoch, for a linear model "
        "without a certificate; files above half of the free memory are, without being asked",
    )


def _kernel(text: str) -> str:
    if text not in ("0", "1", "2", "3", "4"):
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 4, got {text!r}")
    return cli.LIBSVM_KERNELS[int(text)]


def _gamma(text: str) -> str | float:
    return text if text in ("scale", "auto") else cli.positive(text)


def _svm_type(text: str) -> bool:
    if text not in ("0", "3"):
        got = _OTHER_SVM_TYPES.get(text, repr(text))
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
    return label, cli.positive(factor)


def _check_options(options: argparse.Namespace) -> None:
    """Check that options go together."""
    losses = _REGRESSION_LOSSES if options.regression else _LOSSES
    if options.loss is not None and options.loss not in losses:
        kind = "a regression" if options.regression else "a classifier"
        raise cli.UsageError(
            f"--loss must be one of {', '.join(losses)} of {kind}, got {options.loss}"
        )
    check_weights(options)
    if options.regression and (options.weight or options.balanced):
        raise cli.UsageError("--weight and --balanced must be of a classifier, and this is none")
    if options.regression and options.probability:
        raise cli.UsageError("--probability must be of a classifier, and this is none")
    if options.strict and not options.polish and options.tol is None:
        raise cli.UsageError("--strict must come with --tol where there is no polish")
    if not _has_certificate(options) and (options.strict or options.tol is not None):
        raise cli.UsageError(
            f"--tol and --strict must be of a positive semi-definite kernel, and {options.kernel} "
            f"is none here"
        )
    if options.scale and options.kernel == "precomputed":
        raise cli.UsageError("--scale must be of features, and a precomputed kernel has none")


def check_weights(options: argparse.Namespace) -> None:
    """Check that weights of classes are given in one way."""
    if options.weight and options.balanced:
        raise cli.UsageError("--balanced and --weight must not be given both")


# --- the estimator ---


def make_estimator(options: argparse.Namespace, y: Any) -> Any:
    """Make an estimator, not fitted.

    Parameters
    ----------
    options : argparse.Namespace
    y : ndarray of shape (n_samples,) or None
        Labels, whose type the labels of class weights get; None where they are not known.

    Returns
    -------
    BasePegasos
        Of a linear kernel one of those through the primal vector, whose steps cost the non-zero
        entries of a row, whatever the number of examples.
    """
    from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR

    kind: Any
    if options.kernel == "linear":
        kind = LinearPegasosSVR if options.regression else LinearPegasosSVC
    else:
        kind = PegasosSVR if options.regression else PegasosSVC
    estimator = kind()
    given = cli.parameters_among(options, estimator)
    if options.fit_intercept and options.intercept_scaling is None:
        given["fit_intercept"] = "free"
    if options.average == "none":
        given["average"] = None
    if not _has_certificate(options):
        given |= {"polish": False, "tol": None}
    if options.kernel == "linear":
        given["checkpoints"] = "epoch"
    if not options.regression:
        given["class_weight"] = class_weight_of(options, y)
    return estimator.set_params(**given)


def _has_certificate(options: argparse.Namespace) -> bool:
    """Tell whether the kernel is positive semi-definite, so that gaps are certified."""
    from kpegasos import make_kernel

    if options.kernel == "precomputed":  # found out in training
        return True
    kernel = make_kernel(options.kernel, gamma=1.0, degree=options.degree, coef0=options.coef0)
    return bool(kernel.positive_definite)


def class_weight_of(options: argparse.Namespace, y: Any) -> dict[Any, float] | str | None:
    """Look up class weights by the labels that the data have; a label that they lack is told."""
    import numpy as np

    if options.balanced:
        return "balanced"
    weights = {}
    for text, factor in options.weight:
        found = [label for label in np.unique(y).tolist() if _names(text, label)]
        if found:
            weights[found[0]] = factor
        else:
            warnings.warn(f"no example has the label {text} of a weight", stacklevel=1)
    return weights or None


def _names(text: str, label: Any) -> bool:
    """Tell whether a text is that of a label, as 1 is of 1.0."""
    if isinstance(label, str):
        return text == label
    try:
        return float(text) == label
    except ValueError:
        return False


# --- training ---


def run(options: argparse.Namespace) -> int:
    """Train as the options say; returns the exit status."""
    _check_options(options)
    in_chunks = _is_read_in_chunks(options)
    _place(options, None)  # what the options alone rule out, before the data are read
    if in_chunks:
        y = None
        fit, place = _trained_in_chunks(options)
    else:
        X, y = _examples(options)
        if options.scale is None and options.kernel not in ("linear", "precomputed"):
            _tell_of_scales(X)
        estimator = cli.models.with_scaling(make_estimator(options, y), options.scale, X)
        if options.folds is not None:
            _cross_validate(estimator, X, y, options)
            return 0
        place = _place(options, y)
        fit = _fitted(estimator, X, y, options)
    cli.models.write_model(place, fit.model)
    reached = cli.models.worst_gap(fit.model) <= (0.01 if options.tol is None else options.tol)
    if not options.quiet:
        _report(fit, y, reached, place, options)
    if fit.interrupted:
        return cli.INTERRUPTED
    return cli.UNREACHED if options.strict and not reached else 0


def _examples(options: argparse.Namespace) -> tuple[Any, Any]:
    """Read X and y; of a precomputed kernel X is the square matrix of its values."""
    import numpy as np

    if options.kernel == "precomputed":
        X, y, numbers = cli.files.read_kernel_values(options)
        if not np.array_equal(numbers, np.arange(1, y.size + 1)):
            raise ValueError(
                f"{options.data}: examples to train on must be numbered from 1 on, in order"
            )
    else:
        table = cli.files.read_data(options)
        X, y = table.X, cli.files.labels_of(table, options.data)
    _check_classes(y, options)
    return X, y


def _tell_of_scales(X: Any) -> None:
    """Warn of features that leave others without a say in the kernel."""
    times = cli.files.unevenness_of(X)
    if times > cli.files.UNEVEN:
        warnings.warn(
            f"the widest feature spans {times:,.3g} times the narrowest, which hardly counts in "
            "the kernel; scale them, by --scale standard",
            stacklevel=1,
        )


def _check_classes(y: Any, options: argparse.Namespace) -> None:
    """Check that labels are numbers for a regression, else classes, and more than one."""
    import numpy as np

    from kpegasos.utils.validation import shown

    if options.regression:
        if y.dtype.kind in "OU":
            got = shown(y[:1].tolist()[0])
            raise ValueError(f"{options.data}: labels must be numbers for --regression, got {got}")
        return
    if y.dtype.kind == "f":
        broken = y[np.trunc(y) != y][:1]
        raise ValueError(
            f"{options.data}: labels of classes must be whole numbers or texts, got "
            f"{float(broken[0] if broken.size else y[0])!r}; --regression is for other numbers"
        )
    cli.files.refuse_one_class(y, options.data)


def _place(options: argparse.Namespace, y: Any) -> Place:
    """Find out where the model goes; checked as far as it can be before training."""
    place = cli.models.place_of(options, y)
    if options.folds is None:
        cli.files.check_outputs({"MODEL": place.path}, options.data)
    return place


def _fitted(estimator: Any, X: Any, y: Any, options: argparse.Namespace) -> Fit:
    """Train, with progress on a terminal, and with probabilities if they are asked for."""
    folds = _calibration_folds(y, options.random_state) if options.probability else None
    core = cli.models.core_of(estimator)
    core.verbose = cli.models.shows_progress(options.quiet)
    fit = cli.models.run_fit(estimator, lambda: estimator.fit(X, y))
    core.verbose = False
    # A loss may have probabilities of its own.
    if folds is None or fit.interrupted or hasattr(fit.model, "predict_proba"):
        return fit
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(fit.model, method="sigmoid", cv=folds, ensemble=False)
    try:
        second = cli.models.run_fit(model, lambda: model.fit(X, y))
    except KeyboardInterrupt:
        return fit._replace(interrupted=True)
    model.set_params(cv=5)  # the folds have served, and no file needs them
    return second._replace(seconds=fit.seconds + second.seconds)


def _calibration_folds(y: Any, seed: int) -> Any:
    """Make five folds, as LIBSVM, or fewer, that each class is both trained on and held out in."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(y, return_counts=True)
    fewest = int(counts.min())
    if fewest < 2:
        raise ValueError(
            f"--probability needs at least two examples of each class, got one of "
            f"{classes[counts.argmin()]}"
        )
    return StratifiedKFold(min(5, fewest), shuffle=True, random_state=seed)


def _cross_validate(estimator: Any, X: Any, y: Any, options: argparse.Namespace) -> None:
    """Print the score of held-out predictions, as ``svm-train -v``."""
    from sklearn.model_selection import cross_val_predict

    from kpegasos.cli.predict import score_lines, scores_of

    begin = time.perf_counter()
    predicted = cross_val_predict(estimator, X, y, cv=cli.models.folds_for(y, options))
    scores = scores_of(y, predicted, regression=bool(options.regression))
    if options.json:
        seconds = time.perf_counter() - begin
        cli.files.print_json({**scores, "folds": options.folds, "seconds": seconds})
        return
    for line in score_lines(scores, held_out=True):
        print(line)


# --- files that are larger than memory ---

#: What needs all examples at once, by the name that the parser gives it.
_EXCLUDED = {
    "tol": "--tol",
    "strict": "--strict",
    "folds": "--folds",
    "probability": "--probability",
    "scale": "--scale",
    "max_time": "--max-time",
    "balanced": "--balanced",
    "n_steps": "--steps",
}


def _is_read_in_chunks(options: argparse.Namespace) -> bool:
    """Tell whether the data are to be read part by part: by ``--chunks``, or for their size.

    Raises
    ------
    UsageError
        If other options need all examples at once.
    """
    from kpegasos.utils.memory import free_memory

    linear, plain = options.kernel == "linear", _is_plain(options)
    if not options.chunks:
        free = free_memory() if linear and plain else None
        if free is None or Path(options.data).stat().st_size <= free / 2:
            return False
    why = "--chunks" if options.chunks else f"{options.data} is large and read in parts, which"
    if not linear:
        raise cli.UsageError(f"{why} must be for --kernel linear, got {options.kernel}")
    if not plain:
        raise cli.UsageError(
            f"{why} must be for a plain file in LIBSVM's format, got {options.data}"
        )
    for name, option in _EXCLUDED.items():
        if getattr(options, name):
            raise cli.UsageError(
                f"{why} must come without {option}, which needs all examples at once"
            )
    return True


def _is_plain(options: argparse.Namespace) -> bool:
    """Tell whether the data are a file of LIBSVM's format, not compressed."""
    from kpegasos.datasets.files import is_compressed
    from kpegasos.datasets.tables import format_by_name

    place = Path(options.data)
    format = options.data_format or format_by_name(place)
    return place.is_file() and format in (None, "svmlight") and not is_compressed(place)


def _trained_in_chunks(options: argparse.Namespace) -> tuple[Fit, Place]:
    """Find columns and labels of a file, a chunk at a time, and fit a linear estimator to it."""
    import numpy as np

    from kpegasos.datasets import SvmlightChunks
    from kpegasos.large.chunks import fit_chunks

    width, labels = options.n_features or 1, np.empty(0, np.int64)
    for X, y in SvmlightChunks(options.data, n_features=2**31 - 1):  # as many as there can be
        width = max(width, int(X.indices.max(initial=0)) + 1)
        if not options.regression:
            labels = np.union1d(labels, y)
    known = None if options.regression else labels
    if known is not None:
        _check_classes(known, options)
    place = _place(options, known)
    estimator = make_estimator(options, known)
    estimator.set_params(polish=False, fit_intercept=options.fit_intercept)
    chunks = SvmlightChunks(options.data, n_features=width, dtype=np.float64)
    epochs = 5 if options.epochs is None else options.epochs
    fit = cli.models.run_fit(estimator, lambda: fit_chunks(estimator, chunks, epochs=epochs))
    return fit, place


# --- what is said ---


def _report(fit: Fit, y: Any, reached: bool, place: Place, options: argparse.Namespace) -> None:
    """Say what has come of it, on the standard output if nothing else goes there."""
    out = sys.stderr if place.path == cli.STANDARD else sys.stdout
    if options.json:
        facts = {**place._asdict(), **cli.models.facts_of_model(fit.model)}
        facts["model"] = facts.pop("path")
        ended = {"seconds": fit.seconds, "interrupted": fit.interrupted, "reached": reached}
        cli.files.print_json(facts | ended, out)
        return
    if y is not None:
        for line in _libsvm_lines(cli.models.core_of(fit.model), y):
            print(line, file=out)
    last = cli.models.closing_line(fit.model, fit.seconds)
    if fit.interrupted:
        last += f"; stopped by Ctrl-C, the model reached so far is in {place.path}"
    print(last, file=out)


def _libsvm_lines(fitted: Any, y: Any) -> Iterator[str]:
    """Make the closing lines of ``svm-train``: those of each pair of classes, and of them all.

    Numbers have LIBSVM's meaning and signs: ``obj`` is the certified bound on the optimum of its
    dual, with what a regularised intercept adds; a pair of classes and ``rho`` are in the order of
    the model's file. ``nu`` and bounded support vectors are those of the hinge.
    """
    import numpy as np

    lams, objectives, gaps, steps = (
        np.atleast_1d(each)
        for each in (fitted.lam_, fitted.objective_, fitted.duality_gap_, fitted.n_steps_)
    )
    bounded = fitted.loss in ("hinge", "epsilon_insensitive")
    for at, (coefs, bounds, sides, n_samples) in enumerate(_pairs(fitted, y, lams)):
        size = np.abs(coefs)
        yield "*"
        yield f"optimization finished, #iter = {steps[at]}"
        if bounded and bounds[0] == bounds[1]:  # as svm-train, for equal weights only
            yield f"nu = {size.sum() / (bounds[0] * n_samples):.6f}"
        obj = -(objectives[at] - gaps[at]) / lams[at]
        yield f"obj = {obj:.6f}, rho = {0.0 - fitted.intercept_[at]:.6f}"
        at_bound = size >= (1.0 - 1e-8) * bounds[sides] if bounded else size < 0
        yield f"nSV = {np.count_nonzero(size)}, nBSV = {np.count_nonzero(at_bound)}"
    yield f"Total nSV = {fitted.support_.size}"


def _pairs(fitted: Any, y: Any, lams: Any) -> Iterator[tuple[Any, Any, Any, int]]:
    """Give coefficients of each pair of classes, bounds of both, sides, and the number of examples.

    The side of a support vector is 0 if it is of the first class, 1 if of the second.
    """
    import numpy as np

    from kpegasos.fitting.pairs import class_weights, pair_coefficients

    if not hasattr(fitted, "classes_"):
        coefs = fitted.dual_coef_[0]
        yield coefs, np.full(2, 1.0 / (lams[0] * y.size)), np.zeros(coefs.size, int), y.size
        return
    classes, sizes = np.unique(y, return_counts=True)
    weights = class_weights(fitted.class_weight, classes, y)
    of_class = np.repeat(np.arange(classes.size), fitted.n_support_)
    coefs = pair_coefficients(fitted.dual_coef_, fitted.n_support_)
    for at, (i, j) in enumerate(combinations(range(classes.size), 2)):
        inside = (of_class == i) | (of_class == j)
        # That is C times the weight: lam is 1 / (C · Σ weights).
        unit = 1.0 / (lams[at] * (sizes[i] * weights[i] + sizes[j] * weights[j]))
        bounds = np.array([unit * weights[i], unit * weights[j]])
        sides = (of_class[inside] == j).astype(int)
        yield coefs[at, inside], bounds, sides, int(sizes[i] + sizes[j])
