"""The forecast of a fit that has been planned, and the line that ``verbose=True`` prints of it.

How parts of a fit become a forecast is left to `kpegasos.estimators._kernel_forecast` and
`kpegasos.estimators._linear_forecast`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kpegasos.estimators._forecast_memory import kernel_mb_beside, linear_mb
from kpegasos.estimators._growth import Grown
from kpegasos.estimators._kernel_forecast import Estimate, KernelForecaster
from kpegasos.estimators._linear_forecast import estimate_linear
from kpegasos.estimators._probe import entries_of
from kpegasos.estimators._training import FitPlan
from kpegasos.solvers.stopping import Stopper

Range = tuple[float, float]

#: A fit that takes less, at the least, is not probed; one that will take less is not told of.
_WORTH_A_PROBE, _WORTH_A_LINE = 0.5, 5.0
#: Support of a fit at the least, as a share of the examples; passes of an ascent on features.
_LEAST_SUPPORT, _LEAST_PASSES = 0.1, 5.0
#: Multiplications and additions a second, at the most.
_MULTIPLICATIONS, _ADDITIONS = 1e11, 4e9
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
    >>> from kpegasos import Forecast
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


def forecast_of_plan(estimator: Any, plan: FitPlan, preparing: float, stopper: Stopper) -> Forecast:
    """What the training of a plan will take.

    Parameters
    ----------
    estimator : estimator
        Whose plan it is.
    plan : FitPlan
    preparing : float
        Seconds that were needed to make the plan.
    stopper : Stopper

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C that the stopper has noted.
    """
    if "_kernel" in plan.known:
        forecaster = KernelForecaster(plan, estimator, stopper)
        found = forecaster.estimate()
        beside = kernel_mb_beside(plan, found.support, forecaster.packed)
    else:
        found, beside = estimate_linear(plan, stopper), linear_mb(plan)
    memory = Grown(*(each + beside for each in found.rows_mb)).widened(_MEMORY_DOUBT)
    return _bounded(found, preparing, memory, plan.settings.max_time)


def _bounded(found: Estimate, preparing: float, memory: Grown, max_time: float | None) -> Forecast:
    """A forecast that ends at ``max_time``."""
    seconds = Grown(*(preparing + each for each in found.seconds))
    values = found.kernel_values
    if max_time is not None and seconds.high > max_time:
        share = min(1.0, max_time / found.of_values) if found.of_values > 0.0 else 1.0
        low = min(1.0, max_time / seconds.high)
        values = Grown(values.value * share, values.low * min(share, low), values.high)
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


def announce(estimator: Any, plan: FitPlan, stopper: Stopper) -> None:
    """Print the forecast of a long fit on stderr, if it is verbose.

    A short fit is not probed. Nor is one whose end is not foreseen, as there are observers, and
    none with ``max_time``, which is the user's own forecast.
    """
    ends_otherwise = plan.in_step or plan.settings.max_time is not None
    if not plan.verbose or ends_otherwise or _least_seconds(plan) < _WORTH_A_PROBE:
        return
    try:
        expected = forecast_of_plan(estimator, plan, 0.0, stopper)
    except KeyboardInterrupt:
        if stopper.interrupted:
            return  # the fit will heed it, and leave a model
        raise
    except Exception:  # a forecast must not cost the model
        return
    if expected.seconds >= _WORTH_A_LINE and sys.stderr is not None:
        with suppress(OSError, ValueError):  # a full disk, a reader who is gone
            print(f"{type(estimator).__name__}: {expected}", file=sys.stderr, flush=True)


def _least_seconds(plan: FitPlan) -> float:
    """Seconds that a fit takes at the least, from its size alone."""
    entries = 20.0 + entries_of(plan.X)
    least = _least_of_kernel if "_kernel" in plan.known else _least_of_features
    return sum(least(plan, float(pair.members.size), entries) for pair in plan.pairs)


def _least_of_kernel(plan: FitPlan, size: float, entries: float) -> float:
    draws = _least_draws(plan, size)
    rows = _LEAST_SUPPORT * (size if plan.settings.polish else min(size, draws))
    values = 0.0 if plan.known["_kernel"] is None else rows * size
    return values * entries / _MULTIPLICATIONS + _LEAST_SUPPORT * draws * size / _ADDITIONS


def _least_of_features(plan: FitPlan, size: float, entries: float) -> float:
    passes = _LEAST_PASSES * size if plan.settings.polish else 0.0
    return (_least_draws(plan, size) + passes) * entries / _ADDITIONS


def _least_draws(plan: FitPlan, size: float) -> float:
    settings = plan.settings
    draws = size * settings.epochs_of(int(size))
    if settings.n_steps is not None:
        draws = float(settings.n_steps * settings.options.batch_size)
    return min(draws, size) if settings.tol is not None else draws
