/**
 * What may come into the engine: requests and the state are checked here, one sentence for what is
 * wrong, naming the parameter, what was expected and what came.
 */
import { AVERAGES } from "./averages.js";
import { ENGINE_KERNELS } from "./kernels.js";
import { LOSSES } from "./losses.js";
import { STEP_RULES } from "./pegasos.js";

/** Limits of what the engine takes. */
export const ENGINE_LIMITS = { points: 2000, classes: 4, steps: 10_000_000, coordinate: 1e6, text: 2 ** 20 };
/** Ways to draw. */
export const SAMPLINGS = ["permutation", "uniform"];

/** A message that will not do, or a state that the estimator would refuse. */
export class RefusedError extends Error {
  /**
   * @param {string} parameter
   * @param {string} expected What the parameter must be.
   * @param {*} came
   */
  constructor(parameter, expected, came) {
    super(`${parameter} must ${expected}, got ${shown(came)} instead`);
    this.parameter = parameter;
  }
}

/** What a page tells of an error: whatever led to it, the page goes on. */
export function refusalOf(error) {
  if (error instanceof RefusedError) return { parameter: error.parameter, message: error.message };
  return { parameter: null, message: `The engine ended with ${error.name}: ${error.message}` };
}

/** What came, cut to a line. */
function shown(value) {
  const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/**
 * Refuse a number that is not within limits.
 * @param {string} parameter
 * @param {*} value
 * @param {number} least
 * @param {number} most
 * @param {boolean} [isWhole]
 */
export function requireNumber(parameter, value, least, most, isWhole = false) {
  const isNumber = isWhole ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (isNumber && value >= least && value <= most) return;
  const kind = isWhole ? "an integer" : "a number";
  throw new RefusedError(parameter, `be ${kind} from ${least} to ${most}`, value);
}

/**
 * Refuse what is not one of some values.
 * @param {string} parameter
 * @param {*} value
 * @param {Array} choices
 */
export function requireChoice(parameter, value, choices) {
  if (choices.includes(value)) return;
  throw new RefusedError(parameter, `be one of ${choices.map(shown).join(", ")}`, value);
}

function requireList(parameter, value, length, isProper, expected) {
  if (!Array.isArray(value)) throw new RefusedError(parameter, "be a list", value);
  if (value.length > ENGINE_LIMITS.points) {
    const most = ENGINE_LIMITS.points.toLocaleString("en");
    throw new RefusedError(parameter, `be at most ${most} points`, value.length);
  }
  if (value.length !== length) {
    throw new RefusedError(parameter, `have an entry for each of ${length} points`, value.length);
  }
  const wrong = value.findIndex((entry) => !isProper(entry));
  if (wrong >= 0) throw new RefusedError(parameter, `be ${expected}`, value[wrong]);
}

function isPoint(point) {
  const isCoordinate = (x) => Number.isFinite(x) && Math.abs(x) <= ENGINE_LIMITS.coordinate;
  return Array.isArray(point) && point.length === 2 && point.every(isCoordinate);
}

const SMALLEST = 1e-9;
const LARGEST = 1e9;

function requirePane(name, pane) {
  const { kernel, gamma = "scale", degree = 3, coef0 = 0 } = pane ?? {};
  requireChoice(`${name}.kernel`, kernel, ENGINE_KERNELS);
  if (gamma !== "scale") requireNumber(`${name}.gamma`, gamma, SMALLEST, LARGEST);
  requireNumber(`${name}.degree`, degree, 1, 10, true);
  requireNumber(`${name}.coef0`, coef0, -ENGINE_LIMITS.coordinate, ENGINE_LIMITS.coordinate);
}

/**
 * Refuse a state that the engine cannot answer for.
 * @param {Object} state
 */
export function requireState(state) {
  if (state === null || typeof state !== "object") throw new RefusedError("state", "be an object", state);
  const { points, labels, test, panes, C, lam, step } = state;
  const n = Array.isArray(points) ? points.length : 0;
  const most = ENGINE_LIMITS.coordinate.toLocaleString("en");
  requireList("points", points, n, isPoint, `pairs of numbers of at most ${most} in size`);
  requireList("labels", labels, n, (x) => [0, 1, 2, 3].includes(x), "classes from 0 to 3");
  requireList("test", test, n, (x) => typeof x === "boolean", "true or false");
  if (!Array.isArray(panes) || panes.length < 1 || panes.length > 2) {
    throw new RefusedError("panes", "be a list of one or two", panes);
  }
  panes.forEach((pane, p) => requirePane(`panes[${p}]`, pane));
  if ((C === null) === (lam === null)) {
    throw new RefusedError("C", "be a number where lam is null, and null otherwise", C);
  }
  requireNumber(...(C === null ? ["lam", lam] : ["C", C]), SMALLEST, LARGEST);
  requireNumber("batch_size", state.batch_size, 1, ENGINE_LIMITS.points, true);
  requireNumber("seed", state.seed, 0, 2 ** 32 - 1, true);
  requireChoice("fit_intercept", state.fit_intercept, [true, false]);
  requireChoice("projection", state.projection, [true, false]);
  requireChoice("sampling", state.sampling, SAMPLINGS);
  requireChoice("average", state.average, AVERAGES);
  requireChoice("loss", state.loss, Object.keys(LOSSES));
  if (step === null) return;
  requireChoice("step.rule", step?.rule, STEP_RULES);
  requireNumber("step.scale", step.scale ?? 1, SMALLEST, LARGEST);
}
