// @ts-check
/** What is known of a run's course: the last history that an engine sent, and the frames since. */

/**
 * @typedef {{revision: number, t: number, complete: boolean, panes: {t: number[], objective: (number|null)[],
 *            averaged: (number|null)[], bound: (number|null)[], test_error: (number|null)[]}[]}} Curves
 */

const CURVE_KEYS = ["objective", "averaged", "bound", "test_error"];

/**
 * Curves with what a frame adds. A history that reaches as far replaces what was there.
 * @param {Curves|null} curves
 * @param {any} frame
 * @returns {Curves|null}
 */
export function withFrame(curves, frame) {
  if (frame.algorithm !== "pegasos") return curves;
  if (!frame.panes.length) return null;
  const same = curves !== null && curves.revision === frame.revision;
  const histories = frame.panes.map((pane) => pane.history);
  if (histories.every(Boolean)) {
    if (same && curves.complete && curves.t > frame.t) return curves;
    return { revision: frame.revision, t: frame.t, complete: true, panes: histories.map(filled) };
  }
  if (!same || frame.t <= curves.t) return curves;
  const panes = curves.panes.map((course, k) => extended(course, frame.panes[k], frame.t));
  return { revision: frame.revision, t: frame.t, complete: false, panes };
}

/** A history with nulls where it has no such column. */
function filled(history) {
  const columns = CURVE_KEYS.map((key) => [key, history[key] ?? history.t.map(() => null)]);
  return { t: history.t, ...Object.fromEntries(columns) };
}

function extended(course, pane, t) {
  const longer = { ...course, t: [...course.t, t] };
  for (const key of CURVE_KEYS) longer[key] = [...course[key], pane[key]];
  return longer;
}

/**
 * Whether a frame at t should bring the history: where none is known that reaches as far.
 * @param {Curves|null} curves
 * @param {number} revision
 * @param {number} t
 */
export function lacksHistory(curves, revision, t) {
  return curves === null || curves.revision !== revision || !curves.complete || curves.t < t;
}
