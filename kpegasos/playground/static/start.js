// @ts-check
/** Start of the page that a server of Python sends. */
import { WebSocketTransport } from "./transport.js";
import { startPage } from "./whole_page.js";

const address = new URL("socket", location.href);
address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
address.hash = "";
await startPage(() => new WebSocketTransport(address));
