"""One-vs-one: a binary problem for each pair of classes, its kernel rows, and SVC's vote.

Pairs are independent: each has its own index stream, rows and certificate, and may be trained in
any order, on any thread, or in step with the others, with the same result. They share packed
examples and the memory of rows. Signs follow SVC: in a pair (i, j), i < j, of several classes a
positive decision is a vote for i; with two classes it is one for the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, takewhile
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight

from kpegasos.core.problem import Problem, check_weights, lam_of_c
from kpegasos.fitting.inputs import Settings
from kpegasos.kernels.base import CallableKernel, Kernel, bounds_rounding, is_foreign
from kpegasos.kernels.decision import pairs_of_class
from kpegasos.kernels.functions import Linear
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.kernels.pairwise import PairwiseKernel, PlacedKernel
from kpegasos.losses import HINGE
from kpegasos.rows.base import RowSource, most_scaling
from kpegasos.rows.budget import ACCOUNT, KeptMemory, budget_mb, gram_mb_needed
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning
from kpegasos.utils.patience import Pace
from kpegasos.utils.validation import (
    LARGEST,
    LARGEST_SCALING,
    SMALLEST,
    as_number,
    check_labels,
    shown,
)

#: What weights are called in messages.
_WEIGHTS = "sample_weight (times class_weight)"
#: Smallest ``tol``, and largest C, for which kernel rows are float32.
_SMALLEST_TOL, _LARGEST_COST = 1e-5, 1e3
_EPS = float(np.finfo(np.float64).eps)


class Pair(NamedTuple):
    """A binary problem over some of the examples.

    Attributes
    ----------
    number : int
        Position among the pairs, in lexicographic order of their classes.
    classes : tuple of int
    members : ndarray of shape (n_pair,), int64
        Examples that belong to either class.
    problem : Problem
    """

    number: int
    classes: tuple[int, int]
    members: np.ndarray
    problem: Problem


@dataclass
class Pairs:
    """Binary problems over some of the examples; a `Pair` is made when it is asked for.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Classes.
    ends : ndarray of shape (n_pairs + 1,)
        Where each pair begins in the arrays below, and the last ends.
    members, y, weight : ndarray of shape (n_members,)
        Examples of all pairs, pair by pair, and their targets and weights in its problem.
    lam : ndarray of shape (n_pairs,)
    loss : Loss
    sizes : ndarray of shape (n_pairs,)
        Number of examples of each pair.
    free_intercept : bool
    offset : float
        Of a regression; see `Problem`.
    """

    first: np.ndarray
    second: np.ndarray
    ends: np.ndarray
    members: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    lam: np.ndarray
    loss: Any
    sizes: np.ndarray
    free_intercept: bool = False
    offset: float = 0.0

    def renamed(self, place: np.ndarray) -> Pairs:
        """Return the same pairs where example i is called ``place[i]``."""
        return replace(self, members=place[self.members])

    def spawn_keys(self, numbers: Iterable[int]) -> list[tuple[int, ...]]:
        """Return keys of the pairs' draws; a single pair has the draws of `pegasos`."""
        return [(number,) if self.lam.size > 1 else () for number in numbers]

    def members_of(self, number: int) -> np.ndarray:
        """Return the examples of a pair."""
        return self.members[self.ends[number] : self.ends[number + 1]]

    def __len__(self) -> int:
        return self.lam.size

    def __iter__(self) -> Iterator[Pair]:
        for number in range(len(self)):  # an error of Python's own does not end it, as it would map
            yield self[number]

    def __getitem__(self, key: int) -> Pair:
        number = range(len(self))[key]
        part = slice(self.ends[number], self.ends[number + 1])
        lam, free = self.lam.item(number), self.free_intercept
        own = self.y[part], self.weight[part], lam, self.loss
        problem = Problem(*own, None, free, self.offset)
        classes = self.first.item(number), self.second.item(number)
        return Pair(number, classes, self.members[part], problem)


def make_pairs(
    labels: np.ndarray,
    n_classes: int,
    weight: np.ndarray,
    lam: float | None,
    C: float,
    *,
    normalise: bool = True,
    grouped: bool = True,
    loss: Any = HINGE,
) -> Pairs:
    """Make the binary problems of all pairs of classes.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,), int
        Class numbers.
    n_classes : int
    weight : ndarray of shape (n_samples,)
        Examples of weight zero are left out.
    lam : float or None
        None for ``1 / (C · Σ weights of the pair)``, which is SVC's C.
    C : float
    normalise : bool, default=True
        Whether the weights of a pair are scaled to mean one; a chunk of a stream keeps its own.
    grouped : bool, default=True
        Whether the members of one class come before those of the other, as kernel blocks are
        shared by class; only matters for more than two classes.
    loss : Loss, default=Hinge()

    Raises
    ------
    ValueError
        If ``C`` and the weights make a ``lam`` that leaves no room for its square.
    """
    kept = np.flatnonzero(weight > 0)
    if n_classes == 2:
        first, second, ends = np.array([0]), np.array([1]), np.array([0, kept.size])
        members, is_positive = kept, labels[kept] == 1
    else:
        first, second = np.triu_indices(n_classes, 1)
        order = kept[_order(labels[kept], n_classes)]
        sizes = np.bincount(labels[kept], minlength=n_classes)
        begins = np.cumsum(sizes) - sizes
        of_first, of_pair = sizes[first], sizes[first] + sizes[second]
        ends = np.concatenate(([0], np.cumsum(of_pair)))
        place = np.arange(ends[-1]) - np.repeat(ends[:-1], of_pair)
        is_positive = place < np.repeat(of_first, of_pair)
        shift = np.repeat(begins[second] - of_first, of_pair)
        members = order[place + np.where(is_positive, np.repeat(begins[first], of_pair), shift)]
        if not grouped:
            in_order = np.lexsort((members, np.repeat(np.arange(first.size), of_pair)))
            members, is_positive = members[in_order], is_positive[in_order]
    y = np.where(is_positive, 1.0, -1.0)
    return _weighted(first, second, ends, members, y, weight, lam, C, loss, normalise)


def number_pairs(
    values: np.ndarray,
    weight: np.ndarray,
    lam: float | None,
    C: float,
    *,
    normalise: bool = True,
    loss: Any,
) -> Pairs:
    """Make the one problem of a regression.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Targets, less the offset.
    weight, lam, C, normalise, loss
        As in `make_pairs`.
    """
    members, alone = np.flatnonzero(weight > 0), np.array([0])
    ends = np.array([0, members.size])
    return _weighted(alone, alone, ends, members, values[members], weight, lam, C, loss, normalise)


def _weighted(
    first: np.ndarray,
    second: np.ndarray,
    ends: np.ndarray,
    members: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    lam: float | None,
    C: float,
    loss: Any,
    normalise: bool,
) -> Pairs:
    """Make pairs with a ``lam`` each, and with weights of mean one if ``normalise``."""
    sizes = np.diff(ends)
    own, lams = weight[members], np.full(first.size, 0.0 if lam is None else lam)
    if (own == 1.0).all():  # and so is any mean
        if lam is None:
            of_size = {size: _lam(C, float(size), size) for size in set(sizes.tolist())}
            lams = np.array([of_size[size] for size in sizes.tolist()])
    else:
        for number, (begin, end) in enumerate(pairwise(ends.tolist())):
            part = own[begin:end]
            lams[number] = _lam(C, float(part.sum()), part.size) if lam is None else lam
            if normalise:
                own[begin:end] = part / part.mean()
    return Pairs(first, second, ends, members, y, own, lams, loss, sizes)


def _order(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return a stable order by class number."""
    # NumPy has a radix sort for short integers, which takes a fraction of the time.
    short = labels.astype(np.uint16) if n_classes <= 1 << 16 else labels
    return np.argsort(short, kind="stable")


def _lam(C: float, total: float, n_samples: int) -> float:
    """Return `lam_of_c` for so many weights with this sum, class weights included."""
    return lam_of_c(C, total, n_samples, _WEIGHTS)


def class_weights(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the weight of each class.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : ndarray of shape (n_classes,)
    y : ndarray of shape (n_samples,)
        Classes of the examples, for ``"balanced"``.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the examples, for ``"balanced"``.

    Raises
    ------
    ValueError
        If a weight is not positive and finite.
    """
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, dict):
        limits = {"least": SMALLEST, "most": LARGEST}
        class_weight = {
            label: as_number(f"class_weight of {shown(label)}", value, positive=True, **limits)
            for label, value in class_weight.items()
        }
    if class_weight == "balanced":
        totals = np.bincount(np.searchsorted(classes, y), weight)
        by_class = totals.sum() / (classes.size * totals)
    else:
        by_class = compute_class_weight(class_weight, classes=classes, y=y)
    if not (np.isfinite(by_class).all() and by_class.min() > 0):
        raise ValueError(
            f"class_weight must be positive and finite for every class, got "
            f"{by_class.tolist()} for {classes.tolist()} instead"
        )
    return by_class


def check_weight_range(weight: np.ndarray) -> None:
    """Check that weights, class weights included, leave room for their sums and squares.

    Raises
    ------
    ValueError
        If a positive one is too small or too large.
    """
    check_weights(_WEIGHTS, weight)


def vote(decisions: np.ndarray, n_classes: int, tie_order: np.ndarray | None = None) -> np.ndarray:
    """Return class numbers by LIBSVM's vote: ties go to the lowest class.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Positive for the first class of the pair.
    n_classes : int
    tie_order : ndarray of shape (n_classes,), default=None
        Class numbers in the order in which ties go to them, if it is another.
    """
    votes = np.zeros((decisions.shape[0], n_classes), dtype=np.int32)
    begin = 0
    for i in range(n_classes - 1):  # its pairs with later classes are adjacent
        end = begin + n_classes - 1 - i
        wins = decisions[:, begin:end] > 0
        votes[:, i] += np.count_nonzero(wins, axis=1)
        votes[:, i + 1 :] += ~wins
        begin = end
    if tie_order is None:
        return np.asarray(votes.argmax(axis=1))
    return np.asarray(tie_order[votes[:, tie_order].argmax(axis=1)])


def one_vs_rest(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Return votes made continuous by the decisions, of shape (n_samples, n_classes), as in SVC."""
    votes = np.zeros((decisions.shape[0], n_classes))
    sums = np.zeros_like(votes)
    for (first, second), own in zip(combinations(range(n_classes), 2), decisions.T, strict=True):
        is_second = own < 0
        votes[:, first] += ~is_second
        votes[:, second] += is_second
        sums[:, first] += own
        sums[:, second] -= own
    # Less than a third, so that the order of the votes stays.
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def one_vs_rest_bounds(
    lower: np.ndarray, upper: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bound `one_vs_rest` for all decisions within bounds: it grows with a class's own decisions.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_samples, n_pairs)
        May be infinite.
    n_classes : int

    Returns
    -------
    least, most : ndarray of shape (n_samples, n_classes)
        Rounded to whole numbers, they are the least and most votes.
    """
    least, most = np.empty((2, len(lower), n_classes))
    for number in range(n_classes):
        pairs = pairs_of_class(number, n_classes)
        is_first = np.arange(n_classes - 1) >= number
        worst = np.where(is_first, lower[:, pairs], -upper[:, pairs])
        best = np.where(is_first, upper[:, pairs], -lower[:, pairs])
        for values, wins, margins in ((least, worst > 0.0, worst), (most, best >= 0.0, best)):
            total = np.clip(margins.sum(axis=1), -LARGEST, LARGEST)
            values[:, number] = wins.sum(axis=1) + total / (3.0 * (np.abs(total) + 1.0))
        # That of the sums; the quotient changes no faster than they do.
        sizes = np.clip(np.maximum(np.abs(worst), np.abs(best)), 0.0, 1.0 / _EPS)
        rounding = np.minimum(n_classes * _EPS * (sizes.sum(axis=1) + 1.0), 0.1)
        least[:, number] -= rounding
        most[:, number] += rounding
    return least, most


def is_decided(least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return where all values within bounds have the same first maximum; of shape (n_samples,).

    Parameters
    ----------
    least, most : ndarray of shape (n_samples, n_classes)
        Bounds of votes, or from `one_vs_rest_bounds`. What a pair gives to one of its classes it
        takes from the other, so that the least of one comes with the most of the other.
    """
    rows, winner = np.arange(len(least)), least.argmax(axis=1)
    own, classes = least[rows, winner][:, None], np.arange(least.shape[1])
    behind = np.where(classes < winner[:, None], most < own, most <= own)
    behind[rows, winner] = True
    return np.asarray(behind.all(axis=1))


def assemble_counts(pairs: Pairs, counts: np.ndarray, n_samples: int) -> Any:
    """Return counts of all pairs over all examples; of several pairs, without the zeros.

    Parameters
    ----------
    pairs : Pairs
    counts : ndarray of shape (n_members,)
        Counts of each pair's members.
    n_samples : int

    Returns
    -------
    ndarray of shape (n_samples,), or csr_array of shape (len(pairs), n_samples)
        With sorted columns, of the dtype of the counts.
    """
    if len(pairs) == 1:
        alpha = np.zeros(n_samples, counts.dtype)
        alpha[pairs.members] = counts
        return alpha
    positive = counts.nonzero()[0]
    rows, columns = np.repeat(np.arange(len(pairs)), pairs.sizes)[positive], pairs.members[positive]
    order = np.lexsort((columns, rows))
    ends = np.searchsorted(positive, pairs.ends)
    values = counts[positive][order]
    return sparse.csr_array((values, columns[order], ends), shape=(len(pairs), n_samples))


def assemble(
    pairs: Pairs, coefs: np.ndarray, labels: np.ndarray, n_classes: int
) -> dict[str, np.ndarray]:
    """Collect the pairs' coefficients over the union of their support vectors, in SVC's layout.

    Parameters
    ----------
    pairs : Pairs
    coefs : ndarray of shape (n_members,)
        Signed coefficients of each pair's members.
    labels : ndarray of shape (n_samples,), int
    n_classes : int

    Returns
    -------
    dict
        ``support_``, the examples grouped by class; ``n_support_`` of each class; ``dual_coef_`` of
        shape (n_classes - 1, n_support_vectors), for a support vector of class i its coefficients
        against the other classes, in order.
    """
    found = np.flatnonzero(coefs)
    members, coefs = pairs.members[found], coefs[found]
    used = np.zeros(labels.size, dtype=bool)
    used[members] = True
    support = np.flatnonzero(used)
    support = support[_order(labels[support], n_classes)]
    place = np.empty(labels.size, dtype=np.intp)
    place[support] = np.arange(support.size)
    rows: Any = 0
    if n_classes > 2:
        number = np.searchsorted(pairs.ends, found, side="right") - 1
        first, second = pairs.first[number], pairs.second[number]
        rows = np.where(labels[members] == first, second - 1, first)
    dual_coef = np.zeros((n_classes - 1, support.size))
    dual_coef[rows, place[members]] = coefs
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return {"support_": support, "n_support_": n_support, "dual_coef_": dual_coef}


def pair_coefficients(dual_coef: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """Return each pair's coefficients over all support vectors: (n_pairs, n_support_vectors)."""
    n_classes = n_support.size
    if n_classes == 2:
        return dual_coef
    ends = np.concatenate(([0], np.cumsum(n_support)))
    pairs = list(combinations(range(n_classes), 2))
    coefs = np.zeros((len(pairs), dual_coef.shape[1]))
    for number, (i, j) in enumerate(pairs):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        coefs[number, of_i] = dual_coef[j - 1, of_i]
        coefs[number, of_j] = dual_coef[i, of_j]
    return coefs


class Targets(NamedTuple):
    """Class numbers and weights of the examples.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int
        Class numbers.
    weight : ndarray of shape (n_samples,)
        With class weights; zero for examples that take no part.
    classes : ndarray of shape (n_classes,)
    """

    labels: np.ndarray
    weight: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, class_weight: Any) -> Targets:
        """Number the classes of positive weight, and apply the class weights."""
        classes, labels = np.unique(y, return_inverse=True)
        check_labels(y, classes.size)
        kept = weight > 0
        present = np.flatnonzero(np.bincount(labels[kept], minlength=classes.size))
        if present.size < 2:
            raise ValueError(
                f"y must have at least two classes (with positive weight), got "
                f"{present.size} class: {classes[present].tolist()}"
            )
        if present.size < classes.size:
            classes = classes[present]
            in_class = np.isin(labels, present)
            labels = np.where(in_class, np.searchsorted(present, labels), 0)
        if class_weight is not None:
            by_class = class_weights(class_weight, classes, classes[labels[kept]], weight[kept])
            weight = weight * by_class[labels]
            check_weight_range(weight)
        return cls(labels, weight, classes)

    def pairs(self, settings: Settings) -> Pairs:
        """Make the binary problems of all pairs of classes."""
        k = settings.options.batch_size
        pairs = make_pairs(
            self.labels,
            self.classes.size,
            self.weight,
            settings.lam,
            settings.C,
            # Kernel values are shared by class; contiguous draws of features want the order of X.
            grouped="kernel" in settings.own or settings.options.sampling != "contiguous",
            loss=settings.loss,
        )
        for pair in (pairs[number] for number in np.flatnonzero(k > pairs.sizes).tolist()):
            raise ValueError(
                f"batch_size must be at most the number of examples of each pair of classes, "
                f"{pair.members.size} for classes {self.classes[list(pair.classes)].tolist()}, "
                f"got {k} instead"
            )
        return pairs


class Numbers(NamedTuple):
    """Targets and weights of a regression.

    Attributes
    ----------
    values : ndarray of shape (n_samples,), float64
        Less the offset.
    weight : ndarray of shape (n_samples,)
        Zero for examples that take no part.
    offset : float
        What is subtracted from the targets, and added to predictions.
    """

    values: np.ndarray
    weight: np.ndarray
    offset: float

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, *, centred: bool) -> Numbers:
        """Subtract a weighted median from the targets if they are to be centred."""
        check_weight_range(weight)
        offset = 0.0
        if centred:
            order = np.argsort(y, kind="stable")
            sums = np.cumsum(weight[order])
            offset = float(y[order[np.searchsorted(sums, 0.5 * sums[-1])]])
        return cls(y - offset, weight, offset)

    def pairs(self, settings: Settings) -> Pairs:
        """Make the one problem, over the examples of positive weight."""
        pairs = number_pairs(self.values, self.weight, settings.lam, settings.C, loss=settings.loss)
        pairs.offset = self.offset
        return pairs


# --- the kernel rows of a pair ---


#: Moving a free intercept by the size of a target costs a penalty of at most half this share of
#: what the move may save in losses.
_MOVE = 0.1


def constant_of(settings: Settings, pairs: Pairs, diagonal: np.ndarray) -> float:
    """Return the size of the constant feature.

    With a free intercept b it follows the typical length of an example: the problem does not depend
    on it, but the steps do. It grows with lam, as a move of b by δ costs ``lam/2 (δ / size)²``.

    Parameters
    ----------
    settings : Settings
    pairs : Pairs
    diagonal : ndarray of shape (n_samples,)
        Kernel values of examples with themselves.
    """
    size = settings.intercept_scaling
    if not settings.free_intercept:
        return size
    target = 1.0 + float(np.abs(pairs.y).mean())
    squared = max(float(np.abs(diagonal).mean()), float(pairs.lam.max()) * target / _MOVE)
    return min(size * squared**0.5, 0.5 * most_scaling(float(pairs.lam.min())), LARGEST_SCALING)


#: Seconds a value from which on a user's function of rows is costly: several times what it takes
#: to keep one.
_COSTLY = 1e-5


def placed_within(kernel: Any, X: Any, cache_mb: float | str) -> tuple[Any, Any, float]:
    """Return a costly kernel as one between places, and these; any other kernel and X unchanged.

    A `PairwiseKernel` is costly, and so is a user's own function of rows if it is slow.

    Parameters
    ----------
    kernel : Kernel or PairwiseKernel
    X : ndarray or CSR matrix of shape (n_samples, n_features), or ndarray of objects
    cache_mb : float or "auto"
        Budget, half of which is for the values that a function of rows keeps.

    Returns
    -------
    kernel, X : Kernel, ndarray or CSR matrix
    share : float
        Share of the budget for kernel rows.
    """
    if isinstance(kernel, PairwiseKernel):
        placed = PlacedKernel(kernel, X)
        return placed, placed.places, 1.0
    if not is_foreign(kernel):
        return kernel, X, 1.0
    pace = Pace()
    if pace.is_quick(kernel.block, X, X, X.shape[0] ** 2) or pace.seconds_each < _COSTLY:
        return kernel, X, 1.0
    rows = np.empty(X.shape[0], dtype=object)
    for place in range(rows.size):
        rows[place] = X[place : place + 1] if sparse.issparse(X) else X[place]
    of_rows = PairwiseKernel(
        kernel.block,
        blocks=True,
        # A function's own diagonal is made of blocks.
        diagonal=None if isinstance(kernel, CallableKernel) else kernel.diag,
        positive_definite=kernel.positive_definite,
        cache_mb=0.5 * budget_mb(cache_mb, 16.0 * X.shape[0] ** 2 / tuning.MEBIBYTE),
    )
    placed = PlacedKernel(of_rows, rows)
    return placed, placed.places, 0.5


class KernelRows:
    """Makes the rows of any pair from a kernel.

    Parameters
    ----------
    kernel : Kernel or None
        None if X is the kernel matrix.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
    settings : Settings
        ``cache_mb`` is what the kernel values of all pairs that are trained at once may take.

    Attributes
    ----------
    whole : GramRows or None
        The kernel matrix of all examples, of which the rows of all pairs are parts.
    at_once : bool
        Whether `prepare` computes it, as it is small.
    is_costly : bool
        Whether a single kernel value takes long.
    is_quick : bool
        Whether the kernel bounds its rounding, as fast ones do: its matrix takes no longer than the
        pairs one by one.
    centre : ndarray of shape (n_features,) or None
        What is subtracted from the rows, if anything is. With a linear kernel and a free intercept
        that leaves the problem unchanged, and small columns visible in kernel values.
    """

    whole: GramRows | None = None
    centre: np.ndarray | None = None
    at_once = is_quick = is_costly = False

    def __init__(self, kernel: Kernel | None, X: Any, pairs: Pairs, settings: Settings) -> None:
        self._settings, self._memory = settings, KeptMemory()
        if kernel is None:
            constant = constant_of(settings, pairs, X.diagonal())
            self.whole, self._pairs = GramRows(X, intercept_scaling=constant), pairs
            return
        X, pairs = _without_unused(X, pairs)
        is_linear = type(kernel) is Linear
        self.centre = far_centre(X) if is_linear and settings.free_intercept else None
        if self.centre is not None:
            X = X - self.centre
        kernel, X, share = placed_within(kernel, X, settings.own["cache_mb"])
        self.is_costly = isinstance(kernel, PlacedKernel)
        self._kernel, self._X, self._pairs = kernel, X, pairs
        self._cache: str = settings.own["cache"]
        self.is_quick, sizes = bounds_rounding(kernel), pairs.sizes
        small = int(sizes.max()) <= tuning.SMALL_PAIR
        row_dtype = settings.own["row_dtype"]
        if small and len(pairs) > 1 and row_dtype == "auto" and self.is_quick:
            row_dtype = "float64"  # margins of few examples in float32 would all be computed again
        self._dtype = dtype_of_rows(
            row_dtype,
            kernel,
            X,
            # A later fit that goes on from here may ask for another tol.
            None if settings.warm_start else settings.tol,
            _largest_cost(pairs),
            plain=settings.tol is None and not settings.warm_start,
        )
        # For the matrix of all examples, and those of all pairs. The budget is found once: memory
        # that the first pair takes is no longer free for the second.
        itemsize = np.dtype(self._dtype or X.dtype).itemsize
        needed_mb = int(X.shape[0] ** 2 + (sizes**2).sum()) * itemsize / tuning.MEBIBYTE
        self._budget = share * budget_mb(settings.own["cache_mb"], needed_mb / share)
        if len(pairs) == 1:  # which is trained in compiled code where it is small
            most = tuning.SMALL_PAIR if settings.counts and self.is_quick else 0
        else:
            most = tuning.SMALL_PAIRS_GRAM if small else tuning.GRAM_SAMPLES
        wanted = self._cache in ("auto", "precomputed")
        if wanted and not self.is_costly and X.shape[0] <= most and needed_mb <= self._budget:
            grant = ACCOUNT.grant(needed_mb, 0.0)
            if grant.mb >= needed_mb:
                self.at_once, self._grant = True, grant
        self._lock = Lock()
        self._shared: KernelMatrix | None = None

    @property
    def is_double(self) -> bool:
        """Whether values are float64."""
        if self.whole is not None:
            return self.whole.gram.dtype == np.float64
        return np.dtype(self._dtype or self._X.dtype) == np.float64

    @property
    def members(self) -> np.ndarray:
        """Examples of all pairs, pair by pair, as rows of the kernel matrix."""
        return self._pairs.members

    def prepare(self) -> None:
        """Compute the matrix, of which the rows of all pairs are parts."""
        order, pairs, grant = None, self._pairs, self._grant
        del self._grant  # nothing is granted any more if this is cut short
        if len(pairs) > 1:
            # Sorted by class, so that each pair copies its values in four blocks.
            order = np.concatenate(_members_by_class(pairs))
            place = np.empty_like(order)
            place[order] = np.arange(order.size)
            pairs = pairs.renamed(place)
        values = KernelMatrix(self._kernel, self._X, order, row_dtype=self._dtype)
        constant = constant_of(self._settings, pairs, values.diagonal)
        # Both at the end: if this is cut short, the places of the rows stay as they were.
        self.whole = GramRows.from_values(values, intercept_scaling=constant)
        self.whole.grant = grant
        self._pairs = pairs

    def __call__(self, pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        """Make the rows of a pair.

        Parameters
        ----------
        pair : Pair
        n_at_once : int
            Number of pairs that share the budget.
        brief : bool
            Whether a run will make so few draws that rows computed ahead would be wasted.
        """
        settings, pairs = self._settings, self._pairs
        if self.whole is not None:
            return self.whole.subset(self._pairs.members_of(pair.number), claims=pair.number == 0)
        unclaimed = 0
        with self._lock:
            if self._shared is None:
                kernel, X, dtype = self._kernel, self._X, self._dtype
                if len(pairs) == 1:
                    self._shared = KernelMatrix(kernel, X, row_dtype=dtype)
                else:
                    self._shared, self._sizes = share_classes(kernel, X, pairs, dtype)
                # Values of the diagonal, perhaps in several attempts; the first pair counts them.
                unclaimed = self._shared.spent
        values = self._shared
        if len(pairs) > 1:
            values = of_classes(values, self._sizes, pair.classes)
        cache = "streamed" if brief and self._cache in ("auto", "precomputed") else self._cache
        if settings.polish and cache == "auto" and _keeps_fewer(values, self._budget / n_at_once):
            cache = "cached"
        source = choose_source(
            values,
            cache=cache,
            cache_mb=self._budget,
            unasked=settings.own["cache_mb"] == "auto",
            shares=n_at_once,
            intercept_scaling=constant_of(settings, pairs, values.diagonal),
        )
        source.unclaimed += unclaimed
        return source


def far_centre(X: Any) -> np.ndarray | None:
    """Return the means of columns that are far from zero, and 0 for others; None without any.

    The values of such a column have one sign, and the largest is at most twice the smallest in
    size, so that no difference from their mean is rounded (Sterbenz 1974).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    """
    if sparse.issparse(X):
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    is_far = ((low > 0) & (high <= 2 * low)) | ((high < 0) & (low >= 2 * high))
    if not is_far.any():
        return None
    mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return np.where(is_far, np.clip(mean, low, high), X.dtype.type(0))


def _largest_cost(pairs: Pairs) -> float:
    """Return the largest C of an example."""
    if not pairs.weight.size:
        return 0.0
    largest = np.maximum.reduceat(pairs.weight, pairs.ends[:-1])
    return float((largest / (pairs.lam * pairs.sizes)).max())


def _without_unused(X: Any, pairs: Pairs) -> tuple[Any, Pairs]:
    """Return rows of X that belong to a pair, and the pairs with their new places.

    So examples of weight zero move no centre and reach no kernel.
    """
    used = np.zeros(X.shape[0], dtype=bool)
    used[pairs.members] = True
    if used.all():
        return X, pairs
    return X[used], pairs.renamed(np.cumsum(used) - 1)


def _keeps_fewer(values: KernelMatrix, share_mb: float) -> bool:
    """Check whether dual ascent needs few rows of a matrix that would be computed as a whole."""
    few = tuning.POLISHED_GRAM_SAMPLES < values.n_samples <= tuning.GRAM_SAMPLES
    return few and gram_mb_needed(values) <= share_mb


def dtype_of_rows(
    row_dtype: str,
    kernel: Kernel,
    X: Any,
    tol: float | None = None,
    largest_cost: float = 1.0,
    *,
    plain: bool = False,
) -> str | None:
    """Choose the precision of kernel rows, by the data and the parameters alone.

    ``"auto"`` is float32 for more than ``FLOAT32_SAMPLES`` examples, as LIBSVM keeps them, and for
    more than ``PLAIN_FLOAT32_SAMPLES`` examples where neither ``tol`` nor ``polish`` nor
    ``warm_start`` asks for a gap. The kernel has to bound the rounding of its values, and neither
    ``tol`` nor the largest C of an example may need more digits: margins are sums of up to C times
    a kernel value.

    Returns
    -------
    "float32", "float64" or None, for the dtype of X
    """
    if row_dtype != "auto":
        return row_dtype
    many = X.shape[0] > (tuning.PLAIN_FLOAT32_SAMPLES if plain else tuning.FLOAT32_SAMPLES)
    accurate = largest_cost > _LARGEST_COST or (tol is not None and tol < _SMALLEST_TOL)
    narrow = many and not accurate and bounds_rounding(kernel)
    return "float32" if narrow else None


def _members_by_class(pairs: Iterable[Pair]) -> list[np.ndarray]:
    """Return the members of each class, from the pairs (0, j), which are grouped by class."""
    by_class = list(takewhile(lambda pair: pair.classes[0] == 0, pairs))
    first = int((by_class[0].problem.y > 0).sum())
    return [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]


def share_classes(
    kernel: Kernel,
    X: Any,
    pairs: Sequence[Pair] | Pairs,
    row_dtype: str | None = None,
    work_dtype: str | None = None,
) -> tuple[KernelMatrix, list[int]]:
    """Return one kernel matrix over all classes, one after another, and how large each is."""
    members = _members_by_class(pairs)
    order, sizes = np.concatenate(members), [each.size for each in members]
    return KernelMatrix(kernel, X, order, row_dtype=row_dtype, work_dtype=work_dtype), sizes


def of_classes(values: KernelMatrix, sizes: list[int], classes: tuple[int, int]) -> KernelMatrix:
    """Return the part of a matrix of `share_classes` that belongs to two classes."""
    starts = [sum(sizes[:k]) for k in classes]
    ranges = [np.arange(start, start + sizes[k]) for start, k in zip(starts, classes, strict=True)]
    return values.subset(np.concatenate(ranges))
