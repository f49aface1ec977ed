"""The line that HTML of an estimator has below scikit-learn's diagram."""

import re

from export_cases import classifier, data, linear_classifier, regressors, search, targets
from sklearn import config_context


def note_of(model):
    """The last element, without its tags."""
    return re.sub(r".*<div[^>]*>(.*)</div>", r"\1", model._repr_html_().splitlines()[-1])


def test_html_of_a_model_has_gap_and_support():
    (X, y, _), (X3, y3, _) = data(2), data(3)
    model = classifier().fit(X, y)
    assert re.fullmatch(
        rf"within [\d.]+% of the optimum \(certified relative gap\) · "
        rf"{model.support_.size} support vectors",
        note_of(model),
    )
    assert model._repr_mimebundle_()["text/html"].endswith(f"{note_of(model)}</div>")
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_().keys() == {"text/plain"}
    assert "largest of 3 pairs" in note_of(classifier().fit(X3, y3))
    assert note_of(classifier("sigmoid").fit(X, y)).startswith("no certified gap · ")
    assert "certified relative gap" in note_of(regressors()["primal"].fit(X, targets(X)))
    stream = linear_classifier().partial_fit(X, y, classes=[-1, 7])
    for without in (classifier(), stream):
        assert "support vectors" not in without._repr_html_()
    found = search().fit(X, y)
    assert f"{found.support_.size} support vectors" in note_of(found)
