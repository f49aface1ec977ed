"""What the command does for an experiment: run it, draw it, print what came out."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from experiments._catalog import Experiment
from experiments._store import Output, read


@dataclass(frozen=True)
class Work:
    """The options that hold for all experiments of a command.

    Attributes
    ----------
    experiments : dict
        All experiments, by name.
    output : Output
        The folders to write to.
    quick, fresh, only
        As `experiments._run.run` has them.
    figures_only : bool
        Whether to draw from the results at hand.
    """

    experiments: dict[str, Experiment]
    output: Output
    quick: bool
    fresh: bool
    only: tuple[str, ...]
    figures_only: bool

    def __call__(self, name: str) -> bool:
        """Run and draw an experiment; return whether its figure was made."""
        experiment, output = self.experiments[name], self.output
        if not self.figures_only:
            from experiments._run import run

            expected = experiment.quick_time if self.quick else experiment.full_time
            print(f"{name}: {experiment.summary} ({expected})", flush=True)
            run(experiment, output, quick=self.quick, fresh=self.fresh, only=self.only)
        elif not output.document(name).exists():
            print(f"{name}: no results in {output.results}, run it first", file=sys.stderr)
            return False
        from experiments._draw import draw

        draw(experiment, output)
        print(f"{name}: written to {output.figures / name}.png and .svg", flush=True)
        if not self.figures_only:
            for claim in experiment.claims(read(output.document(name))["results"]):
                print(f"{claim.mark or '-'} {claim.claim} {claim.found}", flush=True)
        return True
