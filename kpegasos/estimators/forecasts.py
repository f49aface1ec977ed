"""The cost of a fit before it begins.

What is planned as for a fit is handed to `kpegasos.estimators._plan_forecast`.
"""

from __future__ import annotations

import time
from typing import Any

from sklearn.base import clone

from kpegasos.estimators._base import BasePegasos, some_weight
from kpegasos.estimators._plan_forecast import Forecast, forecast_of_plan
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import shown

__all__ = ["Forecast", "forecast"]


def forecast(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Forecast:
    """Say what a fit will take: seconds, memory, kernel values.

    Parts of the examples are trained on, each twice as large as the one before, until the next
    would take more than about half a second or a twentieth of the fit. Their counts are then
    extended to all examples, and what a kernel value and an addition cost is measured at full
    length. A fit that is soon done is run as a whole.

    Not foreseen are the end of a fit by ``early_stopping`` or by a callback, and that another fit
    with ``warm_start`` finds kernel values anew.

    Parameters
    ----------
    estimator : PegasosSVC, PegasosSVR, LinearPegasosSVC or LinearPegasosSVR
        Fitted or not; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Examples of the fit, or the kernel matrix with ``kernel="precomputed"``.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    Forecast
        No more than ``max_time`` seconds, where the estimator has one.

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        As ``fit`` does.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC, forecast
    >>> X, y = make_moons(3000, noise=0.2, random_state=0)
    >>> expected = forecast(PegasosSVC(gamma=2.0, polish=True), X, y)
    >>> expected.seconds_range[0] <= expected.seconds <= expected.seconds_range[1]
    True
    """
    if isinstance(estimator, type) or not isinstance(estimator, BasePegasos):
        raise TypeError(
            "estimator must be a PegasosSVC, PegasosSVR, LinearPegasosSVC or LinearPegasosSVR, "
            f"got {shown(estimator)} instead"
        )
    begin = time.perf_counter()
    own = clone(estimator)
    own._validate_params()
    own.set_params(random_state=0)
    X, y = own._validate(X, y, reset=True)
    own._check_targets(y)
    weight, observers = own._set_aside(X, y, some_weight(sample_weight, X))
    plan = own._plan(X, own._targets(y, weight), in_step=bool(observers))
    return forecast_of_plan(own, plan, time.perf_counter() - begin, Stopper())
