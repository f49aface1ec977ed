"""One estimator, several threads: nothing is lost, and what is read belongs to one model."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC
from kpegasos.fitting import streams
from kpegasos.kernels import decision

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("kind", [LinearPegasosSVC, LinearPegasosSVR])
def test_partial_fit_loses_no_call_of_several_threads(kind, monkeypatch):
    advance, begun = streams.advance_stream, Event()

    def slow(*arguments):
        begun.wait(0.02)  # for others, who would go on from the same state
        advance(*arguments)

    monkeypatch.setattr(streams, "advance_stream", slow)
    model = kind(lam=0.1, random_state=0)
    options = {"classes": [-1, 1]} if kind is LinearPegasosSVC else {}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: model.partial_fit(X, Y, **options), range(8)))
    alone = kind(lam=0.1, random_state=0)
    for _ in range(8):
        alone.partial_fit(X, Y, **options)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert np.sum(model.n_steps_) == 8 * 30


def test_decisions_are_of_one_model_though_another_is_fitted_meanwhile(monkeypatch):
    model = PegasosSVC(epochs=2, random_state=0).fit(X, Y)
    expected, product = model.decision_function(X), decision.KernelExpansion.decide

    def refit(expansion, *arguments):
        monkeypatch.undo()
        found = product(expansion, *arguments)
        model.fit(X[:20] + 1.0, -Y[:20])
        return found

    monkeypatch.setattr(decision.KernelExpansion, "decide", refit)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert not np.array_equal(model.decision_function(X), expected)


def test_fit_within_a_fit_of_the_same_estimator_is_refused():
    def kernel(A, B):
        model.fit(X, Y)

    model = PegasosSVC(kernel=kernel)
    with pytest.raises(ValueError, match="estimator must be free for this call"):
        model.fit(X, Y)
    model.set_params(kernel="rbf").fit(X, Y)
