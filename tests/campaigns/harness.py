"""What every campaign does: try random cases until the time is up, count outcomes, keep failures.

A campaign is a module of this folder with a docstring, whose first line is the promise under
attack, ``CI_TRIALS``, the number of trials that a test run makes, and ``trial(rng)``. A trial draws
a case, tries it and returns its outcome, a few words, or a dict of outcomes and how often each was
seen. Whatever it raises is a failure.
"""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
_NO_CAMPAIGNS = {"__init__", "__main__", "harness"}

#: Draws a case, tries it, and says how it went.
Trial = Callable[[np.random.Generator], str | Mapping[str, int]]


@dataclass
class Report:
    """What a campaign has seen so far."""

    campaign: str
    promise: str
    seed: int
    tried: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, object]] = field(default_factory=list)
    broken_off: bool = False

    def __str__(self) -> str:
        lines = [f"{self.campaign}: {self.promise}"]
        for failure in self.failures:
            lines.append(f"--- trial {failure['trial']}\n{failure['error']}")
        lines += [f"{count:8d}  {outcome}" for outcome, count in self.outcomes.most_common()]
        lines.append(
            f"tried {self.tried}, failed {len(self.failures)}, seed {self.seed}, "
            f"{self.seconds:.0f} s"
        )
        return "\n".join(lines)


def names() -> list[str]:
    """The campaigns of this folder."""
    modules = (path.stem for path in FOLDER.glob("*.py"))
    return sorted(
        name
        for name in modules
        if name not in _NO_CAMPAIGNS and not name.startswith(("_", "test_"))
    )


def load(name: str) -> ModuleType:
    """The module of a campaign."""
    return importlib.import_module(f"tests.campaigns.{name}")


def run(
    name: str,
    *,
    seed: int = 0,
    seconds: float | None = None,
    trials: int | None = None,
    first: int = 0,
) -> Report:
    """Make trials until one of the limits is reached, or Ctrl-C ends the campaign.

    Trial i draws from a generator of ``[seed, i]``, so that each can be made again alone.
    """
    module = load(name)
    promise = (module.__doc__ or "").partition("\n")[0]
    report = Report(name, promise, seed)
    begin = time.perf_counter()
    number = first
    while trials is None or number < first + trials:
        report.seconds = time.perf_counter() - begin
        if seconds is not None and report.seconds > seconds:
            break
        try:
            outcome = module.trial(np.random.default_rng([seed, number]))
        except KeyboardInterrupt:  # of whoever runs the campaign, or one that a trial let out
            report.broken_off = True
            break
        except BaseException:  # whatever comes out is a failure, SystemExit too
            report.failures.append({"trial": number, "error": traceback.format_exc()})
        else:
            report.outcomes.update({outcome: 1} if isinstance(outcome, str) else outcome)
        report.tried += 1
        number += 1
    report.seconds = time.perf_counter() - begin
    return report


def save(report: Report, origin: Mapping[str, object]) -> Path:
    """Write a report to the results of the folder; ``origin`` says what code ran, and where."""
    content = {**origin, **vars(report)}
    content["seconds"] = round(report.seconds)
    path = RESULTS / f"{report.campaign}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return path
