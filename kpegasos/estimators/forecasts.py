"""The cost of a fit before it begins: `forecast`, and the line that ``verbose=True`` prints.

Parts of the examples are trained on, and what they took grows to the whole; how is left to
`kpegasos.estimators._kernel_forecast` and `kpegasos.estimators._linear_forecast`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from kpegasos.estimators._base import BasePegasos, some_weight
from kpegasos.estimators._forecast_memory import kernel_mb_beside, linear_mb
from kpegasos.estimators._growth import Grown
from kpegasos.estimators._kernel_forecast import Estimate, KernelForecaster
from kpegasos.estimators._kernel_model import KernelMixin
from kpegasos.estimators._linear_forecast import estimate_linear
from kpegasos.estimators._training import FitPlan
from kpegasos.utils.validation import shown

Range = tuple[float, float]

#: Factor by which the memory beside kernel rows may be off.
_MEMORY_DOUBT = 1.3


@dataclass(frozen=True)
class Forecast:
    """What a fit will take.

    Attributes
    ----------
    seconds : float
    seconds_range : tuple of float
        Lower and upper end.
    mebibytes : float
        Memory at the peak, beyond the data.
    mebibytes_range : tuple of float
    kernel_values : float
        Kernel values that will be computed; 0 on features.
    kernel_values_range : tuple of float
    n_probed : int
        Examples of the largest part that was trained on; all of them where that costs little.

    Examples
    --------
    >>> from kpegasos.estimators.forecasts import Forecast
    >>> print(Forecast(12.3, (6.1, 24.0), 1229.0, (900.0, 1300.0), 3.1e8, (2.5e8, 4e8), 9600))
    about 12 s (6.1 to 24 s), 1.2 GiB, 3.1e8 kernel values
    """

    seconds: float
    seconds_range: Range
    mebibytes: float
    mebibytes_range: Range
    kernel_values: float
    kernel_values_range: Range
    n_probed: int

    def __str__(self) -> str:
        low, high = (f"{end:.2g}" if end < 10.0 else f"{end:.0f}" for end in self.seconds_range)
        seconds = f"{self.seconds:.2g}" if self.seconds < 10.0 else f"{self.seconds:.0f}"
        values = f"{self.kernel_values:.1e}".replace("e+0", "e").replace("e+", "e")
        parts = [f"about {seconds} s ({low} to {high} s)", _in_units(self.mebibytes)]
        if self.kernel_values:
            parts.append(f"{values} kernel values")
        return ", ".join(parts)


def _in_units(mebibytes: float) -> str:
    return f"{mebibytes / 1024:.1f} GiB" if mebibytes >= 1024.0 else f"{mebibytes:.0f} MiB"


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
    return _forecast_of_plan(own, plan, time.perf_counter() - begin)


def _forecast_of_plan(estimator: Any, plan: FitPlan, preparing: float) -> Forecast:
    """What the training of a plan will take, after so many seconds of preparation."""
    if isinstance(estimator, KernelMixin):
        forecaster = KernelForecaster(plan, estimator)
        found = forecaster.estimate()
        beside = kernel_mb_beside(plan, found.support, forecaster.packed)
    else:
        found, beside = estimate_linear(plan), linear_mb(plan)
    memory = Grown(*(each + beside for each in found.rows_mb)).widened(_MEMORY_DOUBT)
    return _bounded(found, preparing, memory, plan.settings.max_time)


def _bounded(found: Estimate, preparing: float, memory: Grown, max_time: float | None) -> Forecast:
    """A forecast that ends at ``max_time``."""
    seconds = Grown(*(preparing + each for each in found.seconds))
    values = found.kernel_values
    if max_time is not None and seconds.high > max_time:
        # Values are computed at an even pace, but for those of the end.
        shares = [min(1.0, max_time / each) for each in seconds]
        values = Grown(values.value * shares[0], values.low * shares[2], values.high * shares[1])
        seconds = Grown(*(min(max_time, each) for each in seconds))
    return Forecast(
        seconds.value,
        seconds[1:],
        memory.value,
        memory[1:],
        values.value,
        values[1:],
        found.n_probed,
    )
