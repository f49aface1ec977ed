"""kpegasos: Pegasos support vector machines, kernel and linear, with a certified duality gap."""

from kpegasos.core.problem import Problem, make_problem
from kpegasos.estimators import LinearPegasosSVC, PegasosSVC
from kpegasos.kernels.functions import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
)
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.large.chunks import ArrayChunks, fit_chunks
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.choose import make_rows
from kpegasos.rows.features import FeatureRows, linear_rows
from kpegasos.rows.gram import GramRows
from kpegasos.rows.uncached import UncachedRows
from kpegasos.solvers.dual_ascent import sdca
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.pegasos import pegasos
from kpegasos.solvers.result import Result

__version__ = "0.1.0"

__all__ = [
    "RBF",
    "ArrayChunks",
    "CachedRows",
    "FeatureRows",
    "GramRows",
    "History",
    "Kernel",
    "KernelMatrix",
    "Laplacian",
    "Linear",
    "LinearPegasosSVC",
    "PegasosSVC",
    "Polynomial",
    "Problem",
    "Record",
    "Result",
    "Sigmoid",
    "UncachedRows",
    "fit_chunks",
    "linear_rows",
    "make_kernel",
    "make_problem",
    "make_rows",
    "pegasos",
    "sdca",
]
