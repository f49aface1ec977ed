/**
 * The engine: what a page draws of a state at a step.
 *
 * It trains by the algorithm of kpegasos, draw by draw, and is held to `PegasosSVC(n_steps=t)` by the
 * tests. Sums are rounded in another order, which the hinge does not see: its steps are counts. Steps of
 * the other losses may carry such a difference on, and make it grow over thousands of steps. Kernel
 * values are float64 throughout, where the estimator turns to float32 beyond 1,000 points.
 */
import { ENGINE_LIMITS, requireNumber, requireState } from "./checks.js";
import { PaneRun } from "./frames.js";
import { gramOf } from "./kernels.js";
import { seedOf } from "./mersenne.js";
import { classesOf } from "./problems.js";

/** Runs that are kept: those of the last edits, for undo and for switches that are tried out. */
const KEPT_RUNS = 4;
/** Kernels whose matrices are kept, for edits that leave most of their values. */
const KEPT_GRAMS = 2;

/** What was made last, by its key. */
class Latest {
  constructor(most) {
    this.most = most;
    this.kept = new Map();
  }

  /** What has a key; made if it is not kept. */
  get(key, make) {
    const found = this.kept.get(key) ?? make();
    this.kept.delete(key); // the latest are last
    this.kept.set(key, found);
    for (const old of [...this.kept.keys()].slice(0, -this.most)) this.kept.delete(old);
    return found;
  }
}

/** One page's engine. It keeps nothing that it could not compute again. */
class Engine {
  constructor() {
    this.accepted = null;
    this.runs = new Latest(KEPT_RUNS);
    this.grams = new Latest(KEPT_GRAMS);
  }

  /**
   * The frame of a step.
   * @param {{state: Object, revision: number, t: number, explain?: boolean}} wish
   * @throws {RefusedError} If the state or the step will not do.
   */
  show({ state, revision, t, explain = false }) {
    this.accept(state);
    requireNumber("t", t, 0, ENGINE_LIMITS.steps, true);
    const frame = frameOf(state, revision, "pegasos");
    if (frame.status !== "ok") return { ...frame, t };
    const runs = this.paneRuns(state);
    return {
      ...frame,
      t,
      explain: explain && t > 0 ? runs.map((run) => run.explain(t)) : null,
      panes: runs.map((run) => run.frame(t)),
      drawn: runs[0].drawn(t),
      epoch: (t * state.batch_size) / runs[0].pairs[0].members.length,
    };
  }

  /**
   * The frame of the models that dual ascent makes.
   * @param {{state: Object, revision: number}} wish
   * @param {number} tolerance
   */
  polish({ state, revision }, tolerance) {
    this.accept(state);
    const frame = frameOf(state, revision, "polish");
    if (frame.status !== "ok") return frame;
    const panes = this.paneRuns(state).map((run, p) => run.polished(tolerance, `panes[${p}].kernel`));
    return { ...frame, panes };
  }

  accept(state) {
    if (state !== this.accepted) requireState(state);
    this.accepted = state;
  }

  /** The run of each pane, those of before where nothing has changed. */
  paneRuns(state) {
    const { panes, ...shared } = state;
    const ofShared = JSON.stringify(shared);
    const gramFor = (kernel, offset) => this.gramFor(kernel, offset, state.points);
    return panes.map((pane) =>
      this.runs.get(
        `${JSON.stringify(pane)} ${ofShared}`,
        () => new PaneRun(state, pane, seedOf(state.seed), gramFor),
      ),
    );
  }

  /** Kernel values, as far as can be those of the state before. */
  gramFor(kernel, offset, points) {
    const kept = this.grams.get(JSON.stringify([kernel, offset]), () => ({}));
    kept.gram = gramOf(kernel, points, offset, kept.points && kept);
    kept.points = points;
    return kept.gram;
  }
}

/** A frame without panes, and the state that it is of. */
function frameOf(state, revision, algorithm) {
  const { length } = classesOf(state).classes;
  const status = length > 1 ? "ok" : length === 1 ? "one_class" : "empty";
  return { revision, state, algorithm, status, t: null, epoch: null, drawn: [], panes: [], explain: null };
}

/** @returns {Engine} */
export function createEngine() {
  return new Engine();
}
