"""One look at all values tells the largest, at all indices whether loops may trust them."""

import numpy as np
import pytest
from scipy import sparse

from kpegasos.utils.validation import canonical_csr, largest_magnitude


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_largest_magnitude_is_numpys(dtype):
    values = np.random.default_rng(0).normal(size=10).astype(dtype)
    assert largest_magnitude(values) == np.abs(values).max()
    values[7] = -100.0
    assert largest_magnitude(values.reshape(2, -1)) == 100.0
    assert largest_magnitude(values[::2]) == np.abs(values[::2]).max()
    values[3] = -np.inf
    assert largest_magnitude(values) == np.inf
    values[5] = np.nan
    assert np.isnan(largest_magnitude(values))
    for shape in ((0, 3), (3, 0)):
        assert largest_magnitude(np.empty(shape)) == 0.0
        assert largest_magnitude(sparse.csr_matrix(shape)) == 0.0


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_canonical_csr_sorts_indices_and_sums_what_is_twice(index_dtype):
    X = sparse.random(50, 40, density=0.5, format="csr", random_state=0)
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
    assert np.shares_memory(canonical_csr(X).data, X.data)
    begin = X.indptr[30]
    X.indices[begin : begin + 2] = X.indices[begin : begin + 2][::-1].copy()
    before = X.indices.copy()
    rows = canonical_csr(X)
    assert rows.has_canonical_format
    assert (rows.toarray() == X.toarray()).all()
    X.indices[begin + 1] = X.indices[begin]
    assert canonical_csr(X).nnz == X.nnz - 1
    before[begin + 1] = before[begin]
    assert (X.indices == before).all()  # never changed in place


WHOLE = "integers as indices, got"
AGREE = "X must be a sparse matrix whose data, indices and shape agree"
FAULTS = [
    *((format, "indices", index, AGREE) for format in ("csr", "csc", "bsr") for index in (-1, 50)),
    *(("csr", "indices", index, AGREE) for index in (2**30, -(2**30))),
    *(("coo", place, index, AGREE) for place in ("row", "col") for index in (-1, 50)),
    *((format, "indptr", index, AGREE) for format in ("csr", "csc", "bsr") for index in (-1, 0)),
    ("csr", "indptr", 10**8, AGREE),
    *(("csr", "indices", dtype, WHOLE) for dtype in (float, complex, object)),
    *((format, "indices", float, WHOLE) for format in ("csc", "bsr")),
    ("coo", "col", float, WHOLE),
]


@pytest.mark.parametrize(("format", "place", "fault", "match"), FAULTS)
def test_canonical_csr_refuses_wrong_indices(format, place, fault, match):
    X = sparse.random(50, 40, density=0.5, format=format, random_state=0)
    if not isinstance(fault, type):
        getattr(X, place)[-3] = fault
    elif format == "coo":
        X.coords = X.row, X.col.astype(fault)
    else:
        X.indices = X.indices.astype(fault)
    with pytest.raises(ValueError, match=match):
        canonical_csr(X)


@pytest.mark.parametrize("last", [0, -(2**31)])
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_canonical_csr_refuses_a_last_pointer_before_the_others(format, last):
    """SciPy took the matrix for an empty one, and wrote beyond it; a difference may overflow."""
    X = sparse.random(50, 40, density=0.5, format=format, random_state=0)
    X.indptr[-1] = last
    with pytest.raises(ValueError, match=AGREE):
        canonical_csr(X)


def test_canonical_csr_refuses_lists_and_keys_of_no_column():
    lists, keys = (sparse.random(9, 7, 0.5, format=name, random_state=0) for name in ("lil", "dok"))
    keys._dict[3, 10**6] = 1.0
    with pytest.raises(ValueError, match=AGREE):
        canonical_csr(keys)
    lists.rows[3] = [10**6] * len(lists.rows[3])
    with pytest.raises(ValueError, match=AGREE):
        canonical_csr(lists)
    lists.rows[3] = [1] * (len(lists.data[3]) + 5)
    with pytest.raises(ValueError, match=AGREE):
        canonical_csr(lists)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_canonical_csr_keeps_the_matrix(dtype, format):
    X = sparse.random(9, 7, 0.5, format=format, random_state=0) * 9
    X = X.astype(dtype).asformat(format)
    rows = canonical_csr(X)
    assert rows.dtype == (np.float64 if dtype == np.int8 else dtype)
    assert (rows.toarray() == X.toarray()).all()


@pytest.mark.parametrize("place", ["data", "indices", "indptr"])
def test_canonical_csr_has_native_arrays_without_gaps(place):
    X = sparse.random(9, 7, 0.5, format="csr", random_state=0)
    whole, array = X.toarray(), getattr(X, place)
    for odd in (array.astype(array.dtype.newbyteorder()), np.repeat(array, 2)[::2]):
        setattr(X, place, odd)
        rows = canonical_csr(X)
        for each in (rows.data, rows.indices, rows.indptr):
            assert each.dtype.isnative
            assert each.flags.c_contiguous
        assert (rows.toarray() == whole).all()
