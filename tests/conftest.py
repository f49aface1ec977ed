"""Data and index streams that several test files share."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Each core has a worker: more threads of BLAS would wait for each other in small problems.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from sklearn.utils import check_random_state

from kpegasos.core.draws import IndexStream

# A shell starts what runs in its background without SIGINT, and that is handed on to all children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What fresh processes write to the standard error is compared.
os.environ["KPEGASOS_QUIET"] = "1"

# The same examples in every run; campaigns look for others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


def pytest_xdist_auto_num_workers(config):
    """All cores for folders; none but this one for files, which begin sooner alone."""
    return 0 if all(Path(arg.partition("::")[0]).is_file() for arg in config.args) else None


def pytest_xdist_setupnodes(config):
    """All tests compile ahead: workers that begin together would compile the same."""
    is_all = config.args_source is not config.ArgsSource.ARGS
    if is_all and not os.environ.get("NUMBA_DISABLE_JIT"):
        subprocess.run([sys.executable, "-m", "kpegasos", "warm", "-q"], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file of tests that cannot be imported is an error, and not one without docstrings."""
    report = yield
    if collector.name.startswith("test_") and "unable to import" in str(report.longrepr):
        report.outcome, report.longrepr = "failed", str(report.longrepr)
    return report


class Integers(NamedTuple):
    """A problem on which no sum is ever rounded.

    Features, Gram matrices and counts are small integers, ``lam`` is a power of two and the mean of
    the weights is 2, so that the package's floats and the oracle's fractions are the same numbers.
    """

    X: np.ndarray
    y: np.ndarray
    lam: float
    weight: np.ndarray
    omega: np.ndarray  # the weights scaled to mean one


def make_integers():
    rng = np.random.default_rng(25)
    X = rng.integers(-2, 3, size=(37, 3)).astype(np.float64)
    y = np.where(X @ [1.0, -1.0, 1.0] + rng.integers(-2, 3, size=37) > 0, 1.0, -1.0)
    weight = np.resize([1.0, 3.0, 2.0], 37)
    weight[-1] = 2 * 37 - weight[:-1].sum()
    return Integers(X, y, 1.0, weight, weight / 2)


@pytest.fixture
def default_handler():
    """Ctrl-C raises KeyboardInterrupt before and after a test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def integers():
    return make_integers()


def stream(n_samples, n_draws, *, sampling="permutation", random_state=0):
    """The draws that ``pegasos(..., sampling=..., random_state=...)`` makes."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return IndexStream(n_samples, sampling, int(seed)).take(0, n_draws)
