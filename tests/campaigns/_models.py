"""Problems and estimators whose fits are compared: what each is, and how one is drawn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import GramRows, KernelMatrix, LinearPegasosSVC, PegasosSVC, make_kernel
from tests.campaigns import _reference as judge
from tests.campaigns._problems import Cauchy, Function, one_of, power, some
from tests.campaigns._reference import KernelSpec

_NAMES = ["rbf", "rbf", "linear", "poly", "laplacian", "sigmoid", "cauchy", "callable"]


@dataclass
class Case:
    """Examples, a kernel and an estimator."""

    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    spec: KernelSpec
    options: dict[str, Any]
    is_sparse: bool
    is_exact: bool
    kind: str

    @property
    def is_packed(self) -> bool:
        """Whether kernel values are the same bits wherever they are computed."""
        named = self.kind in ("named", "object") and self.spec.name != "laplacian"
        return named and not self.is_sparse

    @property
    def has_own_bits(self) -> bool:
        """Whether kernel values do not depend on what they are computed with."""
        return self.is_packed or self.is_exact or self.kind == "callable"

    def given(self, rows: np.ndarray) -> Any:
        return sparse.csr_array(rows) if self.is_sparse else rows

    def kernel(self) -> Any:
        if self.kind == "callable":
            return make_kernel(Function(self.spec.gamma))
        if self.kind == "object":
            return Cauchy(self.spec.gamma)
        spec = self.spec
        return make_kernel(spec.name, gamma=spec.gamma, degree=spec.degree, coef0=spec.coef0)

    def estimator(self, **changes: Any) -> Any:
        if self.kind == "primal":
            return LinearPegasosSVC(**self.options)
        spec, kernel = self.spec, self.spec.name
        if self.kind in ("callable", "object"):
            kernel = self.kernel()
        named = {"gamma": spec.gamma, "degree": spec.degree, "coef0": spec.coef0}
        return PegasosSVC(kernel=kernel, **named, **(self.options | changes))

    def fit(self, **changes: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.estimator(**changes).fit(self.given(self.rows), self.y, self.weight)

    def __str__(self) -> str:
        return (
            f"{self.kind}, {self.rows.dtype}, {self.rows.shape}, exact={self.is_exact}, "
            f"sparse={self.is_sparse}, weighted={self.weight is not None}, {self.spec}, "
            f"{self.options}"
        )


def own_gram(case: Case) -> np.ndarray:
    """Kernel values of all examples as the package computes them."""
    return GramRows.from_values(KernelMatrix(case.kernel(), case.given(case.rows))).gram


def largest_value(case: Case, new: np.ndarray) -> float:
    return float(np.abs(judge.kernel_values(case.spec, new, case.rows)).max()) + 4.0


def draw_case(rng: np.random.Generator) -> Case:
    is_exact = some(rng, 0.4)
    n = int(rng.integers(12, 121)) if some(rng, 0.9) else int(rng.integers(121, 300))
    n_classes = int(one_of(rng, [2, 2, 2, 3, 4]))
    y = rng.permutation(np.arange(n) % n_classes)
    d = int(rng.integers(1, 12))
    options: dict[str, Any] = {
        "epochs": one_of(rng, [0.7, 1, 2, 4, 8]),
        "random_state": int(rng.integers(2**31)),
        "average": one_of(rng, ["weighted", "suffix", "uniform", None]),
        "sampling": one_of(rng, ["permutation", "uniform"]),
        "batch_size": int(rng.integers(1, 5)) if some(rng, 0.3) else 1,
        "fit_intercept": some(rng, 0.7),
        "intercept_scaling": one_of(rng, [1.0, 1.0, 0.5, 2.0]),
        "projection": not is_exact and some(rng, 0.2),
    }
    weight = None
    if is_exact:
        rows = rng.integers(-3, 4, size=(n, d)) + 2.0 * (y[:, None] == np.arange(d))
        kernels = [
            KernelSpec("linear"),
            KernelSpec("poly", one_of(rng, [0.5, 1.0]), int(rng.integers(1, 4)), 1.0),
        ]
        options["lam"] = 2.0 ** -int(rng.integers(0, 14))
    else:
        rows = rng.normal(size=(n, d)) + np.outer(y, rng.normal(size=d))
        rows += power(rng, -1, 2) * rng.normal(size=d)
        gamma = power(rng, -3, 1)
        kernels = [KernelSpec(name, gamma, int(rng.integers(1, 4)), 1.0) for name in _NAMES]
        options["C"] = power(rng, -2, 4)
        if some(rng, 0.4):
            weight = 10.0 ** rng.uniform(-2, 2, size=n)
    if some(rng, 0.4):
        rows[rng.integers(n, size=n // 2)] = rows[rng.integers(n, size=n // 2)]
    if some(rng, 0.2):
        weight = (np.ones(n) if weight is None else weight) * (rng.random(n) < 0.8)
        weight[np.unique(y, return_index=True)[1]] = 1.0
    spec = one_of(rng, kernels)
    kinds = {"cauchy": "object", "callable": "callable"}
    kind = kinds.get(spec.name, "named")
    if spec.name == "linear" and some(rng, 0.3):
        kind = "primal"
        options["sampling"] = one_of(rng, ["permutation", "uniform", "contiguous"])
    if kind == "callable":
        spec = spec._replace(name="rbf")
    dtype = np.float32 if some(rng, 1 / 3) else np.float64
    # Threads of OpenMP make small products of sparse rows for this kernel slow.
    is_sparse = some(rng, 0.25) and (spec.name != "laplacian" or n <= 40)
    # Pairs of several classes must have room for a batch.
    options["batch_size"] = min(options["batch_size"], n // n_classes)
    return Case(rows.astype(dtype), y, weight, spec, options, is_sparse, is_exact, kind)
