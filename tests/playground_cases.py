"""States that the tests of the playground share, and the estimators that panes are to equal."""

import numpy as np
from sklearn.datasets import make_blobs

from kpegasos import PegasosSVC
from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.datasets import make_gaussian_noise, make_toy

#: Settings of a page at first.
DEFAULTS = {
    "panes": [{"kernel": "linear"}, {"kernel": "rbf", "gamma": "scale"}],
    "C": 10.0,
    "lam": None,
    "fit_intercept": True,
    "batch_size": 1,
    "sampling": "permutation",
    "projection": False,
    "average": "weighted",
    "loss": "hinge",
    "step": None,
    "seed": 0,
}


def points_of(n_classes=2, n=60, seed=0):
    """Overlapping clouds, classes in turns."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    return centres[labels] + 0.7 * rng.standard_normal((n, 2)), labels


def state_named(name, **changes):
    """The state of a problem below."""
    n_classes, own = PROBLEMS[name]
    return state_of(n_classes, **{**changes, **own})


def state_of(n_classes=2, n=60, held_out=0, **changes):
    """A state; the last points are held out."""
    X, labels = points_of(n_classes, n)
    test = [place >= n - held_out for place in range(n)]
    data = {"points": X.tolist(), "labels": labels.tolist(), "test": test}
    return {**DEFAULTS, **data, **changes}


def fitted(state, pane, t, **changes):
    """The estimator that a pane is to equal."""
    test = np.array(state["test"])
    names = ("fit_intercept", "batch_size", "sampling", "projection", "average", "loss")
    parameters = {name: state[name] for name in names} | pane
    parameters |= {"C": state["C"]} if state["lam"] is None else {"lam": state["lam"]}
    if state["step"] is not None:
        rule, *scale = state["step"].values()
        parameters["step"] = RULES[rule](*scale)
    parameters |= {"n_steps": t, "random_state": state["seed"], "checkpoints": "log", **changes}
    model = PegasosSVC(**parameters)
    return model.fit(np.array(state["points"])[~test], np.array(state["labels"])[~test])


def preset_points(name, n, noise, test_share=0.0, classes=2, seed=0):
    """The points of a preset, which the page makes by itself."""
    rng = np.random.RandomState(seed)
    X, y = _drawn(name, n, noise, classes, rng)
    test = np.zeros(n, dtype=bool)
    test[rng.permutation(n)[: round(test_share * n)]] = True
    return {"points": np.asarray(X).tolist(), "labels": y.tolist(), "test": test.tolist()}


def _drawn(name, n, noise, n_classes, rng):
    if name == "blobs":
        angles = 2 * np.pi * np.arange(n_classes) / n_classes
        centers = np.column_stack([np.cos(angles), np.sin(angles)])
        return make_blobs(n, centers=centers, cluster_std=max(noise, 1e-9), random_state=rng)
    if name == "label_noise":
        X, y = make_gaussian_noise(n, noise=noise, random_state=rng)
        return X / 3.0, y
    if name == "imbalanced":
        rare = max(1, round(0.1 * n))
        y = rng.permutation(np.repeat([0, 1], [n - rare, rare]))
        centers = np.array([[-0.5, -0.5], [0.5, 0.5]])
        return centers[y] + max(noise, 1e-9) * rng.standard_normal((n, 2)), y
    return make_toy(name, n, noise, rng)


CUBE = {"kernel": "poly", "gamma": 0.5, "degree": 3, "coef0": 2.0}
RBF, SCALED = {"kernel": "rbf", "gamma": 2.0}, {"kernel": "rbf", "gamma": "scale"}
SIGMOID = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -0.5}
LAM = {"C": None, "lam": 0.003}
BATCHES = {"batch_size": 3, "average": "uniform", "sampling": "uniform", "seed": 7}
#: Classes, and what differs from the defaults: a linear and an RBF pane, hinge.
PROBLEMS = {
    "linear": (2, {"panes": [{"kernel": "linear"}], **BATCHES}),
    "projected": (2, {"panes": [RBF], **LAM, "projection": True, "average": "suffix"}),
    "projected_batches": (3, {"panes": [SCALED], "projection": True, **LAM, **BATCHES}),
    "last": (2, {"panes": [SCALED], "average": None, "seed": 4294967295}),
    "no_intercept": (3, {"panes": [CUBE], "fit_intercept": False, "average": "suffix"}),
    "four_classes": (4, {"panes": [RBF], "C": 30.0, "batch_size": 4, "held_out": 11}),
    "laplacian": (2, {"panes": [{"kernel": "laplacian", "gamma": 1.0}], "held_out": 9}),
    "sigmoid": (2, {"panes": [SIGMOID, RBF], "C": None, "lam": 0.02}),
    "squared_hinge": (2, {"panes": [RBF], "loss": "squared_hinge"}),
    "smoothed_hinge": (2, {"panes": [RBF], "C": 5.0, "loss": "smoothed_hinge"}),
    "log_loss": (3, {"panes": [SCALED], "loss": "log_loss", "held_out": 5}),
    "inverse_sqrt": (2, {"panes": [RBF], "step": {"rule": "inverse_sqrt", "scale": 0.5}}),
    "constant": (3, {"panes": [RBF], "step": {"rule": "constant", "scale": 0.5}}),
    "delayed": (2, {"step": {"rule": "delayed"}, "projection": True}),
}
RULES = {"inverse_sqrt": InverseSquareRoot, "constant": Constant, "delayed": DelayedInverse}
NAN = float("nan")
#: Changes of a state, and the parameter that they are told by.
BAD_STATES = [
    ("points", {"points": [[True, 2.0]] * 60}),
    ("points", {"points": [[1.0, NAN]] * 60}),
    ("points", {"points": [[0.0, 0.0]] * 2001}),
    ("labels", {"labels": [4] * 60}),
    ("test", {"test": [0] * 60}),
    ("panes", {"panes": []}),
    ("panes[0]", {"panes": ["rbf"]}),
    ("panes[0].kernel", {"panes": [{}]}),
    ("panes[0].gamma", {"panes": [{"kernel": "rbf", "gamma": 0}]}),
    ("panes[0].degree", {"panes": [{"kernel": "poly", "degree": 11}]}),
    ("panes[0].coef0", {"panes": [{"kernel": "poly", "coef0": NAN}]}),
    ("C", {"C": None}),
    ("C", {"lam": 0.1}),
    ("lam", {"C": None, "lam": 1e-10}),
    ("batch_size", {"batch_size": 2001}),
    ("sampling", {"sampling": "contiguous"}),
    ("average", {"average": "mean"}),
    ("loss", {"loss": {"value": "__import__('os')"}}),
    ("step.rule", {"step": {"rule": "adam"}}),
    ("seed", {"seed": 2**32}),
]
#: Tables, and their labels or what is wrong with them.
TABLES = {
    "x,y,label\n1,2,a\n3,4e-1,b\n": [0, 1],
    "height weight kind test\n1 2 yes 1\n3  4 no 0\n": [1, 0],
    "1\t2\tA\r\n\r\n3\t4\tB\r\n": [0, 1],
    'a,b,"name"\n\n1,2,"setosa"\n3, 4,virginica\n\n': [0, 1],
    "": "got none",
    "1,2,3,4,5\n": "got 5 columns; choose two features",
    "1,70;60,5;Katze\n1,80;70;Hund\n": [1, 0],
    "1,2,a\n\n1,nan,a": "in line 3",
    "1,2,a,1\n3,4,b,\n1,2,3,l\n": "1 or 0 in its fourth column, for points that are held out or n",
    "1,2,3,l\n1,nan,a,1\n": "got 'l' in line 1",
    "1,2,a\n1,2,b\n1,2,c\n1,2,d\n1,2,e\n": "at most 4 classes, got 5",
    "1,2,3\n" * 2001: "at most 2,000 points, got 2,001",
}
