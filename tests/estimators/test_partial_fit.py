"""`partial_fit`: Pegasos over a stream of chunks, of classes and of numbers."""

import copy
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import naive
import naive_losses
import numpy as np
import pytest
from chunk_cases import NAMES, cost_at_zero, data, parameter_of, radii_of
from covering import each_pair, each_value
from models import integers, with_duplicates
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kpegasos import DelayedInverse, LinearPegasosSVC, LinearPegasosSVR, losses
from kpegasos.core.draws import IndexStream
from kpegasos.fitting import streams
from kpegasos.solvers.online import advance_stream
from kpegasos.utils.validation import draw_seed


@each_value(
    average=["weighted", "suffix", "uniform", None],
    kind=[(False, False), (True, False), (False, True)],
)
def test_partial_fit_is_pegasos_over_the_chunks(average, kind):
    """Chunks of one example leave no choice of order: Pegasos by the book on the sequence."""
    X, y = integers(2)
    projection, weighted = kind
    rng = np.random.default_rng(0)
    draws, weight = rng.integers(y.size, size=70), np.ones(y.size)
    clf = LinearPegasosSVC(
        lam=0.125, average=average, projection=projection, intercept_scaling=2.0, random_state=0
    )
    if weighted:
        weight = rng.integers(1, 4, size=y.size).astype(np.float64)
        clf.set_params(class_weight={1: 2.0})
    for i in draws:
        row = slice(i, i + 1)
        clf.partial_fit(X[row], y[row], classes=[0, 1], sample_weight=weight[row])
    run = naive.linear_pegasos(
        X, np.where(y == 1, 1, -1), draws, 0.125, projection=projection, intercept_scaling=2.0,
        weight=weight * np.where(y == 1, 2.0, 1.0) if weighted else None,
    )  # fmt: skip
    w = np.array([float(v) for v in naive.average(run.iterates, average)])
    assert_allclose(clf.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)
    assert_allclose(clf.intercept_[0], 2.0 * w[-1], rtol=1e-9, atol=1e-12)
    assert clf.n_steps_ == 70


def test_partial_fit_chunks_that_lack_classes():
    X, y = make_blobs(900, centers=3, cluster_std=1.0, random_state=0)
    clf, first = LinearPegasosSVC(C=0.1, random_state=0), np.flatnonzero(y == 0)[:30]
    clf.partial_fit(X[first], y[first], classes=[0, 1, 2])
    # The pair (1, 2) has seen nothing: it says nothing.
    assert not clf.coef_[2].any()
    assert clf.n_steps_.tolist() == [30, 30, 0]
    assert np.isfinite(clf.decision_function(X)).all()
    for _ in range(10):
        for pair in ((0, 1), (1, 2), (0, 2)):
            part = np.isin(y, pair)
            clf.partial_fit(X[part], y[part])
    assert clf.score(X, y) > 0.8 * LinearPegasosSVC(C=0.1, random_state=0).fit(X, y).score(X, y)


def order_of(ends):
    """The examples in the order in which a stream of these chunks draws them."""
    orders = []
    for number, (begin, end) in enumerate(pairwise([0, *ends])):
        draws = IndexStream(end - begin, "permutation", draw_seed(0), (0, number))
        orders.append(begin + draws.take(0, end - begin))
    return np.concatenate(orders)


@each_pair(
    loss=NAMES,
    average=["weighted", "suffix", "uniform", None],
    how=[(False, None), (True, None), (False, DelayedInverse())],
    ends=[[25, 26, 60], list(range(1, 61))],
    fit_intercept=[False, True],
)
def test_partial_fit_is_pegasos_by_the_book(loss, average, how, ends, fit_intercept):
    """C and the mean are of the first chunk."""
    projection, step = how
    X, y, weight = data(60)
    C = {"C": 1.0 / (0.125 * weight[: ends[0]].sum())} if fit_intercept else {"lam": 0.125}
    model = LinearPegasosSVR(
        loss=loss, average=average, projection=projection, step=step, fit_intercept=fit_intercept,
        intercept_scaling=2.0, random_state=0, **C,
    )  # fmt: skip
    for part in np.split(np.arange(60), ends[:-1]):
        model.partial_fit(X[part], y[part], sample_weight=weight[part])
    offset = np.average(y[: ends[0]], weights=weight[: ends[0]]) if fit_intercept else 0.0
    radius = None
    if projection or loss.startswith("squared"):
        visits = np.split(np.arange(60), ends[:-1])
        radius = radii_of(cost_at_zero(loss, y - offset, weight), 0.125, visits)
    *coef, last = naive_losses.run(
        NAMES[loss], np.column_stack((X, np.full(60, 2.0 * fit_intercept))), y - offset,
        0.125 / weight.mean(), order_of(ends), average, weight=weight, radius=radius, step=step,
        **parameter_of(loss),
    )  # fmt: skip
    assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
    assert_allclose(model.intercept_, [offset + 2.0 * last], rtol=1e-8, atol=1e-10)
    assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    assert model.n_steps_ == 60


def test_the_ball_of_a_stream_holds_the_optimum_of_what_has_come():
    X, y, weight = data()
    y = y * np.linspace(2.0, 0.1, 120)
    parameters = {"loss": "huber", "lam": 0.3, "fit_intercept": False, "random_state": 0}
    model, radius = LinearPegasosSVR(projection=True, **parameters), 0.0
    for end in (20, 60, 120):
        rows = slice(model.n_steps_ if radius else 0, end)
        model.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
        mean = weight[:end].mean()
        best = LinearPegasosSVR(polish=True, tol=1e-6, **{**parameters, "lam": 0.3 / mean})
        best.fit(X[:end], y[:end], sample_weight=weight[:end])
        now = model._online.streams[0].radius
        assert now >= radius
        assert np.linalg.norm(best.coef_) <= now
        radius = now


def test_chunks_without_weight_leave_the_offset_to_the_next():
    X, y, _ = data()
    model = LinearPegasosSVR(lam=0.1, random_state=0)
    model.partial_fit(X[:20], y[:20] + 50.0, sample_weight=np.zeros(20))
    assert model.n_steps_ == 0
    assert_array_equal(model.predict(X), 0.0)
    weight = np.ones(120)
    weight[:20] = 0.0
    other = LinearPegasosSVR(lam=0.1, random_state=0).partial_fit(X, y, sample_weight=weight)
    model.partial_fit(X, y, sample_weight=weight)
    assert_array_equal(model.coef_, other.coef_)
    assert_array_equal(model.intercept_, other.intercept_)


def test_chunks_of_no_loss_change_nothing_but_the_number_of_steps():
    X, y, _ = data()
    model = LinearPegasosSVR(loss="squared_epsilon_insensitive", lam=0.5, fit_intercept=False)
    model.partial_fit(X[:10], np.zeros(10))
    assert_array_equal(model.coef_, 0.0)
    model.partial_fit(X, y).partial_fit(0.0 * X[:10], np.zeros(10))
    assert np.isfinite(model.coef_).all()
    assert model.coef_.any()


def test_losses_of_ones_own_and_other_parameters():
    X, y, _ = data()
    model = LinearPegasosSVR(loss=losses.Huber(0.5), random_state=0).partial_fit(X, y)
    named = LinearPegasosSVR(loss="huber", epsilon=0.5, random_state=0).partial_fit(X, y)
    assert_array_equal(model.coef_, named.coef_)
    with pytest.raises(ValueError, match=r"epsilon must be those of the first .* another loss"):
        named.set_params(epsilon=0.25).partial_fit(X, y)


# --- of either kind ---


def chunk_of(Estimator):
    return data()[:2] if Estimator is LinearPegasosSVR else integers(3)


def classes_of(Estimator):
    return {} if Estimator is LinearPegasosSVR else {"classes": [0, 1, 2]}


def begun(Estimator, **parameters):
    model = Estimator(random_state=0, **parameters)
    return model.partial_fit(*chunk_of(Estimator), **classes_of(Estimator))


EITHER = pytest.mark.parametrize("Estimator", [LinearPegasosSVC, LinearPegasosSVR])


@EITHER
def test_partial_fit_makes_whole_batches(Estimator):
    X, y = chunk_of(Estimator)
    model = begun(Estimator, batch_size=16)
    sizes = [120] if Estimator is LinearPegasosSVR else [64] * 3
    assert np.ravel(model.n_steps_).tolist() == [-(-size // 16) for size in sizes]
    before = np.max(model.n_steps_)
    assert np.max(model.partial_fit(X[:3], y[:3]).n_steps_) == before + 1


@EITHER
@pytest.mark.parametrize("convert", [sparse.csc_matrix, with_duplicates, np.ndarray.tolist])
def test_partial_fit_takes_rows_of_any_format(Estimator, convert):
    plain, other = begun(Estimator, lam=2.0**-6), begun(Estimator, lam=2.0**-6)
    X, y = chunk_of(Estimator)
    for part in np.array_split(np.arange(y.size), 5):
        plain.partial_fit(X[part], y[part])
        other.partial_fit(convert(X[part]), y[part].tolist())
    assert_allclose(other.coef_, plain.coef_, rtol=1e-9)
    assert_allclose(other.intercept_, plain.intercept_, rtol=1e-9)


@EITHER
def test_partial_fit_after_fit_begins_anew_with_its_classes(Estimator):
    X, y = chunk_of(Estimator)
    model = Estimator(lam=0.01, random_state=0).fit(X, y).partial_fit(X, y)
    assert_array_equal(model.coef_, begun(Estimator, lam=0.01).coef_)
    assert sorted(vars(model)) == sorted(vars(begun(Estimator, lam=0.01)))


@EITHER
def test_a_failed_call_changes_nothing(Estimator):
    one, other = begun(Estimator), begun(Estimator)
    X, y = chunk_of(Estimator)
    no_classes = [None] if Estimator is LinearPegasosSVC else []
    bad = (X * np.nan, y), (X * 1e200, y), (X[:, :2], y), (X, y, *no_classes, -np.ones(y.size))
    for arguments in bad:
        with pytest.raises(ValueError, match=r"\S"):
            one.partial_fit(*arguments)
    with pytest.raises(ValueError, match="batch_size"):
        one.set_params(batch_size=1000).fit(X, y)
    one.set_params(batch_size=1)
    assert_array_equal(one.coef_, other.coef_)
    assert_array_equal(one.partial_fit(X, y).coef_, other.partial_fit(X, y).coef_)


@EITHER
@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_chunk_that_is_cut_short_is_as_if_it_had_not_come(
    Estimator, is_begun, error, monkeypatch
):
    """One pair of three had learned the chunk, and the next call went on from there."""
    X, y = chunk_of(Estimator)
    classes = classes_of(Estimator)
    model = Estimator(lam=0.1, average="suffix", random_state=0)
    if is_begun:
        model.partial_fit(X, y, **classes)
    twin = copy.deepcopy(model).partial_fit(X[::-1], y[::-1], **classes)

    def fails_at_the_end_of_a_pair(stream, *arguments):
        advance_stream(stream, *arguments)
        if Estimator is LinearPegasosSVR or stream.state.spawn_key == (1,):
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(streams, "advance_stream", fails_at_the_end_of_a_pair)
        with pytest.raises(error):
            model.partial_fit(X[:50], y[:50] - (7.0 if not classes else 0), **classes)
    assert hasattr(model, "coef_") == is_begun
    model.partial_fit(X[::-1], y[::-1], **classes)
    assert_array_equal(model.coef_, twin.coef_)
    assert_array_equal(model.intercept_, twin.intercept_)
    assert_array_equal(model.n_steps_, twin.n_steps_)


@EITHER
def test_partial_fit_loses_no_call_of_several_threads(Estimator, monkeypatch):
    X, y = chunk_of(Estimator)
    model, alone = begun(Estimator), begun(Estimator)
    for _ in range(6):
        alone.partial_fit(X, y)

    def slow(*arguments):
        time.sleep(0.01)  # for others, who would go on from the same state
        advance_stream(*arguments)

    monkeypatch.setattr(streams, "advance_stream", slow)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: model.partial_fit(X, y), range(6)))
    assert_array_equal(model.coef_, alone.coef_)
    assert_array_equal(model.n_steps_, alone.n_steps_)


@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_during_a_chunk_is_raised_at_its_end(monkeypatch):
    X, y, _ = data()
    model, whole = LinearPegasosSVR(random_state=0), LinearPegasosSVR(random_state=0)
    whole.partial_fit(X, y)

    def pressed(*arguments):
        signal.raise_signal(signal.SIGINT)
        advance_stream(*arguments)

    monkeypatch.setattr(streams, "advance_stream", pressed)
    with pytest.raises(KeyboardInterrupt, match=r"by Ctrl-C at the end of a chunk; the estimator"):
        model.partial_fit(X, y)
    assert_array_equal(model.coef_, whole.coef_)
