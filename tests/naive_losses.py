"""Losses by the book, a step at a time, and optima by another road than the package's.

Each loss is written as papers write it, in the margin or the error. `run` keeps the iterate as a
vector and shrinks it at each step. `optimum` hands the primal or the dual, written out as a smooth
problem in a box, to scipy. Nothing is imported from the package.
"""

import naive
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def hinge(f, y):
    return np.maximum(0.0, 1.0 - y * f)


def squared_hinge(f, y):
    return np.maximum(0.0, 1.0 - y * f) ** 2


def smoothed_hinge(f, y, width=0.5):
    m = y * f
    curved = (1.0 - m) ** 2 / (2.0 * width)
    return np.where(m >= 1.0, 0.0, np.where(m <= 1.0 - width, 1.0 - m - width / 2.0, curved))


def logistic(f, y):
    return np.logaddexp(0.0, -y * f)


def epsilon_insensitive(f, y, epsilon=0.1):
    return np.maximum(0.0, np.abs(f - y) - epsilon)


def squared_epsilon_insensitive(f, y, epsilon=0.1):
    return np.maximum(0.0, np.abs(f - y) - epsilon) ** 2


def huber(f, y, delta=1.0):
    r = np.abs(f - y)
    return np.where(r <= delta, 0.5 * r * r, delta * r - 0.5 * delta * delta)


#: Derivatives in f; at a corner that of the flatter side.
SLOPES = {
    "Hinge": lambda f, y: np.where(y * f < 1.0, -y, 0.0),
    "SquaredHinge": lambda f, y: -2.0 * y * np.maximum(0.0, 1.0 - y * f),
    "SmoothedHinge": lambda f, y, width=0.5: -y * np.clip((1.0 - y * f) / width, 0.0, 1.0),
    "Logistic": lambda f, y: -y * expit(-y * f),
    "EpsilonInsensitive": lambda f, y, epsilon=0.1: np.where(
        np.abs(f - y) > epsilon, np.sign(f - y), 0.0
    ),
    "SquaredEpsilonInsensitive": lambda f, y, epsilon=0.1: (
        2.0 * np.sign(f - y) * np.maximum(0.0, np.abs(f - y) - epsilon)
    ),
    "Huber": lambda f, y, delta=1.0: np.clip(f - y, -delta, delta),
}
LOSSES = {
    "Hinge": hinge,
    "SquaredHinge": squared_hinge,
    "SmoothedHinge": smoothed_hinge,
    "Logistic": logistic,
    "EpsilonInsensitive": epsilon_insensitive,
    "SquaredEpsilonInsensitive": squared_epsilon_insensitive,
    "Huber": huber,
}


def run(name, X, y, lam, draws, average, *, weight=None, k=1, step=None, radius=None, **parameters):
    """An average of stochastic subgradient steps in features; a radius, or one for each step."""
    weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
    radii = None if radius is None else np.broadcast_to(radius, len(draws) // k)
    w = np.zeros(X.shape[1])
    iterates = []
    for number in range(len(draws) // k):
        t = number + 1
        eta = 1.0 / (lam * t) if step is None else float(step(np.array([t]), lam)[0])
        pull = np.zeros_like(w)
        for i in draws[number * k : (number + 1) * k]:
            pull -= weight[i] * SLOPES[name](float(X[i] @ w), y[i], **parameters) * X[i]
        w = (1.0 - eta * lam) * w + eta / k * pull
        if radii is not None:
            length = float(np.linalg.norm(w))
            w = w * min(1.0, radii[number] / length) if length > 0.0 else w
        iterates.append(w)
    return np.array(naive.average(iterates, average))


def objective(name, K, y, lam, coef, *, weight=None, **parameters):
    """P of ``w = Σ coef_j φ(x_j)``."""
    weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
    f = K @ coef
    losses = LOSSES[name](f, y, **parameters)
    return 0.5 * lam * float(coef @ f) + float(weight @ losses) / len(y)


def optimum(name, K, y, lam, *, weight=None, **parameters):
    """Least objective; see `solution`."""
    return solution(name, K, y, lam, weight=weight, **parameters)[0]


def solution(name, K, y, lam, *, weight=None, **parameters):
    """Least objective by scipy, with its coefficients: by the primal if smooth, else the dual."""
    m = len(y)
    weight = np.ones(m) if weight is None else weight / np.mean(weight)
    if name in ("Hinge", "EpsilonInsensitive"):
        return _of_dual(name, K, y, lam, weight, **parameters)
    return _of_primal(name, K, y, lam, weight, **parameters)


_PRECISE = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-13, "maxcor": 30}


def _of_dual(name, K, y, lam, weight, epsilon=0.1):
    """The dual of a loss with corners is a parabola over a box of both signs' parts."""
    m = len(y)
    signs, cost = (y, 0.0) if name == "Hinge" else (np.ones(m), epsilon)
    target = np.ones(m) if name == "Hinge" else y
    G = K * (weight * signs)[:, None] * (weight * signs) / (lam * m * m)
    parts = (1.0,) if name == "Hinge" else (1.0, -1.0)

    def minus_dual(values):
        each = values.reshape(len(parts), m)
        beta = np.array(parts) @ each
        value = weight @ (target * beta - cost * each.sum(axis=0)) / m - 0.5 * beta @ G @ beta
        gradient = weight * target / m - G @ beta
        return -value, -np.concatenate([sign * gradient - cost * weight / m for sign in parts])

    n = len(parts) * m
    options = {"jac": True, "method": "L-BFGS-B", "bounds": [(0.0, 1.0)] * n, "options": _PRECISE}
    start = np.zeros(n)
    for _ in range(30):  # afresh, where the line search has given up, from a little further on
        found = minimize(minus_dual, start, **options)
        beta = np.array(parts) @ found.x.reshape(len(parts), m)
        coef = weight * signs * beta / (lam * m)
        own = {"epsilon": epsilon} if name != "Hinge" else {}
        primal = objective(name, K, y, lam, coef, weight=weight, **own)
        if primal + found.fun <= 1e-9 * primal:
            break
        start = found.x
        for i in range(n):
            slope = -minus_dual(start)[1][i]
            flat = max(G[i % m, i % m], 1e-300)
            start[i] = np.clip(start[i] + slope / flat, 0.0, 1.0)
    return -float(found.fun), coef


def free_bracket(name, K, y, lam, weight=None, **parameters):
    """What the optimum with a free intercept is not below, and an objective that is reached.

    Losses with corners go by pairs of coefficients (Platt 1998), the pair that violates most; of
    the others only what is reached is known.
    """
    m = len(y)
    weight = np.ones(m) if weight is None else weight / np.mean(weight)
    if name not in ("Hinge", "EpsilonInsensitive"):
        return -np.inf, _of_primal(name, K, y, lam, weight, free=True, **parameters)[0]
    if name == "Hinge":
        signs, gains, of = y, np.ones(m), np.arange(m)
    else:
        epsilon = parameters.get("epsilon", 0.1)
        signs, of = np.repeat([1.0, -1.0], m), np.tile(np.arange(m), 2)
        gains = signs * y[of] - epsilon
    most, a = weight[of] / m, np.zeros(of.size)
    best = -np.inf, np.inf
    for number in range(100_000):
        f = K @ np.bincount(of, signs * a, m) / lam
        pull = signs * gains - f[of]  # by how much each would have f rise
        rises = np.where(signs > 0, a < most, a > 0)
        falls = np.where(signs > 0, a > 0, a < most)
        i = np.where(rises, pull, -np.inf).argmax()
        j = np.where(falls, pull, np.inf).argmin()
        if number % 50 == 0 or pull[i] - pull[j] <= 1e-13:
            b = 0.5 * (pull[i] + pull[j])
            norm = 0.5 * float((signs * a) @ f[of])
            lower = float(gains @ a) - norm
            upper = norm + float(weight @ LOSSES[name](f + b, y, **parameters)) / m
            best = max(best[0], lower), min(best[1], upper)
            if best[1] - best[0] <= 1e-11 * best[1] or pull[i] - pull[j] <= 1e-13:
                break
        p, q = of[i], of[j]
        flat = max((K[p, p] + K[q, q] - 2.0 * K[p, q]) / lam, 1e-300)
        room = [most[i] - a[i] if signs[i] > 0 else a[i], a[j] if signs[j] > 0 else most[j] - a[j]]
        step = min((pull[i] - pull[j]) / flat, *room)
        for k, move in ((i, signs[i] * step), (j, -signs[j] * step)):
            a[k] = min(most[k], max(0.0, a[k] + move))
    return best


def _of_primal(name, K, y, lam, weight, *, free=False, **parameters):
    """The primal in the eigenvectors of K; with a free intercept, that is the last variable."""
    m = len(y)
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    penalty = np.full(m + free, lam)
    if free:
        Z, penalty[-1] = np.column_stack((Z, np.ones(m))), 0.0

    def primal(w):
        f = Z @ w
        losses, slopes = LOSSES[name](f, y, **parameters), SLOPES[name](f, y, **parameters)
        value = 0.5 * (penalty * w) @ w + weight @ losses / m
        return value, penalty * w + Z.T @ (weight * slopes) / m

    start = np.zeros(m + free)
    for _ in range(3):
        found = minimize(primal, start, jac=True, method="L-BFGS-B", options=_PRECISE)
        start = found.x
    # Where the gradient is zero, as Z has an inverse on what the examples span.
    coef = -weight * SLOPES[name](Z @ found.x, y, **parameters) / (lam * m)
    return float(found.fun), coef
