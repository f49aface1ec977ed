"""kpegasos: Pegasos support vector machines, kernel and linear, with a certified duality gap."""

from kpegasos.ascent import sdca
from kpegasos.blocks import KernelBlocks
from kpegasos.cached import CachedRows
from kpegasos.estimators import LinearPegasosSVC, PegasosSVC
from kpegasos.gram import make_rows
from kpegasos.history import History, Record
from kpegasos.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid, make_kernel
from kpegasos.linear import LinearRows, linear_rows
from kpegasos.objective import Problem, make_problem
from kpegasos.outofcore import ArrayChunks, fit_chunks
from kpegasos.solver import Result, pegasos
from kpegasos.sources import Precomputed
from kpegasos.streamed import Streamed

__version__ = "0.1.0"

__all__ = [
    "RBF",
    "ArrayChunks",
    "CachedRows",
    "History",
    "Kernel",
    "KernelBlocks",
    "Laplacian",
    "Linear",
    "LinearPegasosSVC",
    "LinearRows",
    "PegasosSVC",
    "Polynomial",
    "Precomputed",
    "Problem",
    "Record",
    "Result",
    "Sigmoid",
    "Streamed",
    "fit_chunks",
    "linear_rows",
    "make_kernel",
    "make_problem",
    "make_rows",
    "pegasos",
    "sdca",
]
