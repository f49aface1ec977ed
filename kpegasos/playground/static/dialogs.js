// @ts-check
/** What opens over the page: the menu of exports, code, and help. */
import { button, el, setAttribute } from "./dom.js";

/** What the code makes, by the algorithm whose models are on the panes. */
const CODE_REMARKS = {
  pegasos: "This program fits the model of each pane at the step shown, and draws it.",
  polish: "This program fits the polished model of each pane, and draws it.",
};

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
  ["L", "logarithmic or linear axes"],
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

/**
 * The menu of exports.
 * @param {any} actions
 */
export function createExportMenu(actions) {
  const item = (text, act) =>
    el("button", {
      type: "button",
      role: "menuitem",
      class: "kp-menu-item",
      text,
      onclick: () => {
        toggle(false);
        opener.focus();
        act();
      },
    });
  const list = el(
    "div",
    { class: "kp-menu", role: "menu", hidden: true },
    actions.ownsAddress ? item("Link to this state", actions.copyLink) : null,
    item("Panes (PNG)", () => actions.savePanes("png")),
    item("Panes (SVG)", () => actions.savePanes("svg")),
    item("Python code …", () => actions.exportFile("code")),
    item("Points (CSV)", () => actions.exportFile("csv")),
  );
  const opener = button({ label: "Export", icon: "export", text: "Export", onClick: () => toggle(list.hidden) });
  opener.setAttribute("aria-haspopup", "menu");
  const node = el("div", { class: "kp-menu-holder" }, opener, list);

  function toggle(open) {
    list.hidden = !open;
    setAttribute(opener, "aria-expanded", String(open));
    if (open) list.querySelector("button")?.focus();
  }

  node.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const items = [...list.children];
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      toggle(false);
      opener.focus();
    } else if (way) {
      const at = items.indexOf(document.activeElement);
      items[(at + way + items.length) % items.length].focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  node.addEventListener("focusout", (event) => {
    if (!node.contains(event.relatedTarget)) toggle(false);
  });

  return node;
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
  };
}

/** What a code dialog shows. @param {string} code @param {any} actions @param {any} file */
export function codeContent(code, actions, file) {
  return [
    el("p", { text: CODE_REMARKS[file.algorithm] }),
    el("pre", { class: "kp-code", tabindex: "0", text: code }),
    el(
      "div",
      { class: "kp-row" },
      button({
        label: "Copy the code",
        text: "Copy",
        class: "kp-primary",
        onClick: () => actions.copyText(code, "The code is copied.", "“Download” saves the code"),
      }),
      button({ label: "Download the code", text: "Download", onClick: () => actions.saveFile(file) }),
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
