// @ts-check
/** The page as a view of a notebook's widget: what is drawn, its settings and its step go both ways. */
import { createEngine } from "./engine.js";
import { mount } from "./playground.js";

/**
 * @param {any} model of the widget
 * @param {HTMLElement} element
 * @returns {() => void} that takes the page away again
 */
export function renderWidget(model, element) {
  const page = mount(element, createEngine(), {
    ...model.get("_page"),
    isWidget: true,
    keep({ state, t }) {
      model.set("_page", { state, t });
      model.save_changes();
    },
  });
  const take = () => page.replace(model.get("_page"));
  model.on("change:_page", take);
  return () => {
    model.off("change:_page", take);
    page.destroy();
  };
}
