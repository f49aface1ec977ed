"""What the experiments implement themselves, and what their committed results say."""

import naive
import numpy as np
import pytest
from conftest import make_integers, stream

from experiments import costly_kernels, sampling, slips
from kpegasos.core.draws import IndexStream

# What the package does not offer


def test_one_permutation_repeats_the_first_epoch():
    fixed = IndexStream(10, sampling.sampling_of("one permutation", 0), 0)
    first = fixed.take(0, 10)
    np.testing.assert_array_equal(np.sort(first), np.arange(10))
    np.testing.assert_array_equal(fixed.take(0, 30), np.tile(first, 3))
    np.testing.assert_array_equal(fixed.take(25, 35), np.roll(first, 5))
    other = IndexStream(10, sampling.sampling_of("one permutation", 1), 0)
    assert not np.array_equal(other.take(0, 10), first)


@pytest.mark.parametrize(
    ("slip", "reference"),
    [
        ("label", naive.slip_label_outside_sum),
        ("threshold", naive.slip_shrunk_threshold),
        ("code", naive.slip_seed_code),
    ],
)
def test_slips_are_those_of_the_reference(monkeypatch, slip, reference):
    lam, n_steps = 0.25, 100
    data = make_integers()

    class Recorder:
        y, gram = data.y, naive.gram(data.X, data.X)

        def __call__(self, coef):
            return coef

    monkeypatch.setattr(slips, "LAM", lam)
    draws = stream(data.y.size, n_steps)
    (coef,) = slips._wrong(Recorder(), slip, draws, [n_steps])
    expected = np.array(reference(Recorder.gram, data.y, draws, lam), dtype=float)
    if slip != "code":
        expected *= data.y / (lam * n_steps)
    np.testing.assert_allclose(coef, expected, rtol=1e-12)


# Kernels that cost


def test_uniform_steps_are_those_of_qiskit():
    data = make_integers()
    gram, draws = naive.gram(data.X, data.X), stream(data.y.size, 200)
    C = 4.0 * data.y.size
    steps = costly_kernels.uniform_steps(gram, np.asarray(data.y), C, iter([*draws, 0]))
    found = [(spent, {i: n for i, n in enumerate(counts.tolist()) if n}) for spent, counts in steps]
    # What has been asked for before a step, and the counts by then, are those after the last one.
    assert found[1:] == naive.pegasos_qsvc(gram, data.y, draws, C)
    assert found[0] == (0, {})


def test_refined_labels_tell_apart_what_degrees_do_not():
    # Paths of five nodes with a sixth at the second or the third.
    second = (["C"] * 6, [[1], [0, 2, 5], [1, 3], [2, 4], [3], [1]])
    third = (["C"] * 6, [[1], [0, 2], [1, 3, 5], [2, 4], [3], [2]])
    backwards = (["C"] * 6, [[5 - j for j in near] for near in second[1][::-1]])
    counts = [costly_kernels.label_counts(graph) for graph in (second, backwards, third)]
    assert costly_kernels.shared(counts[0], counts[1]) == pytest.approx(1.0)
    assert costly_kernels.shared(counts[0], counts[2]) < 0.99
