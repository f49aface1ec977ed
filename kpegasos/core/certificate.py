"""What a run may claim of an iterate: objective, dual value and gap, with all rounding.

Margins and norms come with bounds on their rounding. In the worst case they give an upper bound on
P(w), ``upper_bound``, and a lower one on the optimum, ``proven_bound``. ``objective`` and
``best_dual`` are the same as computed. All are functions of arrays, which compiled runs and the
interpreter call alike; what a free intercept adds is in `kpegasos.core.free_intercept`.

With the conjugate ℓ* of the loss, weak duality says for coefficients β in the box of the loss

    D(β) = (1/m) Σ ω_i (-ℓ*(-s_i β_i; y_i)) - lam/2 ‖w_β‖²  ≤  min P,
    w_β = (1/(lam m)) Σ β_i ω_i s_i φ(x_i).

An iterate ``w = Σ c_j ω_j s_j φ(x_j)`` has ``β = lam m c``; every multiple of it within the box
gives a bound. The hinge has the best in closed form; for any other loss it is found by a search
along the line, on which D is concave.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.state import (
    INHERITED,
    LARGEST_SIZE,
    SIZE,
    STEPS,
    Examples,
    Iterate,
    LoopState,
    combine,
)
from kpegasos.losses.base import gain, pull, value
from kpegasos.losses.standard import by_loss, is_hinge
from kpegasos.utils.boundary import checked, require_shapes
from kpegasos.utils.compiled import compiled, shared

_EPS = float(np.finfo(np.float64).eps)
#: ``lower``, ``upper`` and ``lipschitz`` of a loss, which compiled code cannot ask it for.
Limits = tuple[float, float, float]


def limits_of(loss: Any) -> Limits:
    """Return the `Limits` of a loss."""
    return float(loss.lower), float(loss.upper), float(loss.lipschitz)


# --- iterates whose margins are held --------------------------------------------------------------


@shared
def additions(state: LoopState, examples: Examples, iterate: Iterate, counts: float) -> float:
    """Bound how far the image of an iterate is off, in units of a kernel value's spacing.

    That is the number of additions times the largest size of the sums. With the hinge, in units of
    the scale, no count has been larger than it is now, and no dual variable larger than one; else
    the largest size is recorded, and signs may double stamped sums. An addition is rounded by half
    a spacing, folding may double that. ``counts`` are ``Σ α_i ω_i``.
    """
    if not is_hinge(examples.loss):
        counts = 2.0 * state.scalars[LARGEST_SIZE]
    number = (state.counters[STEPS] + 4.0) * state.pulls.size + state.counters[INHERITED]
    shares = abs(iterate.plain) + 2.0 * iterate.stamped * iterate.largest_clock
    return float(number * shares * (counts + state.alpha.size))


@compiled(fastmath={"reassoc"}, inner=True)
def sums_of(
    examples: Examples,
    rounding: np.ndarray,
    largest: float,
    limits: Limits,
    n_additions: float,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> tuple[float, float, float, float, float]:
    """Sum over coefficients and margins; arguments and values are those of `evaluate_held`."""
    squared_norm = size = of_values = average = most = 0.0
    for i in range(coefs.size):
        weight = abs(examples.signed[i])
        weighted = weight * abs(coefs[i])
        squared_norm += coefs[i] * examples.signed[i] * margins[i]
        size += weighted
        of_values += weighted * rounding[i]
        average += weight * rounding[i]
        most = max(most, rounding[i])
    of_sums = n_additions * _EPS * largest
    of_loss, of_margin = of_sums + of_values + size * average / coefs.size, of_sums + of_values
    of_margin += size * most
    of_loss *= _steepest(examples.loss, examples, limits, margins, of_margin)
    # Last, rounding of the sum over the examples, whose terms come to ``largest * size²`` at most.
    of_norm = size * (of_sums + 2.0 * of_values) + 0.5 * coefs.size * _EPS * largest * size * size
    return squared_norm, of_loss, of_norm, of_margin, n_additions


def _check(
    state: LoopState,
    examples: Examples,
    iterate: Iterate,
    rounding: np.ndarray,
    largest: float,
    limits: Limits,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> None:
    shape = examples.label.shape
    stamped = state.stamped_image if iterate.stamped else state.image
    require_shapes(
        ("signed", examples.signed, shape),
        ("alpha", state.alpha, shape),
        ("stamps", state.stamps, shape),
        ("image", state.image, shape),
        ("stamped_image", stamped, shape),
        ("rounding", rounding, shape),
        ("coefs", coefs, shape),
        ("margins", margins, shape),
    )
    if iterate.prefix_coefs.size:
        require_shapes(
            ("prefix_coefs", iterate.prefix_coefs, shape),
            ("prefix_image", iterate.prefix_image, shape),
        )


@checked(_check)
@compiled(fastmath=False)
def evaluate_held(
    state: LoopState,
    examples: Examples,
    iterate: Iterate,
    rounding: np.ndarray,
    largest: float,
    limits: Limits,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> tuple[float, float, float, float, float]:
    """Evaluate an iterate of a state whose image is the margins.

    Parameters
    ----------
    state : LoopState
    examples : Examples
    iterate : Iterate
    rounding : ndarray of shape (n_samples,), float64
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.
    largest : float
        No kernel value is larger.
    limits : tuple of float
        See `Limits`.
    coefs, margins : ndarray of shape (n_samples,), float64
        Written to.

    Returns
    -------
    squared_norm : float
        ``Σ c_i ω_i s_i f(x_i)``.
    loss_rounding, norm_rounding : float
        Largest error of the mean loss and of ``‖w‖²``.
    margin_rounding : float
        Largest error of a margin.
    additions : float
        See `additions`.
    """
    plain, stamped = iterate.plain, iterate.stamped
    combine(plain, stamped, state.alpha, state.stamps, iterate.prefix_coefs, coefs)
    combine(plain, stamped, state.image, state.stamped_image, iterate.prefix_image, margins)
    counts = 0.0
    for i in range(state.alpha.size):
        counts += state.alpha[i] * abs(examples.signed[i])
    number = additions(state, examples, iterate, counts)
    return sums_of(examples, rounding, largest, limits, number, coefs, margins)


# --- objective and dual value ---------------------------------------------------------------------


@shared
def _sum_rounding(n_samples: int) -> float:
    """Return the relative rounding of a sum over the examples, and of a few numbers beside it."""
    return (0.5 * n_samples + 16.0) * _EPS


#: Steps of the search along the line; each takes off more than a third of the range.
_STEPS = 60
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Range, relative to its end, at which the search is over: D is flat there.
_NARROW = 1e-9
#: Roundings of a gain, relative to the terms that it is made of, at the most.
_ROUNDINGS = 16.0


@compiled()
def gain_sums(examples: Examples, factor: float, coef: np.ndarray) -> tuple[float, float]:
    """Return ``Σ ω gain(factor · c)``, and a bound on the sizes of what its terms are made of."""
    total = size = 0.0
    for i in range(coef.size):
        beta, weight = factor * coef[i], abs(examples.signed[i])
        each = gain(examples.loss, beta, examples.label[i])
        total += weight * each
        size += weight * (abs(each) + 2.0 * abs(beta * examples.label[i]))
    return total, size


@compiled()
def dual_value(
    examples: Examples, coef: np.ndarray, squared_norm: float, lam: float, theta: float
) -> float:
    """``D(θβ)`` of ``β = lam m c``, as computed.

    Parameters
    ----------
    examples : Examples
    coef : ndarray of shape (n_samples,)
        ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``; non-negative with the hinge.
    squared_norm : float
        ``‖w‖²``.
    lam, theta : float
    """
    total, _ = gain_sums(examples, theta * lam * coef.size, coef)
    return total / coef.size - 0.5 * theta * theta * lam * max(0.0, squared_norm)


@compiled()
def largest_multiple(limits: Limits, coef: np.ndarray, unit: float) -> float:
    """Return the largest θ with ``θ · unit · c`` in the box of a loss; infinite if none is."""
    least = most = 0.0
    for i in range(coef.size):
        least, most = min(least, coef[i]), max(most, coef[i])
    theta = math.inf
    if most > 0.0:
        theta = limits[1] / (unit * most)
    if least < 0.0:
        theta = min(theta, limits[0] / (unit * least))
    return theta


@compiled(fastmath={"reassoc"}, inner=True)
def _hinge_line(examples: Examples, coef: np.ndarray) -> tuple[float, float]:
    """Return the largest ``c``, and ``Σ c_i ω_i``."""
    largest = size = 0.0
    for i in range(coef.size):
        largest = max(largest, coef[i])
        size += abs(examples.signed[i]) * coef[i]
    return largest, size


def _hinge_multiple(loss, examples, limits, coef, squared_norm, lam):  # type: ignore[no-untyped-def]
    largest, size = _hinge_line(examples, coef)
    if largest <= 0.0:
        return 0.0
    most, quadratic = 1.0 / (largest * lam * coef.size), lam * squared_norm
    return min(most, lam * size / quadratic) if quadratic > 0.0 else most


def _any_multiple(loss, examples, limits, coef, squared_norm, lam):  # type: ignore[no-untyped-def]
    most = largest_multiple(limits, coef, lam * coef.size)
    most *= 1.0 - 4.0 * _EPS  # or a product may be rounded up beyond the box
    if most <= 0.0 or not coef.any():
        return 0.0
    high = min(1.0, most)
    before = dual_value(examples, coef, squared_norm, lam, 0.5 * high)
    now = dual_value(examples, coef, squared_norm, lam, high)
    while now > before and high < most:  # towards the far end, if it is far
        high = min(most, 2.0 * high)
        before, now = now, dual_value(examples, coef, squared_norm, lam, high)
    low, best, of_best = 0.0, high, now
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    of_left = dual_value(examples, coef, squared_norm, lam, left)
    of_right = dual_value(examples, coef, squared_norm, lam, right)
    for _ in range(_STEPS):
        if of_left > of_best:
            best, of_best = left, of_left
        if of_right > of_best:
            best, of_best = right, of_right
        if high - low <= _NARROW * high:
            break
        if of_left < of_right:
            low, left, of_left = left, right, of_right
            right = low + _GOLDEN * (high - low)
            of_right = dual_value(examples, coef, squared_norm, lam, right)
        else:
            high, right, of_right = right, left, of_left
            left = high - _GOLDEN * (high - low)
            of_left = dual_value(examples, coef, squared_norm, lam, left)
    return best


_multiple = by_loss(_hinge_multiple, _any_multiple)


@compiled()
def best_multiple(
    examples: Examples, limits: Limits, coef: np.ndarray, squared_norm: float, lam: float
) -> float:
    """Compute the θ that maximises ``D(θβ)`` in the box, by a search for all but the hinge.

    Parameters are those of `dual_value`, and the `Limits` of the loss.
    """
    return _multiple(examples.loss, examples, limits, coef, squared_norm, lam)


@compiled(fastmath=False)
def start_ascent(
    state: LoopState,
    examples: Examples,
    limits: Limits,
    coef: np.ndarray,
    image: np.ndarray,
    squared_norm: float,
    lam: float,
) -> float:
    """Begin an ascent at the best multiple of an iterate that is in the box; returns that θ.

    Parameters
    ----------
    state : LoopState
        Its dual variables, their image and their sizes are written to.
    examples : Examples
    limits : tuple of float
    coef : ndarray of shape (n_samples,)
    image : ndarray
        That of w.
    squared_norm, lam : float
    """
    theta = best_multiple(examples, limits, coef, squared_norm, lam)
    scale, size = theta * lam * coef.size, 0.0
    for i in range(coef.size):
        state.alpha[i] = min(max(scale * coef[i], limits[0]), limits[1])
        size += abs(state.alpha[i] * examples.signed[i])
    for j in range(image.size):
        state.image[j] = scale * image[j]
    state.scalars[SIZE] = state.scalars[LARGEST_SIZE] = size
    return theta


@compiled(fastmath=False, inner=True)
def _largest_on_line(linear: float, quadratic: float, most: float) -> float:
    """Maximise ``θ · linear − θ²/2 · quadratic`` over ``θ ≤ most``, ``quadratic`` cut at 0."""
    quadratic = max(0.0, quadratic)
    theta = min(most, linear / quadratic) if quadratic > 0.0 else most
    return theta * linear - 0.5 * theta * theta * quadratic


def _hinge_bounds(loss, examples, limits, coef, squared_norm, norm_rounding, lam):  # type: ignore[no-untyped-def]
    largest, size = _hinge_line(examples, coef)
    if largest <= 0.0:
        return 0.0, 0.0
    most, linear = 1.0 / (largest * lam * coef.size), lam * size
    least = linear - _sum_rounding(coef.size) * abs(linear)
    found = _largest_on_line(linear, lam * squared_norm, most)
    return found, _largest_on_line(least, lam * (squared_norm + norm_rounding), most)


def _any_bounds(loss, examples, limits, coef, squared_norm, norm_rounding, lam):  # type: ignore[no-untyped-def]
    n_samples = coef.size
    theta = best_multiple(examples, limits, coef, squared_norm, lam)
    total, size = gain_sums(examples, theta * lam * n_samples, coef)
    quadratic = 0.5 * theta * theta * lam * (max(0.0, squared_norm) + norm_rounding)
    bound = (total - (n_samples + _ROUNDINGS) * _EPS * size) / n_samples - quadratic
    bound -= _ROUNDINGS * _EPS * (abs(total) / n_samples + quadratic)
    return dual_value(examples, coef, squared_norm, lam, theta), bound


_bounds = by_loss(_hinge_bounds, _any_bounds)


@compiled(fastmath=False)
def dual_bounds(
    examples: Examples,
    limits: Limits,
    coef: np.ndarray,
    squared_norm: float,
    norm_rounding: float,
    lam: float,
) -> tuple[float, float]:
    """Best ``D(θβ)`` over the multiples in the box, as computed and in the worst case; at least 0.

    Parameters are those of `best_multiple`, and the largest error of the squared norm.
    """
    sizes = squared_norm, norm_rounding, lam
    found, bound = _bounds(examples.loss, examples, limits, coef, *sizes)
    return max(0.0, found), max(0.0, bound)


# --- gaps -----------------------------------------------------------------------------------------

#: Relative contradiction up to which no kernel is blamed: the rounding of values may be unknown.
_DOUBT = 1e-5
#: A gap's share of rounding that is accepted where a gap was asked for, and where none was.
_SHARE_WITH_TOL, _SHARE = 0.1, 0.25
#: Relative rounding that a record includes in its gap.
_INVISIBLE = 1e-8
#: Relative rounding that is not worth a kernel value where no gap was asked for.
SMALL = 1e-6


@shared
def is_impossible(objective: float, bound: float, norm_term: float, norm_rounding: float) -> bool:
    """Check whether values contradict a positive semi-definite kernel, beyond what rounding does.

    A squared norm is not negative, and no dual value exceeds a primal one.

    Parameters
    ----------
    objective : float
        Upper bound on it, with all rounding.
    bound : float
        Lower bound on the optimum, in the worst case.
    norm_term, norm_rounding : float
        ``lam/2 ‖w‖²`` as computed, and its largest error.
    """
    doubt = _DOUBT * abs(objective)
    return norm_term + norm_rounding < -doubt or bound > objective + doubt


@compiled(fastmath={"reassoc"})
def judge(
    examples: Examples,
    limits: Limits,
    coef: np.ndarray,
    margins: np.ndarray,
    squared_norm: float,
    loss_rounding: float,
    norm_rounding: float,
    lam: float,
    bound: float,
) -> tuple[float, float, float, float, bool]:
    """Judge an iterate.

    Parameters
    ----------
    examples : Examples
    limits : tuple of float
    coef, margins : ndarray of shape (n_samples,)
    squared_norm : float
        ``‖w‖²``.
    loss_rounding, norm_rounding : float
        Largest error of the mean loss and of ``‖w‖²``.
    lam : float
    bound : float
        Lower bound on the optimum that is known already.

    Returns
    -------
    objective, upper_bound : float
        ``P(w)`` as computed, and a bound on it with all rounding.
    dual, proven_bound : float
        Of the best multiple, as computed and in the worst case.
    impossible : bool
        Whether they contradict a positive semi-definite kernel.
    """
    half, n_samples, loss = 0.5 * lam, coef.size, 0.0
    for i in range(n_samples):
        loss += abs(examples.signed[i]) * value(examples.loss, margins[i], examples.label[i])
    objective = half * squared_norm + loss / n_samples
    error = loss_rounding + half * norm_rounding
    upper_bound = objective + error + _sum_rounding(n_samples) * abs(objective)
    sizes = squared_norm, norm_rounding, lam
    dual, proven = _bounds(examples.loss, examples, limits, coef, *sizes)
    dual, proven = max(0.0, dual), max(0.0, proven)
    least, own_error = max(bound, proven), half * norm_rounding
    impossible = is_impossible(upper_bound, least, half * squared_norm, own_error)
    return objective, upper_bound, dual, proven, impossible


class Gaps(NamedTuple):
    """The gap of an iterate, with its rounding or without; NaN where nothing is certified.

    Attributes
    ----------
    dual_bound : float
        Lower bound on the optimum.
    computed, proven : float
        The gap as computed, and with all rounding.
    """

    dual_bound: float
    computed: float
    proven: float


@shared
def gaps_of(
    objective: float, upper_bound: float, best_dual: float, proven_bound: float, settled: bool
) -> Gaps:
    """Compute the gap of an iterate; ``settled`` where its margins have been computed again."""
    computed, proven = max(0.0, objective - best_dual), abs(upper_bound - proven_bound)
    if not settled:  # values that contradict each other are wrong by as much at least
        proven = max(proven, best_dual - objective)
    return Gaps(proven_bound, computed, proven)


@shared
def recorded_gap(gaps: Gaps, objective: float) -> tuple[float, float, float]:
    """Return the gap of a record, its share of the objective, and the rounding not in it.

    Rounding that is a small share of the objective is in it.
    """
    apart = gaps.proven - gaps.computed
    if apart > _INVISIBLE * objective:
        return gaps.computed, relative(gaps.computed, objective), apart
    return gaps.proven, relative(gaps.proven, objective), 0.0 * apart


@shared
def relative(gap: float, objective: float) -> float:
    """Divide a gap by the objective, which may be zero where a loss may be."""
    if objective > 0.0:
        return gap / objective
    if math.isnan(objective) or math.isnan(gap):
        return math.nan
    return math.inf if gap > 0.0 else 0.0


@shared
def is_mostly_rounding(gap: float, rounding: float, objective: float, tol: float) -> bool:
    """Check whether too much of a gap is rounding; ``tol`` is NaN where none was asked for.

    Parameters
    ----------
    gap : float
        As computed.
    rounding : float
        What it adds to the gap.
    objective, tol : float
    """
    share, seen = (_SHARE, SMALL) if math.isnan(tol) else (_SHARE_WITH_TOL, 0.1 * tol)
    return rounding > max(share * gap, seen * objective)


# --- how steep a loss is --------------------------------------------------------------------------


@compiled(inner=True)
def _steepest_within(
    loss: Any, decision: float, label: float, error: float, lipschitz: float
) -> float:
    """Return how steep a loss is at the most, wherever the decision is within its error."""
    low, high = decision - error, decision + error
    # A convex loss that is zero at both ends is zero between them, and steepest at an end.
    if not (value(loss, low, label) > 0.0 or value(loss, high, label) > 0.0):
        return 0.0
    if lipschitz < math.inf:
        return lipschitz
    return max(abs(pull(loss, low, label)), abs(pull(loss, high, label)))


@compiled()
def _slopes(
    examples: Examples, limits: Limits, margins: np.ndarray, errors: np.ndarray, out: np.ndarray
) -> None:
    for i in range(margins.size):
        margin, label = margins[i], examples.label[i]
        out[i] = _steepest_within(examples.loss, margin, label, errors[i], limits[2])


def slopes(examples: Examples, margins: np.ndarray, errors: Any) -> np.ndarray:
    """Return how steep losses are at the most, wherever the margins are within their errors.

    Parameters
    ----------
    examples : Examples
    margins : ndarray of shape (n_samples,)
    errors : float or ndarray of shape (n_samples,)
        Largest errors of the margins.

    Returns
    -------
    ndarray of shape (n_samples,)
        Zero where the loss is zero.
    """
    out, each = np.empty(margins.size), np.full(margins.size, errors, dtype=np.float64)
    _slopes(examples, limits_of(examples.loss), np.ascontiguousarray(margins), each, out)
    return out


def loss_errors(examples: Examples, margins: np.ndarray, errors: Any) -> np.ndarray:
    """Bound the errors of losses by those of their margins; parameters are those of `slopes`."""
    return slopes(examples, margins, errors) * errors


def _hinge_steepest(loss, examples, limits, margins, error):  # type: ignore[no-untyped-def]
    return limits[2]


def _any_steepest(loss, examples, limits, margins, error):  # type: ignore[no-untyped-def]
    if limits[2] < math.inf or not error < math.inf:
        return limits[2]
    most = 0.0
    for i in range(margins.size):
        margin, label = margins[i], examples.label[i]
        most = max(most, _steepest_within(loss, margin, label, error, limits[2]))
    return most


_steepest = by_loss(_hinge_steepest, _any_steepest)


@compiled()
def steepest(examples: Examples, limits: Limits, margins: np.ndarray, error: float) -> float:
    """Bound how steep the losses are, wherever the margins are within an error.

    Parameters
    ----------
    examples : Examples
    limits : tuple of float
    margins : ndarray of shape (n_samples,)
    error : float
        Largest error of a margin.
    """
    return _steepest(examples.loss, examples, limits, margins, error)
