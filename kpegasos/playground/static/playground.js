// @ts-check
/** The playground: `mount` builds it inside an element. */
import { createCharts } from "./charts.js";
import { createController } from "./controller.js";
import { createControls } from "./controls.js";
import { createSources, createTools } from "./data.js";
import { createDialog, exportContent, helpContent } from "./dialogs.js";
import { button, el, setAttribute } from "./dom.js";
import { createExplanation } from "./explain.js";
import { segmentedChoice } from "./fields.js";
import { attachKeys } from "./keyboard.js";
import { createLesson } from "./lesson.js";
import { createBanner, createStatus } from "./notices.js";
import { readPalette } from "./palette.js";
import { createPane } from "./panes.js";
import { createSaving } from "./saving.js";
import { createTiles } from "./tiles.js";
import { createTimeline } from "./timeline.js";

/**
 * @param {HTMLElement} element that becomes the playground
 * @param {any} engine
 * @param {{state?: any, view?: any, t?: number|null, names?: string[]|null, lesson?: number|null, table?: string,
 *          embed?: boolean, isWidget?: boolean, keys?: EventTarget, keep?: (shown: any) => void}} [options] what to begin
 *   with; whether panes, curves and time are all; where keys are listened to; what keeps what is shown after each edit
 * @returns {{destroy: () => void, replace: (page: any) => void}}
 */
export function mount(element, engine, options = {}) {
  // JupyterLab takes letters as commands, some of which delete cells, unless an element says not to.
  const root = el("div", {
    class: "kp-root",
    "data-theme": "auto",
    "data-lm-suppress-shortcuts": "true",
    "data-embed": options.embed ?? false,
    "data-widget": options.isWidget ?? false,
  });
  const views = [];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let palette = null;

  const controller = createController(engine, {
    ...options,
    draw() {
      palette ??= readPalette(root);
      const ui = { ...controller.actions.ui(), palette };
      setAttribute(root, "data-phase", ui.phase);
      for (const view of views) view.update(ui);
    },
  });
  const dialog = createDialog();
  const actions = {
    ...controller.actions,
    ownsAddress: !options.isWidget,
    offerExports: () => dialog.open("Export", ...exportContent(actions, dialog.close)),
    help: () => dialog.open("How to read and drive it", ...helpContent()),
    turnTheme() {
      const isDark = root.dataset.theme === "dark" || (root.dataset.theme === "auto" && dark.matches);
      root.dataset.theme = isDark ? "light" : "dark";
      recolor();
    },
  };
  const panes = [0, 1].map((number) => createPane(number, actions));
  const saving = createSaving({ actions, dialog, panes, root });
  Object.assign(actions, saving);
  views.push(...build(root, panes, dialog, actions));
  element.replaceChildren(el("div", { class: "kp-host" }, root));

  function recolor() {
    palette = null;
    controller.actions.render();
  }
  dark.addEventListener("change", recolor);
  const detachKeys = attachKeys(options.keys ?? root, actions);
  controller.actions.render();

  return {
    replace: controller.replace,
    destroy() {
      controller.destroy();
      detachKeys();
      dark.removeEventListener("change", recolor);
      for (const view of views) view.destroy?.();
      element.replaceChildren();
    },
  };
}

/** Puts all parts in their places; returns those that are updated. */
function build(root, panes, dialog, actions) {
  const status = createStatus();
  const banner = createBanner(actions);
  const lesson = createLesson(actions);
  const tools = createTools(actions);
  const sources = createSources(actions);
  const controls = createControls(actions);
  const timeline = createTimeline(actions);
  const columns = panes.map((pane, number) => createColumn(pane, number, actions));
  const tabs = createTabs(actions);
  // Notebooks scroll by ways of their own, in which nothing sticks to an edge: there time is below the panes.
  const isWidget = root.dataset.widget !== undefined;
  const [inside, below] = isWidget ? [[timeline.node], []] : [[], [timeline.node]];
  const stage = el("main", { class: "kp-stage" }, tabs.node, ...inside, ...columns.map((column) => column.node));
  root.append(
    el(
      "header",
      { class: "kp-head" },
      el(
        "h1",
        { class: "kp-title" },
        el("strong", { text: "kpegasos" }),
        el("span", { class: "kp-wide-only", text: " playground" }),
      ),
      status.node,
      el("span", { class: "kp-spring" }),
      button({ label: "Export", icon: "export", text: "Export", onClick: actions.offerExports }),
      button({ label: "Lesson", icon: "lesson", onClick: () => actions.openLesson(0) }),
      button({ label: "Light or dark", icon: "theme", onClick: actions.turnTheme }),
      button({ label: "Help", icon: "help", key: "?", onClick: actions.help }),
      banner.node,
    ),
    lesson.node,
    el("aside", { class: "kp-side kp-side-tools", "aria-label": "Drawing" }, tools.node),
    el("aside", { class: "kp-side kp-side-data", "aria-label": "Data" }, sources.node),
    stage,
    el("aside", { class: "kp-side kp-side-settings", "aria-label": "Model" }, controls.node),
    ...below,
    dialog.node,
  );
  return [status, banner, lesson, tools, sources, ...columns, tabs, controls, timeline];
}

/** A pane, its numbers, and its curves or the explanation of its step. */
function createColumn(pane, number, actions) {
  const tiles = createTiles(number);
  const charts = createCharts(number, actions);
  const explanation = createExplanation(number);
  const node = el(
    "div",
    { class: `kp-column kp-column-${number}` },
    pane.node,
    tiles.node,
    charts.node,
    explanation.node,
  );
  return {
    node,
    update(ui) {
      setAttribute(node, "hidden", !ui.state.panes[number]);
      if (!ui.state.panes[number]) return;
      setAttribute(charts.node, "hidden", ui.tab !== "curves");
      setAttribute(explanation.node, "hidden", ui.tab !== "explain");
      pane.update(ui);
      tiles.update(ui);
      if (ui.tab === "curves") charts.update(ui);
      else explanation.update(ui);
    },
    destroy() {
      pane.destroy();
      charts.destroy();
    },
  };
}

/** What is below the panes: the curves, or the step explained. */
function createTabs(actions) {
  const choice = segmentedChoice({
    label: "Below the panes",
    choices: [
      { value: "curves", node: el("span", { text: "Curves" }), label: "Curves of the run", key: "I" },
      { value: "explain", node: el("span", { text: "Explain the step" }), label: "The step, explained", key: "I" },
    ],
    onChange: actions.setTab,
  });
  const sign = (kind, text) => el("span", { class: "kp-sign" }, el("span", { class: `kp-line kp-line-${kind}` }), text);
  const legend = el(
    "div",
    { class: "kp-legend-row" },
    sign("averaged", "model shown"),
    sign("last", "last iterate"),
    sign("bound", "dual bound"),
    sign("band", "certified gap"),
  );
  return {
    node: el("div", { class: "kp-tabs" }, choice.node, legend),
    update(ui) {
      choice.set(ui.tab);
      setAttribute(legend, "hidden", ui.tab !== "curves");
    },
  };
}
