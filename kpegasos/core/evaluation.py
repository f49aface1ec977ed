"""Evaluate an iterate: its sums, the bounds that its coefficients give, and what a run may claim.

Margins and norms come with bounds on what rounding did to them. Put in their worst case, they
make a value that P(w) does not exceed, ``upper_bound``, and one that the optimum is not below,
``proven_bound``. ``objective`` and ``best_dual`` are the same as computed. Sums over the examples
are taken in one pass: dozens of numpy calls over a few hundred examples would take longer than the
steps between two checkpoints.

With the conjugate ℓ* of the loss, weak duality says for coefficients β in the box of the loss

    D(β) = (1/m) Σ ω_i (-ℓ*(-s_i β_i; y_i)) - lam/2 ‖w_β‖²  ≤  min P,
    w_β = (1/(lam m)) Σ β_i ω_i s_i φ(x_i).

An iterate ``w = Σ c_j ω_j s_j φ(x_j)`` has ``β = lam m c``; every multiple of it within the box is
a bound. The hinge has the best in closed form; for any other loss it is found by a search along the
line, on which D is concave.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.state import (
    INHERITED,
    LARGEST_SIZE,
    STEPS,
    Examples,
    LoopState,
    additions_of,
)
from kpegasos.losses.base import for_loops, gain, pull, value
from kpegasos.losses.classification import is_hinge
from kpegasos.utils.boundary import checked, require_shapes
from kpegasos.utils.compiled import compiled, shared

_EPS = float(np.finfo(np.float64).eps)


class Sums(NamedTuple):
    """Sums behind objective, dual value and rounding of an iterate ``w = Σ c_j ω_j s_j φ(x_j)``.

    Attributes
    ----------
    loss : float
        ``Σ ω_i ℓ(f(x_i), y_i)``.
    squared_norm : float
        ``Σ c_i ω_i s_i f(x_i)``.
    size : float
        ``Σ |c_i| ω_i``.
    largest : float
        The largest ``c_i``, or 0 if none is positive.
    of_values : float
        ``Σ |c_i| ω_i ρ_i`` with the rounding ρ of each example's kernel values.
    rounding : float
        ``Σ ω_i ρ_i``.
    counts : float
        ``Σ α_i ω_i`` of the state.
    """

    loss: float
    squared_norm: float
    size: float
    largest: float
    of_values: float
    rounding: float
    counts: float


@shared
def roundings(sums: Sums, additions: Any, n_samples: int, largest: float) -> tuple[Any, Any]:
    """Largest errors of the mean margin and of ``‖w‖²`` of an iterate whose margins are held.

    Parameters
    ----------
    sums : Sums
        Of one iterate, or arrays for several.
    additions : float or ndarray
        What `Iterate.additions` says of its image.
    n_samples : int
    largest : float
        No kernel value is larger.
    """
    unit, size = _EPS * largest, sums.size
    # The sum over the examples rounds the squared norm, whose terms come to this at the most.
    of_sums, of_norm = additions * unit, 0.5 * n_samples * unit * size * size
    loss_rounding = of_sums + sums.of_values + size * sums.rounding / n_samples
    return loss_rounding, size * (of_sums + 2.0 * sums.of_values) + of_norm


# Not contracted: coefficients are those that numpy would find, to the last bit.
@compiled(fastmath={"reassoc"}, inner=True)
def combine_into(
    plain: float,
    stamped: float,
    alpha: np.ndarray,
    stamps: np.ndarray,
    image: np.ndarray,
    stamped_image: np.ndarray,
    label: np.ndarray,
    signed: np.ndarray,
    loss_of: Any,
    rounding: np.ndarray,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> tuple[float, float, float, float, float, float, float]:
    """Write coefficients and margins of an iterate; return its `Sums`."""
    loss = squared_norm = size = largest = of_values = all_rounding = counts = 0.0
    for i in range(alpha.size):
        coef, margin = plain * alpha[i], plain * image[i]
        if stamped != 0.0:
            coef -= stamped * stamps[i]
            margin -= stamped * stamped_image[i]
        coefs[i], margins[i] = coef, margin
        weight = abs(signed[i])
        weighted = weight * abs(coef)
        loss += weight * value(loss_of, margin, label[i])
        squared_norm += coef * signed[i] * margin
        size += weighted
        largest = max(largest, coef)
        of_values += weighted * rounding[i]
        all_rounding += weight * rounding[i]
        counts += weight * alpha[i]
    return loss, squared_norm, size, largest, of_values, all_rounding, counts


def _check(
    state: LoopState,
    examples: Examples,
    rounding: np.ndarray,
    largest: float,
    plain: float,
    stamped: float,
    largest_clock: float,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> None:
    require_shapes(
        examples.label.shape,
        signed=examples.signed,
        alpha=state.alpha,
        stamps=state.stamps,
        image=state.image,
        stamped_image=state.stamped_image if stamped else state.image,
        rounding=rounding,
        coefs=coefs,
        margins=margins,
    )


@checked(_check)
@compiled(fastmath=False)
def evaluate_held(
    state: LoopState,
    examples: Examples,
    rounding: np.ndarray,
    largest: float,
    plain: float,
    stamped: float,
    largest_clock: float,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> tuple[tuple[float, ...], float, float, float]:
    """Evaluate an iterate of a state whose image are margins.

    A named tuple is made by code of Python, which Ctrl-C ends without a result: numba goes on with
    none, and crashes.

    Parameters
    ----------
    state : LoopState
    examples : Examples
    rounding : ndarray of shape (n_samples,), float64
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.
    largest : float
        No kernel value is larger.
    plain, stamped, largest_clock : float
        See `kpegasos.core.state.Iterate`.
    coefs, margins : ndarray of shape (n_samples,), float64
        Written to.

    Returns
    -------
    sums : tuple of float
        The fields of `Sums`.
    additions : float
        What `Iterate.additions` says of its image.
    loss_rounding, norm_rounding : float
        See `roundings`; the mean loss of any loss but the hinge is off by its slope times as much.
    """
    n_samples = coefs.size
    found = combine_into(
        plain,
        stamped,
        state.alpha,
        state.stamps,
        state.image,
        state.stamped_image,
        examples.label,
        examples.signed,
        examples.loss,
        rounding,
        coefs,
        margins,
    )
    loss, squared_norm, size, top, of_values, all_rounding, counts = found
    sums = Sums(loss, squared_norm, size, top, of_values, all_rounding, counts)
    if not is_hinge(examples.loss):
        counts = 2.0 * state.scalars[LARGEST_SIZE]
    number = (state.counters[STEPS] + 4.0) * state.pulls.size + state.counters[INHERITED]
    additions = additions_of(plain, stamped, largest_clock, number, counts + n_samples)
    of_loss, of_norm = roundings(sums, additions, n_samples, largest)
    return found, additions, of_loss, of_norm


#: Relative contradiction up to which no kernel is blamed: values of which nobody has said how they
#: are rounded may be off.
_DOUBT = 1e-5
#: A gap's share of rounding that is accepted where a gap was asked for, and where none was.
_SHARE_WITH_TOL, _SHARE = 0.1, 0.25
#: Relative rounding that nobody would see.
_INVISIBLE = 1e-8
#: Relative rounding that is not worth a kernel value where no gap was asked for.
SMALL = 1e-6


@compiled(fastmath=False)
def judge(
    loss: float,
    squared_norm: float,
    size: float,
    largest: float,
    loss_rounding: float,
    norm_rounding: float,
    lam: float,
    n_samples: int,
    bound: float,
) -> tuple[float, float, float, float, bool]:
    """Judge an iterate by sums over the examples.

    Parameters
    ----------
    loss : float
        Sum of the weighted losses.
    squared_norm : float
        ``‖w‖²``.
    size, largest : float
        ``Σ c_i ω_i`` and the largest ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``.
    loss_rounding, norm_rounding : float
        Largest error of the mean loss and of ``‖w‖²``.
    lam : float
    n_samples : int
    bound : float
        A value that the optimum is known not to be below.

    Returns
    -------
    objective, upper_bound : float
        ``P(w)`` as computed, and what it is at most, whatever rounding did.
    dual, proven_bound : float
        With the hinge the dual value of the best multiple, as computed and in the worst case.
    impossible : bool
        Whether they contradict a positive semi-definite kernel.
    """
    half, in_sum = 0.5 * lam, _sum_rounding(n_samples)
    objective = half * squared_norm + loss / n_samples
    error = loss_rounding + half * norm_rounding
    upper_bound = objective + error + in_sum * abs(objective)
    dual, proven = dual_bounds_of(largest, size, squared_norm, norm_rounding, lam, n_samples)
    least, own_error = max(bound, proven), half * norm_rounding
    impossible = is_impossible(upper_bound, least, half * squared_norm, own_error)
    return objective, upper_bound, dual, proven, impossible


@shared
def _sum_rounding(n_samples: int) -> float:
    """Return the relative rounding of a sum over the examples, and of a few numbers beside it."""
    return (0.5 * n_samples + 16.0) * _EPS


@shared
def dual_bounds_of(
    largest: float,
    size: float,
    squared_norm: float,
    norm_rounding: float,
    lam: float,
    n_samples: int,
) -> tuple[float, float]:
    """Compute `kpegasos.core.problem.dual_bounds` of the hinge from sums over the examples."""
    largest *= lam * n_samples
    if largest <= 0.0:
        return 0.0, 0.0
    linear, quadratic = lam * size, lam * squared_norm
    least = linear - _sum_rounding(n_samples) * abs(linear)
    most = quadratic + lam * norm_rounding
    return (
        max(0.0, _best_value(linear, quadratic, 1.0 / largest)),
        max(0.0, _best_value(least, most, 1.0 / largest)),
    )


@shared
def _best_value(linear: float, quadratic: float, most: float) -> float:
    """Maximise ``θ · linear − θ²/2 · quadratic`` over ``θ ≤ most``; no norm is negative."""
    quadratic = max(0.0, quadratic)
    theta = min(most, linear / quadratic) if quadratic > 0.0 else most
    return theta * linear - 0.5 * theta * theta * quadratic


@shared
def is_impossible(objective: float, bound: float, norm_term: float, norm_rounding: float) -> bool:
    """Tell whether values contradict a positive semi-definite kernel, beyond what rounding does.

    A squared norm is not negative, and no dual value exceeds a primal one.

    Parameters
    ----------
    objective : float
        At most, whatever rounding did.
    bound : float
        Of the optimum, in the worst case.
    norm_term, norm_rounding : float
        ``lam/2 ‖w‖²`` as computed, and its largest error.
    """
    doubt = _DOUBT * abs(objective)
    return norm_term + norm_rounding < -doubt or bound > objective + doubt


class Gaps(NamedTuple):
    """The gap of an iterate, with its rounding or without; NaN where nothing is certified.

    Attributes
    ----------
    dual_bound : float
        What the optimum is not below.
    computed, proven, told : float
        As the values say, with all rounding, and as a record says it: with the rounding where
        nobody would see that.
    apart : float
        Rounding that is not in ``told``.
    relative_computed, relative_proven, relative_told : float
        The same, divided by the objective.
    """

    dual_bound: float
    computed: float
    proven: float
    told: float
    apart: float
    relative_computed: float
    relative_proven: float
    relative_told: float


@shared
def gaps_of(
    objective: float, upper_bound: float, best_dual: float, proven_bound: float, settled: bool
) -> Gaps:
    """Compute the gap of an iterate; ``settled`` where its margins have been computed again."""
    computed = max(0.0, objective - best_dual)
    proven = abs(upper_bound - proven_bound)
    if not settled:  # values that contradict each other are wrong by as much at least
        proven = max(proven, best_dual - objective)
    told, apart = proven, max(0.0, proven - computed)
    if apart > _INVISIBLE * objective:
        told = computed
    else:
        apart = 0.0
    return Gaps(
        proven_bound,
        computed,
        proven,
        told,
        apart,
        relative(computed, objective),
        relative(proven, objective),
        relative(told, objective),
    )


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
    """Tell whether a gap is rounding to too large a part; ``tol`` is NaN where none was asked for.

    Parameters
    ----------
    gap : float
        As computed.
    rounding : float
        What is to be added to it.
    objective, tol : float
    """
    share, seen = (_SHARE, SMALL) if math.isnan(tol) else (_SHARE_WITH_TOL, 0.1 * tol)
    return rounding > max(share * gap, seen * objective)


#: Steps of the search along the line; each takes off more than a third of the range.
_STEPS = 60
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Range, relative to its end, at which the search is over: D is flat there.
_NARROW = 1e-9
#: Roundings of a gain, relative to the terms that it is made of, at the most.
_ROUNDINGS = 16.0


@compiled()
def gain_sums(
    loss: Any, factor: float, coef: np.ndarray, label: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """``Σ ω gain(factor · c)``, and what the sum's terms are made of: no less than their sizes."""
    total = size = 0.0
    for i in range(coef.size):
        beta = factor * coef[i]
        each = gain(loss, beta, label[i])
        total += weight[i] * each
        size += weight[i] * (abs(each) + 2.0 * abs(beta * label[i]))
    return total, size


def largest_multiple(loss: Any, beta: np.ndarray) -> float:
    """Return the largest θ with ``θ β`` in the box of a loss; infinite if none is too large."""
    least, most = float(beta.min(initial=0.0)), float(beta.max(initial=0.0))
    theta = math.inf
    if most > 0.0:
        theta = loss.upper / most
    if least < 0.0:
        theta = min(theta, loss.lower / least)
    # The product may be rounded up beyond the box.
    return theta * (1.0 - 4.0 * _EPS)


class DualLine:
    """``D(θβ)`` along the multiples of ``β = lam m c``.

    Parameters
    ----------
    loss : Loss
    coef : ndarray of shape (n_samples,)
        ``c``.
    label, weight : ndarray of shape (n_samples,)
    quadratic : float
        ``lam ‖w‖²``.
    lam : float
    """

    def __init__(
        self,
        loss: Any,
        coef: np.ndarray,
        label: np.ndarray,
        weight: np.ndarray,
        quadratic: float,
        lam: float,
    ) -> None:
        self._data = np.ascontiguousarray(coef), label, weight
        self._loss, self._unit = for_loops(loss), lam * coef.size
        self._quadratic = max(0.0, quadratic)

    def value(self, theta: float) -> float:
        """``D(θβ)``, as computed."""
        total, _ = gain_sums(self._loss, theta * self._unit, *self._data)
        return total / self._data[0].size - 0.5 * theta * theta * self._quadratic

    def bound(self, theta: float, quadratic_rounding: float) -> float:
        """``D(θβ)`` in the worst case of what rounding did.

        Parameters
        ----------
        theta : float
        quadratic_rounding : float
            Largest error of ``lam ‖w‖²``.
        """
        n_samples = self._data[0].size
        total, size = gain_sums(self._loss, theta * self._unit, *self._data)
        error = (n_samples + _ROUNDINGS) * _EPS * size
        quadratic = 0.5 * theta * theta * (self._quadratic + quadratic_rounding)
        found = (total - error) / n_samples - quadratic
        return found - _ROUNDINGS * _EPS * (abs(total) / n_samples + quadratic)

    def best(self) -> float:
        """Return the θ that maximises ``D(θβ)``, nearly."""
        coef = self._data[0]
        most = largest_multiple(self._loss, self._unit * coef)
        if most <= 0.0 or not coef.any():
            return 0.0
        high = min(1.0, most)
        before, now = self.value(0.5 * high), self.value(high)
        while now > before and high < most:  # towards the far end, if it is far
            high = min(most, 2.0 * high)
            before, now = now, self.value(high)
        low = 0.0
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        of_left, of_right = self.value(left), self.value(right)
        best, of_best = high, now
        for _ in range(_STEPS):
            if high - low <= _NARROW * high:
                break
            if of_left < of_right:
                low, left, of_left = left, right, of_right
                right = low + _GOLDEN * (high - low)
                of_right = self.value(right)
            else:
                high, right, of_right = right, left, of_left
                left = high - _GOLDEN * (high - low)
                of_left = self.value(left)
            for theta, found in ((left, of_left), (right, of_right)):
                if found > of_best:
                    best, of_best = theta, found
        return best


@compiled()
def _slopes(
    loss: Any,
    decisions: np.ndarray,
    label: np.ndarray,
    errors: np.ndarray,
    lipschitz: float,
    out: np.ndarray,
) -> None:
    for i in range(decisions.size):
        low, high = decisions[i] - errors[i], decisions[i] + errors[i]
        # A convex loss that is zero at both ends is zero between them, and steepest at an end.
        out[i] = 0.0
        if value(loss, low, label[i]) > 0.0 or value(loss, high, label[i]) > 0.0:
            out[i] = lipschitz
            if lipschitz == np.inf:
                out[i] = max(abs(pull(loss, low, label[i])), abs(pull(loss, high, label[i])))


def slopes(loss: Any, decisions: np.ndarray, label: np.ndarray, errors: Any) -> np.ndarray:
    """Tell how steep losses are at the most, wherever the decisions are within their errors.

    Parameters
    ----------
    loss : Loss
    decisions, label : ndarray of shape (n_samples,)
    errors : float or ndarray of shape (n_samples,)
        Largest errors of the decisions.

    Returns
    -------
    ndarray of shape (n_samples,)
        Zero where the loss is zero.
    """
    out = np.empty(decisions.size)
    each = np.full(decisions.size, errors, dtype=np.float64)
    decisions = np.ascontiguousarray(decisions)
    _slopes(for_loops(loss), decisions, label, each, float(loss.lipschitz), out)
    return out


def loss_errors(loss: Any, decisions: np.ndarray, label: np.ndarray, errors: Any) -> np.ndarray:
    """Tell how far off losses are at the most, if their decisions may be; as `slopes` takes it."""
    return slopes(loss, decisions, label, errors) * errors


def steepness(loss: Any, decisions: np.ndarray, label: np.ndarray, error: float) -> float:
    """No loss is steeper, wherever the decisions are within an error.

    Parameters
    ----------
    loss : Loss
    decisions, label : ndarray of shape (n_samples,)
    error : float
        Largest error of a decision.
    """
    if math.isfinite(loss.lipschitz):
        return float(loss.lipschitz)
    if not error < math.inf:
        return math.inf
    return float(slopes(loss, decisions, label, error).max(initial=0.0))
