// @ts-check
/**
 * The state of a playground, and its edits with undo.
 *
 * A document is the state that engines understand together with the part of the plane that is shown.
 * Documents are never changed in place: an edit makes a new one that shares what stayed.
 */
import { DEFAULT_VIEW } from "./viewport.js";

/** How many edits can be undone. */
const UNDO_LIMIT = 200;

/** A state without points, with the settings a reader meets first. */
const DEFAULT_STATE = Object.freeze({
  points: [],
  labels: [],
  test: [],
  panes: [
    { kernel: "linear", gamma: 1.0, degree: 3, coef0: 0.0 },
    { kernel: "rbf", gamma: 1.0, degree: 3, coef0: 0.0 },
  ],
  C: 10.0,
  lam: null,
  fit_intercept: true,
  batch_size: 1,
  sampling: "permutation",
  projection: false,
  average: "weighted",
  loss: "hinge",
  step: null,
  seed: 0,
});

/**
 * @typedef {{state: any, view: import("./viewport.js").View, names?: string[]|null}} Document the names are those
 *   that a table has for its classes
 */

/** @returns {Document} */
export function emptyDocument() {
  return { state: DEFAULT_STATE, view: DEFAULT_VIEW };
}

/**
 * A state with everything that a given one leaves out.
 * @param {any} partial
 * @returns {any}
 */
export function completeState(partial) {
  const state = { ...DEFAULT_STATE, ...partial };
  state.panes = state.panes.map((pane, k) => ({
    ...DEFAULT_STATE.panes[Math.min(k, 1)],
    ...pane,
  }));
  state.test = state.points.map((_, i) => Boolean(state.test[i]));
  return state;
}

/**
 * Documents in the order of their making.
 * @param {Document} first
 */
export function createHistory(first) {
  let past = [];
  let future = [];
  let present = first;
  let lastKey = null;
  return {
    get document() {
      return present;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
    /**
     * Take an edit. Edits in a row with the same key (a stroke, a slider) are undone together.
     * @param {Document} next
     * @param {string|null} [key]
     */
    edit(next, key = null) {
      if (key === null || key !== lastKey) past = [...past.slice(1 - UNDO_LIMIT), present];
      lastKey = key;
      future = [];
      present = next;
    },
    undo() {
      if (!past.length) return;
      future = [present, ...future];
      present = past[past.length - 1];
      past = past.slice(0, -1);
      lastKey = null;
    },
    redo() {
      if (!future.length) return;
      past = [...past, present];
      [present, ...future] = future;
      lastKey = null;
    },
    /** Begin again: what was before cannot be undone into. */
    reset(next) {
      past = [];
      future = [];
      present = next;
      lastKey = null;
    },
  };
}
