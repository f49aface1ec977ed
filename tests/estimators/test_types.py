"""What type checkers know of estimators, from a script of a user's."""

import importlib.util
import inspect
import subprocess
import sys
import warnings

import pytest
from models import four_classes
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR

SCRIPT = """
import kpegasos
from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV, PegasosSVR

model = PegasosSVC(C=10.0).set_params(gamma=2.0).fit([[0.0], [1.0]], [0, 1])
reveal_type(model.C)
reveal_type(model.objective_)
reveal_type(model.predict([[0.5]]).size)
reveal_type(PegasosSVR().fit([[0.0]], [1.0]).objective_)
reveal_type(LinearPegasosSVC().partial_fit([[0.0]], [1]).n_support_.size)
reveal_type(PegasosSVCCV().fit([[0.0]], [1]).best_estimator_.score([[0.0]], [1]))
model.fitt
model.fit([[0.0], [1.0]])
PegasosSVC(C="1.0")
"""
REVEALED = ["float", "float | numpy.ndarray", "int", "float", "int", "float"]
ERRORS = ['"PegasosSVC" has no attribute "fitt"', 'Missing positional argument "y"', 'Argument "C"']


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_mypy_checks_a_script_far_from_the_checkout(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", "cache", "script.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert all(got.startswith(expected) for got, expected in zip(revealed, REVEALED, strict=True))
    errors = [line for line in lines if ": error: " in line]
    assert all(expected in got for got, expected in zip(errors, ERRORS, strict=True)), errors


FITTED = [
    PegasosSVC(fit_intercept="free", loss="log_loss"),
    LinearPegasosSVC(fit_intercept="free"),
    PegasosSVR(fit_intercept="free"),
    LinearPegasosSVR(fit_intercept="free"),
    PegasosSVCCV(Cs=2, gammas=1, cv=2),
]


@pytest.mark.parametrize("estimator", FITTED, ids=lambda estimator: type(estimator).__name__)
def test_types_of_parameters_and_of_the_model_are_declared(estimator):
    """As checkers know them; scikit-learn tells of ``n_features_in_``."""
    X, y = four_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator.fit(X, y)
    kind = type(model)
    declared = set().union(*(inspect.get_annotations(each) for each in kind.__mro__))
    described = {name: inspect.getattr_static(kind, name) for name in dir(kind)}
    declared |= {name for name, value in described.items() if hasattr(value, "__get__")}
    kept = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert kept | set(model.get_params()) <= declared | {"n_features_in_"}
