/**
 * The binary problems of a state: one for each pair of classes, as kpegasos makes them.
 *
 * With two classes the second one is +1. With more, each pair has the examples of its first class,
 * which is +1, before those of its second.
 */
import { RefusedError } from "./checks.js";
import { EPS, isDefinite, roundingOf, scaleGamma, squaredRadius } from "./kernels.js";
import { LOSSES } from "./losses.js";

/** Relative rounding of kernel values that is not accepted. */
const MOST_ROUNDING = 1e-4;
/** Kernel values beyond this leave no room for the sums that objectives are made of. */
const LARGEST_VALUE = 1e100;

/**
 * The classes that are trained, and the examples of each.
 * @param {Object} state
 * @returns {{classes: number[], members: number[][]}} Members index the points of the state.
 */
export function classesOf({ labels, test }) {
  const members = [[], [], [], []];
  labels.forEach((label, i) => test[i] || members[label].push(i));
  const classes = [0, 1, 2, 3].filter((label) => members[label].length > 0);
  return { classes, members: classes.map((label) => members[label]) };
}

/**
 * Kernel settings of a pane with a number for gamma; null for the linear kernel, which has none.
 * @param {Object} pane
 * @param {number[][]} training Points.
 */
export function resolvedKernel(pane, training) {
  const { kernel, gamma = "scale", degree = 3, coef0 = 0 } = pane;
  if (kernel === "linear") return { kernel, gamma: null, degree, coef0 };
  return { kernel, gamma: gamma === "scale" ? scaleGamma(training) : gamma, degree, coef0 };
}

/**
 * The binary problems of a pane.
 * @param {Object} state With two classes of training points at least.
 * @param {Object} kernel From `resolvedKernel`.
 * @param {Float64Array} gram Kernel values between all points, that of the constant feature included.
 * @returns {Object[]} For each pair of classes `{number, classes, members, isFlipped, problem}`;
 *   `isFlipped` where a positive decision is the first class.
 */
export function problemsOf(state, kernel, gram) {
  const { classes, members } = classesOf(state);
  const { points } = state;
  const isBinary = classes.length === 2;
  // With two classes in the order of the points, else grouped by class.
  const trained = isBinary ? members.flat().sort((a, b) => a - b) : members.flat();
  const training = trained.map((i) => points[i]);
  checkRounding(kernel, training);
  checkSize(gram, points);
  const rounding = new Float64Array(points.length);
  const ofTraining = roundingOf(kernel, training);
  trained.forEach((i, k) => (rounding[i] = ofTraining[k]));
  const pairs = [];
  classes.forEach((first, a) => {
    classes.slice(a + 1).forEach((second, between) => {
      const own = isBinary ? trained : [...members[a], ...members[a + 1 + between]];
      const positive = isBinary ? second : first;
      const labels = Float64Array.from(own, (i) => (state.labels[i] === positive ? 1 : -1));
      pairs.push({
        number: pairs.length,
        classes: [first, second],
        members: own,
        isFlipped: !isBinary,
        problem: problemOf(state, kernel, labels, partOf(gram, points.length, own), rounding, own),
      });
    });
  });
  return pairs;
}

function problemOf(state, kernel, labels, gram, rounding, members) {
  const n = labels.length;
  if (state.batch_size > n) {
    const most = `be at most the number of examples of each pair of classes, ${n}`;
    throw new RefusedError("batch_size", most, state.batch_size);
  }
  const loss = LOSSES[state.loss];
  const isHinge = state.loss === "hinge";
  const lam = state.lam ?? 1 / (state.C * n);
  return {
    n,
    gram,
    labels,
    lam,
    loss,
    isHinge,
    batchSize: state.batch_size,
    // Steps of a loss without a largest slope would grow without bound.
    projection: state.projection || loss.lipschitz === Infinity,
    radius: isHinge ? 1 / Math.sqrt(lam) : Math.sqrt(loss.value(0, 1) / lam),
    average: state.average,
    step: state.step,
    isCertified: isDefinite(kernel),
    rounding: Float64Array.from(members, (i) => rounding[i]),
    largest: labels.reduce((most, _, i) => Math.max(most, Math.abs(gram[i * n + i])), 0),
  };
}

/** Kernel values between some points; those of all are not copied. */
function partOf(gram, n, members) {
  if (members.length === n && members.every((i, k) => i === k)) return gram;
  const part = new Float64Array(members.length ** 2);
  let at = 0;
  for (const i of members) for (const j of members) part[at++] = gram[i * n + j];
  return part;
}

function checkRounding({ kernel, gamma }, training) {
  const isRounded = -Math.expm1(-gamma * 4 * EPS * squaredRadius(training)) > MOST_ROUNDING;
  if (kernel !== "rbf" || !isRounded) return;
  throw new RefusedError("gamma", "be small enough that float64 tells close points apart", gamma);
}

function checkSize(gram, points) {
  const n = points.length;
  if (points.every((_, i) => Math.abs(gram[i * n + i]) <= LARGEST_VALUE)) return;
  const largest = points.flat().reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  throw new RefusedError("points", "be small enough that kernel values fit in float64", largest);
}
