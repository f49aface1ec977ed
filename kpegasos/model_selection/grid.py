"""Make the cells and folds of a search from a user's parameters, and check these.

Values may come in any order. The solver goes along increasing C, and results are read in the user's
order, so each candidate knows its place among the sorted values. A fold is a vector of weights over
all examples, zero for those that it does not train on, so folds share whatever is computed between
examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid, check_cv

from kpegasos.fitting.inputs import LARGEST_DEGREE
from kpegasos.fitting.pairs import Targets
from kpegasos.kernels.base import Kernel
from kpegasos.kernels.functions import make_kernel, parameters_of, scale_gamma
from kpegasos.utils.validation import (
    LARGEST,
    SMALLEST,
    as_integer,
    as_number,
    is_number,
    refuse_masked,
    shown,
    told_of,
)

# --- cells ---


class Candidate(NamedTuple):
    """A cell, the same in all folds.

    Attributes
    ----------
    parameters : dict
        What `PegasosSVC` gets.
    kernel, C : int
        Place among the kernels, and among the increasing values of C.
    """

    parameters: dict[str, Any]
    kernel: int
    C: int


@dataclass(frozen=True)
class Grid:
    """Values of C and kernels.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Increasing.
    axes : dict of str to ndarray
        Increasing values of each parameter that the kernel has: of ``gamma``, ``degree`` and
        ``coef0``, in this order.
    kernels : list of Kernel or None
        One for each combination of the axes, the last axis fastest; None for a precomputed matrix.
    candidates : list of Candidate
        In the order of `ParameterGrid` over the values as they came.
    """

    Cs: np.ndarray
    axes: dict[str, np.ndarray]
    kernels: list[Kernel | None]
    candidates: list[Candidate]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis of the kernels."""
        return tuple(values.size for values in self.axes.values())


def make_grid(kernel: Any, X: Any, *, Cs: Any, gammas: Any, degrees: Any, coef0s: Any) -> Grid:
    """Make values of C, and a kernel for each combination of the parameters that it has.

    Parameters
    ----------
    kernel : str, callable or Kernel
        Names are those of `PegasosSVC`; only these have parameters to search.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Its variance makes ``gamma="scale"``.
    Cs, gammas, degrees, coef0s : object
        As `PegasosSVCCV` has them.

    Raises
    ------
    ValueError
        If there are no values, or some are out of range or equal, or if a kernel is not positive
        semi-definite.
    """
    cost = partial(as_number, positive=True, least=SMALLEST, most=LARGEST)
    sequences = {"C": _values("Cs", Cs, cost, lambda size: np.logspace(-1.0, 3.0, size))}
    named = isinstance(kernel, str)
    has = [] if kernel == "precomputed" or not named else parameters_of(kernel)
    if "gamma" in has:
        sequences["gamma"] = _values_of_gamma(gammas, X)
    if "degree" in has:
        degree = partial(as_integer, least=0, most=LARGEST_DEGREE)
        sequences["degree"] = _values("degrees", degrees, degree)
    if "coef0" in has:
        sequences["coef0"] = _values("coef0s", coef0s, as_number)
    axes = {name: np.sort(values) for name, values in sequences.items() if name != "C"}
    kernels: list[Kernel | None]
    if not named:
        kernels = [make_kernel(kernel)]
    elif kernel == "precomputed":
        kernels = [None]
    else:
        kernels = [
            make_kernel(kernel, **dict(zip(axes, (value.item() for value in values), strict=True)))
            for values in product(*axes.values())
        ]
    for made_kernel in kernels:
        if made_kernel is not None and not made_kernel.positive_definite:
            raise ValueError(
                f"kernel must be positive semi-definite for certified cells, got {made_kernel!r}; "
                f"GridSearchCV over PegasosSVC searches others"
            )
    increasing = np.sort(sequences["C"])
    shape = tuple(values.size for values in axes.values())

    def candidate(parameters: dict[str, Any]) -> Candidate:
        places = [int(np.searchsorted(axes[name], parameters[name])) for name in axes]
        index = int(np.ravel_multi_index(places, shape)) if shape else 0
        return Candidate(parameters, index, int(np.searchsorted(increasing, parameters["C"])))

    return Grid(increasing, axes, kernels, [candidate(each) for each in ParameterGrid(sequences)])


def _values_of_gamma(gammas: Any, X: Any) -> list[float]:
    """Check values, and resolve "scale" and "auto"."""

    def resolve(name: str, value: Any) -> float:
        if isinstance(value, str) and value in ("scale", "auto"):
            return scale_gamma(value, X)
        if isinstance(value, str):
            raise ValueError(
                f"{name} must be a positive finite number, 'scale' or 'auto', "
                f"got {shown(value)} instead"
            )
        return as_number(name, value, positive=True)

    def powers_of_4(size: int) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            made = scale_gamma("scale", X) * 4.0 ** (np.arange(size) - (size - 1) / 2)
        if not (np.isfinite(made).all() and made.min() > 0):
            raise ValueError(
                f"gammas must be fewer for powers of 4 to be finite, got {size} instead"
            )
        return np.asarray(made)

    return _values("gammas", gammas, resolve, powers_of_4)


def _values(
    name: str,
    values: Any,
    check: Callable[..., Any],
    make: Callable[[int], np.ndarray] | None = None,
) -> list[Any]:
    """Check that the values of a sequence differ; an integer has ``make`` make so many."""
    if make is not None and is_number(values, Integral):
        made: list[Any] = make(as_integer(name, values, least=1, most=1000)).tolist()
        return made
    counts = "a positive integer or " if make else ""
    expected = f"{counts}a sequence of numbers"
    refuse_masked(name, values)
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        members = list(values)
    except TypeError:
        raise ValueError(f"{name} must be {expected}, got {shown(values)} instead") from None
    checked = [check(f"each value of {name}", value) for value in members]
    if not checked:
        raise ValueError(f"{name} must have at least one value, got {shown(values)} instead")
    for place, value in enumerate(checked):
        if value in checked[:place]:
            raise ValueError(f"{name} must have different values, got {value:g} twice")
    return checked


# --- folds ---


_EXPECTED = "cv must be an integer of at least 2, a splitter or pairs of index arrays (train, test)"


class Folds(NamedTuple):
    """The training and test examples of each fold.

    Attributes
    ----------
    weights : ndarray of shape (n_folds, n_samples), float64
        Weights of the examples, class weights included; zero for those that a fold is not trained
        on.
    tests : list of ndarray of int
        Examples that each fold is tested on; all have weight zero there.
    """

    weights: np.ndarray
    tests: list[np.ndarray]


def make_folds(
    cv: Any,
    X: Any,
    groups: Any,
    y: np.ndarray,
    weight: np.ndarray,
    whole: Targets,
    targets_of: Callable[[np.ndarray, np.ndarray], Targets],
) -> Folds:
    """Return weights and tests of all folds.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As in `sklearn.model_selection.check_cv`.
    X : array-like of shape (n_samples, n_features)
        For the splitter.
    groups : array-like of shape (n_samples,) or None
        For the splitter.
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
        Without class weights. Examples of weight zero are in no training part and in no test.
    whole : Targets
        Of all examples.
    targets_of : callable
        ``targets_of(y, weight)``, with the class weights of the examples of positive weight.

    Returns
    -------
    Folds
        An example that a training part has more than once counts as often.

    Raises
    ------
    ValueError
        If there are no folds, or one is empty, lacks a class, or is tested on what it trains on.
    """
    weights, tests = [], []
    for fold, (train, test) in enumerate(_splits(cv, X, y, groups)):
        train = _indices(f"the training part of fold {fold}", train, y.size)
        test = _indices(f"the test part of fold {fold}", test, y.size)
        train, test = train[weight[train] > 0], test[weight[test] > 0]
        both = np.intersect1d(train, test)
        if both.size:
            raise ValueError(
                f"cv must test each fold on other examples than it trains on, got example "
                f"{both[0]} in both parts of fold {fold}"
            )
        if test.size == 0:
            raise ValueError(
                f"cv must test each fold on an example of positive sample_weight, got none in "
                f"fold {fold}"
            )
        counts = np.bincount(whole.labels[train], minlength=whole.classes.size)
        if counts.min() == 0:
            lacking = shown(whole.classes[counts == 0].tolist()[0])
            raise ValueError(
                f"cv must leave examples of each class to train on, got none of class {lacking} "
                f"in fold {fold}"
            )
        own = np.zeros(y.size)
        np.add.at(own, train, weight[train])
        weights.append(targets_of(y, own).weight)
        tests.append(test)
    if not tests:
        raise ValueError("cv must give at least one fold, got none")
    return Folds(np.array(weights), tests)


def _splits(cv: Any, X: Any, y: np.ndarray, groups: Any) -> list[tuple[Any, Any]]:
    """Return training and test part of each fold, not yet checked."""
    splitter = not isinstance(cv, str) and hasattr(cv, "split")
    if not (cv is None or is_number(cv, Integral) or splitter or isinstance(cv, Iterable)):
        raise ValueError(f"{_EXPECTED}, got {shown(cv)} instead")
    try:
        made = isinstance(cv, Iterable) and not splitter
        splits = list(cv if made else check_cv(cv, y, classifier=True).split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise told_of(error, _EXPECTED) from None
    for split in splits:
        if not isinstance(split, tuple | list) or len(split) != 2:
            raise ValueError(f"{_EXPECTED}, got {shown(split)} instead")
    return [(train, test) for train, test in splits]


def _indices(what: str, part: Any, n_samples: int) -> np.ndarray:
    """Return indices of examples; a mask of all examples is taken as well."""
    try:
        indices = np.asarray(part)
    except ValueError:
        indices = np.array(None)
    if indices.dtype.kind == "b" and indices.shape == (n_samples,):
        return np.flatnonzero(indices)
    if indices.size == 0 and indices.ndim == 1:
        return np.zeros(0, dtype=np.intp)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(f"{_EXPECTED}, got {shown(part)} as {what}")
    wrong = indices[(indices < 0) | (indices >= n_samples)]
    if wrong.size:
        raise ValueError(
            f"cv must have indices from 0 to {n_samples - 1}, got {wrong[0]} in {what}"
        )
    return indices.astype(np.intp)
