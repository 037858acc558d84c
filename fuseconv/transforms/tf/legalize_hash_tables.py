"""Legalize tables of types that TFLite has no tables of -> tables that find a row, and GATHER of the rows.

TFLite's tables lead from strings to int64 and from int64 to strings. So a string leads to the number of its row, and a
whole number to the number of its row written out, which leads to that number.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Table, Value, constant
from fuseconv.ir.terms import op_of
from fuseconv.ir.types import DType
from fuseconv.pass_manager import rewrite_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import TABLE_READS, TABLES

_NATIVE = frozenset({(types.STRING, types.INT64), (types.INT64, types.STRING)})
_KEYS = frozenset({types.STRING, types.INT64, types.INT32})
_VALUES = frozenset({types.STRING, types.INT64, types.INT32, types.FLOAT32, types.BOOL})


@rewrite_pass("legalize-hash-tables", TABLE_READS)
def legalize_hash_tables(op: Op, out: list[Op], module: Module, report: Report) -> list[Value] | None:
    """Look up rows in tables of types that TFLite lacks: find(table, x) -> GATHER(values, find(row_numbers, x)).

    The model must say what the tables hold."""
    table = _table(op, module)
    if table is None:
        return None
    if "Size" in op.type:
        report.record("folded", "legalize-hash-tables", op.sources, why="the model says what the table holds")
        return [_size(table)]
    return [_Lookup(TfBuilder(out, op), table, module).find(*op.operands[1:])]


def _table(op: Op, module: Module) -> Table | None:
    """Return the table that an op reads, if it is one to take apart."""
    handle = op_of(op.operands[0], TABLES)
    if handle is None:
        return None
    table = module.tables[handle.attrs["shared_name"]]
    key, value = table.key_dtype, table.value_dtype
    told = table.keys is not None and table.values is not None
    if not told or key not in _KEYS or value not in _VALUES:
        return None
    # A file cannot fill a table with nothing.
    return table if np.asarray(table.keys).size == 0 or (key, value) not in _NATIVE else None


def _size(table: Table) -> Value:
    return constant(np.int64(np.asarray(table.keys).size), types.INT64, table.name)


class _Lookup:
    """Writes the lookups of one table at one place."""

    def __init__(self, tf: TfBuilder, table: Table, module: Module) -> None:
        self.tf = tf
        self.table = table
        self.module = module

    def find(self, keys: Value | None, default: Value | None) -> Value:
        """Return the values of keys of any shape."""
        assert keys is not None and default is not None
        tf, table = self.tf, self.table
        if not np.asarray(table.keys).size:
            return tf.Fill(tf.shape(keys), default, dtype=table.value_dtype)
        row, names = keys, np.asarray(table.keys).reshape(-1)
        rows = np.arange(names.size)
        missing = constant(np.int64(names.size), types.INT64, table.name)
        if table.key_dtype is not types.STRING:
            row = keys if keys.dtype is types.INT64 else tf.Cast(keys, dtype=types.INT64)
            numbers, names = names.astype(np.int64), np.array([str(number).encode() for number in rows], object)
            none = constant(np.array(b"", object), types.STRING, table.name)
            row = self.look_up("numbers", types.INT64, types.STRING, numbers, names, row, none)
        row = self.look_up("rows", types.STRING, types.INT64, names, rows.astype(np.int64), row, missing)
        values = constant(np.asarray(table.values).reshape(-1), table.value_dtype, table.name)
        every = tf.ConcatV2(values, tf.Reshape(default, [1]), 0)
        return tf.GatherV2(every, row, 0)

    def look_up(
        self, part: str, key: DType, value: DType, keys: np.ndarray, values: np.ndarray, wanted: Value, none: Value
    ) -> Value:
        name = f"{self.table.name} {part}"
        self.module.tables[name] = Table(name, key, value, keys, values)
        attrs = {"shared_name": name, "key_dtype": key, "value_dtype": value}
        handle = self.tf.add("HashTableV2", [], attrs, types.RESOURCE)
        return self.tf.LookupTableFindV2(handle, wanted, none, dtype=value)
