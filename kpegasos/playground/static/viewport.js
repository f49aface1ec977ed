// @ts-check
/** The part of the plane that is shown, and its place on a canvas. */

/** @typedef {{x0: number, x1: number, y0: number, y1: number}} View */

/** @type {View} */
export const DEFAULT_VIEW = Object.freeze({ x0: -2, x1: 2, y0: -2, y1: 2 });

/** Free space on each side of the points, as a share of their extent. */
const VIEW_PADDING = 0.08;

/**
 * The view that shows all points.
 * @param {number[][]} points
 * @returns {View}
 */
export function viewOf(points) {
  if (!points.length) return DEFAULT_VIEW;
  const [x0, x1] = paddedRange(points, 0);
  const [y0, y1] = paddedRange(points, 1);
  return { x0, x1, y0, y1 };
}

function paddedRange(points, axis) {
  let low = Infinity;
  let high = -Infinity;
  for (const point of points) {
    low = Math.min(low, point[axis]);
    high = Math.max(high, point[axis]);
  }
  // A single value still needs room around it.
  const extent = high - low || Math.abs(high) || 1;
  return [low - VIEW_PADDING * extent, high + VIEW_PADDING * extent];
}

/**
 * A view on a canvas, with the same scale along both axes, centred.
 * @param {View} view
 * @param {number} width in CSS pixels
 * @param {number} height
 */
export function placeView(view, width, height) {
  const unit = Math.max((view.x1 - view.x0) / width, (view.y1 - view.y0) / height);
  const x0 = (view.x0 + view.x1 - unit * width) / 2;
  const y0 = (view.y0 + view.y1 - unit * height) / 2;
  return {
    width,
    height,
    unit,
    x0,
    x1: x0 + unit * width,
    y0,
    y1: y0 + unit * height,
    /** @param {number} x */
    toX: (x) => (x - x0) / unit,
    /** @param {number} y */
    toY: (y) => height - (y - y0) / unit,
    /** A place on the canvas as a point, to a tenth of a pixel. */
    pointAt: (left, top) => [roundTo(x0 + unit * left, unit), roundTo(y0 + unit * (height - top), unit)],
  };
}

/** @typedef {ReturnType<typeof placeView>} Placed */

function roundTo(value, unit) {
  const decimals = Math.max(0, Math.min(12, Math.ceil(1 - Math.log10(unit))));
  return Number(value.toFixed(decimals));
}

/**
 * Nodes for a field over a placed view, `longest` along the longer side, the first row at the top.
 * @param {Placed} placed
 * @param {number} [longest]
 */
export function gridOf(placed, longest = 96) {
  const side = Math.max(placed.width, placed.height);
  return {
    x0: placed.x0,
    x1: placed.x1,
    nx: Math.max(2, Math.round((longest * placed.width) / side)),
    y0: placed.y1,
    y1: placed.y0,
    ny: Math.max(2, Math.round((longest * placed.height) / side)),
  };
}

/**
 * The point nearest to a place on the canvas, or -1.
 * @param {number[][]} points
 * @param {Placed} placed
 * @param {number} left
 * @param {number} top
 * @param {number} radius in CSS pixels
 */
export function nearestPoint(points, placed, left, top, radius) {
  let best = -1;
  let bestDistance = radius * radius;
  points.forEach(([x, y], i) => {
    const distance = (placed.toX(x) - left) ** 2 + (placed.toY(y) - top) ** 2;
    if (distance <= bestDistance) {
      best = i;
      bestDistance = distance;
    }
  });
  return best;
}
