"""The processor that numba compiles for: this machine's, unless the environment names another.

With ``NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=`` (both: numba adds this machine's features to a
name alone) a machine with AVX-512 runs the code of one with AVX2, and ``nehalem`` that of SSE.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from llvmlite import binding
from numba.core.registry import cpu_target

#: Adds two vectors of 64 bytes, in as many instructions as a target needs for that.
_PROBE = """
define <16 x float> @probe(<16 x float> %a) {
  %b = fadd <16 x float> %a, %a
  ret <16 x float> %b
}
"""


class Vectors(NamedTuple):
    """Vector registers of a processor: bytes of each, and how many there are."""

    bytes: int
    registers: int


def target_name() -> tuple[str, str, str]:
    """Triple, processor and features that numba compiles for."""
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    return triple, name, features


@cache
def target_vectors() -> Vectors:
    """Vectors of the processor that numba compiles for, as its compiler uses them."""
    triple, name, features = target_name()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_PROBE))
    if "zmm" in assembly:
        return Vectors(64, 32)
    if "ymm" in assembly:
        return Vectors(32, 16)
    return Vectors(16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
