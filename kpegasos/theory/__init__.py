"""What the papers prove about Pegasos, as functions to hold next to a measurement.

All bounds are for the problem of `kpegasos.core.problem` with equal weights, ``f(w) = lam/2 ‖w‖² +
mean hinge``, where ``‖x‖ ≤ R`` in feature space (`data_radius`), for steps ``1/(lam t)`` from
``w_1 = 0``. "In expectation" and "with probability" ask for mini-batches A_t of independent draws,
``sampling="uniform"``; these proofs do not cover permutations. No bound depends on the size k of a
mini-batch or on the number of examples. All arguments are broadcast against each other; an argument
out of range raises a ValueError. In the formulas T is ``n_steps``, λ ``lam``, R ``radius``, δ
``delta``, ε ``accuracy``.

==========================  ===================================================  ================
what is bounded             function                                             holds
==========================  ===================================================  ================
optimum, objective          `optimum_norm_bound`, `objective_bound`              always
subgradients                `subgradient_norm_bound`                             always
regret                      `regret_bound`; `convergence_bound` (projection)     always
average, ``A_t = S``        `average_iterate_bound`; `convergence_bound`         always
                            (projection)
average                     `average_iterate_bound`                              in expectation
suffix average              `suffix_average_bound`, `alpha_suffix_bound`         in expectation
t-weighted average          `weighted_average_bound`                             in expectation
random iterate              `convergence_bound` (projection)                     in expectation
average, mean of iterates   `measured_regret_bound`, `generalization_bound`,     with probability
                            `mean_excess_bound`, `high_probability_bound`
random iterate              `random_iterate_bound` (projection),                 with probability
                            `median_excess_bound`, `random_stop_bound`
best of several runs        `best_of_runs_bound` (projection)                    with probability
==========================  ===================================================  ================

`least_steps` turns a bound round: the T that suffices for an accuracy.

T steps make ``w_1, …, w_{T+1}``. The theorems speak of ``w_1, …, w_T``; the averages of
`kpegasos.core.averaging` leave out ``w_1 = 0`` instead of ``w_{T+1}``, and obey the same bounds.

Lives here: formulas, each with its source, its conditions, and the slips of the source.
May import: `kpegasos.kernels`, `kpegasos.utils`. Knows no solver and no rows.

References
----------
- ICML 2007: S. Shalev-Shwartz, Y. Singer, N. Srebro, Pegasos: Primal Estimated sub-GrAdient SOlver
  for SVM.
- MPB 2011: the same with A. Cotter, Mathematical Programming B 127.
- Zhou: W. Zhou, Analysis of Pegasos Algorithm (a report), after S. Kakade, A. Tewari, On the
  Generalization Ability of Online Strongly Convex Programming Algorithms, NIPS 2008.
- S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an O(1/t) convergence rate
  for the projected stochastic subgradient method, arXiv:1212.2002, 2012.
- A. Rakhlin, O. Shamir, K. Sridharan, Making Gradient Descent Optimal for Strongly Convex
  Stochastic Optimization, ICML 2012, arXiv:1109.5647.
"""

from kpegasos.theory.accuracy import earlier_analysis_steps, least_steps
from kpegasos.theory.bounds import (
    alpha_suffix_bound,
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    freedman_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    median_excess_bound,
    n_runs,
    random_iterate_bound,
    random_stop_bound,
    regret_bound,
    suffix_average_bound,
    variance_bound,
    weighted_average_bound,
)
from kpegasos.theory.constants import (
    data_radius,
    objective_bound,
    optimum_norm_bound,
    subgradient_norm_bound,
)

__all__ = [
    "alpha_suffix_bound",
    "average_iterate_bound",
    "best_of_runs_bound",
    "convergence_bound",
    "data_radius",
    "earlier_analysis_steps",
    "freedman_bound",
    "generalization_bound",
    "high_probability_bound",
    "least_steps",
    "mean_excess_bound",
    "measured_regret_bound",
    "median_excess_bound",
    "n_runs",
    "objective_bound",
    "optimum_norm_bound",
    "random_iterate_bound",
    "random_stop_bound",
    "regret_bound",
    "subgradient_norm_bound",
    "suffix_average_bound",
    "variance_bound",
    "weighted_average_bound",
]
