"""The state of a run: what the compiled loops modify, and what is read off it.

Here ``q`` is the unscaled iterate: after t steps ``w = scale · q / (lam · k · t)`` with batches of
size k, so a step without projection is ``q ← q + Σ ω y φ(x)`` over the violators and nothing
needs to be shrunk (MPB 2011, Fig. 1, multiplied through by ``lam · k · t``). With the projection,
``scale`` is the running product of the projection factors.

A state holds ``q`` twice: by the coefficients ``alpha`` of its examples, and by its *image*, which
is what margins are read off: ``<q, φ(x_i)>`` of every example of kernel rows, ``q`` itself of
features.

Averages of the iterates come from a second, *stamped* sum: a violation at step t adds
``increment`` to ``alpha`` and ``increment · clock`` to ``stamps``, where the clock is the running
sum of ``scale`` (or of ``scale / t``); `State.iterates` turns the pair into any average.

After t steps the iterate is ``w_{t+1} = scale_t q_t / (lam k t)``, where ``q_t`` sums the
increments of the violations so far. Hence for weights ``c_s`` the sum ``Σ_{s≤t} c_s scale_s q_s``
counts an increment made at step r once for each later clock tick, ``clock_t − clock_{r−1}``, with
``clock_t = Σ_{s≤t} c_s scale_s``. Keeping the stamped sum ``σ = Σ increment · clock_{r−1}`` beside
the plain one gives the whole sum as ``clock_t · α − σ``: O(1) more work a violation, exact, and any
linear image of the pair (counts, margins, primal vectors) obeys the same formula.

- ``"weighted"``: ``2/(t(t+1)) Σ s·w_{s+1}`` (Lacoste-Julien, Schmidt, Bach 2012), ``c_s = 1``;
- ``"uniform"``: ``1/t Σ w_{s+1}`` (MPB 2011, Thm. 2), ``c_s = 1/s``;
- ``"suffix"``: the mean of ``w_{s+1}`` over ``t₀ < s ≤ t`` (Rakhlin, Shamir, Sridharan 2012), with
  ``t₀`` the largest power of two ≤ t/2, so that it needs no horizon: the sum up to ``t₀`` is set
  aside when the run passes there;
- ``None``: the last iterate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.draws import Sampling, check_sampling
from kpegasos.core.steps import StepRule, check_step
from kpegasos.core.views import check_view
from kpegasos.losses.standard import HINGE
from kpegasos.utils.boundary import require_shape, require_shapes
from kpegasos.utils.compiled import compiled, shared
from kpegasos.utils.validation import as_choice, as_flag, as_integer, optional

#: Status codes that a loop returns.
DONE, NEED_ROW, RESCALE = 0, 1, 2
#: Positions in `LoopState.scalars`.
SCALE, CLOCK, SQUARED_NORM, SIZE, LARGEST_SIZE = 0, 1, 2, 3, 4
#: Positions in `LoopState.counters`.
STEPS, BATCH_OFFSET, ROW_HITS, INHERITED = 0, 1, 2, 3
#: `BATCH_OFFSET` of a batch whose margins have not been tested yet.
UNTESTED = -1
#: A scale below this, or above its reciprocal, is absorbed by the state: long before anything
#: underflows, since ``clock_t − clock_r`` of late steps cancels once the scale has fallen far.
SMALLEST_SCALE = 2.0**-10
AVERAGES = ("weighted", "uniform", "suffix", None)


def has_clock_over_t(average: str | None) -> bool:
    """Return whether the clock of this average adds ``scale / t`` instead of ``scale``."""
    return average in ("uniform", "suffix")


def suffix_start(t: int) -> int:
    """Largest power of two ≤ t/2, the step after which the suffix average begins; 0 for t < 2."""
    return 1 << (t.bit_length() - 2) if t >= 2 else 0


@shared
def weight_of(uniform: bool, t: int, unit: float) -> float:
    """Return what the sums of a uniform or weighted average are multiplied by after t steps."""
    return unit / t if uniform else 2.0 * unit / (t * (t + 1.0))


class LoopState(NamedTuple):
    """The state of the loops; all real arrays are float64, whatever the dtype of the rows.

    Parameters
    ----------
    alpha, stamps : ndarray of shape (n_samples,), float64
        Coefficients of ``q = Σ alpha_j ω_j s_j φ(x_j)`` and their stamped sums, with the directions
        ``s_j`` of `Examples`. In Pegasos they sum the pulls of the loss: with the hinge they count
        violations (integers, held exactly, unless a projection or a step rule rescales them). In
        dual ascent they are the dual variables β.
    image, stamped_image : ndarray, float64
        Images of both sums. An empty ``stamped_image`` is not maintained.
    scalars : ndarray of shape (5,), float64
        Scale, clock, squared norm of ``q`` (kept only with the projection), the weighted sum of
        ``|alpha|``, and the largest that this has been.
    counters : ndarray of shape (4,), int64
        Steps done, position inside the current batch, row hits, and the rounding of the image that
        the run began with, as a number of additions.
    pulls : ndarray of shape (batch_size,), float64
        What the draws of the current batch add to their coefficients, before the step size.
    """

    alpha: np.ndarray
    stamps: np.ndarray
    image: np.ndarray
    stamped_image: np.ndarray
    scalars: np.ndarray
    counters: np.ndarray
    pulls: np.ndarray


class Examples(NamedTuple):
    """The examples as the loops see them.

    Parameters
    ----------
    label : ndarray of shape (n_samples,), float64
        Labels ±1, or the targets of a regression.
    signed : ndarray of shape (n_samples,), float64
        Weights times labels; in regression the weights.
    loss : Loss, default=Hinge()
    """

    label: np.ndarray
    signed: np.ndarray
    loss: Any = HINGE


class LoopParameters(NamedTuple):
    """Scalars of the update rule, cast once so that each loop is compiled once.

    Parameters
    ----------
    lam : float
    n_samples, batch_size : int
    projection : bool
    clock_over_t : bool
        Whether the clock adds ``scale / t`` instead of ``scale``.
    radius : float, default=inf
        Radius of the ball of the projection.
    rates : ndarray of shape (n_rates,), default=empty
        Step sizes times ``lam`` from step ``first_rate`` on; ``1 / t`` if there are none.
    first_rate : int, default=1
    """

    lam: float
    n_samples: int
    batch_size: int
    projection: bool
    clock_over_t: bool
    radius: float = math.inf
    rates: np.ndarray = np.empty(0)
    first_rate: int = 1


def check_state(state: LoopState, view: Any, examples: Examples) -> None:
    """Check that state, view and examples belong to each other.

    Raises
    ------
    ValueError
        If one of them has the wrong shape.
    """
    shape = examples.label.shape
    require_shapes(
        ("signed", examples.signed, shape),
        ("alpha", state.alpha, shape),
        ("stamps", state.stamps, shape),
        ("scalars", state.scalars, (LARGEST_SIZE + 1,)),
        ("counters", state.counters, (INHERITED + 1,)),
    )
    if state.stamped_image.size:
        require_shape("stamped_image", state.stamped_image, state.image.shape)
    check_view(view, state.image, shape)


def absorb_scale(state: LoopState) -> None:
    """Fold the scale into the state: the same iterate and averages, with scale 1 and clock 0."""
    scale, clock = state.scalars[SCALE], state.scalars[CLOCK]
    for plain, stamped in ((state.alpha, state.stamps), (state.image, state.stamped_image)):
        if stamped.size:
            stamped -= clock * plain
        plain *= scale
    state.scalars[SQUARED_NORM] *= scale * scale
    state.scalars[SIZE] *= scale
    state.scalars[LARGEST_SIZE] *= scale
    state.scalars[SCALE] = 1.0
    state.scalars[CLOCK] = 0.0


class PegasosOptions(NamedTuple):
    """Options of Pegasos; checked by `check_options`."""

    batch_size: int = 1
    sampling: Sampling = "permutation"
    projection: bool = False
    average: str | None = "weighted"
    step: StepRule | None = None


def options_for(loss: Any, options: PegasosOptions) -> PegasosOptions:
    """Return the options that a run with a loss has.

    A loss without a largest slope is always projected: its steps would grow without bound.
    """
    return options if math.isfinite(loss.lipschitz) else options._replace(projection=True)


def check_options(options: PegasosOptions, n_samples: int) -> PegasosOptions:
    """Return the options with Python's own numbers.

    Raises
    ------
    ValueError
        For options that no run can follow.
    """
    k = as_integer("batch_size", options.batch_size, least=1)
    if k > n_samples:
        raise ValueError(
            f"batch_size must be at most the number of examples, {n_samples}, got {k} instead"
        )
    return PegasosOptions(
        batch_size=k,
        sampling=check_sampling(options.sampling),
        projection=as_flag("projection", options.projection),
        average=optional(as_choice, "average", options.average, choices=AVERAGES),
        step=check_step(options.step),
    )


@dataclass
class State:
    """Everything a run needs to go on.

    Attributes
    ----------
    loop : LoopState
    seed : int
    spawn_key : tuple of int
        Seed and key of the index stream.
    options : PegasosOptions
    lam : float
    loss : Loss
    best_dual : float
        Largest dual value seen, as it was computed.
    proven_bound : float
        Largest dual value seen, less what rounding may have added: no optimum is below it.
    evaluations : int
        Kernel values computed so far.
    seconds : float
        Time in the solver so far.
    certified : bool
        Whether no value seen has contradicted a positive semi-definite kernel.
    whole : bool
        False once an error has come in the middle of a step.
    image_kind : str
        What the image is: ``"margins"`` or ``"vector"``.
    free_intercept : bool
        Whether the dual values are of a problem with a free intercept.
    suffix_snapshots : dict
        Maps a step to the sums of counts and of images up to it, for the suffix average.
    """

    loop: LoopState
    seed: int
    spawn_key: tuple[int, ...]
    options: PegasosOptions
    lam: float
    loss: Any = HINGE
    best_dual: float = 0.0
    proven_bound: float = 0.0
    evaluations: int = 0
    seconds: float = 0.0
    certified: bool = True
    whole: bool = True
    image_kind: str = "margins"
    free_intercept: bool = False
    suffix_snapshots: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def _check_loaded(self) -> None:
        """Check the arrays of a state that was read from a file; loops check that they agree.

        Raises
        ------
        ValueError
            If one has another shape or dtype, or a counter is negative.
        """
        fresh = new_state(0, 0, PegasosOptions(), self.lam, 0).loop
        for name, array, own in zip(LoopState._fields, self.loop, fresh, strict=True):
            if array.ndim != 1 or array.dtype != own.dtype:
                raise ValueError(f"{name} must be a vector of {own.dtype}, got {array.dtype}")
            if name in ("scalars", "counters"):
                require_shape(name, array, own.shape)
        least = [0, UNTESTED, 0, 0]  # of steps, the place in a batch, hits, what is inherited
        if (self.loop.counters < least).any():
            raise ValueError(f"counters must not be negative, got {self.loop.counters}")

    @property
    def steps(self) -> int:
        """Steps done."""
        return self.loop.counters.item(STEPS)

    def iterates(self) -> list[Iterate]:
        """Return the last iterate, and the average if there is one."""
        scale, clock, *_ = self.loop.scalars.tolist()
        t, options, average = self.steps, self.options, self.options.average
        unit, largest_clock = 1.0 / (self.lam * options.batch_size), clock
        if options.projection or options.step is not None:  # folding sets the clock back
            largest_clock = 1.0 + math.log(t) if has_clock_over_t(average) else float(t)
            if options.step is not None:  # and the scale may have grown
                largest_clock /= SMALLEST_SCALE
        last = Iterate(unit * scale / t, 0.0, largest_clock)
        if average is None:
            return [last]
        if average != "suffix":
            weight = weight_of(average == "uniform", t, unit)
            return [last, Iterate(weight * clock, weight, largest_clock)]
        start = suffix_start(t)
        weight, prefix = unit / (t - start), self.suffix_snapshots.get(start, ())
        return [last, Iterate(weight * clock, weight, largest_clock, *prefix)]

    def take_suffix_snapshot(self) -> None:
        """Keep the sums up to this step, a power of two; only the last two are needed."""
        loop, steps = self.loop, self.steps
        clock = loop.scalars[CLOCK]
        image = clock * loop.image - loop.stamped_image if loop.image.size else np.empty(0)
        snapshots = self.suffix_snapshots
        snapshots[steps] = (clock * loop.alpha - loop.stamps, image)
        for old in [s for s in snapshots if s < steps // 2]:
            del snapshots[old]


@compiled(fastmath=False, inner=True)
def combine(
    plain: float,
    stamped: float,
    total: np.ndarray,
    stamped_total: np.ndarray,
    prefix: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write ``plain · total − stamped · (stamped_total + prefix)``; an empty prefix is none."""
    for j in range(total.size):
        combined = plain * total[j]
        if stamped != 0.0:
            combined -= stamped * stamped_total[j]
            if prefix.size:
                combined -= stamped * prefix[j]
        out[j] = combined


#: The prefix of an iterate that has none.
_NOTHING = np.empty(0)


class Iterate(NamedTuple):
    """An iterate as a combination of a state's sums.

    Attributes
    ----------
    plain, stamped : float
        Factors of the plain and the stamped sums.
    largest_clock : float
        Bound on the clock of every stamp.
    prefix_coefs, prefix_image : ndarray
        Sums of counts and of images up to the step where a suffix begins, or empty.
    """

    plain: float
    stamped: float = 0.0
    largest_clock: float = 0.0
    prefix_coefs: np.ndarray = _NOTHING
    prefix_image: np.ndarray = _NOTHING

    def coefficients(self, state: LoopState) -> np.ndarray:
        """Return coefficients ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``, of shape (n_samples,)."""
        return self._combined(state.alpha, state.stamps, self.prefix_coefs)

    def image(self, state: LoopState) -> np.ndarray:
        """Image of w: margins or the primal vector, as the state holds that of q."""
        return self._combined(state.image, state.stamped_image, self.prefix_image)

    def _combined(
        self, total: np.ndarray, stamped_total: np.ndarray, prefix: np.ndarray
    ) -> np.ndarray:
        if self.stamped == 0.0:
            return self.plain * total
        combined = self.plain * total - self.stamped * stamped_total  # in the order of `combine`
        return combined - self.stamped * prefix if prefix.size else combined


def new_state(
    n_samples: int,
    image_size: int,
    options: PegasosOptions,
    lam: float,
    seed: int,
    spawn_key: tuple[int, ...] = (),
) -> State:
    """State of a run that has not begun: ``w = 0``.

    Parameters
    ----------
    n_samples : int
    image_size : int
        Length of the image that the rows maintain.
    options : PegasosOptions
    lam : float
    seed : int
    spawn_key : tuple of int, default=()
        With the seed, what the index stream is made from.
    """
    loop = LoopState(
        alpha=np.zeros(n_samples),
        stamps=np.zeros(n_samples),
        image=np.zeros(image_size),
        stamped_image=np.zeros(image_size if options.average is not None else 0),
        scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0]),
        counters=np.array([0, UNTESTED, 0, 0], dtype=np.int64),
        pulls=np.zeros(options.batch_size),
    )
    return State(loop, seed, spawn_key, options, lam)
