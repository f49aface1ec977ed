"""What happens to files: bits flip, pieces are lost, text is encoded anew, archives break."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import numpy as np

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
}
#: Bytes that a compressed file may hold here.
BOUND = 2**17
_TOKENS = (
    *("nan", "-inf", "1e39", "1e400", "-1e-400", "1_0", "0x10", "1,2", "+1", "--1", "", ".", "é"),
    *("0:1", "-1:1", "3", "3:", ":3", "3:4:5", "2147483648:1", f"{2**63}:1", f"{10**40}:1", "7:1"),
    *("qid:1", "qid", "qid:x 1:1", "1:nan", "1:1e39", "# n", "#", "\0", "\t", "\r", "\v", "1 1:1"),
    "qid:nan 1:1",
    *("|f", "1:1 1:1", "2:1 1:1", "infinity", "9" * 5000, "1.5:1", "1:0x1p3", "٣:1"),
)
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """A few bytes wrong."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        begin, end = sorted(rng.integers(0, len(data) + 1, 2))
        kind = rng.integers(6)
        if kind == 0 and data:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[begin:]
        elif kind == 2:
            del data[begin : min(end, begin + 9)]
        elif kind == 3:
            data[begin:begin] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            data[begin:begin] = data[begin:end]
        else:
            data[begin:begin] = bytes([rng.choice(list(b"\n\r\0 ,:#-.e9\xff"))])
    return bytes(data)


def _near_miss(rng: np.random.Generator, content: bytes) -> bytes:
    """A word replaced, put in or left out, as a careless program would."""
    separator = b"," if content.count(b",") > 5 else b" "
    lines = content.split(b"\n")
    for _ in range(rng.integers(1, 3)):
        line = rng.integers(len(lines))
        words = lines[line].split(separator)
        at = rng.integers(len(words) + 1)
        words[at : at + rng.integers(2)] = [str(rng.choice(_TOKENS)).encode()]
        lines[line] = separator.join(words)
    return b"\n".join(lines)


def _encoded(rng: np.random.Generator, content: bytes) -> bytes:
    return content.decode("latin-1").encode(str(rng.choice(_ENCODINGS)), "replace")


def broken(rng: np.random.Generator, content: bytes, text: bool) -> bytes:
    kind = rng.integers(8)
    if kind == 0:
        return content
    if kind == 1 and text:
        return _encoded(rng, content)
    if kind <= 4 and text:
        return _near_miss(rng, content)
    if kind == 5:
        special = (b"", b"\n", b"# nothing\n", b"\0" * 40, rng.bytes(60), b"1", b"PK\x03\x04" * 9)
        return special[rng.integers(len(special))]
    return mutated(rng, content)


def compressed(rng: np.random.Generator, content: bytes, suffix: str) -> bytes:
    """The file of a suffix: now and then of another compression, damaged, or a bomb."""
    kind = rng.integers(12)
    if kind == 0:
        suffix = str(rng.choice(list(COMPRESS)))
    if kind == 1 and suffix:
        return COMPRESS[suffix](rng.choice([b"\n", b"1", b"\0"]) * (BOUND + 1))
    packed = COMPRESS[suffix](content)
    return mutated(rng, packed) if kind == 2 and suffix else packed
