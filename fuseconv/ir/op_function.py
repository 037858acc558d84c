"""Call functions that are written with a TF op's own signature: shape functions, numpy kernels, lowering rules.

Such a function carries the op's name; its positional parameters (after the context) are the operands, its keyword
parameters the attributes with TensorFlow's defaults. An attribute that the function does not name must hold its
default, which the IR tells by leaving it out; so nothing is ignored.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuseconv.ir.graph import Op

# Attributes that change how TensorFlow runs an op, not what it computes.
IRRELEVANT = frozenset({
    "use_cudnn_on_gpu", "validate_indices", "validate_shape", "parallel_iterations", "container", "shared_name",
    "message", "grad_a", "grad_b", "grad_x", "grad_y",
})  # fmt: skip


@dataclass(slots=True, eq=False)  # slots are read faster than the fields of a NamedTuple
class OpFunction:
    """A function with an op's signature. `attrs` are the attributes that it names."""

    op: str
    function: Callable[..., Any]
    attrs: frozenset[str]
    required: int
    most: float

    def unhandled(self, op: Op) -> str | None:
        """Return why the function does not serve this op: an attribute that it does not name, or a number of
        operands."""
        for name, value in () if self.attrs.issuperset(op.attrs) else op.attrs.items():
            if name not in self.attrs and name not in IRRELEVANT and not name.startswith("_"):
                return f"the attribute {name}={value!r} is not supported"
        if not self.required <= len(op.operands) <= self.most:
            most = "" if self.most == self.required else f" to {self.most}" if self.most < math.inf else " or more"
            return f"{len(op.operands)} operands are not supported; {self.required}{most} are"
        return None

    def __call__(self, context: Any, op: Op, operands: Any) -> Any:
        if not op.attrs:
            return self.function(context, *operands)
        attrs = op.attrs
        if not self.attrs.issuperset(attrs):
            attrs = {name: value for name, value in attrs.items() if name in self.attrs}
        return self.function(context, *operands, **attrs)


@functools.cache
def op_function(function: Callable[..., Any], name: str | None = None) -> OpFunction:
    """Read an op's signature off a function whose first parameter is the context."""
    plain = inspect.unwrap(function)
    # What `inspect.signature` reads too, which takes ten times as long; each process asks for a thousand.
    code = plain.__code__
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    variadic = bool(code.co_flags & inspect.CO_VARARGS)
    return OpFunction(
        name or function.__name__,
        function,
        frozenset(keywords),
        code.co_argcount - 1 - len(plain.__defaults__ or ()),
        float("inf") if variadic else code.co_argcount - 1,
    )
