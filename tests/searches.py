"""Data and small searches that several test files share."""

from sklearn.datasets import make_blobs

from kpegasos import PegasosSVCCV


def blobs(n_classes=2, n_samples=120, cluster_std=3.5):
    return make_blobs(
        n_samples, centers=n_classes, n_features=3, cluster_std=cluster_std, random_state=4
    )


def small(**changed):
    """A search of two values of C and two of gamma over three folds."""
    settings = {"Cs": [0.5, 5.0], "gammas": [0.02, 0.2], "cv": 3, "random_state": 0}
    return PegasosSVCCV(**{**settings, **changed})
