"""The tensors of one subgraph -> values of the IR."""

from __future__ import annotations

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym, fresh, symbol
from fuseconv.ir.graph import Quantization, Value, constant
from fuseconv.ir.types import DType
from fuseconv.load.tflite.buffers import Buffers
from fuseconv.load.tflite.table_decoder import DamagedError, Table
from fuseconv.tfl import schema
from fuseconv.tfl.kernel_limits import LARGEST_SIZE

# What to do with numbers that are read nowhere.
_FLOATS = "begin with the file of floats"
_DTYPES = {dtype.tflite: dtype for dtype in (*types.ALL, types.INT4) if dtype.tflite is not None}
_MAX_RANK = 254
# By which the constants of all subgraphs are told apart.
Constants = dict[tuple, Value]
_BLOCKWISE = schema.enum_number("QuantizationDetails", "BlockwiseQuantization")


class Tensors:
    """The tensors of a subgraph: a value for each once it is known where it comes from.

    constants: those of all subgraphs, which share them."""

    def __init__(self, tables: list[Table], buffers: Buffers, constants: Constants) -> None:
        self.tables, self.buffers, self.constants = tables, buffers, constants
        self.values: dict[int, Value] = {}
        self._signatures: dict[int, list[int] | None] = {}

    def name(self, index: int) -> str:
        return self._table(index).text("name") or ""

    def given(self, index: int) -> Value:
        """Return the value of an input. Unknown sizes get names."""
        table = self._table(index)
        if self._has_contents(table):
            raise DamagedError(f"the input {self.name(index)} has contents")
        return self._new(index, self.stored_shape(index, named=True))

    def made(self, index: int, inferred: Shape | None) -> Value:
        """Return the value of a result. inferred: its shape as the operands tell it; None if they do not."""
        if self._has_contents(self._table(index)):
            raise DamagedError(f"the result {self.name(index)} has contents already")
        return self._new(index, self._shape(index, inferred))

    def read(self, index: int) -> Value:
        """Read a tensor as a value: an input, a result, a constant, or a variable that keeps its contents. Raises
        DamagedError for one that nothing makes."""
        if index not in self.values:
            table = self._table(index)
            if table.number("is_variable") and not self._has_contents(table):
                return self._new(index, self.stored_shape(index))
            self.values[index] = self._constant(index, table)
        return self.values[index]

    def unmade(self, index: int) -> Value:
        """Return the value of a tensor that an op uses for itself."""
        return self.values[index] if index in self.values else self._new(index, self.stored_shape(index))

    def _table(self, index: int) -> Table:
        if not 0 <= index < len(self.tables):
            raise DamagedError(f"a subgraph refers to a tensor {index}, which it does not have")
        return self.tables[index]

    def _has_contents(self, table: Table) -> bool:
        return self.buffers.size(table.number("buffer")) > 0

    def _new(self, index: int, shape: Shape | None) -> Value:
        if index in self.values:
            raise DamagedError(f"the tensor {self.name(index)} is made or read twice before it is made")
        table = self._table(index)
        value = self.values[index] = Value(self.dtype(index), shape, self.name(index))
        value.variable = table.number("is_variable")
        value.quantization = _quantization(table, self.name(index), value.rank)
        return value

    def dtype(self, index: int) -> DType:
        table = self._table(index)
        number = table.number("type")
        if number not in _DTYPES:
            kind = schema.enum_name("TensorType", number)
            raise InputError(f"the tensor {self.name(index)} is of the type {kind}, which is not read: {_FLOATS}")
        if "sparsity" in table:
            what = "stores those elements alone that are not zero: convert without sparsity"
            raise InputError(f"the tensor {self.name(index)} {what}")
        if table.number("external_buffer"):
            what = "has its contents in another file, which is not read: write both as one"
            raise InputError(f"the tensor {self.name(index)} {what}")
        return _DTYPES[number]

    def _constant(self, index: int, table: Table) -> Value:
        name, dtype, shape = self.name(index), self.dtype(index), self._static_shape(index)
        if not self._has_contents(table) and 0 not in shape:
            raise DamagedError(f"the tensor {name} is read, but nothing makes it")
        if table.number("is_variable"):
            raise DamagedError(f"the variable {name} has contents")
        how = self._blocks(table, name, shape) or _quantization(table, name, len(shape))
        key = table.number("buffer"), dtype, shape, how
        if key not in self.constants:
            array = self.buffers.array(table.number("buffer"), dtype, shape)
            made = self.constants[key] = constant(array, dtype, name)
            made.quantization = how
        return self.constants[key]

    def _blocks(self, table: Table, name: str, shape: tuple[int, ...]) -> Quantization | None:
        """Return the scales of weights in blocks; None of other tensors."""
        how = table.table("quantization", "QuantizationParameters")
        if how is None or how.number("details_type") != _BLOCKWISE:
            return None
        details = how.table("details", "BlockwiseQuantization")
        if details is None or details.number("zero_points") != -1 or details.ints("block_shape") or len(shape) != 2:
            raise InputError(f"the tensor {name} is quantized in blocks with zero points or other shapes: {_FLOATS}")
        index, size = details.number("scales"), details.number("block_size")
        inner = self._table(index).table("quantization", "QuantizationParameters")
        if inner is not None and inner.number("details_type"):
            raise DamagedError(f"the scales of the tensor {name} have scales in blocks")
        scales = self.read(index)
        if size <= 0 or shape[1] % size or not scales.is_const or scales.shape != (shape[0], shape[1] // size):
            raise DamagedError(f"the tensor {name} {list(shape)} has blocks of {size} with scales {scales.shape}")
        return Quantization((), (), 0, scales)

    def _static_shape(self, index: int) -> tuple[int, ...]:
        shape = self._table(index).ints("shape")
        if len(shape) > _MAX_RANK or any(not 0 <= dim <= LARGEST_SIZE for dim in shape):
            raise DamagedError(f"the tensor {self.name(index)} has the shape {shape[:9]}")
        return tuple(shape)

    def _dims(self, index: int) -> list[int] | None:
        """Return the shape that a file tells, with -1 for sizes that are not known; None if it does not tell the rank.
        """
        table, shape = self._table(index), self._static_shape(index)
        signature = table.ints("shape_signature")
        if len(signature) not in (0, len(shape)):
            raise DamagedError(f"the tensor {self.name(index)} has two shapes of different ranks")
        if signature:
            return [dim if told >= 0 else -1 for dim, told in zip(shape, signature)]
        return list(shape) if shape or table.number("has_rank") else None

    def stored_shape(self, index: int, named: bool = False) -> Shape | None:
        """Return the shape that a file tells. named: unknown sizes are those of an input."""
        dims = self._dims(index)
        if dims is None:
            return None
        return tuple(
            dim if dim >= 0 else symbol(f"tensor_{index}.{axis}") if named else fresh() for axis, dim in enumerate(dims)
        )

    def _shape(self, index: int, inferred: Shape | None) -> Shape | None:
        """Return the shape of a result: as the operands tell it, but for sizes that the file says are not known."""
        dims = self._dims(index)
        signed = bool(self._table(index).ints("shape_signature"))
        if inferred is None or (dims is not None and len(dims) != len(inferred)):
            return self.stored_shape(index)
        if dims is None or not signed:
            return inferred
        return tuple(
            (known if isinstance(known, Sym) else fresh()) if dim < 0 else dim for dim, known in zip(dims, inferred)
        )


def _quantization(table: Table, name: str, rank: int | None) -> Quantization | None:
    """Return scales and zero points of a tensor; None if it has no scale. (Ranges alone say nothing to a runtime.)"""
    how = table.table("quantization", "QuantizationParameters")
    if how is None:
        return None
    if how.number("details_type"):
        kind = schema.enum_name("QuantizationDetails", how.number("details_type"))
        raise InputError(f"the tensor {name} is quantized by {kind}, which is not read: {_FLOATS}")
    scale, zero_point = how.array("scale", np.float32), how.array("zero_point", np.int64)
    axis = how.number("quantized_dimension")
    if not len(scale):
        return None
    if len(zero_point) not in (0, len(scale)) or (len(scale) > 1 and not 0 <= axis < (rank or 0)):
        raise DamagedError(f"the tensor {name} has {len(scale)} scales, {len(zero_point)} zero points, axis {axis}")
    if not (np.isfinite(scale) & (scale > 0)).all():  # kernels look up tables and places by them, or abort
        raise DamagedError(f"the tensor {name} has scales that are no positive numbers")
    return Quantization(tuple(scale.tolist()), tuple(zero_point.tolist()) or (0,) * len(scale), axis)
