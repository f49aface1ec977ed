"""One-vs-one: a binary problem for each pair of classes, and SVC's vote over them.

Pairs are independent: each has its own index stream, rows and certificate, and may be trained in
any order, on any thread, or in step with the others, with the same result. Signs follow SVC: in a
pair (i, j), i < j, of several classes a positive decision is a vote for i; with two classes it is
one for the second.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils.multiclass import _ovr_decision_function
from threadpoolctl import threadpool_limits

from kpegasos.core.problem import Problem, make_problem
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.threads import available_threads


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
    """
    pairs = []
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        members = np.flatnonzero(((labels == i) | (labels == j)) & (weight > 0))
        if n_classes > 2 and grouped:
            members = members[np.argsort(labels[members], kind="stable")]
        positive = j if n_classes == 2 else i
        y = np.where(labels[members] == positive, 1.0, -1.0)
        total = float(weight[members].sum())
        pair_lam = lam if lam is not None else 1.0 / (C * total) if total > 0 else 1.0
        if normalise:
            problem = make_problem(y, pair_lam, weight[members])
        else:
            problem = Problem(y, weight[members], pair_lam)
        pairs.append(Pair(number, (i, j), members, problem))
    return pairs


def share_classes(
    kernel: Kernel, X: Any, pairs: list[Pair], n_jobs: int | None = None
) -> ClassSortedMatrix:
    """One kernel matrix over all classes, whose packed examples the pairs share."""
    # Pairs (0, j) hold class 0 and class j, each grouped.
    by_class = [pair for pair in pairs if pair.classes[0] == 0]
    first = int((by_class[0].problem.y > 0).sum())
    members = [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]
    at_once = n_threads(n_jobs, len(pairs))
    threads = max(1, available_threads() // at_once)
    return ClassSortedMatrix(kernel, X, members, threads=threads)


def n_threads(n_jobs: int | None, n_pairs: int) -> int:
    """Threads that pairs are trained on."""
    return max(1, min(n_pairs, effective_n_jobs(n_jobs)))


def train_one_by_one(
    pairs: list[Pair],
    make_run: Callable[[Pair, int], PegasosRun],
    finish: Callable[[PegasosRun, Stopper], Result],
    stopper: Stopper,
    tol: float | None,
    n_jobs: int | None,
    update: Callable[[int, PegasosRun], None],
) -> list[Result]:
    """Train each pair to its end, several at a time on threads.

    Parameters
    ----------
    pairs : list of Pair
    make_run : callable
        ``make_run(pair, n_at_once)`` sets up a run; ``n_at_once`` share the memory budget.
    finish : callable
        ``finish(run, stopper)`` makes the result of a run at its end.
    stopper : Stopper
        A deadline is shared evenly: every pair gets a model.
    tol : float or None
    n_jobs : int or None
    update : callable
        ``update(number, run)`` after each checkpoint.
    """
    threads = n_threads(n_jobs, len(pairs))
    waiting = [len(pairs)]
    lock = Lock()

    def train(pair: Pair) -> Result:
        with lock:
            part = stopper.split(max(1.0, waiting[0] / threads))
            waiting[0] -= 1
        run = make_run(pair, threads)
        while not run.finished:
            run.advance(part, tol)
            update(pair.number, run)
        return finish(run, part)

    if threads == 1:
        return [train(pair) for pair in pairs]
    # The pairs' threads and those inside BLAS share the same cores.
    with threadpool_limits(limits=1, user_api="blas"):
        results: list[Result] = Parallel(n_jobs=threads, require="sharedmem")(
            delayed(train)(pair) for pair in pairs
        )
    return results


def advance_in_step(
    runs: list[PegasosRun],
    stopper: Stopper,
    tol: float | None,
    update: Callable[[int, PegasosRun], None],
) -> None:
    """Advance every unfinished run to its next checkpoint."""
    for number, run in enumerate(runs):
        if not run.finished:
            run.advance(stopper, tol)
            update(number, run)


def vote(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Class numbers by LIBSVM's vote: ties go to the lowest class.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Positive for the first class of the pair.
    n_classes : int
    """
    votes = np.zeros((decisions.shape[0], n_classes), dtype=np.int64)
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first = decisions[:, number] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
    return votes.argmax(axis=1)


def one_vs_rest(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes made continuous by the decisions, of shape (n_samples, n_classes), as in SVC."""
    values: np.ndarray = _ovr_decision_function(decisions < 0, -decisions, n_classes)
    return values


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
    for pair, coef in zip(pairs, coefs, strict=True):
        i, j = pair.classes
        against = np.where(labels[pair.members] == i, j - 1, i)
        everything[against, pair.members] = coef
    support = np.flatnonzero(everything.any(axis=0))
    support = support[np.argsort(labels[support], kind="stable")]
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
