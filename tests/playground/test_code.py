"""The code that a page writes, in a real browser: it makes the picture."""

import os
import re
import subprocess
import sys

import pytest
from playground_cases import session_of, shown, state_of

from tests.playground.chromium import page_beside_the_modules

SCRIPT = """async ([state, t, algorithm]) => {
    const { scriptOf } = await import("./code.js");
    try {
        return scriptOf(state, t, algorithm);
    } catch (error) {
        return `${error.parameter}: ${error.message}`;
    }
}"""
CASES = [
    {"held_out": 7, "batch_size": 2, "projection": True, "average": "suffix", "seed": 5},
    *(
        pytest.param(changes, marks=pytest.mark.slow)
        for changes in (
            {},
            {
                "n_classes": 3,
                "C": None,
                "lam": 0.01,
                "loss": "squared_hinge",
                "fit_intercept": False,
                "sampling": "uniform",
                "panes": [{"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.5}],
            },
            {
                "panes": [
                    {"kernel": "sigmoid", "gamma": 0.1},
                    {"kernel": "laplacian", "gamma": "scale"},
                ]
            },
        )
    ),
]


@pytest.fixture(scope="module")
def page():
    with page_beside_the_modules() as page:
        yield page


def script_of(page, state, t=120, algorithm="pegasos"):
    panes = [{"gamma": "scale", "degree": 3, "coef0": 0.0, **pane} for pane in state["panes"]]
    return page.evaluate(SCRIPT, [{**state, "panes": panes}, t, algorithm])


@pytest.mark.parametrize("changes", CASES, ids=lambda changes: "-".join(changes))
def test_code_gives_the_same_objective(page, changes, tmp_path):
    state = state_of(**changes)
    session = session_of(state)
    script = tmp_path / "playground.py"
    script.write_text(script_of(page, state), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", script],
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    told = [float(number) for number in re.findall(r"objective ([^,]+),", run.stdout)]
    assert told == [pane["averaged"] for pane in shown(session, 120)["panes"]]
    if changes.get("held_out"):
        errors = [float(number) / 100 for number in re.findall(r"test error ([\d.]+)%", run.stdout)]
        expected = [pane["test_error"] for pane in shown(session, 120)["panes"]]
        assert errors == pytest.approx(expected, abs=1e-5)


def test_code_is_short_and_readable(page):
    text = script_of(page, state_of(held_out=3))
    assert max(map(len, text.splitlines())) <= 110
    assert "PegasosSVC(kernel='linear', C=10.0, random_state=0, n_steps=120" in text


def test_step_rules_have_no_code(page):
    told = script_of(page, state_of(step={"rule": "delayed", "scale": 1.0}))
    assert told.startswith("step: step must be Pegasos' own, 1/(λt), for code")


def test_code_of_a_polished_model_polishes_and_that_of_svc_is_of_pegasos(page):
    texts = {name: script_of(page, state_of(), 50, name) for name in ("pegasos", "polish", "SVC")}
    assert texts["polish"].count("polish=True)") == 2
    assert "by dual ascent" in texts["polish"]
    assert "n_steps" not in texts["polish"]
    assert texts["SVC"] == texts["pegasos"]
