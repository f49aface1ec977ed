"""``kpegasos warm``: what fits, searches and predictions need is compiled ahead."""

from __future__ import annotations

import argparse
import time
from typing import Any

from kpegasos import cli

SUMMARY = "compile for this processor what fits, searches and predictions need, on all cores"
EPILOG = """\
What is compiled is kept where numba keeps it: in the folder that NUMBA_CACHE_DIR names, or beside
the package. A second call compiles nothing."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what it takes."""
    cli.add_report_options(parser, "quiet")


def run(options: argparse.Namespace) -> int:
    """Make one small fit of each kind, in processes; returns the exit status."""
    from joblib import Parallel, delayed

    from kpegasos.fitting.observers import cell_bar

    begin = time.perf_counter()
    together = Parallel(n_jobs=-1, return_as="generator_unordered", batch_size=1)
    with cell_bar(not options.quiet, "compile", len(FITS)) as advance:
        for _ in together(delayed(fit)(number) for number in range(len(FITS))):
            advance(1)
    if not options.quiet:
        print(f"compiled for this processor in {time.perf_counter() - begin:.0f} s")
    return 0


#: Estimators, parameters, examples, classes (0 for numbers), and whether the features are sparse.
#: What takes longest comes first, and fits beside each other have little in common.
FITS: tuple[tuple[str, dict[str, Any], int, int, bool], ...] = (
    ("PegasosSVCCV", {"Cs": [1.0, 10.0], "gammas": 1}, 100, 2, False),
    ("LinearPegasosSVC", {"polish": True}, 100, 2, False),
    ("PegasosSVC", {"polish": True}, 100, 2, False),
    ("PegasosSVC", {"polish": True, "row_dtype": "float32"}, 2001, 2, False),
    ("PegasosSVC", {"polish": True}, 100, 5, False),
    ("PegasosSVC", {"polish": True, "loss": "log_loss"}, 100, 2, False),
    ("PegasosSVR", {"polish": True}, 100, 0, False),
    ("PegasosSVC", {}, 100, 5, False),
    ("LinearPegasosSVC", {"polish": True}, 100, 2, True),
    ("LinearPegasosSVC", {"polish": True, "loss": "log_loss"}, 100, 2, False),
    ("LinearPegasosSVR", {"polish": True}, 100, 0, False),
    ("PegasosSVC", {"cache": "cached", "cache_mb": 1}, 2001, 2, False),
    ("PegasosSVC", {"cache": "streamed"}, 100, 2, False),
    ("PegasosSVC", {"kernel": "poly"}, 100, 2, True),
)


def fit(number: int) -> None:
    """Make a fit of `FITS`, and predict."""
    import warnings

    import numpy as np
    from scipy import sparse

    import kpegasos

    name, parameters, n_samples, n_classes, is_sparse = FITS[number]
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(n_samples, 3))
    y = X[:, 0] if n_classes == 0 else np.arange(n_samples) % n_classes
    X = sparse.csr_matrix(X) if is_sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the data are noise
        getattr(kpegasos, name)(random_state=0, **parameters).fit(X, y).predict(X)
