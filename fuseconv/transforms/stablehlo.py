"""The passes that StableHLO modules need besides: these spell out what the ops of TensorFlow do by themselves."""

from __future__ import annotations

from fuseconv.transforms.tf.dead_code_elimination import eliminate_dead_code
from fuseconv.transforms.tf.simplify_stablehlo import simplify_stablehlo
from fuseconv.transforms.tf.sink_broadcasts import sink_broadcasts
from fuseconv.transforms.tf.sink_repeats import sink_repeats
from fuseconv.transforms.tf.sink_unit_dimensions import sink_unit_dimensions

# What these leave that nothing reads, half of the ops, is not worth what `canonicalize` does with each. More ops have a
# name once dimensions have moved and readers are gone.
PASSES = (
    sink_broadcasts, sink_repeats, simplify_stablehlo, sink_unit_dimensions, eliminate_dead_code, simplify_stablehlo,
    eliminate_dead_code,
)  # fmt: skip
