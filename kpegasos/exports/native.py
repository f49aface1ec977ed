"""The package's own files: whole models by skops, which holds data and names of types, no code.

A pickle runs code of whoever wrote it. Skops builds what the file describes out of types that are
trusted; which those are is said here, and nothing else is built. Arrays are those of NumPy, so that
a model that is loaded has the same bits, and ``warm_start`` and ``partial_fit`` go on.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.kernels.functions import KERNELS
from kpegasos.losses.standard import CLASSIFICATION, REGRESSION
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import canonical_csr, shown

#: What `load` builds besides scikit-learn's estimators and whatever else skops trusts by itself.
TRUSTED = tuple(
    f"{module}.{name}"
    for module, names in {
        "kpegasos.core.state": "LoopState PegasosOptions State",
        "kpegasos.core.steps": "Constant DelayedInverse InverseSquareRoot",
        "kpegasos.estimators.exports": "KernelFunction",
        "kpegasos.estimators.kernel": "PegasosSVC PegasosSVR",
        "kpegasos.estimators.linear": "LinearPegasosSVC LinearPegasosSVR",
        "kpegasos.fitting.streams": "OnlineClassifier OnlineRegressor",
        "kpegasos.kernels.base": "MappedProduct MappedScaled MappedSum Product Scaled Sum",
        "kpegasos.kernels.functions": " ".join(sorted({k.__name__ for k in KERNELS.values()})),
        "kpegasos.losses.standard": " ".join(
            each.__name__ for each in (*CLASSIFICATION.values(), *REGRESSION.values())
        ),
        "kpegasos.model_selection.search": "PegasosSVCCV",
        "kpegasos.rows.base": "GramDecisions KernelDecisions",
        "kpegasos.rows.features": "FeatureDecisions",
        "kpegasos.solvers.online": "Stream",
        "kpegasos.solvers.path": "RegularizationPath",
        "kpegasos.solvers.result": "History Record Result",
        "numpy": "dtype",
        "scipy.sparse._csc": "csc_matrix",
        "scipy.sparse._csr": "csr_array csr_matrix",
        "sklearn.model_selection._split": "KFold StratifiedKFold",
        "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    }.items()
    for name in names.split()
)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model to a file of skops' format, which `load` reads without running code of it.

    Parameters
    ----------
    model : estimator, Result, RegularizationPath or History
        An estimator of the package, or one of scikit-learn's around or beside such: a `Pipeline`,
        a `CalibratedClassifierCV`, the result of ``to_sklearn``. Whether it is fitted does not
        matter.
    path : path-like
        Written whole or not at all; a file that is there is replaced. The ending ".skops" is usual.

    Raises
    ------
    ValueError
        If it holds something that `load` would refuse, such as a kernel that is a function.
    OSError
        If the file cannot be written.
    ImportError
        Without the package skops.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import kpegasos
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> clf = kpegasos.PegasosSVC(gamma=2.0, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     kpegasos.save(clf, f"{folder}/moons.skops")
    ...     model = kpegasos.load(f"{folder}/moons.skops")
    >>> bool((model.decision_function(X) == clf.decision_function(X)).all())
    True
    """
    skops = require_skops()
    try:
        content = skops.dumps(model)
        foreign = _foreign_types(content)
    except Exception as error:  # of whatever cannot be written, or read again
        text = shown(str(error))
        raise ValueError(f"model must hold only what skops can write, got {text}") from error
    if foreign:
        raise ValueError(
            f"model must hold only types that kpegasos.load trusts, got {shown(foreign)}; "
            f"skops.io.dump writes it all the same"
        )
    write_whole(path, [content])


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` has written.

    Nothing is built but types of this package, NumPy, SciPy and scikit-learn that are known to be
    harmless, and no code of the file is run.

    Parameters
    ----------
    path : path-like
        Files that skops itself has written are read as well.

    Returns
    -------
    estimator, Result, RegularizationPath or History
        With the same bits as the one that was written.

    Raises
    ------
    ValueError
        Naming the file, if it is no such file, is damaged, or holds types that are not trusted.
        For types of your own there is ``skops.io.load``.
    OSError
        If the file cannot be read.
    ImportError
        Without the package skops.
    """
    skops, place = require_skops(), checked_path(path)
    content = place.read_bytes()
    try:
        foreign = _foreign_types(content)
        model = None if foreign else skops.loads(content, trusted=list(TRUSTED))
        _check(model)
    except Exception as error:  # whatever part of it a reader stumbles over
        raise ValueError(
            f"{place} must be a whole file that kpegasos.save has written, got one of which a part "
            f"says {shown(str(error))}"
        ) from error
    if foreign:
        raise ValueError(
            f"{place}: a model must hold only types that kpegasos trusts, got {shown(foreign)}"
        )
    return model


def _check(model: Any) -> None:
    """Check what loops will trust in all that a model is made of: whoever wrote it could err.

    Raises
    ------
    ValueError
    """
    seen: dict[int, Any] = {}
    left = [model]
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if sparse.issparse(part):
            canonical_csr(part)
        elif isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple | set):
            left += part
        elif isinstance(part, np.ndarray):
            left += part.ravel().tolist() if part.dtype.kind == "O" else []
        else:
            left += getattr(part, "__dict__", {}).values()
        if type(part).__module__.startswith("kpegasos."):
            for name in ("__post_init__", "_check_loaded"):
                getattr(part, name, bool)()


def require_skops() -> Any:
    """Return skops, or raise an ImportError that says what for.

    It takes a second to import, as it looks at every estimator of scikit-learn.
    """
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "kpegasos.save and load need skops: pip install 'kpegasos[skops]'"
        ) from None
    return skops.io


def _foreign_types(content: bytes) -> list[str]:
    """Return names of the types that are not trusted."""
    return sorted(set(require_skops().get_untrusted_types(data=content)) - set(TRUSTED))
