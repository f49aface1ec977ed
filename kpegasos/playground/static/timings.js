// @ts-check
/** How long things took, for those who measure: read it as `window.kpegasosTimings`. */

/** Measurements that are kept. */
const KEPT_TIMINGS = 2000;

/** Milliseconds from each edit to its picture, and the moments at which pictures were drawn. */
export function createTimings() {
  const timings = {
    ready: /** @type {number|null} */ (null),
    edits: /** @type {number[]} */ ([]),
    frames: /** @type {number[]} */ ([]),
  };
  /** @type {{revision: number, since: number}[]} */
  let waiting = [];
  let last = null;
  return {
    timings,
    /** @param {number} revision @param {number} since time stamp of the event */
    edited(revision, since) {
      waiting.push({ revision, since });
    },
    /** A frame is on the page; it counts once. @param {{revision: number}} frame */
    drawn(frame) {
      if (frame === last) return;
      last = frame;
      const { revision } = frame;
      const now = performance.now();
      timings.ready ??= now;
      keep(timings.frames, now);
      for (const { since } of waiting.filter((edit) => edit.revision <= revision)) keep(timings.edits, now - since);
      waiting = waiting.filter((edit) => edit.revision > revision);
    },
  };
}

function keep(list, value) {
  list.push(value);
  if (list.length > KEPT_TIMINGS) list.shift();
}
