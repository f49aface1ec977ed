/**
 * Frames: what a page draws of a pane at a step, as the engine tells it.
 *
 * Points are told by their place in the state, and decisions of a pair are positive for its second
 * class, whatever sign the run has them in.
 */
import { RefusedError } from "./checks.js";
import { isDefinite } from "./kernels.js";
import { polishedPair } from "./polish.js";
import { classesOf, problemsOf, resolvedKernel } from "./problems.js";
import { PairRun } from "./runs.js";

/** Finite numbers as they are, others as null: JSON has none. */
function finite(number) {
  return Number.isFinite(number) ? number : null;
}

function total(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** The class with the most of four votes; of equals the first. */
function mostVotes(votes, start) {
  let most = 0;
  for (let label = 1; label < 4; label++) if (votes[start + label] > votes[start + most]) most = label;
  return most;
}

/** The model of a pane over all its steps. */
export class PaneRun {
  /**
   * @param {Object} state With two classes of training points at least.
   * @param {Object} pane
   * @param {number} drawSeed From `seedOf`.
   * @param {function(Object, number): Float64Array} gramFor Kernel values between all points.
   */
  constructor(state, pane, drawSeed, gramFor) {
    const places = state.points.map((_, i) => i);
    this.train = places.filter((i) => !state.test[i]);
    this.test = places.filter((i) => state.test[i]);
    this.state = state;
    this.kernel = resolvedKernel(pane, this.train.map((i) => state.points[i]));
    this.offset = state.fit_intercept ? 1 : 0;
    this.gram = gramFor(this.kernel, this.offset);
    this.pairs = problemsOf(state, this.kernel, this.gram);
    /** Which example of each pair a point is; -1 if none. */
    this.examples = this.pairs.map(({ members }) => {
      const examples = new Int32Array(places.length).fill(-1);
      members.forEach((i, j) => (examples[i] = j));
      return examples;
    });
    const { sampling } = state;
    this.runs = this.pairs.map(
      ({ number, problem }, _, { length }) =>
        new PairRun(problem, { sampling, seed: drawSeed, pair: length > 1 ? number : null }),
    );
    this.hasCounts = state.loss === "hinge" && !state.projection && state.step === null;
    /** Test error at each checkpoint so far. */
    this.testErrors = new Map();
  }

  /** A pane of a frame. @param {number} t */
  frame(t) {
    const pane = t === 0 ? this.first() : this.later(t);
    return { ...pane, history: this.history(t, pane) };
  }

  /** Before the first step. */
  first() {
    for (const run of this.runs) run.goTo(0);
    const loss = total(this.pairs.map(({ problem }) => problem.loss.value(0, 1)));
    return {
      ...this.model(this.pairs.map(({ problem }) => new Float64Array(problem.n))),
      counts: this.counts(),
      objective: loss,
      averaged: this.state.average === null ? null : loss,
      bound: null,
      gap: null,
      certificate: this.certificate(),
      support: 0,
      train_error: null,
      test_error: null,
    };
  }

  later(t) {
    const found = this.runs.map((run) => run.at(t));
    return this.told(found, this.counts(), this.state.average !== null);
  }

  /**
   * The pane by dual ascent.
   * @param {number} tolerance Relative gap at which it stops.
   * @param {string} parameter What the kernel is called in the state.
   */
  polished(tolerance, parameter) {
    if (!isDefinite(this.kernel)) {
      throw new RefusedError(parameter, "be positive semi-definite to polish", this.kernel.kernel);
    }
    return this.told(this.pairs.map(({ problem }) => polishedPair(problem, tolerance)), null, false);
  }

  /** What is known of each pair, as a pane. */
  told(found, counts, hasAverage) {
    const objective = total(found.map(({ returned }) => returned.objective));
    const gap = total(found.map((pair) => pair.gap));
    const iterates = found.map(({ returned }) => returned);
    const pane = this.model(iterates.map(({ coef }) => coef));
    return {
      ...pane,
      counts,
      objective: finite(total(found.map(({ last }) => last.objective))),
      averaged: hasAverage ? finite(objective) : null,
      bound: finite(total(found.map(({ bound }) => bound))),
      gap: objective > 0 ? finite(gap / objective) : null,
      certificate: this.certificate(),
      support: new Set(pane.pairs.flatMap(({ support }) => support)).size,
      train_error: this.errorOn(this.train, iterates),
      test_error: this.errorOn(this.test, iterates),
    };
  }

  certificate() {
    if (isDefinite(this.kernel)) return null;
    const { kernel } = this.kernel;
    return `the ${kernel} kernel is not positive semi-definite, so no duality gap is certified`;
  }

  /** Coefficients and intercept of each pair. */
  model(coefs) {
    const pairs = this.pairs.map(({ classes, members, isFlipped, problem }, p) => {
      const sign = isFlipped ? -1 : 1;
      const pair = { classes, support: [], dual_coef: [], intercept: 0 };
      coefs[p].forEach((c, j) => {
        if (c === 0) return;
        const signed = sign * c * problem.labels[j];
        pair.support.push(members[j]);
        pair.dual_coef.push(signed);
        pair.intercept += this.offset * signed;
      });
      return pair;
    });
    return { classes: classesOf(this.state).classes, pairs, gamma: this.kernel.gamma };
  }

  /** Steps that each point moved, in the pair with the most; null for points held out. */
  counts() {
    if (!this.hasCounts) return null;
    const counts = this.state.points.map((_, i) => (this.state.test[i] ? null : 0));
    this.pairs.forEach(({ members }, p) => {
      const { alpha } = this.runs[p].state;
      members.forEach((i, j) => (counts[i] = Math.max(counts[i], alpha[j])));
    });
    return counts;
  }

  /**
   * Share of some points that the model gets wrong, by the vote of all pairs; null without points.
   * @param {number[]} places
   * @param {Object[]} iterates One per pair: `coef` and the `decisions` of its own examples.
   */
  errorOn(places, iterates) {
    if (places.length === 0) return null;
    const votes = new Int8Array(4 * places.length);
    this.pairs.forEach(({ classes: [first, second], isFlipped }, p) => {
      const decisions = this.decisions(p, places, iterates[p]);
      for (let k = 0; k < places.length; k++) {
        votes[4 * k + (decisions[k] > 0 !== isFlipped ? second : first)] += 1;
      }
    });
    const wrong = places.filter((i, k) => mostVotes(votes, 4 * k) !== this.state.labels[i]);
    return wrong.length / places.length;
  }

  /** Decisions of a pair on some points; those of its own examples are known. */
  decisions(p, places, { coef, decisions }) {
    const { members, problem } = this.pairs[p];
    const own = this.examples[p];
    const support = members.map((_, j) => j).filter((j) => coef[j] !== 0);
    const found = new Float64Array(places.length);
    for (let k = 0; k < places.length; k++) {
      const example = own[places[k]];
      if (example >= 0) {
        found[k] = decisions[example];
        continue;
      }
      const row = places[k] * this.state.points.length;
      for (const j of support) found[k] += coef[j] * problem.labels[j] * this.gram[row + members[j]];
    }
    return found;
  }

  /** Sums over the pairs at the checkpoints up to a step; null where there is no such number. */
  history(t, pane) {
    if (t === 0) return { t: [], objective: [], averaged: [], bound: [], test_error: [] };
    const rows = this.runs.map((run) => run.recordsBefore(t));
    const sums = (name) => rows[0].map((_, k) => finite(total(rows.map((row) => row[k][name]))));
    const nothing = rows[0].map(() => null);
    return {
      t: [...rows[0].map((record) => record.t), t],
      objective: [...sums("objective"), pane.objective],
      averaged: [...(this.state.average === null ? nothing : sums("averaged")), pane.averaged],
      bound: [...sums("bound"), pane.bound],
      test_error: [...(this.test.length ? this.testErrorsAt(rows) : nothing), pane.test_error],
    };
  }

  testErrorsAt(rows) {
    return rows[0].map(({ t }, k) => {
      if (!this.testErrors.has(t)) {
        this.testErrors.set(t, this.errorOn(this.test, rows.map((row) => row[k].returned)));
      }
      return this.testErrors.get(t);
    });
  }

  /** Points that a step drew, in the first pair. @param {number} t @returns {number[]} */
  drawn(t) {
    const [{ members }] = this.pairs;
    return t === 0 ? [] : this.runs[0].drawnAt(t).map((i) => members[i]);
  }

  /**
   * What a step does in the first pair, and why.
   * @param {number} t At least 1.
   * @returns {Object}
   */
  explain(t) {
    const [{ classes, members, isFlipped, problem }] = this.pairs;
    const sign = isFlipped ? -1 : 1;
    return {
      pair: classes,
      t,
      step_size: this.runs[0].stepSize(t),
      lam: problem.lam,
      examples: this.runs[0].explain(t).map(({ i, label, decision, pull }) => ({
        i: members[i],
        label: sign * label,
        decision: finite(sign * decision),
        margin: finite(label * decision),
        pull: finite(pull),
      })),
    };
  }
}
