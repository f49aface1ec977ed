"""The server of the page: its files and nothing else, for this machine alone."""

import http.client
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

from kpegasos.playground import STATIC
from kpegasos.playground import __main__ as program


@pytest.fixture
def server():
    """A server that has a table in its address."""
    with program.Server("#state=abc") as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def asked(server, path, method="GET", **headers):
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection(program.HOST, server.server_port, timeout=20)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


def test_server_sends_the_files_of_the_page_and_no_others(server):
    assert server.server_address[0] == "127.0.0.1"
    for path in STATIC.iterdir():
        status, headers, body = asked(server, f"/{path.name}")
        assert (status, body) == (200, path.read_bytes())
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        if path.suffix == ".js":
            assert headers["Content-Type"] == "text/javascript"
    for path in ("/../widget.py", "/%2e%2e/widget.py", "//etc/passwd", "/nothing.js"):
        assert asked(server, path)[0] == 404


def test_server_changes_nothing_and_knows_its_names(server):
    for method in ("POST", "PUT", "DELETE"):
        assert asked(server, "/index.html", method)[0] == 501
    for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1"):
        assert asked(server, "/", Host=host)[0] == 403
    for name in ("127.0.0.1", "localhost"):
        assert asked(server, "/index.html", Host=f"{name}:{server.server_port}")[0] == 200


def test_server_sends_on_to_the_address_with_the_table(server):
    status, headers, _ = asked(server, "/")
    assert (status, headers["Location"]) == (302, "/index.html#state=abc")
    server.fragment = ""
    assert asked(server, "/")[2] == (STATIC / "index.html").read_bytes()


def test_server_says_nothing_of_a_browser_that_goes_away(server, capsys):
    with socket.create_connection(server.server_address) as browser:
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        browser.send(b"GET /index.html HTTP/1.1")
    assert asked(server, "/style.css")[0] == 200  # by then the other one has a thread
    for thread in threading.enumerate():
        if "process_request" in thread.name:
            thread.join()
    assert capsys.readouterr().err == ""


def test_what_will_not_do_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "long.csv").write_text("1,2,a\n" * 50_000)
    with program.Server() as taken:
        for arguments, sentence in (
            ([str(tmp_path / "none.csv")], "No such file"),
            ([str(tmp_path / "long.csv")], "long.csv must have at most 262144 characters"),
            (["--port", str(taken.server_port)], "in use"),
            (["--port", "70000"], "0-65535"),
        ):
            monkeypatch.setattr(sys, "argv", ["playground", *arguments])
            with pytest.raises(SystemExit, match=rf"^kpegasos\.playground: .*{sentence}"):
                program.main()
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_program_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "kpegasos.playground", "--no-browser", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        process.stdout.close()  # as `| head -1` does
        process.send_signal(signal.SIGINT if os.name == "posix" else signal.CTRL_C_EVENT)
        assert process.stderr.read().strip() == "Playground ended."
    assert process.returncode == 0
