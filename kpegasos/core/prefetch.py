"""Ask the processor for memory that is needed a few steps later.

Draws jump about in the data, so that each row would be waited for; but they are known ahead.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic


def _prefetch_in_python(array: Any, index: int) -> None:
    """Nothing to gain."""


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of ``array[index]`` for reading."""
    signature = types.void(array, index)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch.p0", fnty=ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        # To read; to be kept in all caches; data.
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return signature, codegen


_without_jit = config.DISABLE_JIT  # type: ignore[attr-defined]
prefetch: Any = _prefetch_in_python if _without_jit else intrinsic(_prefetch)
