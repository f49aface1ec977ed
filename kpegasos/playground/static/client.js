// @ts-check
/**
 * Conversation with an engine: at most two pictures asked for and not yet there, and the newest wish wins.
 */

/** Pictures that may be under way. */
const CREDIT = 2;

/**
 * @typedef {{state: any, revision: number, t: number, explain: boolean, history: boolean}} Wish
 */

/**
 * @param {any} transport
 * @param {{onHello: (hello: any) => void, onFrame: (frame: any) => void, onState: (message: any) => void,
 *          onError: (error: any) => void, onStatus: (status: any) => void}} listener
 */
export function createClient(transport, listener) {
  /** @type {Map<number, Wish>} */
  const shows = new Map();
  /** @type {Map<number, {wish: Wish|null, resolve: (answer: any) => void, reject: (error: any) => void}>} */
  const requests = new Map();
  /** @type {Wish|null} */
  let wish = null;
  let sentRevision = -1;
  let lastId = 0;
  let ready = false;

  transport.onStatus((status) => {
    if (status.phase !== "open") forget();
    listener.onStatus(status);
  });
  transport.onMessage(receive);

  /** What was asked over a connection that is gone will not be answered. */
  function forget() {
    ready = false;
    sentRevision = -1;
    const open = [...shows.values()];
    if (!wish && open.length) wish = open[open.length - 1];
    shows.clear();
    for (const { reject } of requests.values()) reject({ parameter: null, message: "The connection was lost." });
    requests.clear();
  }

  function receive(message) {
    if (message.kind === "hello") {
      ready = true;
      listener.onHello(message);
    } else if (message.kind === "frame") {
      receiveFrame(message);
    } else if (message.kind === "state") {
      listener.onState(message);
    } else if (message.kind === "error") {
      receiveError(message);
    } else {
      settle(message.id, "resolve", message);
    }
    flush();
  }

  function receiveFrame(frame) {
    const asked = shows.get(frame.id) ?? requests.get(frame.id)?.wish;
    if (!asked) return;
    // The picture of a frame needs the points that it was made of.
    const complete = { ...frame, state: asked.state };
    if (shows.delete(frame.id)) listener.onFrame(complete);
    else settle(frame.id, "resolve", complete);
  }

  function receiveError(error) {
    if (settle(error.id, "reject", error)) return;
    const ofState = error.id === null || error.id === undefined;
    if (!ofState && !shows.has(error.id)) return;
    const revision = ofState ? sentRevision : shows.get(error.id).revision;
    // A state that was refused has no pictures: their answers, if any, say nothing new.
    if (ofState) shows.clear();
    else shows.delete(error.id);
    listener.onError({ ...error, revision });
  }

  function settle(id, how, answer) {
    const request = requests.get(id);
    if (!request) return false;
    requests.delete(id);
    request[how](answer);
    return true;
  }

  function flush() {
    if (!ready || !wish || shows.size >= CREDIT) return;
    const { state, revision, ...asked } = wish;
    const id = ++lastId;
    shows.set(id, wish);
    wish = null;
    sendState(state, revision);
    transport.send({ kind: "show", id, revision, ...asked });
  }

  function sendState(state, revision) {
    if (sentRevision === revision) return;
    sentRevision = revision;
    transport.send({ kind: "state", revision, state });
  }

  return {
    /**
     * Ask for a picture; it replaces an earlier wish that was not yet sent.
     * @param {Wish} next
     */
    show(next) {
      wish = next;
      flush();
    },
    /** Whether a wish would be sent at once. */
    get free() {
      return ready && wish === null && shows.size < CREDIT;
    },
    /** Whether pictures are under way. */
    get busy() {
      return wish !== null || shows.size > 0;
    },
    /**
     * Anything else that has one answer, about a state if one is given.
     * @param {any} message
     * @param {Wish|null} [about]
     * @returns {Promise<any>}
     */
    request(message, about = null) {
      if (!ready) return Promise.reject({ parameter: null, message: "There is no connection." });
      if (about) sendState(about.state, about.revision);
      const id = ++lastId;
      const revision = about ? { revision: about.revision } : {};
      return new Promise((resolve, reject) => {
        requests.set(id, { wish: about, resolve, reject });
        transport.send({ ...message, ...revision, id });
      });
    },
    close: () => transport.close(),
  };
}
