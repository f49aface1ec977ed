// @ts-check
/** What state the page is in, in words: a sign in the heading, a banner where something is wrong. */
import { button, el, setAttribute, setText } from "./dom.js";

const PHASES = {
  empty: "No points",
  one_class: "One class",
  running: "Running",
  tolerance: "Tolerance reached",
  working: "Working",
  other: "Another algorithm",
  refused: "Not valid",
  paused: "Paused",
};

/** The sign of the state. */
export function createStatus() {
  const text = el("span", { role: "status", "aria-live": "polite" });
  const node = el("div", { class: "kp-status" }, el("span", { class: "kp-status-dot", "aria-hidden": "true" }), text);
  return {
    node,
    update(ui) {
      setAttribute(node, "data-phase", ui.phase);
      setText(text, PHASES[ui.phase]);
    },
  };
}

/** @param {any} actions */
export function createBanner(actions) {
  const text = el("p", { role: "alert" });
  const dismiss = button({ label: "Dismiss", icon: "close", onClick: () => actions.notify(null) });
  const node = el("div", { class: "kp-banner", hidden: true }, text, dismiss);
  return {
    node,
    update({ notice }) {
      setAttribute(node, "hidden", notice === null);
      if (!notice) return;
      setAttribute(node, "data-tone", notice.tone);
      setText(text, notice.text);
    },
  };
}
