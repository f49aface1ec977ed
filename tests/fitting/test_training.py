"""Time and kernel values are shared among the pairs of a fit, by a clock that counts values."""

import time
import warnings
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pytest
from models import assert_same_model
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PairwiseKernel, PegasosSVC
from kpegasos.fitting.pairs import KernelRows
from kpegasos.rows import budget
from kpegasos.rows.budget import ACCOUNT
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers import driver, stopping
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.utils import tuning
from kpegasos.utils.patience import Counter, CutShort, counting

#: Most of the work is that of the first pair.
SIZES = (700, 500, 60, 60, 150, 150)


def uneven(distance=2.0):
    """The last pair is hard if its classes are less than this from each other."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(SIZES)), SIZES)
    X = rng.normal(size=(y.size, 4)) + np.array([0.0, 2.0, 4.0, 6.0, 8.0, 8.0 + distance])[y, None]
    return X, y


@pytest.fixture
def clock(monkeypatch):
    """A second for each million kernel values that a fit computes."""
    counter = Counter()
    now = SimpleNamespace(perf_counter=lambda: 1e-6 * counter.values)
    for module in (stopping, driver):
        monkeypatch.setattr(module, "time", now)
    with counting(counter):
        yield now.perf_counter


@pytest.fixture(autouse=True)
def _no_row_is_asked_of_rows_that_are_closed(monkeypatch):
    """Their memory may be another pair's."""
    closed = WeakSet()
    close = CachedRows.close
    monkeypatch.setattr(CachedRows, "close", lambda rows: (closed.add(rows), close(rows)))
    for name in ("advance", "ensure_rows"):
        method = getattr(CachedRows, name)

        def checked(rows, *arguments, method=method):
            assert rows not in closed
            return method(rows, *arguments)

        monkeypatch.setattr(CachedRows, name, checked)


def fitted(*data, **options):
    given = {"cache": "cached", "C": 10.0, "n_jobs": 1, "random_state": 0}
    return PegasosSVC(**given | options).fit(*(data or uneven()))


KINDS = pytest.mark.parametrize(
    "options",
    [
        {"polish": True},
        {"polish": True, "epochs": 0.1},  # which no plain steps take the place of
        {"epochs": 30, "checkpoints": None},
        {"epochs": 4},
    ],
    ids=["polish", "polish after given steps", "plain", "checkpoints"],
)


@KINDS
@pytest.mark.parametrize("distance", [2.0, 0.0])
def test_twice_the_time_changes_nothing(options, distance, clock):
    """Nor does a hard pair of few examples, which takes more than others of its size."""
    data, begin = uneven(distance), clock()
    expected = fitted(*data, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fitted(*data, max_time=2.0 * (clock() - begin), **options)
    assert_same_model(model, expected, data[0])


@KINDS
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_all_time_is_used_unless_all_is_done(options, part, clock):
    begin = clock()
    fitted(**options)
    limit, begin = part * (clock() - begin), clock()
    match = r"max_time in \d+ of 15 pairs, with a certified relative gap of"
    with pytest.warns(ConvergenceWarning, match=match):
        model = fitted(max_time=limit, **options)
    assert clock() - begin >= limit
    assert model.score(*uneven()) > 0.8


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_budget_of_costly_values_is_spent_and_never_passed(n_classes, polish):
    """But for the diagonal and a first row of each pair, which is what a budget of one takes."""
    rng = np.random.default_rng(0)
    xs, y = [*np.round(rng.normal(size=30), 4)], rng.integers(0, n_classes, 30)

    def calls(budget):
        asked = []
        kernel = PairwiseKernel(lambda a, b: asked.append(1) or float(np.exp(-((a - b) ** 2))))
        options = {"epochs": 50, "tol": 1e-9 if polish else None, "random_state": 0}
        with pytest.warns(ConvergenceWarning, match="max_kernel_evaluations"):
            model = PegasosSVC(
                kernel=kernel, max_kernel_evaluations=budget, polish=polish, **options
            ).fit(xs, y)
        assert model.kernel_evaluations_ == len(asked)
        return len(asked)

    least = calls(1)
    for more in range(0, 180, 30):
        assert calls(least + more) == least + more


def test_whole_matrix_of_all_pairs_is_within_the_budget_and_on_the_account(monkeypatch):
    """Of float32 rows too, whose small pairs have kernel values in float64."""
    X, y = make_blobs(600, centers=6, random_state=0)
    needed_mb = (600**2 + 15 * 200**2) * 8 / tuning.MEBIBYTE
    before, granted, prepare = ACCOUNT.granted_mb, [], KernelRows.prepare

    def watched(rows):
        granted.append(ACCOUNT.granted_mb - before)
        prepare(rows)

    monkeypatch.setattr(KernelRows, "prepare", watched)
    for cache_mb in (0.99 * needed_mb, needed_mb):
        PegasosSVC(cache_mb=cache_mb, epochs=1).fit(X.astype(np.float32), y)
    assert granted == pytest.approx([needed_mb])
    monkeypatch.setattr(budget, "_MODEST_MB", 0.0)
    monkeypatch.setattr(budget, "free_memory", lambda: needed_mb * tuning.MEBIBYTE)
    PegasosSVC(cache_mb=needed_mb, epochs=1).fit(X.astype(np.float32), y)
    assert len(granted) == 1


def test_little_time_is_for_plain_steps_before_a_polish(clock):
    """An ascent that is cut before it has moved all that matters used to be the model."""
    X, y = make_classification(3000, 10, n_informative=6, flip_y=0.1, random_state=0)

    def fit(**options):
        begin = clock()
        model = PegasosSVC(C=10.0, cache="cached", random_state=0, **options).fit(X, y)
        return model, clock() - begin

    _, seconds = fit(polish=True, tol=0.01)
    for part in (0.1, 0.3, 0.5):
        limit = {"max_time": part * seconds}
        with pytest.warns(ConvergenceWarning, match="fewer rows, polish=False, or .* Nystroem"):
            polished, _ = fit(polish=True, tol=0.01, **limit)
        with pytest.warns(ConvergenceWarning, match=r"gap of [\d.]+; the model .* is returned\.$"):
            plain, _ = fit(**limit)
        assert polished.n_steps_ > 0.9 * plain.n_steps_
        assert polished.score(X, y) > plain.score(X, y) - 0.005
        assert polished.objective_ < plain.objective_
    for part in (0.6, 0.7, 0.8):  # an ascent has begun, and gives way while time is left for steps
        limit = {"max_time": part * seconds}
        with pytest.warns(ConvergenceWarning, match="stopped by max_time"):
            polished, _ = fit(polish=True, tol=0.01, **limit)
        with pytest.warns(ConvergenceWarning, match="stopped by max_time"):
            plain, _ = fit(**limit)
        assert polished.score(X, y) > plain.score(X, y) - 0.005


@pytest.mark.parametrize(
    "options", [{}, {"polish": True}, {"cache": "cached"}, {"tol": 0.5}], ids=str
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_seconds_of_a_history_begin_with_fit(n_classes, options):
    """They used to leave out the kernel matrix, and all else before the first step."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % n_classes

    def slow(A, B):
        time.sleep(1e-4 * len(A) * len(B))
        return A @ B.T

    begin = time.perf_counter()
    options = {"kernel": slow, "epochs": 2, "n_jobs": 1, "random_state": 0} | options
    model = PegasosSVC(**options).fit(X, y)
    whole = time.perf_counter() - begin
    histories = [model.history_] if n_classes == 2 else model.history_
    told = sum(history[-1].seconds for history in histories)
    assert 0.8 * whole < told < whole


@pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_solver_of_ones_own_polishes_every_pair_in_place_of_ours(Estimator, n_classes):
    """Pairs as small as those that are trained in compiled code, too."""
    rng, polished = np.random.default_rng(0), set()

    class Own(DualAscent):
        def advance_to_checkpoint(self, stopper):
            polished.add(self.state.spawn_key)
            return super().advance_to_checkpoint(stopper)

    X, y = rng.normal(size=(60, 3)), np.arange(60) % n_classes
    model = Estimator(polish=Own, tol=1e-3, random_state=0).fit(X + y[:, None], y)
    assert np.max(model.relative_gap_) <= 1e-3
    assert len(polished) == model.intercept_.size
    assert clone(model).polish is Own


def test_matrix_that_is_cut_short_leaves_each_pair_its_rows(monkeypatch):
    X, y = make_blobs(90, centers=3, cluster_std=4.0, random_state=0)  # classes in no order
    expected = PegasosSVC(random_state=0).fit(X, y)
    from_values, calls = GramRows.from_values, []

    def first_cut(*values, **options):
        calls.append(values)
        if len(calls) == 1:
            raise CutShort
        return from_values(*values, **options)

    monkeypatch.setattr(GramRows, "from_values", first_cut)
    assert_same_model(PegasosSVC(random_state=0).fit(X, y), expected, X)
    assert len(calls) == 4  # of all, and of each pair
