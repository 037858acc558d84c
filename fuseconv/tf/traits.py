"""What TF ops have in common: kinds that more than one module goes by. What a single rule needs stands there."""

from __future__ import annotations

LOOPS = frozenset({"tf.While", "tf.StatelessWhile"})
BRANCHES = frozenset({"tf.If", "tf.StatelessIf"})
CASES = frozenset({"tf.Case", "tf.StatelessCase"})
CALLS = frozenset({"tf.PartitionedCall", "tf.StatefulPartitionedCall"})
# Ops that run their functions on their own operands. What others do with theirs (a reducer, say) is not known.
RUNNERS = LOOPS | BRANCHES | CASES | CALLS
# TF1's control flow, which is made of ops in one graph; and the same on references.
STEERING = frozenset({"tf.Enter", "tf.Exit", "tf.LoopCond", "tf.Merge", "tf.NextIteration", "tf.Switch"})
TF1_CONTROL_FLOW = STEERING | {"tf.RefEnter", "tf.RefExit", "tf.RefMerge", "tf.RefNextIteration", "tf.RefSwitch"}

# Ops of which each result is the operand at its place.
FORWARDS = frozenset({
    "tf.Identity", "tf.IdentityN", "tf.StopGradient", "tf.PreventGradient", "tf.Snapshot", "tf.CheckNumerics",
    "tf.EnsureShape", "tf.PlaceholderWithDefault", "tf.Print",
})  # fmt: skip
VARIABLES = frozenset({"tf.VarHandleOp", "tf.VariableV2", "tf.Variable"})
FIXED_TABLES = frozenset({"tf.HashTableV2", "tf.HashTable"})
TABLES = FIXED_TABLES | {"tf.MutableHashTableV2", "tf.MutableHashTable"}
# Ops that fill a table with what the loader has read from the model: the contents that it then has for good.
TABLE_IMPORTS = frozenset({
    "tf.LookupTableImportV2", "tf.LookupTableImport", "tf.InitializeTableV2", "tf.InitializeTable",
    "tf.InitializeTableFromTextFileV2", "tf.InitializeTableFromTextFile",
})  # fmt: skip
TABLE_READS = frozenset({
    "tf.LookupTableFindV2", "tf.LookupTableFind", "tf.LookupTableSizeV2", "tf.LookupTableSize",
})  # fmt: skip
EMPTY_LISTS = frozenset({"tf.TensorListReserve", "tf.EmptyTensorList"})

ADDS = frozenset({"tf.Add", "tf.AddV2"})
COMMUTATIVE = ADDS | {
    "tf.Mul", "tf.Maximum", "tf.Minimum", "tf.SquaredDifference", "tf.Equal", "tf.NotEqual", "tf.LogicalAnd",
    "tf.LogicalOr",
}  # fmt: skip
DIVISIONS = frozenset({"tf.Div", "tf.RealDiv"})
# Ops that make one element of those along dimensions, with an attribute keep_dims.
REDUCTIONS = frozenset({"tf.All", "tf.Any", "tf.Max", "tf.Mean", "tf.Min", "tf.Prod", "tf.Sum"})
COMPARISONS = frozenset({"tf.Less", "tf.LessEqual", "tf.Greater", "tf.GreaterEqual"})
EQUALITIES = frozenset({"tf.Equal", "tf.NotEqual"})
ROUNDING = frozenset({"tf.Ceil", "tf.Floor", "tf.Rint", "tf.Round"})
SELECTS = frozenset({"tf.Select", "tf.SelectV2"})
PRODUCTS = frozenset({"tf.MatMul", "tf.BatchMatMul", "tf.BatchMatMulV2", "tf.BatchMatMulV3", "tf.Einsum"})
CONVOLUTIONS = frozenset({"tf.Conv2D", "tf.Conv3D", "tf.DepthwiseConv2dNative"})
# Ops whose results are constants but for their sizes.
FILLS = frozenset({"tf.Fill", "tf.OnesLike", "tf.ZerosLike"})

# Ops that give the elements of their first operand another shape, in their order.
RESHAPES = frozenset({"tf.ExpandDims", "tf.Reshape", "tf.Squeeze"})
# Ops that give some or all of its elements, each once.
SLICES = frozenset({"tf.Slice", "tf.StridedSlice"})
TAKES = SLICES | {"tf.Split", "tf.SplitV"}
REPEATS = frozenset({"tf.BroadcastTo", "tf.Tile"})
# Ops that give each element of their first operand once, in another order.
REORDERS = frozenset({"tf.RandomShuffle", "tf.Reverse", "tf.ReverseV2", "tf.Roll"})
# Ops that give other integers for other ones, in the same places.
INJECTIVE = frozenset({"tf.Neg", "tf.Invert"})


def node_ops(kinds: frozenset[str]) -> frozenset[str]:
    """Return what nodes of these kinds are in a GraphDef, which is no IR yet: tf.If -> If."""
    return frozenset(kind.removeprefix("tf.") for kind in kinds)
