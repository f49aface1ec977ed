"""Run campaigns: ``python -m tests.campaigns certificates --seconds 600 --seed 0 --save``."""

import argparse
import sys
from datetime import UTC, datetime

from experiments._run import commit, machine, versions
from tests.campaigns import harness


def main():
    """Run the campaigns that the command line names; 1 if anything failed."""
    known = harness.names()
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {known}; all if none is")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="TRIAL", help="make this one trial again")
    parser.add_argument("--save", action="store_true", help="write the counts to results/")
    given = parser.parse_args()
    if not set(given.names) <= set(known):
        parser.error(f"there are the campaigns {', '.join(known)}")
    limits = {"seconds": given.seconds}
    if given.only is not None:
        limits = {"first": given.only, "trials": 1}
    origin = {"commit": commit(), "machine": machine(), "versions": versions()}
    origin["date"] = datetime.now(UTC).date().isoformat()
    failed = 0
    for name in given.names or known:
        report = harness.run(name, seed=given.seed, **limits)
        print(report, flush=True)
        failed += len(report.failures) + report.broken_off
        if given.save and not report.broken_off:
            harness.save(report, origin)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
