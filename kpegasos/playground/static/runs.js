/**
 * A run of one pair of classes that can be asked for any step, in any order, with the same answer.
 *
 * States are kept on the way, so that going back costs no more than the steps between two of them.
 * What the dual bound is at step t follows from t and the checkpoints before it alone: ten a decade.
 */
import { RefusedError } from "./checks.js";
import { IndexStream } from "./draws.js";
import { measure, settled } from "./measure.js";
import { PegasosState, stepSize, takeSteps, toDecision } from "./pegasos.js";

/** States that are kept; when there are more, every other one is given up. */
const MOST_KEPT = 128;
const FIRST_SPACING = 512;
/** Longest that a page waits for the steps of one pair. */
const MOST_MILLISECONDS = 2000;
/** Rounding that is not worth a kernel value, relative to the objective, and to the gap. */
const NEGLIGIBLE = 1e-6;
const MOST_SHARE = 0.25;
/** Kernel values that cost little. */
const FEW_VALUES = 4096;

/**
 * Steps at which a run is recorded on its way: ten a decade.
 * @param {number} last
 * @returns {number[]} Those up to the last.
 */
function checkpointsUpTo(last) {
  const steps = [];
  for (let k = 0; ; k++) {
    const step = Math.round(10 ** (k / 10));
    if (step > last) return steps;
    if (step !== steps[steps.length - 1]) steps.push(step);
  }
}

/** Pegasos on one pair of classes. */
export class PairRun {
  /**
   * @param {Object} problem
   * @param {Object} draws `{sampling, seed, pair}` of the index stream.
   */
  constructor(problem, { sampling, seed, pair }) {
    this.problem = problem;
    this.stream = new IndexStream(problem.n, sampling, seed, pair);
    this.state = new PegasosState(problem.n);
    this.kept = [this.state.copy()];
    this.spacing = FIRST_SPACING;
    /** What was found at each checkpoint so far, in order. */
    this.records = [];
  }

  /**
   * What the run is after some steps.
   * @param {number} t At least 1.
   * @returns {{last: Object, returned: Object, bound: number, gap: number}} Both iterates as
   *   `measure` says, the proven dual bound, and the certified gap of the one that is returned.
   */
  at(t) {
    this.goTo(t);
    const earlier = this.records.filter((record) => record.t < t).at(-1);
    const found = this.certified(earlier);
    if (!this.isWorthSettling(found)) return found;
    const returned = settled(this.problem, found.returned);
    const bound = Math.max(found.bound, returned.proven);
    return { ...found, returned, bound, gap: Math.abs(returned.upper - bound) };
  }

  /** Whether rounding is too large a part of a gap, or can be reduced at little cost. */
  isWorthSettling({ returned: { coef, objective }, best, gap }) {
    const computed = Math.max(0, objective - best);
    const rounding = gap - computed;
    const least = NEGLIGIBLE * objective;
    if (rounding > Math.max(MOST_SHARE * computed, least)) return true;
    const support = coef.reduce((count, c) => count + Number(c !== 0), 0);
    return rounding > least && support ** 2 <= Math.max(FEW_VALUES, 0.1 * coef.length ** 2);
  }

  /**
   * What was found at the checkpoints before some step.
   * @param {number} t
   * @returns {Object[]} `{t, objective, averaged, bound, returned}`.
   */
  recordsBefore(t) {
    this.goTo(t);
    return this.records.filter((record) => record.t < t);
  }

  /**
   * Decisions of the examples that are drawn at a step, before it.
   * @param {number} t At least 1.
   * @returns {{i: number, label: number, decision: number, pull: number}[]}
   */
  explain(t) {
    this.goTo(t - 1);
    const { problem, state } = this;
    return this.drawnAt(t).map((i) => {
      const decision = state.image[i] * toDecision(problem, state);
      const label = problem.labels[i];
      return { i, label, decision, pull: problem.loss.pull(decision, label) };
    });
  }

  /** Examples that are drawn at a step. @param {number} t @returns {number[]} */
  drawnAt(t) {
    const k = this.problem.batchSize;
    return Array.from({ length: k }, (_, b) => this.stream.at((t - 1) * k + b));
  }

  /** Size of a step. @param {number} t @returns {number} */
  stepSize(t) {
    return stepSize(this.problem, t);
  }

  /** Make the state that after some steps. @param {number} t */
  goTo(t) {
    const until = performance.now() + MOST_MILLISECONDS;
    if (t < this.state.steps) {
      this.state = this.kept.findLast((state) => state.steps <= t).copy();
    }
    while (this.state.steps < t) {
      const { steps } = this.state;
      const nextKept = (Math.floor(steps / this.spacing) + 1) * this.spacing;
      const ahead = checkpointsUpTo(2 * steps + 2).find((step) => step > steps);
      takeSteps(this.problem, this.state, this.stream, Math.min(t, nextKept, ahead));
      if (this.state.steps === ahead) this.record();
      if (this.state.steps === nextKept) this.keep();
      if (this.state.steps < t && performance.now() > until) this.refuse(t);
    }
  }

  /** What was done is kept: the next request goes on from here. */
  refuse(t) {
    const reached = this.state.steps.toLocaleString("en");
    throw new RefusedError("t", `be less, or asked for again, as time was up at step ${reached}`, t);
  }

  keep() {
    const { kept } = this;
    if (this.state.steps <= kept[kept.length - 1].steps) return;
    kept.push(this.state.copy());
    if (kept.length > MOST_KEPT) {
      this.spacing *= 2;
      this.kept = kept.filter((state) => state.steps % this.spacing === 0);
    }
  }

  record() {
    const before = this.records.at(-1);
    if (before && before.t >= this.state.steps) return;
    const { last, returned, bound, best } = this.certified(before);
    this.records.push({
      t: this.state.steps,
      objective: last.objective,
      averaged: returned.objective,
      returned,
      bound,
      best,
    });
  }

  /** Both iterates of the state as it stands, and the largest dual values so far. */
  certified(earlier) {
    const { problem, state } = this;
    const last = measure(problem, state, null);
    const returned = problem.average === null ? last : measure(problem, state, problem.average);
    const best = Math.max(earlier?.best ?? 0, last.dual, returned.dual);
    const bound = Math.max(earlier?.bound ?? 0, last.proven, returned.proven);
    // Values that contradict each other are wrong by as much at least.
    const gap = Math.max(Math.abs(returned.upper - bound), best - returned.objective);
    return { last, returned, bound, best, gap };
  }
}
