"""``python -m kpegasos.playground``: the playground in a browser.

The server sends the page's files, and nothing else, to this machine alone.
"""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kpegasos.playground import STATIC

HOST = "127.0.0.1"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Handler(SimpleHTTPRequestHandler):
    """Sends the page's files."""

    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",  # some systems have another one, with which no module runs
    }
    server: Server

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(STATIC))

    def send_head(self) -> Any:
        """Refuse a name that somebody else has made to point here."""
        if self.headers["Host"] not in self.server.names:
            return self.send_error(403, "Host must be that of this server")
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
    port : int, default=0
        0 for any that is free.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.url = f"http://{HOST}:{self.server_port}/"


def main() -> None:
    """Serve the playground until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m kpegasos.playground",
        description="Draw points in a browser, watch Pegasos train on them, see its certificate.",
    )
    parser.add_argument("--port", type=int, default=8765, help="8765 unless given; 0 for any")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    try:
        server = Server(options.port)
    except (OSError, OverflowError) as error:
        sys.exit(f"kpegasos.playground: {error}")
    print(f"Playground at {server.url} (Ctrl-C ends it)", flush=True)
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nPlayground ended.")


if __name__ == "__main__":
    main()
