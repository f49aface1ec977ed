"""Children of a fork, which may have to wait for what no thread of theirs will ever give."""

import os
import time

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")


def of_child(function, seconds=30.0):
    """Whether a function is true in a child of a fork; None if it does not end in time."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if function() else 1
        finally:
            os._exit(code)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None
