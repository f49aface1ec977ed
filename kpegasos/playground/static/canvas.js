// @ts-check
/** Canvases that are as sharp as the screen, and as large as their place on the page. */
import { el } from "./dom.js";

/**
 * A canvas inside a box that it fills.
 * @param {string} className of the canvas
 * @param {Record<string, any>} attributes
 * @param {() => void} onResize
 */
export function createCanvas(className, attributes, onResize) {
  const canvas = el("canvas", { class: className, ...attributes });
  let width = 0;
  let height = 0;
  let version = 0;
  /** @type {CanvasRenderingContext2D} */
  const context = canvas.getContext("2d");
  const observer = new ResizeObserver(() => {
    measure();
    onResize();
  });
  observer.observe(canvas);

  function measure() {
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width === wide && canvas.height === high) return;
    Object.assign(canvas, { width: wide, height: high });
    version++;
  }

  return {
    canvas,
    get width() {
      return width;
    },
    get height() {
      return height;
    },
    /** Grows whenever what was drawn is lost. */
    get version() {
      return version;
    },
    /**
     * The context, emptied, in CSS pixels; null while the canvas has no place on the page.
     * @returns {CanvasRenderingContext2D|null}
     */
    begin() {
      if (!width || !height) return null;
      context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
      context.clearRect(0, 0, width, height);
      return context;
    },
    destroy: () => observer.disconnect(),
  };
}

/**
 * Where a pointer is on an element, in CSS pixels.
 * @param {PointerEvent} event
 * @param {Element} node
 */
export function placeOf(event, node) {
  const box = node.getBoundingClientRect();
  return { left: event.clientX - box.left, top: event.clientY - box.top };
}

/**
 * Whether nothing that a drawing depends on has changed.
 * @param {any[]} one
 * @param {any[]} other
 */
export function sameItems(one, other) {
  return one.length === other.length && one.every((item, k) => item === other[k]);
}
