"""One-vs-one: a binary problem for each pair of classes, and SVC's vote over them.

Pairs are independent: each has its own index stream, rows and certificate, and may be trained in
any order, on any thread, or in step with the others, with the same result. Signs follow SVC: in a
pair (i, j), i < j, of several classes a positive decision is a vote for i; with two classes it is
one for the second.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.core.problem import Problem, check_weights, lam_of_c
from kpegasos.estimators._sklearn_compat import one_vs_rest_values, weights_by_class
from kpegasos.losses import HINGE


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
) -> list[Pair]:
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
    by_class = _by_class(labels, kept, n_classes) if n_classes > 2 else []
    grouped = grouped and n_classes > 2
    pairs = []
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        if n_classes == 2:
            members = kept
        else:
            members = np.concatenate((by_class[i], by_class[j]))
            if not grouped:
                members.sort()
        positive = j if n_classes == 2 else i
        y = np.where(labels[members] == positive, 1.0, -1.0)
        own = weight[members]
        pair_lam = lam_of_weights(C, own) if lam is None else lam
        # Labels and weights need no check of `make_problem`: they have been made and checked here.
        problem = Problem(y, own / own.mean() if normalise else own, pair_lam, loss)
        pairs.append(Pair(number, (i, j), members, problem))
    return pairs


def _by_class(labels: np.ndarray, kept: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """Those examples that are kept, in order, class by class."""
    of_kept = labels[kept]
    order = kept[_order(of_kept, n_classes)]
    ends = np.cumsum(np.bincount(of_kept, minlength=n_classes))
    return np.split(order, ends[:-1])


def _order(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Stable order by class number."""
    # NumPy sorts short integers by their digits, in a fraction of the time.
    short = labels.astype(np.uint16) if n_classes <= 1 << 16 else labels
    return np.argsort(short, kind="stable")


def lam_of_weights(C: float, weight: np.ndarray) -> float:
    """`lam_of_c` of weights that class weights are part of."""
    total = float(weight.sum())
    return lam_of_c(C, total, weight.size, "sample_weight (times class_weight)")


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
    by_class = weights_by_class(class_weight, classes, y, weight)
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
    check_weights("sample_weight (times class_weight)", weight)


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
    return one_vs_rest_values(decisions < 0, -decisions, n_classes)


def assemble_counts(pairs: list[Pair], counts: list[np.ndarray], n_samples: int) -> Any:
    """Counts of all pairs over all examples, without the zeros.

    Parameters
    ----------
    pairs : list of Pair
    counts : list of ndarray
        Counts of each pair's members.
    n_samples : int

    Returns
    -------
    csr_array of shape (len(pairs), n_samples)
        With sorted columns, of the dtype of the counts.
    """
    columns, values = [], []
    for pair, count in zip(pairs, counts, strict=True):
        positive = count.nonzero()[0]
        members = pair.members[positive]
        order = members.argsort()
        columns.append(members[order])
        values.append(count[positive[order]])
    ends = np.cumsum([0, *(column.size for column in columns)])
    return sparse.csr_array(
        (np.concatenate(values), np.concatenate(columns), ends), shape=(len(pairs), n_samples)
    )


class SupportSet(NamedTuple):
    """The union of the pairs' support vectors in SVC's layout.

    Attributes
    ----------
    support : ndarray of shape (n_support_vectors,)
        Indices of the examples, grouped by class.
    n_support : ndarray of shape (n_classes,)
    dual_coef : ndarray of shape (n_classes - 1, n_support_vectors)
        For a support vector of class i: its coefficients against the other classes, in order.
    """

    support: np.ndarray
    n_support: np.ndarray
    dual_coef: np.ndarray


def assemble(
    pairs: list[Pair], coefs: list[np.ndarray], labels: np.ndarray, n_classes: int
) -> SupportSet:
    """Collect the pairs' coefficients.

    Parameters
    ----------
    pairs : list of Pair
    coefs : list of ndarray
        Signed coefficients of each pair's members.
    labels : ndarray of shape (n_samples,), int
    n_classes : int
    """
    everything = np.zeros((n_classes - 1, labels.size))
    used = np.zeros(labels.size, dtype=bool)
    for pair, coef in zip(pairs, coefs, strict=True):
        i, j = pair.classes
        if n_classes == 2:
            everything[0, pair.members] = coef
        else:
            against = np.where(labels[pair.members] == i, j - 1, i)
            everything[against, pair.members] = coef
        used[pair.members] |= coef != 0.0
    support = np.flatnonzero(used)
    support = support[_order(labels[support], n_classes)]
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return SupportSet(support, n_support, everything[:, support])


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
