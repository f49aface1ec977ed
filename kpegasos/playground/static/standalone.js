// @ts-check
/** Start of the page that needs no Python: the engine is in the page. */
import { createEngine } from "./engine.js";
import { decodeLink } from "./link.js";
import { mount } from "./playground.js";
import { EngineTransport } from "./transport.js";

const linked = await decodeLink(location.hash);
const page = mount(document.getElementById("kpegasos"), new EngineTransport(createEngine()), {
  ...linked,
  link: true,
  keys: document,
});
Object.assign(window, { kpegasosTimings: page.timings });
