"""Checks of arrays and numbers that more than one room makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import lru_cache
from itertools import product
from numbers import Integral, Real
from operator import index
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d

from kpegasos.utils.scan import canonical_csr, largest_magnitude, real_numbers

#: Weights, C, lam and the constants of bounds lie between these, far from where squares and
#: reciprocals overflow.
SMALLEST, LARGEST = 1e-100, 1e100
#: Kernel values beyond this leave no room for the squares and sums that objectives are made of.
LARGEST_VALUE = 1e100
#: Sizes of the constant feature up to this leave room for their squares.
LARGEST_SCALING = 1e50

T = TypeVar("T")


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """A seed of 31 bits from what scikit-learn calls a random state.

    Raises
    ------
    ValueError
        If it is no random state.
    """
    if type(random_state) is int and 0 <= random_state < 2**32:
        return _seed_of_integer(random_state)
    return _first_of(as_generator(random_state))


@lru_cache(maxsize=256)
def _seed_of_integer(number: int) -> int:
    """A generator takes a tenth of a millisecond to make, and fits of one seed come in hundreds."""
    return _first_of(np.random.RandomState(number))


def _first_of(generator: np.random.RandomState) -> int:
    return int(generator.randint(np.iinfo(np.int32).max))


def as_generator(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """The generator that scikit-learn makes of a random state.

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
    """Targets of a regression as an array of float64.

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
    """Largest kernel value that is accepted in a dtype."""
    return min(LARGEST_VALUE, float(np.finfo(dtype).max))


def too_large(what: str, dtype: np.dtype, largest: float) -> str:
    """Say that the features are too large for something."""
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
    """Whether a value is a number of an abstract kind; truth values and durations are none."""
    own = type(value)
    if own is int or (own is float and kind is Real):  # an abstract kind takes its time
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
    """Size of the constant feature as a float, 0 for none.

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
    """Return decisions, from which classes can be told if they are finite.

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


def told_of(error: Exception, what: str) -> Exception:
    """An error of another library in one line that begins with what was expected."""
    text = " ".join(str(error).split())
    if len(text) > 300:
        text = f"{text[:120]} ... {text[-160:]}"
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{what}: {text}")


def shown(value: Any) -> str:
    """What came, for a message: its repr, cut to a line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # integers of thousands of digits have none, nor have some objects
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."
