// @ts-check
/** Asks the engine in a task of its own, so that the page stays alive; the newest wish wins. */
import { refusalOf } from "./checks.js";

/** @typedef {{state: any, revision: number, t: number, explain: boolean, history: boolean}} Wish */

/**
 * @param {any} engine
 * @param {{onFrame: (frame: any) => void, onError: (refusal: any, revision: number) => void}} listener
 */
export function createClient(engine, listener) {
  /** @type {Wish|null} */
  let wish = null;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const asked = wish;
    wish = null;
    try {
      listener.onFrame(engine.show(asked));
    } catch (error) {
      listener.onError(refusalOf(error), asked.revision);
    }
  };
  return {
    /** Ask for a picture; it replaces a wish that still waits. @param {Wish} next */
    show(next) {
      if (wish === null) channel.port2.postMessage(null);
      wish = next;
    },
    /** Whether no wish waits. */
    get free() {
      return wish === null;
    },
    close: () => channel.port1.close(),
  };
}
