"""Probabilities of several classes from those of their pairs.

Wu, Lin, Weng: Probability estimates for multi-class classification by pairwise coupling (JMLR
2004), second method, as in LIBSVM: the p that minimises ``Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)²``.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

#: Rounds at the most, and the error, over the number of classes, at which to stop.
_MOST_ROUNDS, _ERROR = 200, 1e-6


def couple(of_pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of the classes.

    Parameters
    ----------
    of_pairs : ndarray of shape (n_samples, n_pairs)
        Of the first class of each pair; with two classes, of the second.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to one.
    """
    if n_classes == 2:
        return np.column_stack((1.0 - of_pairs[:, 0], of_pairs[:, 0]))
    n_samples = len(of_pairs)
    r = np.zeros((n_samples, n_classes, n_classes))
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = of_pairs[:, number], 1.0 - of_pairs[:, number]
    other_way = r.transpose(0, 2, 1)
    Q = -other_way * r
    classes = np.arange(n_classes)
    Q[:, classes, classes] = (other_way**2).sum(axis=2)
    p = np.full((n_samples, n_classes), 1.0 / n_classes)
    for _ in range(_MOST_ROUNDS):
        Qp = np.einsum("nij,nj->ni", Q, p)
        total = (p * Qp).sum(axis=1, keepdims=True)
        if np.abs(Qp - total).max(initial=0.0) < _ERROR / n_classes:
            break
        for k in range(n_classes):
            share = Q[:, k, k]
            step = (total[:, 0] - Qp[:, k]) / share
            p[:, k] += step
            scale = 1.0 + step
            total[:, 0] = (total[:, 0] + step * (step * share + 2.0 * Qp[:, k])) / scale**2
            Qp = (Qp + step[:, None] * Q[:, k]) / scale[:, None]
            p /= scale[:, None]
    return p / p.sum(axis=1, keepdims=True)
