"""Toy problems of two classes, drawn in the plane: classes 0 and 1, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpegasos.utils.validation import as_generator, as_integer, as_number, shown

Points = tuple[NDArray[np.float64], NDArray[np.int64]]


#: Points of a toy problem at the most: enough for toys, and few enough to be in memory.
_MOST_POINTS = 10**8
#: Coordinates up to this can be squared.
_LARGEST = 1e100


def _size(n_samples: Any) -> int:
    return as_integer("n_samples", n_samples, least=1, most=_MOST_POINTS)


def _width(noise: Any) -> float:
    return as_number("noise", noise, least=0.0, most=_LARGEST)


def _shuffled(X: NDArray[np.float64], y: NDArray[np.int64], noise: float, rng: Any) -> Points:
    """Add isotropic Gaussian noise to the points and put them in random order."""
    order = rng.permutation(len(y))
    return (X + noise * rng.standard_normal(X.shape))[order], y[order]


def make_xor(n_samples: int = 400, *, noise: float = 0.0, random_state: Any = None) -> Points:
    """Draw the exclusive-or problem: the sign of the product of two coordinates.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points; the four quadrants of the square [-1, 1]² take turns.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise added to the points.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Coordinates of the points.
    y : ndarray of shape (n_samples,)
        Class 1 where the coordinates (without noise) differ in sign, else class 0.

    Raises
    ------
    ValueError
        If a parameter is no number of its kind.
    """
    n_samples, noise = _size(n_samples), _width(noise)
    rng = as_generator(random_state)
    quadrant = np.arange(n_samples) % 4
    # Quadrants are visited so that the classes alternate and stay balanced for any n_samples.
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])[quadrant]
    return _shuffled(signs * rng.uniform(size=(n_samples, 2)), quadrant % 2, noise, rng)


def make_spirals(
    n_samples: int = 400, *, noise: float = 0.0, turns: float = 1.5, random_state: Any = None
) -> Points:
    """Draw two spirals of Archimedes that wind round each other inside the unit disc.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points; the two arms take turns.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise added to the points; neighbouring turns of the
        two arms are ``1 / (2 * turns)`` apart.
    turns : float, default=1.5
        Number of turns of each arm of the spirals.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Coordinates of the points.
    y : ndarray of shape (n_samples,)
        The arm, 0 or 1.

    Raises
    ------
    ValueError
        If a parameter is no number of its kind.
    """
    n_samples, noise = _size(n_samples), _width(noise)
    turns = as_number("turns", turns, least=-_LARGEST, most=_LARGEST)
    rng = as_generator(random_state)
    y = np.arange(n_samples) % 2
    # The square root spreads the points evenly along the arm, which grows longer with the radius.
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = 2 * np.pi * turns * radius + np.pi * y
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return _shuffled(X, y, noise, rng)


def make_gaussian_noise(
    n_samples: int = 400,
    *,
    n_features: int = 2,
    noise: float = 0.1,
    separation: float = 6.0,
    random_state: Any = None,
) -> Points:
    """Draw two Gaussian clouds, all but separable by a line, and flip a fraction of the labels.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points; the two clouds take turns.
    n_features : int, default=2
        Dimension of the space.
    noise : float, default=0.1
        Fraction of labels to flip: exactly ``round(noise * n_samples)`` of them.
    separation : float, default=6.0
        Distance of the centres of the two clouds in standard deviations, along the diagonal of
        the space.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Coordinates of the points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, flips included.

    Raises
    ------
    ValueError
        If a parameter is no number of its kind, or ``noise`` is no fraction.
    """
    n_samples, n_features = _size(n_samples), as_integer("n_features", n_features, least=1)
    if n_samples * n_features > _MOST_POINTS:
        raise ValueError(
            f"n_samples times n_features must be at most {_MOST_POINTS}, got {n_samples} times "
            f"{n_features} instead"
        )
    separation = as_number("separation", separation, least=-_LARGEST, most=_LARGEST)
    noise = as_number("noise", noise)
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be a fraction between 0 and 1, got {noise!r}")
    rng = as_generator(random_state)
    y = np.arange(n_samples) % 2
    centres = (y - 0.5) * separation / np.sqrt(n_features)
    flipped = rng.choice(n_samples, size=round(noise * n_samples), replace=False)
    y[flipped] = 1 - y[flipped]
    return _shuffled(np.repeat(centres[:, None], n_features, axis=1), y, 1.0, rng)


def _make_circles(n_samples: int, **options: Any) -> Points:
    from sklearn.datasets import make_circles  # takes a while with all else that is there

    points: Points = make_circles(n_samples, factor=0.5, **options)
    return points


def _make_moons(n_samples: int, **options: Any) -> Points:
    from sklearn.datasets import make_moons

    points: Points = make_moons(n_samples, **options)
    return points


# Each problem with the noise at which its classes just about stay apart.
_TOY: dict[str, tuple[Callable[..., Points], float]] = {
    "circles": (_make_circles, 0.1),
    "moons": (_make_moons, 0.15),
    "xor": (make_xor, 0.05),
    "spirals": (make_spirals, 0.03),
}


def make_toy(
    name: str, n_samples: int = 400, noise: float | None = None, random_state: Any = None
) -> Points:
    """Draw a two-class problem in the plane by its name.

    Parameters
    ----------
    name : {"circles", "moons", "xor", "spirals"}
        Name of the problem; circles and moons are scikit-learn's.
    n_samples : int, default=400
        Number of points.
    noise : float or None, default=None
        Standard deviation of the Gaussian noise added to the points; a value that suits the
        problem if None.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Coordinates of the points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Raises
    ------
    ValueError
        If there is no problem of this name, or a parameter is no number of its kind.
    """
    if not isinstance(name, str) or name not in _TOY:
        raise ValueError(f"name must be one of {', '.join(map(repr, _TOY))}, got {shown(name)}")
    make, default_noise = _TOY[name]
    width = default_noise if noise is None else _width(noise)
    return make(_size(n_samples), noise=width, random_state=as_generator(random_state))
