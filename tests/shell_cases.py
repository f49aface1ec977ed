"""Small files that tests of the program share."""

import numpy as np
from sklearn.datasets import make_blobs


def blobs(n_classes=2, n_samples=120):
    """Classes that overlap, in three columns, with integers for labels."""
    X, y = make_blobs(n_samples, n_features=3, centers=n_classes, cluster_std=3.5, random_state=4)
    return X, y


def write_blobs(path, n_classes=2, n_samples=120):
    """Write them in LIBSVM's format, all digits; returns the name of the file."""
    X, y = blobs(n_classes, n_samples)
    lines = [
        " ".join([str(label), *(f"{k}:{value!r}" for k, value in enumerate(row, 1))])
        for label, row in zip(y.tolist(), X.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_csv(path, X, y):
    """Write a table with a header, the labels last; returns the name of the file."""
    names = [*(f"x{k}" for k in range(X.shape[1])), "label"]
    rows = [",".join(names), *(",".join(map(repr, row)) for row in np.c_[X, y].tolist())]
    path.write_text("\n".join(rows) + "\n")
    return str(path)
