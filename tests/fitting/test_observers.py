"""The progress bar in a notebook: text without ipywidgets, and full at its end with them."""

import warnings

import pytest
from rich.progress import Progress
from sklearn.datasets import make_moons

from kpegasos import PegasosSVC, PegasosSVCCV
from kpegasos.fitting import observers

X, y = make_moons(60, noise=0.1, random_state=0)
FITS = pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(verbose=True, epochs=3, random_state=0),
        PegasosSVC(verbose=True, polish=True, random_state=0),
        PegasosSVCCV(Cs=[1.0], gammas=[1.0], cv=2, verbose=True, random_state=0),
    ],
    ids=["plain", "polished", "search"],
)


@FITS
def test_bar_without_ipywidgets_is_text_and_no_warning(model, monkeypatch, capsys):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(observers, "find_spec", lambda name: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(X, y)
    bars = capsys.readouterr().out.splitlines()  # of a search, and of its last fit
    assert bars
    assert all("100%" in bar for bar in bars)


@FITS
def test_bar_with_ipywidgets_is_drawn_once_more_when_it_is_full(model, monkeypatch):
    drawn = []
    monkeypatch.setattr(observers, "find_spec", lambda name: "there")
    monkeypatch.setattr(
        Progress, "refresh", lambda bar: drawn.extend(task.percentage for task in bar.tasks)
    )
    model.fit(X, y)
    assert drawn[-1] == 100.0
