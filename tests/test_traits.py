"""Sets of op names stand in the tables of traits; others are listed here, with why no trait expresses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fuseconv
from fuseconv.load.op_defs import op_names
from fuseconv.tf import traits as tf_traits
from fuseconv.tfl import traits as tfl_traits
from fuseconv.tfl.builder import TABLE

ROOT = Path(fuseconv.__file__).parent
TRAITS = ("tf/traits.py", "tfl/traits.py")
# Why a set is no trait -> the sets, by file and name. One that is gone must leave the list.
LEFT = {
    "names in a GraphDef, which is not IR yet": """
        load/initialization_graph.py:ASSIGNMENTS
        load/initialization_graph.py:_IDENTITIES load/frozen_graph.py:_PLACEHOLDERS load/frozen_graph.py:_FEEDERS
        load/frozen_graph.py:_NO_OUTPUTS load/graph_importer.py:_MERGES
        load/graph_importer.py:_NEXT_ITERATIONS""",
    "the ops that one function serves, declared for it": """quantize/raise_hybrid_products.py:_PARTS
        load/keras/layers/operations.py:_COMPARED
        tf/shape_functions/elementwise.py:UNARY
        tf/shape_functions/elementwise.py:LIKE_FIRST tf/shape_functions/elementwise.py:BINARY
        tf/shape_functions/elementwise.py:GRADIENTS tf/shape_functions/elementwise.py:_QUOTIENTS
        transforms/rnn/symbolic_step.py:_FUNCTIONS transforms/tf/decompose_grappler_kernels.py:_ACTIVATIONS
        transforms/tf/decompose_grappler_kernels.py:_PADDED transforms/tf/decompose_cudnn_rnn.py:_KINDS
        transforms/tf/tensor_list_info.py:_STACKS transforms/tf/tensor_list_info.py:JOINS
        transforms/tf/tensor_list_info.py:_GROWN transforms/tf/tensor_list_info.py:_STACK
        transforms/tf/appended_lists.py:_WRITES transforms/tf/propagate_splats.py:_DENSE
        transforms/tf/propagate_splats.py:_PADS transforms/tf/unify_sizes.py:_JOINS
        transforms/tf/decompose_tensor_arrays.py:_HANDS_ON tf/symbolic_content.py:_SHAPE_OPS
        transforms/tf/legalize_variables.py:_ON_VARIABLES tf/resource_alias.py:_READERS""",
    "traits joined with what one rule also takes": """fusions/affine_to_depthwise_conv.py:_TAKERS
        lower/support/legalize_operands.py:_LINEAR tf/batching_rules.py:MOVES
        transforms/tf/propagate_splats.py:_MOVES transforms/loops/horizontal_fusion.py:_ELEMENTWISE
        transforms/loops/bucketize_searches.py:_SPREADS
        transforms/tf/branch_results.py:_SCALAR_OPS transforms/tf/infer_input_ranks.py:_BROADCASTS
        quantize/balance_inputs.py:_LEAVES_INPUTS lower/support/uint64_as_int64.py:_SIGNLESS""",
    "a fact of numbers that one rule needs: bounded, monotonic, without rest, of one sign": """fusions/lerp.py:_BOUNDED
        fusions/reassociate_constants.py:_SMOOTH fusions/reassociate_constants.py:_STEPS lower/ops/fft.py:_ANGLES
        tf/batching_rules.py:_MAY_FAIL transforms/rnn/unrolled_steps.py:_LINEAR tf/symbolic_content.py:_COMPARING
        transforms/tf/demote_float64.py:_CHOOSING transforms/tf/bucketize_step_functions.py:_SCALING
        transforms/tf/demote_float64.py:_QUOTIENTS transforms/tf/fold_default_branches.py:_LOGIC
        transforms/tf/propagate_splats.py:_REDUCTIONS transforms/tfl/canonicalize_tfl.py:_CLAMPS
        transforms/tfl/canonicalize_tfl.py:_KEEPS_SIGNS transforms/tf/common_subexpression_elimination.py:_ZEROS
        quantize/fake_quant.py:_CLAMPS quantize/fake_quant.py:_AVERAGES quantize/raise_fake_quant.py:_ROUNDS
        quantize/precision.py:_HAND_ON quantize/precision.py:_ROUND quantize/precision.py:AVERAGES
        quantize/precision.py:_SHARP quantize/loops.py:_ACCUMULATE load/keras/layers/operations.py:_EXACT
        quantize/raise_fake_quant.py:_REPLACED quantize/shifts.py:_HAND_ON quantize/reduced_ranges.py:_SPREAD_NAN
        quantize/derived_ranges.py:_JOINS quantize/precision.py:_PICKS quantize/weights_to_int8.py:_SMALL_OF_SMALL
        quantize/whole_numbers.py:_ROUND quantize/whole_numbers.py:_KEEP quantize/whole_numbers.py:_SHARP
        transforms/tf/decompose_optimizers.py:_UNIQUE transforms/tf/reject_vector_signs.py:_DECOMPOSITIONS
        tf/integer_range.py:BOUNDS transforms/tf/int_range_optimizations.py:_LIMITS
        transforms/tf/reject_vector_signs.py:_DIAGONALS lower/support/uint64_as_int64.py:_ORDERED""",
    "a fact of sizes that one rule needs": """tf/folders/bounds.py:_MOVES fuse/sampling.py:_SHAPES
        transforms/tf/demote_float64.py:_COUNTS
        transforms/rnn/unrolled_steps.py:_SIZES transforms/tfl/fill_from_tensors.py:_SIZES
        transforms/tf/canonicalize.py:_NEVER_LARGER transforms/tfl/legalize_outputs.py:INDEXED
        transforms/tfl/legalize_outputs.py:SIZED_BY_DATA""",
    "a fact of kernels, or what pays off": """lower/ops/segment.py:_EXTREMES
        write/control_dependencies.py:_RUNS_FUNCTIONS
        tfl/linear.py:FUSED_ACTIVATIONS transforms/tfl/bubble_up_slices.py:_WORTH_A_SLICE
        transforms/tfl/canonicalize_tfl.py:_BROADCASTING transforms/tfl/canonicalize_tfl.py:_COMPARED_AND_SELECTED
        transforms/tfl/return_constants.py:_COPIES
        transforms/tfl/presize_states.py:_COMPUTED_AHEAD tfl/once.py:_KINDS tfl/integer.py:_SAME tfl/integer.py:_JOINED
        tfl/integer.py:NOT_NEGATIVE tfl/integer.py:READS_SHAPE quantize/lstm.py:_STATE_WRITERS
        quantize/rewriting.py:_POWERS_OF_TWO quantize/floats.py:EXPANDS
        tfl/kernel_limits.py:WANT_ELEMENTS tfl/kernel_limits.py:_READ_THEIR_TYPE
        quantize/channel_means.py:_PRODUCTS quantize/activations.py:_SLOW""",
    "ops of a file, which is not IR": """tfl/index_bounds.py:_HAND_ON tfl/index_bounds.py:_JOIN
        verification_layers.py:_CONVERSIONS quantize/existing.py:_CONVERT
        report/advice.py:_BOUNDS report/advice.py:_ON_IDS""",
    "what reads a variable that may be frozen": "transforms/tf/freeze_variables.py:_READS",
    "ir/ knows no dialect, but for the cycles of TF1's loops": "ir/verifier.py:_LOOP_HEADS",
}  # fmt: skip
_SETS = (ast.Set, ast.Tuple, ast.List, ast.BinOp)


def _sets(path: Path) -> Iterator[str]:
    """The names of a file's module-level sets, tuples and lists that hold op names, most of all."""
    known = {*op_names(), *TABLE}
    for statement in ast.parse(path.read_text()).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        value = statement.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("frozenset", "set", "tuple") and value.args:
            value = value.args[0]
        split = isinstance(value, ast.Call) and ast.unparse(value.func).endswith(".split")
        if not split and not isinstance(value, _SETS):
            continue
        texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and type(node.value) is str]
        names = [name.split(".")[-1] for text in texts for name in text.split()]
        ops = [name for name in names if name in known]
        if len(ops) > 1 and len(ops) >= 0.6 * len(names):
            yield statement.targets[0].id


def test_sets_of_op_names_are_traits_or_have_a_reason() -> None:
    files = {path: str(path.relative_to(ROOT)) for path in sorted(ROOT.rglob("*.py"))}
    found = {f"{file}:{name}" for path, file in files.items() if file not in TRAITS for name in _sets(path)}
    listed = {name for names in LEFT.values() for name in names.split()}
    assert found - listed == set(), "name a trait in tf/traits.py or tfl/traits.py, or give a reason here"
    assert listed - found == set(), "these are gone: take them off the list"


def test_traits_name_ops_that_exist() -> None:
    kinds = {f"tf.{name}" for name in op_names()}
    for name, trait in vars(tf_traits).items():
        if name.isupper():
            assert trait <= kinds, name
    for name, trait in vars(tfl_traits).items():
        if name.isupper():
            assert set(trait) <= TABLE.keys(), name
