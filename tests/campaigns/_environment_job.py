"""What the campaign `environment` runs in fresh processes: small fits, by themselves or in company.

``python _environment_job.py ROOT MODE SEED RESULT`` writes digests of all models to RESULT.
The folder ROOT holds the package.
"""

import atexit
import functools
import hashlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path


def models(seed):
    """Fitted on data of the seed: counts, kernel rows in all places, several classes, polish."""
    import numpy as np

    from kpegasos import LinearPegasosSVC, PegasosSVC

    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    X = rng.normal(size=(n, int(rng.integers(2, 6))))
    three = rng.permutation(np.arange(n) % 3)
    y = three > 0
    common = {"random_state": seed, "n_jobs": 1 + seed % 2}
    kernel = functools.partial(PegasosSVC, gamma=0.5, epochs=3, **common)
    return X, [
        kernel(cache="precomputed").fit(X, y),
        kernel(cache="cached").fit(X, three),
        kernel(polish=True, tol=0.1).fit(X, y),
        LinearPegasosSVC(epochs=3, **common).fit(X, y),
    ]


def digest(seed):
    """Of counts, and of everything else that a model decides by."""
    import numpy as np
    from scipy import sparse

    X, fitted = models(seed)
    found = hashlib.sha256()
    for model in fitted:
        alpha = model.alpha_.toarray() if sparse.issparse(model.alpha_) else model.alpha_
        told = alpha, model.decision_function(X), model.objective_, model.duality_gap_
        for numbers in (*told, model.predict(X)):
            found.update(np.ascontiguousarray(numbers).tobytes())
    return found.hexdigest()


# --- in company: each returns digests that should all be those of the same fits alone -------------


def alone(seed):
    return [digest(seed)]


def watched(seed):
    """Without connections, without other programs, without code that data could bring."""
    digest(seed)  # all is imported and compiled
    forbidden = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "pickle.find_class")
    seen = []
    sys.addaudithook(lambda event, arguments: event in forbidden and seen.append(event))
    return [digest(seed), *seen]


def listed(seed):
    """The files of compiled code that these fits read."""
    read = []
    sys.addaudithook(lambda event, arguments: event == "open" and read.append(str(arguments[0])))
    digest(seed)
    return [name for name in read if name.endswith(".nbc")]


def in_no_folder(seed):
    digest(seed)  # numba cannot compile there: it asks for the folder
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
    return [digest(seed)]


# Modules that no fit may need are imported late: some cannot be when the interpreter ends.


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
    "watched": watched,
    "listed": listed,
    "working folder deleted": in_no_folder,
    "many threads": threads,
    "at exit": alone,  # see `main`
    "fork": functools.partial(processes, "fork"),
    "fork while fitting": fork_while_fitting,
    "spawn": functools.partial(processes, "spawn"),
}


def main():
    root, mode, seed, result = sys.argv[1:]
    sys.path[:0] = [root]
    # What the interpreter says of a fork beside threads is true, and no matter of the package.
    warnings.filterwarnings("ignore", "This process", DeprecationWarning)

    def work():
        found = MODES[mode](int(seed))
        Path(result).write_text(json.dumps(found), encoding="utf-8")

    if mode == "at exit":
        atexit.register(work)
    else:
        work()


if __name__ == "__main__":
    main()
