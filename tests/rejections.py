"""Assertions about bad input: one clear sentence that names the parameter, nothing fitted."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

#: Leftovers of numpy or numba, in what should be a sentence for people.
LEFTOVERS = re.compile("broadcast|out of bounds|boolean index|Traceback|ufunc|object is")


def refusal(call, *arguments, **options):
    """The one sentence of a ValueError that a call ends in."""
    with pytest.raises(ValueError, match=r"\S") as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert type(caught.value) is ValueError, "and none of Unicode or JSON"
    assert "\n" not in message
    assert len(message) < 450
    assert not LEFTOVERS.search(message)
    return message


def data(n_classes=2):
    return make_blobs(60, centers=n_classes, n_features=3, random_state=0)


def message_of(clf, X, y, method="fit", **arguments):
    """The sentence that a fit is refused in; nothing may be left of the fit."""
    message = refusal(getattr(clf, method), X, y, **arguments)
    assert [name for name in vars(clf) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        clf.predict(np.zeros((1, 3)))
    return message


def assert_rejected(clf, X, y, match, **arguments):
    message = message_of(clf, X, y, **arguments)
    assert re.search(match, message), message
