"""The pipelines: which passes a conversion runs, in which order. This is the only place that knows it, but for passes
that few conversions load: `quantize/pipeline.py`, `transforms/stablehlo.py` and `transforms/whole_files.py` hold these.

A model is imported as `tf` ops, legalized to forms that TFLite has, its composites and patterns fused, lowered to `tfl`
ops, and these optimized. `fuseconv passes` lists the passes; the pass manager runs them.
"""

from __future__ import annotations

from fuseconv.fuse.composites import fuse_composites
from fuseconv.fuse.outline_composites import outline_composites
from fuseconv.fuse.pattern_rewriter import fuse_tf_patterns, fuse_tfl_patterns
from fuseconv.ir.graph import Module
from fuseconv.lower.engine.check_ranks import check_ranks
from fuseconv.lower.engine.driver import lower
from fuseconv.pass_manager import AfterChanges, Context, Deferred, Pipeline, Repeat, Stage
from fuseconv.tf.traits import REPEATS
from fuseconv.transforms.loops.bucketize_searches import bucketize_searches
from fuseconv.transforms.loops.fold_constant_loops import fold_constant_loops
from fuseconv.transforms.loops.hoist_loop_invariants import hoist_loop_invariants, hoist_out_of_unrolled_loops
from fuseconv.transforms.loops.hoist_variable_reads import hoist_variable_reads
from fuseconv.transforms.loops.horizontal_fusion import horizontal_fusion
from fuseconv.transforms.loops.normalize_loops import normalize_loops
from fuseconv.transforms.loops.raise_scans import raise_scans
from fuseconv.transforms.loops.reduce_while_operands import reduce_while_operands
from fuseconv.transforms.loops.unroll_loops import unroll_loops
from fuseconv.transforms.rnn.merge_bidirectional import merge_bidirectional
from fuseconv.transforms.rnn.persist_states import persist_states
from fuseconv.transforms.rnn.raise_rnn_loops import raise_rnn_loops
from fuseconv.transforms.tf.bucketize_step_functions import bucketize_step_functions
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.cut_signature import cut_signature
from fuseconv.transforms.tf.dead_code_elimination import eliminate_dead_code
from fuseconv.transforms.tf.decompose_block_lstm import decompose_block_lstm
from fuseconv.transforms.tf.decompose_cudnn_rnn import decompose_cudnn_rnn
from fuseconv.transforms.tf.decompose_grappler_kernels import decompose_grappler_kernels
from fuseconv.transforms.tf.decompose_optimizers import decompose_optimizers
from fuseconv.transforms.tf.decompose_quantize_pairs import decompose_quantize_pairs
from fuseconv.transforms.tf.decompose_ragged_rows import decompose_ragged_rows
from fuseconv.transforms.tf.decompose_tensor_arrays import decompose_tensor_arrays
from fuseconv.transforms.tf.demote_float64 import demote_float64
from fuseconv.transforms.tf.downcast_float64 import downcast_float64
from fuseconv.transforms.tf.drop_unchanged_writes import drop_unchanged_writes
from fuseconv.transforms.tf.eliminate_dead_variables import eliminate_dead_variables
from fuseconv.transforms.tf.floor_division import name_floor_divisions
from fuseconv.transforms.tf.fold_default_branches import fold_default_branches
from fuseconv.transforms.tf.forward_equal_elements import forward_equal_elements
from fuseconv.transforms.tf.forward_slices import forward_slices
from fuseconv.transforms.tf.forward_writes import forward_writes
from fuseconv.transforms.tf.freeze_variables import freeze_variables
from fuseconv.transforms.tf.functionalize_control_flow import functionalize_control_flow
from fuseconv.transforms.tf.guard_branches import guard_branches
from fuseconv.transforms.tf.infer_input_ranks import infer_input_ranks
from fuseconv.transforms.tf.infer_list_elements import infer_list_elements
from fuseconv.transforms.tf.inline import inline_all, inline_composites, inline_functions
from fuseconv.transforms.tf.insert_call_once import insert_call_once
from fuseconv.transforms.tf.int_range_optimizations import int_range_optimizations
from fuseconv.transforms.tf.legalize_hash_tables import legalize_hash_tables
from fuseconv.transforms.tf.legalize_seeded_random import draws_from_moved_seeds, legalize_seeded_random
from fuseconv.transforms.tf.legalize_variables import legalize_variables
from fuseconv.transforms.tf.lower_tensor_lists import lower_tensor_lists
from fuseconv.transforms.tf.measure_list_elements import has_no_lists, measure_list_elements
from fuseconv.transforms.tf.propagate_splats import propagate_splats
from fuseconv.transforms.tf.reject_vector_signs import reject_vector_signs
from fuseconv.transforms.tf.rename_signature import rename_signature
from fuseconv.transforms.tf.resolve_gradient_axes import resolve_gradient_axes
from fuseconv.transforms.tf.resolve_xla_reducers import resolve_xla_reducers
from fuseconv.transforms.tf.set_input_shapes import set_input_shapes
from fuseconv.transforms.tf.settle_squeezes import settle_squeezes
from fuseconv.transforms.tf.simplify_control_flow import (
    has_known_branch,
    simplify_control_flow,
)
from fuseconv.transforms.tf.sink_broadcasts import sink_broadcasts
from fuseconv.transforms.tf.unify_sizes import unify_sizes
from fuseconv.transforms.tfl.bubble_up_slices import bubble_up_slices
from fuseconv.transforms.tfl.bypass_xnnpack import bypass_xnnpack
from fuseconv.transforms.tfl.bypass_xnnpack_copies import bypass_xnnpack_copies
from fuseconv.transforms.tfl.canonicalize_tfl import canonicalize_tfl
from fuseconv.transforms.tfl.concat_narrow_pixels import concat_narrow_pixels
from fuseconv.transforms.tfl.delegate_copies import delegate_copies
from fuseconv.transforms.tfl.expand_mirror_pads import expand_mirror_pads
from fuseconv.transforms.tfl.fill_broadcasts import fill_broadcasts
from fuseconv.transforms.tfl.fill_from_tensors import fill_from_tensors
from fuseconv.transforms.tfl.guard_empty import guard_empty
from fuseconv.transforms.tfl.known_sizes import known_sizes
from fuseconv.transforms.tfl.legalize_for_target import legalize_for_target
from fuseconv.transforms.tfl.legalize_outputs import legalize_outputs
from fuseconv.transforms.tfl.legalize_padding import legalize_padding
from fuseconv.transforms.tfl.lower_strided_slices import lower_strided_slices
from fuseconv.transforms.tfl.merge_dimensions import merge_dimensions
from fuseconv.transforms.tfl.optimize_layout import optimize_layout
from fuseconv.transforms.tfl.pack_to_concat import pack_to_concat
from fuseconv.transforms.tfl.pad_narrow_pixels import pad_narrow_pixels
from fuseconv.transforms.tfl.presize_states import presize_states
from fuseconv.transforms.tfl.pretranspose_matmul import pretranspose_matmul
from fuseconv.transforms.tfl.protect_shared_memory import protect_shared_memory
from fuseconv.transforms.tfl.return_constants import return_constants
from fuseconv.transforms.tfl.schedule_ops import schedule_ops
from fuseconv.transforms.tfl.sink_input_reshapes import sink_input_reshapes
from fuseconv.transforms.tfl.sizes_of_inputs import sizes_of_inputs
from fuseconv.transforms.tfl.slp_vectorize import slp_vectorize
from fuseconv.transforms.tfl.tile_broadcasts import tile_broadcasts
from fuseconv.transforms.tfl.unpack_slices import unpack_slices


def _no_constant_branch(module: Module) -> bool:
    return not has_known_branch(module)


def _has_functions(context: Context) -> bool:
    return bool(context.module.functions)


def _has_stablehlo(context: Context) -> bool:
    return context.module.has_stablehlo


def _broadcasts(context: Context) -> bool:
    """Return whether a model of TensorFlow's ops broadcasts. The passes for StableHLO see to modules of that."""
    return not context.module.has_stablehlo and any(graph.kinds & REPEATS for graph in context.module.graphs())


def _fuses_rnns(context: Context) -> bool:
    return context.rnn == "fused"


def _raises_scans(context: Context) -> bool:
    return context.rnn == "fused" and context.module.has_stablehlo


def _draws_from_moved_seeds(context: Context) -> bool:
    return draws_from_moved_seeds(context.module)


def _quantizes(context: Context) -> bool:
    return context.quantize is not None


def _stays_float(context: Context) -> bool:
    return context.quantize is None


def _outlines(context: Context) -> bool:
    return bool(context.outlined)


def _has_no_target(context: Context) -> bool:
    return context.target is None


def _stays_float_in_litert(context: Context) -> bool:
    # The check of a body has neither.
    return getattr(context, "target", None) is None and getattr(context, "quantize", None) is None


def _has_target(context: Context) -> bool:
    return context.target is not None


def _runs_whole_files(context: Context) -> bool:
    return context.target is not None and context.target.is_whole


CLEANUP: Pipeline = (simplify_control_flow, canonicalize)

IMPORT: Pipeline = (
    inline_functions, cut_signature.when(lambda context: context.inputs or context.outputs),
    rename_signature.when(lambda context: context.rename), set_input_shapes,
    downcast_float64.when(lambda context: context.downcasts),
)  # fmt: skip

# What ordinary models need not. Where the loops in between changed nothing, there is nothing to find again.
STABLEHLO: Pipeline = (
    AfterChanges("stablehlo", (Deferred("fuseconv.transforms.stablehlo", _has_stablehlo), canonicalize)),
)

PREPARE_TF: Pipeline = (
    functionalize_control_flow, infer_input_ranks, fold_default_branches, decompose_tensor_arrays,
    decompose_ragged_rows, decompose_grappler_kernels, resolve_xla_reducers, decompose_block_lstm, decompose_optimizers,
    drop_unchanged_writes.when(_has_stablehlo), freeze_variables,
    legalize_variables, legalize_hash_tables, canonicalize.when(_draws_from_moved_seeds), legalize_seeded_random,
    Repeat(CLEANUP, until=_no_constant_branch), hoist_variable_reads, forward_writes,
    eliminate_dead_variables, decompose_cudnn_rnn,
    decompose_quantize_pairs, demote_float64, bucketize_step_functions, name_floor_divisions.when(_has_stablehlo),
    canonicalize, unify_sizes, settle_squeezes, resolve_gradient_axes, canonicalize, *STABLEHLO,
)  # fmt: skip

COMPOSITES: Pipeline = (
    merge_bidirectional.when(_has_functions), fuse_composites.when(_has_functions),
    inline_composites.when(_has_functions), canonicalize,
)  # fmt: skip

LOWER_LISTS: Pipeline = (Repeat((lower_tensor_lists, canonicalize, forward_equal_elements)),)
MEASURE_LISTS: Pipeline = (
    Repeat((lower_tensor_lists, canonicalize, measure_list_elements, canonicalize), until=has_no_lists),
)

OPTIMIZE_LOOPS: Pipeline = (
    reduce_while_operands, canonicalize, horizontal_fusion, canonicalize, hoist_loop_invariants, canonicalize, *CLEANUP,
    hoist_out_of_unrolled_loops, canonicalize, *CLEANUP, unroll_loops, canonicalize, *CLEANUP,
)  # fmt: skip

FUSE: Pipeline = (
    *COMPOSITES, simplify_control_flow, normalize_loops, *CLEANUP, Repeat((fold_constant_loops, canonicalize)),
    bucketize_searches.when(_has_stablehlo),
    raise_scans.when(_raises_scans), canonicalize, reduce_while_operands.when(_raises_scans), canonicalize,
    Repeat((forward_equal_elements, infer_list_elements, canonicalize)),
    raise_rnn_loops.when(_fuses_rnns), canonicalize, *COMPOSITES, persist_states, *LOWER_LISTS, *CLEANUP,
    *OPTIMIZE_LOOPS, *MEASURE_LISTS, forward_slices, propagate_splats,
    int_range_optimizations, sink_broadcasts.when(_broadcasts), canonicalize,
    *STABLEHLO, fuse_tf_patterns, eliminate_dead_code,
)  # fmt: skip

CLEANUP_TFL: Pipeline = (
    legalize_padding, concat_narrow_pixels.when(_stays_float_in_litert), pad_narrow_pixels.when(_stays_float_in_litert),
    sink_input_reshapes.when(_stays_float_in_litert), canonicalize_tfl, sizes_of_inputs, pack_to_concat,
    # Each target takes one form of a broadcast, and TILE no int16.
    tile_broadcasts.when(_stays_float_in_litert), fill_from_tensors.when(_stays_float_in_litert),
    fill_broadcasts.when(_stays_float_in_litert),
    canonicalize, presize_states, canonicalize, pretranspose_matmul, legalize_outputs,
)  # fmt: skip

OPTIMIZE_TFL: Pipeline = (
    known_sizes, fuse_tfl_patterns, slp_vectorize, optimize_layout, fuse_tfl_patterns, bubble_up_slices, *CLEANUP_TFL,
    # Accelerators take slices rather.
    unpack_slices.when(_has_no_target),
)  # fmt: skip

# What cleans up may give an op the form again that the target refuses.
STEER: Pipeline = (
    merge_dimensions.when(_has_target), legalize_for_target.when(_has_target), canonicalize_tfl.when(_has_target),
    canonicalize.when(_has_target), legalize_for_target.when(_has_target), legalize_outputs.when(_has_target),
    legalize_for_target.when(_has_target),  # the copies that the pass before makes
)  # fmt: skip

# Composites for the compilers of NPUs. The transposes that these leave beside each other go, in their bodies as well.
OUTLINE: Pipeline = (
    outline_composites.when(_outlines), canonicalize_tfl.when(_outlines), canonicalize.when(_outlines),
    schedule_ops.when(_outlines), protect_shared_memory.when(_outlines),
)  # fmt: skip

QUANTIZE: Pipeline = (Deferred("fuseconv.quantize.pipeline", _quantizes),)

CONVERT: Pipeline = (
    Stage("load", IMPORT),
    Stage("simplify", PREPARE_TF, "control flow", "its loop, branch, array or variable takes another form"),
    Stage("fuse", FUSE, "control flow", "its loop or branch takes another form"),
    Stage("lower", (
        insert_call_once, guard_branches, reject_vector_signs, lower, *OPTIMIZE_TFL, check_ranks, *STEER,
        guard_empty.when(_stays_float_in_litert), lower_strided_slices.when(_stays_float_in_litert),
        expand_mirror_pads.when(_stays_float_in_litert), schedule_ops,
        # What these add would hide what quantization looks for, which runs them itself.
        bypass_xnnpack.when(_stays_float), bypass_xnnpack_copies.when(_stays_float_in_litert),
        return_constants.when(_stays_float_in_litert),
        protect_shared_memory.when(_stays_float), delegate_copies.when(_stays_float_in_litert),
    )),
    Stage("quantize", QUANTIZE),
    Stage("tile", (Deferred("fuseconv.transforms.whole_files", _runs_whole_files),)),
    Stage("outline", OUTLINE),
)

# Of a file that is converted already.
QUANTIZE_FILE: Pipeline = (Stage("quantize", QUANTIZE),)

# What a composite computes that no fusion takes, in a module of its own: the body that a fusion is checked against.
BODY_CHECK: Pipeline = (inline_all, *CLEANUP, *LOWER_LISTS, *CLEANUP, lower, *CLEANUP_TFL, protect_shared_memory)
