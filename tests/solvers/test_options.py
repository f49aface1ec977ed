"""Options of a run: what they mean, and what is refused."""

import pytest
from solver_cases import DATA, M, make_kernel_rows, make_task, run_pegasos

from kpegasos import Sigmoid, make_rows, pegasos


@pytest.mark.parametrize(
    ("epochs", "batch_size", "expected"),
    [(1, 1, 37), (2, 1, 74), (1, 3, 13), (3, 37, 3), (0.5, 1, 19), (1e-9, 1, 1), (2, 16, 5)],
)
def test_epochs_are_covered_by_whole_batches(epochs, batch_size, expected):
    result = run_pegasos(make_kernel_rows("cached"), batch_size, n_steps=None, epochs=epochs)
    assert result.n_steps == expected


def test_n_steps_wins_over_epochs():
    assert run_pegasos(make_kernel_rows("cached"), n_steps=5, epochs=7).n_steps == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a positive integer, got 0"),
        ({"batch_size": -3}, "batch_size must be a positive integer, got -3"),
        ({"batch_size": 2.0}, "batch_size must be a positive integer, got 2.0"),
        ({"batch_size": M + 1}, f"batch_size must be at most the number of examples, {M}"),
        ({"average": "mean"}, "average must be one of .* got 'mean'"),
        ({"sampling": "cyclic"}, "sampling must be .* got 'cyclic'"),
        ({"n_steps": 0}, "n_steps must be a positive integer, got 0"),
        ({"n_steps": 1.5}, "n_steps must be a positive integer, got 1.5"),
        ({"n_steps": None, "epochs": 0}, "epochs must be a positive number, got 0"),
        ({"n_steps": None, "epochs": None}, "epochs must be a positive number, got None"),
        ({"n_steps": None, "epochs": float("nan")}, "epochs must be a positive number"),
        ({"n_steps": None, "epochs": float("inf")}, "epochs must be a positive number"),
        ({"checkpoints": "steps"}, "checkpoints must be .* got 'steps'"),
        ({"checkpoints": [0, 4]}, "checkpoints must list steps from 1 on, got 0"),
    ],
    ids=str,
)
def test_options_are_checked(options, message):
    options = {"n_steps": 5} | options
    with pytest.raises(ValueError, match=message):
        pegasos(make_task(), make_kernel_rows("cached"), **options)


def test_rows_must_fit_the_problem():
    with pytest.raises(ValueError, match=r"rows must belong to the 37 examples .* got 36"):
        run_pegasos(make_kernel_rows("cached", X=DATA.X[1:]))


def test_tol_needs_a_certificate():
    with pytest.raises(ValueError, match=r"tol .*needs? a positive semi-definite kernel"):
        run_pegasos(make_rows(DATA.X, Sigmoid()), tol=0.1)
