"""States and sessions that the tests of the playground share."""

from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from kpegasos import PegasosSVC
from kpegasos.datasets import make_gaussian_noise, make_toy
from kpegasos.playground.messages import DEFAULTS
from kpegasos.playground.session import Session


def points_of(n_classes: int = 2, n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds, classes in turns."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    return centres[labels] + 0.7 * rng.standard_normal((n, 2)), labels


def state_of(n_classes: int = 2, n: int = 60, held_out: int = 0, **changes: Any) -> dict[str, Any]:
    """A state; the last points are held out."""
    X, labels = points_of(n_classes, n)
    test = [place >= n - held_out for place in range(n)]
    data = {"points": X.tolist(), "labels": labels.tolist(), "test": test}
    return {**DEFAULTS, **data, **changes}


def session_of(state: dict[str, Any] | None = None, revision: int = 1) -> Session:
    """A session that has accepted a state."""
    session = Session()
    message = {"kind": "state", "revision": revision, "state": state or state_of()}
    assert session.handle(message) == []
    return session


def shown(session: Session, t: int, **changes: Any) -> dict[str, Any]:
    """The frame of a step, without the seconds that it took."""
    (frame,) = session.handle({"kind": "show", "revision": 1, "t": t, "id": 7, **changes})
    assert frame["kind"] == "frame", frame
    return {name: value for name, value in frame.items() if name != "seconds"}


def refusal(session: Session, message: Any) -> dict[str, Any]:
    """The error that a message leads to."""
    (answer,) = session.handle(message)
    assert answer["kind"] == "error", answer
    return answer


def fitted(state: dict[str, Any], pane: dict[str, Any], t: int, **changes: Any) -> PegasosSVC:
    """The estimator that a pane is to equal."""
    test = np.array(state["test"])
    names = ("fit_intercept", "batch_size", "sampling", "projection", "average", "loss")
    cost = {"C": state["C"]} if state["lam"] is None else {"lam": state["lam"]}
    parameters = {**{name: state[name] for name in names}, **cost, **pane}
    model = PegasosSVC(
        **{**parameters, "n_steps": t, "random_state": state["seed"], "checkpoints": "log"}
    )
    model.set_params(**changes)
    return model.fit(np.array(state["points"])[~test], np.array(state["labels"])[~test])


def preset_points(
    name: str, n: int, noise: float, test_share: float = 0.0, classes: int = 2, seed: int = 0
) -> dict[str, Any]:
    """The points of a preset, which the page makes by itself."""
    rng = np.random.RandomState(seed)
    X, y = _drawn(name, n, noise, classes, rng)
    test = np.zeros(n, dtype=bool)
    test[rng.permutation(n)[: round(test_share * n)]] = True
    return {"points": np.asarray(X).tolist(), "labels": y.tolist(), "test": test.tolist()}


def _drawn(name: str, n: int, noise: float, n_classes: int, rng: Any) -> tuple[Any, Any]:
    if name == "blobs":
        angles = 2 * np.pi * np.arange(n_classes) / n_classes
        centers = np.column_stack([np.cos(angles), np.sin(angles)])
        return make_blobs(n, centers=centers, cluster_std=max(noise, 1e-9), random_state=rng)
    if name == "label_noise":
        X, y = make_gaussian_noise(n, noise=noise, random_state=rng)
        return X / 3.0, y
    if name == "imbalanced":
        rare = max(1, round(0.1 * n))
        y = rng.permutation(np.repeat([0, 1], [n - rare, rare]))
        centers = np.array([[-0.5, -0.5], [0.5, 0.5]])
        return centers[y] + max(noise, 1e-9) * rng.standard_normal((n, 2)), y
    return make_toy(name, n, noise, rng)
