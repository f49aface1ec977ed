"""Problems of the campaigns: examples, a kernel and parameters of a fit; and hard ones of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos import LinearPegasosSVC, PegasosSVC
from tests.campaigns._reference import KernelSpec, kernel_values
from tests.campaigns.harness import pick, power, some
from tests.kernel_cases import Cauchy


class Function:
    """A callable kernel: Gaussian by differences in float64, the same bits in any block."""

    def __init__(self, gamma, sign=1.0):
        self.gamma = gamma
        self.sign = sign

    def __call__(self, A, B):
        A, B = (np.asarray(Z.todense() if sparse.issparse(Z) else Z, float) for Z in (A, B))
        total = np.zeros((A.shape[0], B.shape[0]))
        for j in range(A.shape[1]):
            total += (A[:, j, None] - B[:, j]) ** 2
        return np.asarray(self.sign * np.exp(-self.gamma * total))


@dataclass
class Case:
    """A problem and the estimator that it is given to.

    ``rows`` are dense, whatever the estimator gets. A kind is "primal", "named", "callable",
    "object" or "precomputed".
    """

    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    kind: str
    spec: KernelSpec
    options: dict[str, Any]
    is_sparse: bool
    #: No sum of the fit is rounded.
    is_exact: bool = False
    #: A given matrix whose entries have been rounded.
    is_rounded: bool = False
    indefinite: bool = False
    #: "scale" or "auto" where the estimator finds gamma itself.
    gamma_rule: str | None = None

    def gram(self, other):
        """The matrix that ``kernel="precomputed"`` is given."""
        values = kernel_values(self.spec, other, self.rows)
        return np.ascontiguousarray(values.astype(self.rows.dtype))

    def given(self, rows):
        """What the estimator gets."""
        if self.kind == "precomputed":
            return self.gram(rows)
        return sparse.csr_array(rows) if self.is_sparse else rows

    def kernel(self):
        """The kernel as the estimator takes it."""
        if self.kind == "callable":
            return Function(self.spec.gamma, -1.0 if self.indefinite else 1.0)
        if self.kind == "object":
            return Cauchy(gamma=self.spec.gamma)
        return "precomputed" if self.kind == "precomputed" else self.spec.name

    def estimator(self, **changes):
        if self.kind == "primal":
            return LinearPegasosSVC(**self.options)
        spec = self.spec
        named = {"gamma": self.gamma_rule or spec.gamma, "degree": spec.degree, "coef0": spec.coef0}
        return PegasosSVC(kernel=self.kernel(), **named, **(self.options | changes))

    def fit(self, **changes):
        return self.estimator(**changes).fit(self.given(self.rows), self.y, self.weight)

    def __str__(self):
        return (
            f"{self.kind}, {self.rows.dtype}, {self.rows.shape}, sparse={self.is_sparse}, "
            f"weighted={self.weight is not None}, gamma={self.gamma_rule}, {self.spec}, "
            f"{self.options}"
        )


def _labels(rng):
    """Two or three classes, the rarest down to a single example."""
    draw = rng.random()
    n = int(rng.integers(4, 41) if draw < 0.75 else rng.integers(41, 81))
    if draw > 0.97:
        n = 300 if draw < 0.995 else 1001
    n_classes = 3 if n >= 9 and some(rng, 0.15) else 2
    y = rng.integers(n_classes, size=n)
    if n == 1001 or some(rng, 0.15):
        y = (rng.random(n) < max(1 / n, power(rng, -3, -0.5))).astype(int)
    y[:n_classes] = np.arange(n_classes)
    return rng.permutation(y)


def _rows(rng, y):
    """Examples with groups apart, an offset, duplicates, constant features."""
    n = y.size
    d = int(rng.integers(1, 9)) if some(rng, 0.9) else int(rng.integers(9, 41))
    rows = rng.normal(size=(n, d)) + power(rng, -1, 0.7) * np.outer(y - 0.5, rng.normal(size=d))
    if some(rng, 0.2):
        rows = np.round(4 * rows) / 4
    if some(rng, 1 / 3):
        side = rng.integers(2, size=n) if some(rng, 0.7) else (y == 0).astype(int)
        rows += power(rng, 0.7, 4) * np.outer(side, rng.normal(size=d))
    if some(rng, 1 / 3):
        rows += power(rng, 0, 4) * rng.normal(size=d)
    if some(rng, 0.2):
        rows[rng.integers(n, size=n // 2)] = rows[rng.integers(n, size=n // 2)]
    if some(rng, 0.2):
        rows[:, rng.integers(d)] = pick(rng, [0.0, 1.0, 1e3])
    if some(rng, 0.15):
        rows = rows * (rng.random(size=rows.shape) < 0.5)
    return rows


def _weight(rng, y):
    if some(rng, 0.5):
        return None
    spread = pick(rng, [0, 1, 3, 8])
    weight = 10.0 ** rng.uniform(-spread, spread, size=y.size)
    if some(rng, 0.4):
        zero = rng.random(y.size) < 0.3
        zero[np.unique(y, return_index=True)[1]] = False
        weight[zero] = 0.0
    return weight * (power(rng, -40, 40) if some(rng, 0.2) else 1.0)


_NAMES = ("linear", "poly", "rbf", "rbf", "rbf", "sigmoid", "laplacian")
_KINDS = {
    "primal": ("linear",),
    "callable": ("rbf",),
    "object": ("cauchy",),
    "precomputed": ("linear", "poly", "rbf", "laplacian"),
}


def _kernel(rng, scale):
    """What kind of model, and its kernel; ``scale`` is that of a feature."""
    draw = pick(rng, [*_NAMES, "primal", "primal", "callable", "object", "precomputed"])
    kind = draw if draw in _KINDS else "named"
    name = pick(rng, _KINDS.get(draw, [draw]))
    gamma = power(rng, -4, 3) / scale ** (1 if name == "laplacian" else 2)
    if some(rng, 0.05):
        gamma = power(rng, -10, 10)
    coef0 = pick(rng, [0.0, 1.0, power(rng, -3, 3)])
    if name == "poly" and some(rng, 0.05):
        coef0 = -coef0
    return kind, KernelSpec(name, gamma, pick(rng, [0, 1, 2, 2, 3, 3, 5]), coef0)


def _options(rng, kind, y):
    """Parameters of an estimator."""
    options = {
        "C": power(rng, -4, 5),
        "epochs": pick(rng, [0.5, 1, 3, 10, 20]),
        "average": pick(rng, ["weighted", "suffix", "uniform", None]),
        "sampling": pick(rng, ["permutation", "uniform"]),
        "projection": some(rng, 0.3),
        "checkpoints": pick(rng, ["epoch", "log", None]),
        "fit_intercept": some(rng, 0.75),
        "intercept_scaling": 1.0 if some(rng, 0.6) else power(rng, -3, 4),
        "random_state": int(rng.integers(2**31)),
        "max_time": 0.15,
    }
    if kind == "primal":
        options["sampling"] = pick(rng, ["permutation", "uniform", "contiguous"])
    elif kind != "precomputed":
        options["cache"] = pick(rng, ["auto", "precomputed", "cached", "streamed"])
    if some(rng, 0.1):
        options["lam"] = power(rng, -6, 2)
    if some(rng, 0.2):
        options["batch_size"] = int(rng.integers(1, 5))
    if some(rng, 0.15):
        options["class_weight"] = {c: power(rng, -3, 3) for c in np.unique(y).tolist()}
    elif some(rng, 0.1):
        options["class_weight"] = "balanced"
    if some(rng, 0.5):
        options |= {"polish": True, "tol": power(rng, -9, -1)}
    elif some(rng, 0.3):
        options["tol"] = power(rng, -6, -0.5)
    return options


def draw_case(rng):
    """Draw a problem and a fit, and rows to decide on."""
    y = _labels(rng)
    rows, weight = _rows(rng, y), _weight(rng, y)
    scale = power(rng, -20, 20) if some(rng, 0.3) else 1.0
    kind, spec = _kernel(rng, scale)
    options = _options(rng, kind, y)
    new = rows[rng.integers(y.size, size=8)] + 0.1 * rng.normal(size=(8, rows.shape[1]))
    is_rounded = kind == "precomputed"
    if is_rounded and spec.name in ("linear", "poly") and some(rng, 0.6):
        # Whole numbers, so that the matrix is what it stands for.
        rows, new, scale = np.round(rows).clip(-15, 15), np.round(new).clip(-15, 15), 1.0
        spec = spec._replace(gamma=1.0, coef0=abs(round(spec.coef0)) % 4, degree=spec.degree % 3)
        is_rounded = False
    indefinite = not spec.is_definite or (kind == "callable" and some(rng, 0.1))
    rule = None
    if kind == "named" and spec.name != "linear" and some(rng, 0.4):
        rule = pick(rng, ["scale", "auto"])
    dtype = np.float32 if some(rng, 1 / 3) else np.float64
    is_sparse = kind != "precomputed" and some(rng, 0.25)
    case = Case((rows * scale).astype(dtype), y, weight, kind, spec, options, is_sparse)
    case.is_rounded, case.indefinite, case.gamma_rule = is_rounded, indefinite, rule
    return case, (new * scale).astype(dtype)
