"""What the campaign `environment` runs in fresh processes: small fits, by themselves or in company.

``python _environment_job.py ROOT MODE SEED`` prints digests of all models. The folder ROOT holds
the package. Modules that no fit may need are imported late.
"""

import atexit
import functools
import hashlib
import sys
import warnings


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

if __name__ == "__main__":
    root, mode, seed = sys.argv[1:]
    sys.path[:0] = [root]
    # What the interpreter says of a fork beside threads is true, and no matter of the package.
    warnings.filterwarnings("ignore", "This process", DeprecationWarning)
    if mode == "at exit":
        atexit.register(lambda: print(*alone(int(seed))))
    else:
        print(*MODES[mode](int(seed)))
