/**
 * Objective, dual bound and gap of an iterate, with what rounding may have done to them.
 *
 * For any dual variables β in the box of the loss, D(β) is at most the optimum. An iterate
 * `w = Σ c_j y_j φ(x_j)` has `β = lam n c`, and the best multiple of it within the box is a bound.
 * Bounds hold whatever rounding did: they are taken in its worst case, as in kpegasos.
 */
import { combinationOf, hasClockOverT } from "./averages.js";
import { EPS } from "./kernels.js";
import { lossError, steepness } from "./losses.js";

/**
 * @typedef {Object} Measured An iterate and what is known of it.
 * @property {Float64Array} coef `c`, without signs.
 * @property {Float64Array} decisions Of the examples.
 * @property {number} objective
 * @property {number} upper What the objective is at most, whatever rounding did.
 * @property {number} dual Largest dual value of a multiple, as computed; NaN without certificate.
 * @property {number} proven The same in the worst case.
 * @property {number} additions How much decisions may be off by, in units of a value's spacing.
 */

/**
 * Measure an iterate of a state.
 * @param {import("./pegasos.js").Problem & {rounding: Float64Array, largest: number,
 *   isCertified: boolean}} problem
 * @param {import("./pegasos.js").PegasosState} state After at least one step.
 * @param {string|null} average Which iterate.
 * @returns {Measured}
 */
export function measure(problem, state, average) {
  const combination = combinationOf(average, state, problem.lam, problem.batchSize);
  const prefix = average === "suffix" ? state.prefix() : null;
  const coef = combined(combination, state.alpha, state.stamps, prefix?.alpha);
  const decisions = combined(combination, state.image, state.stampedImage, prefix?.image);
  const additions = additionsOf(problem, state, combination);
  const sums = sumsOf(problem, coef, decisions);
  const errors = roundingErrors(problem, sums, decisions, additions);
  return { ...judged(problem, coef, decisions, sums, errors), additions };
}

/** Objective and bounds of an iterate whose mean loss and squared norm are known up to errors. */
function judged(problem, coef, decisions, sums, errors) {
  const { lam, n } = problem;
  const objective = 0.5 * lam * sums.squaredNorm + sums.loss / n;
  const upper = objective + errors.loss + 0.5 * lam * errors.norm + sumRounding(n) * Math.abs(objective);
  const bounds = problem.isCertified
    ? dualBounds(problem, coef, sums, errors.norm)
    : { dual: NaN, proven: NaN };
  return { coef, decisions, objective, upper, ...bounds };
}

/**
 * Measure an iterate again, its decisions summed anew: with as little rounding as can be.
 * @param {Object} problem
 * @param {Measured} measured
 * @returns {Measured}
 */
export function settled(problem, { coef, decisions: before, additions }) {
  const { n, gram, labels, loss, largest, rounding } = problem;
  const support = Array.from(coef.keys()).filter((j) => coef[j] !== 0);
  const { size, ofValues } = sumsOf(problem, coef, before);
  const decisions = before.slice();
  const [ofLosses, errors] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++) {
    const unsummed = size * rounding[i] + ofValues;
    const summed = unsummed + (support.length + 4) * EPS * size * largest;
    errors[i] = Math.min(unsummed + additions * EPS * largest, summed);
    if (errors[i] === summed) {
      decisions[i] = support.reduce((sum, j) => sum + coef[j] * labels[j] * gram[i * n + j], 0);
    }
    ofLosses[i] = lossError(loss, decisions[i], labels[i], errors[i]);
  }
  const ofLoss = ofLosses.reduce((a, b) => a + b, 0) / n;
  const ofNorm = errors.reduce((sum, error, i) => sum + Math.abs(coef[i]) * error, 0);
  const sums = sumsOf(problem, coef, decisions);
  const found = judged(problem, coef, decisions, sums, { loss: ofLoss, norm: ofNorm });
  return { ...found, additions };
}

/** `plain · sum - stamped · (stamped sum + prefix)`, number by number. */
function combined({ plain, stamped }, sum, stampedSum, prefix) {
  if (stamped === 0) return sum.map((x) => plain * x);
  if (prefix === undefined) return sum.map((x, i) => plain * x - stamped * stampedSum[i]);
  return sum.map((x, i) => plain * x - stamped * stampedSum[i] - stamped * prefix[i]);
}

function sumsOf({ labels, loss, rounding }, coef, decisions) {
  const sums = { loss: 0, squaredNorm: 0, size: 0, largest: 0, ofValues: 0, rounding: 0 };
  for (let i = 0; i < coef.length; i++) {
    sums.loss += loss.value(decisions[i], labels[i]);
    sums.squaredNorm += coef[i] * labels[i] * decisions[i];
    sums.size += Math.abs(coef[i]);
    sums.largest = Math.max(sums.largest, coef[i]);
    sums.ofValues += Math.abs(coef[i]) * rounding[i];
    sums.rounding += rounding[i];
  }
  return { ...sums, largestRounding: rounding.reduce((a, b) => Math.max(a, b), 0) };
}

/** How much decisions may be off by, in units of a kernel value's spacing. */
function additionsOf(problem, state, { plain, stamped }) {
  const { steps, clock } = state;
  let largestClock = clock;
  if (problem.projection || problem.step !== null) {
    // Folding sets the clock back, and other steps may make the scale grow.
    largestClock = hasClockOverT(problem.average) ? 1 + Math.log(steps) : steps;
    if (problem.step !== null) largestClock *= 2 ** 10;
  }
  const counts = problem.isHinge ? state.alpha.reduce((a, b) => a + b, 0) : 2 * state.largestSize;
  const unit = Math.abs(plain) + 2 * stamped * largestClock;
  return (steps + 4) * problem.batchSize * unit * (counts + problem.n);
}

/** Largest errors of the mean loss and of the squared norm. */
function roundingErrors({ n, labels, loss, largest }, sums, decisions, additions) {
  const unit = EPS * largest;
  const { size, ofValues } = sums;
  const ofSums = additions * unit;
  const ofDecisions = ofSums + ofValues + (size * sums.rounding) / n;
  const furthest = ofDecisions + size * sums.largestRounding;
  const norm = size * (ofSums + 2 * ofValues) + 0.5 * n * unit * size * size;
  return { loss: ofDecisions * steepness(loss, decisions, labels, furthest), norm };
}

/** Relative rounding of a sum over the examples, and of a few numbers beside it. */
function sumRounding(n) {
  return (0.5 * n + 16) * EPS;
}

function dualBounds(problem, coef, sums, normError) {
  if (!problem.isHinge) return dualBoundsAlong(problem, coef, sums.squaredNorm, normError);
  const { lam, n } = problem;
  const largest = sums.largest * lam * n;
  if (largest <= 0) return { dual: 0, proven: 0 };
  const linear = lam * sums.size;
  const quadratic = lam * sums.squaredNorm;
  const least = linear - sumRounding(n) * linear;
  return {
    dual: Math.max(0, topOfParabola(linear, quadratic, 1 / largest)),
    proven: Math.max(0, topOfParabola(least, quadratic + lam * normError, 1 / largest)),
  };
}

/** Maximum of `θ linear - θ²/2 quadratic` over θ up to a limit; no norm is negative. */
function topOfParabola(linear, quadratic, limit) {
  const bend = Math.max(0, quadratic);
  const theta = bend > 0 ? Math.min(limit, linear / bend) : limit;
  return theta * linear - 0.5 * theta * theta * bend;
}

/** Steps of the search along multiples, the range at which it ends, and roundings of a gain. */
const SEARCH_STEPS = 60;
const NARROW = 1e-9;
const GAIN_ROUNDINGS = 16;
const GOLDEN = 0.5 * (Math.sqrt(5) - 1);

/** Bounds of a loss whose gains are no straight line. */
function dualBoundsAlong({ lam, n, loss }, coef, squaredNorm, normError) {
  const unit = lam * n;
  const quadratic = Math.max(0, lam * squaredNorm);
  const gains = (theta) => {
    let [total, size] = [0, 0];
    for (const c of coef) {
      const gain = loss.gain(theta * unit * c);
      total += gain;
      size += Math.abs(gain) + 2 * Math.abs(theta * unit * c);
    }
    return { total, size };
  };
  const value = (theta) => gains(theta).total / n - 0.5 * theta * theta * quadratic;
  const theta = bestMultiple(value, largestMultiple(loss, unit, coef));
  const { total, size } = gains(theta);
  const error = (n + GAIN_ROUNDINGS) * EPS * size;
  const bend = 0.5 * theta * theta * (quadratic + lam * normError);
  const proven = (total - error) / n - bend - GAIN_ROUNDINGS * EPS * (Math.abs(total) / n + bend);
  return { dual: Math.max(0, value(theta)), proven: Math.max(0, proven) };
}

/** The largest multiple within the box; 0 if there is nothing to multiply. */
function largestMultiple(loss, unit, coef) {
  const most = coef.reduce((a, b) => Math.max(a, b), 0) * unit;
  return most > 0 ? (loss.upper / most) * (1 - 4 * EPS) : 0;
}

/** Where a concave function on [0, most] is largest, nearly: golden sections. */
function bestMultiple(value, most) {
  if (most <= 0) return 0;
  let high = Math.min(1, most);
  let [before, now] = [value(0.5 * high), value(high)];
  while (now > before && high < most) {
    high = Math.min(most, 2 * high);
    [before, now] = [now, value(high)];
  }
  let low = 0;
  let [best, ofBest] = [high, now];
  let [left, right] = [high - GOLDEN * high, GOLDEN * high];
  let [ofLeft, ofRight] = [value(left), value(right)];
  for (let k = 0; k < SEARCH_STEPS && high - low > NARROW * high; k++) {
    if (ofLeft < ofRight) {
      [low, left, ofLeft] = [left, right, ofRight];
      right = low + GOLDEN * (high - low);
      ofRight = value(right);
    } else {
      [high, right, ofRight] = [right, left, ofLeft];
      left = high - GOLDEN * (high - low);
      ofLeft = value(left);
    }
    if (ofLeft > ofBest) [best, ofBest] = [left, ofLeft];
    if (ofRight > ofBest) [best, ofBest] = [right, ofRight];
  }
  return best;
}
