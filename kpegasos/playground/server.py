"""A server of the page on one port: its files by HTTP, its messages by a WebSocket.

It answers addresses that begin with a token, drawn anew at each start, and pages that it has served
itself: `Host` and `Origin` must be its own. A page of another site in the same browser can reach
the port, but knows no token, and its origin is refused. What a first click would wait for is
compiled, or loaded, before.
"""

from __future__ import annotations

import asyncio
import errno
import gzip
import hmac
import json
import logging
import secrets
import socket
import threading
import webbrowser
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection
from websockets.asyncio.server import serve as serve_websockets
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from kpegasos.playground import messages
from kpegasos.playground.assets import MEDIA_TYPES, kind_of, static_files
from kpegasos.playground.messages import DEFAULTS, KERNELS, MOST_TEXT, MessageError
from kpegasos.playground.session import Session

_POINTS = [[0.0, 0.0], [1.0, 0.2], [0.3, 1.0], [1.0, 1.1], [0.1, 0.4], [0.9, 0.7]]
_LABELS = [0, 1, 0, 1, 0, 1]


def warm_up() -> None:
    """Ask for everything once, what a page begins with at first."""
    session, state = Session(), _state(DEFAULTS["panes"])
    for revision, panes in enumerate([state["panes"], *([{"kernel": each}] for each in KERNELS)]):
        session.handle({"kind": "state", "revision": revision, "state": {**state, "panes": panes}})
        for message in (
            {"kind": "show", "t": 0},
            {"kind": "show", "t": 40, "explain": True, "history": True},
            {"kind": "polish"},
        ):
            session.handle({**message, "revision": revision, "id": 0})


def _state(panes: list[dict[str, Any]]) -> dict[str, Any]:
    test = [False] * (len(_POINTS) - 1) + [True]
    return {**DEFAULTS, "points": _POINTS, "labels": _LABELS, "test": test, "panes": panes}


#: Pages that may be open at a time; each has a thread of its own.
MOST_PAGES = 8
#: Requests of a page that may wait; one that sends more is hung up on.
MOST_WAITING = 64
#: Requests to show that may wait, as the page has agreed to. Of more, the newest is answered.
CREDIT = 2
LARGEST_PORT = 65_535
_SOCKET = "socket"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_LOGGER = logging.getLogger("kpegasos.playground")
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False  # a stranger's bad request is no news to the user


class PlaygroundServer:
    """Serves the page, and a `Session` to each page that is open.

    Parameters
    ----------
    state : dict, default=None
        What pages begin with.
    host : str, default="127.0.0.1"
        Address to listen at.
    port : int, default=0
        0 for any that is free.

    Attributes
    ----------
    token : str
        Begins the path of every address.
    port : int
        Where it listens, once it has started.
    """

    def __init__(
        self, state: dict[str, Any] | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.host = host
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self._state = state
        self._files = static_files()
        self._compressed: dict[str, bytes] = {}
        self._pages: set[ServerConnection] = set()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Address of the page."""
        host = self.host if self.host not in ("0.0.0.0", "::") else "127.0.0.1"
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{self.token}/"

    async def start(self) -> None:
        """Begin to listen, at the next port that is free if this one is taken.

        Raises
        ------
        OSError
            If the address is none of this machine's, or all these ports are taken.
        """
        while self._server is None:
            try:
                self._server = await serve_websockets(
                    self._talk,
                    self.host,
                    self.port,
                    process_request=self._respond,
                    max_size=MOST_TEXT,
                    compression=None,
                    server_header=None,
                    logger=_LOGGER,
                )
            except OSError as error:
                if error.errno != errno.EADDRINUSE or self.port == LARGEST_PORT:
                    raise
                self.port += 1
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        """Hang up on all pages and listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    # --- HTTP ---

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request for a file; None for one that opens the WebSocket."""
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST, "Host must be that of this server")
        _, _, rest = urlsplit(request.path).path.partition("/")
        token, slash, name = rest.partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return _refusal(HTTPStatus.FORBIDDEN, "The address must have the token of this server")
        if name == _SOCKET:
            return self._refuse_page(request, hosts[0])
        if not slash:
            return _response(HTTPStatus.FOUND, b"", {"Location": f"/{self.token}/"})
        file = self._files.get(name or "index.html")
        if file is None:
            return _refusal(HTTPStatus.NOT_FOUND, "There is no such file")
        headers = {
            "Content-Type": MEDIA_TYPES[kind_of(file.name)],
            "Content-Security-Policy": _POLICY,
            "Vary": "Accept-Encoding",
        }
        if "gzip" not in ",".join(request.headers.get_all("Accept-Encoding")):
            return _response(HTTPStatus.OK, file.read_bytes(), headers)
        if file.name not in self._compressed:
            self._compressed[file.name] = gzip.compress(file.read_bytes())
        headers["Content-Encoding"] = "gzip"
        return _response(HTTPStatus.OK, self._compressed[file.name], headers)

    def _refuse_page(self, request: Request, host: str) -> Response | None:
        """Refuse a WebSocket that no page of this server asks for, or one too many."""
        if request.headers.get_all("Origin") != [f"http://{host}"]:
            return _refusal(HTTPStatus.FORBIDDEN, "Origin must be that of this server")
        if len(self._pages) >= MOST_PAGES:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_PAGES} pages are open already")
        return None

    def _is_own(self, host: str) -> bool:
        """Tell whether a ``Host`` header names this server."""
        name, colon, port = host.lower().rpartition(":")
        if (colon and port != str(self.port)) or (not colon and self.port != 80):
            return False
        name = (name if colon else port).removeprefix("[").removesuffix("]")
        if name in ("127.0.0.1", "localhost", "::1", self.host.lower()):
            return True
        # Names may be made to point here by others; numbers cannot.
        return self.host in ("0.0.0.0", "::") and (
            name == socket.gethostname().lower() or _is_number(name)
        )

    # --- WebSocket ---

    async def _talk(self, connection: ServerConnection) -> None:
        """Serve a page until it goes."""
        self._pages.add(connection)
        session = Session(self._state)
        waiting: deque[Any] = deque()
        arrived = asyncio.Event()
        worker = ThreadPoolExecutor(1, thread_name_prefix="playground")
        answering = asyncio.create_task(_answer(connection, session, waiting, arrived, worker))
        try:
            async for text in connection:
                enqueue(waiting, _decoded(text))
                if len(waiting) > MOST_WAITING:
                    await connection.close(1008, f"more than {MOST_WAITING} requests wait")
                    break
                arrived.set()
        except ConnectionClosed:  # a page that went without a word
            pass
        finally:
            self._pages.discard(connection)
            answering.cancel()
            session.interrupt()
            worker.shutdown(wait=False, cancel_futures=True)


async def _answer(
    connection: ServerConnection,
    session: Session,
    waiting: deque[Any],
    arrived: asyncio.Event,
    worker: ThreadPoolExecutor,
) -> None:
    """Answer what waits, in order; whoever is slow to read gets fewer frames."""
    loop = asyncio.get_running_loop()
    with suppress(ConnectionClosed):
        await connection.send(encoded(session.hello()))
        while True:
            await arrived.wait()
            while waiting:
                message = waiting.popleft()
                for text in await loop.run_in_executor(worker, _answers, session, message):
                    await connection.send(text)
            arrived.clear()


def _answers(session: Session, message: Any) -> list[str]:
    """Answers to a message, as text."""
    if isinstance(message, MessageError):
        return [encoded(session.told(None, message))]
    try:
        return [encoded(answer) for answer in session.handle(message)]
    except ValueError as error:  # a number that JSON does not have
        refusal = MessageError(f"message led to an answer that is no JSON: {error}")
        return [encoded(session.told(message, refusal))]


def enqueue(waiting: deque[Any], message: Any) -> None:
    """Put a message behind those that wait; of too many requests to show, only the newest stays."""

    def shows(each: Any) -> bool:
        return isinstance(each, dict) and each.get("kind") == "show"

    if shows(message) and sum(map(shows, waiting)) >= CREDIT:
        kept = [each for each in waiting if not shows(each)]
        waiting.clear()
        waiting.extend(kept)
    waiting.append(message)


def encoded(message: dict[str, Any]) -> str:
    """Return a message as JSON."""
    return json.dumps(message, allow_nan=False, separators=(",", ":"))


def _decoded(text: Any) -> Any:
    """Return a message, or what is wrong with it."""
    try:
        return messages.parsed(text)
    except MessageError as error:
        return error


def _is_number(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(status: HTTPStatus, sentence: str) -> Response:
    return _response(
        status, f"{sentence}.\n".encode(), {"Content-Type": "text/plain; charset=utf-8"}
    )


def _response(status: HTTPStatus, body: bytes, more: dict[str, str]) -> Response:
    headers = {
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Connection": "close",
        **more,
    }
    return Response(status.value, status.phrase, Headers(headers), body)


async def _run(server: PlaygroundServer, open_browser: bool) -> None:
    await server.start()
    print(f"Playground at {server.url} (Ctrl-C ends it)", flush=True)
    threading.Thread(target=warm_up, daemon=True).start()
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await server.stop()


def serve(
    state: dict[str, Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_browser: bool = True,
) -> None:
    """Serve the playground until Ctrl-C.

    Parameters
    ----------
    state : dict, default=None
        What pages begin with, as `kpegasos.playground.files.state_of_points` makes it; an empty
        page if None.
    host : str, default="127.0.0.1"
        Address to listen at. With another than the default, everybody who reaches this machine and
        knows the token can compute on it.
    port : int, default=8765
        The next one that is free if it is taken; 0 for any.
    open_browser : bool, default=True

    Raises
    ------
    ValueError
        If the address is none of this machine's.
    """
    server = PlaygroundServer(state, host=host, port=port)
    try:
        asyncio.run(_run(server, open_browser))
    except KeyboardInterrupt:
        print("\nPlayground ended.")
    except OSError as error:
        raise ValueError(
            f"host and port must be an address of this machine, got {host!r} and {port}: "
            f"{error.strerror or error}"
        ) from None
