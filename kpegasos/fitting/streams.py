"""Models of a stream: runs of Pegasos that go on, chunk after chunk.

`partial_fit`, `fit_chunks` and `fit_dask` differ in where examples come from and in what order.
They share the runs, their problems, and the model that is made of them. `OnlineClassifier` and
`OnlineRegressor` define the problems.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.state import State
from kpegasos.fitting.features import warn_of_many_weights
from kpegasos.fitting.inputs import checked_weight, settings_of, validated_rows
from kpegasos.fitting.model import parameters_read_later, set_model, unchanged_by_errors
from kpegasos.fitting.pairs import (
    Pair,
    Pairs,
    check_weight_range,
    class_weights,
    make_pairs,
    number_pairs,
)
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.online import (
    Stream,
    advance_stream,
    loss_at_zero,
    merge_states,
    new_stream,
    state_after,
)
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils.validation import check_magnitude, draw_seed, plain_labels


class Chunk(NamedTuple):
    """Validated rows and their problems, whose weights are not normalised."""

    X: Any
    pairs: Pairs


class OnlineModel:
    """Streams of all problems, with the parameters that they began with.

    Parameters
    ----------
    estimator : LinearPegasosSVC or LinearPegasosSVR
        Has the parameters; its ``random_state`` makes the seed.

    Attributes
    ----------
    parameters : dict
        What must not change while the streams go on.
    seed : int
    streams : list of Stream
        Empty before the first chunk, which gives the number of features. Steps replace the list and
        change none of its streams, so that a copy of this object keeps its place.
    """

    #: Problems of each chunk.
    n_pairs: int

    def __init__(self, estimator: Any) -> None:
        self.parameters = self._parameters_of(estimator)
        self.seed = draw_seed(estimator.random_state)
        self.streams: list[Stream] = []

    # --- what subclasses define ---

    def make_pairs(self, y: np.ndarray, weight: np.ndarray) -> Pairs:
        """Return the problems of a chunk whose targets and weights have been validated."""
        raise NotImplementedError

    def attributes(
        self, coef: np.ndarray, intercept: np.ndarray, n_steps: list[int]
    ) -> dict[str, Any]:
        """Return fitted attributes.

        Parameters
        ----------
        coef : ndarray of shape (n_pairs, n_features)
        intercept : ndarray of shape (n_pairs,)
        n_steps : list of int
            Of each problem.
        """
        raise NotImplementedError

    # --- streams ---

    def check_unchanged(self, estimator: Any) -> None:
        """Raise a ValueError if the estimator's parameters are not those of the first call."""
        now = self._parameters_of(estimator)
        changed = [name for name, value in self.parameters.items() if now[name] != value]
        if changed:
            own = "epsilon" if hasattr(estimator, "epsilon") else "class_weight"
            raise ValueError(
                f"batch_size, sampling, projection, average, step, fit_intercept, "
                f"intercept_scaling, C, lam, loss and {own} must be those of the first call to "
                f"partial_fit, got another "
                f"{' and '.join(changed)}"
            )

    def begin(self, n_features: int) -> None:
        """Make the streams, at w = 0."""
        options, scaling = self.parameters["options"], self.parameters["intercept_scaling"]
        self.streams = [
            new_stream(n_features, options, scaling, self.seed, number)
            for number in range(self.n_pairs)
        ]
        if (lam := self.parameters["lam"]) is not None:
            for stream in self.streams:
                stream.state.lam = lam

    def fit_chunk(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Make one pass over a chunk, and give the estimator the resulting model.

        Raises
        ------
        ValueError
            If the chunk is invalid; nothing is changed.
        KeyboardInterrupt
            After Ctrl-C, which waits for the end of the chunk: all pairs have seen it, or none. A
            second one does not wait, and leaves streams and model as they were.
        """
        stopper = Stopper()
        with interruptible(stopper), unchanged_by_errors(estimator):
            stopper.presses_kept = 0
            X, y = validated_rows(estimator, X, y, reset=not self.streams)
            after = copy.copy(self)
            chunk = after.make_chunk(X, y, sample_weight)
            if not after.streams:
                after.begin(X.shape[1])
            stopper.presses_kept = 1
            after.streams = after.advance(chunk)
            after.install(estimator)
            stopper.presses_kept = math.inf
            self.__dict__ = vars(after)  # all at once, as models are replaced
        if stopper.interrupted:
            raise KeyboardInterrupt(
                f"{type(estimator).__name__} was stopped by Ctrl-C at the end of a chunk; "
                f"the estimator holds the model reached so far."
            )

    def make_chunk(self, X: Any, y: np.ndarray, sample_weight: Any = None) -> Chunk:
        """Return the problems of a chunk whose X and y have been validated."""
        check_magnitude(X)
        return Chunk(X, self.make_pairs(y, checked_weight(sample_weight, X)))

    def advance(self, chunk: Chunk) -> list[Stream]:
        """Return the streams after one pass over a chunk; these stay as they are."""
        streams = []
        for stream, pair in zip(self.streams, chunk.pairs, strict=True):
            after = stream.copy()
            if pair.members.size:
                advance_stream(after, pair.problem, self._rows(chunk, pair))
            streams.append(after)
        return streams

    # --- separate parts of the data ---

    def enclose(self, parts: Sequence[Sequence[tuple[float, int]]]) -> None:
        """Widen the balls of the projections so that they hold the optimum of all data.

        Parameters
        ----------
        parts : sequence of sequence of tuple
            What `losses_at_zero` returns for each part.
        """
        for stream, of_pair in zip(self.streams, zip(*parts, strict=True), strict=True):
            for loss, n_examples in sorted(of_pair):  # increasing, so that no early mean is larger
                if n_examples:
                    stream.enclose(loss, n_examples)

    def states_after(
        self, chunk: Chunk, *, part: int, n_steps: Sequence[int], n_rounds: int
    ) -> list[State]:
        """Return the states after steps on one part of the data; the streams stay as they are.

        Parameters
        ----------
        chunk : Chunk
            The part.
        part : int
            Its number.
        n_steps : sequence of int
            For each pair.
        n_rounds : int
            Number of earlier rounds of as many steps on this part.
        """
        return [
            state_after(
                stream,
                pair.problem,
                self._rows(chunk, pair) if pair.members.size else None,
                part=part,
                n_steps=steps,
                n_done=n_rounds * steps,
            )
            for stream, pair, steps in zip(self.streams, chunk.pairs, n_steps, strict=True)
        ]

    def merge(self, states: Sequence[Sequence[State]], sizes: np.ndarray) -> None:
        """Go on from the mean of states that different parts of the data led to.

        Parameters
        ----------
        states : sequence of sequence of State
            For each part, those of all pairs.
        sizes : ndarray of shape (n_pairs, n_parts)
            Weight of each part in the mean of a pair; zero if it has no examples of the pair.
        """
        by_pair = zip(*states, strict=True)
        merged = []
        for stream, of_pair, size in zip(self.streams, by_pair, sizes, strict=True):
            present = np.flatnonzero(size)
            state = merge_states([of_pair[part] for part in present], size[present])
            merged.append(replace(stream, state=state, n_chunks=stream.n_chunks + 1))
        self.streams = merged

    # --- the model ---

    def install(self, estimator: Any) -> None:
        """Set the present vectors of the streams as the model of an estimator."""
        vectors = np.array([stream.vector() for stream in self.streams])
        model = self.attributes(
            vectors[:, :-1],
            self.parameters["intercept_scaling"] * vectors[:, -1],
            [stream.state.steps for stream in self.streams],
        )
        facts = parameters_read_later(estimator)
        # A copy, so that the estimator goes on from here whatever comes of this object.
        set_model(estimator, {**model, "_online": copy.copy(self), "_fitted": facts})

    @staticmethod
    def _parameters_of(estimator: Any) -> dict[str, Any]:
        """Return the parameters that a stream depends on."""
        settings = settings_of(estimator)
        if settings.free_intercept:
            raise ValueError(
                "fit_intercept must be True or False for a stream, whose examples do not stay to "
                "find the best intercept of, got 'free' instead"
            )
        return {
            "options": settings.options,
            "intercept_scaling": settings.intercept_scaling,
            "C": settings.C,
            "lam": settings.lam,
            # Two losses without parameters are equal as tuples.
            "loss": (type(settings.loss), settings.loss),
            "class_weight": copy.deepcopy(settings.own.get("class_weight")),
        }

    def _rows(self, chunk: Chunk, pair: Pair) -> FeatureRows:
        scaling = self.parameters["intercept_scaling"]
        return FeatureRows(chunk.X, members=pair.members, intercept_scaling=scaling, canonical=True)


def losses_at_zero(chunk: Chunk) -> list[tuple[float, int]]:
    """Return mean loss at w = 0 and number of examples, for each problem of a part of the data."""
    return [(loss_at_zero(pair.problem), pair.members.size) for pair in chunk.pairs]


class OnlineClassifier(OnlineModel):
    """Streams of all pairs of classes.

    Parameters
    ----------
    estimator : LinearPegasosSVC
        Has the parameters; its ``random_state`` makes the seed.
    classes : array-like of shape (n_classes,)
        All classes that will ever come.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    """

    def __init__(self, estimator: Any, classes: Any) -> None:
        super().__init__(estimator)
        classes = unique_classes(classes)
        if are_numbers(classes) and not np.isfinite(classes).all():
            raise ValueError(f"classes must be finite or strings, got {classes.tolist()}")
        if classes.size < 2:
            raise ValueError(f"classes must hold at least two classes, got {classes.tolist()}")
        if self.parameters["class_weight"] == "balanced":
            raise ValueError(
                "class_weight must be a dict or None for partial_fit, got 'balanced' instead: the "
                "frequencies of a stream are not known ahead"
            )
        self.classes, self.n_pairs = classes, classes.size * (classes.size - 1) // 2

    def begin(self, n_features: int) -> None:
        """Make the streams, at w = 0."""
        warn_of_many_weights(self.classes.size, n_features)
        super().begin(n_features)

    def check_classes(self, classes: Any) -> None:
        """Raise a ValueError if these are not the classes of the first call."""
        if not np.array_equal(unique_classes(classes), self.classes):
            raise ValueError(
                f"classes must be those of the first call, {self.classes.tolist()}, "
                f"got {unique_classes(classes).tolist()} instead"
            )

    def make_pairs(self, y: np.ndarray, weight: np.ndarray) -> Pairs:
        """Return the binary problems of a chunk whose labels and weights have been validated."""
        weighty = y[weight > 0]
        same_kind = are_numbers(y) == are_numbers(self.classes)
        unknown = np.setdiff1d(weighty, self.classes) if same_kind else np.unique(weighty)
        if unknown.size:
            raise ValueError(
                f"y must have classes among {self.classes.tolist()}, got {unknown.tolist()} too"
            )
        # Examples of weight zero take no part, whatever their class.
        labels = np.searchsorted(self.classes, y) if same_kind else np.zeros(y.shape, np.intp)
        labels = np.minimum(labels, self.classes.size - 1)
        by_class = class_weights(self.parameters["class_weight"], self.classes, self.classes)
        weight = weight * by_class[labels]
        check_weight_range(weight)
        lam, C = self.parameters["lam"], self.parameters["C"]
        n_classes, (_, loss) = self.classes.size, self.parameters["loss"]
        return make_pairs(labels, n_classes, weight, lam, C, normalise=False, loss=loss)

    def attributes(
        self, coef: np.ndarray, intercept: np.ndarray, n_steps: list[int]
    ) -> dict[str, Any]:
        """Return fitted attributes of a classifier; parameters are those of `OnlineModel`."""
        return {
            "classes_": self.classes,
            "coef_": coef,
            "intercept_": intercept,
            "n_steps_": n_steps[0] if len(n_steps) == 1 else np.array(n_steps),
        }


class OnlineRegressor(OnlineModel):
    """The one stream of a regression.

    Parameters
    ----------
    estimator : LinearPegasosSVR
        Has the parameters; its ``random_state`` makes the seed.
    offset : float, default=None
        What is subtracted from the targets; the weighted mean of the first chunk with a positive
        weight if None. Without an intercept it is 0.

    Attributes
    ----------
    offset : float or None
        None before such a chunk.
    """

    n_pairs = 1

    def __init__(self, estimator: Any, offset: float | None = None) -> None:
        super().__init__(estimator)
        self.offset = offset if self.parameters["intercept_scaling"] else 0.0

    def make_pairs(self, y: np.ndarray, weight: np.ndarray) -> Pairs:
        """Return the problem of a chunk whose numbers and weights have been validated.

        The first chunk with a positive weight sets the offset, if there is none yet.
        """
        check_weight_range(weight)
        if self.offset is None and weight.any():
            self.offset = float(np.average(y, weights=weight))
        lam, C, (_, loss) = (self.parameters[name] for name in ("lam", "C", "loss"))
        return number_pairs(y - (self.offset or 0.0), weight, lam, C, normalise=False, loss=loss)

    def attributes(
        self, coef: np.ndarray, intercept: np.ndarray, n_steps: list[int]
    ) -> dict[str, Any]:
        """Return fitted attributes of a regressor; parameters are those of `OnlineModel`."""
        return {
            "coef_": coef[0],
            "intercept_": intercept + (self.offset or 0.0),
            "n_steps_": n_steps[0],
        }


def unique_classes(classes: Any) -> np.ndarray:
    """Return classes in order, each once."""
    try:
        return np.unique(plain_labels(np.asarray(classes)))
    except (TypeError, ValueError):  # ragged, or without an order
        raise ValueError(
            f"classes must be numbers, or strings, got a {type(classes).__name__} of others"
        ) from None


def are_numbers(labels: np.ndarray) -> bool:
    """Check whether labels are numbers, which are never equal to strings."""
    return labels.dtype.kind in "biuf"
