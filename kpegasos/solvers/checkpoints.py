"""Steps at which a run is recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count, takewhile
from typing import Any

from kpegasos.utils.validation import as_integer, shown

#: ``"auto"``, ``"epoch"``, ``"log"``, steps, or None.
CheckpointSpec = str | Sequence[int] | None
#: Epochs of a decade that ``"auto"`` looks at: enough for a curve over a logarithmic axis.
_OF_A_DECADE = (1, 2, 5)


class Checkpoints:
    """Increasing steps in ``(first, last]``; ``last`` is always among them.

    They are computed as they are asked for: a run with a deadline may plan for millions of steps
    and reach a few.

    Parameters
    ----------
    checkpoints : {"auto", "epoch", "log"}, sequence of int, or None
        Ends of the epochs 1, 2, 5, 10, 20, 50 and so on, ends of all epochs, ten steps a
        decade, these steps, or the end only.
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
        self._checkpoints = _checked(checkpoints)
        self._n_samples = n_samples
        self._batch_size = batch_size

    def _steps(self) -> Iterator[int]:
        """Steps that do not decrease; some may be too early or too late."""
        if isinstance(self._checkpoints, str):
            if self._checkpoints == "log":
                return (round(10 ** (number / 10)) for number in count())
            n_samples, k = self._n_samples, self._batch_size
            epochs: Iterator[int] = count(self._first_epoch)
            if self._checkpoints == "auto":
                epochs = (10**decade * digit for decade in count() for digit in _OF_A_DECADE)
            return (-(-number * n_samples // k) for number in epochs)
        return iter(self._checkpoints)

    @property
    def _first_epoch(self) -> int:
        """Number of the first epoch that ends after the run begins."""
        return self.first * self._batch_size // self._n_samples + 1

    def __iter__(self) -> Iterator[int]:
        previous = self.first
        for step in takewhile(lambda step: step < self.last, self._steps()):
            if step > previous:
                yield step
                previous = step
        yield self.last

    def __len__(self) -> int:
        if self._checkpoints != "epoch":
            return sum(1 for _ in self)
        # There may be too many to count; epochs end at different steps, the first after `first`.
        last_epoch = (self.last - 1) * self._batch_size // self._n_samples
        return max(0, last_epoch - self._first_epoch + 1) + 1


def _checked(checkpoints: Any) -> str | list[int]:
    """A name, or steps in order."""
    if checkpoints is None:
        return []
    if isinstance(checkpoints, str):
        if checkpoints in ("auto", "epoch", "log"):
            return str(checkpoints)
    elif isinstance(checkpoints, Collection) and getattr(checkpoints, "ndim", 1) == 1:
        return sorted(as_integer("each of checkpoints", step, least=1) for step in checkpoints)
    raise ValueError(
        f"checkpoints must be 'auto', 'epoch', 'log', a sequence of steps or None, "
        f"got {shown(checkpoints)} instead"
    )


def growing_steps(first: int, last: int, epoch_steps: float) -> list[int]:
    """Steps ever further apart, from an eighth of an epoch on; each check is a pass over data."""
    begin = max(1, int(epoch_steps / 8))
    steps = (first + int(begin * 1.5**number) for number in count())
    return list(takewhile(lambda step: step < last, steps))
