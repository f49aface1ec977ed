"""Forecasts of the cost of a fit, from fits on parts of the examples.

Kernel values and seconds of a fit are close to powers of the number of examples, once a part is
large enough to be trained as the whole is. How large a power, the last two parts say.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor

from kpegasos.estimators import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from kpegasos.fitting.inputs import settings_of, some_weight
from kpegasos.utils import tuning
from kpegasos.utils.validation import check_labels, shown

Range = tuple[float, float]

#: Examples of a class in the first part: as many as are trained as the whole is.
_FIRST = 9 * tuning.TILE_DRAWS
#: A part may be expected to take so many seconds, or this share of the whole.
_MOST_SECONDS, _MOST_SHARE = 0.5, 0.05
#: Seconds after which a part is cut short.
_PATIENCE = 5.0


@dataclass(frozen=True)
class Forecast:
    """The forecast cost of a fit.

    Attributes
    ----------
    seconds : float
    seconds_range : tuple of float
        Lower and upper end.
    kernel_values : float
        Kernel values that will be computed; 0 on features.
    kernel_values_range : tuple of float
    n_probed : int
        Examples of the largest part that was trained on; all of them where that costs little.

    Examples
    --------
    >>> from kpegasos import Forecast
    >>> print(Forecast(12.3, (6.1, 24.0), 3.1e8, (2.5e8, 4e8), 9600))
    about 12 s (6.1 to 24 s), 3.1e8 kernel values
    """

    seconds: float
    seconds_range: Range
    kernel_values: float
    kernel_values_range: Range
    n_probed: int

    def __str__(self) -> str:
        seconds, low, high = (
            f"{each:.2g}" if each < 10.0 else f"{each:.0f}"
            for each in (self.seconds, *self.seconds_range)
        )
        values = f"{self.kernel_values:.1e}".replace("e+0", "e").replace("e+", "e")
        told = f", {values} kernel values" if self.kernel_values else ""
        return f"about {seconds} s ({low} to {high} s){told}"


class _Cost(NamedTuple):
    """The cost of a fit on a part."""

    n_samples: int
    seconds: float
    values: float


def forecast(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Forecast:
    """Say what a fit will take: seconds and kernel values.

    Parts of the examples with the same C are trained on, each twice as large as the one before, as
    long as the next takes less than half a second or a twentieth of the fit. Few examples are
    trained on as a whole.

    Not foreseen are an end by ``early_stopping`` or a callback, and a cache that holds the rows of
    the parts and not those of the whole.

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
        Its seconds are those of compiled code, and no more than ``max_time``. The upper end is
        infinite where a part was not done after five seconds.

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
    kinds = PegasosSVC, PegasosSVR, LinearPegasosSVC, LinearPegasosSVR
    if not isinstance(estimator, kinds):
        raise TypeError(
            f"estimator must be one of {', '.join(kind.__name__ for kind in kinds)}, "
            f"got {shown(estimator)} instead"
        )
    data = _Examples(estimator, X, y, sample_weight)
    whole, size = data.n_samples, min(data.n_samples, data.first)
    for _ in range(4):  # fits that may be cut short while they compile
        if data.fit(size).seconds < _PATIENCE:
            break
    parts = [data.fit(size)]
    while size < whole:
        size = min(whole, 2 * size)
        expected = _grown(parts, size, "seconds")[0]
        most = max(_MOST_SECONDS, _MOST_SHARE * _grown(parts, whole, "seconds")[0])
        if expected > most and (len(parts) > 1 or expected > _PATIENCE):
            break
        parts.append(data.fit(size))
    seconds, low, high = _grown(parts, whole, "seconds")
    values, fewest, most_values = _grown(parts, whole, "values")
    if parts[-1].seconds >= _PATIENCE:
        high = most_values = math.inf
    limit = math.inf if estimator.max_time is None else float(estimator.max_time)
    noise = 1.3  # from one run to the next
    low, seconds, high = (min(limit, each) for each in (low / noise, seconds, high * noise))
    return Forecast(seconds, (low, high), values, (fewest, most_values), parts[-1].n_samples)


def _grown(parts: list[_Cost], whole: int, name: str) -> tuple[float, float, float]:
    """Tell a cost of all examples, and the ends of its range, by its growth between two parts."""
    # Powers of the number of examples, and how far off one may be.
    least, most, doubt = 1.0, 2.3 if name == "seconds" else 2.0, 0.15
    last = parts[-1]
    cost, ratio = getattr(last, name), whole / last.n_samples
    power = most
    if len(parts) > 1:
        small = getattr(parts[-2], name)
        if small > 0.0 and cost > 0.0:
            power = math.log(cost / small) / math.log(last.n_samples / parts[-2].n_samples)
    power = min(most, max(least, power))
    low, high = max(least, power - doubt), min(most, power + doubt)
    return cost * ratio**power, cost * ratio**low, cost * ratio**high


class _Examples:
    """Examples of a fit, and fits on parts of them."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        own = clone(estimator)
        settings_of(own)
        self._X, self._y = own._validate(X, y, reset=True)
        if not is_regressor(estimator):
            check_labels(self._y)
        self._weight = some_weight(sample_weight, self._X)
        self._estimator = own.set_params(
            random_state=0, verbose=False, warm_start=False, max_time=_PATIENCE
        )
        self.n_samples = int(self._X.shape[0])
        self._classes = None if is_regressor(estimator) else np.unique(self._y, return_counts=True)
        n_classes = 2 if self._classes is None else self._classes[0].size
        self.first = _FIRST * max(2, n_classes) // 2

    def fit(self, size: int) -> _Cost:
        """Train on a part of a size, and say what it cost."""
        members = np.arange(self.n_samples)
        if size < self.n_samples:
            rare = self._classes is not None and self._classes[1].min() < 2
            strata = None if self._classes is None or rare else self._y
            from sklearn.model_selection import train_test_split

            members = train_test_split(members, train_size=size, stratify=strata, random_state=0)[0]
            members.sort()
        share, estimator = size / self.n_samples, clone(self._estimator)
        if estimator.lam is not None:
            estimator.set_params(lam=estimator.lam / share)  # the same C
        if estimator.n_steps is not None:
            estimator.set_params(n_steps=max(1, round(share * estimator.n_steps)))
        if not isinstance(estimator.checkpoints, str | None):
            steps = {max(1, round(share * step)) for step in estimator.checkpoints}
            estimator.set_params(checkpoints=sorted(steps))
        X = self._X[members]
        if getattr(estimator, "kernel", None) == "precomputed":
            X = X[:, members]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            estimator.fit(X, self._y[members], sample_weight=self._weight[members])
            seconds = time.perf_counter() - begin
        histories = estimator.history_
        histories = histories if isinstance(histories, list) else [histories]
        return _Cost(size, seconds, sum(history[-1].kernel_evaluations for history in histories))
