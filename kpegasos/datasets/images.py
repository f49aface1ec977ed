"""Images of digits and clothing, one row of pixels each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kpegasos.datasets._files import (
    Dataset,
    fetched,
    parse_idx,
    read_arrays,
    require,
)


@dataclass(frozen=True)
class ImageSet:
    """Where the idx files of a set come from, and the SHA-256 of the content of each file."""

    folder: str
    mirrors: tuple[str, ...]
    train_images: str
    train_labels: str
    test_images: str
    test_labels: str
    target_names: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of the content of each file by its name."""
        return {
            "train-images-idx3-ubyte.gz": self.train_images,
            "train-labels-idx1-ubyte.gz": self.train_labels,
            "t10k-images-idx3-ubyte.gz": self.test_images,
            "t10k-labels-idx1-ubyte.gz": self.test_labels,
        }

    def load(self, scale: bool) -> Dataset:
        """Read all four files, and divide the pixels by 255 if they are to be scaled."""

        def read(name: str) -> NDArray[np.uint8]:
            addresses = [mirror + name for mirror in self.mirrors]
            return parse_idx(fetched(self.folder, name, [self.files[name]], addresses))

        def images(name: str) -> NDArray[np.float32]:
            pixels = read(name)
            X = pixels.reshape(len(pixels), -1).astype(np.float32)
            return np.divide(X, 255, out=X) if scale else X

        return Dataset(
            images("train-images-idx3-ubyte.gz"),
            read("train-labels-idx1-ubyte.gz").astype(np.int64),
            images("t10k-images-idx3-ubyte.gz"),
            read("t10k-labels-idx1-ubyte.gz").astype(np.int64),
            self.target_names,
        )


FASHION_MNIST = ImageSet(
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

MNIST = ImageSet(
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
    scale : bool, default=True
        Whether to divide the pixels, 0 to 255, by 255.

    Returns
    -------
    Dataset
        Dense features, labels 0 to 9; downloaded on first use (30 MB) if no file is at hand.

    Raises
    ------
    FileNotFoundError
        If a file is nowhere and cannot be downloaded.
    ValueError
        If the content of a file is not that of the set.
    """
    return FASHION_MNIST.load(scale)


def load_mnist(*, scale: bool = True) -> Dataset:
    """Load MNIST: 60,000 + 10,000 handwritten digits, 28 × 28 pixels.

    Parameters
    ----------
    scale : bool, default=True
        Whether to divide the pixels, 0 to 255, by 255.

    Returns
    -------
    Dataset
        Dense features, labels 0 to 9; downloaded on first use (11 MB) if no file is at hand.

    Raises
    ------
    FileNotFoundError
        If a file is nowhere and cannot be downloaded.
    ValueError
        If the content of a file is not that of the set.
    """
    return MNIST.load(scale)


def load_usps() -> Dataset:
    """Load the USPS digits: 7,291 + 2,007 images, 16 × 16 pixels in [-1, 1].

    Returns
    -------
    Dataset
        Dense features, labels 0 to 9, from ``usps/usps.npz`` with the arrays X_train, y_train,
        X_test and y_test.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        Naming the file, if it does not hold these arrays.
    """
    path = require("usps", "usps.npz")
    parts = [_rows_and_labels(path, part) for part in ("train", "test")]
    return Dataset(*parts[0], *parts[1], tuple("0123456789"))


def _rows_and_labels(path: Path, part: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """One part of USPS."""
    X, y = read_arrays(path, [f"X_{part}", f"y_{part}"])
    if X.dtype.kind not in "fiu" or X.ndim != 2 or X.shape[1] != 256:
        raise ValueError(
            f"X_{part} in {path} must be numbers of shape (n_samples, 256), "
            f"got {X.dtype} of shape {X.shape}"
        )
    if y.dtype.kind not in "fiu" or y.shape != X.shape[:1]:
        raise ValueError(
            f"y_{part} in {path} must be numbers of shape {X.shape[:1]}, "
            f"got {y.dtype} of shape {y.shape}"
        )
    if not np.isin(y, range(10)).all() or not (np.abs(X) <= 1).all():
        raise ValueError(
            f"{path} must hold digits from 0 to 9 and pixels from -1 to 1, got others in {part}"
        )
    return X.astype(np.float32, copy=False), y.astype(np.int64)
