"""A model does not depend on where it is fitted: variables, flags, threads, forks.

Each trial runs this file in a fresh process, ``python environment.py ROOT MODE SEED``, under
conditions that are drawn independently of each other: it prints digests of all models, which must
be those of this process. Modules that no fit may need are imported late. What becomes of compiled
code on disks that are full, damaged, shared or not to be written to is tried by
`tests/core/test_compiled.py`.
"""

import atexit
import functools
import hashlib
import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

CI_TRIALS = 2
#: A fresh process takes some 2 seconds; a cold cache up to a minute.
TIME_LIMIT = 300

#: None for a variable that is not set.
VARIABLES = {
    "NUMBA_NUM_THREADS": ["1", "2", "64"],
    "OPENBLAS_NUM_THREADS": ["1", "3"],
    "NUMBA_THREADING_LAYER": ["workqueue", "omp", "nonsense"],
    "LC_ALL": ["C", "xx_YY.nonsense"],
    "PYTHONIOENCODING": ["ascii"],
    "PYTHONHASHSEED": ["0", "12345"],
    "PYTHONWARNINGS": ["error", "ignore"],
    "TMPDIR": ["/dev/null/x", "/nowhere"],
    "TERM": [None, "dumb", "nonsense"],
    "COLUMNS": ["0", "1", "nonsense"],
    "KPEGASOS_DATA": ["", "/dev/null/x", "\udcff"],
}
FLAGS = ["-I", "-O", "-OO", "-B", "-b", "-s -E", "-X dev", "-X dev -W error"]


def digest(seed):
    """Of counts, and of everything else that models decide by, fitted on data of the seed."""
    import numpy as np

    from kpegasos import LinearPegasosSVC, PegasosSVC

    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    X = rng.normal(size=(n, int(rng.integers(2, 6))))
    three = rng.permutation(np.arange(n) % 3)
    y = three > 0
    common = {"random_state": seed, "n_jobs": 1 + seed % 2}
    kernel = functools.partial(PegasosSVC, gamma=0.5, epochs=3, **common)
    fitted = [
        kernel(cache="precomputed").fit(X, y),
        kernel(cache="cached").fit(X, three),
        kernel(polish=True, tol=0.1).fit(X, y),
        LinearPegasosSVC(epochs=3, **common).fit(X, y),
    ]
    found = hashlib.sha256()
    for model in fitted:
        alpha = model.alpha_ if len(model.classes_) == 2 else model.alpha_.toarray()
        told = alpha, model.decision_function(X), model.objective_, model.duality_gap_
        for numbers in (*told, model.predict(X)):
            found.update(np.ascontiguousarray(numbers).tobytes())
    return found.hexdigest()


# --- each mode returns digests that should all be those of the same fits alone --------------------


def alone(seed):
    return [digest(seed)]


def watched(seed):
    """Without connections, without other programs, without code that data could bring."""
    digest(seed)  # all is imported and compiled
    forbidden = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "pickle.find_class")
    seen = []
    sys.addaudithook(lambda event, arguments: event in forbidden and seen.append(event))
    return [digest(seed), *seen]


def threads(seed):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(digest, [seed] * 12))


def processes(context, seed):
    import multiprocessing

    before = digest(seed)
    with multiprocessing.get_context(context).Pool(2) as pool:
        return [before, *pool.map(digest, [seed, seed]), digest(seed)]


def fork_while_fitting(seed):
    """Children that begin while other threads hold whatever a fit may hold."""
    from concurrent.futures import ThreadPoolExecutor

    digest(seed)  # so that no thread compiles: numba's lock does not live on in a child
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(digest, seed) for _ in range(6)]
        return [*processes("fork", seed), *(each.result() for each in running)]


MODES = {
    "alone": alone,
    "at exit": alone,
    "watched": watched,
    "many threads": threads,
    "fork while fitting": fork_while_fitting,
    "spawn": functools.partial(processes, "spawn"),
}


def trial(rng):
    """Fit under some conditions, here and there."""
    from tests.campaigns.harness import pick, some

    if sys.platform != "linux":
        return "left out: the conditions are those of Linux"
    digest(0)  # compiles, where a fresh process would look
    dropped = ("NUMBA_", "KPEGASOS_", "PYTHON", "PYTEST", "COV_")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    variables["KPEGASOS_QUIET"] = "1"  # who waits for the compiler is told, on a busy machine
    chosen = rng.choice(list(VARIABLES), size=rng.integers(0, 5), replace=False).tolist()
    values = {name: pick(rng, VARIABLES[name]) for name in chosen}
    flags, mode = pick(rng, FLAGS) if some(rng, 0.5) else "", pick(rng, [*MODES])
    seed = int(rng.integers(1000))
    ran = subprocess.run(
        [sys.executable, *flags.split(), __file__, Path(__file__).parents[2], mode, str(seed)],
        env={k: v for k, v in (variables | values).items() if v is not None},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    conditions = [*values, *([flags] if flags else []), mode]
    assert (ran.stderr, ran.returncode) == ("", 0), f"{ran.stderr}\nwith {values}, {conditions}"
    assert set(ran.stdout.split()) == {digest(seed)}, f"{ran.stdout}\nwith {conditions}"
    return {f"the same model: {name}": 1 for name in conditions}


if __name__ == "__main__":
    root, mode, seed = sys.argv[1:]
    sys.path[:0] = [root]
    # What the interpreter says of a fork beside threads is true, and no matter of the package.
    warnings.filterwarnings("ignore", "This process", DeprecationWarning)
    if mode == "at exit":
        importlib.import_module("kpegasos.estimators")  # joblib cannot be imported any more there
        atexit.register(lambda: print(*alone(int(seed))))
    else:
        print(*MODES[mode](int(seed)))
