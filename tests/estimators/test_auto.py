"""What is left to us: epochs and checkpoints "auto"."""

import numpy as np
import pytest
from models import BOTH, four_classes, two_classes

from kpegasos import ArrayChunks, LinearPegasosSVC, PegasosSVC, fit_chunks
from kpegasos.fitting.settings import POLISH_DRAWS, POLISH_EPOCHS


@BOTH
def test_plain_fit_makes_20_epochs(Estimator):
    X, y = two_classes(60)
    a = Estimator(random_state=0).fit(X, y)
    b = Estimator(epochs=20, random_state=0).fit(X, y)
    assert a.n_steps_ == b.n_steps_ == 20 * 60
    np.testing.assert_array_equal(a.intercept_, b.intercept_)


@BOTH
@pytest.mark.parametrize("n_samples", [60, 2000])
def test_polished_fit_begins_with_few_draws(Estimator, n_samples):
    X, y = two_classes(n_samples)
    clf = Estimator(polish=True, random_state=0).fit(X, y)
    assert clf.n_steps_ == min(POLISH_EPOCHS * n_samples, POLISH_DRAWS)
    assert clf.relative_gap_ <= 1e-2


def test_each_pair_has_its_own_number_of_draws():
    X, y = four_classes(200)
    kept = (y > 0) | (np.arange(200) % 4 == 0)
    clf = PegasosSVC(polish=True, random_state=0).fit(X[kept], y[kept])
    sizes = np.bincount(y[kept])
    pairs = [sizes[i] + sizes[j] for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_array_equal(clf.n_steps_, np.ceil(POLISH_EPOCHS * np.array(pairs)))


@BOTH
def test_n_steps_wins(Estimator):
    X, y = two_classes(60)
    for polish in (False, True):
        assert Estimator(n_steps=7, polish=polish, random_state=0).fit(X, y).n_steps_ == 7


@BOTH
@pytest.mark.parametrize("polish", [False, True])
def test_warm_start_adds_as_many(Estimator, polish):
    X, y = two_classes(60)
    clf = Estimator(warm_start=True, polish=polish, random_state=0).fit(X, y)
    once = clf.n_steps_
    assert clf.fit(X, y).n_steps_ == 2 * once


def test_chunks_are_visited_20_times():
    X, y = two_classes(60)
    clf = fit_chunks(LinearPegasosSVC(random_state=0), ArrayChunks(X, y, chunk_size=20))
    assert clf.n_steps_ == 20 * 60


@BOTH
def test_refuses_other_words(Estimator):
    X, y = two_classes(60)
    with pytest.raises(ValueError, match="epochs"):
        Estimator(epochs="epoch").fit(X, y)


def test_history_is_sparse_where_nobody_waits():
    X, y = two_classes(60)
    history = PegasosSVC(random_state=0).fit(X, y).history_
    assert history["epoch"].tolist() == [1, 2, 5, 10, 20]


def test_gap_is_looked_at_each_epoch_where_one_is_asked_for():
    X, y = two_classes(60)
    every = PegasosSVC(checkpoints="epoch", epochs=200, random_state=0).fit(X, y).history_
    tol = float(every["relative_gap"][6])
    clf = PegasosSVC(tol=tol, epochs=200, random_state=0).fit(X, y)
    first = np.flatnonzero(every["relative_gap"] <= tol)[0]
    assert clf.history_["epoch"].tolist() == list(range(1, first + 2))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_linear_model_copes_with_all_at_once(early_stopping):
    X, y = two_classes(200)
    options = {"early_stopping": early_stopping, "checkpoints": "auto", "random_state": 0}
    assert LinearPegasosSVC(**options).fit(X, y).score(X, y) > 0.8
    polished = LinearPegasosSVC(polish=True, **options).fit(X, y)
    if early_stopping:  # there is something to choose from
        assert len(polished.validation_scores_) > 1
    else:
        assert polished.relative_gap_ <= 1e-2
