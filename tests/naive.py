"""Pegasos by the book: the slow reference that the package is held against.

The problem, over examples x_i with labels y_i = ±1 and weights ω_i of mean one, is ::

    P(w) = λ/2 ‖w‖² + (1/m) Σ ω_i max(0, 1 - y_i ⟨w, φ(x_i)⟩)

Everything is transcribed from the definitions: the iterate w_t = Σ c_j φ(x_j) is kept explicitly,
shrunk by 1 - 1/t at each step and projected when asked; averages add up the stored iterates.
Without the projection all arithmetic is rational, hence a margin test is never a matter of
rounding: whatever K, y, λ and ω hold as floats is taken at its exact value. With it there is a
square root, and floats are used.

Nothing is imported from the package, and numpy only unpacks the inputs.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np


def _plain(a):
    """Array or scalar as (lists of) Python numbers; float32 keeps its value, Fractions stay."""
    return np.asarray(a).tolist()


def _labels(y):
    y = [int(v) for v in _plain(y)]
    if not set(y) <= {-1, 1}:
        raise ValueError("labels must be -1 or +1")
    return y


def _weights(weight, m):
    return [1] * m if weight is None else _plain(weight)


def _batches(draws, batch_size):
    draws = _plain(draws)
    if len(draws) % batch_size:
        raise ValueError("the number of draws must be a multiple of batch_size")
    return [draws[s : s + batch_size] for s in range(0, len(draws), batch_size)]


def _dot(x, z):
    return sum(a * b for a, b in zip(x, z, strict=True))


def linear(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


# --- the algorithm ------------------------------------------------------------------------------


class Run(NamedTuple):
    """What a run went through.

    ``counts[j]`` is the number of times that example j was drawn while violating, ``iterates``
    the list w_2, …, w_{T+1}: coefficients over the examples, or weights over the features.
    """

    counts: list
    iterates: list


def pegasos(K, y, draws, lam, *, batch_size=1, projection=False, weight=None, offset=0):
    """Kernel Pegasos over an explicit stream of indices, T = len(draws) / batch_size steps.

    ``offset`` is B², added to every kernel value: a constant feature of size B.
    """
    number = float if projection else Fraction
    y, m = _labels(y), len(_labels(y))
    offset, lam = number(_plain(offset)), number(_plain(lam))
    K = [[number(v) + offset for v in row] for row in _plain(K)]
    omega = [number(v) for v in _weights(weight, m)]
    counts, iterates = [0] * m, []
    c = [number(0)] * m  # w_1 = 0
    for t, batch in enumerate(_batches(draws, batch_size), start=1):
        violators = [i for i in batch if y[i] * _dot(c, K[i]) < 1]  # all tests use w_t
        shrink = 1 - number(1) / t
        c = [shrink * v for v in c]
        for i in violators:
            c[i] += omega[i] * y[i] / (lam * t * batch_size)
            counts[i] += 1
        if projection:
            norm_sq = _dot(c, [_dot(c, row) for row in K])
            c = _project(c, norm_sq, lam)
        iterates.append(c)
    return Run(counts, iterates)


def linear_pegasos(
    X, y, draws, lam, *, batch_size=1, projection=False, weight=None, intercept_scaling=0
):
    """Pegasos in the primal; the iterates hold the weight of the constant feature last.

    That feature has the value ``intercept_scaling``, and is there even when this is 0.
    """
    number = float if projection else Fraction
    y, lam, B = _labels(y), number(_plain(lam)), number(_plain(intercept_scaling))
    X = [[number(v) for v in row] + [B] for row in _plain(X)]
    omega = [number(v) for v in _weights(weight, len(y))]
    counts, iterates = [0] * len(y), []
    w = [number(0)] * len(X[0])
    for t, batch in enumerate(_batches(draws, batch_size), start=1):
        violators = [i for i in batch if y[i] * _dot(w, X[i]) < 1]
        shrink = 1 - number(1) / t
        w = [shrink * v for v in w]
        for i in violators:
            step = omega[i] * y[i] / (lam * t * batch_size)
            w = [v + step * x for v, x in zip(w, X[i], strict=True)]
            counts[i] += 1
        if projection:
            w = _project(w, _dot(w, w), lam)
        iterates.append(w)
    return Run(counts, iterates)


def _project(w, norm_sq, lam):
    """Onto the ball of radius 1/√λ."""
    if norm_sq <= 0:
        return w
    scale = min(1.0, 1.0 / (math.sqrt(lam) * math.sqrt(norm_sq)))
    return [scale * v for v in w]


def suffix_start(T):
    """T0, the largest power of two that is at most T/2; 0 when there is none."""
    T0 = 0
    while max(1, 2 * T0) <= T / 2:
        T0 = max(1, 2 * T0)
    return T0


def average(iterates, kind):
    """The returned iterate for ``average=kind``, by adding up w_2, …, w_{T+1}."""
    T = len(iterates)
    if kind is None:
        return list(iterates[-1])
    first, weigh, total = {
        "weighted": (1, lambda t: 2 * t, T * (T + 1)),
        "uniform": (1, lambda t: 1, T),
        "suffix": (suffix_start(T) + 1, lambda t: 1, T - suffix_start(T)),
    }[kind]
    result = [0] * len(iterates[0])
    for t in range(first, T + 1):
        w = iterates[t - 1]  # w_{t+1}
        result = [r + weigh(t) * v for r, v in zip(result, w, strict=True)]
    return [r / total for r in result]


# --- objectives ---------------------------------------------------------------------------------


def decision(coef, K, offset=0):
    """f of each row of K: kernel values of any points (down) with the examples (across)."""
    coef, offset = [float(c) for c in coef], float(offset)
    return [linear(coef, [k + offset for k in row]) for row in _plain(K)]


def primal(coef, K, y, lam, weight=None, *, offset=0):
    """P(w) at w = Σ coef_j φ(x_j)."""
    f = decision(coef, K, offset)
    norm_sq = math.fsum(float(c) * v for c, v in zip(coef, f, strict=True))
    return float(lam) / 2 * norm_sq + _mean_hinge(f, y, weight)


def _mean_hinge(f, y, weight):
    omega = _weights(weight, len(f))
    losses = (o * max(0.0, 1 - s * v) for o, s, v in zip(omega, _labels(y), f, strict=True))
    return math.fsum(losses) / len(f)


def dual(beta, K, y, lam, weight=None, *, offset=0):
    """D(β) = (1/m) Σ ω_i β_i - λ/2 ‖w_β‖², w_β = 1/(λm) Σ ω_i β_i y_i φ(x_i)."""
    beta, y, lam = [float(b) for b in beta], _labels(y), float(lam)
    m, omega = len(y), _weights(weight, len(y))
    coef = [o * b * s / (lam * m) for o, b, s in zip(omega, beta, y, strict=True)]
    norm_sq = linear(coef, decision(coef, K, offset))
    return linear(omega, beta) / m - lam / 2 * norm_sq


def optimum(K, y, lam, weight=None, *, offset=0, gap=1e-10, max_epochs=200_000):
    """The minimum f* of P and a β that attains it, for a positive semi-definite K.

    Cyclic maximisation of D over one β_i at a time (a parabola, cut off at 0 and 1), until
    P(w_β) - D(β) < gap. f* is returned as D(β), which lower-bounds P.
    """
    y, lam, m = _labels(y), float(lam), len(_labels(y))
    K = [[float(k) + float(offset) for k in row] for row in _plain(K)]
    omega = [float(o) for o in _weights(weight, m)]
    beta, f = [0.0] * m, [0.0] * m
    for epoch in range(max_epochs):
        for i in range(m):
            # dD/dβ_i = ω_i/m (1 - y_i f_i), and its slope is -ω_i² K_ii / (λm²)
            slack = 1 - y[i] * f[i]
            curvature = omega[i] * K[i][i] / (lam * m)
            new = min(1.0, max(0.0, beta[i] + slack / curvature)) if curvature > 0 else 1.0
            if new != beta[i]:
                step = omega[i] * (new - beta[i]) * y[i] / (lam * m)
                f = [v + step * k for v, k in zip(f, K[i], strict=True)]
                beta[i] = new
        if epoch % 20 == 0:
            coef = [o * b * s / (lam * m) for o, b, s in zip(omega, beta, y, strict=True)]
            f = decision(coef, K)  # forget the rounding of the updates
            lower = dual(beta, K, y, lam, omega)
            if primal(coef, K, y, lam, omega) - lower < gap:
                return lower, beta
    raise RuntimeError(f"no duality gap below {gap} after {max_epochs} epochs")


def ovo_vote(decisions, n_classes):
    """LIBSVM's vote: one row of pairwise decisions per sample to one class index per sample.

    The pairs are (0, 1), (0, 2), …, (1, 2), …; a positive decision is a vote for the first of
    the pair, any other for the second; of the classes with most votes the lowest wins.
    """
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    winners = []
    for row in _plain(decisions):
        votes = [0] * n_classes
        for (i, j), value in zip(pairs, row, strict=True):
            votes[i if value > 0 else j] += 1
        winners.append(votes.index(max(votes)))
    return winners


# --- slips in the sources: each deliberately wrong, in one respect (but slip_seed_code) ----------


def _count_violations(K, y, draws, lam, violates):
    """Counts α for a rule violates(t, i, α, K, y, λ), exactly; t starts at 1."""
    K = [[Fraction(v) for v in row] for row in _plain(K)]
    y, lam = _labels(y), Fraction(_plain(lam))
    alpha = [0] * len(y)
    for t, i in enumerate(_plain(draws), start=1):
        if violates(t, i, alpha, K, y, lam):
            alpha[i] += 1
    return alpha


def _signed(alpha, y):
    return [a * s for a, s in zip(alpha, y, strict=True)]


def slip_label_outside_sum(K, y, draws, lam):
    """Counts with y_i where y_j belongs: the labels cancel, and α no longer depends on y.

    Source: the printed Fig. 3 of the journal paper (Mathematical Programming 127, 2011), and
    several implementations after it. Its other slip, 1/(λt), is left to the next function.
    """

    def violates(t, i, alpha, K, y, lam):
        inner = sum(a * y[i] * k for a, k in zip(alpha, K[i], strict=True))
        return t == 1 or y[i] * inner / (lam * (t - 1)) < 1

    return _count_violations(K, y, draws, lam, violates)


def slip_shrunk_threshold(K, y, draws, lam):
    """Counts with 1/(λt) in the margin test, where w_t carries 1/(λ(t-1)).

    Source: Fig. 3 of the journal paper; Algorithm 2 of Karthik's term paper "Pegasos for SVM
    Training". The test sees (1 - 1/t) w_t. It differs for margins in [1, t/(t-1)): at once
    on K = [[1]], draws 0, 0, λ = 1 (one violation; two by the slip).
    """

    def violates(t, i, alpha, K, y, lam):
        return y[i] * _dot(_signed(alpha, y), K[i]) / (lam * t) < 1

    return _count_violations(K, y, draws, lam, violates)


def slip_seed_code(K, y, draws, lam):
    """Coefficients α_i y_i / λ by a test that leaves j = i out and never divides by t.

    Source: ``kernel_solve`` in the code that goes with the term paper. Without the self term
    and with a fixed threshold λ, an example that its neighbours do not cover violates forever.
    """

    def violates(t, i, alpha, K, y, lam):
        others = sum(alpha[j] * y[j] * K[i][j] for j in range(len(y)) if j != i)
        return y[i] * others / lam < 1

    alpha = _count_violations(K, y, draws, lam, violates)
    return [a / Fraction(_plain(lam)) for a in _signed(alpha, _labels(y))]


# --- steps of Qiskit ---------------------------------------------------------------------------


def pegasos_qsvc(K, y, draws, C):
    """Counts after each step of Qiskit's ``PegasosQSVC``, and kernel values evaluated so far."""
    alphas, spent, found = {}, 0, []
    for step, i in enumerate(draws, start=1):
        spent += len(alphas)
        value = sum(n * y[j] * (K[i][j] + 1) for j, n in alphas.items())
        if y[i] * C / step * value < 1:
            alphas[i] = alphas.get(i, 0) + 1
        found.append((spent, dict(alphas)))
    return found
