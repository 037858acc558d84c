"""Coverage of TF ops: lowered by a rule, handled by an earlier pass, or unsupported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fuseconv.lower.engine.custom import flex_ops
from fuseconv.lower.engine.unsupported_ops import reasons

# What becomes of ops before rules are asked, each sentence with the ops that it speaks of.
_BY_PASSES = {
    "A part of the graph from the start: a constant, an input, a value handed on.": "Const Placeholder PlaceholderV2",
    "The function that it calls takes its place.": "PartitionedCall StatefulPartitionedCall",
    "One If inside the other.": "Case StatelessCase",
    "The operations that Grappler, or TensorFlow 1's Graph Transform Tool, put into it.": """
        FusedPadConv2D FusedResizeAndPadConv2D _FusedBatchNormEx _FusedConv2D _FusedConv3D _FusedDepthwiseConv2dNative
        _FusedMatMul""",
    "The loop over the steps that it computes, which is fused like any other.": """
        BlockLSTM BlockLSTMV2 CudnnRNN CudnnRNNV2 CudnnRNNV3""",
    "TensorFlow 1's loops and branches become While and If.": "Enter Exit LoopCond Merge NextIteration Switch",
    "Nothing: a converted model neither checks nor logs. The report lists it as removed.": """
        Assert NoOp Print PrintV2 AudioSummary AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary
        TensorSummary TensorSummaryV2 Timestamp""",
    "An op on a list of tensors, of which the list's op makes use.": """
        TensorArrayV3 TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3
        TensorArraySizeV3 TensorArraySplitV3 TensorArrayWriteV3""",
    "Rows of a ragged tensor in a loop, such as `tf.map_fn`'s, become parts of a tensor.": """
        RaggedTensorFromVariant RaggedTensorToVariant""",
    "The list is one tensor, with a dimension for its elements.": """
        EmptyTensorList TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListElementShape
        TensorListFromTensor TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack
        TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2
        TensorListSetItem TensorListSplit TensorListStack""",
    "READ_VARIABLE, what it computes, and ASSIGN_VARIABLE.": """
        AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd ResourceScatterMax ResourceScatterMin
        ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate
        ResourceScatterSub ResourceScatterUpdate ResourceStridedSliceAssign""",
    "READ_VARIABLE, the arithmetic of the step, and ASSIGN_VARIABLE.": """
        ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdam
        ResourceApplyAdamWithAmsgrad ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
        ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyRMSProp
        ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl
        ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
        ResourceSparseApplyRMSProp""",
    "An op on the value of the variable.": "ResourceGather ResourceGatherNd VariableShape VarIsInitializedOp",
    "HASHTABLE_IMPORT, in the function that runs once.": """
        InitializeTable InitializeTableV2 InitializeTableFromTextFile InitializeTableFromTextFileV2 LookupTableImport
        LookupTableImportV2""",
}


def known_ops(rules: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each TF op with a known status, sorted by op, with the keys of `report.listing.rule_rows`.

    Each row has a `"status"` too: "rule", "pass" (something before the rules takes care of it) or "unsupported", of
    which the summary says why; and `"select_tf_ops"`, whether the Flex delegate runs the op."""
    rows = {str(row["op"]): {**row, "status": "rule"} for row in rules}
    for status, sentences in (("pass", _BY_PASSES), ("unsupported", reasons())):
        for why, ops in sentences.items():
            for op in ops.split():
                nothing = {"op": op, "status": status, "emits": [], "attributes": [], "summary": why, "origin": ""}
                rows.setdefault(op, nothing)
    return [{**rows[op], "select_tf_ops": op in flex_ops()} for op in sorted(rows)]
