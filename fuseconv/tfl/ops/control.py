"""Control flow, variables, tables, random numbers and box selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, fresh
from fuseconv.ir.graph import FuncRef, Value
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.type_inference import merge, scalar, sizes_of


@op("IfOptions")
def if_(
    condition: Value,
    *xs: Value,
    then_subgraph_index: FuncRef,
    else_subgraph_index: FuncRef,
    results: list[ResultType],
) -> list[ResultType]:
    """Run one of two functions on xs."""
    return results


@op("WhileOptions")
def while_(
    *xs: Value,
    cond_subgraph_index: FuncRef,
    body_subgraph_index: FuncRef,
    results: list[ResultType] | None = None,
) -> list[ResultType]:
    """Run body on the values while cond of them holds. `results` are needed if the shapes change on the way."""
    return [(x.dtype, x.shape) for x in xs] if results is None else results


@op("CallOnceOptions")
def call_once(*, init_subgraph_index: FuncRef) -> list[ResultType]:
    """Run a function without operands and results, on the first invoke only."""
    return []


@op("StableHLOCompositeOptions")
def stablehlo_composite(
    *xs: Value,
    name: str,
    decomposition_subgraph_index: FuncRef,
    composite_attributes: Mapping[str, Any] | bytes | None = None,
    version: int = 0,
    results: list[ResultType],
) -> list[ResultType]:
    """Compute what has a name by a function of xs, for runtimes that do not know the name. `Builder.composite` makes
    the function."""
    return results


@op("VarHandleOptions")
def var_handle(*, container: str | None = None, shared_name: str | None = None) -> ResultType:
    return types.RESOURCE, ()


@op("ReadVariableOptions")
def read_variable(handle: Value, *, results: list[ResultType]) -> ResultType:
    return results[0]


@op("AssignVariableOptions")
def assign_variable(handle: Value, value: Value) -> list[ResultType]:
    return []


@op("HashtableOptions")
def hashtable(*, table_id: int = 0, key_dtype: str = "FLOAT32", value_dtype: str = "FLOAT32") -> ResultType:
    return types.RESOURCE, (1,)


@op("HashtableFindOptions")
def hashtable_find(table: Value, keys: Value, default_value: Value) -> ResultType:
    return default_value.dtype, keys.shape


@op("HashtableImportOptions")
def hashtable_import(table: Value, keys: Value, values: Value) -> list[ResultType]:
    return []


@op("HashtableSizeOptions")
def hashtable_size(table: Value) -> ResultType:
    return types.INT64, (1,)


@op("RandomOptions", ranks="1")
def random_uniform(shape: Index, *, seed: int = 0, seed2: int = 0) -> ResultType:
    return types.FLOAT32, sizes_of(shape)


@op("RandomOptions", ranks="1")
def random_standard_normal(shape: Index, *, seed: int = 0, seed2: int = 0) -> ResultType:
    return types.FLOAT32, sizes_of(shape)


@op("RandomOptions", ranks="2 one")
def multinomial(
    logits: Value, num_samples: Index, *, seed: int = 0, seed2: int = 0, results: list[ResultType] | None = None
) -> ResultType:
    """logits [batch, classes] -> [batch, num_samples] of int64; of int32 if `results` say so."""
    if results is not None:
        return results[0]
    if logits.shape is None:
        return types.INT64, None
    return types.INT64, (logits.shape[0], known(num_samples))


def _boxes(boxes: Value, scores: Value, max_output_size: Value) -> Dim:
    """Return how many of the boxes [n, 4] are selected. Raises ShapeError unless scores are [n]."""
    if boxes.shape is not None:
        merge((boxes.shape[1], 4))
        merge((boxes.shape[0], *(scores.shape or ())))
    return known(max_output_size)


def known(value: Value) -> Dim:
    """Return what a scalar operand says, or an unknown size."""
    size = scalar(value)
    return fresh() if size is None else size


@op("NonMaxSuppressionV4Options", ranks="2 1 0 0 0")
def non_max_suppression_v4(
    boxes: Value, scores: Value, max_output_size: Index, iou_threshold: Value, score_threshold: Value
) -> list[ResultType]:
    """boxes [n, 4], scores [n] -> indices of the selected [max_output_size], padded with 0, and how many they are."""
    return [(types.INT32, (_boxes(boxes, scores, max_output_size),)), (types.INT32, ())]


@op("NonMaxSuppressionV5Options", ranks="2 1 0 0 0 0")
def non_max_suppression_v5(
    boxes: Value,
    scores: Value,
    max_output_size: Index,
    iou_threshold: Value,
    score_threshold: Value,
    soft_nms_sigma: Value,
) -> list[ResultType]:
    """As V4, with the scores of the selected [max_output_size] as the second of three results."""
    shape = (_boxes(boxes, scores, max_output_size),)
    return [(types.INT32, shape), (types.FLOAT32, shape), (types.INT32, ())]
