"""Errors that come at a chosen moment: in a user's function, or in any call that the package makes.

A fault is armed for one run. It counts the moments at which it could strike, and strikes at one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import kpegasos

_PACKAGE = str(Path(kpegasos.__file__).parent)
#: An error here would come when the way out has begun: that is a second one.
_WAYS_OUT = {"interruptible", "unchanged_by_errors", "__exit__", "fail", "interrupt"}


class Fault:
    """An error that strikes at the n-th moment.

    Parameters
    ----------
    error : type of BaseException
    moment : int, default=0
        0 for never: the moments are counted only.
    inside : bool, default=False
        Whether any call that the package makes is a moment, or only those of the user's functions.
    """

    def __init__(self, error: type[BaseException], moment: int = 0, *, inside: bool = False):
        self.error = error
        self.moment = moment
        self.inside = inside
        self.seen = 0
        self._lock = threading.Lock()

    def pass_by(self) -> None:
        """One of the moments."""
        with self._lock:
            self.seen += 1
            strikes = self.seen == self.moment
        if strikes:
            raise self.error("a fault that was asked for")

    def user_code(self) -> None:
        """To be called by the user's functions."""
        if not self.inside:
            self.pass_by()

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            caller = frame.f_back
        elif event == "c_call":
            caller = frame
        else:
            return
        if caller is None or not caller.f_code.co_filename.startswith(_PACKAGE):
            return
        if {caller.f_code.co_name, frame.f_code.co_name} & _WAYS_OUT:
            return
        self.pass_by()

    @contextmanager
    def armed(self) -> Iterator[Fault]:
        """Count and strike inside the block, on its thread and those that it starts."""
        if not self.inside:
            yield self
            return
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


class Nothing:
    """User's functions that never fail: `user_code` does nothing."""

    @staticmethod
    def user_code() -> None:
        """Nothing."""


class Kernel:
    """A Gaussian kernel of a user's, in which an armed fault may strike.

    Its value is the same for all faults, so a model can be told by its numbers.
    """

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma
        self.fault: Any = Nothing

    def __call__(self, A: Any, B: Any) -> Any:
        """Kernel values, of shape (n_a, n_b)."""
        import numpy as np

        self.fault.user_code()
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T)
        return np.exp(-self.gamma * np.maximum(squares, 0.0))

    def __getstate__(self) -> Any:
        return {"gamma": self.gamma}  # a warm start knows a kernel by its state

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __repr__(self) -> str:
        return f"Kernel({self.gamma})"


class Hooks:
    """A callback with every hook, in which an armed fault may strike."""

    def __init__(self) -> None:
        self.fault: Any = Nothing

    def setup(self, estimator: Any, context: Any) -> None:
        """Set up."""
        self.fault.user_code()

    def teardown(self, estimator: Any, context: Any) -> None:
        """Tear down."""
        self.fault.user_code()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A task begins."""
        self.fault.user_code()

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """A task ends."""
        self.fault.user_code()

    def __deepcopy__(self, memo: Any) -> Hooks:
        return self
