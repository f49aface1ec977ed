/**
 * Dual ascent to a certified gap: what `PegasosSVC(polish=True)` does, for the few points of a page.
 *
 * The dual of `lam/2 |w|² + mean loss` is `mean gain(β) - lam/2 |w|²` with `w = Σ β_j y_j φ(x_j) / (lam n)`.
 * Each step is exact along one variable, that with the most to gain: a step costs a row of kernel values
 * anyway, and to look for the best costs no more.
 */
import { settled } from "./measure.js";

/** Milliseconds that a pair may take. */
const PATIENCE_PER_PAIR = 4000;
const BISECTIONS = 60;

/**
 * The model of a problem whose relative gap is at most a tolerance, or what there is when time is up.
 * @param {import("./pegasos.js").Problem} problem
 * @param {number} tolerance
 * @returns {{last: Object, returned: Object, bound: number, gap: number}} As `PairRun.at` says.
 */
export function polishedPair(problem, tolerance) {
  const { n, lam } = problem;
  const until = performance.now() + PATIENCE_PER_PAIR;
  const beta = new Float64Array(n);
  const decisions = new Float64Array(n);
  for (;;) {
    for (let step = 0; step < n; step++) ascend(problem, beta, decisions);
    const coef = beta.map((b) => b / (lam * n));
    // With sums of its own, as one that took no steps: `additions` are too many to count.
    const returned = settled(problem, { coef, decisions, additions: Number.MAX_VALUE });
    const gap = Math.abs(returned.upper - returned.proven);
    const isClose = gap <= tolerance * returned.objective;
    if (isClose || performance.now() > until) return { last: returned, returned, bound: returned.proven, gap };
  }
}

/** The best step along one variable. */
function ascend({ n, lam, gram, labels, loss }, beta, decisions) {
  let [best, most, change] = [-1, 0, 0];
  for (let i = 0; i < n; i++) {
    const margin = labels[i] * decisions[i];
    const bend = gram[i * n + i] / (lam * n);
    const next = topOf(loss, beta[i], margin, bend);
    const delta = next - beta[i];
    const gained = loss.gain(next) - loss.gain(beta[i]) - delta * margin - 0.5 * delta * delta * bend;
    if (gained > most) [best, most, change] = [i, gained, delta];
  }
  if (best < 0) return;
  beta[best] += change;
  const added = (change * labels[best]) / (lam * n);
  for (let j = 0; j < n; j++) decisions[j] += added * gram[best * n + j];
}

/** Where `gain(b) - (b - beta) margin - (b - beta)² bend / 2` is largest. */
function topOf(loss, beta, margin, bend) {
  if (loss.bend !== null) {
    const slope = loss.slope(beta) - margin;
    return Math.max(0, Math.min(loss.upper, beta + slope / (loss.bend + bend)));
  }
  let [low, high] = [0, loss.upper];
  for (let k = 0; k < BISECTIONS; k++) {
    const middle = 0.5 * (low + high);
    if (loss.slope(middle) - margin - (middle - beta) * bend > 0) low = middle;
    else high = middle;
  }
  return low;
}
