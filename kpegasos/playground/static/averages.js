/**
 * Averages of all iterates in closed form, from two sums.
 *
 * After t steps the iterate is `scale q / (lam k t)`. A sum of the increments of q, each times what
 * the clock showed before its step, makes any average of the iterates: `clock q - stamped`. The
 * clock sums the scales, or the scales over t.
 */

/** Names of the averages; null is the last iterate. */
export const AVERAGES = ["weighted", "uniform", "suffix", null];

/**
 * Whether the clock of an average adds scale / t at step t.
 * @param {string|null} average
 * @returns {boolean}
 */
export function hasClockOverT(average) {
  return average === "uniform" || average === "suffix";
}

/**
 * The step after which the suffix average begins: the largest power of two up to t / 2, or 0.
 * @param {number} t
 * @returns {number}
 */
export function suffixStart(t) {
  return t >= 2 ? 2 ** (Math.floor(Math.log2(t)) - 1) : 0;
}

/**
 * An iterate after t ≥ 1 steps as `plain · sum - stamped · (stamped sum + prefix)`.
 * @param {string|null} average
 * @param {{steps: number, scale: number, clock: number}} state
 * @param {number} lam
 * @param {number} batchSize
 * @returns {{plain: number, stamped: number}}
 */
export function combinationOf(average, { steps: t, scale, clock }, lam, batchSize) {
  const unit = 1 / (lam * batchSize);
  if (average === null) return { plain: (unit * scale) / t, stamped: 0 };
  const weight =
    average === "weighted"
      ? (2 * unit) / (t * (t + 1))
      : unit / (average === "uniform" ? t : t - suffixStart(t));
  return { plain: weight * clock, stamped: weight };
}
