"""What the fuzz campaign calls: every public callable, with the parameters of its signature.

Signatures are read, so that a new function or parameter is tried without being listed. Listed is
what cannot be guessed: which values are good, and how a class is made to work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import kpegasos
from kpegasos import datasets, plotting, reference, theory
from kpegasos.core.state import PegasosOptions
from tests.campaigns import _fuzz_checks as checks
from tests.campaigns._fuzz_displays import MADE
from tests.campaigns._fuzz_good import GOOD, GOOD_OF

#: Public names that are not called with parameters of a user's choice, and why.
NOT_CALLED = {
    "CatalogueEntry": "a record",
    "Dataset": "a record of what a loader returns",
    "Forecast": "a record",
    "History": "a record",
    "Iterates": "a record",
    "Kernel": "a protocol",
    "Problem": "a record; make_problem checks",
    "Record": "a record",
    "RegularizationPath": "a record",
    "Result": "a record; tests/solvers/test_result.py calls its methods",
    "Table": "a record of what read_table returns",
    "catalogue": "has no parameters",
    "fetch": "downloads",
    "load_adult": "has no parameters, and needs its data",
    "load_covtype": "reads 600,000 rows",
    "load_fashion_mnist": "reads 70,000 images",
    "load_mnist": "reads 70,000 images",
    "load_rcv1_sample": "has no parameters, and needs its data",
    "load_usps": "has no parameters, and needs its data",
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
_CALLED = {"kernel", "sampling", "step", "monitor", "chunks", "bounds", "scoring", "loss"}
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


#: Methods that return neither predictions nor accuracies.
_CHECKS_OF_METHODS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "from_libsvm": checks.model,
    "to_libsvm": checks.returned,
    "to_onnx": checks.returned,
    "to_sklearn": checks.returned,
}
#: What writes a file.
_WRITERS = (
    "save",
    "to_libsvm",
    "to_onnx",
    "write_svmlight",
    "write_table",
)
#: Packages without which a method says how to install them.
_NEEDS = {"to_onnx": "onnx"}


def _elsewhere(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that writes, made in a folder of its own, as its path may be any name."""

    def made(**arguments: Any) -> Any:
        with TemporaryDirectory() as folder, chdir(folder):
            return call(**arguments)

    return made


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
        elif method in _NEEDS and find_spec(_NEEDS[method]) is None:
            continue
        elif method != "fit" and hasattr(checks.fitted(kind), method):
            call = getattr(checks.fitted(kind), method)
            made = _target(
                f"{name}.{method}",
                _elsewhere(call) if method in _WRITERS else call,
                function,
                check=_CHECKS_OF_METHODS.get(method, checks.prediction),
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
    "load": checks.model,
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
            call = _elsewhere(thing) if name in _WRITERS else thing
            found.append(_target(name, call, thing, extra=extra, check=check))
    return tuple(found)
