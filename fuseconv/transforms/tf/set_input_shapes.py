"""Fix the shapes of a model's inputs as the user asks."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.input_shapes import full_names, given_to, named, read_shapes
from fuseconv.ir import dims
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.kernel_limits import LARGEST_SIZE


@module_pass("set-input-shapes")
def set_input_shapes(module: Module, input_shapes: Mapping[str, Sequence[int | None]], batch_size: int | None) -> bool:
    """Fix the shapes of inputs as the user asks: x: float32[x.0,28] -> x: float32[1,28].

    input_shapes: by the signature's names, or `signature/input`; None stays unknown. batch_size: of every first
    dimension that is unknown still. Returns whether a shape changed. Raises InputError for a name or a shape that does
    not fit."""
    batch_size = None if batch_size is None else _size(batch_size)
    known = [name for signature in module.signatures for name in signature.inputs]
    input_shapes = named(read_shapes(input_shapes), known)
    if batch_size is not None and batch_size < 1:
        raise InputError(f"a batch size of {batch_size} makes no sense; it must be at least 1")
    given = [batch_size, *(dim for shape in input_shapes.values() for dim in shape)]
    if any(dim is not None and dim > LARGEST_SIZE for dim in given):
        raise InputError(f"an input of the size {max(filter(None, given))} is too large: TFLite counts in 32 bits")
    before = [value.shape for signature in module.signatures for value in signature.graph.inputs]
    for signature in module.signatures:
        which = f" of the signature {signature.names[0]}" if len(module.signatures) > 1 else ""
        wanted = given_to(signature.names, signature.inputs, input_shapes)
        for name, value in zip(signature.inputs, signature.graph.inputs):
            if name in wanted:
                value.shape = _fixed(name, value, wanted[name], which)
            if batch_size is not None and value.shape and not isinstance(value.shape[0], int):
                value.shape = (batch_size, *value.shape[1:])
    all_names = {name for s in module.signatures for name in full_names(s.names, s.inputs)}
    for name in input_shapes:
        if name not in all_names:
            raise InputError(f"the model has no input {name}{suggestion_or_all(name, known)}")
    return before != [value.shape for signature in module.signatures for value in signature.graph.inputs]


def _size(size: object) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise InputError(f"the size {size!r} is no whole number")
    return operator.index(size)


def _fixed(name: str, value: Value, wanted: Sequence[int | None], which: str) -> Shape:
    """Return the shape of an input with these sizes; None leaves one open. which: of several signatures, in words.
    Raises InputError for one that the model declares otherwise."""
    text = ",".join("?" if dim is None else str(dim) for dim in wanted)
    if any(dim is not None and dim < 0 for dim in wanted):
        raise InputError(f"the shape {text} for {name} has a negative size")
    declared = value.shape if value.shape is not None else tuple(dims.symbol(f"{name}.{i}") for i in range(len(wanted)))
    clash = len(declared) != len(wanted) or any(
        isinstance(have, int) and want is not None and have != want for have, want in zip(declared, wanted)
    )
    if clash:
        have = ",".join(str(dim) if isinstance(dim, int) else "?" for dim in declared)
        raise InputError(f"the shape {text} does not fit the input {name}{which}, which the model declares as {have}")
    return tuple(have if want is None else want for have, want in zip(declared, wanted))
