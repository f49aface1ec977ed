"""Small data files for the tests of the program, and LIBSVM's own programs."""

import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import make_blobs

needs_libsvm = pytest.mark.skipif(
    not all(map(shutil.which, ("svm-train", "svm-predict"))),
    reason="needs libsvm-tools",
)


def examples(n_samples=270, n_classes=2, seed=0):
    """Like heart_scale: 13 features in [-1, 1], a tenth of them zero, classes that overlap."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, (n_samples, 13))
    X[random.random(X.shape) < 0.1] = 0.0
    score = X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + 0.5 * random.normal(size=n_samples)
    cuts = np.quantile(score, np.linspace(0.0, 1.0, n_classes + 1)[1:-1])
    y = np.searchsorted(cuts, score)
    return X, (np.where(y == 1, 1, -1) if n_classes == 2 else y + 1)


def write_rows(path, X, y, numbers=None):
    """A file in LIBSVM's format, without the zeros; "label 0:number ..." for kernel values."""
    lines = []
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        entries = [f"{j + 1}:{value!r}" for j, value in enumerate(row) if value]
        number = [] if numbers is None else [f"0:{numbers[i]}"]
        lines.append(" ".join([str(label), *number, *entries]) + "\n")
    path.write_text("".join(lines))
    return path


def blobs(n_classes=2, n_samples=120):
    """Classes that overlap, in three columns, with integers for labels."""
    return make_blobs(n_samples, n_features=3, centers=n_classes, cluster_std=3.5, random_state=4)


def write_blobs(path, n_classes=2, n_samples=120):
    """The name of a file of them."""
    return str(write_rows(path, *blobs(n_classes, n_samples)))


def write_examples(path, **options):
    return write_rows(path, *examples(**options))


def write_csv(path, X, y=None, label="label"):
    """A table whose features are called x0, x1 and so on."""
    names = [f"x{number}" for number in range(X.shape[1])]
    columns = {**dict(zip(names, X.T, strict=True)), **({} if y is None else {label: y})}
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def libsvm(*arguments):
    """What one of LIBSVM's programs prints."""
    command = [str(each) for each in arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def accuracy(text):
    """The percentage in "Accuracy = 94.8% (566/597) (classification)"."""
    return float(text.partition("Accuracy = ")[2].partition("%")[0])
