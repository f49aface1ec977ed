"""The line that HTML of an estimator has below scikit-learn's diagram."""

import re

from export_cases import classifier, data, linear_classifier, regressors, search, targets
from sklearn import config_context


def note_of(model):
    """The last element, without its tags."""
    return re.sub(r".*<div[^>]*>(.*)</div>", r"\1", model._repr_html_().splitlines()[-1])


def test_html_of_a_model_has_gap_support_steps_and_time():
    (X, y, _), (X3, y3, _) = data(2), data(3)
    model = classifier().fit(X, y)
    assert re.fullmatch(
        rf"within [\d.]+% of the optimum \(certified relative gap\) · "
        rf"{model.support_.size} support vectors of 80 examples · 400 steps · "
        rf"[\d.e-]+ s of training",
        note_of(model),
    )
    assert model._repr_mimebundle_()["text/html"].endswith(f"{note_of(model)}</div>")
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
    assert "largest of 3 pairs" in note_of(classifier().fit(X3, y3))
    assert note_of(classifier("sigmoid").fit(X, y)).startswith("no certified gap · ")
    assert note_of(linear_classifier().partial_fit(X, y, classes=[-1, 7])) == "80 steps"
    assert "certified relative gap" in note_of(regressors()["primal"].fit(X, targets(X)))
    assert "support vectors" not in classifier()._repr_html_()
    found = search().fit(X, y)
    assert f"{found.support_.size} support vectors of 80 examples" in note_of(found)
