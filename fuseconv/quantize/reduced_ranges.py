"""A file of floats that computes the ranges of its own tensors. Behind each tensor stand a REDUCE_MIN and a REDUCE_MAX,
and a SUM, which tells of NaN, unless the ops that read the tensor pass NaN on. What products with weights read gets a
MEAN of each channel in place of the SUM, which also tells what errors of weights amount to.

XNNPACK takes these together with what they read, and no tensor outlives its last reader. A sample takes a third of the
time that it takes LiteRT's own kernels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, detach
from fuseconv.ir.product import Product
from fuseconv.ir.rewriter import Speculative
from fuseconv.process import processors
from fuseconv.quantize.affine import Range
from fuseconv.quantize.channel_means import ChannelMeans, read_by_products
from fuseconv.quantize.derived_ranges import FUNCTIONS, derived_range, origins
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.traits import activation_of
from fuseconv.write.flatbuffer_export import write

# Each number that they read is a part of their results: NaN makes NaN.
_SPREAD_NAN = frozenset({
    "ADD", "BATCH_MATMUL", "FULLY_CONNECTED", "MEAN", "MUL", "SQUARED_DIFFERENCE", "SUB", "SUM",
})  # fmt: skip
# On so many a processor works for some milliseconds.
_MANY_PRODUCTS = 100_000_000
_SIGNS = np.array([1, -1], np.float32)


def threads(module: Module) -> int:
    """Return on how many threads samples run: on a few, and on one where products are small. Others would wait for
    its ops there, which takes up to twice as much of the processor's time."""
    products = sum(_products(op) for graph in module.graphs() for op in graph.ops if op.type in LAYOUTS)
    return 1 if products < _MANY_PRODUCTS else min(processors(), 4)


def _products(op: Op) -> int:
    """Return how many numbers an op multiplies by weights, with sizes that are not known as 1."""
    layout = LAYOUTS[op.type]
    weights = op.operands[layout.weights]
    if weights is None or weights.stored is None or not weights.stored.size:
        return 0
    sizes = [size if isinstance(size, int) else 1 for size in op.result.shape or ()]
    return math.prod(sizes) * (weights.stored.size // weights.stored.shape[layout.outputs])


class ReducedRanges:
    """Run a module of one graph on samples, and keep the ranges of its tensors; see `of`.

    data: the file. names: of the signature's inputs. tensors: names in the file, by values of the module. threads: how
    many run it. ends: of each range so far, the largest with its sign changed. sums: of means over `count` samples."""

    def __init__(
        self, data: bytes, names: Mapping[str, Value], added: _Added, tensors: Mapping[Value, str], threads: int
    ) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(model_content=data, num_threads=threads)
        self.added = added
        ends = (*self.interpreter.get_input_details(), *self.interpreter.get_output_details())
        places = {detail["name"]: detail["index"] for detail in ends}
        self.inputs = {name: places[tensors[value]] for name, value in names.items()}
        self.numbers = places[tensors[added.numbers]]
        self.averages = None if added.means is None else places[tensors[added.means]]
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.ends: np.ndarray | None = None
        self.sums: np.ndarray | None = None
        self.count = 0

    @classmethod
    def of(cls, module: Module) -> ReducedRanges | None:
        """Return what measures the tensors of a module, which is not changed, but that its weights are read where the
        file has them; None if there is more than one graph, or a tensor of unknown rank."""
        (graph, *others) = module.graphs()
        made = [value for op in graph.ops for value in op.results if _is_measured(value)]
        if others or not made or any(value.rank is None for value in made):
            return None
        with Speculative() as trial:
            added = _added(Builder(trial.ops, "ranges"), graph, made)
            copy = Graph(graph.name, graph.attrs)
            copy.inputs, copy.ops = graph.inputs, _in_order(graph.ops, trial.ops)
            copy.outputs = [added.numbers, *([] if added.means is None else [added.means]), *graph.outputs]
            names = module.signatures[0].inputs
            signature = Signature(["ranges"], copy, names, [str(place) for place in range(len(copy.outputs))])
            out = BytesIO()
            contents = write(dataclasses.replace(module, signatures=[signature]), out)
            detach(copy.terminator)
        data = out.getvalue()
        _read_from(data, graph, contents.starts)
        tensors = {value: name for name, value in contents.names.items()}
        return cls(data, dict(zip(names, graph.inputs)), added, tensors, threads(module))

    def run(self, sample: Mapping[str, np.ndarray]) -> bool:
        """Take in a sample; return False, and take in nothing, if it may make NaN. Of infinite or huge numbers the sums
        may be NaN as well: LiteRT's own kernels tell."""
        shapes = {name: sample[name].shape for name in self.inputs}
        if shapes != self.shapes:
            for name, index in self.inputs.items():
                self.interpreter.resize_tensor_input(index, shapes[name])
            self.interpreter.allocate_tensors()
            self.shapes = shapes
        for name, index in self.inputs.items():
            self.interpreter.set_tensor(index, sample[name])
        self.interpreter.invoke()
        numbers = self.interpreter.get_tensor(self.numbers)
        averages = None if self.averages is None else self.interpreter.get_tensor(self.averages)
        if np.isnan(numbers).any() or (averages is not None and np.isnan(averages).any()):
            return False
        # The largest numbers have their signs changed: both ends are least then.
        ends = numbers[: 2 * len(self.added.values)].reshape(-1, 2) * _SIGNS
        self.ends = ends if self.ends is None else np.minimum(self.ends, ends, out=self.ends)
        if averages is not None:
            self.sums = averages.astype(np.float64) + (0 if self.sums is None else self.sums)
        self.count += 1
        return True

    def ranges(self) -> dict[Value, Range]:
        """Return the range of each result over all samples."""
        ends = [] if self.ends is None else (self.ends * _SIGNS).tolist()
        # Of an empty tensor, the least number lies above the largest.
        found = {value: Range(*end) for value, end in zip(self.added.values, ends) if end[0] <= end[1]}
        for value in self.added.derived if found else ():
            derived = derived_range(value.op, found)
            if derived is not None:
                found[value] = derived
        return found

    def tell_means(self, means: ChannelMeans) -> None:
        """Hand on the means of channels over all samples."""
        if self.sums is not None:
            for value, part in zip(self.added.averaged, np.split(self.sums, self.added.splits)):
                means.see(value, part, self.count)


@dataclasses.dataclass(frozen=True)
class _Added:
    """What a file has besides its ops.

    numbers: the least and the largest number of each of `values`, then sums, which are NaN where a tensor holds NaN.
    derived: values whose ranges follow from others, in their order. means: of all channels of `averaged`, if there are
    any."""

    values: list[Value]
    derived: list[Value]
    numbers: Value
    averaged: list[Value]
    means: Value | None

    @property
    def splits(self) -> list[int]:
        """Return where in `means` the channels of each but the first of `averaged` begin."""
        return np.cumsum([value.shape[-1] for value in self.averaged])[:-1].tolist()  # type: ignore[index]


def _added(tfl: Builder, graph: Graph, made: list[Value]) -> _Added:
    """Add to a graph what reduces these values to their least and largest numbers, and to means of channels."""
    averaged = [*read_by_products(graph)]
    derived, shown = _derived(graph, made, averaged)
    values = [value for value in made if value not in derived]
    ranks = [value.rank or 0 for value in (*graph.inputs, *made)]
    axes = [tfl.const(np.arange(rank, dtype=np.int32)) for rank in range(max(ranks) + 1)]

    def reduced(kind: str, value: Value, rank: int, shape: Shape = ()) -> Value:
        # There are some for each tensor. Their types need not be looked up.
        return tfl.typed_op(kind, [value, axes[rank]], [(types.FLOAT32, shape)], {})[0]

    ends: list[Value] = []
    for value in values:
        rank = value.rank or 0
        ends += [reduced(kind, value, rank) if rank else value for kind in ("REDUCE_MIN", "REDUCE_MAX")]
    averages = {
        value: reduced("MEAN", value, (value.rank or 0) - 1, (value.shape or ())[-1:])
        for value in averaged
    }  # fmt: skip
    parts = [*averages.values()]
    means = tfl.concatenation(*parts, axis=0) if len(parts) > 1 else next(iter(parts), None)
    # XNNPACK's REDUCE_MIN and REDUCE_MAX leave NaN out. A SUM does not, nor does the MEAN of what has one, nor do sums
    # and products of the model.
    summed = [value for value in values if value.rank and value not in shown]
    numbers = [*ends, *(reduced("SUM", value, value.rank or 0) for value in summed)]
    packed = tfl.pack(*numbers, axis=0, values_count=len(numbers))
    return _Added(values, [value for value in made if value in derived], packed, averaged, means)


def _in_order(ops: list[Op], added: list[Op]) -> list[Op]:
    """Return ops of a graph with others, each right behind what it reads: that lies in the processor's cache still, and
    makes room as early as without them."""
    places = {op: place for place, op in enumerate(ops)}
    for op in added:
        places[op] = max([places.get(value.op, -1) for value in op.operands if value is not None])  # type: ignore[arg-type]
    return sorted(places, key=places.__getitem__)


def _read_from(data: bytes, graph: Graph, starts: Mapping[Value, int]) -> None:
    """Let weights be read where a file has them: it holds each output channel in one place, multiplied by what was
    folded into it. As models store them, channels lie across, and are read many times slower."""
    for weights in (op.operands[LAYOUTS[op.type].weights] for op in graph.ops if op.type in LAYOUTS):
        stored = weights.stored if weights is not None and weights in starts else None
        if weights is None or stored is None or stored.dtype != np.float32:
            continue
        if isinstance(weights, Product) or not stored.flags.c_contiguous:
            weights.data = np.frombuffer(data, "<f4", stored.size, starts[weights]).reshape(stored.shape)


def _is_measured(value: Value) -> bool:
    return value.dtype is types.FLOAT32 and 0 not in (value.shape or ())


def _derived(graph: Graph, made: list[Value], averaged: list[Value]) -> tuple[set[Value], set[Value]]:
    """Return the values whose ranges follow from others that are measured, and those whose NaN another one shows: the
    means of `averaged`, or what an op makes of all of a tensor."""
    measured, derived, shown = set(made), set[Value](), set(averaged)
    for op in reversed(graph.ops):
        known = origins(op)
        if known and measured.issuperset((op.result, *known)):
            derived.add(op.result)
            spreads = op.result in shown and op.type not in FUNCTIONS
        else:
            activation = activation_of(op)
            spreads = op.type in _SPREAD_NAN and activation == "NONE" and op.result in measured
        if spreads:
            shown.update(value for value in op.operands if value is not None)
    return derived, shown
