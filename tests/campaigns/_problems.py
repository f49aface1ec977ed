"""Random problems for the judge: examples of every kind, a kernel, and parameters of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.kernels.base import InnerProductKernel
from tests.campaigns._reference import KernelSpec, kernel_values


@dataclass(frozen=True)
class Cauchy(InnerProductKernel):
    """``1 / (1 + gamma ‖a - b‖²)``: a kernel object of a user's own."""

    gamma: float = 1.0
    translation_invariant = True
    positive_definite = True

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        products *= -2
        products += norms_a + norms_b
        np.maximum(products, 0, out=products)
        products *= self.gamma
        products += 1
        np.reciprocal(products, out=products)

    def diag(self, A: Any) -> np.ndarray:
        return np.ones(A.shape[0])


class Function:
    """A callable kernel: Gaussian by differences in float64, the same bits in any block."""

    def __init__(self, gamma: float, sign: float = 1.0) -> None:
        self.gamma = gamma
        self.sign = sign

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        A, B = (np.asarray(Z.todense() if sparse.issparse(Z) else Z, float) for Z in (A, B))
        total = np.zeros((A.shape[0], B.shape[0]))
        for j in range(A.shape[1]):
            total += (A[:, j, None] - B[:, j]) ** 2
        return np.asarray(self.sign * np.exp(-self.gamma * total))


@dataclass
class Case:
    """A problem and the fit that it is given to.

    ``X`` is what the estimator gets, ``rows`` the same numbers dense; ``new`` are other rows.
    """

    rows: np.ndarray
    new: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    kind: str
    spec: KernelSpec
    is_sparse: bool
    is_away: bool
    is_offset: bool
    is_mild: bool
    options: dict[str, Any] = field(default_factory=dict)
    #: A given matrix whose entries have been rounded.
    is_rounded: bool = False
    indefinite: bool = False
    #: "scale" or "auto" where the estimator finds gamma itself.
    gamma_rule: str | None = None

    @property
    def is_function(self) -> bool:
        """Whether `pegasos` or `sdca` is called, and no estimator."""
        return self.kind.partition(" ")[0] in ("pegasos", "sdca")

    def __str__(self) -> str:
        weighted = self.weight is not None
        return (
            f"{self.kind}, {self.label}, {self.rows.shape}, sparse={self.is_sparse}, "
            f"offset={self.is_offset}, weighted={weighted}, gamma={self.gamma_rule}, {self.spec}, "
            f"{self.options}"
        )

    @property
    def label(self) -> str:
        where = "away from the mean" if self.is_away else "near the mean"
        return f"{self.rows.dtype}, {where}"

    def as_given(self, rows: np.ndarray) -> Any:
        return sparse.csr_array(rows) if self.is_sparse else rows

    def gram(self, other: np.ndarray | None = None) -> np.ndarray:
        """The matrix that ``kernel="precomputed"`` is given."""
        values = kernel_values(self.spec, self.rows if other is None else other, self.rows)
        return np.ascontiguousarray(values.astype(self.rows.dtype))


def some(rng: np.random.Generator, probability: float) -> bool:
    return bool(rng.random() < probability)


def power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _size(rng: np.random.Generator) -> int:
    draw = rng.random()
    if draw < 0.75:
        return int(rng.integers(4, 41))
    if draw < 0.97:
        return int(rng.integers(41, 81))
    return 300 if draw < 0.995 else 1001


def _labels(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two or three classes, the rarest down to a single example."""
    n_classes = 3 if n >= 9 and some(rng, 0.15) else 2
    if n == 1001 or some(rng, 0.15):
        share = max(1 / n, power(rng, -3, -0.5))
        y = (rng.random(n) < share).astype(int)
    else:
        y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    return rng.permutation(y)


def _rows(
    rng: np.random.Generator, y: np.ndarray
) -> tuple[np.ndarray, dict[str, bool], np.ndarray]:
    """Examples of spread one: groups apart, an offset, duplicates, constant features."""
    n = y.size
    d = int(rng.integers(1, 9)) if some(rng, 0.9) else int(rng.integers(9, 41))
    rows = rng.normal(size=(n, d)) + power(rng, -1, 0.7) * np.outer(y - 0.5, rng.normal(size=d))
    kinds = {"away": some(rng, 1 / 3), "offset": some(rng, 1 / 3), "mild": True}
    if some(rng, 0.2):
        rows = np.round(4 * rows) / 4
    if kinds["away"]:
        apart = power(rng, 0.7, 4)
        side = rng.integers(2, size=n) if some(rng, 0.7) else (y == 0).astype(int)
        rows += apart * np.outer(side, rng.normal(size=d))
        kinds["mild"] &= apart < 30
    if kinds["offset"]:
        far = power(rng, 0, 4)
        rows += far * rng.normal(size=d)
        kinds["mild"] &= far < 30
    if some(rng, 0.2):
        rows[rng.integers(n, size=n // 2)] = rows[rng.integers(n, size=n // 2)]
    if some(rng, 0.2):
        rows[:, rng.integers(d)] = one_of(rng, [0.0, 1.0, 1e3])
    if some(rng, 0.15):
        rows = rows * (rng.random(size=rows.shape) < 0.5)
    scale = np.ones(d)
    if some(rng, 0.3):
        scale = scale * power(rng, -20, 20)
        kinds["mild"] = False
    return rows, kinds, scale


def _weight(rng: np.random.Generator, y: np.ndarray) -> np.ndarray | None:
    if some(rng, 0.5):
        return None
    spread = one_of(rng, [0, 1, 3, 8])
    weight = 10.0 ** rng.uniform(-spread, spread, size=y.size)
    if some(rng, 0.4):
        zero = rng.random(y.size) < 0.3
        zero[np.unique(y, return_index=True)[1]] = False
        weight[zero] = 0.0
    if some(rng, 0.2):
        weight *= power(rng, -40, 40)
    return weight


def _kernel(rng: np.random.Generator, size: float, kinds: dict[str, bool]) -> tuple[str, Any]:
    """What kind of model, and its kernel; ``size`` is that of a feature."""
    kind = one_of(
        rng,
        [
            *("linear", "primal", "primal", "poly", "rbf", "rbf", "rbf", "sigmoid"),
            *("laplacian", "callable", "object", "precomputed", "precomputed"),
            *("pegasos", "sdca", "pegasos linear", "sdca linear"),
        ],
    )
    if kind in ("linear", "primal", "pegasos linear", "sdca linear"):
        return kind, KernelSpec("linear")
    names = {"callable": ["rbf"], "object": ["cauchy"]}
    names["precomputed"] = ["linear", "poly", "rbf", "laplacian"]
    names["pegasos"] = names["sdca"] = ["poly", "rbf", "laplacian"]
    name = one_of(rng, names.get(kind, [kind]))
    gamma = power(rng, -4, 3) / size ** (1 if name == "laplacian" else 2)
    if not 1e-3 < gamma < 10:
        kinds["mild"] = False
    if some(rng, 0.05):
        gamma = power(rng, -10, 10)
        kinds["mild"] = False
    coef0 = one_of(rng, [0.0, 1.0, power(rng, -3, 3)])
    if name == "poly" and some(rng, 0.05):
        coef0 = -coef0
    degree = int(one_of(rng, [0, 1, 2, 2, 3, 3, 5]))
    kinds["mild"] &= name not in ("poly", "sigmoid")
    return kind, KernelSpec(name, gamma, degree, coef0)


def _options(
    rng: np.random.Generator, kind: str, y: np.ndarray, kinds: dict[str, bool]
) -> dict[str, Any]:
    """Parameters of an estimator, or of the functions where those have them."""
    options: dict[str, Any] = {
        "C": power(rng, -4, 5),
        "epochs": one_of(rng, [0.5, 1, 3, 10, 20]),
        "average": one_of(rng, ["weighted", "suffix", "uniform", None]),
        "sampling": one_of(rng, ["permutation", "uniform"]),
        "projection": some(rng, 0.3),
        "checkpoints": one_of(rng, ["epoch", "log", None]),
        "fit_intercept": some(rng, 0.75),
        "intercept_scaling": 1.0 if some(rng, 0.6) else power(rng, -3, 4),
        "random_state": int(rng.integers(2**31)),
        "max_time": 0.15,
    }
    if kind in ("primal", "pegasos linear"):
        options["sampling"] = one_of(rng, ["permutation", "uniform", "contiguous"])
    if kind not in ("primal", "precomputed", "pegasos linear", "sdca linear"):
        options["cache"] = one_of(rng, ["auto", "precomputed", "cached", "streamed"])
    if some(rng, 0.1):
        options["lam"] = power(rng, -6, 2)
    if some(rng, 0.2):
        options["batch_size"] = int(rng.integers(1, 5))
        kinds["mild"] = False
    if some(rng, 0.15):
        options["class_weight"] = {c: power(rng, -3, 3) for c in np.unique(y).tolist()}
    elif some(rng, 0.1):
        options["class_weight"] = "balanced"
    if some(rng, 0.5) or kind.startswith("sdca"):
        options["polish"] = True
        options["tol"] = power(rng, -9, -1)
    elif some(rng, 0.3):
        options["tol"] = power(rng, -6, -0.5)
    kinds["mild"] &= options["C"] < 1e3 and options["intercept_scaling"] < 10
    kinds["mild"] &= "lam" not in options
    return options


def draw_case(rng: np.random.Generator) -> Case:
    """Draw a problem and a fit."""
    y = _labels(rng, _size(rng))
    rows, kinds, scale = _rows(rng, y)
    weight = _weight(rng, y)
    kinds["mild"] &= weight is None
    kind, spec = _kernel(rng, float(scale[0]), kinds)
    options = _options(rng, kind, y, kinds)
    new = rows[rng.integers(y.size, size=8)] + 0.1 * rng.normal(size=(8, rows.shape[1]))
    dtype = np.float32 if some(rng, 1 / 3) else np.float64
    is_rounded = True
    if kind == "precomputed" and spec.name in ("linear", "poly") and some(rng, 0.6):
        # Whole numbers, so that the matrix is what it stands for.
        rows, new, scale = (np.round(Z).clip(-15, 15) for Z in (rows, new, np.ones_like(scale)))
        spec = spec._replace(gamma=1.0, coef0=abs(round(spec.coef0)) % 4, degree=spec.degree % 3)
        is_rounded = False
    is_indefinite = not spec.is_definite
    if kind == "callable" and some(rng, 0.1):
        is_indefinite = True
    rule = None
    if kind in ("rbf", "poly", "sigmoid", "laplacian") and some(rng, 0.4):
        rule = one_of(rng, ["scale", "auto"])
        kinds["mild"] &= rule == "scale"
    return Case(
        (rows * scale).astype(dtype),
        (new * scale).astype(dtype),
        y,
        weight,
        kind,
        spec,
        is_sparse=kind != "precomputed" and some(rng, 0.25),
        is_away=kinds["away"],
        is_offset=kinds["offset"],
        is_mild=bool(kinds["mild"]) and not is_indefinite,
        options=options,
        is_rounded=is_rounded and kind == "precomputed",
        indefinite=is_indefinite,
        gamma_rule=rule,
    )
