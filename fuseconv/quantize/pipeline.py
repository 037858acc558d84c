"""The passes of quantization, in their order: behind all others, on `tfl` ops."""

from __future__ import annotations

from fuseconv.pass_manager import Context
from fuseconv.quantize import MEASURED, ROUNDED
from fuseconv.quantize.balance_inputs import balance_inputs
from fuseconv.quantize.bind_samples import bind_samples
from fuseconv.quantize.calibrate import calibrate
from fuseconv.quantize.constant_biases import constant_biases
from fuseconv.quantize.dequantize_copied import dequantize_copied
from fuseconv.quantize.expand_float16 import expand_float16
from fuseconv.quantize.expand_weights import expand_weights
from fuseconv.quantize.fake_quant import read_fake_quant
from fuseconv.quantize.floats import keep_floats
from fuseconv.quantize.io_types import FLOAT, set_io_types
from fuseconv.quantize.keep_sensitive_ops import keep_sensitive_ops
from fuseconv.quantize.raise_fake_quant import raise_fake_quant
from fuseconv.quantize.raise_hybrid_products import raise_hybrid_products
from fuseconv.quantize.share_tables import share_tables
from fuseconv.quantize.to_integers import to_integer_forms, to_integers
from fuseconv.quantize.weights_to_float16 import weights_to_float16
from fuseconv.quantize.weights_to_int4 import weights_to_int4
from fuseconv.quantize.weights_to_int8 import weights_to_int8
from fuseconv.transforms.tfl.bypass_xnnpack import bypass_xnnpack
from fuseconv.transforms.tfl.bypass_xnnpack_copies import bypass_xnnpack_copies
from fuseconv.transforms.tfl.concat_narrow_pixels import concat_narrow_pixels
from fuseconv.transforms.tfl.expand_mirror_pads import expand_mirror_pads
from fuseconv.transforms.tfl.guard_empty import guard_empty
from fuseconv.transforms.tfl.protect_shared_memory import protect_shared_memory
from fuseconv.transforms.tfl.return_constants import return_constants
from fuseconv.transforms.tfl.schedule_ops import schedule_ops


def _has_no_target(context: Context) -> bool:
    return context.target is None


def _computes_in_integers(context: Context) -> bool:
    return context.quantize in MEASURED


def _computes_in_int8(context: Context) -> bool:
    return context.quantize == "int8"


def _narrows_weights_alone(context: Context) -> bool:
    return context.quantize in ("float16", "dynamic", "int4")


def _has_weights_of_int8(context: Context) -> bool:
    return context.quantize in ("dynamic", "int4", *MEASURED)


def _has_samples(context: Context) -> bool:
    return context.quantize in (*MEASURED, *ROUNDED) and context.calibration.samples is not None


def _has_integer_ends(context: Context) -> bool:
    return context.io_types != FLOAT


PASSES = (
    constant_biases, bind_samples.when(lambda context: context.calibration.samples is not None),
    expand_float16.when(_has_weights_of_int8), expand_weights.when(_computes_in_integers),
    raise_hybrid_products.when(_has_weights_of_int8), raise_fake_quant.when(_computes_in_int8),
    share_tables.when(_narrows_weights_alone),
    balance_inputs.when(_has_weights_of_int8), to_integer_forms.when(_computes_in_integers),
    protect_shared_memory.when(_has_samples), calibrate.when(_has_samples),
    keep_floats.when(lambda context: context.floats.wanted), read_fake_quant.when(_computes_in_integers),
    keep_sensitive_ops.when(lambda context: context.keep_float_under is not None),
    weights_to_float16.when(lambda context: context.quantize == "float16"),
    weights_to_int4.when(lambda context: context.quantize == "int4"),
    weights_to_int8.when(lambda context: context.quantize in ("dynamic", "int4")),
    to_integers.when(_computes_in_integers), set_io_types.when(_has_integer_ends),
    dequantize_copied.when(_computes_in_integers),
    concat_narrow_pixels.when(_has_no_target), expand_mirror_pads.when(_has_no_target),
    guard_empty.when(_has_no_target),
    bypass_xnnpack, bypass_xnnpack_copies.when(_has_no_target),
    return_constants.when(_has_no_target), schedule_ops, protect_shared_memory,
)  # fmt: skip
