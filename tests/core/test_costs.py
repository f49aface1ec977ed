"""What whole runs take and come to, number by number.

Other tests hold results against oracles. A fault that costs sets, steps or rows leaves the optimum
where it is, and a small one hides in a tolerance: so the numbers of some runs are in `costs.json`.
Sums of compiled loops have another order, so they are those of loops without compilation. After a
change that is meant to change them:

    NUMBA_DISABLE_JIT=1 PYTHONPATH=tests python tests/core/test_costs.py
"""

import json
from functools import partial
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import numpy as np
import path_cases
import pytest
from few_points import LAM, FewPoints, N
from numba import config
from path_cases import OFFSET
from solver_cases import (
    DATA,
    LOSSES,
    finished_run,
    make_any_rows,
    make_task,
    polish,
    run_pegasos,
    untimed,
)

from kpegasos import PegasosSVC, sdca
from kpegasos.core.state import (
    AVERAGES,
    ROW_HITS,
    SIZE,
    STEPS,
    LoopParameters,
    PegasosOptions,
    new_state,
)
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import (
    DONE,
    ENOUGH,
    LEFT,
    SETS_DONE,
    WANTED,
    ascend,
    new_working_sets,
)
from kpegasos.utils import tuning

TABLE = Path(__file__).with_name("costs.json")


def sets_of(loss, size, n_ahead=0):
    """Working sets whose rows are held only when they are asked for."""
    case = FewPoints(loss)
    state = new_state(N, N, PegasosOptions(average=None), LAM, 0).loop
    slots, ticks = np.full(N, -1), np.full(N, -1, dtype=np.int64)
    view = KernelView.of(case.K, slots, ticks, case.K.diagonal() + OFFSET, OFFSET)
    sets = new_working_sets(size, size + n_ahead, n_ahead, np.zeros(N, dtype=bool), adds=True)
    sets.counts[LEFT], sets.counts[SETS_DONE], sets.scalars[ENOUGH] = 60, 0, 1e-5
    parameters, asked = LoopParameters(LAM, N, 1, False, False), []
    while ascend(state, view, sets, case.examples, parameters) != DONE:
        wanted = sets.wanted[: sets.counts[WANTED]]
        asked.append(wanted.size)
        slots[:] = -1
        slots[wanted] = wanted
    yield from (sets.counts[SETS_DONE], *asked, state.counters[STEPS], state.counters[ROW_HITS])
    yield from (state.scalars[SIZE], *state.alpha)


def path_of(size, held):
    """Pauses of a path; what each cell may claim."""
    path = path_cases.make_path(enough=1e-6)
    statuses = path_cases.run(path, held=held, pause=7, size=size)
    yield from (len(statuses), *path.numbers.T.ravel())


def ascent_of(source):
    rows = make_any_rows(source)
    yield from chain(*untimed(sdca(make_task(), rows, tol=1e-6, random_state=0).history))


def polish_of(source, **options):
    running = finished_run(make_task(weighted=True), make_any_rows(source), n_steps=30, **options)
    yield from chain(*untimed(polish(running, tol=1e-6, max_epochs=200).history))


def pegasos_of(source, **options):
    result = run_pegasos(make_any_rows(source), checkpoints="epoch", **options)
    yield from (*chain(*untimed(result.history)), result.gap, result.dual_bound)


def fit_of(**options):
    y = DATA.y + 2 * (DATA.X[:, 0] > 0)  # three classes: −1, 1 and 3
    model = PegasosSVC(C=10.0, random_state=0, tol=1e-3, **options).fit(DATA.X, y)
    for history in model.history_:
        yield from chain(*untimed(history))
    yield from (*model.n_support_, *model.intercept_, *model.relative_gap_)


RUNS = {
    **{f"sets, {type(loss).__name__}": partial(sets_of, loss, 4, 3) for loss in LOSSES},
    "sets of five": partial(sets_of, LOSSES[0], 5),
    "sets of all": partial(sets_of, LOSSES[0], N),
    "path": partial(path_of, 8, None),
    "path, rows asked for": partial(path_of, 5, []),
    "ascent, dense features": partial(ascent_of, "dense"),
    "ascent, sparse features": partial(ascent_of, "csr"),
    "ascent, rows cached": partial(ascent_of, "cached"),
    "ascent, rows evicted": partial(ascent_of, "evicting"),
    "polish, rows cached": partial(polish_of, "cached"),
    "polish, features": partial(polish_of, "dense", batch_size=3),
    **{
        f"Pegasos, {average or 'last iterate'}": partial(pegasos_of, "evicting", average=average)
        for average in AVERAGES
    },
    "Pegasos, projected": partial(pegasos_of, "cached", projection=True, batch_size=3),
    "Pegasos, independent draws": partial(pegasos_of, "csr", sampling="uniform", weighted=True),
    "pairs": partial(fit_of, polish=True),
    "pairs, not polished": fit_of,
    "pairs, free intercept": partial(fit_of, polish=True, fit_intercept="free"),
}


def found(name):
    """The numbers of a run, to ten digits, in slices that no clock ends."""
    with patch.object(tuning, "SLICE_SECONDS", 1e6):
        return [float(f"{float(number):.10g}") for number in RUNS[name]()]


def table():
    """The numbers that runs had."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


def test_table_has_each_run():
    assert list(table()) == list(RUNS)


@pytest.mark.pure_python
@pytest.mark.skipif(not config.DISABLE_JIT, reason="numbers of loops under NUMBA_DISABLE_JIT=1")
@pytest.mark.filterwarnings("ignore:PegasosSVC did not reach tol")
@pytest.mark.parametrize("name", RUNS)
def test_runs_take_what_they_took(name):
    assert found(name) == pytest.approx(table()[name], rel=1e-7, abs=1e-11)


if __name__ == "__main__":
    if not config.DISABLE_JIT:
        raise SystemExit("set NUMBA_DISABLE_JIT=1")
    numbers = {name: found(name) for name in RUNS}
    lines = (f"{json.dumps(name)}: {json.dumps(own)}" for name, own in numbers.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
