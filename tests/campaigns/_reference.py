"""A judge of certificates that shares no code with the package.

Kernel values are formulas in long double, from the numbers that X holds. The optimum of a problem
is bracketed by weak duality, which holds for any dual variables in the box, so the bracket is true
however far the ascent has come. Allowances are the judge's own rounding, nothing else.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

LONG = np.longdouble
UNIT = np.finfo(LONG).eps

#: Examples up to which the interior point method is worth its cubic costs.
_MOST_INTERIOR = 400
#: Relative width of a bracket that needs no further work.
_NARROW = LONG(1e-10)


class KernelSpec(NamedTuple):
    """A kernel by name: linear, poly, rbf, laplacian, sigmoid or cauchy."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @property
    def is_definite(self):
        return self.name != "sigmoid" and (self.name != "poly" or self.coef0 >= 0)


def _distances(A, B, power):
    """``Σ |a - b|^power``, by differences, which lose no digits far from the origin."""
    total = np.zeros((A.shape[0], B.shape[0]), LONG)
    for j in range(A.shape[1]):
        total += np.abs(A[:, j, None] - B[:, j]) ** power
    return total


def kernel_values(spec, A, B):
    """Kernel values in long double, of shape (n_a, n_b)."""
    A, B = A.astype(LONG), B.astype(LONG)
    gamma, coef0 = LONG(spec.gamma), LONG(spec.coef0)
    if spec.name == "rbf":
        return np.asarray(np.exp(-gamma * _distances(A, B, 2)))
    if spec.name == "cauchy":
        return np.asarray(1 / (1 + gamma * _distances(A, B, 2)))
    if spec.name == "laplacian":
        return np.asarray(np.exp(-gamma * _distances(A, B, 1)))
    products = A @ B.T
    if spec.name == "linear":
        return np.asarray(products)
    base = gamma * products + coef0
    return np.asarray(np.tanh(base) if spec.name == "sigmoid" else base**spec.degree)


def value_error(spec, A, B, unit, *, centre=None):
    """Bound of the error of kernel values that are computed with rounding ``unit``.

    Parameters
    ----------
    spec : KernelSpec
    A, B : ndarray of shape (n_a, n_features), (n_b, n_features)
    unit : float
    centre : float or ndarray of shape (n_features,), default=None
        What rows are taken less, if squared distances are formed from norms and inner products;
        None if they are formed from differences.
    """
    A, B = A.astype(LONG), B.astype(LONG)
    terms = LONG(A.shape[1] + 8) * unit
    if spec.name in ("rbf", "laplacian", "cauchy"):
        # A relative error of x in exp(-x) or 1 / (1 + x) moves the value by less than it is.
        error = np.full((A.shape[0], B.shape[0]), terms)
        if centre is not None and spec.name != "laplacian":
            squares = [((rows - centre) ** 2).sum(axis=1) for rows in (A, B)]
            moved = terms * 2 * LONG(spec.gamma) * np.add.outer(*squares)
            error += np.minimum(LONG(1), moved)
        return error
    products = np.abs(A) @ np.abs(B).T
    if spec.name == "linear":
        return np.asarray(terms * products)
    base = abs(LONG(spec.gamma)) * products + abs(LONG(spec.coef0))
    if spec.name == "sigmoid":
        return np.asarray(terms * (base + 1))
    return np.asarray(terms * spec.degree * base ** max(spec.degree, 1))


class Problem(NamedTuple):
    """``lam/2 ‖w‖² + mean(weight · hinge)``, with kernel values and what they may be off by."""

    kernel: np.ndarray
    error: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    lam: Any

    def objective(self, coef):
        """``P(Σ coef φ(x))``, and the rounding of it."""
        coef = coef.astype(LONG)
        margins = self.kernel @ coef
        losses = self.weight * np.maximum(0, 1 - self.y * margins)
        return 0.5 * self.lam * (coef @ margins) + losses.mean(), self.shift(coef, self.error)

    def shift(self, coef, error):
        """How far an objective moves, at most, when kernel values move by ``error``."""
        size = np.abs(coef.astype(LONG))
        margins = error @ size
        return 0.5 * self.lam * (size @ margins) + (self.weight * margins).mean()

    def dual(self, beta):
        """``D(beta)``, and the rounding of it."""
        coef = self.coefficients(beta)
        norm = coef @ self.kernel @ coef
        value = (self.weight * beta.astype(LONG)).mean() - 0.5 * self.lam * norm
        size = np.abs(coef)
        rounding = 0.5 * self.lam * (size @ self.error @ size)
        return value, rounding + beta.size * UNIT

    def coefficients(self, beta):
        """Signed coefficients that belong to dual variables in [0, 1]."""
        return np.asarray(beta.astype(LONG) * self.weight * self.y / (self.lam * self.y.size))

    def variables(self, coef):
        """Dual variables in the box that belong to coefficients, clipped."""
        with np.errstate(all="ignore"):
            beta = coef * self.y * self.lam * self.y.size / self.weight
        return np.clip(np.nan_to_num(beta.astype(np.float64)), 0.0, 1.0)


def make_problem(kernel, error, y, weight, lam):
    """A problem whose weights are scaled to mean one, and errors include those of sums."""
    weight = weight.astype(LONG)
    error = error + 4 * (y.size + 4) * UNIT * np.abs(kernel)
    return Problem(kernel, error, y.astype(LONG), weight / weight.mean(), LONG(lam))


# --- the bracket ----------------------------------------------------------------------------------


@njit(cache=True)
def ascend(hessian, linear, beta, order, passes):  # type: ignore[no-untyped-def]
    """Maximise ``linear · beta - beta' hessian beta / 2`` in one coordinate after another."""
    image = hessian @ beta
    for _ in range(passes):
        moved = 0.0
        for i in order:
            slope = linear[i] - image[i]
            curvature = hessian[i, i]
            new = min(1.0, max(0.0, beta[i] + slope / curvature)) if curvature > 0 else 1.0
            step = new - beta[i]
            if step != 0.0:
                beta[i] = new
                moved = max(moved, abs(step))
                for j in range(image.size):
                    image[j] += step * hessian[i, j]
        if moved < 1e-15:
            break


def interior_point(hessian, linear):
    """The same maximum by a primal-dual interior point method, which large C does not slow down."""
    x = np.full(linear.size, 0.5)
    low, high = np.ones_like(x), np.ones_like(x)
    best = x
    for _ in range(50):
        mu = 0.1 * (x @ low + (1 - x) @ high) / (2 * x.size)
        descent = linear - hessian @ x + mu / x - mu / (1 - x)
        try:
            step = np.linalg.solve(hessian + np.diag(low / x + high / (1 - x)), descent)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(step).all():
            break
        low_step = mu / x - low - low * step / x
        high_step = mu / (1 - x) - high + high * step / (1 - x)
        values = np.concatenate((x, 1 - x, low, high))
        steps = np.concatenate((step, -step, low_step, high_step))
        length = min(1.0, 0.99 / max(1e-300, float((-steps / values).max())))
        x, low, high = x + length * step, low + length * low_step, high + length * high_step
        if not (x.min() > 0 and x.max() < 1):
            break
        best = x
        if mu < 1e-15:
            break
    return best


def solve(problem, coefs=()):
    """Bounds between which the minimum of a problem lies, and coefficients that attain the upper.

    The judge's own rounding is part of the bounds.

    Parameters
    ----------
    problem : Problem
    coefs : iterable of ndarray of shape (n_samples,)
        Coefficients of any models, which are tried too.
    """
    signed = problem.weight * problem.y
    scale = 1 / (problem.lam * problem.y.size)
    hessian = (scale * signed[:, None] * problem.kernel * signed).astype(np.float64)
    linear = problem.weight.astype(np.float64)
    low, high, best = LONG(0), problem.weight.mean(), np.zeros(linear.size, LONG)

    def attain(coef):
        nonlocal high, best
        value, rounding = problem.objective(coef)
        if value + rounding < high:
            high, best = value + rounding, coef

    def consider(beta):
        nonlocal low
        value, rounding = problem.dual(beta)
        low = max(low, value - rounding)
        attain(problem.coefficients(beta))

    for coef in coefs:
        consider(problem.variables(coef))
        attain(coef)
    beta = np.zeros(linear.size)
    order = np.random.default_rng(0).permutation(linear.size)
    ascend(hessian, linear, beta, order, 60)
    consider(beta)
    if high - low > _NARROW * high and linear.size <= _MOST_INTERIOR:
        with np.errstate(all="ignore"):
            beta = np.clip(interior_point(hessian, linear), 0.0, 1.0)
        consider(beta)
    if high - low > _NARROW * high:
        ascend(hessian, linear, beta, order, 100)
        consider(beta)
    return low, high, best
