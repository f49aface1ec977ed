"""Run campaigns: ``python -m tests.campaigns certificates --seconds 600 --seed 0 --save``."""

import argparse
import sys
from datetime import UTC, datetime

from experiments._meta import commit, machine, versions
from tests.campaigns import harness


def main():
    """Run the campaigns that the command line names; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="campaigns; all if none is named")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each campaign")
    parser.add_argument("--trials", type=int, help="at the most, for each campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="TRIAL", help="make this one trial again")
    parser.add_argument("--save", action="store_true", help="write the counts to results/")
    arguments = parser.parse_args()
    known = harness.names()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"there is no campaign {unknown[0]!r}; there are {', '.join(known)}")
    origin = {
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
    }
    failed = 0
    for name in arguments.names or known:
        one = arguments.only is not None
        report = harness.run(
            name,
            seed=arguments.seed,
            seconds=None if one else arguments.seconds,
            trials=1 if one else arguments.trials,
            first=arguments.only or 0,
        )
        print(report, flush=True)
        failed += len(report.failures) + report.broken_off
        if report.broken_off:
            print("broken off by KeyboardInterrupt")
        elif arguments.save:
            harness.save(report, origin)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
