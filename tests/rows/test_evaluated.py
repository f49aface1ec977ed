"""What rounding may do to a certificate, term by term."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from kpegasos.rows.evaluated import roundings


def test_roundings_have_every_term():
    eps = np.finfo(np.float64).eps
    size, of_values, rounding, additions, n_samples, largest = 3.0, 5e-14, 7e-14, 11.0, 13, 17.0
    sums = SimpleNamespace(size=size, of_values=of_values, rounding=rounding)
    of_loss, of_norm = roundings(sums, additions, n_samples, largest)
    in_margin = additions * eps * largest + of_values
    assert_allclose(of_loss, in_margin + size * rounding / n_samples, rtol=1e-12)
    in_sum = n_samples * eps / 2 * size**2 * largest
    assert_allclose(of_norm, size * (in_margin + of_values) + in_sum, rtol=1e-12)
