"""Toy sets to look at and real sets to measure on.

The toy sets are drawn in the plane, with classes 0 and 1 as in scikit-learn.  The real sets are
read from files; each is looked for, in this order, in

1. the folder that the environment variable ``KPEGASOS_DATA`` names,
2. the user's cache, ``pooch.os_cache("kpegasos")``,
3. for Fashion-MNIST and MNIST, their public addresses, from where the files go to the cache,

inside a sub-folder of the set's own: ``fashion-mnist``, ``mnist``, ``adult``, ``usps``,
``covtype``, ``rcv1-sample``.  Importing this module reads and downloads nothing.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file, make_circles, make_moons
from sklearn.utils import check_random_state

from kpegasos._files import parse_idx, require, verified_content

__all__ = [
    "Dataset",
    "load_adult",
    "load_covtype",
    "load_fashion_mnist",
    "load_mnist",
    "load_rcv1_sample",
    "load_usps",
    "make_gaussian_noise",
    "make_spirals",
    "make_toy",
    "make_xor",
]

Points = tuple[NDArray[np.float64], NDArray[np.int64]]


# ---------------------------------------------------------------------------------------------
# Toy sets


def _shuffled(X: NDArray[np.float64], y: NDArray[np.int64], noise: float, rng: Any) -> Points:
    """Add isotropic Gaussian noise to the points and put them in random order."""
    order = rng.permutation(len(y))
    return (X + noise * rng.standard_normal(X.shape))[order], y[order]


def make_xor(n_samples: int = 400, *, noise: float = 0.0, random_state: Any = None) -> Points:
    """Draw the exclusive-or problem: the sign of the product of two coordinates.

    Parameters
    ----------
    n_samples : int
        Number of points; the four quadrants of the square [-1, 1]² take turns.
    noise : float
        Standard deviation of the Gaussian noise added to the points.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Class 1 where the coordinates (without noise) differ in sign, else class 0.
    """
    rng = check_random_state(random_state)
    quadrant = np.arange(n_samples) % 4
    # Quadrants are visited so that the classes alternate and stay balanced for any n_samples.
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])[quadrant]
    return _shuffled(signs * rng.uniform(size=(n_samples, 2)), quadrant % 2, noise, rng)


def make_spirals(
    n_samples: int = 400, *, noise: float = 0.0, turns: float = 1.5, random_state: Any = None
) -> Points:
    """Draw two spirals of Archimedes that wind round each other inside the unit disc.

    Parameters
    ----------
    n_samples : int
        Number of points; the two arms take turns.
    noise : float
        Standard deviation of the Gaussian noise added to the points; neighbouring turns of the
        two arms are ``1 / (2 * turns)`` apart.
    turns : float
        Number of turns of each arm.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        The arm, 0 or 1.
    """
    rng = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    # The square root spreads the points evenly along the arm, which grows longer with the radius.
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = 2 * np.pi * turns * radius + np.pi * y
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return _shuffled(X, y, noise, rng)


def make_gaussian_noise(
    n_samples: int = 400,
    *,
    n_features: int = 2,
    noise: float = 0.1,
    separation: float = 6.0,
    random_state: Any = None,
) -> Points:
    """Draw two Gaussian clouds, all but separable by a line, and flip a fraction of the labels.

    Parameters
    ----------
    n_samples : int
        Number of points; the two clouds take turns.
    n_features : int
        Dimension of the space.
    noise : float
        Fraction of labels flipped: exactly ``round(noise * n_samples)`` of them.
    separation : float
        Distance of the centres in standard deviations, along the diagonal of the space.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, flips included.
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be a fraction between 0 and 1, got {noise!r}")
    rng = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    centres = (y - 0.5) * separation / np.sqrt(n_features)
    flipped = rng.choice(n_samples, size=round(noise * n_samples), replace=False)
    y[flipped] = 1 - y[flipped]
    return _shuffled(np.repeat(centres[:, None], n_features, axis=1), y, 1.0, rng)


def _circles(n_samples: int, *, noise: float, random_state: Any) -> Points:
    return make_circles(n_samples, noise=noise, factor=0.5, random_state=random_state)


# Each with the noise at which its classes just about stay apart.
_TOY: dict[str, tuple[Callable[..., Points], float]] = {
    "circles": (_circles, 0.1),
    "moons": (make_moons, 0.15),
    "xor": (make_xor, 0.05),
    "spirals": (make_spirals, 0.03),
}


def make_toy(
    name: str, n_samples: int = 400, noise: float | None = None, random_state: Any = None
) -> Points:
    """Draw a two-class problem in the plane by its name.

    Parameters
    ----------
    name : {"circles", "moons", "xor", "spirals"}
        The problem; the first two are scikit-learn's.
    n_samples : int
        Number of points.
    noise : float or None
        Standard deviation of the Gaussian noise added to the points; ``None`` takes a value that
        suits the problem.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.
    """
    if name not in _TOY:
        raise ValueError(f"name must be one of {', '.join(map(repr, _TOY))}, got {name!r}")
    make, default_noise = _TOY[name]
    return make(
        n_samples, noise=default_noise if noise is None else noise, random_state=random_state
    )


# ---------------------------------------------------------------------------------------------
# Real sets


class Dataset(NamedTuple):
    """A real set: features in float32 (an array or a CSR matrix), labels as integers.

    ``target_names`` names the classes in ascending order of their labels.
    """

    X_train: Any
    y_train: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    target_names: tuple[str, ...]


@dataclass(frozen=True)
class _ImageSet:
    """Where the idx files of a set come from, and the SHA-256 of what is in each of them."""

    folder: str
    mirrors: tuple[str, ...]
    train_images: str
    train_labels: str
    test_images: str
    test_labels: str
    target_names: tuple[str, ...]

    def load(self, scale: bool) -> Dataset:
        def read(name: str, sha256: str) -> NDArray[np.uint8]:
            return parse_idx(verified_content(self.folder, name, sha256, self.mirrors))

        def images(name: str, sha256: str) -> NDArray[np.float32]:
            pixels = read(name, sha256)
            X = pixels.reshape(len(pixels), -1).astype(np.float32)
            return np.divide(X, 255, out=X) if scale else X

        return Dataset(
            images("train-images-idx3-ubyte.gz", self.train_images),
            read("train-labels-idx1-ubyte.gz", self.train_labels).astype(np.int64),
            images("t10k-images-idx3-ubyte.gz", self.test_images),
            read("t10k-labels-idx1-ubyte.gz", self.test_labels).astype(np.int64),
            self.target_names,
        )


_FASHION_MNIST = _ImageSet(
    folder="fashion-mnist",
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
    train_images="c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    train_labels="bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    test_images="5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    test_labels="0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    target_names=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
)

_MNIST = _ImageSet(
    folder="mnist",
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/",),
    train_images="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    train_labels="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    test_images="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    test_labels="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    target_names=tuple("0123456789"),
)


def load_fashion_mnist(*, scale: bool = True) -> Dataset:
    """Load Fashion-MNIST: 60,000 + 10,000 images of clothing, 28 × 28 pixels, ten classes.

    Parameters
    ----------
    scale : bool
        Whether to divide the pixels, 0 to 255, by 255.

    Returns
    -------
    Dataset
        Dense, labels 0 to 9; downloaded on first use (30 MB) if no file is at hand.
    """
    return _FASHION_MNIST.load(scale)


def load_mnist(*, scale: bool = True) -> Dataset:
    """Load MNIST: 60,000 + 10,000 handwritten digits, 28 × 28 pixels.

    Parameters
    ----------
    scale : bool
        Whether to divide the pixels, 0 to 255, by 255.

    Returns
    -------
    Dataset
        Dense, labels 0 to 9; downloaded on first use (11 MB) if no file is at hand.
    """
    return _MNIST.load(scale)


def load_usps() -> Dataset:
    """Load the USPS digits: 7,291 + 2,007 images, 16 × 16 pixels in [-1, 1].

    Returns
    -------
    Dataset
        Dense, labels 0 to 9, from ``usps/usps.npz`` with the arrays X_train, y_train, X_test and
        y_test.
    """
    with np.load(require("usps", "usps.npz")) as arrays:
        return Dataset(
            arrays["X_train"].astype(np.float32, copy=False),
            arrays["y_train"].astype(np.int64),
            arrays["X_test"].astype(np.float32, copy=False),
            arrays["y_test"].astype(np.int64),
            tuple("0123456789"),
        )


def _svmlight(file: Any, n_features: int) -> tuple[Any, NDArray[np.int64]]:
    X, y = load_svmlight_file(file, n_features=n_features, dtype=np.float32, zero_based=False)
    return X, y.astype(np.int64)


def load_adult() -> Dataset:
    """Load Adult in LIBSVM's encoding: 32,561 + 16,281 persons, 123 binary features.

    Returns
    -------
    Dataset
        CSR, label +1 for an income above 50,000 dollars, else -1, from ``adult/a9a`` and
        ``adult/a9a.t``.
    """
    train = _svmlight(require("adult", "a9a"), 123)
    test = _svmlight(require("adult", "a9a.t"), 123)
    return Dataset(*train, *test, ("<=50K", ">50K"))


def load_rcv1_sample() -> Dataset:
    """Load a sample of RCV1: 1,000 + 500 news stories, 47,236 words, rows of length one.

    Returns
    -------
    Dataset
        CSR, label +1 for the topic CCAT, else -1, from ``rcv1-sample/rcv1_small.dat`` and
        ``rcv1-sample/rcv1_small_test.data`` in Vowpal Wabbit's format.
    """

    def read(name: str) -> tuple[Any, NDArray[np.int64]]:
        # "label |namespace id:value ..." differs from LIBSVM's format by the namespace only.
        text = require("rcv1-sample", name).read_bytes()
        return _svmlight(io.BytesIO(text.replace(b"|f ", b"")), 47_236)

    return Dataset(*read("rcv1_small.dat"), *read("rcv1_small_test.data"), ("rest", "CCAT"))


def load_covtype(*, scale: bool = True, random_state: Any = 0) -> Dataset:
    """Load Covertype as a binary task: the largest class, lodgepole pine, against the rest.

    The 581,012 rows are split at random into 522,911 for training and 58,101 for testing, the
    sizes of the Pegasos papers (whose split is not published).

    Parameters
    ----------
    scale : bool
        Whether to map each of the 54 columns onto [0, 1].
    random_state : int, RandomState instance or None
        Seed of the split.

    Returns
    -------
    Dataset
        Dense, label +1 for class 2, else -1, from ``covtype/covtype.csv.gz``, with or without a
        header, the class in the last column.
    """
    text = gzip.decompress(require("covtype", "covtype.csv.gz").read_bytes())
    has_header = not text[:1].isdigit()
    table = np.loadtxt(io.BytesIO(text), np.float32, delimiter=",", skiprows=int(has_header))
    X, y = table[:, :-1], np.where(table[:, -1] == 2, 1, -1)
    if scale:
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1)
    order = check_random_state(random_state).permutation(len(y))
    n_test = round(len(y) / 10)
    train, test = order[n_test:], order[:n_test]
    return Dataset(X[train], y[train], X[test], y[test], ("rest", "lodgepole pine"))
