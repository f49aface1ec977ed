"""Loops are compiled once for all processes, and importing compiles nothing."""

import json
import os
import subprocess
import sys

import pytest

FIT = """
import json
import numpy as np
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.core.loops import primal_steps

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
kernel, linear = PegasosSVC(random_state=0).fit(X, y), LinearPegasosSVC(random_state=0).fit(X, y)
print(json.dumps({
    "hits": sum(primal_steps.stats.cache_hits.values()),
    "misses": sum(primal_steps.stats.cache_misses.values()),
    "signatures": len(primal_steps.signatures),
    "alpha": [kernel.alpha_.tolist(), linear.alpha_.tolist()],
    "decisions": kernel.decision_function(X[:3]).tolist(),
}))
"""


def in_fresh_process(code, cache, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def cold_and_cache(tmp_path_factory):
    cache = tmp_path_factory.mktemp("numba")
    return in_fresh_process(FIT, cache), cache


def test_first_process_compiles_once_per_kind_of_rows(cold_and_cache):
    cold, cache = cold_and_cache
    assert cold["hits"] == 0
    assert cold["misses"] == 2  # kernel rows, dense rows
    assert cold["signatures"] == 2
    assert list(cache.rglob("*.nbi"))


def test_second_process_compiles_nothing(cold_and_cache):
    cold, cache = cold_and_cache
    warm = in_fresh_process(FIT, cache)
    assert warm["hits"] == 2
    assert warm["misses"] == 0
    assert warm["alpha"] == cold["alpha"]
    assert warm["decisions"] == cold["decisions"]


def test_options_share_the_compiled_loops(cold_and_cache):
    """Other settings, callbacks, streams and weights are no reason to compile again."""
    code = """
import json
import warnings
import numpy as np
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.core.loops import primal_steps
warnings.simplefilter("ignore")

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.arange(60) % 3
for Estimator in (PegasosSVC, LinearPegasosSVC):
    for average in ("weighted", "suffix", "uniform", None):
        for projection in (False, True):
            Estimator(average=average, projection=projection, batch_size=3, tol=0.5).fit(X, y)
    Estimator(lam=1, C=2, epochs=np.float32(1.5), intercept_scaling=2).fit(X.tolist(), y)
    Estimator(fit_intercept=False, sampling="uniform", n_steps=np.int32(7)).fit(X, y, y + 1.0)
    Estimator(class_weight="balanced", n_jobs=2).fit(np.asfortranarray(X), y)
for cache in ("precomputed", "cached", "streamed"):
    PegasosSVC(cache=cache).fit(X, y)
LinearPegasosSVC().partial_fit(X, y, classes=[0, 1, 2])
print(json.dumps({"misses": [str(s)[-400:] for s in primal_steps.stats.cache_misses]}))
"""
    _, cache = cold_and_cache
    assert in_fresh_process(code, cache)["misses"] == []


def test_import_compiles_nothing(tmp_path):
    code = """
import json
import kpegasos
from kpegasos.core.loops import dual_steps, primal_steps
print(json.dumps(len(primal_steps.signatures) + len(dual_steps.signatures)))
"""
    assert in_fresh_process(code, tmp_path) == 0
    assert not list(tmp_path.rglob("*.nb*"))


def test_import_is_lean(tmp_path):
    """Plots and downloads are not needed to fit."""
    code = """
import json
import sys
import kpegasos
print(json.dumps(sorted({"matplotlib", "pooch", "skops"} & set(sys.modules))))
"""
    assert in_fresh_process(code, tmp_path) == []


def test_without_compilation_the_model_is_the_same(cold_and_cache, tmp_path):
    """The same source runs as plain Python, which is how it is debugged."""
    cold, _ = cold_and_cache
    code = FIT.replace("primal_steps.stats.cache_hits.values()", "[]")
    code = code.replace("primal_steps.stats.cache_misses.values()", "[]")
    code = code.replace("primal_steps.signatures", "[]")
    plain = in_fresh_process(code, tmp_path, NUMBA_DISABLE_JIT="1")
    assert plain["alpha"] == cold["alpha"]
    assert plain["decisions"] == pytest.approx(cold["decisions"], rel=1e-9)
