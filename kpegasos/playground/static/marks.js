// @ts-check
/** The shapes of the classes, the second cue beside their colours: one outline for canvas and page. */
import { drawing } from "./dom.js";

/** Outlines of classes A to D around the origin, of about the same area: circle, square, triangle, diamond. */
const MARK_OUTLINES = [
  "M4 0A4 4 0 1 1 -4 0A4 4 0 1 1 4 0Z",
  "M-3.6 -3.6H3.6V3.6H-3.6Z",
  "M0 -4.9L4.6 3.4H-4.6Z",
  "M0 -5.2L4.8 0L0 5.2L-4.8 0Z",
];

/** @type {Path2D[]} */
const MARK_PATHS = [];

/** Radius of a mark in CSS pixels. */
export const MARK_RADIUS = 4;

/**
 * The outline of a class's mark for a canvas.
 * @param {number} label
 */
export function markPath(label) {
  if (!MARK_PATHS.length) MARK_PATHS.push(...MARK_OUTLINES.map((outline) => new Path2D(outline)));
  return MARK_PATHS[label];
}

/**
 * The mark of a class for the page.
 * @param {number} label
 */
export function markIcon(label) {
  return drawing("-6 -6 12 12", MARK_OUTLINES[label], `kp-mark kp-mark-${label}`);
}
