// @ts-check
/** Start of the page that a server of Python sends. */
import { decodeLink } from "./link.js";
import { mount } from "./playground.js";
import { WebSocketTransport } from "./transport.js";

const address = new URL("socket", location.href);
address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
address.hash = "";
const linked = await decodeLink(location.hash);
const page = mount(document.getElementById("kpegasos"), new WebSocketTransport(address), {
  ...linked,
  link: true,
  keys: document,
});
Object.assign(window, { kpegasosTimings: page.timings });
