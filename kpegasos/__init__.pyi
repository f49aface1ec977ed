"""What `kpegasos` offers, and where it lives: for type checkers, and for the lazy imports."""

import typing

from . import losses as losses
from .core.problem import Problem, make_problem
from .core.steps import Constant, DelayedInverse, InverseSquareRoot
from .estimators import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from .exports.native import load, save
from .kernels.base import Kernel
from .kernels.functions import (
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
from .kernels.matrix import KernelMatrix
from .kernels.pairwise import PairwiseKernel
from .model_selection.search import PegasosSVCCV
from .rows.choose import make_rows
from .rows.features import linear_rows
from .solvers.dual_ascent import sdca
from .solvers.path import RegularizationPath, regularization_path
from .solvers.pegasos import pegasos
from .solvers.result import History, Record, Result

__all__ = [
    "RBF",
    "AdditiveChi2",
    "Chi2",
    "Constant",
    "Cosine",
    "DelayedInverse",
    "History",
    "InverseSquareRoot",
    "Kernel",
    "KernelMatrix",
    "Laplacian",
    "Linear",
    "LinearPegasosSVC",
    "LinearPegasosSVR",
    "PairwiseKernel",
    "PegasosSVC",
    "PegasosSVCCV",
    "PegasosSVR",
    "Polynomial",
    "Problem",
    "Record",
    "RegularizationPath",
    "Result",
    "Sigmoid",
    "linear_rows",
    "load",
    "make_kernel",
    "make_problem",
    "make_rows",
    "pegasos",
    "regularization_path",
    "save",
    "sdca",
]

__version__: str

def __getattr__(name: str) -> typing.Any: ...
