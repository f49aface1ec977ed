"""Rows that are not kept: what they compute, and what they refuse."""

import numpy as np
import pytest
from row_cases import BYTES_PER_EXAMPLE, SLACK_MB, X, Y, each_dtype, large_data, peak_mb

from kpegasos import RBF, KernelMatrix, UncachedRows, make_problem, make_rows, pegasos
from kpegasos.utils import tuning


def test_uncached_counts_what_it_computes():
    """Evaluations are those of the tiles: draws against support, and against themselves."""
    sizes = []

    class Counting(KernelMatrix):
        def pack_subset(self):
            subset = super().pack_subset()
            write = subset.write

            def counted(members, out, *part):
                sizes.append(out.size)
                write(members, out, *part)

            subset.write = counted
            return subset

    rows = UncachedRows(Counting(RBF(0.5), X), tile_rows=8)
    result = pegasos(
        make_problem(Y, 0.1), rows, n_steps=50, average=None, checkpoints=None, random_state=0
    )
    assert np.count_nonzero(result.alpha)
    assert rows.evaluations == sum(sizes) > 0


@each_dtype
def test_uncached_memory_of_an_evaluation(dtype):
    """Margins of many examples against many, too: float32 values are not widened all at once."""
    n_samples, cache_mb = 9000, 16
    A = np.random.default_rng(0).normal(size=(n_samples, 2)).astype(dtype)
    rows = make_rows(A, "linear", cache="streamed", cache_mb=cache_mb)
    columns = np.ones((n_samples, 2))
    peak = peak_mb(lambda: rows.product(columns))
    assert peak < cache_mb + BYTES_PER_EXAMPLE * n_samples / tuning.MEBIBYTE + SLACK_MB


@pytest.mark.slow
@each_dtype
def test_uncached_memory_of_large_batches(dtype):
    """A batch as large as the budget allows is scored against the support within it, too."""
    cache_mb, (A, y) = 32, large_data(9000, 2)
    A, task = A.astype(dtype), make_problem(y, 1.0)

    def train(rows=A, problem=task, batch_size=1448):
        source = make_rows(rows, "linear", cache="streamed", cache_mb=cache_mb)
        # As if every example had violated: the support is more than one product may take.
        state = pegasos(problem, source, n_steps=1, batch_size=batch_size, checkpoints=None).state
        state.loop.alpha[:] = 1
        pegasos(problem, source, n_steps=1, batch_size=batch_size, checkpoints=None, state=state)

    train(A[:50], make_problem(y[:50], 1.0), 20)  # compiles
    assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / tuning.MEBIBYTE + SLACK_MB


def test_uncached_refuses_batches_beyond_its_budget():
    """A batch is scored against itself, and the sentence says what that takes."""
    A, y = large_data()

    def train(cache_mb):
        rows = make_rows(A, "linear", cache="streamed", cache_mb=cache_mb)
        pegasos(
            make_problem(y, 1e-3),
            rows,
            n_steps=4,
            batch_size=2000,
            checkpoints=None,
            random_state=0,
        )

    with pytest.raises(
        ValueError, match=r"cache_mb must be at least .* for batch_size=2000"
    ) as caught:
        train(1.0)
    train(float(str(caught.value).split("at least ")[1].split()[0]))
