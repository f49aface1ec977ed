"""What must hold before a compiled loop runs: the shapes of all that it indexes, once a call.

Indices that a view holds (of rows, of features) do not change from call to call; they are checked
where such a view is made, by `kpegasos.rows.features.FeatureRows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.path_counts import CELL, N_PATH_COUNTS
from kpegasos.core.set_counts import CHOSEN, MEMBERS, N_COUNTS, N_SCALARS
from kpegasos.core.state import INHERITED, LARGEST_SIZE, STEPS, Examples, LoopParameters, LoopState
from kpegasos.core.views import CsrView, DenseView, KernelView
from kpegasos.utils import tuning
from kpegasos.utils.boundary import require_indices, require_range, require_shape


def check_steps(
    state: LoopState,
    view: Any,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> None:
    """Check the arguments of `kpegasos.core.loops.primal_steps` and ``dual_steps``.

    Raises
    ------
    ValueError
        If the loop would read or write beyond one of its arrays.
    """
    check_state(state, view, examples)
    if parameters.projection:
        require_shape("squared_norms", view.squared_norms, examples.label.shape)
    if parameters.batch_size > state.pulls.size:
        raise ValueError(
            f"pulls must have an entry for each of the {parameters.batch_size} draws of a "
            f"batch, got {state.pulls.size} instead"
        )
    if parameters.rates.size:
        n_steps = max(0, stop - start) // parameters.batch_size
        begin = state.counters.item(STEPS) + 1 - parameters.first_rate
        require_range("steps", begin, begin + n_steps, parameters.rates.size)
    require_range("start and stop", start, stop, draws.size)
    # Rows of later draws are fetched ahead of their turn.
    last = min(draws.size, stop + 2 * tuning.PREFETCH_DRAWS)
    require_indices("draws", draws, examples.label.size, first=start, last=last)


def check_dual_steps(
    state: LoopState,
    view: Any,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> None:
    """Check the arguments of `kpegasos.core.loops.dual_steps`, which need the norms as well.

    Raises
    ------
    ValueError
        If the loop would read or write beyond one of its arrays.
    """
    require_shape("squared_norms", view.squared_norms, examples.label.shape)
    check_steps(state, view, draws, start, stop, examples, parameters)


def check_ascent(
    state: LoopState,
    view: KernelView,
    sets: Any,
    examples: Examples,
    parameters: LoopParameters | None,
) -> None:
    """Check the arguments of `kpegasos.core.working_sets.ascend`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    check_state(state, view, examples)
    size = sets.members.size
    require_range("size", 0, size, examples.label.size)
    require_shape("counts", sets.counts, (N_COUNTS,))
    require_shape("hessian", sets.hessian, (size, size))
    require_shape("scalars", sets.scalars, (N_SCALARS,))
    require_shape("seen", sets.seen, examples.label.shape)
    if sets.wanted.size < size:
        raise ValueError(
            f"wanted must have room for {size} members, got {sets.wanted.size} instead"
        )
    _check_sets(view, sets, rows_needed=bool(sets.counts[CHOSEN]))


def check_path(path: Any, state: LoopState, view: KernelView, sets: Any) -> None:
    """Check the arguments of `kpegasos.core.path.follow`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    _check_cells(path)
    check_ascent(state, view, sets, Examples(path.label, path.label), None)
    require_range("cell", 0, int(path.counts[CELL]), path.lams.size)


def _check_cells(path: Any) -> None:
    cells, shape = path.lams.shape, path.label.shape
    for name in ("folds", "gaps", "duals", "n_sets", "additions"):
        require_shape(name, getattr(path, name), cells)
    for name in ("alphas", "images"):
        require_shape(name, getattr(path, name), (*cells, *shape))
    require_shape("signed", path.signed, (path.signed.shape[0], *shape))
    require_indices("folds", path.folds, path.signed.shape[0])
    require_shape("counts", path.counts, (N_PATH_COUNTS,))


def check_start(
    path: Any,
    cells: np.ndarray,
    view: KernelView,
    members: np.ndarray,
    moves: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Check the arguments of `kpegasos.core.path.remove_held_out`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    _check_cells(path)
    check_view(view, path.label, path.label.shape)
    require_indices("cells", cells, path.lams.size)
    require_indices("members", members, path.label.size)
    require_shape("moves", moves, members.shape)
    _require_rows(view, members)
    require_range("first and last", first, last, path.label.size)


def check_gathering(view: KernelView, members: np.ndarray, out: np.ndarray) -> None:
    """Check the arguments of `kpegasos.core.shrinking.gather`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    check_view(view, view.slots, view.slots.shape)
    require_indices("members", members, view.slots.size)
    require_shape("out", out, (members.size, members.size))
    _require_rows(view, members)


def check_path_sums(
    path: Any,
    first: int,
    rounding: np.ndarray,
    coefs: np.ndarray,
    margins: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Check the arguments of `kpegasos.core.path.path_sums`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    _check_cells(path)
    require_range("first and last", first, first + len(sums), path.lams.size)
    require_shape("rounding", rounding, path.label.shape)
    require_shape("coefs", coefs, (len(sums), path.label.size))
    require_shape("margins", margins, coefs.shape)
    require_shape("sums", sums, (len(sums), 7))


def check_moves(view: KernelView, sets: Any) -> None:
    """Check the arguments of `kpegasos.core.working_sets.add_moves`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    _check_sets(view, sets, rows_needed=True)


def _check_sets(view: KernelView, sets: Any, rows_needed: bool) -> None:
    """Check that members exist, and hold rows where these are about to be read."""
    n_members = int(sets.counts[MEMBERS])
    require_range("n_members", 0, n_members, sets.members.size)
    require_shape("moved", sets.moved, sets.members.shape)
    members = sets.members[:n_members]
    require_indices("members", members, view.slots.size)
    if rows_needed:
        _require_rows(view, members)


def _require_rows(view: KernelView, members: np.ndarray) -> None:
    if members.size and view.slots[members].min() < 0:
        raise ValueError("members must have rows that are held, got one without a row instead")


def check_members(state: LoopState, view: Any, members: np.ndarray, examples: Examples) -> None:
    """Check the arguments of `kpegasos.core.loops.add_rows`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    check_state(state, view, examples)
    require_indices("members", members, examples.label.size)
    if isinstance(view, KernelView):
        _require_rows(view, members)


def check_margins(
    view: CsrView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Check the arguments of `kpegasos.core.margins.sparse_margins`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    require_range("first and last", first, last, view.members.size)
    require_shape("vectors", vectors, (view.n_features + 1, vectors.shape[-1]))
    require_shape("out", out, (view.members.size, vectors.shape[1]))


def check_evaluation(
    combinations: Sequence[LinearCombination],
    state: LoopState,
    examples: Examples,
    rounding: np.ndarray,
) -> None:
    """Check the arguments of `kpegasos.core.evaluation.combine_margins`.

    Raises
    ------
    ValueError
        If it would read beyond one of its arrays.
    """
    shape = examples.label.shape
    require_shape("signed", examples.signed, shape)
    require_shape("alpha", state.alpha, shape)
    require_shape("stamps", state.stamps, shape)
    require_shape("image", state.image, shape)
    require_shape("rounding", rounding, shape)
    if any(combination.stamped for combination in combinations):
        require_shape("stamped_image", state.stamped_image, shape)


def check_small_runs(
    pairs: Any, found: Any, records: np.ndarray, first: int, last: int, most: int, sets: Any
) -> None:
    """Check the arguments of `kpegasos.core.small_runs.run_pairs`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    n_samples, n_pairs, n_members = len(pairs.gram), pairs.lam.size, pairs.members.size
    require_shape("gram", pairs.gram, (n_samples, n_samples))
    require_shape("rounding", pairs.rounding, (n_samples,))
    require_range("first and last", first, last, n_pairs)
    require_shape("ends", pairs.ends, (n_pairs + 1,))
    ends = pairs.ends[first : last + 1]
    if not (np.diff(ends) > 0).all() or most < 1 or (pairs.points < 1).any():
        raise ValueError("ends must increase, and pairs have a step at least")
    require_range("ends", int(ends[0]), int(ends[-1]), n_members)
    require_indices("members", pairs.members, n_samples, first=int(ends[0]), last=int(ends[-1]))
    for name, array in (*pairs._asdict().items(), *found._asdict().items()):
        if name in ("label", "weight", "alpha", "coef", "margins"):
            require_shape(name, array, (n_members,))
        elif name in ("key", "kind"):
            require_shape(name, array, (n_pairs,))
    require_indices("kind", pairs.kind, len(pairs.points), first=first, last=last)
    if sets is not None:
        require_shape("sets", sets, (len(pairs.points), 4))
    require_shape("numbers", found.numbers, (n_pairs, 9))
    require_shape("records", records, (len(records), 12))


def check_dense_margins(
    view: DenseView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Check the arguments of `kpegasos.core.margins.dense_margins`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    require_range("first and last", first, last, view.members.size)
    require_shape("vectors", vectors, (vectors.shape[0], view.X.shape[1] + 1))
    require_shape("out", out, (view.members.size, vectors.shape[0]))


def check_state(state: LoopState, view: Any, examples: Examples) -> None:
    """Check that state, view and examples belong to each other.

    Raises
    ------
    ValueError
        If one of them has the wrong shape.
    """
    shape = examples.label.shape
    require_shape("signed", examples.signed, shape)
    require_shape("alpha", state.alpha, shape)
    require_shape("stamps", state.stamps, shape)
    require_shape("scalars", state.scalars, (LARGEST_SIZE + 1,))
    require_shape("counters", state.counters, (INHERITED + 1,))
    if state.stamped_image.size:
        require_shape("stamped_image", state.stamped_image, state.image.shape)
    check_view(view, state.image, shape)


@singledispatch
def check_view(view: Any, image: np.ndarray, shape: tuple[int]) -> None:
    """Check a view against an image and the shape of the labels; a user's own is trusted."""


@check_view.register(KernelView)
def _(view, image, shape):  # type: ignore[no-untyped-def]
    capacity = view.values.shape[0]
    require_shape("values", view.values, (capacity, *shape))
    require_shape("slots", view.slots, shape)
    require_shape("ticks", view.ticks, (capacity,))
    require_indices("slots", view.slots, capacity, least=-1)
    require_shape("image", image, shape)


@check_view.register(DenseView)
@check_view.register(CsrView)
def _(view, image, shape):  # type: ignore[no-untyped-def]
    width = view.X.shape[1] if isinstance(view, DenseView) else view.n_features
    require_shape("members", view.members, shape)
    require_shape("image", image, (width + 1,))
