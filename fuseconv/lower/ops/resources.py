"""Variables that the model writes, and hash tables."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.lower.rules import lowers, require

_KEYS_TO_VALUES = ((types.STRING, types.INT64), (types.INT64, types.STRING))


@lowers
def VarHandleOp(tfl, *, shared_name, dtype=None, shape=None):
    """VAR_HANDLE; the variable gets its value from the checkpoint in a subgraph that CALL_ONCE runs."""
    require(dtype is not types.STRING, "TFLite's variables hold no strings")
    return tfl.var_handle(shared_name=shared_name)


@lowers
def ReadVariableOp(tfl, handle, *, dtype=None):
    """READ_VARIABLE."""
    # The kernel copies as many bytes as the result's shape says at the start, whatever the variable holds.
    require(is_static(tfl.shape), "the variable's shape is not fixed, and READ_VARIABLE must know it beforehand")
    return tfl.read_variable(handle, results=[(tfl.dtype, tfl.shape)])


@lowers
def AssignVariableOp(tfl, handle, value, *, dtype=None):
    """ASSIGN_VARIABLE."""
    tfl.assign_variable(handle, value)
    return []


@lowers
def HashTableV2(tfl, *, key_dtype, value_dtype, table_id, use_node_name_sharing=False):
    """HASHTABLE; CALL_ONCE runs a subgraph that fills the table."""
    require(
        (key_dtype, value_dtype) in _KEYS_TO_VALUES,
        f"a table from {key_dtype} to {value_dtype}: TFLite has tables from string to int64 and from int64 to string",
    )
    return tfl.hashtable(table_id=table_id, key_dtype=key_dtype.name.upper(), value_dtype=value_dtype.name.upper())


@lowers
def LookupTableFindV2(tfl, table, keys, default):
    """HASHTABLE_FIND."""
    require(default.rank == 0, "the default of a table must be a scalar")
    return tfl.hashtable_find(table, keys, default)


@lowers
def LookupTableSizeV2(tfl, table):
    """HASHTABLE_SIZE."""
    return tfl.reshape(tfl.hashtable_size(table), [])
