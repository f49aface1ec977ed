"""``kpegasos warm``: what fits, searches and predictions need is compiled ahead."""

from __future__ import annotations

import argparse
import time
from typing import Any


def run(options: argparse.Namespace) -> int:
    """Make one small fit of each kind, in processes; returns the exit status."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from joblib import cpu_count

    from kpegasos.fitting.observers import cell_bar

    begin = time.perf_counter()
    with (
        ProcessPoolExecutor(min(cpu_count(), len(FITS)), get_context("spawn")) as pool,
        cell_bar(not options.quiet, "compile", len(FITS), unit="fits") as advance,
    ):
        try:  # a pool would wait for all fits
            for done in as_completed([pool.submit(fit, number) for number in range(len(FITS))]):
                done.result()
                advance(1)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenExecutor):
                raise ChildProcessError("a process of kpegasos warm was ended") from None
            raise
    if not options.quiet:
        print(f"compiled for this processor in {time.perf_counter() - begin:.0f} s")
    return 0


#: Estimators, parameters, examples, classes (0 for numbers), and whether the features are sparse.
#: Linear models share next to nothing with the first, and what comes last shares much with it.
FITS: tuple[tuple[str, dict[str, Any], int, int, bool], ...] = (
    ("PegasosSVC", {"polish": True}, 100, 2, False),
    ("LinearPegasosSVC", {"polish": True}, 100, 2, False),
    ("LinearPegasosSVC", {"polish": True}, 100, 2, True),
    ("LinearPegasosSVC", {"polish": True, "loss": "log_loss"}, 100, 2, False),
    ("LinearPegasosSVR", {"polish": True}, 100, 0, False),
    ("PegasosSVC", {"polish": True}, 100, 5, False),
    ("PegasosSVR", {"polish": True}, 100, 0, False),
    ("PegasosSVC", {"polish": True, "loss": "log_loss"}, 100, 2, False),
    ("PegasosSVC", {}, 100, 5, False),
    ("PegasosSVCCV", {"Cs": [1.0, 10.0], "gammas": 1}, 100, 2, False),
    ("PegasosSVC", {"polish": True, "row_dtype": "float32"}, 2001, 2, False),
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
