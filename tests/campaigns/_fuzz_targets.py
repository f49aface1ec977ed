"""What the fuzz campaign calls: every public callable, with the parameters of its signature.

Signatures are read, so that a new function or parameter is tried without being listed. Listed is
what cannot be guessed: which values are good, and how a class is made to work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import kpegasos
from kpegasos import datasets, plotting, reference, theory
from kpegasos.core.state import PegasosOptions
from tests.campaigns import _fuzz_checks as checks
from tests.campaigns._fuzz_displays import MADE

#: Public names that are not called with parameters of a user's choice, and why.
NOT_CALLED = {
    "Dataset": "a record of what a loader returns",
    "History": "a record",
    "Iterates": "a record",
    "Kernel": "a protocol",
    "Problem": "a record; make_problem checks",
    "Record": "a record",
    "RegularizationPath": "a record",
    "Result": "a record; tests/solvers/test_result.py calls its methods",
    "load_adult": "has no parameters, and needs its data",
    "load_covtype": "reads 600,000 rows",
    "load_fashion_mnist": "reads 70,000 images",
    "load_mnist": "reads 70,000 images",
    "load_rcv1_sample": "has no parameters, and needs its data",
    "load_usps": "has no parameters, and needs its data",
}

#: Good values of parameters by name; the first is the usual one.
GOOD: dict[str, tuple[str, ...]] = {
    "Cs": ("[0.1, 1.0, 10.0]", "np.array([10, 1])", "(3.0,)"),
    "C": ("1.0", "0.01", "100", "np.float32(0.5)", "Fraction(1, 3)", "np.int16(3)"),
    "K": ("X @ X.T", "np.eye(24)"),
    "X": (
        "X",
        "X.tolist()",
        "X.astype(np.float32)",
        "sparse.csr_matrix(X)",
        "sparse.coo_array(X)",
        "np.asfortranarray(X)",
        "X[:, ::-1]",
        "np.rint(X).astype(np.int8)",
        "X3",
    ),
    "alpha": ("np.ones(24)",),
    "average": ("'weighted'", "'suffix'", "'uniform'", "None"),
    "ax": ("Figure().subplots()",),
    "band": ("(20.0, 80.0)", "(0, 100)"),
    "batch_size": ("1", "4", "np.int16(7)", "np.uint8(2)"),
    "bins": ("'auto'", "5", "[-1, 0, 1]"),
    "bounds": ("None", "{}"),
    "break_ties": ("False", "True"),
    "cache": ("'auto'", "'precomputed'", "'cached'", "'streamed'"),
    "cache_mb": ("1024.0", "1", "np.float32(0.5)"),
    "checkpoints": ("'epoch'", "'log'", "None", "[1, 5, 40]", "(2,)", "np.array([3, 9])"),
    "chunk_mb": ("32.0", "1"),
    "chunk_size": ("10", "np.int16(7)", "1"),
    "chunks": ("kpegasos.ArrayChunks(X, y, chunk_size=10)", "[(X, y)]", "lambda: iter([(X, y)])"),
    "class_weight": ("None", "'balanced'", "{0: 1.0, 1: 2.0}"),
    "classes": ("[0, 1]", "np.array([0, 1])", "(0, 1)"),
    "coef0": ("0.0", "1", "-1.0"),
    "cmap": ("'cividis'", "None"),
    "counts": ("np.arange(24)",),
    "cv_results": ("searched().cv_results_",),
    "curves": ("{'gap': [0.5, 0.2, 0.1]}", "{'objective_last': [[1, 0.5, 0.2], [1, 0.4, 0.3]]}"),
    "decisions": ("np.where(y == 1, 0.7, -0.3)",),
    "decision_function_shape": ("'ovr'", "'ovo'"),
    "degree": ("3", "2", "0", "np.int8(2)"),
    "delta": ("0.1", "[0.1, 0.3]", "np.float32(0.01)"),
    "density": ("0.05", "0.5"),
    "dpi": ("20.0",),
    "draws": ("np.arange(24)", "[0, 5, 5, 23]", "np.array([7], np.uint8)"),
    "dtype": ("np.float32", "'float64'", "float"),
    "early_stopping": ("False", "True"),
    "epochs": ("3", "0.5", "2.2", "np.float32(1.5)", "np.int8(2)"),
    "eps": ("0.2", "0", "1"),
    "estimator": ("fitted(PegasosSVC)", "fitted(LinearPegasosSVC)", "SVC().fit(X, y)"),
    "fit_intercept": ("True", "False", "np.bool_(False)"),
    "fps": ("8", "1"),
    "frame": ("-1", "0", "np.int8(1)"),
    "gamma": ("1.0", "0.5", "np.float32(2.0)"),
    "gradient_norm": ("1.0", "[1, 2]"),
    "gram": ("X @ X.T",),
    "grid_resolution": ("5", "np.int8(4)"),
    "history": ("animation().history",),
    "hold": ("0.1", "0"),
    "intercept_scaling": ("1.0", "0.5", "np.float32(2)"),
    "iterates": ("[(1, np.ones(2)), (5, np.zeros(2), np.ones(2), np.ones(24))]",),
    "iterations": ("None", "[1, 2, 3]"),
    "kernel": ("'rbf'", "'linear'", "2 * kpegasos.RBF(2.0)", "'laplacian'", "'poly'", "'sigmoid'"),
    "labels": ("None",),
    "lam": ("0.1", "1", "np.float32(0.5)"),
    "loss": ("None", "np.abs", "np.square"),
    "margins": ("np.linspace(-1, 2, 24)",),
    "max_epochs": ("20", "np.int8(5)"),
    "max_time": ("0.05", "1", "np.float32(0.1)"),
    "members": ("None", "np.arange(5)"),
    "metrics": ("('seconds', 'gap', 'epoch')", "['relative_gap', 'gap', 'support_size']"),
    "n_draws": ("30", "np.int8(9)"),
    "n_features": ("2", "np.int8(5)"),
    "n_iter_no_change": ("5", "1"),
    "n_jobs": ("None", "2", "-1"),
    "n_samples": ("24", "np.int8(10)"),
    "n_steps": ("50", "np.int16(500)", "3"),
    "name": ("'moons'", "'circles'", "'xor'", "'spirals'"),
    "noise": ("0.1", "0", "np.float32(0.2)"),
    "pair": ("None", "(0, 1)", "[1, 0]"),
    "path": ("svmlight()", "str(svmlight())"),
    "polish": ("False", "True"),
    "positions": ("[1, 2, 3]",),
    "problem": ("kpegasos.make_problem(2 * y - 1, 0.1)",),
    "projection": ("False", "True"),
    "radius": ("1.0", "[1, 2]", "np.float32(3)"),
    "random_state": ("0", "None", "np.random.RandomState(0)", "np.int8(3)"),
    "rows": ("rows('precomputed')", "rows('cached')", "rows('streamed')", "rows('linear')"),
    "runs": ("fitted(PegasosSVC).history_", "fitted(PegasosSVC).history_.to_dict()"),
    "sample_weight": ("None", "weight", "weight.tolist()", "np.arange(24)"),
    "sampling": ("'permutation'", "'uniform'"),
    "scores": ("[[0.5, 0.7, 0.6], [0.4, np.nan, 0.8]]",),
    "search": ("searched()",),
    "support": ("None", "[0, 3]"),
    "support_vectors": ("X",),
    "threads": ("1", "2", "None"),
    "tol": ("1e-2", "0.5", "np.float32(0.1)"),
    "validation_fraction": ("0.2", "0.5"),
    "values": ("np.linspace(-1, 1, 20).reshape(5, 4)",),
    "verbose": ("False",),
    "xx": ("np.arange(4)", "[0, 1, 2, 3]"),
    "y": ("y", "y.tolist()", "np.where(y, 'b', 'a')", "y == 1", "y.astype(np.int8)", "y3"),
    "yy": ("np.arange(5)",),
}
#: Good values of a parameter of one callable.
GOOD_OF: dict[str, tuple[str, ...]] = {
    "ArrayChunks.y": ("y", "y.tolist()"),
    "CachedRows.values": ("kpegasos.KernelMatrix(kpegasos.RBF(), X)",),
    "RegularizationPathDisplay.Cs": ("[0.1, 1, 10]",),
    "RegularizationPathDisplay.curves": ("{'score': [0.5, 0.7, 0.6]}",),
    "RegularizationPathDisplay.from_path.ax": ("None", "Figure().subplots(1, 3)"),
    "RegularizationPathDisplay.from_path.path": ("solutions()",),
    "RegularizationPathDisplay.from_path.scores": ("None", "[0.5, 0.7, 0.6]"),
    "RegularizationPathDisplay.plot.panels": ("'score'", "None"),
    "ValidationSurfaceDisplay.Cs": ("[0.1, 1, 10]",),
    "ValidationSurfaceDisplay.gammas": ("[0.5, 2.0]",),
    "UncachedRows.values": ("kpegasos.KernelMatrix(kpegasos.RBF(), X)",),
    "DecisionRegionDisplay.classes": ("None", "[0, 1]"),
    "DecisionRegionDisplay.from_predictions.classes": ("None", "[0, 1]"),
    "DecisionRegionDisplay.from_predictions.counts": ("None",),
    "KernelMatrix.kernel": ("kpegasos.RBF(2.0)", "kpegasos.Laplacian() + kpegasos.Linear()"),
    "KernelMatrix.X": ("X", "X.astype(np.float32)", "sparse.csr_matrix(X)"),
    "FeatureRows.X": ("X", "X.astype(np.float32)", "sparse.csr_matrix(X)"),
    "LinearPegasosSVC.partial_fit.classes": ("[0, 1]", "[0, 1, 2]"),
    "MarginHistogramDisplay.from_predictions.y": ("y", "y.tolist()"),
    "OneVsOneDisplay.from_estimator.ax": ("Figure().subplots(1, 3)", "None"),
    "OneVsOneDisplay.classes": ("['a', 'b', 'c']",),
    "OneVsOneDisplay.from_estimator.estimator": ("fitted(PegasosSVC, True)", "fitted(PegasosSVC)"),
    "OneVsOneDisplay.values": ("{'gap': [0.1, 0.2, 0.3]}",),
    "PegasosSVC.fit.gamma": ("'scale'", "'auto'", "0.5", "np.float32(2.0)"),
    "PegasosSVCCV.fit.Cs": ("[1.0, 10]", "2", "(np.float32(0.5),)", "np.array([3, 1])"),
    "PegasosSVCCV.fit.calibration": ("None", "'sigmoid'", "'isotonic'"),
    "PegasosSVCCV.fit.coef0s": ("(0.0,)", "[1, 0.5]"),
    "PegasosSVCCV.fit.cv": ("2", "None", "np.int8(3)", "[(range(12), range(12, 24))]"),
    "PegasosSVCCV.fit.degrees": ("(3,)", "[2, np.int8(1)]"),
    "PegasosSVCCV.fit.gammas": ("[1.0]", "2", "['scale', 'auto']", "(np.float32(2.0), 1)"),
    "PegasosSVCCV.fit.groups": ("None", "np.arange(24) % 4"),
    "PegasosSVCCV.fit.max_time": ("20", "None", "np.float32(9.5)"),
    "PegasosSVCCV.fit.refit": ("True", "False", "np.bool_(True)"),
    "PegasosSVCCV.fit.scoring": ("None", "'f1_macro'", "'roc_auc'", "lambda model, X, y: 0.5"),
    "TrainingAnimation.X": ("animation().X",),
    "TrainingAnimation.alpha": ("animation().alpha",),
    "TrainingAnimation.from_estimator.estimator": ("PegasosSVC(epochs=2)",),
    "TrainingAnimation.plot.ax": ("Figure().subplots(1, 2)", "None"),
    "TrainingAnimation.save.path": ("folder() / 'a.gif'", "str(folder() / 'a.html')"),
    "TrainingAnimation.values": ("animation().values",),
    "TrainingAnimation.xx": ("animation().xx",),
    "TrainingAnimation.y": ("animation().y",),
    "TrainingAnimation.yy": ("animation().yy",),
    "data_radius.kernel": ("'linear'", "'cosine'", "kpegasos.RBF(2.0)", "'poly'"),
    "fit_chunks.classes": ("None", "[0, 1]"),
    "fit_chunks.epochs": ("1", "2", "np.int8(2)", "3.0"),
    "fit_chunks.estimator": ("LinearPegasosSVC()", "LinearPegasosSVC(lam=0.1, batch_size=2)"),
    "kernel_history.iterates": ("[(1, np.ones(24)), (5, np.zeros(24), np.ones(24))]",),
    "make_problem.y": ("2 * y - 1", "y.tolist()", "np.where(y, 'b', 'a')", "y == 1", "y"),
    "make_rows.gamma": ("'scale'", "'auto'", "0.5", "np.float32(2.0)"),
    "make_text_like.n_features": ("2000",),
}
GOOD_OF |= {
    f"{name}.y": ("2 * y - 1", "(2 * y - 1).tolist()")
    for name in set(reference.__all__) - {"Iterates", "index_stream"}
}
#: Parameters that are always given: without them a call takes long, or needs a screen.
_ALWAYS = {
    "Cs",
    "ax",
    "classes",
    "cv",
    "dpi",
    "epochs",
    "gammas",
    "grid_resolution",
    "hold",
    "make_problem.lam",
    "max_epochs",
    "max_time",
    "n_features",
    "n_samples",
}
#: Parameters that say how long a call takes; nasty ones are not combined with another `max_time`.
DURATIONS = {"epochs", "max_epochs", "max_time", "n_iter_no_change", "n_steps"}
#: Where a large value means a long time, and nothing limits it.
_UNLIMITED = ("2**63", "10**30", "1e308", "np.uint64(2**64 - 1)")
#: Durations for which each frame is drawn.
_SECONDS = ("2.5", "np.float32(1.5)", "np.int16(7)", "np.uint8(3)")

#: Parameters that are called, and callables whose own errors are not the package's.
_CALLED = {"kernel", "sampling", "monitor", "chunks", "bounds", "scoring", "loss"}
_CALLABLES = ("len", "int", "object", "PegasosSVC", "sparse.csr_matrix")
#: What says that it can be iterated over, and cannot.
_UNITERABLE = ("sparse.coo_matrix((24, 2))",)


@dataclass(frozen=True)
class Target:
    """Something public to call.

    Attributes
    ----------
    name : str
    call : callable
        Takes the parameters by name.
    parameters : tuple of str
    required : tuple of str
        Those that are always given.
    check : callable
        ``check(result, arguments)`` asserts that what came back makes sense.
    """

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    check: Callable[[Any, dict[str, Any]], None]

    def good(self, parameter: str) -> tuple[str, ...]:
        """Expressions of good values; none where the default is the only one known."""
        return GOOD_OF.get(f"{self.name}.{parameter}", GOOD.get(parameter, ()))

    @property
    def slow(self) -> bool:
        """Whether it draws pictures or many documents, and is tried less often."""
        return self.name == "make_text_like" or self.name.startswith(tuple(plotting.__all__))

    def refused(self, parameter: str) -> tuple[str, ...]:
        """Expressions that are not tried."""
        if (self.name, parameter) == ("fit_chunks", "epochs"):
            return _UNLIMITED
        if (self.name, parameter) == ("TrainingAnimation.save", "hold"):
            return _SECONDS
        if parameter == "iterates":
            return _UNITERABLE
        return _CALLABLES if parameter in _CALLED else ()


def _target(
    name: str,
    call: Callable[..., Any],
    *signatures: Callable[..., Any],
    extra: tuple[str, ...] = (),
    check: Callable[[Any, dict[str, Any]], None] = checks.returned,
) -> Target:
    found: dict[str, inspect.Parameter] = {}
    for function in signatures or (call,):
        found |= inspect.signature(function).parameters
    named = [p for p in found.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    parameters = [p.name for p in named if p.name != "self"] + list(extra)
    required = [p.name for p in named if p.default is p.empty and p.name != "self"]
    always = [p for p in parameters if {p, f"{name}.{p}"} & _ALWAYS and p not in required]
    return Target(name, call, tuple(parameters), tuple(required + always), check)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods that the package defines, or that make a classifier."""
    for name, method in inspect.getmembers(kind, callable):
        if not name.startswith("_") and (_is_ours(method) or name == "score"):
            yield name, method


def _is_ours(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).startswith("kpegasos")


def _estimator_targets(name: str, kind: Any) -> Iterator[Target]:
    def fit(**arguments: Any) -> Any:
        names = ("X", "y", "sample_weight", "groups")
        of_fit = {key: arguments.pop(key) for key in names if key in arguments}
        return checks.fit(kind(**arguments), of_fit)

    yield _target(f"{name}.fit", fit, kind, kind.fit, check=checks.model)
    for method, function in _methods(kind):
        if method == "partial_fit":

            def partial_fit(**arguments: Any) -> Any:
                return kind(random_state=0).partial_fit(**arguments)

            yield _target(f"{name}.{method}", partial_fit, function, check=checks.model)
        elif method != "fit":
            made = _target(
                f"{name}.{method}",
                getattr(checks.fitted(kind), method),
                function,
                check=checks.prediction,
            )
            # What else scikit-learn's own methods take is their affair.
            yield (
                made
                if _is_ours(function) and method != "score"
                else replace(made, parameters=("X",))
            )


def _display_targets(name: str, kind: Any) -> Iterator[Target]:
    yield _target(name, kind)
    for method, function in _methods(kind):
        if inspect.ismethod(function):  # of the class
            options = {p.kind for p in inspect.signature(function).parameters.values()}
            with_plot = (kind.plot,) if inspect.Parameter.VAR_KEYWORD in options else ()
            yield _target(f"{name}.{method}", function, function, *with_plot)
        elif len(inspect.signature(function).parameters) > 1:

            def call(method: str = method, **arguments: Any) -> Any:
                return getattr(MADE[name](), method)(**arguments)

            yield _target(f"{name}.{method}", call, function)


def _kernel_target(name: str, kind: Any) -> Target:
    def call(**arguments: Any) -> Any:
        return checks.kernel_values(kind(**arguments))

    return _target(name, call, kind)


def _public() -> Iterator[tuple[str, Any, Any]]:
    for module in (kpegasos, theory, datasets, plotting, reference):
        for name in module.__all__:
            if name not in NOT_CALLED and callable(getattr(module, name)):
                yield name, getattr(module, name), module
    yield "PegasosOptions", PegasosOptions, kpegasos


_KERNEL_PARAMETERS = ("gamma", "degree", "coef0")
_CHECKS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "fit_chunks": checks.model,
    "make_gaussian_noise": checks.data,
    "make_spirals": checks.data,
    "make_text_like": checks.text,
    "make_toy": checks.data,
    "make_xor": checks.data,
    "pegasos": checks.result,
    "sdca": checks.result,
}


@cache
def targets() -> tuple[Target, ...]:
    """All that is called."""
    found: list[Target] = []
    for name, thing, module in _public():
        if module is plotting:
            found += _display_targets(name, thing)
        elif hasattr(thing, "fit"):
            found += _estimator_targets(name, thing)
        elif hasattr(thing, "diag"):
            found.append(_kernel_target(name, thing))
        elif name == "PegasosOptions":
            found.append(_target(name, checks.options, thing))
        else:
            variable = inspect.Parameter.VAR_KEYWORD
            kinds = {p.kind for p in inspect.signature(thing).parameters.values()}
            extra = _KERNEL_PARAMETERS if variable in kinds else ()
            check = checks.bound if module is theory else _CHECKS.get(name, checks.returned)
            found.append(_target(name, thing, extra=extra, check=check))
    return tuple(found)
