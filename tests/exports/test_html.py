"""The line that HTML of an estimator has below scikit-learn's diagram."""

import re

from export_cases import classifier, data, linear_classifier, regressors, targets
from sklearn import config_context

from kpegasos import PegasosSVC, PegasosSVCCV


def note_of(model):
    """The last element, without its tags."""
    return re.sub(r".*<div[^>]*>(.*)</div>", r"\1", model._repr_html_().splitlines()[-1])


def test_html_of_a_model_has_gap_support_steps_and_time():
    X, y, _ = data(2)
    model = classifier().fit(X, y)
    pattern = (
        rf"within [\d.]+% of the optimum \(certified relative gap\) · "
        rf"{model.support_.size} support vectors of 80 examples · 400 steps · "
        rf"[\d.e-]+ s of training"
    )
    assert re.fullmatch(pattern, note_of(model))
    assert "sk-container-id" in model._repr_html_()
    assert model._repr_mimebundle_()["text/html"].endswith(f"{note_of(model)}</div>")
    style = re.search(r'style="([^"]*)">[^<]*</div>$', model._repr_html_())[1]
    assert "color: inherit" in style
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}
    X, y, _ = data(3)
    note = note_of(classifier().fit(X, y))
    assert "largest of 3 pairs" in note
    assert "800 steps" in note
    assert "support vectors" not in PegasosSVC()._repr_html_()
    assert "<div" in PegasosSVC()._repr_html_()


def test_html_of_a_search_has_the_line_of_its_model():
    X, y, _ = data(2)
    search = PegasosSVCCV(Cs=[1.0], gammas=[0.05], cv=2, random_state=0)
    assert "support vectors" not in search._repr_html_()
    note = note_of(search.fit(X, y))
    assert f"{search.support_.size} support vectors of 80 examples" in note
    assert "certified relative gap" in note


def test_html_says_where_there_is_no_certificate():
    X, y, _ = data(2)
    assert note_of(classifier("sigmoid").fit(X, y)).startswith("no certified gap · ")
    stream = linear_classifier().partial_fit(X, y, classes=[-1, 7])
    assert note_of(stream) == "80 steps"
    regressor = regressors()["primal"].fit(X, targets(X))
    assert "certified relative gap" in note_of(regressor)
