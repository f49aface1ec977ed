"""What a working set asks of the loss: which examples would move, and where a set of them goes.

The hinge has both in closed form: its dual is a quadratic in a box, for `kpegasos.core.box`. Any
other loss is asked for its maximiser in one coordinate, ``best``, again and again; between these
steps all coefficients inside a piece of the loss move together (`kpegasos.core.pieces`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from kpegasos.core.box import SMALLEST_MOVE, solve_box
from kpegasos.core.pieces import move_together
from kpegasos.core.state import Examples
from kpegasos.losses.base import FLATTEST, best
from kpegasos.losses.hinge import Hinge
from kpegasos.utils.compiled import FAST, compiled

#: Rounds of coordinate steps and of moves together, at the most.
_MOST_ROUNDS = 60


def violations(
    loss: Any,
    image: np.ndarray,
    beta: np.ndarray,
    norms: np.ndarray,
    examples: Examples,
    to_margin: float,
    rising: np.ndarray,
    falling: np.ndarray,
) -> None:
    """Write how much each example would have its decision rise or fall; minus infinity if it can't.

    Parameters
    ----------
    loss : Loss
    image, beta : ndarray of shape (n_samples,)
    norms : ndarray of shape (n_samples,)
        ``‖φ(x)‖²``; the hinge does without.
    examples : Examples
    to_margin : float
        Decisions are as many times the image.
    rising, falling : ndarray of shape (n_samples,)
        Written to.
    """
    function = _of_hinge if type(loss) is Hinge else _of_any
    function(loss, image, beta, norms, examples, to_margin, rising, falling)


def _of_hinge(loss, image, beta, norms, examples, to_margin, rising, falling):  # type: ignore[no-untyped-def]
    label, signed = examples.label, examples.signed
    for i in range(image.size):
        pull = label[i] - image[i] * to_margin
        positive, can_shrink = label[i] > 0, beta[i] > 0.0
        can_grow = (beta[i] < 1.0) & (signed[i] != 0.0)  # examples of weight zero are held out
        # Without a branch, and so in vectors.
        rises = (positive & can_grow) | ((not positive) & can_shrink)
        falls = (positive & can_shrink) | ((not positive) & can_grow)
        rising[i] = pull if rises else -np.inf
        falling[i] = -pull if falls else -np.inf


def _of_any(loss, image, beta, norms, examples, to_margin, rising, falling):  # type: ignore[no-untyped-def]
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
        Decisions are as many times the image.
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns: kernel values between members, times both their ``signed``.
    beta : ndarray of shape (n_members,)
        Coefficients; on return the solution.
    reduction : float
        The end is where no step moves a coefficient by more than this share of the largest first
        move.
    """
    function = _over_hinge if type(loss) is Hinge else _over_any
    function(loss, image, members, examples, to_margin, hessian, beta, reduction)


def _over_hinge(loss, image, members, examples, to_margin, hessian, beta, reduction):  # type: ignore[no-untyped-def]
    gradient = np.empty(members.size)
    # Divided by the factor of margins, so that the Hessian is the same for another one.
    unit = 1.0 / to_margin
    for a in range(members.size):
        i = members[a]
        gradient[a] = abs(examples.signed[i]) * (unit - examples.label[i] * image[i])
    solve_box(hessian, gradient, beta, reduction)


def _over_any(loss, image, members, examples, to_margin, hessian, beta, reduction):  # type: ignore[no-untyped-def]
    size = members.size
    # Sums over the set in units of the Hessian: decisions are as many times these.
    label, inverse, sums = np.empty(size), np.zeros(size), np.empty(size)
    for a in range(size):
        i = members[a]
        signed = examples.signed[i]
        label[a], sums[a] = examples.label[i], image[i] * signed
        if signed != 0.0:  # else the example is held out
            inverse[a] = to_margin / signed
    first = 0.0
    for _ in range(_MOST_ROUNDS):
        largest, scale = _coordinate_pass(loss, hessian, sums, label, inverse, beta)
        first = max(first, largest)
        if largest <= max(reduction * first, SMALLEST_MOVE * scale):
            break
        _coordinate_pass(loss, hessian, sums, label, inverse, beta)
        move_together(loss, hessian, sums, label, inverse, beta)


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
        curvature = max(FLATTEST, hessian[a, a] * abs(inverse[a]))
        target = best(loss, beta[a], sums[a] * inverse[a], label[a], curvature)
        move = target - beta[a]
        scale = max(scale, abs(target))
        if move != 0.0:
            beta[a] = target
            largest = max(largest, abs(move))
            for b in range(beta.size):
                sums[b] += move * hessian[a, b]
    return largest, scale


_JIT: Any = {"fastmath": FAST, "nogil": True}


@overload(violations, jit_options=_JIT)
def _violations_overload(loss, image, beta, norms, examples, to_margin, rising, falling):  # type: ignore[no-untyped-def]
    return _of_hinge if loss.instance_class is Hinge else _of_any


@overload(maximise_over, jit_options=_JIT)
def _maximise_overload(loss, image, members, examples, to_margin, hessian, beta, reduction):  # type: ignore[no-untyped-def]
    return _over_hinge if loss.instance_class is Hinge else _over_any
