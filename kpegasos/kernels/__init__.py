"""Kernel values between sets of points.

Lives here: kernel functions, sums and products of them, the kernel matrix of one data set against
itself and against new points, what pairs of classes share of it, and the packed products that it is
made of.
May import: `kpegasos.utils`. Knows neither solvers nor where rows are kept.
"""

from kpegasos.kernels.base import CallableKernel, InnerProductKernel, Kernel, Product, Scaled, Sum
from kpegasos.kernels.functions import (
    KERNELS,
    RBF,
    AdditiveChi2,
    Chi2,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
)
from kpegasos.kernels.pairwise import PairwiseKernel

__all__ = [
    "KERNELS",
    "RBF",
    "AdditiveChi2",
    "CallableKernel",
    "Chi2",
    "Cosine",
    "InnerProductKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "PairwiseKernel",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "make_kernel",
]
