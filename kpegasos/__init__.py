"""kpegasos: Pegasos support vector machines, kernel and linear, with a certified duality gap."""

from __future__ import annotations

import warnings
from typing import Any

from kpegasos import losses as losses
from kpegasos.core.problem import Problem, make_problem
from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.estimators import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from kpegasos.exports.native import load, save
from kpegasos.kernels.functions import (
    RBF,
    AdditiveChi2,
    Chi2,
    Cosine,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
)
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.large.chunks import ArrayChunks, fit_chunks
from kpegasos.model_selection import PegasosSVCCV
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.choose import make_rows
from kpegasos.rows.features import FeatureRows, linear_rows
from kpegasos.rows.gram import GramRows
from kpegasos.rows.uncached import UncachedRows
from kpegasos.solvers.dual_ascent import sdca
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.path import RegularizationPath, regularization_path
from kpegasos.solvers.pegasos import pegasos
from kpegasos.solvers.result import Result
from kpegasos.utils.version import VERSION

__version__ = VERSION

__all__ = [
    "RBF",
    "AdditiveChi2",
    "ArrayChunks",
    "CachedRows",
    "Chi2",
    "Constant",
    "Cosine",
    "DelayedInverse",
    "FeatureRows",
    "GramRows",
    "History",
    "InverseSquareRoot",
    "Kernel",
    "KernelMatrix",
    "Laplacian",
    "Linear",
    "LinearPegasosSVC",
    "LinearPegasosSVR",
    "PegasosSVC",
    "PegasosSVCCV",
    "PegasosSVR",
    "Polynomial",
    "Problem",
    "Record",
    "RegularizationPath",
    "Result",
    "Sigmoid",
    "UncachedRows",
    "fit_chunks",
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

#: Names until version 0.1, and what they are called now.
_RENAMED = {
    "KernelBlocks": "KernelMatrix",
    "LinearRows": "FeatureRows",
    "Precomputed": "GramRows",
    "Streamed": "UncachedRows",
}


def __getattr__(name: str) -> Any:
    if name == "Playground":  # needs what not everybody has installed
        from kpegasos.playground import Playground

        return Playground
    if name not in _RENAMED:
        raise AttributeError(f"module 'kpegasos' has no attribute {name!r}")
    warnings.warn(
        f"kpegasos.{name} is called kpegasos.{_RENAMED[name]} now, and will not exist in the next "
        f"version",
        DeprecationWarning,
        stacklevel=2,
    )
    return globals()[_RENAMED[name]]
