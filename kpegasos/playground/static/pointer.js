// @ts-check
/** Tools on a pane: pointer and keys add, spray, move and erase points. */
import { placeOf } from "./canvas.js";
import { circle } from "./scene.js";
import { MARK_RADIUS, markPath } from "./marks.js";
import { nearestPoint } from "./viewport.js";

/** Distances in CSS pixels. */
const GRAB_RADIUS = 14;
const ERASE_RADIUS = 12;
const REST_RADIUS = 8;
const TAP_RADIUS = 10;
const SPRAY_RADIUS = 16;
const SPRAY_STEP = 9;
const CURSOR_STEP = 10;

let strokeCount = 0;

/**
 * @param {HTMLCanvasElement} canvas that takes the events
 * @param {any} host actions of the page, with `placed()`: the view on the canvas
 */
export function attachTools(canvas, host) {
  let stroke = null;
  let hover = null;
  let cursor = null;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !host.placed()) return;
    const [place, { tool }] = [placeOf(event, canvas), host.ui()];
    // A finger that begins to scroll is not told from one that taps until it leaves.
    const isTap = tool === "add" && event.pointerType === "touch";
    stroke = { key: `stroke-${++strokeCount}`, tool, last: place, index: -1, isTap };
    hover = place;
    cursor = null;
    if (isTap) return;
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    begin(place);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    hover = placeOf(event, canvas);
    if (stroke) proceed(hover);
    host.render();
  });
  canvas.addEventListener("pointerup", (event) => {
    const place = placeOf(event, canvas);
    if (stroke?.isTap && distance(place, stroke.last) < TAP_RADIUS) addAt(place, stroke.key);
    stroke = null;
  });
  canvas.addEventListener("pointercancel", () => {
    stroke = null;
  });
  canvas.addEventListener("pointerleave", () => {
    hover = null;
    host.render();
  });
  canvas.addEventListener("keydown", onKey);
  canvas.addEventListener("blur", () => {
    cursor = null;
    host.render();
  });

  function begin(place) {
    if (stroke.tool === "add" || stroke.tool === "spray") addAt(place, stroke.key);
    else if (stroke.tool === "erase") eraseAt(place, stroke.key);
    else stroke.index = nearestAt(place, GRAB_RADIUS);
  }

  function proceed(place) {
    if (stroke.tool === "move") {
      if (stroke.index >= 0) host.movePoint(stroke.index, pointAt(place), stroke.key);
    } else if (stroke.tool === "erase") {
      eraseAt(place, stroke.key);
    } else if (stroke.tool === "spray" && distance(place, stroke.last) >= SPRAY_STEP) {
      stroke.last = place;
      addAt(inside(scattered(place)), stroke.key);
    }
  }

  function addAt(place, key) {
    host.addPoint(pointAt(place), key);
  }

  function eraseAt(place, key) {
    const index = nearestAt(place, ERASE_RADIUS);
    if (index >= 0) host.erasePoint(index, key);
  }

  function nearestAt({ left, top }, radius) {
    return nearestPoint(host.ui().state.points, host.placed(), left, top, radius);
  }

  function pointAt({ left, top }) {
    return host.placed().pointAt(left, top);
  }

  function inside({ left, top }) {
    const { width, height } = host.placed();
    return { left: Math.min(width, Math.max(0, left)), top: Math.min(height, Math.max(0, top)) };
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !host.placed()) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      const step = event.shiftKey ? 1 : CURSOR_STEP;
      const { width, height } = host.placed();
      const from = cursor ?? { left: width / 2, top: height / 2 };
      cursor = inside({ left: from.left + step * arrow[0], top: from.top + step * arrow[1] });
    } else if (event.key === "Enter" && cursor) {
      addAt(cursor, null);
    } else if ((event.key === "Delete" || event.key === "Backspace") && cursor) {
      eraseAt(cursor, null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    host.render();
  }

  return {
    /** The point under the pointer or the cursor, or -1. */
    pointed: () => (cursor || hover ? nearestAt(cursor ?? hover, REST_RADIUS) : -1),
    /** What `draw` depends on. @param {any} ui */
    key: (ui) => [hover, cursor, ui.tool, ui.label, hover || cursor ? ui.state.points : null],
    /**
     * What the tool will do where the pointer or the cursor is.
     * @param {CanvasRenderingContext2D} context
     * @param {any} ui
     */
    draw(context, ui) {
      canvas.dataset.tool = ui.tool;
      const place = cursor ?? hover;
      if (!place) return;
      context.strokeStyle = ui.palette.ink;
      context.lineWidth = 1;
      if (cursor) drawCross(context, cursor);
      if (ui.tool === "add" || ui.tool === "spray") {
        drawGhost(context, place, ui);
      } else {
        const index = nearestAt(place, ui.tool === "erase" ? ERASE_RADIUS : GRAB_RADIUS);
        if (index < 0) return;
        const [x, y] = ui.state.points[index];
        circle(context, host.placed().toX(x), host.placed().toY(y), 2.2 * MARK_RADIUS);
        context.stroke();
      }
    },
  };
}

function distance(one, other) {
  return Math.hypot(one.left - other.left, one.top - other.top);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function scattered({ left, top }) {
  const angle = 2 * Math.PI * Math.random();
  const radius = SPRAY_RADIUS * Math.sqrt(Math.random());
  return { left: left + radius * Math.cos(angle), top: top + radius * Math.sin(angle) };
}

function drawGhost(context, { left, top }, ui) {
  context.save();
  context.translate(left, top);
  context.globalAlpha = 0.55;
  context.strokeStyle = ui.palette.classes[ui.label];
  context.lineWidth = 1.6;
  context.stroke(markPath(ui.label));
  context.restore();
}

function drawCross(context, { left, top }) {
  context.beginPath();
  for (const sign of [-1, 1]) {
    context.moveTo(left + 7 * sign, top);
    context.lineTo(left + 16 * sign, top);
    context.moveTo(left, top + 7 * sign);
    context.lineTo(left, top + 16 * sign);
  }
  context.stroke();
}
