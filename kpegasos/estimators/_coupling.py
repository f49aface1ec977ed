"""Probabilities of several classes from those of their pairs.

Wu, Lin, Weng: Probability estimates for multi-class classification by pairwise coupling (JMLR
2004), second method, as in SVC: the p on the simplex that minimises
``Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)²``.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np


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
    # Where the gradient along the simplex is zero: Q p + b = 0 and Σ p = 1.
    system = np.ones((n_samples, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = Q
    system[:, -1, -1] = 0.0
    right = np.zeros((n_samples, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(0.0, np.linalg.solve(system, right)[:, :-1, 0])
    return np.asarray(p / p.sum(axis=1, keepdims=True))
