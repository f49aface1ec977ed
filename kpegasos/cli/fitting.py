"""A fit as the program runs it.

Progress and warnings go to the standard error, and Ctrl-C leaves the model reached so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, NamedTuple

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kpegasos.cli.model_files import core_of
from kpegasos.cli.reports import warnings_as_lines, worst_gap


class Fit(NamedTuple):
    """What came of a fit.

    Attributes
    ----------
    model : BaseEstimator
        Fitted; the model reached so far if the fit was interrupted.
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    model: Any
    seconds: float
    interrupted: bool

    def reaches(self, tol: float) -> bool:
        """Whether the certified relative gap of every pair of classes is at most ``tol``."""
        return worst_gap(core_of(self.model)) <= tol


def shows_progress(quiet: bool) -> bool:
    """Whether somebody looks at the standard error.

    Parameters
    ----------
    quiet : bool
    """
    return not quiet and sys.stderr.isatty()


def run_fit(model: Any, fit: Callable[[], Any], *, subcommand: str, quiet: bool = False) -> Fit:
    """Fit a model, and keep what Ctrl-C leaves of it.

    Parameters
    ----------
    model : BaseEstimator
    fit : callable
        ``fit()`` fits it.
    subcommand : str
        Named in warnings.
    quiet : bool, default=False
        Whether warnings are not told.

    Raises
    ------
    KeyboardInterrupt
        If there is no model yet.
    """
    begin, interrupted = time.perf_counter(), False
    try:
        # Progress bars are written to the standard output, which is for results here.
        with warnings_as_lines(subcommand, quiet=quiet), redirect_stdout(sys.stderr):
            fit()
    except KeyboardInterrupt:
        if not _is_fitted(core_of(model)):
            raise
        interrupted = True
    return Fit(model, time.perf_counter() - begin, interrupted)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
