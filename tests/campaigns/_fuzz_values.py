"""Values for the fuzz campaign, as Python expressions: what is printed can be typed again.

A value is drawn by its text and made by `make`, so that a failure reads as a call that somebody
could have written, and a generator is a fresh one each time.
"""

from __future__ import annotations

import io
import tempfile
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import kpegasos
from kpegasos import (
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
)

#: Values that hardly any parameter means.
NASTY = (
    "None",
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "0",
    "-1",
    "0.0",
    "-0.5",
    "0.5",
    "2.5",
    "1e308",
    "-1e308",
    "1e-320",
    "10**30",
    "-(10**30)",
    "2**63",
    "True",
    "False",
    "''",
    "'abc'",
    "'1'",
    "'\\x00'",
    "'\\U0001f40d' * 5000",
    "b''",
    "b'abc'",
    "1j",
    "[]",
    "[1]",
    "[1.5, 2.5]",
    "['a', 'b']",
    "[None]",
    "[float('nan')]",
    "[[1, 2], [3, 4]]",
    "[[1], [2, 3]]",
    "()",
    "(0, 1)",
    "{}",
    "{'a': 1}",
    "{0: 1e-200, 1: 1e200}",
    "{1, 2}",
    "range(3)",
    "range(0)",
    "(i for i in range(3))",
    "iter([1.0])",
    "object()",
    "object",
    "int",
    "len",
    "lambda *a, **k: None",
    "lambda *a, **k: np.ones((2, 3))",
    "Ellipsis",
    "slice(3)",
    "Decimal('0.5')",
    "Fraction(1, 3)",
    "OrderedDict()",
    "io.StringIO('1 1:1')",
    "Path('nowhere')",
    "np.float32(1.5)",
    "np.float16('inf')",
    "np.float64('nan')",
    "np.int16(7)",
    "np.uint8(3)",
    "np.int64(-3)",
    "np.uint64(2**64 - 1)",
    "np.bool_(True)",
    "np.complex128(1j)",
    "np.str_('abc')",
    "np.datetime64('2020-01-01')",
    "np.timedelta64('NaT')",
    "np.array(3)",
    "np.array(0.5)",
    "np.array(float('nan'))",
    "np.array([])",
    "np.arange(3)",
    "np.arange(24)",
    "-np.ones(24)",
    "np.zeros(24)",
    "np.full(24, float('nan'))",
    "np.full((24, 2), float('inf'))",
    "np.full((24, 2), 1e308)",
    "np.ones((2, 2))",
    "np.ones((24, 1))",
    "np.ones((24, 24))",
    "np.ones((2, 2, 2))",
    "np.ones((24, 2), complex)",
    "np.array(['a', 'b'])",
    "np.array([None, 'a', 1.5], object)",
    "np.array([[1], [2, 3]], object)",
    "np.zeros(3, [('a', int), ('b', float)])",
    "np.ma.masked",
    "np.random.default_rng(0)",
    "np.random.RandomState(0)",
    "sparse.eye(3, format='csr')",
    "sparse.coo_matrix((24, 2))",
    "sparse.csr_matrix",
    "PegasosSVC",
    "PegasosSVC()",
    "LinearPegasosSVC(epochs=-1)",
    "SVC()",
    "kpegasos",
)

_MOONS = make_moons(24, noise=0.2, random_state=0)
_BLOBS = make_blobs(24, centers=3, n_features=2, random_state=1)
_WEIGHT = np.linspace(0.5, 2.0, 24)


@cache
def _fitted(kind: type, many: bool = False) -> Any:
    """A model that nobody modifies; of three classes if ``many``."""
    options = {"Cs": 2, "gammas": 2, "calibration": "sigmoid"} if kind is PegasosSVCCV else {}
    return kind(random_state=0, **options).fit(*(_BLOBS if many else _MOONS))


@cache
def _rows(kind: str) -> Any:
    """Rows of the moons, by kind."""
    if kind == "linear":
        return kpegasos.linear_rows(_MOONS[0], intercept_scaling=1.0)
    return kpegasos.make_rows(_MOONS[0], cache=kind, gamma=2.0, intercept_scaling=1.0)


@cache
def _folder() -> Path:
    """A folder to write to."""
    return Path(tempfile.mkdtemp())


@cache
def _svmlight() -> Path:
    """A file in SVMLight's format."""
    path = _folder() / "rows.svm"
    path.write_text("1 1:0.5 2:1\n-1 1:2\n1 2:-1\n-1 1:0.25 2:0.75\n")
    return path


@cache
def _stored() -> Path:
    """A model in a file of the package's own."""
    path = _folder() / "model.skops"
    kpegasos.save(make("fitted(PegasosSVC)"), path)
    return path


def _libsvm(kind: str) -> Path:
    """A model in LIBSVM's format."""
    path = _folder() / f"{kind}.model"
    if not path.exists():
        make(f"fitted({kind})").to_libsvm(path)
    return path


@cache
def _animation() -> Any:
    from kpegasos.plotting import TrainingAnimation

    model = PegasosSVC(gamma=2.0, epochs=2, random_state=0)
    return TrainingAnimation.from_estimator(model, *_MOONS, grid_resolution=4)


@cache
def _searched() -> Any:
    """A search over C and gamma."""
    return GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.5, 2.0]}, cv=3).fit(*_MOONS)


def _solutions() -> Any:
    """A path of three solutions."""
    ones = np.ones(3)
    of_each = {"objectives": ones, "dual_bounds": 0.99 * ones, "relative_gaps": 0.01 * ones}
    return SimpleNamespace(Cs=[0.1, 1, 10], n_support=[9, 8, 7], **of_each)


_NAMES: dict[str, Any] = {
    "Decimal": Decimal,
    "Figure": Figure,
    "Fraction": Fraction,
    "LinearPegasosSVC": LinearPegasosSVC,
    "LinearPegasosSVR": LinearPegasosSVR,
    "OrderedDict": OrderedDict,
    "Path": Path,
    "PegasosSVC": PegasosSVC,
    "PegasosSVCCV": PegasosSVCCV,
    "PegasosSVR": PegasosSVR,
    "SVC": SVC,
    "X": _MOONS[0],
    "X3": _BLOBS[0],
    "animation": _animation,
    "fitted": _fitted,
    "folder": _folder,
    "io": io,
    "libsvm": _libsvm,
    "kpegasos": kpegasos,
    "np": np,
    "rows": _rows,
    "searched": _searched,
    "solutions": _solutions,
    "sparse": sparse,
    "stored": _stored,
    "svmlight": _svmlight,
    "weight": _WEIGHT,
    "y": _MOONS[1],
    "y3": _BLOBS[1],
}


def make(text: str) -> Any:
    """The value of an expression."""
    return eval(text, dict(_NAMES))
