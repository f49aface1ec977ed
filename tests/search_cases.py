"""Searches and tables of results that the tests of surface and path share."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_blobs

from kpegasos import PegasosSVCCV
from kpegasos.model_selection import search as search_module


def blobs(n_classes=2, n_samples=120, cluster_std=3.5):
    return make_blobs(
        n_samples, centers=n_classes, n_features=3, cluster_std=cluster_std, random_state=4
    )


def small(**changed):
    """A search of two values of C and two of gamma over three folds."""
    settings = {"Cs": [0.5, 5.0], "gammas": [0.02, 0.2], "cv": 3, "random_state": 0}
    return PegasosSVCCV(**{**settings, **changed})


CS, GAMMAS = [0.1, 1.0, 10.0], [0.5, 2.0]


def table(scores, deviations=0.1, n_splits=5, **columns):
    """Results of a search over CS and GAMMAS, whose cells come with γ running fastest."""
    scores = np.asarray(scores, dtype=float)  # of shape (n_gammas, n_Cs)
    by_row = scores.T.ravel()
    found = {
        "param_C": np.repeat(CS, 2).astype(object),
        "param_gamma": np.tile(GAMMAS, 3).astype(object),
        "params": [{}] * 6,
        "mean_test_score": by_row,
        "std_test_score": np.full(6, deviations),
        "rank_test_score": np.argsort(np.argsort(-by_row)) + 1,
    }
    found |= {f"split{k}_test_score": by_row for k in range(n_splits)}
    return found | {name: np.asarray(cells).T.ravel() for name, cells in columns.items()}


def search_of(cv_results, best_index=None):
    """A search, fitted by somebody else."""
    found = {"cv_results_": cv_results}
    return SimpleNamespace(**found if best_index is None else {**found, "best_index_": best_index})


def after_cells(monkeypatch, n_cells, happens):
    """Have something happen to the stopper when so many cells of a search are done."""
    Surface = search_module.Surface

    def watched(*arguments, stopper, on_cells, **options):
        done = []

        def counted(n):
            done.append(n)
            on_cells(n)
            if sum(done) >= n_cells > sum(done) - n:
                happens(stopper)

        return Surface(*arguments, stopper=stopper, on_cells=counted, **options)

    monkeypatch.setattr(search_module, "Surface", watched)
