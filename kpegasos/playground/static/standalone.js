// @ts-check
/** Start of the page that needs no Python: the engine is in the page. */
import { createEngine } from "./engine.js";
import { EngineTransport } from "./transport.js";
import { startPage } from "./whole_page.js";

await startPage(() => new EngineTransport(createEngine()));
