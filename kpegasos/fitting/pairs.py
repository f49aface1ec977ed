"""One-vs-one: a binary problem for each pair of classes, and SVC's vote over them.

Pairs are independent: each has its own index stream, rows and certificate, and may be trained in
any order, on any thread, or in step with the others, with the same result. Signs follow SVC: in a
pair (i, j), i < j, of several classes a positive decision is a vote for i; with two classes it is
one for the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from kpegasos.core.problem import Problem, check_weights, lam_of_c
from kpegasos.fitting.settings import Settings
from kpegasos.losses import HINGE
from kpegasos.utils.validation import LARGEST, SMALLEST, as_number, check_labels, shown

#: What weights are called in messages.
_WEIGHTS = "sample_weight (times class_weight)"


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

    def renamed(self, place: np.ndarray) -> Pairs:
        """The same pairs where example i is called ``place[i]``."""
        return replace(self, members=place[self.members])

    def __len__(self) -> int:
        return self.lam.size

    def __iter__(self) -> Iterator[Pair]:
        for number in range(len(self)):  # an error of Python's own does not end it, as it would map
            yield self[number]

    def __getitem__(self, key: int) -> Pair:
        number = range(len(self))[key]
        part = slice(self.ends[number], self.ends[number + 1])
        problem = Problem(self.y[part], self.weight[part], self.lam.item(number), self.loss)
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
    """Binary problems of all pairs of classes.

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
    """Make pairs with a ``lam`` each, and weights of mean one if they are to be."""
    sizes = np.diff(ends)
    own, lams = weight[members], np.full(first.size, 0.0 if lam is None else lam)
    if (own == 1.0).all():  # and so is any mean
        if lam is None:
            kinds, kind = np.unique(sizes, return_inverse=True)
            lams = np.array([_lam(C, float(size), size) for size in kinds.tolist()])[kind]
    else:
        for number, (begin, end) in enumerate(pairwise(ends.tolist())):
            part = own[begin:end]
            lams[number] = _lam(C, float(part.sum()), part.size) if lam is None else lam
            if normalise:
                own[begin:end] = part / part.mean()
    return Pairs(first, second, ends, members, y, own, lams, loss, sizes)


def _order(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Stable order by class number."""
    # NumPy sorts short integers by their digits, in a fraction of the time.
    short = labels.astype(np.uint16) if n_classes <= 1 << 16 else labels
    return np.argsort(short, kind="stable")


def _lam(C: float, total: float, n_samples: int) -> float:
    """`lam_of_c` of so many weights, of which class weights are part, with this sum."""
    return lam_of_c(C, total, n_samples, _WEIGHTS)


def class_weights(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Weight of each class.

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
    """Class numbers by LIBSVM's vote: ties go to the lowest class.

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
    for i in range(n_classes - 1):  # whose pairs with later classes stand together
        end = begin + n_classes - 1 - i
        wins = decisions[:, begin:end] > 0
        votes[:, i] += np.count_nonzero(wins, axis=1)
        votes[:, i + 1 :] += ~wins
        begin = end
    if tie_order is None:
        return np.asarray(votes.argmax(axis=1))
    return np.asarray(tie_order[votes[:, tie_order].argmax(axis=1)])


def one_vs_rest(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes made continuous by the decisions, of shape (n_samples, n_classes), as in SVC."""
    return np.asarray(_ovr_decision_function(decisions < 0, -decisions, n_classes))


def assemble_counts(pairs: Pairs, counts: np.ndarray, n_samples: int) -> Any:
    """Counts of all pairs over all examples, without the zeros.

    Parameters
    ----------
    pairs : Pairs
    counts : ndarray of shape (n_members,)
        Counts of each pair's members.
    n_samples : int

    Returns
    -------
    csr_array of shape (len(pairs), n_samples)
        With sorted columns, of the dtype of the counts.
    """
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
    everything = np.zeros((n_classes - 1, labels.size))
    used = np.zeros(labels.size, dtype=bool)
    members = pairs.members
    used[members[coefs != 0.0]] = True
    if n_classes == 2:
        everything[0, members] = coefs
    else:
        first, second = (np.repeat(of, pairs.sizes) for of in (pairs.first, pairs.second))
        everything[np.where(labels[members] == first, second - 1, first), members] = coefs
    support = np.flatnonzero(used)
    support = support[_order(labels[support], n_classes)]
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return {"support_": support, "n_support_": n_support, "dual_coef_": everything[:, support]}


def pair_coefficients(dual_coef: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """Coefficients of each pair over the union of support vectors: (n_pairs, n_support_vectors)."""
    n_classes = n_support.size
    ends = np.concatenate(([0], np.cumsum(n_support)))
    pairs = list(combinations(range(n_classes), 2))
    coefs = np.zeros((len(pairs), dual_coef.shape[1]))
    for number, (i, j) in enumerate(pairs):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        coefs[number, of_i] = dual_coef[j - 1, of_i]
        coefs[number, of_j] = dual_coef[i, of_j]
    return coefs


class Targets(NamedTuple):
    """Classes of the examples, and what they count.

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
        """Number the classes, and weight them; those of weight zero are absent."""
        check_labels(y)
        classes, labels = np.unique(y, return_inverse=True)
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
            # Neighbours in X are to stay neighbours.
            grouped=settings.options.sampling != "contiguous",
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
    """Targets of a regression, and what they count.

    Attributes
    ----------
    values : ndarray of shape (n_samples,), float64
        Less the offset.
    weight : ndarray of shape (n_samples,)
        Zero for examples that take no part.
    offset : float
        What is taken off the targets, and added to predictions.
    """

    values: np.ndarray
    weight: np.ndarray
    offset: float

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, *, centred: bool) -> Numbers:
        """Take a weighted median off the targets if they are to be centred."""
        check_weight_range(weight)
        offset = 0.0
        if centred:
            order = np.argsort(y, kind="stable")
            sums = np.cumsum(weight[order])
            offset = float(y[order[np.searchsorted(sums, 0.5 * sums[-1])]])
        return cls(y - offset, weight, offset)

    def pairs(self, settings: Settings) -> Pairs:
        """Make the one problem, over the examples that count."""
        return number_pairs(self.values, self.weight, settings.lam, settings.C, loss=settings.loss)
