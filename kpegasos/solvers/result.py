"""What a run returns: a model, its certificate and what to go on from.

How a model decides on new examples is known to its rows; see `kpegasos.rows.decisions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from kpegasos.core.state import State
from kpegasos.solvers.history import History
from kpegasos.utils.boundary import require_shape


@dataclass(frozen=True, repr=False)
class Result:
    """A trained binary model and its certificate.

    It holds a few vectors of n_samples and, for new examples, the kernel and what it is evaluated
    on: the data, which are not copied, until a first decision or a pickle, and the support vectors
    from then on. Kernel values are not held.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples,), float64
        With the hinge how often each example was drawn while violating, else the sum of its pulls,
        times the product of the projections since (integers with the hinge and neither projection
        nor a step rule); ``w_{T+1} = Σ alpha_j ω_j y_j φ(x_j) / (lam k T)``. The dual
        variables β in the case of `sdca`.
    coef : ndarray of shape (n_samples,)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    w : ndarray of shape (n_features,) or None
        Primal vector, from `FeatureRows` only.
    intercept : float
        ``B · w_B``: what the constant feature of size B adds to every decision.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)`` of the training examples.
    objective : float
        ``P(w)``.
    dual_bound : float
        A lower bound on the minimum of P.
    gap, relative_gap : float
        ``objective − dual_bound`` and what rounding may have taken off the objective; the same
        divided by the objective. Bound and gaps are NaN where the kernel is not positive
        semi-definite, by its name or as the values showed.
    n_steps : int
        Steps done, all calls together.
    status : {"completed", "tolerance", "max_time", "interrupted", "stopped"}
        Why it ended; ``"stopped"`` by a monitor or a callback.
    history : History
    state : State
        What `pegasos` continues from.
    rounding : float
        How much of the gap is rounding.
    decisions : callable or None
        What `decision_function` calls: what ``RowSource.decisions`` made.
    classes : ndarray of shape (2,) or None
        The labels of negative and positive decisions; None for -1 and +1.
    regression : bool
        Whether decisions are the predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import make_problem, make_rows, pegasos
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> rows = make_rows(X[:150], "rbf", gamma="scale")
    >>> result = pegasos(make_problem(y[:150], C=10.0), rows, random_state=0)
    >>> bool((result.predict(X[150:]) == y[150:]).mean() > 0.9)
    True
    """

    alpha: np.ndarray
    coef: np.ndarray
    w: np.ndarray | None
    intercept: float
    margins: np.ndarray
    objective: float
    dual_bound: float
    gap: float
    relative_gap: float
    n_steps: int
    status: str
    history: History
    state: State | None = None
    rounding: float = 0.0
    decisions: Callable[[Any], np.ndarray] | None = None
    classes: np.ndarray | None = None
    regression: bool = False

    def decision_function(self, X: Any) -> np.ndarray:
        """``f(x)`` of new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Where the kernel was given as a matrix: its values with the training examples, of shape
            (n_new, n_samples).

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X has another number of columns, or leaves no finite decision; if the kernel was lost
            on the way through a pickle, or the rows are of a kind that decides on no new examples.
        """
        if self.decisions is None:
            raise ValueError(
                "rows must have a method decisions to decide on new examples, got some that return "
                "None"
            )
        return self.decisions(X)

    def predict(self, X: Any) -> np.ndarray:
        """Labels of new examples, as `make_problem` was given them; numbers in regression.

        Parameters
        ----------
        X : array-like or sparse matrix
            As `decision_function` takes it.

        Returns
        -------
        ndarray of shape (n_new,)

        Raises
        ------
        ValueError
            As `decision_function` does.
        """
        decisions = self.decision_function(X)
        if self.regression:
            return decisions
        classes = np.array([-1.0, 1.0]) if self.classes is None else self.classes
        require_shape("classes", classes, (2,))
        return np.asarray(classes[(decisions > 0.0).astype(np.intp)])

    def __repr__(self) -> str:
        return (
            f"Result({self.status} after {self.n_steps} steps, objective {self.objective:.6g}, "
            f"relative gap {self.relative_gap:.2g}, {np.count_nonzero(self.coef)} support vectors)"
        )


class Results(Sequence[Result]):
    """Results of several runs.

    Parameters
    ----------
    results : sequence of Result
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = results

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Result]: ...

    def __getitem__(self, key: SupportsIndex | slice) -> Result | Sequence[Result]:
        found: Result | Sequence[Result] = self._results[key]  # type: ignore[index]
        return found

    def column(self, name: str) -> list[Any]:
        """An attribute of all results."""
        return [getattr(result, name) for result in self._results]

    def of_members(self, name: str) -> np.ndarray:
        """An attribute of shape (n_samples,) of all results, one behind the other."""
        return np.concatenate(self.column(name))
