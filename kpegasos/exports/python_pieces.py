"""What a model's Python module is made of: functions as text, each there if something calls it."""

from __future__ import annotations

from typing import Any

IMPORTS = """import base64
from itertools import combinations

import numpy as np

"""
ARRAY = '''
def _array(shape, text):
    """Numbers that base64 holds to the last bit."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").reshape(shape)


'''
#: A function stands behind those that call it.
HELPERS = {
    "_couple": '''

def _couple(of_first):
    """Probabilities of the classes from those of pairs (Wu, Lin, Weng 2004, second method)."""
    n, k = len(of_first), len(CLASSES)
    r = np.zeros((n, k, k))
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        r[:, i, j], r[:, j, i] = of_first[:, pair], 1.0 - of_first[:, pair]
    turned = r.transpose(0, 2, 1)
    system = np.ones((n, k + 1, k + 1))
    system[:, :k, :k] = -turned * r
    system[:, range(k), range(k)] = (turned**2).sum(axis=2)
    system[:, k, k] = 0.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(0.0, np.linalg.solve(system, right)[:, :k, 0])
    return p / p.sum(axis=1, keepdims=True)
''',
    "_sigmoid": '''

def _sigmoid(values):
    """The logistic function."""
    return np.exp(-np.logaddexp(0.0, -values))
''',
    "_one_vs_rest": '''

def _one_vs_rest(decisions):
    """Votes made continuous by the decisions, as in scikit-learn's SVC."""
    sums = np.zeros((len(decisions), len(CLASSES)))
    for pair, (i, j) in enumerate(combinations(range(len(CLASSES)), 2)):
        sums[:, i] += decisions[:, pair]
        sums[:, j] -= decisions[:, pair]
    return _votes(decisions >= 0.0) + sums / (3.0 * (np.abs(sums) + 1.0))
''',
    "_votes": '''

def _votes(won):
    """Votes of each class, of whether the first class of each pair has won."""
    votes = np.zeros((len(won), len(CLASSES)))
    for pair, (i, j) in enumerate(combinations(range(len(CLASSES)), 2)):
        votes[:, i] += won[:, pair]
        votes[:, j] += ~won[:, pair]
    return votes
''',
    "_kernel": '''

def _kernel(X, V):
    """Kernel values between rows and support vectors."""
    return {expression}
''',
    "_squared_distances": '''

def _squared_distances(X, V):
    """Squared distances, of rows about their mean as it is more accurate."""
    mean = V.mean(axis=0)
    X, V = X - mean, V - mean
    squares = (X**2).sum(axis=1)[:, None] + (V**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (X @ V.T), 0.0)
''',
    "_absolute_distances": '''

def _absolute_distances(X, V):
    """Sums of absolute differences."""
    return np.array([np.abs(V - row).sum(axis=1) for row in X]).reshape(len(X), len(V))
''',
    "_chi2_distances": '''

def _chi2_distances(X, V):
    """Sums of squared differences over sums; zero over zero is zero."""
    values = np.empty((len(X), len(V)))
    for place, row in enumerate(X):
        total = V + row
        values[place] = ((V - row) ** 2 / np.where(total == 0.0, 1.0, total)).sum(axis=1)
    return values
''',
    "_unit_rows": '''

def _unit_rows(X):
    """Rows of length one; those of zeros stay."""
    lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X / np.where(lengths == 0.0, 1.0, lengths)
''',
}
DECISIONS = '''

def _decisions_of_pairs(X):
    """Decisions of each pair of classes, of shape (n_samples, n_pairs)."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != N_FEATURES:
        raise ValueError(f"X must have the shape (n_samples, {{N_FEATURES}}), got {{X.shape}}")
    return {sums} + INTERCEPTS
'''
REGRESSION = '''

def predict(X):
    """Predicted values, of shape (n_samples,)."""
    return _decisions_of_pairs(X)[:, 0]
'''
_FUNCTION = '''

def {name}(X):
    """{about}"""
    return {value}
'''
_BINARY = {
    "decision_function": (
        "Decisions of shape (n_samples,), positive for the second class.",
        "_decisions_of_pairs(X)[:, 0]",
    ),
    "predict": (
        "Class of each row.",
        "CLASSES[(decision_function(X) > 0.0).astype(int)]",
    ),
}
_OF_BINARY = '''

def predict_proba(X):
    """Probability of each class, of shape (n_samples, 2)."""
    second = _sigmoid(SLOPES * _decisions_of_pairs(X) + OFFSETS)
    return np.hstack([1.0 - second, second])
'''
_OF_PAIRS = '''

def predict_proba(X):
    """Probability of each class, of shape (n_samples, n_classes)."""
    return _couple(_sigmoid(SLOPES * _decisions_of_pairs(X) + OFFSETS))
'''
_OF_CLASSES = '''

def predict_proba(X):
    """Probability of each class, of shape (n_samples, n_classes)."""
    values = _sigmoid(SLOPES * _one_vs_rest(_decisions_of_pairs(X)) + OFFSETS)
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), 1.0 / len(CLASSES))
'''


def _function(name: str, about: str, value: str) -> str:
    return _FUNCTION.format(name=name, about=about, value=value)


def classifier(
    n_classes: int, shape: str, break_ties: bool, order: list[int], of_pairs: bool | None
) -> str:
    """Functions of a classifier.

    Parameters
    ----------
    n_classes : int
    shape : {"ovr", "ovo"}
    break_ties : bool
    order : list of int
        Numbers of the classes in the order in which ties of the vote go to them.
    of_pairs : bool or None
        Whether probabilities are those of pairs; None if there are none.
    """
    if n_classes == 2:
        found = "".join(_function(name, *text) for name, text in _BINARY.items())
        return found if of_pairs is None else found + _OF_BINARY
    decisions, kind = "_decisions_of_pairs(X)", "pairs"
    if shape == "ovr":
        decisions, kind = f"_one_vs_rest({decisions})", "classes"
    about = f"Decisions of shape (n_samples, n_{kind})."
    found = _function("decision_function", about, decisions)
    chosen = (
        "_one_vs_rest(_decisions_of_pairs(X))"
        if break_ties
        else ("_votes(_decisions_of_pairs(X) > 0.0)")
    )
    if break_ties or order == sorted(order):
        value = f"CLASSES[{chosen}.argmax(axis=1)]"
    else:
        value = f"CLASSES[{order}][{chosen}[:, {order}].argmax(axis=1)]"
    found += _function("predict", "Class of each row.", value)
    if of_pairs is None:
        return found
    return found + (_OF_PAIRS if of_pairs else _OF_CLASSES)


def expression(terms: dict[str, Any]) -> str:
    """A kernel between rows ``X`` and support vectors ``V`` as an expression.

    Parameters
    ----------
    terms : dict
        As `kernel_terms` makes them.
    """
    name = terms["name"]
    if name == "scaled":
        return f"{terms['factor']!r} * ({expression(terms['kernel'])})"
    if name in ("sum", "product"):
        sign = "+" if name == "sum" else "*"
        parts = [f"({expression(part)})" for part in terms["parts"]]
        joined = f"\n        {sign} ".join(parts)
        return f"(\n        {joined}\n    )"
    return _EXPRESSIONS[name].format(**terms)


_EXPRESSIONS = {
    "precomputed": "X[:, V.astype(int)]",  # places of the support vectors
    "linear": "X @ V.T",
    "poly": "({gamma!r} * (X @ V.T) + {coef0!r}) ** {degree!r}",
    "rbf": "np.exp(-{gamma!r} * _squared_distances(X, V))",
    "sigmoid": "np.tanh({gamma!r} * (X @ V.T) + {coef0!r})",
    "laplacian": "np.exp(-{gamma!r} * _absolute_distances(X, V))",
    "chi2": "np.exp(-{gamma!r} * _chi2_distances(X, V))",
    "additive_chi2": "-_chi2_distances(X, V)",
    "cosine": "_unit_rows(X) @ _unit_rows(V).T",
}
