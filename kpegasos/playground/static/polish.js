/**
 * Dual ascent to a certified gap: what `PegasosSVC(polish=True)` does, for the few points of a page.
 *
 * The dual of `lam/2 |w|² + mean loss` is `mean gain(β) - lam/2 |w|²` with `w = Σ β_j y_j φ(x_j) / (lam n)`.
 * Each step is exact along one variable, that with the most to gain: a step costs a row of kernel values
 * anyway, and to look for the best costs no more. Between sweeps a Newton step moves all variables that are
 * free, without which large C would take many steps.
 */
import { settled } from "./measure.js";

/** Milliseconds that a pair may take. */
const PATIENCE_PER_PAIR = 4000;
const BISECTIONS = 60;
/** Free variables that a Newton step takes, and by which share the diagonal of its matrix is larger. */
const MOST_FREE = 300;
const RIDGE = 1e-10;

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
    for (let k = 0; k < 30 && leap(problem, beta, decisions); k++);
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
  move({ n, lam, gram, labels }, beta, decisions, best, change);
}

function move({ n, lam, gram, labels }, beta, decisions, i, change) {
  beta[i] += change;
  const added = (change * labels[i]) / (lam * n);
  for (let j = 0; j < n; j++) decisions[j] += added * gram[i * n + j];
}

/** A Newton step along all variables that are inside of their box, within it; whether it was cut. */
function leap(problem, beta, decisions) {
  const { n, lam, gram, labels, loss } = problem;
  const free = [...beta.keys()].filter((i) => beta[i] > 0 && beta[i] < loss.upper);
  if (!free.length || free.length > MOST_FREE) return false;
  const slopes = free.map((i) => loss.slope(beta[i]) - labels[i] * decisions[i]);
  const bends = free.map((i) => loss.bend ?? 1 / (beta[i] * (1 - beta[i])));
  const matrix = free.map((i, a) =>
    Float64Array.from(free, (j, b) => {
      const value = (labels[i] * labels[j] * gram[i * n + j]) / (lam * n);
      return a === b ? value * (1 + RIDGE) + bends[a] : value;
    }),
  );
  const way = solved(matrix, slopes);
  const room = free.map((i, a) => (way[a] < 0 ? beta[i] / -way[a] : (loss.upper - beta[i]) / way[a]));
  // Where gains are no parabolas, a whole step may go too far.
  const share = Math.min(1, (loss.bend === null ? 0.5 : 1) * room.reduce((least, each) => Math.min(least, each)));
  free.forEach((i, a) => {
    const next = Math.max(0, Math.min(loss.upper, beta[i] + share * way[a]));
    move(problem, beta, decisions, i, next - beta[i]);
  });
  return share < 1;
}

/** Solution of a positive definite system, by Cholesky's factors, which replace the matrix. */
function solved(matrix, right) {
  const way = Float64Array.from(right);
  for (let i = 0; i < way.length; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i][j];
      for (let k = 0; k < j; k++) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i === j ? Math.sqrt(Math.max(sum, Number.MIN_VALUE)) : sum / matrix[j][j];
    }
    for (let k = 0; k < i; k++) way[i] -= matrix[i][k] * way[k];
    way[i] /= matrix[i][i];
  }
  for (let i = way.length - 1; i >= 0; i--) {
    way[i] /= matrix[i][i];
    for (let k = 0; k < i; k++) way[k] -= matrix[i][k] * way[i];
  }
  return way;
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
