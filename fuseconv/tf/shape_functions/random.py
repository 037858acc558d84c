"""Shape functions of ops that draw random numbers."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import extents, scalar, shape_of
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers(
    "RandomUniform", "RandomStandardNormal", "RandomUniformInt", "TruncatedNormal", 
    "StatelessRandomUniform", "StatelessRandomUniformV2", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2",
    "StatelessRandomNormal", "StatelessRandomNormalV2", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2",
    "StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2",
)  # fmt: skip
def of_shape(op: Op, shape: Value, *others: Value) -> Shapes:
    return tuple(extents(shape, "random"))


@infers("RandomGamma")
def gamma(op: Op, shape: Value, alpha: Value) -> Shapes:
    return (*extents(shape, "random"), *shape_of(alpha))


@infers("Multinomial")
def multinomial(op: Op, logits: Value, num_samples: Value) -> Shapes:
    return (shape_of(logits)[0], scalar(num_samples, "samples"))


@infers("SobolSample")
def sobol(op: Op, dim: Value, num_results: Value, skip: Value) -> Shapes:
    return scalar(num_results, "samples"), scalar(dim, "dimensions")


@infers("StatelessRandomGetKeyCounter")
def key_counter(op: Op, seed: Value) -> Shapes:
    return [(1,), (2,)]


@infers("StatelessRandomGetAlg")
def algorithm(op: Op) -> Shapes:
    return ()


@infers("StatelessRandomGetKeyCounterAlg")
def key_counter_algorithm(op: Op, seed: Value) -> Shapes:
    return [(1,), (2,), ()]
