"""Learn what a module says of the sizes of its arguments: their names, and which of them are equal.

JAX checks sizes that symbolic shapes relate, as `"b, 7"` and `"2*b"` do, by assertions at the head of a module,
and hands each dimension variable by its name to the function that computes. TFLite checks no sizes, so that an
assertion tells what a caller has to see to.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.ir.dims import Dim, Shape, Sym, substitute_dim, symbol
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.scope import text

# Sizes are not negative and fit into each type of integers that JAX counts in.
_ARITHMETIC: dict[str, Callable[..., Dim]] = {
    "add": operator.add, "convert": lambda size: size, "multiply": operator.mul, "subtract": operator.sub,
}  # fmt: skip
# Assertions that more sizes are equal are left to the caller: each costs a look at all before it.
_MOST_KNOWN = 256
# What JAX says of an argument that is a dimension variable.
_VARIABLE = "jax.global_constant"
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")


def argument_shapes(function: Operation, functions: Mapping[str, Operation]) -> list[Shape | None]:
    """Return the shapes of a function's arguments: a symbol for each size that is not known, the same one for equal
    sizes. None for an argument that is no tensor. Raises DamagedError if an op is not made as its kind is."""
    arguments = function.regions[0].arguments
    if all(isinstance(var.type, TensorType) and var.type.is_static for var in arguments):
        return [tuple(var.type.sizes) for var in arguments]
    try:
        facts = _Facts(function, functions)
        for op in function.regions[0].ops:
            facts.learn(op)
    except ILL_FITTING as error:
        raise DamagedError(f"what it says of the sizes of its arguments is ill-formed: {error!r}") from error
    return [facts.shape(index, var) for index, var in enumerate(arguments)]


class _Facts:
    """places: arguments by their variables. sizes: what scalars hold. dims: sizes by argument and dimension. equal: the
    sizes that comparisons compare. known: what symbols in any of these were asserted to be."""

    def __init__(self, function: Operation, functions: Mapping[str, Operation]) -> None:
        self.places = {var: index for index, var in enumerate(function.regions[0].arguments)}
        self.sizes: dict[Var, Dim] = {}
        self.dims: dict[tuple[int, int], Dim] = {}
        self.equal: dict[Var, tuple[Var, Var]] = {}
        self.known: dict[str, Dim] = {}
        taken: set[str] = set()
        for var, name in _variables(function, functions).items():
            place = self.place(var)
            if place is not None and name not in taken:
                self.dims[place] = symbol(name)
                taken.add(name)

    def place(self, var: Var) -> tuple[int, int] | None:
        """Return the argument and the dimension whose size a variable is."""
        op = var.op
        if op is None or op.name != "get_dimension_size" or op.operands[0] not in self.places:
            return None
        axis = op.attribute("dimension")
        return (self.places[op.operands[0]], axis) if isinstance(axis, int) else None

    def size(self, index: int, axis: int, var: Var) -> Dim:
        known = var.type.shape[axis]
        return self.dims.setdefault((index, axis), symbol(f"args_{index}.{axis}")) if known is None else known

    def shape(self, index: int, var: Var) -> Shape | None:
        if not isinstance(var.type, TensorType):
            return None
        return tuple(self.resolved(self.size(index, axis, var)) for axis in range(var.type.rank))

    def learn(self, op: Operation) -> None:
        if op.name == "get_dimension_size":
            place, source = self.place(op.results[0]), op.operands[0]
            if place is not None and isinstance(source.type, TensorType) and 0 <= place[1] < source.type.rank:
                self.sizes[op.results[0]] = self.size(*place, source)
        elif op.name == "constant":
            value = op.attribute("value")
            if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
                self.sizes[op.results[0]] = int(value)
        elif op.name in _ARITHMETIC and all(var in self.sizes for var in op.operands):
            if len(op.operands) != 1 + (op.name != "convert"):
                raise DamagedError(f"{op.name} has {len(op.operands)} operands")
            self.sizes[op.results[0]] = _ARITHMETIC[op.name](*(self.sizes[var] for var in op.operands))
        elif op.name == "compare" and op.attribute("comparison_direction") == "EQ":
            self.equal[op.results[0]] = (op.operands[0], op.operands[1])
        elif op.name == "custom_call" and op.attribute("call_target_name") == "shape_assertion":
            self.unify(*self.equal.get(op.operands[0], ()))

    def unify(self, *sides: Var) -> None:
        """Let a size that nothing is known of be what it is asserted to be, wherever it stands."""
        sizes = [self.resolved(self.sizes[var]) for var in sides if var in self.sizes]
        if len(sizes) < 2 or len(self.known) == _MOST_KNOWN:
            return
        for unknown, made in (sizes, sizes[::-1]):
            name = next(iter(unknown.symbols()), "") if isinstance(unknown, Sym) else ""
            if unknown == symbol(name) and not (isinstance(made, Sym) and name in made.symbols()):
                self.known = {other: substitute_dim(dim, {name: made}) for other, dim in self.known.items()}
                self.known[name] = made
                return

    def resolved(self, size: Dim) -> Dim:
        return substitute_dim(size, self.known) if self.known else size


def _variables(function: Operation, functions: Mapping[str, Operation]) -> dict[Var, str]:
    """Return the dimension variables that a function hands to others, by the names that these give them."""
    found: dict[Var, str] = {}
    for op in function.regions[0].ops:
        callee = functions.get(text(op.attribute("callee"))) if op.name == "call" else None
        said = callee.attribute("arg_attrs") if callee is not None and callee.has("arg_attrs") else None
        for var, attrs in zip(op.operands, said if isinstance(said, list) else []):
            name = attrs.get(_VARIABLE) if isinstance(attrs, dict) else None
            if isinstance(name, str) and _NAME.fullmatch(name):
                found.setdefault(var, name)
    return found
