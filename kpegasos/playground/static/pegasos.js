/**
 * Pegasos' steps on one pair of classes, as kpegasos makes them (ICML 2007, Fig. 1).
 *
 * After t steps the iterate is `w = scale q / (lam k t)` with `q = Σ alpha_j y_j φ(x_j)`, so that a
 * step adds to q and nothing has to shrink: with the hinge, counts of violations. `image` holds
 * `<q, φ(x_i)>` of each example. The projection onto a ball and other step sizes change the scale.
 */
import { hasClockOverT, suffixStart } from "./averages.js";

/** Below this scale, or above its reciprocal, it is folded into the sums. */
const SMALLEST_SCALE = 2 ** -10;
/** A step that would shrink the iterate to less than this share of it leaves this share. */
const LEAST_SHARE = 2 ** -40;
/** Before a step that may shrink the iterate by more, the scale is folded into the sums. */
const MOST_SHRINKAGE = 16;

/** Step sizes other than 1 / (lam t). */
const STEP_SIZES = {
  inverse_sqrt: (t, lam, scale) => Math.min(scale / Math.sqrt(t), 1 / lam),
  constant: (t, lam, scale) => Math.min(scale, 1 / lam),
  delayed: (t, lam) => 2 / (lam * (t + 1)),
};

/** Names of the step rules. */
export const STEP_RULES = Object.keys(STEP_SIZES);

/**
 * Size of a step.
 * @param {Problem} problem
 * @param {number} t
 * @returns {number}
 */
export function stepSize({ lam, step }, t) {
  return step === null ? 1 / (lam * t) : STEP_SIZES[step.rule](t, lam, step.scale);
}

/**
 * @typedef {Object} Problem A binary problem.
 * @property {number} n Number of examples.
 * @property {Float64Array} gram Kernel values, that of the constant feature included.
 * @property {Float64Array} labels -1 and 1.
 * @property {number} lam
 * @property {Object} loss One of `LOSSES`.
 * @property {number} batchSize
 * @property {boolean} projection
 * @property {number} radius Of the ball that the projection is onto.
 * @property {string|null} average
 * @property {{rule: string, scale: number}|null} step
 */

/** What the steps of a run change. */
export class PegasosState {
  /** @param {number} n Number of examples. */
  constructor(n) {
    this.alpha = new Float64Array(n);
    this.stamps = new Float64Array(n);
    this.image = new Float64Array(n);
    this.stampedImage = new Float64Array(n);
    this.steps = 0;
    this.scale = 1;
    this.clock = 0;
    this.squaredNorm = 0; // of q; kept with the projection only
    this.size = 0; // Σ |alpha|
    this.largestSize = 0;
    /** Sums of counts and images up to the last two powers of two, for the suffix average. */
    this.prefixes = new Map();
  }

  /** @returns {PegasosState} One that shares nothing that changes. */
  copy() {
    const other = Object.assign(new PegasosState(0), this);
    for (const name of ["alpha", "stamps", "image", "stampedImage"]) {
      other[name] = this[name].slice();
    }
    other.prefixes = new Map(this.prefixes);
    return other;
  }

  /** Make the scale 1 and the clock 0: the same iterate and averages. */
  foldScale() {
    const { scale, clock } = this;
    for (const [plain, stamped] of [
      [this.alpha, this.stamps],
      [this.image, this.stampedImage],
    ]) {
      for (let i = 0; i < plain.length; i++) {
        stamped[i] -= clock * plain[i];
        plain[i] *= scale;
      }
    }
    this.squaredNorm *= scale * scale;
    this.size *= scale;
    this.largestSize *= scale;
    this.scale = 1;
    this.clock = 0;
  }

  /** Sums up to here, which the suffix average leaves out later. */
  setPrefixAside() {
    const { clock } = this;
    const less = (plain, stamped) => plain.map((sum, i) => clock * sum - stamped[i]);
    this.prefixes.set(this.steps, {
      alpha: less(this.alpha, this.stamps),
      image: less(this.image, this.stampedImage),
    });
    for (const old of this.prefixes.keys()) {
      if (old < Math.floor(this.steps / 2)) this.prefixes.delete(old);
    }
  }

  /** What the suffix average leaves out. @returns {{alpha: Float64Array, image: Float64Array}|null} */
  prefix() {
    return this.prefixes.get(suffixStart(this.steps)) ?? null;
  }
}

/**
 * Factor that makes a decision of an example's image before step t.
 * @param {Problem} problem
 * @param {PegasosState} state
 * @returns {number}
 */
export function toDecision({ lam, batchSize }, { scale, steps }) {
  return scale / (lam * batchSize * Math.max(1, steps));
}

/**
 * Make the steps of a run up to a number of them.
 * @param {Problem} problem
 * @param {PegasosState} state Changed in place.
 * @param {{at: function(number): number}} stream
 * @param {number} last
 */
export function takeSteps(problem, state, stream, last) {
  const { labels, loss, batchSize: k, average } = problem;
  const drawn = new Int32Array(k);
  const pulls = new Float64Array(k);
  while (state.steps < last) {
    const t = state.steps + 1;
    const factor = toDecision(problem, state);
    for (let b = 0; b < k; b++) {
      const i = stream.at(state.steps * k + b);
      drawn[b] = i;
      pulls[b] = loss.pull(state.image[i] * factor, labels[i]);
    }
    applyBatch(problem, state, drawn, pulls, t);
    state.steps = t;
    if (problem.projection) project(problem, state);
    state.clock += hasClockOverT(average) ? state.scale / t : state.scale;
    if (state.scale < SMALLEST_SCALE || state.scale > 1 / SMALLEST_SCALE) state.foldScale();
    if (average === "suffix" && (t & (t - 1)) === 0) state.setPrefixAside();
  }
}

/** Scale after a step's shrinking, and what a pull of 1 adds to q. */
function shrunk(problem, { scale }, t) {
  if (problem.step === null) return { after: scale, increment: 1 / scale };
  const rate = stepSize(problem, t) * problem.lam;
  const after = scale * Math.max(1 - rate, LEAST_SHARE) * (t / Math.max(1, t - 1));
  return { after, increment: (rate * t) / after };
}

function applyBatch(problem, state, drawn, pulls, t) {
  const { n, gram, labels, projection } = problem;
  let { after, increment } = shrunk(problem, state, t);
  if (projection && state.clock > 0 && shrinksMuch(problem, drawn, pulls, t, increment * after)) {
    state.foldScale();
    ({ after, increment } = shrunk(problem, state, t));
  }
  const { alpha, stamps, image, stampedImage, clock } = state;
  for (let b = 0; b < drawn.length; b++) {
    if (pulls[b] === 0) continue;
    const i = drawn[b];
    const added = pulls[b] * increment;
    const signed = added * labels[i];
    if (projection) state.squaredNorm += signed * (2 * image[i] + signed * gram[i * n + i]);
    const before = alpha[i];
    alpha[i] = before + added;
    stamps[i] += added * clock;
    state.size += Math.abs(before + added) - Math.abs(before);
    state.largestSize = Math.max(state.largestSize, state.size);
    addRow(image, stampedImage, gram, i * n, signed, signed * clock);
  }
  state.scale = after;
}

/** The inner loop of all: a row of the kernel matrix is added to both images. */
function addRow(image, stampedImage, gram, start, increment, stamp) {
  const n = image.length;
  for (let j = 0; j < n; j++) {
    const value = gram[start + j];
    image[j] += increment * value;
    stampedImage[j] += stamp * value;
  }
}

/** Whether the projection after a batch might shrink the iterate to a small part of it. */
function shrinksMuch({ n, gram, lam, batchSize, radius }, drawn, pulls, t, unit) {
  let added = 0;
  drawn.forEach((i, b) => (added += unit * Math.abs(pulls[b]) * Math.sqrt(gram[i * n + i])));
  return added > MOST_SHRINKAGE * radius * lam * batchSize * t;
}

/** Onto the ball that holds the optimum. */
function project({ lam, batchSize, radius }, state) {
  const norm = (state.scale * Math.sqrt(Math.max(state.squaredNorm, 0))) / (lam * batchSize * state.steps);
  if (norm > radius) state.scale *= radius / norm;
}
