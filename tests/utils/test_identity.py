"""Functions and objects are the same where all that can be seen of them is, and only there."""

import functools
import pickle
import subprocess
import sys
import threading
import types
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from kpegasos import RBF
from kpegasos.losses import Hinge
from kpegasos.utils.identity import identity


def closure(gamma):
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


def helped(gamma):
    helper = closure(gamma)
    return lambda A, B: helper(A, B)


def attribute(gamma):
    def kernel(A, B):
        return rbf_kernel(A, B, gamma=kernel.gamma)

    kernel.gamma = gamma
    return kernel


def of_globals(gamma):
    """A function of a module that may change, and one more step away."""
    module = types.ModuleType("somebodys")
    exec("def one(A, B): return A @ B.T * GAMMA\ndef two(A, B): return one(A, B)", vars(module))
    module.GAMMA = gamma
    return module.two


class Kernel:
    def __init__(self, gamma):
        self.gamma = gamma

    def method(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma)


@dataclass(frozen=True)
class Frozen:
    gamma: float


class Slots:
    __slots__ = ("gamma",)

    def __init__(self, gamma):
        self.gamma = gamma


MAKERS = {
    "closure": closure,
    "default": lambda gamma: lambda A, B, gamma=gamma: rbf_kernel(A, B, gamma=gamma),
    "keyword": lambda gamma: lambda A, B, *, gamma=gamma: rbf_kernel(A, B, gamma=gamma),
    "helped": helped,
    "attribute": attribute,
    "of globals": of_globals,
    "constant": lambda gamma: eval(f"lambda A, B: A @ B.T * {gamma!r}"),
    "object": Kernel,
    "frozen": Frozen,
    "slots": Slots,
    "class": lambda gamma: type("Made", (), {"__call__": lambda self, A, B: gamma * (A @ B.T)})(),
    "ours": RBF,
    "method": lambda gamma: Kernel(gamma).method,
    "partial": lambda gamma: functools.partial(rbf_kernel, gamma=gamma),
    "scorer": lambda gamma: make_scorer(fbeta_score, beta=gamma),
    "compiled": lambda gamma: njit(closure(gamma)),
    "cached": lambda gamma: functools.lru_cache(closure(gamma)),
    "splitter": lambda gamma: KFold(2, shuffle=True, random_state=round(gamma)),
    "array": lambda gamma: closure(np.full((3, 2), gamma)),
    "collection": lambda gamma: closure([{"a": (gamma, {1, 2})}]),
    # Functions of the same shape that call others, one of them compiled.
    "name": lambda gamma: (lambda x: np.sin(x)) if gamma == 1.0 else (lambda x: np.cos(x)),
    "builtin": lambda gamma: np.exp if gamma == 1.0 else np.log,
    "empty": lambda gamma: Hinge() if gamma == 1.0 else (),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_identity_is_that_of_what_a_function_does(make):
    assert identity(make(1.0)) == identity(make(1.0))
    assert identity(make(1.0)) != identity(make(2.0))


def test_identity_of_what_cannot_be_seen_through_is_another_each_time():
    for hidden in (threading.Lock(), (each for each in "ab")):
        function = closure(hidden)
        assert identity(function) != identity(function)


def test_identity_ends_in_cycles_and_outlives_a_pickle():
    def endless(n):
        return endless(n - 1)

    ring = []
    ring.append(ring)
    assert identity(endless) == identity(endless)
    assert identity(ring) == identity(ring)
    kernel = Kernel(0.5)
    assert identity(pickle.loads(pickle.dumps(kernel))) == identity(kernel)


@pytest.mark.slow
def test_identity_is_the_same_in_another_process():
    code = (
        "from sklearn.metrics import recall_score, make_scorer\n"
        "from kpegasos.utils.identity import identity\n"
        "print(identity([make_scorer(recall_score), {'a', 'b', 'c'}, lambda x: x in {'p', 'q'}]))"
    )
    outs = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)}
    assert len(outs) == 1
