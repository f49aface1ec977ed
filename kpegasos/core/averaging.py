"""Averages of all iterates from counts and stamps, in closed form.

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

from kpegasos.utils.compiled import shared

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


def combination(
    average: str | None, t: int, scale: float, clock: float, lam: float, batch_size: int
) -> tuple[float, float]:
    """Return what plain and stamped sums are multiplied by after t ≥ 1 steps.

    The iterate is ``plain · total − stamped · (stamped_total + prefix)``.

    Parameters
    ----------
    average : {"weighted", "uniform", "suffix"} or None
    t : int
        Steps done.
    scale, clock : float
        The running product of projections and the clock of this average.
    lam : float
    batch_size : int
    """
    unit = 1.0 / (lam * batch_size)
    if average is None:
        return unit * scale / t, 0.0
    if average == "weighted":
        weight = weight_of(False, t, unit)
    elif average == "uniform":
        weight = weight_of(True, t, unit)
    elif average == "suffix":
        weight = unit / (t - suffix_start(t))
    else:
        raise ValueError(f"average must be one of {AVERAGES}, got {average!r} instead")
    return weight * clock, weight
