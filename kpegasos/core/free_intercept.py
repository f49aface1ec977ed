"""An intercept that is not regularised: the best one for some decisions, and the certificate.

The problem has a second variable,

    P(w, b) = lam/2 ‖w‖² + (1/m) Σ ω_i ℓ(<w, φ(x_i)> + b, y_i),

and its dual a constraint: β is in the box of the loss, and ``Σ β_i ω_i s_i = 0``. The dual value is
that without b, and for all such β it is at most ``min P``.

For a w that is given P is convex in b alone: of the hinge and of the loss of SVR it is a line
between two kinks, of which a sort finds the lowest; of any other loss the slope has a root.

A w is seldom of a β that meets the constraint. What one side of β has too much, I, is taken from
the coefficients that give the least for it. Let e be what that takes of ``β_i ω_i s_i``: all of one
sign, and of the sum I. Then ``w' = w - Σ e_i φ(x_i) / (lam m)``, whose norm is known but for the
square of the last part, and that is at most ``(I R / (lam m))²`` with ``‖φ(x_i)‖ ≤ R``:

    lam ‖w'‖² ≤ lam ‖w‖² - (2/m) Σ e_i <w, φ(x_i)> + (I R)² / (lam m²).

As I goes to zero, so does the last term with its square. Rounding leaves a sum r of β' that is not
zero. Multiplying the heavier side, of the sum A, by ``1 - r/A`` would make it zero: that takes no
more than r/A of the sum of all ``ω_i |gain(β'_i)|``, as a gain is concave and not negative at 0,
and changes w' by ``r R / (lam m)`` at the most.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from kpegasos.core.certificate import Limits, best_multiple, gain_sums
from kpegasos.core.state import Examples
from kpegasos.losses import is_hinge
from kpegasos.losses.base import best, pulls
from kpegasos.losses.standard import EpsilonInsensitive
from kpegasos.utils.compiled import compiled, copy_into

_EPS = float(np.finfo(np.float64).eps)
#: Curvature so small that the slope alone decides where a coordinate goes.
_FLAT = 1e-100
#: Halvings of a range of shifts, and doublings of its ends, at the most: to the largest number.
_HALVINGS, _DOUBLINGS = 200, 1023
#: What the range may leave of the sum of the gains, relative to ``lam m ‖w‖²``.
_NEGLIGIBLE = 1e-11


def best_intercept(decisions: np.ndarray, examples: Examples) -> tuple[float, float]:
    """Find the least and the largest of the best intercepts that can be added to all decisions.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples,)
    examples : Examples
        Of both signs, or of a regression.
    """
    label, weight, loss = examples.label, np.abs(examples.signed), examples.loss
    if is_hinge(loss):
        kinks, rises, start = label - decisions, weight, float(weight[label > 0.0].sum())
    elif type(loss) is EpsilonInsensitive:
        room = label - decisions
        kinks = np.concatenate((room - loss.epsilon, room + loss.epsilon))
        rises, start = np.concatenate((weight, weight)), float(weight.sum())
    else:
        return _root(decisions, examples)
    if (rises == 1.0).all():  # then two kinks are enough, and no sort is needed
        at = round(start)
        found = np.partition(kinks, [at - 1, at])
        return float(found[at - 1]), float(found[at])
    order = np.argsort(kinks, kind="stable")
    sums = np.cumsum(rises[order])
    doubt = kinks.size * _EPS * sums[-1]
    first = min(kinks.size - 1, int(np.searchsorted(sums, start - doubt)))
    last = first + 1 if first + 1 < kinks.size and sums[first] <= start + doubt else first
    return float(kinks[order[first]]), float(kinks[order[last]])


def _root(decisions: np.ndarray, examples: Examples) -> tuple[float, float]:
    """Find where the slope of the mean loss is zero: both ends of a flat part."""
    label, signed, loss = examples

    def fall(shift: float) -> float:  # does not rise with the shift
        each = signed * pulls(loss, decisions + shift, label)
        total = float(each.sum())
        return total if abs(total) > decisions.size * _EPS * np.abs(each).sum() else 0.0

    def end(sign: float) -> float:  # a shift beyond the root on one side
        step = 1.0
        for _ in range(_DOUBLINGS):
            if sign * fall(sign * step) < 0.0:
                break
            step *= 2.0
        return sign * step

    low, high = end(-1.0), end(1.0)
    if not fall(low) > 0.0 > fall(high):
        return math.nan, math.nan  # decisions that have diverged have no root
    root = float(brentq(fall, low, high, xtol=1e-300, rtol=4 * _EPS, maxiter=500))
    least = 1e-7 * (1.0 + abs(root))
    ends = []
    for outer, inner in ((low, root), (high, root)):
        if fall(inner + math.copysign(least, outer - inner)) == 0.0:  # it is flat
            while abs(outer - inner) > 4 * _EPS * (abs(outer) + abs(inner)):
                middle = 0.5 * (outer + inner)
                if fall(middle) == 0.0:
                    inner = middle
                else:
                    outer = middle
        ends.append(inner)
    return ends[0], ends[1]


def longest_image(largest: float, kernel_offset: float, rounding: np.ndarray | float) -> float:
    """Bound the largest ``‖φ(x_i)‖``, the constant feature left out.

    Parameters
    ----------
    largest : float
        No kernel value is larger, B² included.
    kernel_offset : float
        B².
    rounding : float or ndarray of shape (n_samples,)
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.
    """
    in_values = 2.0 * float(np.max(rounding)) + 4.0 * _EPS * largest
    return math.sqrt(max(0.0, largest - kernel_offset) + in_values)


def middle_of(low: float, high: float) -> float:
    """Middle of a range of intercepts; where it has no end, its beginning."""
    if math.isinf(high):
        return low
    return high if math.isinf(low) else 0.5 * (low + high)


@compiled(fastmath=False, inner=True)
def _shifted(
    examples: Examples,
    beta: np.ndarray,
    decisions: np.ndarray,
    sign: float,
    shift: float,
    out: np.ndarray,
) -> float:
    """Write where β goes if decisions are shifted, only where ``sign · Σ β s`` falls by that.

    Returns that sum, as exact as that of `_mixed`.
    """
    total = rest = 0.0
    for i in range(beta.size):
        target, signed = beta[i], examples.signed[i]
        if signed != 0.0:
            decision = decisions[i] + sign * shift
            target = best(examples.loss, beta[i], decision, examples.label[i], _FLAT)
            if sign * signed * (target - beta[i]) > 0.0:
                target = beta[i]
        out[i] = target
        term = sign * signed * target
        before, total = total, total + term
        back = total - before
        rest += (before - (total - back)) + (term - back)
    return total + rest


#: Places in ``rows``: of the β whose sum is too large, of that whose is too small, and the next.
_MORE, _LESS, _NEXT = 0, 1, 2


@compiled(fastmath=False, inner=True)
def _leaves_more(
    examples: Examples,
    beta: np.ndarray,
    decisions: np.ndarray,
    sign: float,
    shift: float,
    betas: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
) -> bool:
    """Try a shift for one of the two between which the sum is zero; returns whether for `_MORE`."""
    row = rows[_NEXT]
    sums[row] = _shifted(examples, beta, decisions, sign, shift, betas[row])
    place = _MORE if sums[row] >= 0.0 else _LESS
    rows[_NEXT], rows[place] = rows[place], row
    return place == _MORE


@compiled(fastmath=False, inner=True)
def _mixed(
    one: np.ndarray, other: np.ndarray, share: float, signed: np.ndarray, out: np.ndarray
) -> tuple[float, float]:
    """Write a share of one β and the rest of another; return ``Σ β s`` and ``Σ |β s|``.

    The first is summed with its rounding errors (Knuth), so that only those of the products remain.
    """
    total = rest = size = 0.0
    for i in range(one.size):
        mixed = share * one[i] + (1.0 - share) * other[i]
        # Rounding does not leave the box.
        out[i] = min(max(one[i], other[i]), max(min(one[i], other[i]), mixed))
        term = out[i] * signed[i]
        size += abs(term)
        before, total = total, total + term
        back = total - before
        rest += (before - (total - back)) + (term - back)
    return total + rest, size


@compiled(fastmath=False)
def balance(
    examples: Examples, beta: np.ndarray, decisions: np.ndarray, negligible: float
) -> tuple[np.ndarray, float]:
    """Move β to where ``Σ β_i ω_i s_i`` is zero, all to one side, at the least cost to the dual.

    Parameters
    ----------
    examples : Examples
    beta : ndarray of shape (n_samples,)
        In the box of the loss.
    decisions : ndarray of shape (n_samples,)
        ``<w, φ(x_i)> + b`` with the w of β.
    negligible : float
        What of the sum of the gains is not worth another pass.

    Returns
    -------
    beta : ndarray of shape (n_samples,)
        In the box.
    left : float
        What rounding leaves of the sum at the most.
    """
    signed, out = examples.signed, np.empty(beta.size)
    excess, size = _mixed(beta, beta, 1.0, signed, out)
    if excess == 0.0:
        return out, 4.0 * _EPS * size
    sign, over = math.copysign(1.0, excess), abs(excess)
    betas, rows, sums = np.zeros((3, beta.size)), np.zeros(3, np.int64), np.zeros(3)
    rows[_LESS], rows[_NEXT], sums[_MORE] = _LESS, _NEXT, over
    copy_into(beta, betas[_MORE])
    of_shifts = betas, sums, rows
    low = high = 0.0
    is_more = _leaves_more(examples, beta, decisions, sign, 0.0, *of_shifts)
    towards, step = 1.0 if is_more else -1.0, 1.0
    for _ in range(_DOUBLINGS):
        is_more = _leaves_more(examples, beta, decisions, sign, towards * step, *of_shifts)
        low, high = (towards * step, high) if is_more else (low, towards * step)
        if is_more == (towards < 0.0):
            break
        step *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if (high - low) * over <= negligible or not low < middle < high:
            break
        is_more = _leaves_more(examples, beta, decisions, sign, middle, *of_shifts)
        low, high = (middle, high) if is_more else (low, middle)
    more, less = rows[_MORE], rows[_LESS]
    share = 1.0 if sums[more] == 0.0 else sums[less] / (sums[less] - sums[more])
    left, size = _mixed(betas[more], betas[less], share, signed, out)
    return out, abs(left) + 4.0 * _EPS * size


def dual_bounds(
    examples: Examples,
    limits: Limits,
    coef: np.ndarray,
    margins: np.ndarray,
    intercept: float,
    squared_norm: float,
    norm_rounding: float,
    margin_rounding: float,
    radius: float,
    lam: float,
) -> tuple[float, float]:
    """Dual value at a β that meets the constraint, as computed and in the worst case; at least 0.

    Parameters
    ----------
    examples : Examples
    limits : tuple of float
    coef : ndarray of shape (n_samples,)
        ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``.
    margins : ndarray of shape (n_samples,)
        ``<w, φ(x_i)> + b``.
    intercept : float
        b.
    squared_norm : float
        ``‖w‖²``.
    norm_rounding, margin_rounding : float
        Largest errors of the squared norm and of ``<w, φ(x_i)>``.
    radius : float
        No ``φ(x_i)`` is longer.
    lam : float
    """
    n_samples = coef.size
    unit = lam * n_samples
    theta = best_multiple(examples, limits, coef, squared_norm, lam)
    beta = np.clip(theta * unit * coef, limits[0], limits[1])
    own = theta * (margins - intercept)
    norm = theta * theta * unit * max(0.0, squared_norm)
    balanced, left = balance(examples, beta, own + intercept, _NEGLIGIBLE * norm)
    # All that follows is n_samples times what it is in D.
    total, size = gain_sums(examples, 1.0, balanced)
    taken = (beta - balanced) * examples.signed
    over = float(np.abs(taken).sum())
    quadratic = max(0.0, norm - 2.0 * float(taken @ own) + (over * radius) ** 2 / unit)
    found = total - 0.5 * quadratic
    # Its rounding, and that of coefficients whose sum is not zero or which are not θ lam m c.
    in_sum, used = (n_samples + 32.0) * _EPS, float(np.abs(balanced * examples.signed).sum())
    lost = min(1.0, 2.0 * left / used) * size if used > 0.0 else 0.0
    moved = (left + 8.0 * _EPS * (used + over)) * radius
    errors = unit * theta * theta * norm_rounding
    errors += 2.0 * over * (theta * margin_rounding + in_sum * float(np.abs(own).max(initial=0.0)))
    errors += in_sum * (norm + (over * radius) ** 2 / unit)
    most = quadratic + errors
    most += 2.0 * moved * math.sqrt(most / unit) + moved * moved / unit
    bound = total - in_sum * size - lost - 0.5 * most - 16.0 * _EPS * (abs(total) + most)
    return max(0.0, found / n_samples), max(0.0, bound / n_samples)
