"""The steps of a search: what its parameters ask for, what is solved, what came of it.

`PegasosSVCCV` calls them in turn; each takes the estimator for its parameters and sets nothing of
it.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kpegasos.estimators import PegasosSVC
from kpegasos.estimators._classifier import Targets
from kpegasos.estimators._settings import Settings, settings_of
from kpegasos.estimators._sklearn_compat import CallbackObserver, validate_parameters
from kpegasos.estimators._warm_start import problem_digest
from kpegasos.estimators.progress import cell_bar
from kpegasos.model_selection._calibration import calibrate
from kpegasos.model_selection._folds import check_all_classes_are_tested, make_folds
from kpegasos.model_selection._grid import Grid, make_grid
from kpegasos.model_selection._results import (
    SearchRecord,
    cv_results,
    held_out_decisions,
    missing_cells,
)
from kpegasos.model_selection._scoring import HeldOutScorer
from kpegasos.model_selection.surface import Folds, KernelOutcome, search_surface
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import (
    as_choice,
    as_flag,
    check_gram,
    check_magnitude,
    draw_seed,
    optional,
)

#: Parameters that the model of one fit gets as they are.
_SHARED = (
    "kernel", "fit_intercept", "intercept_scaling", "tol", "max_time", "cache_mb", "row_dtype",
    "class_weight", "decision_function_shape", "break_ties", "n_jobs", "verbose", "random_state",
)  # fmt: skip
#: Attributes of a model that a search has by its own validation.
_OF_VALIDATION = {"n_features_in_", "feature_names_in_"}


class OtherSearchError(ValueError):
    """A warm start is given data, folds or parameters of another search."""

    def __init__(self) -> None:
        super().__init__(
            "warm_start=True goes on with the earlier search and needs the same X, y, "
            "sample_weight, folds and parameters, got others"
        )


class SearchPlan(NamedTuple):
    """What a fit searches, and where it stands.

    Attributes
    ----------
    grid : Grid
    folds : Folds
    targets : Targets
        Of all examples.
    score : HeldOutScorer
    record : SearchRecord
        That of an earlier fit where this one goes on from it. It only ever gains cells, so that
        an error leaves it as good as it was.
    digest : str or None
        By which a warm start knows the search.
    """

    grid: Grid
    folds: Folds
    targets: Targets
    score: HeldOutScorer
    record: SearchRecord
    digest: str | None


def model_of(search: Any, **chosen: Any) -> PegasosSVC:
    """The estimator of one fit, with the parameters that it shares with the search."""
    shared = {"polish": True, **{name: getattr(search, name) for name in _SHARED}}
    return PegasosSVC(**{**shared, **chosen})


def search_settings(search: Any) -> Settings:
    """Plain parameters of a search that those of one fit are as well; all of them are checked.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    for name in ("refit", "warm_start"):
        as_flag(name, getattr(search, name))
    choices = ("sigmoid", "isotonic")
    calibration = optional(as_choice, "calibration", search.calibration, choices=choices)
    if calibration is not None and not search.refit:
        raise ValueError(
            "refit must be True for calibration, as probabilities are those of the refitted model, "
            "got False instead"
        )
    if search.tol is None:
        raise ValueError("tol must be a positive finite number, got None instead")
    model = model_of(search)
    try:
        validate_parameters(model)
    except ValueError as error:  # the parameter is the search's
        name, own = type(model).__name__, type(search).__name__
        raise type(error)(str(error).replace(f"of {name} must", f"of {own} must")) from None
    return settings_of(model)


def make_plan(
    search: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    for_splitter: tuple[Any, Any],
    *,
    weighted: bool,
) -> SearchPlan:
    """Make cells of the parameters, and find out which are done.

    Parameters
    ----------
    search : PegasosSVCCV
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    for_splitter : tuple
        X as it came, and the groups.
    weighted : bool
        Whether the weights are the user's, and scores are to heed them.

    Warns
    -----
    UserWarning
        If the scorer takes no weights, as in `GridSearchCV`.
    """
    targets = search._targets(y, weight)
    if search._is_precomputed():
        check_gram(X)
    elif isinstance(search.kernel, str):
        check_magnitude(X)
    grid = make_grid(
        search.kernel,
        X,
        Cs=search.Cs,
        gammas=search.gammas,
        degrees=search.degrees,
        coef0s=search.coef0s,
    )
    folds = make_folds(search.cv, *for_splitter, y, weight, targets, search._targets)
    if search.calibration is not None:
        check_all_classes_are_tested(folds, targets)
    score = HeldOutScorer(
        search.scoring,
        X,
        y,
        weight if weighted else None,
        targets.classes,
        decision_function_shape=search.decision_function_shape,
        break_ties=search.break_ties,
    )
    if score.lacks_weight:
        warnings.warn(
            f"scoring={search.scoring} takes no sample_weight, so that scores count all examples "
            f"alike.",
            UserWarning,
            stacklevel=5,  # the caller of fit, beyond its decorator
        )
    score.try_out(folds.tests[0], targets)
    record, digest = SearchRecord(grid, folds), None
    if search.warm_start:
        digest = _digest(search, X, y, weight if weighted else None, grid, folds)
        earlier = getattr(search, "_states", None)
        if earlier is not None and digest != search._states_digest:
            raise OtherSearchError
        record = earlier or record
    return SearchPlan(grid, folds, targets, score, record, digest)


def _digest(
    search: Any, X: Any, y: np.ndarray, weight: np.ndarray | None, grid: Grid, folds: Folds
) -> str:
    """Digest of all that the cells depend on."""
    parameters = {
        "kernel": search.kernel,
        "candidates": [candidate.parameters for candidate in grid.candidates],
        "intercept": search.intercept_scaling if search.fit_intercept else 0.0,
        "accuracy": search.tol,
        "votes": (search.decision_function_shape, search.break_ties),
        "scoring": search.scoring,
    }
    data = [X, y, folds.weights, *folds.tests, weight]
    return problem_digest(parameters, data, grid.kernels[0])


def solve_missing(
    search: Any,
    plan: SearchPlan,
    X: Any,
    settings: Settings,
    stopper: Stopper,
    callbacks: CallbackObserver | None,
) -> None:
    """Solve the cells that are missing, and score those that come."""
    grid, folds, record = plan.grid, plan.folds, plan.record
    missing = np.flatnonzero(~record.done.all(axis=(0, 2))).tolist()
    known = {}
    for place, number in enumerate(missing):
        if number in record.unfinished:
            known[place] = record.unfinished[number]
            known[place].number = place

    told = callbacks

    def on_kernel(outcome: KernelOutcome) -> None:
        nonlocal told
        outcome.number = missing[outcome.number]
        record.take(outcome, grid, folds, plan.score)
        # Other threads may still end kernels when one has failed or stopped the search.
        observer, told = told, None
        if observer is not None:
            if observer.tell_task("kernel"):
                stopper.fail()
            else:
                told = observer

    if callbacks is not None:
        callbacks.begin_fit(len(missing) + 1)  # the refit
    if not missing:
        return
    assert settings.tol is not None
    certified = all(grid.is_certified(number) for number in missing)
    n_done = int(record.done.sum())
    name = type(search).__name__
    with cell_bar(bool(search.verbose), name, record.done.size, n_done) as advance:
        search_surface(
            X,
            plan.targets.labels,
            folds,
            [grid.kernels[number] for number in missing],
            grid.Cs,
            tol=settings.tol,
            intercept_scaling=settings.intercept_scaling,
            cache_mb=search.cache_mb,
            row_dtype=search.row_dtype,
            n_jobs=settings.n_jobs,
            stopper=stopper,
            on_kernel=on_kernel,
            on_cells=advance,
            known=known,
            seed=0 if certified else draw_seed(search.random_state),
        )


def found_by(
    search: Any, plan: SearchPlan, y: np.ndarray, weight: np.ndarray, stopper: Stopper
) -> dict[str, Any]:
    """Fitted attributes of the search, without a model of all examples."""
    grid, folds, record, classes = plan.grid, plan.folds, plan.record, plan.targets.classes
    shape = (len(folds.tests), *grid.shape, grid.Cs.size)
    if record.done.all() or stopper.interrupted:
        status = "interrupted" if stopper.interrupted else "completed"
    else:
        status = stopper.reason() or "max_time"
    found: dict[str, Any] = {
        "classes_": classes,
        "cv_results_": cv_results(record, grid),
        "scores_": record.scores.reshape(shape).copy(),
        "relative_gaps_": record.relative_gaps.reshape(shape).copy(),
        "Cs_": grid.Cs,
        **{f"{name}s_": values for name, values in grid.axes.items()},
        "n_splits_": len(folds.tests),
        "kernel_evaluations_": int(record.evaluations.sum()),
        "missing_": missing_cells(record, grid),
        "status_": status,
        "_states": record if search.warm_start else None,
        "_states_digest": plan.digest,
    }
    best = record.best
    if best is None:
        return found
    found["best_index_"] = index = _best_index(plan)
    found["best_params_"] = dict(grid.candidates[index].parameters)
    found["best_score_"] = float(found["cv_results_"]["mean_test_score"][index])
    decisions = held_out_decisions(best, folds, y.size)
    found["oof_decision_"] = decisions[:, 0] if classes.size == 2 else decisions
    if search.calibration is not None:
        tested = np.flatnonzero(np.isfinite(decisions[:, 0]))
        found["calibrator_"] = calibrate(
            search.calibration, decisions[tested], y[tested], weight[tested]
        )
    return found


def _best_index(plan: SearchPlan) -> int:
    """The row of the chosen cell in the table."""
    best = plan.record.best
    assert best is not None
    places = [(candidate.kernel, candidate.C) for candidate in plan.grid.candidates]
    return places.index((best.kernel, best.C))


def refitted(
    search: Any,
    plan: SearchPlan,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    stopper: Stopper,
) -> dict[str, Any]:
    """Fitted attributes of a model of all examples with the chosen parameters."""
    begin, chosen = time.perf_counter(), dict(plan.grid.candidates[_best_index(plan)].parameters)
    assert plan.record.best is not None
    if not plan.grid.is_certified(plan.record.best.kernel):
        chosen.update(polish=False, tol=None)
    model = model_of(search, **chosen)
    ended = {}
    try:
        model.fit(X, y, weight)
    except KeyboardInterrupt:
        stopper.interrupt()
        ended["status_"] = "interrupted"
        if not hasattr(model, "classes_"):
            return ended
    if hasattr(search, "feature_names_in_"):
        model.feature_names_in_ = search.feature_names_in_
    own = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name not in _OF_VALIDATION
    }
    return {
        **own,
        **ended,
        "best_estimator_": model,
        "refit_time_": time.perf_counter() - begin,
    }


def report_early_end(search: Any, tol: float | None, *, stacklevel: int) -> None:
    """Say that cells are missing for want of time, or have not reached ``tol``.

    Parameters
    ----------
    search : PegasosSVCCV
        With what it has found.
    tol : float
    stacklevel : int
        Of the warning, seen from here.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.

    Warns
    -----
    ConvergenceWarning
    """
    name, n_cells = type(search).__name__, search.scores_.size
    missing = f"with {len(search.missing_)} of {n_cells} cells missing"
    if search.status_ == "interrupted":
        raise KeyboardInterrupt(
            f"{name} was stopped by Ctrl-C {missing}; the estimator holds what was found so far."
        )
    if search.status_ == "max_time":
        chosen = hasattr(search, "best_params_")
        then = "the best of those that are complete is chosen" if chosen else "nothing is chosen"
        warnings.warn(
            f"{name} stopped by max_time {missing}; {then}.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    # NaN where nothing is certified.
    far = search.relative_gaps_[search.relative_gaps_ > tol]
    if far.size:
        warnings.warn(
            f"{name} did not reach tol in {far.size} of {n_cells} cells, with a certified relative "
            f"gap of {far.max():.3g} at worst.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
