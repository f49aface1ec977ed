"""The protocol of TorchKM's simulation, for one kernel width, 50 values of λ and 10 folds.

TorchKM (Zhang, Jia, Ding, Wang, arXiv 2606.06742, 2026; github.com/YikaiZhang95/torchkm) tunes λ of
a kernel SVM on a GPU from one eigendecomposition. Its simulation is described in the paper and in
``benchmarks/table2_simulation.py`` of its repository. This is what it does, in our words and code:

- Data: n = 10,000 examples in p dimensions, classes −1 and +1 with equal chances. Each class has
  five centres, drawn from N(0, I). The first half of the coordinates of the centres of −1 and the
  second half of those of +1 are 2 larger. An example is a random centre of its class plus noise
  from N(0, 9 I). Columns are standardised.
- Kernel: exp(−2σ ‖x − z‖²), in SVC's terms γ = 2σ. σ is the mean of 1/q for the quantiles 10% and
  90% of the squared distances of n/2 random pairs, as by kernlab's ``sigest``.
- Objective: the mean hinge loss plus λ ‖f‖², with a free intercept. Divided by 2λ this is
  ‖f‖²/2 + 1/(2nλ) · Σ hinge losses, the objective of SVC with C = 1/(2nλ). In a fold, the loss of
  the examples held out is zero and n stays that of all examples, so each λ has one C in all folds.
- Grids of 50 values at equal ratios: the paper states C from 10⁻³ to 10³, the script has λ from
  10⁻³ to 10³, which is C from 5·10⁻⁸ to .05. We do not know which of them the published seconds
  belong to, so both are measured.
- Seconds: kernel matrix, eigendecomposition, all fits of the folds, and a fit to all data for each
  λ; not the standardisation nor σ.

What differs here:

- The data are drawn again by numpy's generator, once; published seconds are means of 50 draws.
- The intercept is the weight of a constant feature and is regularised.
- Each fit has a certified relative gap of at most ``tol``. TorchKM stops by the size of its steps
  and its residuals, and gives no gap.
- Folds are stratified. The search is followed by one fit to all data, at the best C.
- Features and kernel rows are float32, where TorchKM computes in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_SAMPLES, N_FOLDS, N_VALUES = 10_000, 10, 50
_CENTRES, _SHIFT, _NOISE = 5, 2.0, 3.0


class Published(NamedTuple):
    """Seconds of the paper's table at n = 10,000.

    TorchKM and ThunderSVM ran on an NVIDIA L40S, scikit-learn on the AMD EPYC 9334 beside it.
    """

    torchkm: float
    thundersvm: float
    scikit_learn: float


#: By the number of features.
PUBLISHED: dict[int, Published] = {
    10: Published(23.3, 38.0, 1131.0),
    100: Published(17.9, 63.0, 1975.0),
    1000: Published(37.7, 279.0, 14323.0),
}


def C_of_lambda(lam: np.ndarray, n_samples: int) -> np.ndarray:
    """Return SVC's C for the λ of TorchKM: 1/(2nλ), n being the number of all examples."""
    return 1.0 / (2.0 * n_samples * np.asarray(lam, dtype=float))


def grid(name: str, n_samples: int = N_SAMPLES) -> np.ndarray:
    """Return the values of C of the grid of the ``"paper"`` or of the ``"script"``, increasing."""
    values = np.logspace(-3.0, 3.0, N_VALUES)
    if name == "paper":
        return values
    if name == "script":
        return C_of_lambda(values, n_samples)[::-1]
    raise ValueError(f"name must be 'paper' or 'script', got {name!r}")


def make_mixture(
    n_samples: int, n_features: int, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the two mixtures of Gaussians, columns standardised.

    Parameters
    ----------
    n_samples : int
        Number of examples.
    n_features : int
        Number of features p.
    random_state : int, default 0
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
    y : ndarray of shape (n_samples,), int
        Labels −1 and 1.
    """
    rng = np.random.default_rng(random_state)
    half = n_features // 2
    centres = rng.standard_normal((2, _CENTRES, n_features))
    centres[0, :, :half] += _SHIFT
    centres[1, :, half:] += _SHIFT
    label = rng.integers(2, size=n_samples)
    X = centres[label, rng.integers(_CENTRES, size=n_samples)]
    X += _NOISE * rng.standard_normal(X.shape)
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    return X.astype(np.float32), 2 * label - 1


def kernel_gamma(X: np.ndarray, random_state: int = 0) -> float:
    """Return γ = 2σ for the σ that half as many random pairs as there are examples suggest.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    random_state : int, default 0
        Seed of the pairs.

    Returns
    -------
    float
    """
    rng = np.random.default_rng(random_state)
    first, second = rng.integers(X.shape[0], size=(2, X.shape[0] // 2))
    distances = ((X[first].astype(float) - X[second]) ** 2).sum(axis=1)
    low, high = np.quantile(distances[distances > 0], (0.1, 0.9))
    return float(1.0 / low + 1.0 / high)
