// @ts-check
/** Numbers of a pane's model. */
import { el, setAttribute, setText } from "./dom.js";
import { formatNumber, formatPercent, formatWhole } from "./format.js";
import { trainSize } from "./edits.js";

/**
 * @param {number} number of the pane
 */
export function createTiles(number) {
  const tiles = {
    objective: createTile("Objective", "Of the model shown; below, that of the last iterate"),
    gap: createTile("Certified gap", "How far the objective is from the optimum at the most, relative to it"),
    support: createTile("Support", "Points that have a part in the model"),
    train: createTile("Train error"),
    test: createTile("Test error"),
  };
  const node = el("div", { class: "kp-tiles" }, ...Object.values(tiles).map((tile) => tile.node));
  return {
    node,
    update(ui) {
      const pane = ui.frame?.panes[number];
      const averaged = pane?.averaged ?? null;
      tiles.objective.set(
        formatNumber(averaged ?? pane?.objective),
        averaged === null ? "" : `last ${formatNumber(pane.objective)}`,
      );
      const bound = pane?.bound ?? null;
      tiles.gap.set(
        pane?.certificate ? "none" : formatPercent(pane?.gap),
        bound === null ? "" : `bound ${formatNumber(bound)}`,
      );
      setAttribute(tiles.gap.node, "data-reached", Boolean(pane && pane.gap !== null && pane.gap <= ui.tolerance));
      tiles.support.set(formatWhole(pane?.support), pane ? `of ${formatWhole(trainSize(ui.frame.state))}` : "");
      tiles.train.set(formatPercent(pane?.train_error), "");
      tiles.test.set(formatPercent(pane?.test_error), "");
    },
  };
}

/**
 * A name, a number, and below it one more.
 * @param {string} name
 * @param {string} [hint]
 */
export function createTile(name, hint) {
  const value = el("div", { class: "kp-tile-value", text: "–" });
  const note = el("div", { class: "kp-tile-note" });
  const node = el(
    "div",
    { class: "kp-tile", title: hint ?? null },
    el("div", { class: "kp-tile-name", text: name }),
    value,
    note,
  );
  return {
    node,
    /** @param {string} text @param {string} [more] */
    set(text, more = "") {
      setText(value, text);
      setText(note, more);
    },
  };
}
