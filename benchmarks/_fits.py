"""The fits that are timed, and the process that times one of them.

This file runs as a script in a fresh process, against whatever tree ``PYTHONPATH`` names. It uses
only parameters that every revision of the package knows, and imports nothing but that package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, make_classification, make_moons


def _moons(n_samples: int) -> tuple[Any, Any]:
    return make_moons(n_samples, noise=0.2, random_state=0)


def _digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def _columns(n_samples: int = 5000, n_features: int = 20, scale: float = 1.0) -> tuple[Any, Any]:
    X, y = make_classification(n_samples, n_features, n_informative=10, random_state=0)
    return scale * X.astype(np.float32), y


def _text(n_samples: int, n_words: int = 20_000, length: int = 76) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    words = rng.integers(n_words, size=(n_samples, length))
    starts = np.arange(0, words.size + 1, length)
    X = sparse.csr_matrix((rng.random(words.size), words.ravel(), starts), (n_samples, n_words))
    X.sum_duplicates()
    return X, X @ rng.normal(size=n_words) > 0


#: Data, and the estimator that is fitted to them, with its parameters.
FITS: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "startup": (partial(_moons, 500), "PegasosSVC", {"gamma": 2.0, "C": 10.0}),
    "moons_500": (partial(_moons, 500), "PegasosSVC", {"gamma": 2.0, "C": 10.0, "epochs": 300}),
    "moons_2000": (partial(_moons, 2000), "PegasosSVC", {"gamma": 2.0, "C": 10.0, "epochs": 200}),
    "digits": (_digits, "PegasosSVC", {"gamma": 0.1, "C": 10.0, "epochs": 20}),
    "cached": (_columns, "PegasosSVC", {"epochs": 20, "cache": "cached", "cache_mb": 256}),
    "crowded": (_columns, "PegasosSVC", {"epochs": 5, "cache": "cached", "cache_mb": 16}),
    "polished": (_columns, "PegasosSVC", {"epochs": 2, "polish": True, "tol": 1e-2}),
    "blocks": (
        partial(_columns, 50_000),
        "PegasosSVC",
        {"C": 0.1, "epochs": 2, "polish": True, "tol": 1e-2},
    ),
    "not_kept": (_columns, "PegasosSVC", {"epochs": 2, "cache": "streamed"}),
    "search": (
        _columns,
        "PegasosSVCCV",
        {"Cs": [1.0, 10.0, 100.0, 1000.0], "gammas": ["scale"], "cv": 3},
    ),
    "linear_dense": (partial(_columns, 50_000, 100), "LinearPegasosSVC", {"epochs": 5}),
    "linear_polished": (
        partial(_columns, 20_000, 50, 10.0),
        "LinearPegasosSVC",
        {"epochs": 1, "polish": True},
    ),
    "linear_sparse": (partial(_text, 50_000), "LinearPegasosSVC", {"epochs": 5}),
}


def override(setting: str) -> None:
    """Set a machine constant before anything that reads it is imported.

    Importing `kpegasos.utils.tuning` imports the package around it first, with the loops that
    freeze constants, so the module is made from its file and waits where imports will look.

    Parameters
    ----------
    setting : str
        ``NAME=VALUE``, or nothing.
    """
    if not setting:
        return
    constant, _, value = setting.partition("=")
    package = importlib.util.find_spec("kpegasos")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "utils" / "tuning.py"
    spec = importlib.util.spec_from_file_location("kpegasos.utils.tuning", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, constant):
        raise ValueError(f"tuning has no constant {constant}")
    setattr(module, constant, json.loads(value))


def main() -> None:
    """Time one fit, after one that compiles; print the seconds and the package that was timed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=FITS)
    parser.add_argument("--set", default="", dest="setting", metavar="NAME=VALUE")
    parser.add_argument("--once", action="store_true", help="without the fit that compiles")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    override(args.setting)
    make, estimator, parameters = FITS[args.name]
    X, y = make()
    import kpegasos

    model = getattr(kpegasos, estimator)(random_state=0, **parameters)
    if not args.once:
        model.fit(X, y)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "package": str(Path(kpegasos.__file__).parent)}))


if __name__ == "__main__":
    main()
