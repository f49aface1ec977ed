"""Synthetic sets: toy problems to look at, and text at the size of the papers' sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_circles, make_moons

from kpegasos.utils.validation import as_generator, as_integer, as_number, draw_seed, shown

Points = tuple[NDArray[np.float64], NDArray[np.int64]]


#: Most points of a toy problem, few enough to be in memory.
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


def _xor(n_samples: int, *, noise: float, random_state: Any) -> Points:
    """Draw points of a square, whose class is 1 where the coordinates differ in sign."""
    quadrant = np.arange(n_samples) % 4
    # Quadrants are visited so that the classes alternate and stay balanced for any n_samples.
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])[quadrant]
    X = signs * random_state.uniform(size=(n_samples, 2))
    return _shuffled(X, quadrant % 2, noise, random_state)


def _spirals(n_samples: int, *, noise: float, random_state: Any) -> Points:
    """Draw two spirals of Archimedes that wind round each other inside the unit disc."""
    y = np.arange(n_samples) % 2
    # The square root spreads the points evenly along the arm, which grows longer with the radius.
    radius = np.sqrt(random_state.uniform(size=n_samples))
    angle = 3 * np.pi * radius + np.pi * y
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return _shuffled(X, y, noise, random_state)


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


# Each problem, with a noise at which its classes only just stay separate.
_TOY: dict[str, tuple[Callable[..., Points], float]] = {
    "circles": (partial(make_circles, factor=0.5), 0.1),
    "moons": (make_moons, 0.15),
    "xor": (_xor, 0.05),
    "spirals": (_spirals, 0.03),
}


def make_toy(
    name: str, n_samples: int = 400, noise: float | None = None, random_state: Any = None
) -> Points:
    """Draw a two-class problem in the plane by its name.

    Parameters
    ----------
    name : {"circles", "moons", "xor", "spirals"}
        Name of the problem; circles and moons are scikit-learn's. In "xor" the class is the sign of
        the product of the coordinates; the spirals wind round each other in the unit disc.
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


# --- text ---


#: Rows drawn from one seed. A data set is the beginning of an endless sequence of such blocks.
_BLOCK = 4096
#: The largest preference of a topic for one word of a pair.
_TILT = 0.8
#: Mandelbrot's shift of the ranks in Zipf's law: without stop words, the most frequent words differ
#: less in frequency than by Zipf's law.
_SHIFT = 20.0
_FLOATS = (np.float32, np.float64, "float32", "float64")


class _TextModel:
    """The distribution behind `make_text_like`: words in pairs, of which a topic prefers one."""

    def __init__(self, n_features: int, density: float, noise: float, dtype: Any, seed: int):
        self.n_features = n_features
        self.noise = noise
        self.dtype = dtype
        self.seed = seed
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        n_pairs = (n_features + 1) // 2
        self.tilt = rng.uniform(-_TILT, _TILT, n_pairs)
        self.column = rng.permutation(n_features).astype(np.int32)
        ranks = np.arange(n_pairs + 1)
        self.log_ratio = np.log1p(n_pairs / _SHIFT)
        of_pair = np.diff(np.log1p(ranks / _SHIFT)) / self.log_ratio
        of_word = np.repeat(of_pair / 2, 2)
        of_word[::2] *= 1 + self.tilt
        of_word[1::2] *= 1 - self.tilt
        if n_features % 2:  # the last word has no partner
            of_word[-2] = of_pair[-1]
            of_word = of_word[:-1]
        # Expected number of different words in a document of so many draws, of either topic.
        most = max(2.0, n_features / 2)
        self.draws = np.unique(np.geomspace(1, 50 * most, 120).round())
        log_absent = np.log1p(-np.minimum(of_word, 1 - 1e-12))
        self.different = np.array([-np.expm1(n * log_absent).sum() for n in self.draws])
        self.mean = density * n_features
        # Fraction of the documents that hold a word. Its inverse weights the word.
        shares = -np.expm1(np.interp(self.mean, self.different, self.draws) * log_absent)
        self.idf = np.empty(n_features, np.float32)
        self.idf[self.column] = 1 - np.log(shares)

    def block(self, index: int) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Draw the rows of one block."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(index,)))
        topic = rng.integers(2, size=_BLOCK)
        spread = 0.5
        wanted = self.mean * np.exp(spread * rng.standard_normal(_BLOCK) - spread**2 / 2)
        lengths = np.interp(wanted, self.different, self.draws).round().astype(np.int64)
        row = np.repeat(np.arange(_BLOCK), lengths)
        pair = np.expm1(self.log_ratio * rng.random(row.size, np.float32)) * _SHIFT
        pair = np.minimum(pair.astype(np.int64), self.tilt.size - 1)
        sign = 2 * topic - 1
        second = 2 * rng.random(row.size, np.float32) - 1 > self.tilt[pair] * sign[row]
        word = np.minimum(2 * pair + second, self.n_features - 1)
        entries = np.sort(row * self.n_features + self.column[word])
        first = np.flatnonzero(np.diff(entries, prepend=-1))
        count = np.diff(first, append=entries.size)
        row, column = np.divmod(entries[first], self.n_features)
        values = (1 + np.log(count.astype(np.float32))) * self.idf[column]
        ends = np.bincount(row, minlength=_BLOCK).cumsum()
        norms = np.sqrt(np.bincount(row, values * values, minlength=_BLOCK))
        values = (values / norms[row]).astype(self.dtype)
        label = np.where(rng.random(_BLOCK) < self.noise, -sign, sign)
        arrays = (values, column.astype(np.int32), np.concatenate([[0], ends]))
        return sparse.csr_matrix(arrays, shape=(_BLOCK, self.n_features)), label


def make_text_like(
    n_samples: int = 781_265,
    n_features: int = 47_236,
    density: float = 0.0016,
    *,
    noise: float = 0.06,
    dtype: Any = np.float32,
    random_state: Any = None,
) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """Draw documents of two topics: sparse, with Zipf's law, weighted by tf-idf, of length one.

    The defaults have the shape of the Pegasos papers' largest text set, RCV1 with the task CCAT,
    which may not be redistributed.

    Words come in pairs of equal frequency, by the law of Zipf and Mandelbrot. A document's topic
    prefers one word of each pair, by up to nine to one. Given the topic, words are independent, so
    the best classifier is linear in the counts; at the default sizes it mistakes the topic of one
    document in a thousand. Labels are the topics, each flipped with probability ``noise``, so no
    classifier errs less often than that: 6% by default, as on CCAT, where the papers' error at the
    optimum is 6.03%.

    Parameters
    ----------
    n_samples : int, default=781_265
        Number of documents. The first rows are the same for every number.
    n_features : int, default=47_236
        Number of words, at least 2.
    density : float, default=0.0016
        Expected fraction of all words that a document holds; lengths are log-normal.
    noise : float, default=0.06
        Probability of a flipped label.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the entries of X.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        Rows of length one.
    y : ndarray of shape (n_samples,), int64
        Labels -1 and +1.

    Raises
    ------
    ValueError
        If a size, the density or the noise is out of range.
    """
    n_samples = as_integer("n_samples", n_samples, least=1)
    n_features = as_integer("n_features", n_features, least=2, most=2**31 - 1)
    density, noise = as_number("density", density), as_number("noise", noise)
    if not 1 / n_features <= density <= 0.5:
        raise ValueError(
            f"density must be between 1 / n_features = {1 / n_features:g} and 0.5, got {density!r}"
        )
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be a fraction between 0 and 1, got {noise!r}")
    if not isinstance(dtype, type | str | np.dtype) or dtype not in _FLOATS:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype!r}")
    model = _TextModel(n_features, density, noise, dtype, draw_seed(random_state))
    X, y = zip(*map(model.block, range(-(-n_samples // _BLOCK))), strict=True)
    return sparse.vstack(X, format="csr")[:n_samples], np.concatenate(y)[:n_samples]
