// @ts-check
/** What opens over the page: exports, code, and help. */
import { button, el } from "./dom.js";

const HELP_KEYS = [
  ["Space", "play and pause"],
  [". and E", "one step, one epoch"],
  ["← →", "on the time axis: a step; with Shift ten; Page keys an epoch; Home and End"],
  ["1 to 4", "class of new points"],
  ["A, S, M, X", "add, spray, move, erase"],
  ["Arrows, Enter, Delete", "on a pane: move a cursor, add, erase"],
  ["H", "new points are held out or not"],
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["F", "fit the view to the points"],
  ["I", "curves or the step explained"],
  ["?", "this help"],
];

const HELP_SIGNS = [
  ["Thick line", "the boundary between two classes, f = 0"],
  ["Dashed lines", "the margins, f = ±1"],
  ["Colour", "the class, the stronger the larger |f|"],
  [
    "Ring",
    "a support vector; its area grows with α, the number of steps at which it was drawn and violated its margin",
  ],
  ["Hollow mark", "a held-out point: it counts for the test error alone"],
];

/** What can be saved. @param {any} actions @param {() => void} close */
export function exportContent(actions, close) {
  const item = (text, act) => button({ label: text, text, class: "kp-export", onClick: () => (close(), act()) });
  return [
    actions.ownsAddress ? item("Link to this state", actions.copyLink) : null,
    item("Panes (PNG)", () => actions.savePanes("png")),
    item("Panes (SVG)", () => actions.savePanes("svg")),
    item("Python code …", actions.showCode),
    item("Points (CSV)", actions.savePoints),
  ].filter(Boolean);
}

/** A dialog with a title, closed by Escape, its button, or a click beside it. */
export function createDialog() {
  const content = el("div", { class: "kp-dialog-content" });
  const title = el("h2", { class: "kp-dialog-title" });
  const node = el(
    "dialog",
    { class: "kp-dialog", "aria-label": "", onclick: (event) => event.target === node && node.close() },
    el(
      "header",
      { class: "kp-dialog-head" },
      title,
      button({ label: "Close", icon: "close", onClick: () => node.close() }),
    ),
    content,
  );
  return {
    node,
    /** @param {string} name @param {...Node} children */
    open(name, ...children) {
      title.textContent = name;
      node.setAttribute("aria-label", name);
      content.replaceChildren(...children);
      if (!node.open) node.showModal();
    },
    close: () => node.close(),
  };
}

/** What a code dialog shows. @param {string} code @param {any} actions */
export function codeContent(code, actions) {
  const copy = () => actions.copyText(code, "The code is copied.", "“Download” saves the code");
  const download = () => actions.saveText(code, "playground.py");
  return [
    el("p", { text: "This program fits the model of each pane as it is shown, and draws it." }),
    el("pre", { class: "kp-code", tabindex: "0", text: code }),
    el(
      "div",
      { class: "kp-row" },
      button({ label: "Copy the code", text: "Copy", class: "kp-primary", onClick: copy }),
      button({ label: "Download the code", text: "Download", onClick: download }),
    ),
  ];
}

/** What the help shows. */
export function helpContent() {
  const rows = (entries, tag) =>
    entries.map(([sign, meaning]) =>
      el("tr", {}, el("th", { scope: "row" }, el(tag, { text: sign })), el("td", { text: meaning })),
    );
  return [
    el("h3", { text: "What is drawn" }),
    el("table", { class: "kp-help" }, el("tbody", {}, ...rows(HELP_SIGNS, "span"))),
    el("h3", { text: "Keys" }),
    el("table", { class: "kp-help" }, el("tbody", {}, ...rows(HELP_KEYS, "kbd"))),
  ];
}
