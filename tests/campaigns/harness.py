"""What every campaign does: draw random cases and try them, count outcomes, keep failures.

A campaign is a module of this folder with a docstring, whose first line is the promise under
attack, ``CI_TRIALS``, the number of trials that a test run makes, and ``trial(rng)``. A trial draws
a case, tries it and returns its outcome, a few words, or a dict of outcomes and how often each was
seen. Whatever it raises is a failure; models may be far from the optimum.
"""

import importlib
import json
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

FOLDER = Path(__file__).parent

#: Machine constants with which little data take every path.
SMALL = {
    "TILE_ROWS": 8, "SMALL_TILE_ROWS": 2, "TILE_DRAWS": 4, "FIRST_SLICE": 16, "FEWEST_ROWS": 1,
    "FEWEST_DRAWS": 4, "WORKING_SET": 16, "SMALL_WORKING_SET": 8, "MOST_DRAWS": 64,
    "BLOCKS_FROM": 40, "EXAMPLES_OF_A_BLOCK": 3, "VALUES_AFTER_BLOCKS": 1,
}  # fmt: skip


def pick(rng, values):
    """One of some values."""
    values = list(values)
    return values[int(rng.integers(len(values)))]


def some(rng, probability):
    """Whether something is so that is so with a probability."""
    return bool(rng.random() < probability)


def power(rng, low, high):
    """A number whose logarithm is between two bounds."""
    return float(10.0 ** rng.uniform(low, high))


def check(condition, promise, **numbers):
    """Raise an AssertionError that says which promise is broken, and by what numbers."""
    if not condition:
        found = ", ".join(f"{name}={value!s}" for name, value in numbers.items())
        raise AssertionError(f"{promise} ({found})")


# --- runs -----------------------------------------------------------------------------------------


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

    def __str__(self):
        lines = [f"{self.campaign}: {self.promise}"]
        lines += [f"--- trial {each['trial']}\n{each['error']}" for each in self.failures]
        lines += [f"{count:8d}  {outcome}" for outcome, count in self.outcomes.most_common()]
        counts = f"tried {self.tried}, failed {len(self.failures)}, seed {self.seed}"
        broken = ", broken off by KeyboardInterrupt" * self.broken_off
        return "\n".join([*lines, f"{counts}, {self.seconds:.0f} s{broken}"])


def names():
    """The campaigns of this folder."""
    modules = (path.stem for path in FOLDER.glob("[!_]*.py"))
    return sorted(set(modules) - {"harness", "test_campaigns"})


def load(name):
    """The module of a campaign."""
    return importlib.import_module(f"tests.campaigns.{name}")


def run(name, *, seed=0, seconds=None, trials=None, first=0, trial=None):
    """Make trials until one of the limits is reached, or Ctrl-C ends the campaign.

    Trial i draws from a generator of ``[seed, i]``, so that each can be made again alone. They are
    the campaign's own, or of the one kind that is given.
    """
    module = load(name)
    trial = trial or module.trial
    promise = (module.__doc__ or "").partition("\n")[0]
    report = Report(name, promise, seed)
    begin = time.perf_counter()
    for number in count(first) if trials is None else range(first, first + trials):
        if seconds is not None and time.perf_counter() - begin > seconds:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                outcome = trial(np.random.default_rng([seed, number]))
        except KeyboardInterrupt:  # of whoever runs the campaign, or one that a trial let out
            report.broken_off = True
            break
        except BaseException:  # whatever comes out is a failure, SystemExit too
            report.failures.append({"trial": number, "error": traceback.format_exc()})
        else:
            report.outcomes.update({outcome: 1} if isinstance(outcome, str) else outcome)
        report.tried += 1
    report.seconds = time.perf_counter() - begin
    return report


def save(report, origin):
    """Write a report to the results of the folder; ``origin`` says what code ran, and where."""
    content = {**origin, **vars(report), "seconds": round(report.seconds)}
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    (FOLDER / "results" / f"{report.campaign}.json").write_text(text + "\n")
