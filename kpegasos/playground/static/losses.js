/**
 * Losses of labels ±1: what a decision costs, what a step adds, and what a dual variable gains.
 *
 * Each is an object as in kpegasos: `value` and `pull` of (decision, label), `gain` of a dual
 * variable between 0 and `upper`, its derivative `slope`, which falls at the rate `bend` (null where that is
 * no constant), and `lipschitz`, the largest slope of the loss.
 */

/** A decision this close to the hinge's corner is at the corner. */
const TIE = 1e-10;
const SMOOTHED_WIDTH = 0.5;

/** Losses by the names that scikit-learn has for them. */
export const LOSSES = {
  hinge: {
    upper: 1,
    lipschitz: 1,
    value: (f, y) => Math.max(0, 1 - y * f),
    pull: (f, y) => (y * f < 1 - TIE ? 1 : 0),
    gain: (beta) => beta,
    slope: () => 1,
    bend: 0,
  },
  squared_hinge: {
    upper: Infinity,
    lipschitz: Infinity,
    value: (f, y) => Math.max(0, 1 - y * f) ** 2,
    pull: (f, y) => 2 * Math.max(0, 1 - y * f),
    gain: (beta) => beta - 0.25 * beta * beta,
    slope: (beta) => 1 - 0.5 * beta,
    bend: 0.5,
  },
  smoothed_hinge: {
    upper: 1,
    lipschitz: 1,
    value: (f, y) => {
      const slack = Math.max(0, 1 - y * f);
      if (slack >= SMOOTHED_WIDTH) return slack - 0.5 * SMOOTHED_WIDTH;
      return (0.5 * slack * slack) / SMOOTHED_WIDTH;
    },
    pull: (f, y) => Math.min(1, Math.max(0, (1 - y * f) / SMOOTHED_WIDTH)),
    gain: (beta) => beta - 0.5 * SMOOTHED_WIDTH * beta * beta,
    slope: (beta) => 1 - SMOOTHED_WIDTH * beta,
    bend: SMOOTHED_WIDTH,
  },
  log_loss: {
    upper: 1,
    lipschitz: 1,
    value: (f, y) => Math.max(0, -y * f) + Math.log1p(Math.exp(-Math.abs(f))),
    pull: (f, y) => {
      const small = Math.exp(-Math.abs(f));
      return y * f > 0 ? small / (1 + small) : 1 / (1 + small);
    },
    gain: (beta) => entropyPart(beta) + (beta < 1 ? -(1 - beta) * Math.log1p(-beta) : 0),
    slope: (beta) => Math.log((1 - beta) / beta),
    bend: null,
  },
};

function entropyPart(beta) {
  return beta > 0 ? -beta * Math.log(beta) : 0;
}

/**
 * How far off a loss is at the most, if its decision may be off by an error.
 * @param {Object} loss
 * @param {number} decision
 * @param {number} label
 * @param {number} error
 * @returns {number}
 */
export function lossError(loss, decision, label, error) {
  const ends = [decision - error, decision + error];
  // A convex loss that is zero at both ends is zero between them, and steepest at an end.
  if (ends.every((f) => loss.value(f, label) === 0)) return 0;
  if (loss.lipschitz < Infinity) return loss.lipschitz * error;
  return error * Math.max(...ends.map((f) => Math.abs(loss.pull(f, label))));
}

/**
 * No loss of some examples is steeper, wherever their decisions are within an error.
 * @param {Object} loss
 * @param {Float64Array} decisions
 * @param {Float64Array} labels
 * @param {number} error Positive.
 * @returns {number}
 */
export function steepness(loss, decisions, labels, error) {
  if (loss.lipschitz < Infinity) return loss.lipschitz;
  const errors = decisions.map((f, i) => lossError(loss, f, labels[i], error));
  return errors.reduce((a, b) => Math.max(a, b), 0) / error;
}
