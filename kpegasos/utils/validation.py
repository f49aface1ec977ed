"""Checks of what comes from outside: numbers, names, labels, arrays and matrices.

What comes is returned as the rest of the package takes it, or refused in a sentence.
`canonical_csr` is the door of sparse matrices: nothing else converts those that come from outside.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import lru_cache
from itertools import product
from numbers import Integral, Real
from operator import index
from types import FrameType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

#: Weights, C, lam and the constants of bounds lie between these, far from where squares and
#: reciprocals overflow.
SMALLEST, LARGEST = 1e-100, 1e100
#: Kernel values beyond this leave no room for the squares and sums that objectives are made of.
LARGEST_VALUE = 1e100
#: Sizes of the constant feature up to this leave room for their squares.
LARGEST_SCALING = 1e50

T = TypeVar("T")


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """Draw a seed of 31 bits from what scikit-learn calls a random state.

    Raises
    ------
    ValueError
        If it is no random state.
    """
    if type(random_state) is int and 0 <= random_state < 2**32:
        return _seed_of_integer(random_state)
    return int(as_generator(random_state).randint(np.iinfo(np.int32).max))


@lru_cache(maxsize=256)
def _seed_of_integer(number: int) -> int:
    """Keep seeds: a generator takes a tenth of a millisecond, and hundreds of fits share one."""
    return draw_seed(np.random.RandomState(number))


def as_generator(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the generator that scikit-learn makes of a random state.

    Raises
    ------
    ValueError
        If it is no random state.
    """
    if is_number(random_state, Integral) or isinstance(random_state, bool):
        random_state = as_integer("random_state", random_state, least=0, most=2**32 - 1)
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be an integer, a RandomState or None, "
            f"got {shown(random_state)} instead"
        ) from None


def canonical_rows(X: Any) -> Any:
    """Return rows as the loops want them, copied only if need be.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray or CSR matrix without duplicate entries, float32 as given or float64

    Raises
    ------
    ValueError
        If X does not have two dimensions, or holds anything but real numbers; as `canonical_csr`.
    """
    if not sparse.issparse(X):
        refuse_masked("X", X)
        try:
            # Of a frame too: its columns lie one after another, and loops read rows.
            X = np.asarray(X, order=None if isinstance(X, np.ndarray) else "C")
        except ValueError:
            raise ValueError(f"X must have rows of one length, got {shown(X)} instead") from None
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features, got shape {X.shape}")
    return canonical_csr(X) if sparse.issparse(X) else real_numbers(X)


def as_objects(X: Any) -> np.ndarray:
    """Return a sequence of objects as an array of them, of shape (n_samples,).

    Raises
    ------
    ValueError
        If it is no sequence, or empty.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and X.size:
        return X
    sequence = X.to_numpy() if hasattr(X, "to_numpy") else X
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1 and sequence.dtype != object:
        sequence = sequence.tolist()  # numbers and strings as Python has them
    try:
        is_sequence = hasattr(sequence, "__getitem__") and len(sequence) > 0
    except TypeError:  # a sparse matrix, for one
        is_sequence = False
    if isinstance(sequence, str | bytes | dict) or not is_sequence:
        raise ValueError(f"X must be a sequence of one object or more, got {shown(X)} instead")
    objects = np.empty(len(sequence), dtype=object)
    for place in range(objects.size):
        objects[place] = sequence[place]
    return objects


def refuse_times(name: str, array: Any) -> None:
    """Refuse dates and durations, which scikit-learn takes for numbers of their own unit.

    Raises
    ------
    ValueError
        If the array, or a column of the frame, holds them.
    """
    of_columns = getattr(array, "dtypes", ())  # of a series, its only one
    columns = of_columns if hasattr(of_columns, "__iter__") else ()
    for dtype in (getattr(array, "dtype", None), *columns):
        if getattr(dtype, "kind", "f") in ("m", "M"):
            raise ValueError(f"{name} must hold real numbers, got {dtype} instead")


def refuse_masked(name: str, array: Any) -> None:
    """Refuse an array with masked entries: NumPy and scikit-learn would use what lies beneath.

    Raises
    ------
    ValueError
        If an entry is masked.
    """
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(
            f"{name} must have no masked entries, got {np.ma.count_masked(array)} of {array.size}"
        )


def as_array(
    name: str, values: Any, *, expected: str = "hold real numbers", kinds: str = "biufO"
) -> NDArray[np.float64]:
    """Return real numbers of some of NumPy's kinds as an array of float64.

    Raises
    ------
    ValueError
        If they are something else, or an entry is masked.
    """
    refuse_masked(name, values)
    with suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(values)
        if array.dtype.kind in kinds:
            return np.asarray(array, dtype=np.float64)
    raise ValueError(f"{name} must {expected}, got {shown(values)} instead")


def numbers_of(y: Any) -> NDArray[np.float64]:
    """Return targets of a regression as an array of float64.

    Raises
    ------
    ValueError
        If they are no vector of finite numbers that leave room for their squares.
    """
    refuse_masked("y", y)
    refuse_times("y", y)
    try:
        y = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        if "1d array" in str(error):
            raise
        raise told_of(error, "y must be a vector of numbers, one for each row of X") from None
    numbers = as_array("y", y)
    assert_all_finite(numbers, input_name="y")
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(f"y must be of size {LARGEST:g} at the most, got {largest:g} instead")
    return np.ascontiguousarray(numbers)


def check_magnitude(X: Any) -> float:
    """Check that inner products of the rows stay far from overflow.

    Returns
    -------
    float
        `largest_magnitude` of X.

    Raises
    ------
    ValueError
        If they may not, or are not finite.
    """
    if X.shape[0] == 0 or X.shape[1] == 0:
        return 0.0
    largest = largest_magnitude(X)
    if not np.isfinite(largest):
        raise ValueError("X must be finite, got NaN or infinity")
    if largest > (largest_value(X.dtype) / X.shape[1]) ** 0.5:
        raise ValueError(too_large("inner products", X.dtype, largest))
    return largest


def largest_value(dtype: np.dtype) -> float:
    """Return the largest kernel value that is accepted in a dtype."""
    return min(LARGEST_VALUE, float(np.finfo(dtype).max))


def too_large(what: str, dtype: np.dtype, largest: float) -> str:
    """Return a sentence: the features are too large for something."""
    return (
        f"X must be small enough that {what} fit in {dtype} with room to spare, "
        f"got values up to {largest:.3g}; scale the features"
    )


def check_gram(gram: Any) -> np.ndarray:
    """Check that a kernel matrix is square, finite and symmetric (to rounding).

    Raises
    ------
    ValueError
        If it is not.
    """
    gram = np.asarray(gram)
    if gram.dtype not in (np.float32, np.float64):
        gram = gram.astype(np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"kernel='precomputed' expects X to be a square kernel matrix, got shape {gram.shape}"
        )
    scale = largest_magnitude(gram)
    if not math.isfinite(scale):
        raise ValueError(
            "kernel='precomputed' expects X to be a finite kernel matrix, got NaN or infinity"
        )
    tolerance = 100 * float(np.finfo(gram.dtype).eps) * scale
    # Tile by tile: 25 times faster here than a pass over the whole matrix and its transpose.
    for top, left in product(range(0, gram.shape[0], 256), repeat=2):
        tile = gram[top : top + 256, left : left + 256]
        mirrored = gram[left : left + 256, top : top + 256].T
        difference = np.abs(tile - mirrored).max() if left >= top else 0.0
        if difference > tolerance:
            raise ValueError(
                f"kernel='precomputed' expects X to be a symmetric kernel matrix, "
                f"got entries that differ by {difference:.3g} from their mirror images"
            )
    return gram


def is_number(value: Any, kind: type) -> bool:
    """Return whether a value is a number of some kind; truth values and durations are none."""
    type_ = type(value)
    if type_ is int or (type_ is float and kind is Real):  # a check of an abstract kind is slow
        return True
    return isinstance(value, kind) and not isinstance(value, bool | np.timedelta64)


def as_integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return a whole number as Python's int: numpy's would reach compiled code as another type.

    Raises
    ------
    ValueError
        If it is not a whole number from ``least`` to ``most``; truth values are no numbers.
    """
    if is_number(value, Integral):
        number = index(value)
        if most is not None and number > most:
            raise ValueError(f"{name} must be at most {most}, got {shown(value)} instead")
        if least is None or number >= least:
            return number
    kind = "an integer" if least is None else f"an integer of at least {least}"
    expected = "a positive integer" if least == 1 else kind
    raise ValueError(f"{name} must be {expected}, got {shown(value)} instead")


def as_jobs(name: str, value: Any) -> int:
    """Return the number of jobs in joblib's sense, where zero means nothing."""
    if number := as_integer(name, value):
        return number
    raise ValueError(f"{name} must be None or an integer other than 0, got 0 instead")


def as_number(
    name: str,
    value: Any,
    *,
    positive: bool = False,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """Return a finite number as Python's float: arithmetic with numpy's may have their precision.

    Raises
    ------
    ValueError
        If it is not a finite number from ``least`` to ``most``, positive if asked for; truth values
        are no numbers.
    """
    number = math.nan
    if is_number(value, Real):
        with suppress(OverflowError):
            number = float(value)
    has_sign = number > 0.0 if positive else number >= 0.0 if least == 0.0 else True
    if math.isfinite(number) and has_sign:
        if least is not None and number < least:
            raise ValueError(f"{name} must be at least {least:g}, got {shown(value)} instead")
        if most is not None and number > most:
            raise ValueError(f"{name} must be at most {most:g}, got {shown(value)} instead")
        return number
    sign = "positive " if positive or (least or 0.0) > 0 else ""
    sign = "non-negative " if least == 0.0 else sign
    raise ValueError(f"{name} must be a {sign}finite number, got {shown(value)} instead")


def check_scaling(intercept_scaling: Any) -> float:
    """Return the size of the constant feature as a float, 0 for none.

    Raises
    ------
    ValueError
        If it is negative, or its square might overflow.
    """
    return as_number("intercept_scaling", intercept_scaling, least=0.0, most=LARGEST_SCALING)


def as_flag(name: str, value: Any) -> bool:
    """Return a truth value as Python's bool.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)} instead")
    return bool(value)


def as_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of some names as Python's str.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {tuple(choices)}, got {shown(value)} instead")
    return str(value)


def optional(check: Callable[..., T], name: str, value: Any, **limits: Any) -> T | None:
    """Return None as it is, and check anything else."""
    return None if value is None else check(name, value, **limits)


def finite_decisions(decisions: np.ndarray) -> np.ndarray:
    """Return decisions if they are finite.

    Raises
    ------
    ValueError
        If they are not.
    """
    if not np.isfinite(decisions).all():
        raise ValueError(
            "X must be small enough that decisions are finite, got NaN or infinity; "
            "scale the features"
        )
    return decisions


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, beyond its decorators and those of scikit-learn."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("kpegasos", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def told_of(error: Exception, what: str) -> Exception:
    """Make an error of another library one line that begins with what was expected."""
    text = " ".join(str(error).split())
    if len(text) > 300:
        text = f"{text[:120]} ... {text[-160:]}"
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{what}: {text}")


def shown(value: Any) -> str:
    """Return what came, for a message: its repr, cut to a line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # integers of thousands of digits have none, nor have some objects
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."


# --- matrices ---

_AGREE = "X must be a sparse matrix whose data, indices and shape agree"


def largest_magnitude(X: Any) -> float:
    """Find the largest absolute value of an array or CSR matrix, 0 of an empty one.

    NaN or infinite where an entry is.
    """
    values = X.data if sparse.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def real_numbers(X: Any) -> Any:
    """Return an array or matrix as float32 or float64, copied only if need be.

    Raises
    ------
    ValueError
        If it holds anything but real numbers.
    """
    if X.dtype in (np.float32, np.float64):
        return X
    if X.dtype.kind in "biufO":
        with suppress(TypeError, ValueError, OverflowError):
            return X.astype(np.float64)
    raise ValueError(f"X must hold real numbers, got {X.dtype} instead")


def canonical_csr(X: Any) -> sparse.csr_matrix:
    """Make CSR rows whose indices are sorted, unique, of features: compiled loops trust them.

    SciPy trusts indices as well, so nothing is converted before they have been checked.

    Parameters
    ----------
    X : sparse matrix
        Of any format.

    Raises
    ------
    ValueError
        If an index is no integer, or that of no entry, row or column, or if arrays do not agree.
    """
    rows = sparse.csr_matrix(real_numbers(_looked_at(X)))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def without_empty_columns(*rows: sparse.csr_matrix) -> tuple[sparse.csr_matrix, ...]:
    """Take CSR rows over the columns that they use, if there are more columns than entries.

    Memory for each column, as SciPy's product takes it, would let a small file take any amount.
    """
    if rows[0].shape[1] <= sum(part.nnz for part in rows):
        return rows
    used = used_columns(*rows)
    return tuple(over_columns(part, used) for part in rows)


def used_columns(*rows: sparse.csr_matrix) -> np.ndarray:
    """Return the columns in which some of the CSR rows have an entry, in order."""
    indices = np.concatenate([part.indices for part in rows])
    if 8 * indices.size < rows[0].shape[1]:
        return np.unique(indices)
    used = np.zeros(rows[0].shape[1], dtype=bool)
    used[indices] = True
    return np.flatnonzero(used).astype(indices.dtype, copy=False)


def over_columns(rows: sparse.csr_matrix, columns: np.ndarray) -> sparse.csr_matrix:
    """Return the same CSR rows over some columns, among them all that have an entry, in order."""
    if 8 * rows.nnz < rows.shape[1]:
        places = np.searchsorted(columns, rows.indices)
    else:
        place = np.empty(rows.shape[1], dtype=np.int32)
        place[columns] = np.arange(columns.size)
        places = place[rows.indices]
    indices = places.astype(rows.indices.dtype, copy=False)
    shape = rows.shape[0], columns.size
    return sparse.csr_matrix((rows.data, indices, rows.indptr), shape=shape)


def _looked_at(X: Any) -> Any:
    """Return a matrix after a check of its indices."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            arrays = np.ascontiguousarray(X.data), _whole(X.indices), _whole(X.indptr)
            X = type(X)(arrays, shape=X.shape)
            # Without entries SciPy does not check it, and a difference may overflow.
            _agree(bool((X.indptr[1:] >= X.indptr[:-1]).all()))
            X.check_format(full_check=True)
            return X
        if X.format == "lil":  # else missing entries would be uninitialised memory
            _agree(list(map(len, X.rows)) == list(map(len, X.data)))
        X = X.tocoo()
        return sparse.coo_matrix((X.data, (_whole(X.row), _whole(X.col))), shape=X.shape)
    except (IndexError, TypeError, ValueError) as error:
        if str(error).startswith("X must "):
            raise
        raise told_of(error, _AGREE) from None


def _whole(indices: Any) -> np.ndarray:
    """Return indices as int32 or int64, the types that loops take."""
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise ValueError(f"X must have integers as indices, got {indices.dtype} instead")
    _agree(indices.ndim == 1)
    return np.ascontiguousarray(indices, np.int32 if indices.dtype == np.int32 else np.int64)


def _agree(fact: bool) -> None:
    if not fact:
        raise ValueError(f"{_AGREE}, got others instead")


# --- labels ---


def sorted_labels(name: str, labels: Any) -> np.ndarray:
    """Return labels in order, each once.

    Raises
    ------
    ValueError
        If they have no order.
    """
    refuse_masked(name, labels)
    try:
        return np.unique(np.asarray(labels))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold labels of one kind, such as integers or strings, "
            f"got {shown(labels)} instead"
        ) from None


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return objects that are all numbers, as in mixed columns, as an array of numbers."""
    if labels.dtype.kind == "O":
        with suppress(TypeError, ValueError, OverflowError):
            plain = np.array(labels.tolist())
            if plain.dtype.kind in "biuf" and plain.shape == labels.shape:
                return plain
    return labels


def check_labels(y: np.ndarray, n_classes: int) -> None:
    """Check that targets with so many classes are those of a classification.

    Raises
    ------
    ValueError
        If they are not.
    """
    if y.ndim == 1 and y.dtype.kind in "biu" and 2 * n_classes <= y.size:
        return  # sklearn looks for other kinds, and warns where nearly each is a class
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise told_of(error, "y must be class labels") from None


def signs_of(name: str, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of two classes as -1 and +1, the latter for the class sorted last.

    Labels that are -1 or +1 already may all be the same.

    Parameters
    ----------
    name : str
    labels : array-like of shape (n_samples,)
        Integers, floats, truth values or strings.

    Returns
    -------
    signs : ndarray of shape (n_samples,), float64
    classes : ndarray of shape (2,)
        The labels that became -1 and +1, of the labels' own kind.

    Raises
    ------
    ValueError
        If they are no vector, no labels, or not of two classes.
    """
    refuse_masked(name, labels)
    try:
        array = plain_labels(np.asarray(labels))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "biufUSTO":
        raise ValueError(
            f"{name} must be a non-empty vector of labels of two classes, such as integers or "
            f"strings, got {shown(labels)} instead"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} must hold a label for each example, got NaN or infinity")
    if array.dtype.kind in "iuf":
        positive = array == 1
        if (positive | (array == -1)).all():
            classes = np.array([-1, 1], dtype=np.result_type(array.dtype, np.int8))
            return np.where(positive, 1.0, -1.0), classes
    classes = sorted_labels(name, array)
    if classes.size != 2:
        raise ValueError(
            f"{name} must hold labels of two classes, got {classes.size} of them, "
            f"{shown(classes[:5].tolist())}, instead"
        )
    return np.where(array == classes[1], 1.0, -1.0), classes
