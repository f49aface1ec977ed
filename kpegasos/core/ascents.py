"""What a working set asks of the loss: which examples would move, and where they go.

Coordinate steps find which coefficients stay at an end; between them conjugate gradients move all
others at once (Moré and Toraldo 1991). Coordinate steps alone need passes in proportion to the
condition number of the Hessian, which large C and smooth kernels make large; conjugate gradients
need its square root.

The hinge has both in closed form: its dual is a quadratic in a box. Any other loss is asked for its
maximiser in one coordinate, ``best``, again and again. On a piece of it the dual is a parabola in
each coefficient, or nearly; coefficients inside their pieces move together on these. The dual of
the logistic loss is no parabola, so a step is halved until the dual rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.core.state import Examples
from kpegasos.losses.base import FLATTEST, best, gain, piece
from kpegasos.losses.standard import by_loss
from kpegasos.utils.compiled import compiled

#: Rounds of coordinate steps and of moves together, at the most: for the hinge, and for others.
_BOX_ROUNDS, _ANY_ROUNDS = 20, 60
#: Steps of conjugate gradients within a round, and the share of the squared residual that is left.
_MOST_STEPS, _SMALL_RESIDUAL = 50, 1e-2
#: Members of a set up to which only this share is left: after one step flat directions may have
#: next to no share of the residual, and with so few examples no other set moves along them.
_FEW, _NO_RESIDUAL = 4, 1e-30
#: Moves up to this size, relative to the largest coefficient, are rounding: however small a
#: coefficient is, what its moves are worth depends on the Hessian.
_SMALLEST_MOVE = 1e-14
#: Halvings of a step, at the most.
_HALVINGS = 8


def _hinge_violations(loss, image, beta, norms, examples, to_margin, rising, falling):  # type: ignore[no-untyped-def]
    label, signed = examples.label, examples.signed
    for i in range(image.size):
        pull = label[i] - image[i] * to_margin
        positive, can_shrink = label[i] > 0, beta[i] > 0.0
        can_grow = (beta[i] < 1.0) & (signed[i] != 0.0)  # examples of weight zero are held out
        # Without a branch, so that it is vectorised.
        rises = (positive & can_grow) | ((not positive) & can_shrink)
        falls = (positive & can_shrink) | ((not positive) & can_grow)
        rising[i] = pull if rises else -np.inf
        falling[i] = -pull if falls else -np.inf


def _any_violations(loss, image, beta, norms, examples, to_margin, rising, falling):  # type: ignore[no-untyped-def]
    label, signed = examples.label, examples.signed
    for i in range(image.size):
        rising[i] = falling[i] = -np.inf
        weight = abs(signed[i])
        if weight > 0.0:
            curvature = max(FLATTEST, weight * norms[i] * to_margin)
            move = best(loss, beta[i], image[i] * to_margin, label[i], curvature) - beta[i]
            # The slope of the dual, as far as there is room.
            key = (move if signed[i] > 0.0 else -move) * curvature
            if key > 0.0:
                rising[i] = key
            elif key < 0.0:
                falling[i] = -key


#: Write how much each example would have its decision rise or fall; minus infinity if it can't:
#: ``violations(loss, image, beta, norms, examples, to_margin, rising, falling)`` with squared norms
#: (the hinge does without), and decisions ``to_margin`` times the image.
violations = by_loss(_hinge_violations, _any_violations)


@compiled(inner=True)
def maximise_over(
    loss: Any,
    image: np.ndarray,
    members: np.ndarray,
    examples: Examples,
    to_margin: float,
    hessian: np.ndarray,
    beta: np.ndarray,
    reduction: float,
) -> None:
    """Maximise the dual over the members of a set, the other coefficients held fixed.

    Parameters
    ----------
    loss : Loss
    image : ndarray of shape (n_samples,)
    members : ndarray of shape (n_members,), int64
    examples : Examples
    to_margin : float
        Decisions are this times the image.
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns: kernel values between members, times both their ``signed``.
    beta : ndarray of shape (n_members,)
        Coefficients; on return the solution.
    reduction : float
        It ends where no step moves a coefficient by more than this share of the largest first move.
    """
    label, sums, inverse = np.empty(members.size), np.empty(members.size), np.empty(members.size)
    for a in range(members.size):
        i = members[a]
        label[a] = examples.label[i]
        sums[a], inverse[a] = _begin(loss, image[i], label[a], examples.signed[i], to_margin)
    alternate(loss, hessian, sums, label, inverse, beta, reduction)


# Divided by ``to_margin``, so that the Hessian does not depend on it.
def _hinge_begin(loss, image, label, signed, to_margin):  # type: ignore[no-untyped-def]
    return abs(signed) * (label * image - 1.0 / to_margin), 1.0


def _any_begin(loss, image, label, signed, to_margin):  # type: ignore[no-untyped-def]
    return image * signed, to_margin / signed if signed != 0.0 else 0.0  # 0: it is held out


#: Sum of a member and its inverse, where the search begins.
_begin = by_loss(_hinge_begin, _any_begin)


@compiled(inner=True)
def alternate(
    loss: Any,
    hessian: np.ndarray,
    sums: np.ndarray,
    label: np.ndarray,
    inverse: np.ndarray,
    beta: np.ndarray,
    reduction: float,
) -> None:
    """Maximise the dual of a set by coordinate steps and moves together.

    Parameters
    ----------
    loss : Loss
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns.
    sums : ndarray of shape (n_members,)
        With the hinge minus the gradient, else decisions divided by ``inverse``; brought up to
        date.
    label : ndarray of shape (n_members,)
    inverse : ndarray of shape (n_members,)
        What sums become decisions by; 0 for what is held out.
    beta : ndarray of shape (n_members,)
        Modified in place.
    reduction : float
        See `maximise_over`.
    """
    first = 0.0
    for _ in range(_most_rounds(loss)):
        largest, scale = _coordinate_pass(loss, hessian, sums, label, inverse, beta)
        first = max(first, largest)
        if largest <= max(_SMALLEST_MOVE * scale, reduction * first):
            break
        _coordinate_pass(loss, hessian, sums, label, inverse, beta)
        _move_together(loss, hessian, sums, label, inverse, beta)


_most_rounds = by_loss(lambda loss: _BOX_ROUNDS, lambda loss: _ANY_ROUNDS)


@compiled(inner=True)
def _coordinate_pass(
    loss: Any,
    hessian: np.ndarray,
    sums: np.ndarray,
    label: np.ndarray,
    inverse: np.ndarray,
    beta: np.ndarray,
) -> tuple[float, float]:
    """Maximise in one coefficient after the other; returns the largest move, and coefficient."""
    largest = scale = 0.0
    for a in range(beta.size):
        if inverse[a] == 0.0:
            continue
        target = _target(loss, beta[a], sums[a], label[a], inverse[a], hessian[a, a])
        move = target - beta[a]
        scale = max(scale, abs(target))
        if move != 0.0:
            beta[a] = target
            largest = max(largest, abs(move))
            for b in range(beta.size):
                sums[b] += move * hessian[a, b]
    return largest, scale


def _hinge_target(loss, beta, total, label, inverse, curvature):  # type: ignore[no-untyped-def]
    if abs(curvature) > 0.0:
        return min(1.0, max(0.0, beta - total / abs(curvature)))
    return 1.0 if total < 0.0 else 0.0 if total > 0.0 else beta


def _any_target(loss, beta, total, label, inverse, curvature):  # type: ignore[no-untyped-def]
    return best(loss, beta, total * inverse, label, max(FLATTEST, curvature * abs(inverse)))


_target = by_loss(_hinge_target, _any_target)


def _hinge_move(loss, hessian, sums, label, inverse, beta):  # type: ignore[no-untyped-def]
    n = beta.size
    residual, low, high, targets = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for a in range(n):
        inside = 0.0 < beta[a] < 1.0
        residual[a] = -sums[a]
        low[a], high[a] = (0.0, 1.0) if inside else (beta[a], beta[a])
    _conjugate_gradients(hessian, np.zeros(n), residual, low, high, beta, targets)
    for a in range(n):
        move = targets[a] - beta[a]
        if move != 0.0:
            beta[a] = targets[a]
            for b in range(n):
                sums[b] += move * hessian[a, b]


def _any_move(loss, hessian, sums, label, inverse, beta):  # type: ignore[no-untyped-def]
    n = beta.size
    low, high, bends, residual = np.empty(n), np.empty(n), np.zeros(n), np.zeros(n)
    n_free = 0
    for a in range(n):
        low[a], high[a], slope, bend = piece(loss, beta[a], label[a])
        if low[a] < beta[a] < high[a] and inverse[a] != 0.0:
            # In units of the Hessian; the label's sign is in the sums.
            unit = 1.0 / abs(inverse[a])
            residual[a] = unit * slope - sums[a]
            bends[a] = unit * bend
            n_free += 1
        else:
            low[a] = high[a] = beta[a]
    if n_free == 0:
        return
    targets, moves, products = np.empty(n), np.empty(n), np.zeros(n)
    _conjugate_gradients(hessian, bends, residual, low, high, beta, targets)
    for a in range(n):
        moves[a] = targets[a] - beta[a]
        if moves[a] != 0.0:
            for b in range(n):
                products[b] += moves[a] * hessian[a, b]
    share = _rising_share(loss, beta, moves, products, sums, label, inverse)
    if not share > 0.0:  # nor where it is NaN
        return
    for a in range(n):
        sums[a] += share * products[a]
        beta[a] = targets[a] if share == 1.0 else beta[a] + share * moves[a]


#: Move the coefficients that are inside a piece; those at an end stay.
_move_together = by_loss(_hinge_move, _any_move)


@compiled(inner=True)
def _rising_share(
    loss: Any,
    beta: np.ndarray,
    moves: np.ndarray,
    products: np.ndarray,
    sums: np.ndarray,
    label: np.ndarray,
    inverse: np.ndarray,
) -> float:
    """Return the largest share of a move, by halving, for which the dual does not fall; else 0."""
    linear = quadratic = before = 0.0
    for a in range(beta.size):
        if moves[a] != 0.0:
            linear += sums[a] * moves[a]
            quadratic += moves[a] * products[a]
            before += gain(loss, beta[a], label[a]) / abs(inverse[a])
    share = 1.0
    for _ in range(_HALVINGS):
        after = 0.0
        for a in range(beta.size):
            if moves[a] != 0.0:
                target = beta[a] + share * moves[a]
                after += gain(loss, target, label[a]) / abs(inverse[a])
        if after - before - share * linear - 0.5 * share * share * quadratic >= 0.0:
            return share
        share *= 0.5
    return 0.0


@compiled(inner=True)
def _conjugate_gradients(
    hessian: np.ndarray,
    bends: np.ndarray,
    residual: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    targets: np.ndarray,
) -> None:
    """Find where the variables between two bounds go together; those that meet one stay there.

    If a bound ended the search, each variable that meets one would cost a round, and in flat
    directions of the Hessian nearly all do.

    Parameters
    ----------
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns.
    bends : ndarray of shape (n,)
        Added to the diagonal of the Hessian.
    residual : ndarray of shape (n,)
        Gradient at ``values``.
    low, high : ndarray of shape (n,)
        Bounds, which are equal for variables that are held; modified.
    values, targets : ndarray of shape (n,)
        Where the variables are; on return where they go.
    """
    free, block = _free_block(hessian, bends, low, high)
    n = free.size
    rest = np.empty(n)
    for a in range(n):
        rest[a] = residual[free[a]]
    for a in range(values.size):
        targets[a] = values[a]
    direction, image = rest.copy(), np.empty(n)
    squared = _inner_product(rest, rest)
    enough = (_NO_RESIDUAL if values.size <= _FEW else _SMALL_RESIDUAL) * squared
    for _ in range(_MOST_STEPS):
        if squared <= enough:
            break
        _multiply(block, direction, image)
        curvature = _inner_product(direction, image)
        step, met = squared / curvature if curvature > 0.0 else np.inf, n
        for a in range(n):
            if direction[a] != 0.0:
                i = free[a]
                room = ((high[i] if direction[a] > 0.0 else low[i]) - targets[i]) / direction[a]
                if room < step:
                    step, met = room, a
        if not step < np.inf:
            break
        for a in range(n):
            i = free[a]
            targets[i] += step * direction[a]
            rest[a] = rest[a] - step * image[a] if low[i] < high[i] else 0.0
        if met < n:
            i = free[met]
            end = high[i] if direction[met] > 0.0 else low[i]
            targets[i] = low[i] = high[i] = end
            rest[met] = 0.0
        before, squared = squared, _inner_product(rest, rest)
        again = 0.0 if met < n else squared / before
        for a in range(n):
            direction[a] = rest[a] + again * direction[a]


@compiled(inner=True)
def _free_block(
    hessian: np.ndarray, bends: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which variables are not held, and their block of the Hessian, bends added.

    A product with all variables would cost the square of their number.
    """
    n, free = 0, np.empty(low.size, dtype=np.int64)
    for a in range(low.size):
        if low[a] < high[a]:
            free[n] = a
            n += 1
    block = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            block[a, b] = hessian[free[a], free[b]]
        block[a, a] += bends[free[a]]
    return free[:n], block


@compiled(inner=True)
def _multiply(matrix: np.ndarray, vector: np.ndarray, image: np.ndarray) -> None:
    """Write a symmetric matrix times a vector, four rows at a time."""
    n = vector.size
    for b in range(n):
        image[b] = 0.0
    whole = n - n % 4
    for a in range(0, whole, 4):
        p, q, r, s = vector[a], vector[a + 1], vector[a + 2], vector[a + 3]
        for b in range(n):
            one = p * matrix[a, b] + q * matrix[a + 1, b]
            image[b] += one + (r * matrix[a + 2, b] + s * matrix[a + 3, b])
    for a in range(whole, n):
        for b in range(n):
            image[b] += vector[a] * matrix[a, b]


@compiled(inner=True)
def _inner_product(one: np.ndarray, other: np.ndarray) -> float:
    """``<one, other>``, for compiled callers."""
    total = 0.0
    for a in range(one.size):
        total += one[a] * other[a]
    return total
