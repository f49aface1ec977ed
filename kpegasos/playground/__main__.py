"""``python -m kpegasos.playground [data.csv]``: the playground in a browser.

The server sends the page's files, and nothing else, to this machine alone. A table is in the
address that the browser is sent on to, so that the page reads it as one that is pasted.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import threading
import webbrowser
import zlib
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kpegasos.playground import STATIC

HOST = "127.0.0.1"
#: Characters of a table: browsers refuse a server's address of a quarter of a megabyte or more.
MOST_TEXT = 1 << 18
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Handler(SimpleHTTPRequestHandler):
    """Sends the page's files, and at first the address that has the table."""

    # Some systems have another type, with which no module runs.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript"}
    server: Server

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(STATIC))

    def send_head(self) -> Any:
        """Refuse a name that somebody else has made to point here; send the table's address."""
        if self.headers["Host"] not in self.server.names:
            return self.send_error(403, "Host must be that of this server")
        if self.path == "/" and self.server.fragment:
            self.send_response(302)
            self.send_header("Location", f"/index.html{self.server.fragment}")
            return self.end_headers()
        return super().send_head()

    def end_headers(self) -> None:
        """Allow no other source and no script within the page."""
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Serves the page on this machine.

    Parameters
    ----------
    fragment : str
        What the address of the page has at first, "" for nothing.
    port : int
        0 for any that is free.
    """

    def __init__(self, fragment: str = "", port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.fragment = fragment
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.url = f"http://{HOST}:{self.server_port}/"

    def handle_error(self, *arguments: Any) -> None:
        """Say nothing of a browser that goes away in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*arguments)


def fragment_of(path: Path) -> str:
    """Make the end of an address that has the table of a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is too long.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text = file.read(MOST_TEXT + 1)
    if len(text) > MOST_TEXT:
        raise ValueError(f"{path.name} must have at most {MOST_TEXT} characters, got more")
    content = zlib.compress(json.dumps({"table": text}).encode(), wbits=-zlib.MAX_WBITS)
    return f"#state={base64.urlsafe_b64encode(content).decode().rstrip('=')}"


def main() -> None:
    """Serve the playground until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m kpegasos.playground",
        description="Draw points in a browser, watch Pegasos train on them, see its certificate.",
    )
    parser.add_argument("data", nargs="?", help="CSV: two columns of features and one of labels")
    parser.add_argument("--port", type=int, default=8765, help="8765 unless given; 0 for any")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    try:
        fragment = "" if options.data is None else fragment_of(Path(options.data))
        server = Server(fragment, options.port)
    except (OSError, OverflowError, ValueError) as error:
        sys.exit(f"kpegasos.playground: {error}")
    print(f"Playground at {server.url} (Ctrl-C ends it)", flush=True)
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nPlayground ended.", file=sys.stderr)


if __name__ == "__main__":
    main()
