"""Build the tf ops of a Keras model's layers, each with its shape and a name in the layer's scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import budget
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import DType
from fuseconv.load.op_defs import OpDefs
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.shape_functions import infer
from fuseconv.tf.symbolic_content import content

_MOST_OPERATIONS = 1 << 20


class LayerBuilder(TfBuilder):
    """A builder whose ops are named `scope/kind`, carry no attribute that is a default, and know their shapes.

    scope: the names of the model and the layer, as TensorFlow's name scopes are."""

    def __init__(self, op_defs: OpDefs) -> None:
        super().__init__([], Op("tf.NoOp"))
        self.op_defs = op_defs
        self.scope = ""
        self._names: Counter[str] = Counter()
        self._left = budget.most_operations(_MOST_OPERATIONS)

    def add(
        self,
        kind: str,
        operands: Sequence[Value | None],
        attrs: dict[str, Any],
        dtype: DType,
        shape: Shape | None = None,
    ) -> Value:
        return self.several(kind, operands, attrs, [dtype], shape)[0]

    def several(
        self,
        kind: str,
        operands: Sequence[Value | None],
        attrs: dict[str, Any],
        dtypes: Sequence[DType],
        shape: Shape | None = None,
    ) -> list[Value]:
        """Append an op with a result of each of these types. Raises InputError at more ops than the file justifies."""
        self.spend()
        name = self.unique(f"{self.scope}/{kind}")
        op = Op(f"tf.{kind}", operands, self._told(kind, attrs), name, (name,))
        self.out.append(op)
        results = [op.add_result(dtype, None) for dtype in dtypes]
        for result, inferred in zip(results, infer(op) or [None] * len(results)):
            result.shape = inferred if shape is None else shape
        for result, elements in zip(results, content(op)):
            result.content = elements
        return results

    def spend(self) -> None:
        """Count an op, or a call of a layer, which may make none. Raises InputError at more than the file justifies."""
        self._left -= 1
        if self._left < 0:
            raise InputError("its layers make more operations than a file of its size justifies.")

    def _told(self, kind: str, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes that are to be said: none that is a default."""
        op_def = self.op_defs.get(kind)
        if op_def is None or not attrs.keys() <= op_def.attr_types.keys():
            raise TypeError(f"{kind} has no such attributes: {', '.join(attrs)}")
        told = {key: list(value) if isinstance(value, tuple) else value for key, value in attrs.items()}
        defaults = op_def.defaults
        return {key: value for key, value in told.items() if key not in defaults or value != defaults[key]}

    def unique(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        count = self._names[name]
        self._names[name] += 1
        return f"{name}_{count}" if count else name

    def split(self, value: Value, count: int, axis: int) -> list[Value]:
        return self.several("Split", [self.ints(axis), value], {}, [value.dtype] * count)

    def ints(self, numbers: int | Sequence[Any]) -> Value:
        return constant(np.array(numbers, np.int32), name=f"{self.scope}/Const")

    def number(self, value: float, dtype: DType) -> Value:
        """Return a scalar constant of a type."""
        return constant(np.array(value, dtype.numpy), dtype, f"{self.scope}/Const")

    def array(self, values: Any, dtype: DType) -> Value:
        """Return a constant of a type. Raises InputError if the conversion has no room for it."""
        name = f"{self.scope}/Const"
        budget.require_elements(np.shape(values), dtype.numpy, name)
        return constant(np.asarray(values, dtype.numpy), dtype, name)

    def reshaped(self, x: Value, dims: Sequence[Any]) -> Value:
        """Reshape to dimensions of which ints are known, and others are values or positions ("2") of those of x."""
        sizes: list[Value] = []
        for dim in dims:
            sizes.append(dim if isinstance(dim, Value) else self.ints(dim) if isinstance(dim, int) else
                         self.dim(x, int(dim)))  # fmt: skip
        if all(size.is_const for size in sizes):
            return self.Reshape(x, self.ints([int(size.data) for size in sizes]))  # type: ignore[arg-type]
        return self.Reshape(x, self.Pack(*sizes))

    def dim(self, x: Value, axis: int) -> Value:
        """Return a size as a scalar; a constant if it is known."""
        assert x.shape is not None
        size = x.shape[axis]
        return self.ints(size) if isinstance(size, int) else self.size(x, axis % len(x.shape))
