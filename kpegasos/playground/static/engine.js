/**
 * The engine of the static page: answers the messages of `kpegasos.playground.messages` as the
 * Python session does, for readers without Python.
 *
 * It trains by the algorithm of kpegasos, draw by draw; the Python session itself holds it to that.
 * Sums are rounded in another order, which the hinge does not see: its steps are counts. Steps of
 * the other losses may carry such a difference on, and make it grow over thousands of steps. Kernel
 * values are float64 throughout, where the estimator turns to float32 beyond 1,000 points. The
 * engine has no other algorithms and saves no pictures.
 */
import { ENGINE_LIMITS, RefusedError, SAMPLINGS, requireChoice, requireNumber, requireState } from "./checks.js";
import { PaneRun } from "./frames.js";
import { ENGINE_KERNELS, gramOf } from "./kernels.js";
import { LOSSES } from "./losses.js";
import { seedOf } from "./mersenne.js";
import { STEP_RULES } from "./pegasos.js";
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

/** One page's engine. */
class Engine {
  constructor() {
    this.state = null;
    this.revision = -1;
    this.refusal = new RefusedError("state", "be sent before it is shown", null);
    this.runs = new Latest(KEPT_RUNS);
    this.grams = new Latest(KEPT_GRAMS);
    this.answers = {
      hello: () => this.hello,
      state: (request) => this.takeState(request),
      show: (request) => this.show(request),
    };
  }

  /** What the engine can do: the first message to a page. @returns {Object} */
  get hello() {
    return {
      kind: "hello",
      engine: "javascript",
      classes_limit: ENGINE_LIMITS.classes,
      points_limit: ENGINE_LIMITS.points,
      steps_limit: ENGINE_LIMITS.steps,
      losses: Object.keys(LOSSES),
      steps: STEP_RULES,
      samplings: SAMPLINGS,
      kernels: ENGINE_KERNELS,
      exports: [],
      algorithms: [],
      state: null,
    };
  }

  /**
   * Answer a message.
   * @param {Object} message
   * @returns {Object[]} None or one answer; whatever is wrong is told in one of kind "error".
   */
  handle(message) {
    try {
      requireChoice("kind", message?.kind, Object.keys(this.answers));
      const answer = this.answers[message.kind](message);
      return answer === null ? [] : [answer];
    } catch (error) {
      const { parameter, sentence } = told(error);
      return [{ kind: "error", id: message?.id ?? null, parameter, message: sentence }];
    }
  }

  takeState({ revision, state }) {
    this.revision = revision;
    this.state = null;
    try {
      requireState(state);
    } catch (error) {
      this.refusal = error;
      throw error;
    }
    this.state = state;
    return null;
  }

  /** The state that a request is about. */
  current({ revision }) {
    if (revision !== this.revision) {
      throw new RefusedError("revision", `be that of the last state, ${this.revision}`, revision);
    }
    if (this.state === null) throw this.refusal;
    return this.state;
  }

  show(request) {
    const { id, revision, t, explain = false, history = false } = request;
    const state = this.current(request);
    requireNumber("t", t, 0, ENGINE_LIMITS.steps, true);
    const status = statusOf(state);
    const frame = { kind: "frame", id, revision, t, epoch: null, status, algorithm: "pegasos" };
    Object.assign(frame, { drawn: [], panes: [], explain: null });
    if (status === "ok") {
      const runs = this.paneRuns(state);
      if (explain && t > 0) frame.explain = runs.map((run) => run.explain(t));
      frame.panes = runs.map((run) => run.frame(t, history));
      frame.drawn = runs[0].drawn(t);
      frame.epoch = (t * state.batch_size) / runs[0].pairs[0].members.length;
    }
    return frame;
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

/** An error as a page is told it: whatever a message leads to, the page goes on. */
function told(error) {
  if (error instanceof RefusedError) return { parameter: error.parameter, sentence: error.message };
  return { parameter: "message", sentence: `message led to ${error.name}: ${error.message}` };
}

function statusOf(state) {
  const { length } = classesOf(state).classes;
  return length > 1 ? "ok" : length === 1 ? "one_class" : "empty";
}

/**
 * An engine that runs in the page.
 * @returns {{hello: Object, handle: function(Object): Object[]}}
 */
export function createEngine() {
  return new Engine();
}
