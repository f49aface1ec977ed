"""Steps at which a run is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from numbers import Integral

#: ``"epoch"``, ``"log"``, steps, or None.
CheckpointSpec = str | Sequence[int] | None


class Checkpoints:
    """Increasing steps in ``(first, last]``; ``last`` is always among them.

    They are computed as they are asked for: a run with a deadline may plan for millions of steps
    and reach a few.

    Parameters
    ----------
    checkpoints : {"epoch", "log"}, sequence of int, or None
        Ends of epochs, ten steps a decade, these steps, or the end only.
    first, last : int
        Steps at which the run begins and ends.
    n_samples, batch_size : int
        They make the epochs.

    Raises
    ------
    ValueError
        For any other checkpoints.
    """

    def __init__(
        self,
        checkpoints: CheckpointSpec,
        first: int,
        last: int,
        n_samples: int,
        batch_size: int,
    ) -> None:
        self.first = first
        self.last = last
        self._checkpoints = checkpoints
        self._n_samples = n_samples
        self._batch_size = batch_size
        if isinstance(checkpoints, str):
            if checkpoints not in ("epoch", "log"):
                raise ValueError(
                    f"checkpoints must be 'epoch', 'log', a sequence of steps or None, "
                    f"got {checkpoints!r} instead"
                )
        else:
            for step in checkpoints if checkpoints is not None else ():
                if not isinstance(step, Integral) or step < 1:
                    raise ValueError(f"checkpoints must list steps from 1 on, got {step!r} instead")

    def _steps(self) -> Iterator[int]:
        """Steps that do not decrease; some may be too early or too late."""
        if isinstance(self._checkpoints, str):
            if self._checkpoints == "log":
                return (round(10 ** (number / 10)) for number in count())
            n_samples, k = self._n_samples, self._batch_size
            return (
                -(-number * n_samples // k) for number in count(self.first * k // n_samples + 1)
            )
        return iter(sorted(map(int, () if self._checkpoints is None else self._checkpoints)))

    def __iter__(self) -> Iterator[int]:
        previous = self.first
        for step in takewhile(lambda step: step < self.last, self._steps()):
            if step > previous:
                yield step
                previous = step
        yield self.last

    def __len__(self) -> int:
        if not isinstance(self._checkpoints, str) or self._checkpoints == "log":
            return sum(1 for _ in self)
        # There may be too many to count; epochs end at different steps, the first after `first`.
        first_epoch = self.first * self._batch_size // self._n_samples + 1
        last_epoch = (self.last - 1) * self._batch_size // self._n_samples
        return max(0, last_epoch - first_epoch + 1) + 1


def growing_steps(first: int, last: int, epoch_steps: float) -> list[int]:
    """Steps ever further apart, from an eighth of an epoch on; each check is a pass over data."""
    begin = max(1, int(epoch_steps / 8))
    steps = (first + int(begin * 1.5**number) for number in count())
    return list(takewhile(lambda step: step < last, steps))
