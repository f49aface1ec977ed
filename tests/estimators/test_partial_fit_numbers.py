"""`partial_fit` of a regressor: Pegasos over a stream of chunks of numbers."""

import copy
import pickle

import naive_losses
import numpy as np
import pytest
from number_cases import EACH, NAMES, data, parameter_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import LinearPegasosSVR, losses
from kpegasos.core.draws import IndexStream
from kpegasos.fitting import streams
from kpegasos.solvers.online import advance_stream
from kpegasos.utils.validation import draw_seed


def radii_of(loss, y, weight, lam, ends):
    """Largest ``sqrt(P(0) / lam)`` of what has come by the end of each chunk, for each example."""
    cost = weight * naive_losses.LOSSES[NAMES[loss]](np.zeros_like(y), y, **parameter_of(loss))
    radius, radii, begin = 0.0, np.empty(y.size), 0
    for end in ends:
        radius = max(radius, np.sqrt(np.mean(cost[:end]) / lam))
        radii[begin:end], begin = radius, end
    return radii


def order_of(ends, seed=0):
    """The examples in the order in which a stream of these chunks draws them."""
    starts, drawn = [0, *ends[:-1]], draw_seed(seed)
    return np.concatenate(
        [
            begin + IndexStream(end - begin, "permutation", drawn, (0, number)).take(0, end - begin)
            for number, (begin, end) in enumerate(zip(starts, ends, strict=True))
        ]
    )


def streamed(model, X, y, ends, weight=None):
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        rows = slice(begin, end)
        own = None if weight is None else weight[rows]
        model.partial_fit(X[rows], y[rows], sample_weight=own)
    return model


@EACH
@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform", None])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("ends", [[120], [50, 51, 120], list(range(1, 121))], ids=len)
def test_partial_fit_is_pegasos_by_the_book(loss, average, projection, ends):
    X, y, weight = data()
    model = LinearPegasosSVR(
        loss=loss, lam=0.125, average=average, projection=projection, fit_intercept=False,
        random_state=0,
    )  # fmt: skip
    streamed(model, X, y, ends, weight)
    projected = projection or loss.startswith("squared")
    run = naive_losses.run(
        NAMES[loss], X, y, 0.125 / weight.mean(), order_of(ends), weight=weight,
        radius=radii_of(loss, y, weight, 0.125, ends) if projected else None,
        **parameter_of(loss),
    )  # fmt: skip
    assert_allclose(model.coef_, run.average(average), rtol=1e-8, atol=1e-10)
    assert_array_equal(model.intercept_, 0.0)
    assert model.n_steps_ == 120


def test_offset_is_the_weighted_mean_of_the_first_chunk():
    X, y, weight = data()
    model = streamed(
        LinearPegasosSVR(lam=0.125, intercept_scaling=2.0, random_state=0), X, y, [40, 120], weight
    )
    mean = np.average(y[:40], weights=weight[:40])
    run = naive_losses.run(
        "EpsilonInsensitive", np.column_stack((X, np.full(120, 2.0))), y - mean,
        0.125 / weight.mean(), order_of([40, 120]), weight=weight,
    )  # fmt: skip
    expected = run.average("weighted")
    assert_allclose(model.coef_, expected[:3], rtol=1e-8)
    assert_allclose(model.intercept_, [mean + 2.0 * expected[3]], rtol=1e-8)
    assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


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


@EACH
def test_a_stream_comes_near_the_optimum(loss):
    X, y, _ = data(600)
    lam = 0.1 if loss.startswith("squared") else 0.01
    model = LinearPegasosSVR(loss=loss, lam=lam, fit_intercept=False, random_state=0)
    for _ in range(20):
        streamed(model, X, y, [150, 300, 450, 600])
    best = LinearPegasosSVR(
        loss=loss, lam=lam, fit_intercept=False, polish=True, tol=1e-6, random_state=0
    ).fit(X, y)
    coef = model.coef_
    errors = naive_losses.LOSSES[NAMES[loss]](X @ coef, y, **parameter_of(loss))
    assert 0.5 * lam * coef @ coef + errors.mean() <= 1.02 * best.objective_


def test_intercept_follows_a_shift_of_the_targets():
    X, y, _ = data()
    one, other = (
        streamed(LinearPegasosSVR(lam=0.01, random_state=0), X, shifted, [60, 120])
        for shifted in (y, y + 1024.0)
    )
    assert_allclose(other.predict(X) - 1024.0, one.predict(X), atol=1e-8)


# --- the ball of the projection ---


@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive", "epsilon_insensitive"])
def test_small_chunks_do_not_pull_the_model_into_their_own_ball(loss):
    """Rows and targets of every second chunk are a hundredth of the others'."""
    X, y, _ = data(800)
    scale = np.where(np.arange(800) // 100 % 2, 0.01, 1.0)
    X, y = X * scale[:, None], (y - 3.0) * scale
    parameters = {"loss": loss, "lam": 0.05, "fit_intercept": False, "random_state": 0}
    model = LinearPegasosSVR(projection=True, **parameters)
    for _ in range(5):
        streamed(model, X, y, list(range(100, 900, 100)))
    best = LinearPegasosSVR(polish=True, tol=1e-6, **parameters).fit(X, y)
    assert_allclose(model.coef_, best.coef_, atol=0.05 * np.linalg.norm(best.coef_))
    small = y[scale < 1.0]
    cost = naive_losses.LOSSES[NAMES[loss]](np.zeros_like(small), small, epsilon=0.1).mean()
    assert np.linalg.norm(model.coef_) > 1.1 * np.sqrt(cost / 0.05)


def test_the_ball_holds_the_optimum_of_what_has_come():
    X, y, weight = data()
    y = y * np.linspace(2.0, 0.1, 120)
    parameters = {"loss": "huber", "lam": 0.3, "fit_intercept": False, "random_state": 0}
    model, radius = LinearPegasosSVR(projection=True, **parameters), 0.0
    for end in range(20, 121, 20):
        rows = slice(end - 20, end)
        model.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
        mean = weight[:end].mean()
        best = LinearPegasosSVR(polish=True, tol=1e-6, **{**parameters, "lam": 0.3 / mean})
        best.fit(X[:end], y[:end], sample_weight=weight[:end])
        now = model._online.streams[0].radius
        assert now >= radius
        assert np.linalg.norm(best.coef_) <= now
        radius = now


def test_chunks_of_no_loss_change_nothing_but_the_number_of_steps():
    X, y, _ = data()
    model = LinearPegasosSVR(loss="squared_epsilon_insensitive", lam=0.5, fit_intercept=False)
    model.partial_fit(X[:10], np.zeros(10))
    assert_array_equal(model.coef_, 0.0)
    model.partial_fit(X, y).partial_fit(0.0 * X[:10], np.zeros(10))
    assert np.isfinite(model.coef_).all()
    assert model.coef_.any()


# --- a stream is a stream ---


@EACH
def test_partial_fit_goes_on_after_pickling(loss):
    X, y, _ = data()
    a, b = (LinearPegasosSVR(loss=loss, average="suffix", random_state=0) for _ in range(2))
    for model in (a, b):
        model.partial_fit(X[:50], y[:50])
    b = pickle.loads(pickle.dumps(b))
    assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)
    assert_array_equal(a.intercept_, b.intercept_)


def test_partial_fit_sparse_equals_dense():
    X, y, _ = data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, thin = (LinearPegasosSVR(lam=0.1, random_state=0) for _ in range(2))
    for part in np.array_split(np.arange(120), 5):
        dense.partial_fit(X[part], y[part])
        thin.partial_fit(sparse.csc_matrix(X[part]), y[part].tolist())
    assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-9)


def test_partial_fit_lam_of_the_first_chunk():
    X, y, weight = data()
    a, b = LinearPegasosSVR(C=0.5, random_state=0), LinearPegasosSVR(random_state=0)
    b.set_params(lam=1.0 / (0.5 * weight[:40].sum()))
    assert_allclose(
        *(streamed(model, X, y, [40, 120], weight).coef_ for model in (a, b)), rtol=1e-12
    )


def test_partial_fit_makes_whole_batches():
    X, y, _ = data()
    model = LinearPegasosSVR(batch_size=16, random_state=0).partial_fit(X, y)
    assert model.n_steps_ == 8
    assert model.partial_fit(X[:3], y[:3]).n_steps_ == 9


def test_partial_fit_after_fit_begins_anew_and_fit_after_it_too():
    X, y, _ = data()
    stream = LinearPegasosSVR(random_state=0).partial_fit(X, y)
    model = LinearPegasosSVR(random_state=0).fit(X, y)
    fitted = model.coef_
    assert_array_equal(model.partial_fit(X, y).coef_, stream.coef_)
    assert sorted(vars(model)) == sorted(vars(stream))
    assert_array_equal(model.fit(X, y).coef_, fitted)


def test_losses_of_ones_own_and_other_parameters():
    X, y, _ = data()
    model = LinearPegasosSVR(loss=losses.Huber(0.5), random_state=0).partial_fit(X, y)
    named = LinearPegasosSVR(loss="huber", epsilon=0.5, random_state=0).partial_fit(X, y)
    assert_array_equal(model.coef_, named.coef_)
    with pytest.raises(ValueError, match=r"epsilon must be those of the first .* another loss"):
        named.set_params(epsilon=0.25).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"must be those of the first call .* another C"):
        model.set_params(C=2.0).partial_fit(X, y)


BAD_TARGETS = [
    (lambda y: np.where(y > 0, np.nan, y), r"^Input y contains NaN"),
    (lambda y: np.where(y > 0, np.inf, y), r"^Input y contains infinity"),
    (lambda y: 1e101 * np.ones_like(y), r"^y must be of size 1e\+100 at the most, got 1e\+101"),
    (lambda y: np.full(y.size, "a"), r"^y must hold real numbers, got array\(\['a'"),
    (lambda y: np.full(y.size, "a", object), r"^y must hold real numbers, got array\(\['a'"),
    (lambda y: np.column_stack((y, y)), r"^y should be a 1d array, got an array of shape"),
    (lambda y: np.ma.masked_less(y, 0.0), r"^y must have no masked entries"),
    (lambda y: y[:-1], r"^y must be a vector with an entry for each row of X"),
    (lambda y: y.astype("M8[s]"), r"^y must hold real numbers, got datetime64"),
]


@pytest.mark.parametrize(("spoil", "match"), BAD_TARGETS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_targets_are_named_alike(spoil, match, method):
    X, y, _ = data()
    with pytest.raises(ValueError, match=match):
        getattr(LinearPegasosSVR(), method)(X, spoil(y))


def test_a_failed_chunk_changes_nothing():
    X, y, weight = data()
    a = LinearPegasosSVR(random_state=0).partial_fit(X, y)
    b = copy.deepcopy(a)
    for arguments in (
        (X * np.nan, y),
        *((X, spoil(y)) for spoil, _ in BAD_TARGETS),
        (X[:, :2], y),
        (X, y, -weight),
    ):
        with pytest.raises(ValueError, match=r"\S"):
            a.partial_fit(*arguments)
    assert_array_equal(a.coef_, b.coef_)
    assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)
    fresh = LinearPegasosSVR()
    with pytest.raises(ValueError, match="NaN"):
        fresh.partial_fit(X, y * np.nan)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.parametrize("begun", [False, True])
def test_a_chunk_that_is_interrupted_in_its_middle_is_as_if_it_had_not_come(begun, monkeypatch):
    X, y, _ = data()
    model = LinearPegasosSVR(lam=0.1, random_state=0)
    if begun:
        model.partial_fit(X, y)
    twin = copy.deepcopy(model).partial_fit(X, y + 1.0)

    def fails_at_its_end(*arguments):
        advance_stream(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(streams, "advance_stream", fails_at_its_end)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y - 7.0)
    assert hasattr(model, "coef_") == begun
    assert_array_equal(model.partial_fit(X, y + 1.0).coef_, twin.coef_)
    assert_array_equal(model.intercept_, twin.intercept_)
