// @ts-check
/** Start of the page: it shows what its address says, and keeps it there. */
import { createEngine } from "./engine.js";
import { decodeLink, encodeLink } from "./link.js";
import { mount } from "./playground.js";

const linked = await decodeLink(location.hash);
mount(document.getElementById("kpegasos"), createEngine(), {
  ...linked,
  embed: new URLSearchParams(location.search).has("embed"),
  keys: document,
  async keep(shown) {
    window.history.replaceState(null, "", await encodeLink(shown));
  },
});
// A link pasted over the address of this page; the page itself replaces its address without this event.
addEventListener("hashchange", () => location.reload());
