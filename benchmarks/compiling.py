"""What is compiled when: ``python -m benchmarks.compiling``, a table for `docs/design.md`.

A fresh process with an empty cache makes one small fit after the other. Numba's events tell which
functions each of them compiles, with the seconds of CPU time that its compiler takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any


def _fit(name: str, n_samples: int = 500, **parameters: Any) -> Callable[[], None]:
    def fit() -> None:
        import numpy as np

        import kpegasos

        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_samples, 2))
        y: Any = X[:, 0] * X[:, 1]
        y = y if name.endswith("R") else y > 0
        getattr(kpegasos, name)(random_state=0, **parameters).fit(X, y).predict(X)

    return fit


#: One after the other in one process.
CALLS: dict[str, Callable[[], None]] = {
    "`PegasosSVC`": _fit("PegasosSVC"),
    "… `polish=True`": _fit("PegasosSVC", polish=True),
    "… of 3,000 examples": _fit("PegasosSVC", 3000, polish=True),
    "`PegasosSVCCV`": _fit("PegasosSVCCV"),
    "`LinearPegasosSVC(polish=True)`": _fit("LinearPegasosSVC", polish=True),
    '`PegasosSVC(loss="log_loss")`': _fit("PegasosSVC", loss="log_loss"),
    "… `polish=True` ": _fit("PegasosSVC", loss="log_loss", polish=True),
    "`PegasosSVR`": _fit("PegasosSVR"),
    "… `polish=True`  ": _fit("PegasosSVR", polish=True),
}


def measure() -> list[dict[str, Any]]:
    """Make the calls in this process; returns functions and seconds of each."""
    from numba.core import event

    class Listener(event.Listener):
        """Keep the names of what is compiled, and the time of what is not a part of another."""

        names: list[str] = []  # noqa: RUF012
        depth, seconds, begin = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            """Note a function."""
            function = event.data["dispatcher"].py_func
            self.names.append(f"{function.__module__}.{function.__name__}")
            self.begin = self.begin if self.depth else time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            """Note the time."""
            self.depth -= 1
            self.seconds += 0.0 if self.depth else time.process_time() - self.begin

    found = []
    warnings.simplefilter("ignore")
    for name, call in CALLS.items():
        listener = Listener()
        listener.names = []
        with event.install_listener("numba:compile", listener):
            call()
        found.append({"call": name, "functions": listener.names, "seconds": listener.seconds})
    return found


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", "import json; from benchmarks.compiling import measure; "
             "print(json.dumps(measure()))"],
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            check=True,
        )  # fmt: skip
    print("| first call | functions | seconds |\n|---|---|---|")
    for each in json.loads(done.stdout.splitlines()[-1]):
        print(f"| {each['call'].rstrip()} | {len(each['functions'])} | {each['seconds']:.1f} |")


if __name__ == "__main__":
    main()
