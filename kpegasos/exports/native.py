"""The package's own files: whole models by skops, which holds data and names of types, no code.

A pickle runs code of whoever wrote it. Skops builds what the file describes out of types that are
trusted; which those are is said here, and nothing else is built. Arrays are those of NumPy, so that
a model that is loaded has the same bits, and ``warm_start`` and ``partial_fit`` go on.
"""

from __future__ import annotations

import io
import json
import platform
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from kpegasos.kernels.functions import KERNELS
from kpegasos.utils.files import MOST_TIMES, checked_path, most_unpacked, write_whole
from kpegasos.utils.validation import canonical_csr, shown
from kpegasos.utils.version import VERSION

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
        "kpegasos.losses.classification": "Hinge Logistic SmoothedHinge SquaredHinge",
        "kpegasos.losses.regression": "EpsilonInsensitive Huber SquaredEpsilonInsensitive",
        "kpegasos.model_selection.scoring": "DecisionsAsFeatures",
        "kpegasos.model_selection.search": "PegasosSVCCV",
        "kpegasos.rows.base": "GramDecisions KernelDecisions",
        "kpegasos.rows.features": "FeatureDecisions",
        "kpegasos.solvers.online": "Stream",
        "kpegasos.solvers.path": "RegularizationPath",
        "kpegasos.solvers.result": "History Record Result",
        "numpy": "dtype",
        "scipy.sparse._csc": "csc_matrix",
        "scipy.sparse._csr": "csr_array csr_matrix",
        "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    }.items()
    for name in names.split()
)

#: The entry of the archive that says which versions wrote it.
_VERSIONS = "kpegasos.json"


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
    TypeError
        If it is no model.
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
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if isinstance(model, type) or not (isinstance(model, BaseEstimator) or kind in TRUSTED):
        raise TypeError(f"model must be an estimator or a result, got {shown(model)} instead")
    require_skops()
    checked_path(path)
    write_whole(path, [_content(model)])


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

    Warns
    -----
    UserWarning
        If another minor version of the package wrote the file.
    """
    require_skops()
    place, content, versions = _read(path)
    _warn_of_version(place, versions.get("kpegasos", VERSION))
    with _blamed(place, "a damaged one"):
        foreign = _foreign_types(content)
    if foreign:
        raise ValueError(
            f"{place}: a model must hold only types that kpegasos trusts, got {foreign}"
        )
    with _blamed(place, "a damaged one"):
        model = _skops().loads(content, trusted=list(TRUSTED))
    with _blamed(place, "one whose parts do not fit each other"):
        _check(model)
    return model


def _check(model: Any) -> None:
    """Check what loops will trust in all that a model is made of: whoever wrote it could err.

    Raises
    ------
    ValueError
    """
    from sklearn.calibration import CalibratedClassifierCV

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
        if isinstance(part, CalibratedClassifierCV) and hasattr(part, "calibrated_classifiers_"):
            _check_calibration(part)
        if type(part).__module__.startswith("kpegasos."):
            for name in ("__post_init__", "_check_loaded"):
                if hasattr(part, name):
                    getattr(part, name)()


def _check_calibration(calibrated: Any) -> None:
    """Check curves and classes of a fitted calibration, of which scikit-learn takes any."""
    for each in calibrated.calibrated_classifiers_:
        if calibrated.classes_.ndim != 1 or not np.array_equal(each.classes, calibrated.classes_):
            raise ValueError("classes_ must be those of all calibrators")
        own = each.estimator.classes_
        if not all((classes[:-1] < classes[1:]).all() for classes in (each.classes, own)):
            raise ValueError("classes_ must be in order")
        known = np.isin(own, each.classes)
        # A fold may lack one of several classes.
        if not known.all() or (each.classes.size == 2 and known.size != 2):
            raise ValueError("classes_ must be those of the calibrated estimator")
        if each.classes.size == 2 and len(each.calibrators) != 1:
            raise ValueError("calibrators must be one for two classes")
        for curve in each.calibrators:
            numbers = [vars(curve)[name] for name in ("a_", "b_", "beta_") if name in vars(curve)]
            if not all(np.ndim(number) == 0 and np.isfinite(number) for number in numbers):
                raise ValueError("calibrators must be of finite numbers")


def stored_versions(path: str | PathLike[str]) -> dict[str, str]:
    """Versions of the programs that wrote a model.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict of str to str
        Of ``"kpegasos"``, ``"python"``, ``"numpy"``, ``"scikit-learn"`` and ``"skops"``; empty if
        skops wrote the file without `save`.

    Raises
    ------
    ValueError
        Naming the file, if it is no model or damaged.
    OSError
        If the file cannot be read.
    """
    return _read(path)[2]


def require_skops() -> None:
    """Check that models can be written and read, or raise an ImportError that says what for."""
    if find_spec("skops") is None:
        raise ImportError("kpegasos.save and load need skops: pip install 'kpegasos[skops]'")


def _skops() -> Any:
    """skops, which takes a second to import: it looks at every estimator of scikit-learn."""
    import skops.io

    return skops.io


def _content(model: Any) -> bytes:
    """Return the file's content, once it is known that `load` will take it."""
    try:
        content = _skops().dumps(model)
        foreign = _foreign_types(content)
    except MemoryError:
        raise
    except Exception as error:  # of whatever cannot be written, or read again
        text = shown(str(error))
        raise ValueError(f"model must hold only what skops can write, got {text}") from error
    if foreign:
        raise ValueError(
            f"model must hold only types that kpegasos.load trusts, got {foreign}; skops.io.dump "
            f"writes it all the same"
        )
    versions = {
        "kpegasos": VERSION,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scikit-learn", "skops")},
    }
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(_VERSIONS, json.dumps(versions, indent=2))
    return buffer.getvalue()


def _foreign_types(content: bytes) -> str:
    """Give names of the types that are not trusted, as a list in words; empty if there are none."""
    found = set(_skops().get_untrusted_types(data=content)) - set(TRUSTED)
    names = sorted(" ".join(name.split())[:80] for name in found)
    return ", ".join([*names[:5], *(["others"] if len(names) > 5 else [])])


def _read(path: str | PathLike[str]) -> tuple[Path, bytes, dict[str, str]]:
    """Name, content and versions of a file."""
    place = checked_path(path)
    if place.exists() and not place.is_file():
        raise ValueError(f"path must be the path of a plain file, got {shown(str(path))} instead")
    content = place.read_bytes()
    with _blamed(place, "another file or a part of one"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        archive.getinfo("schema.json")
    limit = most_unpacked(len(content))
    with _blamed(place, "a damaged one"), archive:
        size = _unpacked_size(archive, limit)
        if size <= limit:
            return place, content, _versions_in(archive)
    raise ValueError(
        f"{place} must unpack to at most {limit} bytes, {MOST_TIMES} times its size, got {size}"
    )


def _unpacked_size(archive: zipfile.ZipFile, limit: int) -> int:
    """Give bytes that an archive and those within it unpack to: as many as they state are read."""
    size = sum(member.file_size for member in archive.infolist())
    for member in archive.infolist() if size <= limit else ():
        if member.filename.endswith(".npz"):
            with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                size += sum(each.file_size for each in inner.infolist())
    return size


def _versions_in(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return what an archive says of its versions, if it does."""
    if _VERSIONS not in archive.namelist():
        return {}
    versions = json.loads(archive.read(_VERSIONS))
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise ValueError("versions must be texts by name")
    return versions


@contextmanager
def _blamed(place: Path, got: str) -> Iterator[None]:
    """Name the file and what it is, whatever part of it a reader stumbles over."""
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{place} must hold arrays that memory has room for, got more") from error
    except Exception as error:
        raise ValueError(
            f"{place} must be a whole file that kpegasos.save has written, got {got}"
        ) from error


def _warn_of_version(place: Path, written_by: str) -> None:
    """Warn of a file whose version differs from this one in more than its last number."""
    of_file, own = (re.match(r"(\d+)\.(\d+)", each) for each in (written_by, VERSION))
    if own and (of_file is None or of_file.groups() != own.groups()):
        warnings.warn(
            f"{place} was written by kpegasos {shown(written_by)}, and this is {VERSION}: its "
            f"model may predict otherwise",
            stacklevel=3,
        )
