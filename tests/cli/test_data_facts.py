"""What a table of examples is like, counted by other means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kpegasos.cli import files
from kpegasos.cli.files import facts_of, targets_of

STORAGES = pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csr_array])


def table():
    """Rows with zeros, duplicates and conflicts, columns with one value and of several widths."""
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(300, 4)).astype(float)
    X[:, 2] = 7.0
    X[:, 3] *= 1000.0
    X[::7] = 0.0
    X[:, 2] = 7.0
    y = rng.integers(0, 3, size=300)
    return X, y


@STORAGES
@pytest.mark.parametrize("entries", [2**22, 4, 37])
def test_facts_are_those_of_the_whole_table(monkeypatch, storage, entries):
    monkeypatch.setattr(files, "_ENTRIES", entries)
    X, y = table()
    facts = facts_of(storage(X), y)
    distinct = np.unique(X, axis=0)
    labels = [set(y[(row == X).all(axis=1)]) for row in X]
    assert (facts["n_samples"], facts["n_features"]) == X.shape
    assert facts["density"] == np.count_nonzero(X) / X.size
    assert facts["n_duplicates"] == len(X) - len(distinct)
    assert facts["n_conflicts"] == sum(len(each) > 1 for each in labels) > 0
    assert facts["n_constant"] == 1
    assert (facts["lowest"], facts["highest"]) == (-1000.0, 1000.0)
    assert facts["unevenness"] == 1000.0
    assert facts["n_missing"] == facts["n_infinite"] == 0
    assert facts["storage"] == ("dense" if storage is np.asarray else "sparse")


@STORAGES
def test_entries_that_are_no_numbers_are_counted_and_left_out_of_ranges(storage):
    X = np.array([[np.nan, 1.0, 2.0], [3.0, np.inf, np.nan], [4.0, -np.inf, 5.0]])
    facts = facts_of(storage(X), None)
    assert (facts["n_missing"], facts["n_infinite"]) == (2, 2)
    assert (facts["lowest"], facts["highest"]) == (1.0, 5.0)
    assert facts["targets"] is None
    assert facts["n_conflicts"] == 0


def test_zeros_of_either_sign_and_stored_ones_are_the_same():
    dense = facts_of(np.array([[0.0, 1.0], [-0.0, 1.0]]), np.array([0, 1]))
    stored = sparse.csr_matrix(([0.0, 1.0, 1.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    for facts in (dense, facts_of(stored, np.array([0, 1]))):
        assert (facts["n_duplicates"], facts["n_conflicts"], facts["density"]) == (1, 2, 0.5)


def test_facts_leave_the_table_as_it_is():
    X = sparse.csr_matrix(([1.0, 0.0, np.inf], [1, 0, 0], [0, 2, 3]), shape=(2, 2))
    before = X.copy()
    facts_of(X, None)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(before, name))


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([1.0, -1.0, 1.0]), {"-1": 1, "1": 2}),
        (np.array([3, 3]), {"3": 2}),
        (np.array(["cat", "dog", "cat"]), {"cat": 2, "dog": 1}),
    ],
)
def test_whole_numbers_and_text_are_classes(y, classes):
    assert targets_of(y)["classes"] == classes


def test_other_numbers_are_a_range():
    targets = targets_of(np.array([0.5, 2.0, -1.0]))
    assert targets == {"classes": None, "lowest": -1.0, "highest": 2.0}
    assert np.isnan(targets_of(np.array([np.nan]))["lowest"])
