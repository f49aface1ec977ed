"""Small problems, the estimators they are given to, and what is compared of their models."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from models import counts_of
from scipy import sparse
from scipy.spatial.distance import cdist

from kpegasos import LinearPegasosSVC, PegasosSVC

KERNELS: dict[str, dict[str, float]] = {
    "rbf": {"gamma": 0.5},
    "laplacian": {"gamma": 0.5},
    "poly": {"gamma": 0.5, "coef0": 1.0, "degree": 3},
    "linear": {},
}
#: Relative errors that kernel values of a type may bring into an objective.
ROUNDING = {"float32": 1e-5, "float64": 1e-9}


class Case(NamedTuple):
    """An estimator and a kind of data."""

    kernel: str
    dtype: str
    layout: str
    n_classes: int
    primal: bool = False

    def __str__(self) -> str:
        estimator = "LinearPegasosSVC" if self.primal else f"PegasosSVC-{self.kernel}"
        return f"{estimator}-{self.dtype}-{self.layout}-{self.n_classes}"

    @property
    def rounding(self) -> float:
        return ROUNDING[self.dtype]

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Dense float64 rows that float32 holds exactly, also 1,000 away, and their labels."""
        return grid_blobs(self.n_classes)

    def rows(self, X: np.ndarray) -> Any:
        """The same numbers in the layout and type of the case."""
        X = X.astype(self.dtype)
        return sparse.csr_array(X) if self.layout == "csr" else X

    def estimator(self, **parameters: Any) -> Any:
        common = {"C": 2.0, "epochs": 5, "random_state": 0}
        if self.primal:
            return LinearPegasosSVC(**(common | parameters))
        return PegasosSVC(**(common | {"kernel": self.kernel} | KERNELS[self.kernel] | parameters))

    def fit(self, X: np.ndarray, y: np.ndarray, weight: Any = None, **parameters: Any) -> Any:
        return self.estimator(**parameters).fit(self.rows(X), y, weight)


CASES = [
    *(Case(*parts) for parts in product(KERNELS, ROUNDING, ("dense", "csr"), (2, 3))),
    *(Case("linear", *parts, True) for parts in product(ROUNDING, ("dense", "csr"), (2, 3))),
]


def grid_blobs(n_classes: int, n_samples: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes whose features are multiples of 1/64."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(n_samples) % n_classes
    centers = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [-0.5, -1.0, 0.5]])
    X = centers[y] + rng.normal(scale=0.8, size=(n_samples, 3))
    return np.round(64 * X) / 64, y


# --- objectives ---------------------------------------------------------------------------------


def kernel_values(clf: Any, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``K(A, B) + B²`` of an estimator's kernel, by direct differences in float64."""
    kernel = getattr(clf, "kernel", "linear")
    if kernel == "rbf":
        values = np.exp(-clf.gamma * cdist(A, B, "sqeuclidean"))
    elif kernel == "laplacian":
        values = np.exp(-clf.gamma * cdist(A, B, "cityblock"))
    elif kernel == "poly":
        values = (clf.gamma * (A @ B.T) + clf.coef0) ** clf.degree
    else:
        assert kernel == "linear"
        values = A @ B.T
    return values + (clf.intercept_scaling**2 if clf.fit_intercept else 0.0)


# --- what is compared -----------------------------------------------------------------------------


def interval(clf: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the fit says that the minimum of each pair lies."""
    high = np.atleast_1d(clf.objective_)
    return high - np.atleast_1d(clf.duality_gap_), high


def assert_overlap(a: Any, b: Any, rounding: float) -> None:
    """The certified intervals of two fits of the same problems share a point."""
    (low_a, high_a), (low_b, high_b) = interval(a), interval(b)
    low, high = np.maximum(low_a, low_b), np.minimum(high_a, high_b)
    assert (low <= high * (1 + rounding)).all(), f"{interval(a)} and {interval(b)} are disjoint"


def decisions(clf: Any, rows: Any) -> np.ndarray:
    """Decisions of all pairs, of shape (n_samples, n_pairs)."""
    return clf._decisions_of_pairs(rows)


def reach(clf: Any, X: np.ndarray) -> np.ndarray:
    """How far a decision of each pair may be from the optimum's: ``√(2 gap / λ) ‖φ(x)‖``."""
    distance = np.sqrt(2 * np.atleast_1d(clf.duality_gap_) / np.atleast_1d(clf.lam_))
    norms = np.array([kernel_values(clf, x[None], x[None])[0, 0] for x in X])
    return np.sqrt(norms)[:, None] * distance


def assert_same_model(a: Any, b: Any, rtol: float = 0.0, gap_rtol: float = 0.0) -> None:
    """Two fits have the same counts, and the same numbers up to ``rtol``.

    Gaps may differ by ``gap_rtol``, where that is more: rounding is a part of them.
    """
    np.testing.assert_array_equal(counts_of(a), counts_of(b))
    np.testing.assert_array_equal(a.support_, b.support_)
    for name in ("dual_coef_", "intercept_", "objective_", "duality_gap_"):
        limit = max(rtol, gap_rtol) if name == "duality_gap_" else rtol
        atol = limit * float(np.abs(getattr(a, name)).max())
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=limit, atol=atol, err_msg=name
        )
