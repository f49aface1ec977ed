"""Toy sets to look at, real sets to measure on, and text at the size of the papers'.

Lives here: toy problems, text, images and tables.
Importing it reads and downloads nothing.
May import: `kpegasos.utils`. No other room imports it.
"""

from kpegasos.datasets.real import (
    Dataset,
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
)
from kpegasos.datasets.toy import (
    make_gaussian_noise,
    make_text_like,
    make_toy,
)

__all__ = [
    "Dataset",
    "load_adult",
    "load_covtype",
    "load_fashion_mnist",
    "load_mnist",
    "load_rcv1_sample",
    "load_usps",
    "make_gaussian_noise",
    "make_text_like",
    "make_toy",
]
