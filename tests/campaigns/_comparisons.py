"""Comparisons of two fits of one problem, and the one excuse for counts that differ.

The run is made again in long double, and the distance of its margins from the edge of the band of
ties is measured in units of their rounding.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.core.draws import IndexStream
from kpegasos.losses.base import TIE
from kpegasos.utils.validation import draw_seed
from tests.campaigns import _reference as judge
from tests.campaigns._models import Case, largest_value, own_gram
from tests.campaigns._reference import LONG

_DOUBLE = np.finfo(float).eps
#: How much more the projection may round, since early iterates are far larger than later ones.
_PROJECTED = 1e4


def check(condition: Any, promise: str) -> None:
    if not condition:
        raise AssertionError(promise)


def counts_of(clf: Any) -> np.ndarray:
    return np.asarray(clf.alpha_.toarray() if sparse.issparse(clf.alpha_) else clf.alpha_[None])


def compare(case: Case, a: Any, b: Any, change: str, *, same_values: bool) -> str:
    """Equal counts and coefficients, or a margin within rounding of the band of ties."""
    same_values = same_values and case.has_own_bits
    if case.options["projection"]:
        # Norms come from the diagonal, which not every source computes as it does a row.
        same_values = same_values and case.rows.dtype == np.float64
        equal = _close(counts_of(a), counts_of(b)).all(axis=1)
    else:
        equal = (counts_of(a) == counts_of(b)).all(axis=1)
    if not equal.all():
        for number in np.flatnonzero(~equal):
            ratio, _ = replayed(case, a, int(number), same_values=same_values)
            check(ratio < 1.0, f"counts differ, the closest margin is {ratio:.3g} roundings "
                   f"from a tie, after {change}")  # fmt: skip
        return "a margin within rounding of the band of ties"
    for name in ("support_", "dual_coef_"):
        values, others = getattr(a, name), getattr(b, name)
        if case.options["projection"] and values.shape == others.shape:
            same = _close(values, others).all()
        else:
            same = np.array_equal(values, others)
        check(same or case.options["projection"], f"{name} is the same to the last bit, {change}")
    # An objective may be that of the kernel or that of its rounded values.
    alike = same_values and (case.is_exact or case.rows.dtype == np.float64)
    # Gaps are of the best bound at any checkpoint, and other parts have other checkpoints.
    for name in ("objective_", "duality_gap_")[: 1 if "parts" in change else 2]:
        values, others = np.atleast_1d(getattr(a, name)), np.atleast_1d(getattr(b, name))
        slack = slack_of(case, a, alike) + slack_of(case, b, alike)
        if name == "duality_gap_":  # holds an estimate of rounding, which is a source's own
            slack = slack + 1e-3 * np.maximum(values, others)
        near = np.abs(values - others) <= slack
        both = np.isnan(values) & np.isnan(others)
        check((near | both).all(), f"{name} is the same but for rounding, {values}, {others}, "
               f"slack {slack}, {change}")  # fmt: skip
    return "the same bits" if not case.options["projection"] else "the same but for rounding"


def _close(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether counts are the same but for the rounding of projections."""
    return np.isclose(a, b, rtol=1e-4, atol=1e-6 * float(np.abs(a).max(initial=0.0)))


def slack_of(case: Case, clf: Any, same_values: bool) -> Any:
    """What rounding may do to an objective: of kernel values, and of sums over all steps."""
    lam, n_steps = np.atleast_1d(clf.lam_), np.atleast_1d(clf.n_steps_)
    size = np.abs(clf.dual_coef_).sum() + (counts_of(clf).sum() / (lam * n_steps)).max()
    weight = 1.0 if case.weight is None else case.weight.max() / case.weight[case.weight > 0].mean()
    values = largest_value(case, case.rows) * weight
    eps = _DOUBLE if same_values else float(np.finfo(case.rows.dtype).eps)
    unit = eps * (n_steps + case.y.size) * (_PROJECTED if case.options["projection"] else 1.0)
    return 1e-9 * np.abs(np.atleast_1d(clf.objective_)) + unit * values * (size + lam * size**2)


def replayed(case: Case, clf: Any, number: int, *, same_values: bool) -> tuple[float, np.ndarray]:
    """Make the run of a pair again, in long double.

    On the package's kernel values where these are the same bits in all fits, else on the judge's.

    Returns
    -------
    closest : float
        Distance of its margins to the edge of the band of ties, in units of their rounding. Below
        one the replay has ended there.
    counts : ndarray of shape (n_samples,)
        How often each example violated the margin.
    """
    weight = np.ones(case.y.size) if case.weight is None else case.weight
    i, j = list(combinations(clf.classes_, 2))[number]
    members = np.flatnonzero(((case.y == i) | (case.y == j)) & (weight > 0))
    if clf.classes_.size > 2 and case.options["sampling"] != "contiguous":
        members = members[np.argsort(case.y[members], kind="stable")]
    y = np.where(case.y[members] == (j if clf.classes_.size == 2 else i), 1, -1).astype(LONG)
    rows = case.rows[members]
    omega = (weight[members] / weight[members].mean()).astype(LONG)
    if same_values and case.kind != "primal":
        used = np.flatnonzero(weight > 0)
        part = np.searchsorted(used, members)
        whole = Case(case.rows[used], case.y, None, case.spec, {}, case.is_sparse, False, case.kind)
        values = own_gram(whole)[np.ix_(part, part)].astype(LONG)
        error = values * 0
    else:
        values = judge.kernel_values(case.spec, rows, rows)
        radius = float(np.sqrt((case.rows.astype(float) ** 2).sum(axis=1).max()))
        eps = _DOUBLE if case.kind == "primal" else np.finfo(rows.dtype).eps
        error = judge.value_error(case.spec, rows, rows, eps, radius=radius)
    options = case.options
    scaling = options["intercept_scaling"] if options["fit_intercept"] else 0.0
    lam = LONG(np.atleast_1d(clf.lam_)[number])
    k, n_steps = options["batch_size"], int(np.atleast_1d(clf.n_steps_)[number])
    stream = IndexStream(
        members.size, options["sampling"], draw_seed(options["random_state"]), (number,)
    )
    draws = stream.take(0, k * n_steps).reshape(n_steps, k)
    kernel = values + LONG(scaling) ** 2
    closest, found = _replay(kernel, error, y, omega, lam, draws, options["projection"])
    counts = np.zeros(case.y.size, dtype=np.int64)
    counts[members] = found
    return closest, counts


def _replay(
    kernel: np.ndarray,
    error: np.ndarray,
    y: np.ndarray,
    omega: np.ndarray,
    lam: Any,
    draws: np.ndarray,
    projection: bool,
) -> tuple[float, np.ndarray]:
    coef, counts = np.zeros(y.size, LONG), np.zeros(y.size, dtype=np.int64)
    margins = np.zeros(y.size, LONG)
    closest = np.inf
    k = draws.shape[1]
    for t, batch in enumerate(draws, start=1):
        size = np.abs(coef)
        unit = _DOUBLE * (t + y.size) * (_PROJECTED if projection else 1.0)
        found = y[batch] * margins[batch]
        if t > 1:
            slack = (error[batch] + unit * np.abs(kernel[batch])) @ size + 4 * _DOUBLE
            distance = np.abs(found - (1 - LONG(TIE)))
            closest = min(closest, float((distance / slack).min()))
            if closest < 1.0:
                break
        violators = batch[(found < 1 - LONG(TIE)) | (t == 1)]
        np.add.at(counts, violators, 1)
        steps = omega[violators] * y[violators] / (lam * k * t)
        coef *= 1 - LONG(1) / t
        np.add.at(coef, violators, steps)
        margins = (1 - LONG(1) / t) * margins + steps @ kernel[violators]
        norm = coef @ margins if projection else 0
        if projection and norm * lam > 1:
            shrink = 1 / np.sqrt(norm * lam)
            coef, margins = coef * shrink, margins * shrink
    return closest, counts
