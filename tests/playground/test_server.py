"""The server as its clients see it: files, the WebSocket, and what strangers are told."""

import asyncio
import gzip
import json
import signal
import subprocess
import sys
from collections import deque
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from playground_cases import session_of, shown, state_of

pytest.importorskip("websockets", reason="needs kpegasos[playground]")
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from kpegasos.playground.assets import static_files
from kpegasos.playground.messages import MOST_TEXT
from kpegasos.playground.server import MOST_PAGES, MOST_WAITING, PlaygroundServer, enqueue, serve


def talking(conversation, **options):
    """Run a conversation with a server of its own."""

    async def run():
        server = PlaygroundServer(**options)
        await server.start()
        try:
            await asyncio.wait_for(conversation(server), 60)
        finally:
            await server.stop()

    asyncio.run(run())


def page_of(url, **options):
    """A connection as the page makes it."""
    chosen = {"origin": f"http://{urlsplit(url).netloc}", "max_size": None, **options}
    return connect(url.replace("http", "ws", 1) + "socket", **chosen)


async def ask(page, message=None):
    """What a page is told next, after a message of its own."""
    if message is not None:
        await page.send(json.dumps(message))
    return json.loads(await page.recv())


async def fetched(server, path, host=None, **headers):
    """What a GET of a path is answered."""

    def get():
        connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{server.port}")
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    return await asyncio.to_thread(get)


SHOW = {"kind": "show", "revision": 1, "t": 40, "id": 7}


async def hung_up(page):
    """The code with which a server ends a connection."""
    try:
        while True:
            await page.recv()
    except ConnectionClosed as closed:
        return closed.rcvd.code


def test_pages_are_independent():
    first = state_of(3)

    async def conversation(server):
        async with page_of(server.url) as one, page_of(server.url) as other:
            for page, seed in ((one, 1), (other, 2)):
                hello = await ask(page)
                assert (hello["kind"], hello["state"]) == ("hello", first)
                state = {"kind": "state", "revision": 1, "state": state_of(seed=seed)}
                await page.send(json.dumps(state))
            for page, seed in ((one, 1), (other, 2)):
                assert await ask(page, SHOW) == shown(session_of(state_of(seed=seed)), 40)

    talking(conversation, state=first)


def test_files_are_served_as_what_they_are():
    async def conversation(server):
        root, total = f"/{server.token}/", 0
        for name, file in static_files().items():
            status, headers, body = await fetched(server, root + name)
            assert (status, body) == (200, file.read_bytes())
            kind = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
            assert headers["Content-Type"].startswith(kind[name.rpartition(".")[2]])
            assert headers["Cache-Control"] == "no-store"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert headers["Content-Encoding"] is None
            _, headers, packed = await fetched(server, root + name, Accept_Encoding="gzip, br")
            assert headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(packed) == body
            total += len(packed)
        assert total < 150_000
        assert (await fetched(server, root))[2] == static_files()["index.html"].read_bytes()
        status, headers, _ = await fetched(server, root[:-1])
        assert (status, headers["Location"]) == (302, root)

    talking(conversation)


def test_what_is_not_the_pages_own_is_refused():
    paths = "/", "/index.html", "/wrong/", "//index.html", "/{token}x/", "/x/{token}/"
    names = "../__init__.py", "..%2f__init__.py", "%2e%2e/server.py", "x", "static/index.html"
    foreign = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "["]
    foreign += ["127.0.0.1.evil:{port}", "evil@127.0.0.1:{port}", "[::1%;script-src *]:{port}"]
    own = "localhost:{port}", "127.0.0.1:{port}", "LOCALHOST:{port}"

    async def conversation(server):
        known = {"token": server.token, "port": server.port}
        for status, path, hosts in (
            *((403, path, (None,)) for path in (*paths, f"/{server.token[:-1]}/socket")),
            *((404, f"/{{token}}/{name}", (None,)) for name in names),
            (421, "/{token}/", foreign),
            (200, "/{token}/", own),
        ):
            for host in hosts:
                found = await fetched(server, path.format(**known), host and host.format(**known))
                assert found[0] == status, (path, host)
        for origin in (None, "null", "http://evil.example", "http://127.0.0.1:1"):
            with pytest.raises(InvalidStatus) as caught:
                await page_of(server.url, origin=origin)
            assert caught.value.response.status_code == 403

    talking(conversation)


def test_pages_are_limited_in_number_and_may_come_back():
    async def conversation(server):
        for _ in range(2):
            pages = [await page_of(server.url) for _ in range(MOST_PAGES)]
            for page in pages:
                await ask(page)
            with pytest.raises(InvalidStatus) as caught:
                await page_of(server.url)
            assert caught.value.response.status_code == 503
            for page in pages:
                await page.close()
            while server._pages:
                await asyncio.sleep(0.01)

    talking(conversation)


def test_hostile_text_is_answered_and_the_page_goes_on():
    async def conversation(server):
        async with page_of(server.url) as page, page_of(server.url) as other:
            await ask(page), await ask(other)
            for text in ("", "{", "[]", '{"kind": "quit"}', '{"kind": "show", "t": NaN}', b"\xff"):
                await page.send(text)
                error = await ask(page)
                assert (error["kind"], error["id"]) == ("error", None)
                assert (await ask(page, {"kind": "hello"}))["kind"] == "hello"
            await page.send("x" * (MOST_TEXT + 1))
            assert await hung_up(page) == 1009
            assert (await ask(other, {"kind": "hello"}))["kind"] == "hello"

    talking(conversation)


@pytest.mark.slow
def test_other_pages_connect_while_one_computes_and_a_flood_is_hung_up_on():
    async def conversation(server):
        async with page_of(server.url) as busy:
            await ask(busy)
            await busy.send(json.dumps({"kind": "state", "revision": 1, "state": state_of(n=2000)}))
            await busy.send(json.dumps({**SHOW, "t": 5_000_000}))
            async with page_of(server.url) as other:
                await ask(other)
                assert (await fetched(server, f"/{server.token}/"))[0] == 200
            for _ in range(100 * MOST_WAITING):
                await busy.send('{"kind": "hello"}')
            assert await hung_up(busy) == 1008

    talking(conversation)


def test_requests_beyond_the_credit_are_answered_by_the_newest():
    waiting = deque()
    for number in range(5):
        enqueue(waiting, {**SHOW, "id": number})
        assert number != 1 or [each["id"] for each in waiting if "id" in each] == [0, 1]
        enqueue(waiting, {"kind": "state", "revision": number})
    assert [message["id"] for message in waiting if "id" in message] == [4]
    assert [message["revision"] for message in waiting if "id" not in message] == list(range(5))


def test_taken_port_means_a_later_one():
    async def conversation(server):
        other = PlaygroundServer(port=server.port)
        await other.start()
        try:
            assert server.port < other.port < server.port + 100
            assert (await fetched(other, f"/{other.token}/"))[0] == 200
        finally:
            await other.stop()

    talking(conversation)


def test_foreign_address_is_told_in_a_sentence():
    with pytest.raises(ValueError, match=r"^host and port must be an address of this machine"):
        serve(host="203.0.113.7", port=0, open_browser=False)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no Ctrl-C can be sent")
def test_command_serves_a_table_until_ctrl_c(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y,label\n0,1,a\n1,0,b\n")
    command = [sys.executable, "-m", "kpegasos.playground", "--no-browser", path, "--port", "0"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as process:
        url = process.stdout.readline().split()[2]

        async def look():
            async with page_of(url) as page:
                return await ask(page)

        assert asyncio.run(look())["state"]["labels"] == [0, 1]
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (out.strip(), errors, process.returncode) == ("Playground ended.", "", 0)
