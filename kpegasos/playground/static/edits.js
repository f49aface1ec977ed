// @ts-check
/** Edits of a state: each takes one and returns another. Nothing here knows of the page. */

/**
 * @param {any} state
 * @param {number[][]} points
 * @param {number} label
 * @param {boolean} test whether they are held out
 */
export function withPoints(state, points, label, test) {
  return {
    ...state,
    points: [...state.points, ...points],
    labels: [...state.labels, ...points.map(() => label)],
    test: [...state.test, ...points.map(() => test)],
  };
}

/**
 * @param {any} state
 * @param {Set<number>} gone indices
 */
export function withoutPoints(state, gone) {
  const stays = (_, i) => !gone.has(i);
  return {
    ...state,
    points: state.points.filter(stays),
    labels: state.labels.filter(stays),
    test: state.test.filter(stays),
  };
}

/**
 * @param {any} state
 * @param {number} index
 * @param {number[]} point
 */
export function withMovedPoint(state, index, point) {
  return { ...state, points: state.points.map((old, i) => (i === index ? point : old)) };
}

/**
 * All points replaced, the settings kept.
 * @param {any} state
 * @param {{points: number[][], labels: number[], test: boolean[]}} data
 */
export function withData(state, { points, labels, test }) {
  return { ...state, points, labels, test };
}

/**
 * All points with coordinates of mean 0 and variance 1.
 * @param {any} state
 */
export function withStandardPoints(state) {
  const columns = [0, 1].map((axis) => deviationOf(state.points.map((point) => point[axis])));
  const scaled = (point) => point.map((x, axis) => (x - columns[axis].mean) / (columns[axis].deviation || 1));
  return { ...state, points: state.points.map(scaled) };
}

/** Whether kernels of width 1 see next to nothing of the points, or all as one. @param {number[][]} points */
export function areFarFromStandard(points) {
  const deviations = [0, 1].map((axis) => deviationOf(points.map((point) => point[axis])).deviation);
  return Math.max(...deviations) > 10 || Math.max(...deviations) > 10 * Math.min(...deviations);
}

function deviationOf(values) {
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  return { mean, deviation: Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length) };
}

/**
 * A setting of the model; `C` and `lam` stand for each other, and the one that is set counts.
 * @param {any} state
 * @param {string} key
 * @param {any} value
 */
export function withSetting(state, key, value) {
  if (key === "C") return { ...state, C: value, lam: null };
  if (key === "lam") return { ...state, C: null, lam: value };
  return { ...state, [key]: value };
}

/**
 * A parameter of one pane's kernel.
 * @param {any} state
 * @param {number} number of the pane
 * @param {string} key
 * @param {any} value
 */
export function withKernel(state, number, key, value) {
  const panes = state.panes.map((pane, k) => (k === number ? { ...pane, [key]: value } : pane));
  return { ...state, panes };
}

/** @param {any} state; its number of points to train on */
export function trainSize(state) {
  return state.test.reduce((count, held) => count + (held ? 0 : 1), 0);
}

/**
 * Points to train on of the first pair of classes, which is what an epoch goes through.
 * @param {any} state
 */
export function epochSize(state) {
  const pair = trainClasses(state).slice(0, 2);
  return state.labels.filter((label, i) => !state.test[i] && pair.includes(label)).length;
}

/** @param {any} state; the classes that have points to train on, sorted */
export function trainClasses(state) {
  const found = new Set(state.labels.filter((_, i) => !state.test[i]));
  return [...found].sort();
}

/**
 * C and λ, of which the state has one. Null where the other depends on the pair of classes.
 * @param {any} state
 * @returns {{C: number|null, lam: number|null}}
 */
export function regularisation(state) {
  const n = trainSize(state);
  const other = (value) => (n > 0 && trainClasses(state).length === 2 ? 1 / (value * n) : null);
  if (state.lam !== null) return { C: other(state.lam), lam: state.lam };
  return { C: state.C, lam: other(state.C) };
}
