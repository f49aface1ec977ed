"""What cannot be is refused in one sentence: the parameter, what was expected, what came.

A table of calls. That any odd value of any one parameter ends so is tried in `test_any_input`; here
is what must not go together, what data and functions must be, and the words. Files that are broken
stand beside the readers, words of the program in `tests/cli`.
"""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from rejections import LEFTOVERS
from scipy import sparse
from search_cases import blobs, search_of, small, table
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import kpegasos
import kpegasos.large
from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    datasets,
    kernels,
    losses,
    make_problem,
    make_rows,
    plotting,
    reference,
    regularization_path,
    theory,
)

X, Y = make_blobs(60, centers=2, n_features=3, random_state=0)
ONES, GRAM, ALL = np.ones(60), X @ X.T, np.arange(120)
FIRST, SECOND, HELD = ALL[:60], ALL[60:], ALL[:60] % 4 == 1
FREE = make_problem(Y, 0.1, free_intercept=True)
CACHES = ["precomputed", "cached", "streamed"]
PAIR, NO_NUMBERS = [1, -1], [0, -1, np.nan, "1", True, [1], 10**400]
CS, GAMMAS, SCORES = [0.1, 1.0, 10.0], [0.5, 2.0], [[0.5, 0.6, 0.7], [0.8, 0.9, 0.88]]
REGIONS = {"xx": [0, 1, 2], "yy": [0, 1], "values": np.zeros((2, 3)), "X": np.zeros((4, 2))}
REGIONS |= {"y": np.zeros(4), "support": [0, 1], "classes": [0, 1]}
CURVES = {"iteration": [1, 10, 100], "gap": [1, 1, 1], "epoch": [0.1, 1, 10]}
CURVES |= {"objective_last": [9, 9, 9], "objective_average": [3, 2, 1], "dual_bound": [-1, 0, 1]}


def fit(model, rows=X, labels=Y, weight=None, method="fit", **arguments):
    """Fit a model, of which nothing is left after a refusal."""
    try:
        with np.errstate(all="ignore"):
            getattr(model, method)(rows, labels, sample_weight=weight, **arguments)
    except (ValueError, TypeError):
        assert not [name for name in vars(model) if name.endswith("_")]
        raise


def begin(model, labels=Y, rows=X, **arguments):
    fit(model, rows, labels, method="partial_fit", **arguments)


def go_on(labels=Y, classes=None, **parameters):
    """A later chunk of a stream, which keeps what it has learnt."""
    model = LinearPegasosSVC(lam=0.1, random_state=0).partial_fit(X, Y, classes=[0, 1])
    coef = model.coef_.copy()
    try:
        model.set_params(**parameters).partial_fit(X, labels, classes=classes)
    finally:
        np.testing.assert_array_equal(model.coef_, coef)


def chunks(given, *, epochs=None, classes=(0, 1), of=LinearPegasosSVC, **parameters):
    model = of(**{"lam": 0.1, "epochs": 1, "random_state": 0} | parameters)
    try:
        kpegasos.large.fit_chunks(model, given, epochs=epochs, classes=classes)
    finally:
        assert not hasattr(model, "coef_")


def search(rows=None, labels=None, weight=None, **settings):
    of_three = blobs(3)
    fit(small(**settings), *(of_three if rows is None else (rows, labels)), weight)


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


def masked(values):
    return np.ma.masked_array(values, mask=np.arange(60) < 2)


def cut_at(starts):
    """Rows whose starts contradict each other: SciPy cuts where they say, beyond all arrays too."""
    rows = sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))
    rows.indptr = np.array(starts)
    return rows


def iris():
    return PegasosSVC(epochs=2, random_state=0).fit(*load_iris(return_X_y=True))


def objects(*labels):
    return np.array(labels, dtype=object)


def frame(value, dtype=None):
    return pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([value] * 2, dtype=dtype)})


class Half(losses.Hinge):
    """A hinge whose method has other arguments."""

    def value(self, f, y):
        return 0.0


def full(value):
    return lambda A, B: np.full((len(A), len(B)), value)


def pairwise(rows=tuple("a" * size for size in range(60)), **options):
    options = {"function": lambda a, b: float(a == b)} | options
    fit(PegasosSVC(kernel=kpegasos.PairwiseKernel(**options)), rows)


def solve(solver, **arguments):
    solver(**{"problem": make_problem(Y, 1.0), "rows": make_rows(X)} | arguments)


def go_on_freely(rows):
    state = kpegasos.pegasos(make_problem(Y, 0.1), rows, epochs=1).state
    solve(kpegasos.pegasos, problem=FREE, rows=rows, state=state)


def follow(**arguments):
    regularization_path(**{"Cs": CS, "tol": 1e-3} | arguments)


def drawn(display, results=None, **options):
    getattr(plotting, display).from_estimator(search_of(results or table(SCORES)), **options)


def surface_of(grid):
    given = GridSearchCV(SVC(), grid, cv=3).fit(*load_iris(return_X_y=True))
    plotting.ValidationSurfaceDisplay.from_estimator(given)


def curves(runs=CURVES, **options):
    plotting.ConvergenceDisplay.from_history(runs, **options)


def several(estimator, X, y):
    return {"accuracy": 1.0, "recall": 0.5}


def wordy(estimator, X, y):
    return "good"


def refits(estimator, X, y):
    return estimator.predict(X[:3]).mean()


#: A call, and parts of the sentence, behind ^ its beginning; a TypeError is one where it says so.
#: EACH is both classifiers, SVR both regressors, and _ each of some values in turn.
REFUSED = """
fit(EACH(class_weight={0: 1e-200, 1: 1e200})) -> class_weight ... got 1e-200
fit(EACH(class_weight={0: 10**400})) -> class_weight of 0 must be a positive finite number
fit(EACH(class_weight={0: "heavy"})) -> class_weight of 0 must be ... got 'heavy'
fit(EACH(), weight=changed(ONES, 7, -2.5)) -> sample_weight must not be negative ... -2.5
fit(EACH(), weight=ONES * np.nan) -> sample_weight
fit(EACH(), weight=ONES * 0.0) -> sample_weight
fit(EACH(), weight=masked(Y)) -> sample_weight must have no masked entries
fit(EACH(), weight=ONES[1:]) -> a number for each row of X, 60 of them, got shape (59,)
fit(EACH(), weight=["a"] * 60) -> sample_weight must be a number for each row of X: could not
fit(EACH(), weight=(Y == 1).astype(float)) -> y must have at least two classes ... got 1 class: [1]
fit(EACH(), weight=changed(ONES, slice(5), 1e200)) -> sample_weight ... between 1e-100 and 1e+100
fit(EACH(class_weight={0: 1e50, 1: 1e50}), weight=1e-120 * ONES) -> sample_weight must ... 1e-120
fit(EACH(C=1e-100), weight=1e-100 * ONES) -> C times the mean of sample_weight ... got 1e-200
fit(EACH(), [["a", "b"]] * 60) -> X must be a matrix of real numbers: could not convert
fit(EACH(), sparse.csr_matrix(changed(X, (3, 1), np.inf))) -> X contains ... infinity
fit(EACH(), X.astype("M8[s]")) -> X must hold real numbers, got datetime64[s]
fit(EACH(), np.ma.masked_greater(X, X.max() - 1e-9)) -> X must have no masked entries, got 1 of 180
fit(EACH(), labels=np.column_stack((Y, Y))) -> y
fit(EACH(), labels=np.where(Y == 1, np.nan, 0.0)) -> y contains NaN
fit(EACH(), labels=np.full(60, "only")) -> y must have at least two classes ... got 1 class: [
fit(EACH(), labels=masked(Y)) -> y must have no masked entries, got 2 of 60
fit(EACH(), labels=changed(Y.astype(object), 3, "a")) -> y must hold labels of one kind ... array
fit(PegasosSVC(kernel="sigmoid", tol=0.1)) -> tol ... positive semi-definite
fit(PegasosSVC(kernel="sigmoid", polish=True)) -> polish ... positive semi-definite
fit(PegasosSVC(kernel="precomputed")) -> precomputed ... square ... shape (60, 3)
fit(PegasosSVC(kernel="precomputed"), changed(GRAM, (3, 50), 99.0)) -> precomputed ... symmetric
fit(PegasosSVC(kernel="precomputed"), changed(GRAM, (2, 2), np.nan)) -> X contains NaN
fit(PegasosSVC(kernel=lambda A, B: A @ B.T), ["ab", "b"] * 30) -> unless the kernel is a Pairwise
fit(SVR(loss="hinge")) -> loss must be one of
fit(SVR(loss=losses.Hinge())) -> loss must be one of numbers, got Hinge
fit(SVR(epsilon=-1.0)) -> epsilon must be
fit(SVR(), labels=changed(X[:, 0], 3, np.nan)) -> Input y contains NaN
fit(SVR(), labels=1e101 * ONES) -> y must be of size 1e+100 at the most, got 1e+101
fit(SVR(), labels=["a"] * 60) -> y must hold real numbers, got array(['a'
fit(SVR(), labels=masked(X[:, 0])) -> y must have no masked entries
fit(SVR(), labels=X[:-1, 0]) -> y must be a vector with an entry for each row of X
fit(EACH(step=lambda t, lam: min(1.0 / lam, t**-0.5))) -> step must ... minimum takes one, min does
fit(EACH(step=lambda t: 1.0 / t)) -> step must return sizes ... got TypeError
fit(EACH(sampling="sorted")) -> sampling must be one of ('permutation', 'uniform', 'contiguous')
begin(LinearPegasosSVR(), 1e101 * ONES) -> y must be of size 1e+100 at the most, got 1e+101
begin(LinearPegasosSVR(fit_intercept="free")) -> fit_intercept must be True or False for a stream
begin(LinearPegasosSVC(fit_intercept="free"), classes=[0, 1]) -> fit_intercept must be True or F
begin(LinearPegasosSVC()) -> classes must be passed on the first call
begin(LinearPegasosSVC(), Y + 5, classes=[0, 1]) -> y must have classes among
begin(LinearPegasosSVC(class_weight="balanced"), classes=[0, 1]) -> class_weight
go_on(classes=[0, 1, 2]) -> classes must be those of the first call
go_on(Y + 1) -> y must have classes among
go_on(lam=0.5) -> must be those of the first call ... got another lam
go_on(loss="log_loss") -> must be those of the first call
chunks((X, Y)) -> chunks must hold pairs (X, y) or triples (X, y, sample_weight), got ndarray
chunks({"X": X, "y": Y}) -> chunks must hold pairs (X, y) or triples ... got str
chunks(5) -> TypeError: chunks must be a sequence, an iterable or a function
chunks([(None, Y)]) -> X must be a matrix of real numbers: Expected 2D array
chunks([(X, Y[1:])]) -> y must be a vector with an entry for each row of X: ... [60, 59]
chunks([(X, None)]) -> y should be a 1d array
chunks([(X, np.where(Y > 0, np.nan, Y))]) -> Input y contains NaN
chunks([(X, Y.astype(str))]) -> y must have classes among [0, 1], got
chunks([(X, Y, -ONES)]) -> sample_weight must not be negative
chunks([(X, Y, 0 * ONES)]) -> sample_weight must have a positive entry, got zeros only
chunks([(X[:0], Y[:0])]) -> chunks must hold examples, got none
chunks(iter([])) -> chunks must hold examples, got none
chunks([(X, Y)], classes=[0]) -> classes must hold at least two
chunks([(X, Y)], classes=[1, 2]) -> y must have classes among [1, 2], got [0] too
chunks([(X, Y)], classes=None) -> classes must be given for a classifier
chunks([(X, Y)], lam=None) -> lam must be a number for data in parts ... n_examples), got None
chunks([(X, Y)], epochs=1.5) -> epochs must be a whole number for chunks, got 1.5
chunks(iter([(X, Y)]), epochs=2) -> epochs must be 1 for an iterator
chunks([(X, Y)], class_weight="balanced") -> class_weight must be a dict
chunks([(X, ["a"] * 60)], of=LinearPegasosSVR, classes=None) -> y must hold real numbers
chunks([(X, ONES * 1e101)], of=LinearPegasosSVR, classes=None) -> y must be of size 1e+100
chunks([], of=LinearPegasosSVR) -> classes must be None for a regressor, got (0, 1)
fit_chunks(PegasosSVC(), [(X, Y)]) -> TypeError: estimator must be a LinearPegasosSVC or a Linear
ArrayChunks(X, Y, np.ones(3)) -> sample_weight must have as many rows as X, 60, got 3
ArrayChunks([[1], [2, 3]], [0, 1]) -> X must have rows of equal length
ArrayChunks(X, None) -> y must be an array with rows, got
ArrayChunks(cut_at([0, 900, 3]), [0, 1]) -> X must be a sparse matrix whose data, indices and shape
ArrayChunks(cut_at([-1, 2, 3]), [0, 1]) -> X must be a sparse matrix whose data, indices and shape
ArrayChunks(cut_at([0.0, 1, 3]), [0, 1]) -> X must be a sparse matrix whose data, indices and shape
search(Cs=10**6) -> Cs must be at most 1000
search(Cs=[]) -> Cs must have at least one value, got []
search(Cs=np.ma.masked_equal([1.0, 10.0], 1.0)) -> Cs must have no masked entries
search(Cs=[1.0, 0.0]) -> each value of Cs must be a positive finite number, got 0.0
search(Cs=[1, 2, 1.0]) -> Cs must have different values, got 1 twice
search(gammas=["wide"]) -> each value of gammas must be a positive finite ... 'scale' or 'auto'
search(gammas=["auto", 1 / 3]) -> gammas must have different values, got 0.333333 twice
search(kernel="poly", degrees=[2.5]) -> each value of degrees must be an integer of at least 0
search(tol=None) -> tol must be a positive finite number, got None
search(kernel="sigmoid") -> kernel must be positive semi-definite for certified cells, got Sigmoid
search(kernel="poly", coef0s=[1, -1]) -> kernel must be positive semi-definite ... got Polynomial
search(fit_intercept="free") -> fit_intercept must be True or False, got 'free'
search(cv=[]) -> cv must give at least one fold, got none
search(cv=61) -> cv must be an integer of at least 2, a splitter or pairs ... n_splits=61
search(cv=[(FIRST / 2, SECOND)]) -> cv must be ... as the training part of fold 0
search(cv=[(FIRST, SECOND), (FIRST, SECOND + 1)]) -> 0 to 119, got 120 in the test part of fold 1
search(cv=[(FIRST, ALL[59:])]) -> trains on, got example 59 in both ... fold 0
search(cv=[(FIRST, [])]) -> test each fold on an example of positive sample_weight ... fold 0
search(cv=[([], FIRST)]) -> leave examples of each class to train on, got none of class 0 in
search(X, Y, (ALL[:60] >= 30) * 1.0, cv=[(ALL[30:60], ALL[:30])]) -> of positive sample_weight
search(X, Y, cv=[(ALL[:60], ALL[:0])]) -> test each fold on an example of positive sample_weight
search(scoring="neg_log_loss") -> of predictions or decisions, got a scorer of probabilities
search(scoring="f1") -> scoring must be of targets as those of y: Target is multiclass
search(scoring=several) -> must be one score, got several: ['accuracy', 'recall']
search(scoring=wordy) -> scoring must return a number, got 'good'
search(scoring=refits) -> decisions of the held-out examples, got 3 rows instead of 40
search(scoring="closeness") -> scoring must be a name of ... a callable or None, got 'closeness'
search(scoring=accuracy_score) -> scoring must be a scorer: ... metric function
plotting.DecisionRegionDisplay(**REGIONS | {"y": np.zeros(3)}) -> y ... 4 rows of X, got shape (3,)
plotting.DecisionRegionDisplay(**REGIONS | {"y": np.full(4, 2)}) -> y must be among ... got {2}
plotting.DecisionRegionDisplay(**REGIONS | {"values": np.ones((3, 2))}) -> values ... got (3, 2)
plotting.DecisionRegionDisplay(**REGIONS, counts=[1.0]) -> counts ... 2 support vectors, got shape
plotting.DecisionRegionDisplay.from_estimator(iris(), X, Y) -> X must have shape (n, 2), got (60, 3)
plotting.ConvergenceDisplay.from_estimator(iris()) -> of several classes from_history takes each
surface_of({"C": CS, "gamma": [0.5]}) -> two values ... got 3 and 1 ... Regularization
surface_of({"C": CS, "gamma": ["scale", 0.5]}) -> number for param_gamma ... got 'scale'
drawn("ValidationSurfaceDisplay", {**table(SCORES), "param_C": [1.0]}) -> of the 6 cells, got 1
plotting.ValidationSurfaceDisplay(Cs=CS[::-1], gammas=GAMMAS, scores=SCORES) -> Cs must be
drawn("RegularizationPathDisplay", y="speed") -> cv_results must have a column 'speed', got none
plotting.RegularizationPathDisplay(Cs=CS, values=[1.0]) -> values must have an entry for each of the
curves(y="suboptimality") -> optimum must be given ... got None
curves(y=["gap", "dual_bound"]) -> y must name columns of one kind
curves({**CURVES, "gap": [0, -1, np.nan]}, y="gap") -> y must have positive values ... 'gap'
curves(x="seconds") -> must have the column 'seconds' for x or y
curves(label="one") -> label must name ... curves, got 1
curves([{"iteration": [1], "gap": [1]}, {"iteration": [1, 2], "gap": [1, 2]}], y="gap") -> same ch
curves([]) -> runs must be a history ... got []
curves({**CURVES, "gap": [1]}, y="gap") -> 3 checkpoints, got 1
TrainingAnimation.from_estimator(PegasosSVR(), X[:, :2], Y) -> estimator must be a PegasosSVC or
TrainingAnimation.from_estimator(PegasosSVC(), X[:, :1], Y) -> X must have shape ... got (60, 1)
theory.regret_bound(10, 1, 0) -> gradient_norm must be a number from 1e-100 ... got 0
theory.regret_bound(10, [1.0, -2.0], 1) -> lam must be ... got -2
theory.convergence_bound([20, -3], 1, 1) -> n_steps must be ... got -3
theory.convergence_bound(20, 1, np.nan) -> radius must be ... got nan
theory.random_iterate_bound(20, 1, 1, [0.1, 1.0]) -> delta must be ... got 1 instead
theory.variance_bound(-1, 1, 1) -> excess must be a number from 0 ... got -1
theory.freedman_bound(1, 0, 0.1) -> largest must be a number from ... got 0
theory.generalization_bound(9, 1, 1, 0.37) -> above 0 and below 1/e, got 0.37
theory.measured_regret_bound(np.inf, 9, 1, 1, 0.1) -> regret must be a number ... got inf
theory.random_stop_bound(9, 1, 1, 0.5) -> delta must be above 0 and below 1/2, got 0.5
theory.optimum_norm_bound([1, 1], [1, 1, 1]) -> lam, radius ... got (2,), (3,)
theory.best_of_runs_bound(8, 1, 1, 0.1) -> n_runs(delta) ... at least 3, got 2.66
theory.high_probability_bound(10, [1, 1.21], 1, 0.1) -> must be 1 at most, got 1.21
theory.data_radius(np.ones((2, 2)), "sigmoid") -> semi-definite, got Sigmoid
reference.pegasos_linear(X, Y, 0.1, [0, 1, 2], batch_size=2) -> batches of batch_size=2, got shape
reference.linear_history([(1, np.zeros(4))], X, Y * 2 - 1, 0.1) -> vectors of size 3
reference.linear_history([(2, X[0]), (2, X[0])], X, Y * 2 - 1, 0.1) -> increasing ... 2 after 2
losses.make_loss("epsilon_insensitive", regression=False) -> loss must be one of
make_problem(Y, 1.0, loss=losses.Huber(np.nan)) -> loss must have finite parameters
make_problem(Y, 1.0, loss=losses.SmoothedHinge(-1.0)) -> width must
datasets.make_gaussian_noise(noise=1.5) -> noise must be a fraction
datasets.make_text_like(density=1e-6) -> density must be
datasets.load_covtype(positive=8) -> positive must be
make_problem([0, 0], 1.0) -> ^y must hold labels of two classes, got 1 of them, [0]
make_problem(list("abc"), 1.0) -> ^y must hold labels of two classes, got 3 of them, ['a', 'b', 'c']
make_problem(ALL, 1.0) -> ^y must hold labels of two classes, got 120 of them, [0, 1, 2, 3, 4]
make_problem(_, 1.0) FOR [1, -1, np.nan], objects(1, np.inf) -> ^y must hold a label for ... NaN
make_problem(_, 1.0) FOR objects("a", 1), objects("a", None) -> ^y must hold labels of one kind
make_problem(ALL[:2].astype("m8[s]"), 1.0) -> ^y must be a non-empty ... timedelta64
make_problem(_, 1.0) FOR [], 1, [PAIR], [[1], PAIR], {1, -1}, [1j, -1] -> ^y must be a non-empty vec
make_problem(masked(Y), 1.0) -> ^y must have no masked
make_problem(PAIR, _) FOR *NO_NUMBERS, np.inf -> ^lam must be a positive finite
make_problem(PAIR, C=_) FOR *NO_NUMBERS, -np.inf -> ^C must be a positive finite
make_problem(PAIR, C=_) FOR np.inf, np.float32(np.inf) -> ^C must be finite, and large for a hard
make_problem(PAIR, 1e-200) -> ^lam must be at least
make_problem(PAIR, 1e200) -> ^lam must be at most
make_problem(PAIR, C=1e-200) -> ^C must be at least
make_problem(PAIR, C=1e200) -> ^C must be at most
make_problem(PAIR) -> ^lam must be given unless C is, got None instead
make_problem(PAIR, 0.1, C=1.0) -> ^C must be None where lam is given, got 1.0 instead
make_problem(PAIR, None, [_] * 2, C=_) FOR 1e-100, 1e100 -> ^C times the mean of sample_weight must
make_problem(PAIR, 0.1, [1, _]) FOR 0, -1, np.nan, np.inf -> ^sample_weight must be 2 positive
make_problem(PAIR, 0.1, _) FOR [1], [[1, 1]] -> ^sample_weight must be 2 positive finite numbers
make_problem(PAIR, 0.1, [_] * 2) FOR 1e-322, 1e-300, 1e300 -> ^sample_weight must be ... from 1e-100
make_problem(Y, 1.0, loss=_) FOR "hinge", object(), losses.Huber -> TypeError: loss must be a loss
make_problem(Y, 1.0, loss=Half()) -> TypeError: loss ... (self, decision, target), got value(self, f
make_problem(Y, 1.0, loss=losses.Huber(0.0)) -> delta must
make_problem(Y, 1.0, loss=losses.EpsilonInsensitive(-0.1)) -> epsilon must
make_kernel("poly", gamma=_) FOR 0.0, -1.0, np.nan, np.inf, None -> gamma must be a positive finite
make_kernel("poly", gamma="scale") -> gamma must be ... got 'scale' instead; resolve it by scale_g
make_kernel("poly", degree=_) FOR -1, np.inf, "3" -> degree must be a non-negative finite number
make_kernel("poly", coef0=_) FOR np.nan, "0" -> coef0 must be a finite number, got
Chi2(_) FOR 0, -0.3, np.nan, "1", True -> gamma must be a positive finite number, got
make_kernel(_) FOR "", "RBF", "precomputed" -> kernel must be one of ... 'rbf' ... got '
make_kernel(_) FOR None, 3, ["rbf"] -> kernel must be a name, a callable or a kernel object
make_kernel(_, a=5) FOR "rbf", "linear" -> TypeError: kernel ... 'degree', 'gamma'], got 'a'
make_kernel(_, gama=5) FOR RBF(1.0), len -> TypeError: kernel must be a name to take ... 'gama'
_ * RBF(1.0) FOR 0, -0.5, np.nan, np.inf, True, 10**400 -> factor must be a positive finite number
RBF(1.0) * _ FOR 0.0, -1 -> factor must be a positive finite number, got
kernels.Sum(_) FOR (), (RBF(1.0),), RBF(1.0), 3, None -> parts must be at least two kernels, got
kernels.Product(_) FOR (), (RBF(1.0),) -> parts must be at least two kernels, got
kernels.Sum((RBF(1.0), "linear")) -> each of parts must be a kernel object or a function
kernels.Scaled(2.0, RBF) -> kernel must be a kernel object or a function
make_rows(X, lambda A, B: np.ones(60), cache=_) FOR *CACHES -> kernel must return an array of shape
make_rows(X, lambda A, B: np.ones((60, 61)), cache=_) FOR *CACHES -> kernel must return an array of
make_rows(X, lambda A, B: 1.0, cache=_) FOR *CACHES -> of two sets of rows, got ... of two rows; wr
make_rows(X, lambda a, b: a @ b, cache=_) FOR *CACHES -> of two sets ... wrap it in PairwiseKernel
make_rows(X, full(np.nan), cache=_) FOR *CACHES -> must return finite ... NaN
make_rows(X, full(np.inf), cache=_) FOR *CACHES -> must return finite ... infinity
make_rows(X, full(1j), cache=_) FOR *CACHES -> real numbers, got dtype complex128
make_rows(X, full("a"), cache=_) FOR *CACHES -> real numbers, got dtype <U1
pairwise(function=lambda a, b: np.nan) -> kernel must return finite values
pairwise(function=lambda a, b: 1j) -> kernel must return real numbers, got dtype complex128
pairwise(function=lambda a, b: [1.0, 2.0]) -> kernel must return one number ... (1, 1, 2)
pairwise(function=lambda a, b: "near") -> kernel must return real numbers, got dtype <U4
pairwise(function=lambda a, b: len(a) - len(b)) -> kernel must be symmetric, got ... average
pairwise(function=lambda A, B: np.ones(len(B)), blocks=True) -> array of shape (1, 1)
pairwise(function=lambda a, b: 1e160) -> kernel must return values of at most 1e+100, got 1e+1
pairwise(function=3) -> function must be a function
pairwise(prepare=3) -> prepare must be a function
pairwise(diagonal=2.0) -> diagonal must be that of the function, 1 ... , got 2
pairwise(diagonal=-1.0) -> diagonal must be
pairwise(diagonal=lambda X: np.ones(len(X) + 1)) -> diagonal must return ... (1,) ... (2,)
pairwise(diagonal=lambda X: ["one"]) -> diagonal must return real numbers, got dtype <U3
pairwise(blocks=1) -> blocks must be
pairwise(cache_mb=0.0) -> cache_mb must be
pairwise(n_jobs=0) -> n_jobs must be None or an integer other than 0, got 0
pairwise(n_jobs="x") -> n_jobs must be an integer, got 'x'
pairwise(_) FOR "text", {"a": 1}, [], 7, iter("ab"), None, sparse.eye(60) -> X must be a sequence of
pairwise(60 * [(i for i in X)]) -> X must hold objects that can be copied and told apart
pairwise(["a"]) -> y must be a vector with an entry for each object
make_rows(np.ones(_), "precomputed") FOR (3, 4), (4, 3), 3, (2, 2, 2) -> square kernel matrix, got s
make_rows(changed(np.eye(4), (2, 2), _), "precomputed") FOR np.nan, np.inf, -np.inf -> 'precomputed'
make_rows(changed(np.eye(4), ([1, 2], [2, 1]), _), "precomputed") FOR np.nan, np.inf, -np.inf -> 'pr
make_rows(X, "gauss", gamma=2.0) -> ^kernel must be one of ... got 'gauss' instead
make_rows(X, cache="disk") -> ^cache must be one of ... 'streamed' ... got 'disk'
make_rows(X, "rbf", gamma="1") -> ^gamma must be one of ... 'scale' ... got '1'
make_rows(X[:0], "rbf", gamma="scale") -> ^X must have rows and features for gamma='scale'
make_rows(X[:, :0], "rbf", gamma="auto") -> ^X must have rows and features for gamma='auto'
make_rows(X * np.nan, "rbf", gamma="scale") -> ^X must be finite
make_rows(_ * np.eye(3), "rbf", gamma="scale") FOR 1e-155, 1e-158 -> ^X must be large enough that
make_rows(X, cache_mb=_) FOR "Auto", "", None, True, 0, -1.0, np.nan -> ^cache_mb must be a positive
make_rows(_) FOR frame("x"), frame(0, "M8[s]"), frame(None, "Int64") -> ^X must hold real numbers
linear_rows(_) FOR frame("x"), frame(0, "M8[s]"), frame(None, "Int64") -> ^X must hold real numbers
make_rows(frame(None, "float64")) -> ^X must be finite
linear_rows(frame(None, "float64")) -> ^X must be finite
make_rows(X, "rbf", degree=2) -> TypeError: parameters ... ['gamma'] for kernel='rbf', got 'degree'
make_rows(X, "poly", a=2) -> TypeError: parameters ... ['gamma', 'degree', 'coef0'] for ... got 'a'
make_rows(GRAM, "precomputed", gamma=2.0) -> TypeError: parameters must be none ... got 'gamma'
solve(pegasos, batch_size=_) FOR 0, 2.0, True, "3", 61 -> ^batch_size must
solve(pegasos, n_steps=_) FOR 0, 2.0, True, 10**30 -> ^n_steps must
solve(pegasos, epochs=_) FOR 0, None, np.nan, "2", 1e308, 10**5000 -> ^epochs must
solve(pegasos, checkpoints=_) FOR "steps", 5, iter([2]), [[1, 2]], [True], [0] -> checkpoints must
solve(pegasos, average=_) FOR "mean", ["suffix"] -> ^average must
solve(pegasos, sampling="cyclic") -> ^sampling must
solve(pegasos, step=_) FOR 0.1, lambda t, lam: 11.0 / t, lambda t, lam: np.ones(3) -> ^step must
solve(pegasos, tol=np.nan) -> ^tol must
solve(pegasos, max_time=np.inf) -> ^max_time must
solve(pegasos, projection="no") -> ^projection must
solve(pegasos, random_state=_) FOR "seed", -1, 2**32 -> ^random_state must
solve(pegasos, problem=Y) -> TypeError: problem must
solve(pegasos, rows=X) -> TypeError: rows must
solve(pegasos, state=3) -> TypeError: state must
solve(pegasos, monitor=_) FOR "yes", lambda run: np.zeros(2) -> TypeError: monitor must
make_problem([1, 1, 1], 0.1, free_intercept=True) -> ^y must have two classes for a free ... got one
solve(pegasos, problem=FREE) -> ^rows must have a positive intercept_scaling for a
solve(pegasos, problem=FREE, rows=linear_rows(X)) -> ^rows must have a positive intercept_scaling
solve(regularization_path, problem=FREE, Cs=[1.0]) -> problem must have free_intercept=False
go_on_freely(make_rows(X, intercept_scaling=1.0)) -> ^state must come from a run with the same
solve(sdca, rows=make_rows(X, Sigmoid())) -> positive semi-definite
solve(pegasos, tol=0.1, rows=make_rows(X, Sigmoid())) -> positive semi-definite
solve(sdca, max_epochs=_) FOR 0, 2.0, True -> ^max_epochs must
solve(sdca, tol=_) FOR np.nan, np.inf, -1, "1", True, 10**400 -> ^tol must
solve(sdca, max_time=_) FOR np.inf, -1 -> ^max_time must
solve(follow, Cs=_) FOR [], [CS], 1.0, [1.0, 0.0], [np.nan], [1.0, 2.0, 1.0], ["many"] -> ^Cs must
solve(follow, held_out=_) FOR HELD[1:], np.zeros(60), [1, 2], Y > 0, ONES > 0 -> ^held_out must
solve(follow, tol=0.0) -> ^tol must
solve(follow, max_epochs=1.5) -> ^max_epochs must
solve(follow, max_time=-1.0) -> ^max_time must
solve(follow, random_state="x") -> ^random_state must
solve(follow, problem=Y) -> TypeError: problem must
solve(follow, rows=linear_rows(X), held_out=HELD) -> ^held_out must be None unless
"""
KINDS = {
    "EACH(": ("PegasosSVC(", "LinearPegasosSVC("),
    "SVR(": ("PegasosSVR(", "LinearPegasosSVR("),
}


def rows():
    """Calls and sentences, one for each kind of model."""
    for line in REFUSED.strip().splitlines():
        call, _, said = line.partition(" -> ")
        word = next((each for each in KINDS if f"fit({each}" in call), "")
        for kind in KINDS.get(word, ("",)):
            yield call.replace(f"fit({word}", f"fit({kind}"), said


NAMES = {name: getattr(kpegasos, name) for name in kpegasos.__all__ if name != "Playground"}
NAMES |= {each.__name__.rpartition(".")[2]: each for each in (datasets, kernels, reference, theory)}
NAMES |= {each.__name__: each for each in (plotting.TrainingAnimation, accuracy_score)}
NAMES |= {name: getattr(kpegasos.large, name) for name in kpegasos.large.__all__}


def assert_refused(call, said, value):
    """Every part of the sentence is there, in order, and nothing that numpy or numba would say."""
    before, scope = plt.get_fignums(), {**globals(), **NAMES}
    kind = TypeError if said.startswith("TypeError: ") else ValueError
    with pytest.raises(kind) as caught:
        eval(call, scope | {"_": value})
    message = str(caught.value)
    pattern = ".*".join(map(re.escape, said.split(" ... "))).replace(r"\^", "^")
    pattern = pattern.replace(r"TypeError:\ ", "^")
    assert re.search(pattern, message, re.DOTALL), message
    first = message.partition(": ")[0]  # what scikit-learn says of an array may follow
    assert "\n" not in first
    assert len(first) < 300
    assert not LEFTOVERS.search(first)
    assert plt.get_fignums() == before


@pytest.mark.parametrize(("call", "said"), [*rows()])
def test_what_cannot_be_is_refused_in_one_sentence(call, said):
    call, _, values = call.partition(" FOR ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in eval(f"[{values or None}]", {**globals(), **NAMES}):
            assert_refused(call, said, value)


#: Values beside those of `test_any_input`, for the parameters of the names.
PARAMETERS = {
    "C lam epochs n_steps batch_size tol max_time intercept_scaling": (0, -1.0, np.nan, "1"),
    "gamma cache_mb": (0, -1.0, np.nan, "1"),
    "n_steps batch_size degree n_jobs": (2.5,),
    "sampling average projection step polish": ("no such value", 0.1),
    "fit_intercept class_weight decision_function_shape": ("no such value", 0.1),
    "break_ties warm_start verbose random_state loss cache kernel": ("no such value",),
    "lam epochs": (np.inf,),
    "epochs": ("epoch", 1e308, 1e15),
    "n_steps": (10**30,),
    "batch_size": (None, 61),
    "checkpoints": ("step", 5, [0], [1.5], ["a"], [[1, 2], [3, 4]], [np.nan]),
    "fit_intercept": ("Free", 1, None),
    "class_weight": ([1.0, 2.0],),
    "n_jobs": (0, True, np.array(1)),
    "loss": ("epsilon_insensitive", losses.Huber()),
    "degree": (-1,),
    "coef0": (np.nan, "0"),
    "kernel": (None, 3, object(), kpegasos.RBF),
}
OF_KERNELS = {"gamma", "degree", "coef0", "cache", "cache_mb", "kernel"}


@pytest.mark.parametrize(("names", "values"), PARAMETERS.items())
def test_parameter_is_named(names, values):
    for name, value in product(names.split(), values):
        for kind in {PegasosSVC, PegasosSVC if name in OF_KERNELS else LinearPegasosSVC}:
            with pytest.raises(ValueError, match=rf"^(each of )?{name}\b.* must (be|have)"):
                fit(kind(**{name: value}))


@pytest.mark.parametrize("kind", [PegasosSVC, LinearPegasosSVC])
def test_numbers_of_numpy_act_as_those_of_python(kind):
    expected = kind(random_state=0).fit(X, Y)
    numbers = {k: v for k, v in expected.get_params().items() if type(v) in (int, float)}
    types = {int: (np.int16, np.uint64), float: (np.float64, np.float32)}
    for place in (0, 1):
        given = {name: types[type(value)][place](value) for name, value in numbers.items()}
        found = kind(**given).fit(X, Y)
        np.testing.assert_array_equal(found.alpha_, expected.alpha_)
