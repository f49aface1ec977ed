// @ts-check
/** A page of its own: it shows what its address says, and keeps it there. */
import { decodeLink } from "./link.js";
import { mount } from "./playground.js";

/**
 * @param {() => import("./transport.js").Transport} makeTransport called once the address is read
 */
export async function startPage(makeTransport) {
  const linked = await decodeLink(location.hash);
  const page = mount(document.getElementById("kpegasos"), makeTransport(), {
    ...linked,
    link: true,
    embed: new URLSearchParams(location.search).has("embed"),
    keys: document,
  });
  // A link pasted over the address of this page; the page itself replaces its address without this event.
  addEventListener("hashchange", () => location.reload());
  Object.assign(window, { kpegasosTimings: page.timings });
}
