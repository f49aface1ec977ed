// @ts-check
/**
 * Ways to an engine, all alike: `send(message)`, `onMessage(callback)`, `onStatus(callback)`, `close()`.
 *
 * A status is {phase: "connecting"|"open"|"lost", retryAt: number|null}, the time as of Date.now().
 */

/** Waits in milliseconds before the first and the longest attempt to connect again. */
const RETRY_WAITS = { first: 250, longest: 8000 };

/** What all transports share: whom they tell. */
class Transport {
  constructor() {
    /** @type {(message: any) => void} */
    this.listener = () => {};
    /** @type {(status: {phase: string, retryAt: number|null}) => void} */
    this.watcher = () => {};
    this.status = { phase: "connecting", retryAt: null };
  }

  /** @param {(message: any) => void} callback */
  onMessage(callback) {
    this.listener = callback;
  }

  /** @param {(status: {phase: string, retryAt: number|null}) => void} callback */
  onStatus(callback) {
    this.watcher = callback;
    callback(this.status);
  }

  report(phase, retryAt = null) {
    this.status = { phase, retryAt };
    this.watcher(this.status);
  }
}

/** A WebSocket, opened again whenever it is lost, after waits that double. */
export class WebSocketTransport extends Transport {
  /** @param {string|URL} address */
  constructor(address) {
    super();
    this.address = address;
    this.wait = RETRY_WAITS.first;
    this.timer = 0;
    this.connect();
  }

  connect() {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.onopen = () => {
      this.wait = RETRY_WAITS.first;
      this.report("open");
    };
    socket.onmessage = (event) => this.listener(JSON.parse(event.data));
    socket.onclose = () => {
      this.report("lost", Date.now() + this.wait);
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, RETRY_WAITS.longest);
    };
  }

  /** Try again now. */
  retry() {
    if (this.status.phase !== "lost") return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** @param {any} message; dropped without a connection: what counts is sent again with the next */
  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close() {
    clearTimeout(this.timer);
    this.socket.onclose = null;
    this.socket.close();
  }
}

/** The comm of an anywidget: the kernel is at the other end. */
export class ModelTransport extends Transport {
  /** @param {any} model of the widget */
  constructor(model) {
    super();
    this.model = model;
    // A model may be on a page several times: what is for another place is not ours.
    this.view = Math.random().toString(36).slice(2);
    this.receive = (message) => {
      if (message.view !== undefined && message.view !== this.view) return;
      if (this.status.phase !== "open") this.report("open");
      this.listener(message);
    };
    model.on("msg:custom", this.receive);
  }

  /** @param {(message: any) => void} callback */
  onMessage(callback) {
    super.onMessage(callback);
    this.send({ kind: "hello" });
  }

  /** @param {any} message */
  send(message) {
    this.model.send({ ...message, view: this.view });
  }

  close() {
    this.model.off("msg:custom", this.receive);
  }
}

/** An engine in the page, which is asked in a task of its own so that the page stays alive. */
export class EngineTransport extends Transport {
  /** @param {{hello: any, handle: (message: any) => any[]}} engine */
  constructor(engine) {
    super();
    this.engine = engine;
    this.channel = new MessageChannel();
    this.channel.port1.onmessage = (event) => {
      for (const reply of this.engine.handle(event.data)) this.listener(reply);
    };
  }

  /** @param {(message: any) => void} callback */
  onMessage(callback) {
    super.onMessage(callback);
    queueMicrotask(() => {
      this.report("open");
      this.listener(this.engine.hello);
    });
  }

  /** @param {any} message */
  send(message) {
    this.channel.port2.postMessage(message);
  }

  close() {
    this.channel.port1.close();
  }
}
