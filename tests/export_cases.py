"""Models that every format is tried on, and what is compared of them."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR

#: Kernels of LIBSVM by the estimators' names, with parameters for values that are not extreme.
LIBSVM_KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "degree": 2, "coef0": 0.5},
    "rbf": {"gamma": 0.05},
    "sigmoid": {"gamma": 0.02, "coef0": -0.1},
}
KERNELS = {**LIBSVM_KERNELS, "laplacian": {"gamma": 0.1}, "cosine": {}}
LABELS = {
    "integers": np.array([7, -1, 3, 12]),
    "strings": np.array(["b", "a", "d", "c"]),
    "floats": np.array([1.0, -1.0, 2.0, 3.0]),
}


def data(n_classes=2, *, kind="dense", labels="integers"):
    """Points, labels, and other points; classes overlap."""
    X, y = make_blobs(80, 4, centers=n_classes, cluster_std=4.0, random_state=0)
    X /= 3.0
    X[np.abs(X) < 0.5] = 0.0
    new = X[::3] + 0.1
    if kind == "sparse":
        X, new = sparse.csr_matrix(X), sparse.csr_matrix(new)
    return X, LABELS[labels][y], new


def classifier(kernel="rbf", **parameters):
    """A kernel classifier that trains in no time."""
    options = {"epochs": 5, "random_state": 0, **KERNELS.get(kernel, {}), **parameters}
    return PegasosSVC(kernel=kernel, **options)


def linear_classifier(**parameters):
    return LinearPegasosSVC(epochs=5, random_state=0, **parameters)


def search(**parameters):
    options = {"Cs": [1.0, 10.0], "gammas": [0.05], "cv": 2, "random_state": 0, **parameters}
    return PegasosSVCCV(**options)


def regressors():
    """Regressors by name."""
    common = {"epochs": 5, "random_state": 0}
    kernels = LIBSVM_KERNELS.items()
    made = {name: PegasosSVR(kernel=name, **common, **parameters) for name, parameters in kernels}
    return {**made, "primal": LinearPegasosSVR(**common)}


def as_taken(kernel, X, new):
    """Rows to fit and rows to predict, as a kernel takes them."""
    if kernel == "precomputed":
        return X @ X.T, new @ X.T
    return (np.abs(X), np.abs(new)) if "chi2" in str(kernel).lower() else (X, new)


def targets(X):
    """Numbers to learn from points."""
    X = X.toarray() if sparse.issparse(X) else X
    return np.sin(X[:, 0]) + 0.3 * X[:, 1] + 5.0
