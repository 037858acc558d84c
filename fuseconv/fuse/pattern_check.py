"""Numeric check of a fusion of a pattern against the ops that it replaces: a pattern is its own reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from fuseconv.errors import is_ours
from fuseconv.fuse import sampling
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.fuse.numeric_check import (
    FEW_ELEMENTS,
    Claim,
    NumericCheck,
    Pair,
    functions_of,
    require_drawable,
    rows,
)  # fmt: skip
from fuseconv.fuse.output_difference import NeverComparable
from fuseconv.ir.dims import substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, copy_op
from fuseconv.ir.value_numbering import attrs_key
from fuseconv.tf.side_effects import bodies


class PatternCheck:
    """The check of patterns in one conversion. Those of fuseconv's own fusions are checked by its tests, and in the
    mode `always`."""

    def __init__(self, numeric: NumericCheck) -> None:
        self.numeric = numeric
        self._differing: dict[str, str] = {}

    def warnings(self) -> list[str]:
        """Return a warning of each fusion that computes something else than its pattern."""
        return [f"the fusion {name} is wrong and was not made: {why}" for name, why in self._differing.items()]

    def checks(self, fusion: Fusion) -> bool:
        """Return whether matches of this fusion are to be checked."""
        mode = self.numeric.mode
        return mode == "always" or (mode == "auto" and not is_ours(fusion.rewrite))

    def __call__(
        self, fusion: Fusion, match: Match, matched: Iterable[Op], built: Sequence[Op], made: Mapping[str, Value],
        module: Module,
    ) -> str:  # fmt: skip
        """Run what a fusion has built against the ops that it replaces, and return a sentence on what was found, for
        the report. Raises Refused if pattern and fusion differ.

        matched: the ops that the pattern matched, built: those of the fusion, which reads what they read; made: its
        results by their names. All stay as they are."""
        ops = _in_order(matched)
        results = {name: value for name, value in match.results.items() if value.uses and name in made}
        place = _Place(ops, built, list(results.values()), [made[name] for name in results], module)
        claim = Claim(
            (fusion.name, place.key()), f"{fusion.name} at {match.result.name}", "the pattern",
            [partial(place.pair, fusion, match, sizes) for sizes in sampling.sizes(place.inputs)],
            place.constants(), rows(place.inputs), len(ops),
        )  # fmt: skip
        try:
            return self.numeric(claim)
        except Refused as refusal:
            self._differing.setdefault(fusion.name, str(refusal))
            raise


class _Place:
    """One match: the ops of the pattern and the ops that were built for it, with the results of either that are read.

    inputs: what the ops of the pattern read and do not make."""

    def __init__(
        self, matched: list[Op], built: Sequence[Op], old: list[Value], new: list[Value], module: Module
    ) -> None:
        self.matched = matched
        self.built = list(built)
        self.old = old
        self.new = new
        self.module = module
        made = {result for op in matched for result in op.results}
        read = [value for op in matched for value in op.operands if value is not None]
        self.inputs = list(dict.fromkeys(value for value in read if not value.is_const and value not in made))

    def key(self) -> tuple:
        """Return a key that equal places have: kinds, attributes, types, how values stand to each other, and small
        constants by their numbers."""
        numbers: dict[Value, int] = {}

        def told(value: Value | None) -> Any:
            if value is None:
                return None
            if value.data is not None and value.data.size <= FEW_ELEMENTS:
                what: Any = repr(value.data.tolist())
            else:
                what = value if value.is_const else numbers.setdefault(value, len(numbers))
            return what, value.dtype, value.shape, value.quantization

        ops = [
            (op.kind, attrs_key(op.attrs), *map(told, op.operands), *map(told, op.results))
            for op in (*self.matched, *self.built)
        ]
        return tuple(ops), tuple(map(told, self.old)), tuple(map(told, self.new))

    def constants(self) -> set[Value]:
        """Return the constants that either reads, and the functions that it runs."""
        parts = [*self.matched, *self.built]
        for op in parts:
            for body, _ in bodies(op, self.module):
                parts += (*body.ops, body.terminator)
        read = {value for op in parts for value in op.operands}
        return {value for value in (*read, *self.old, *self.new) if value is not None and value.is_const}

    def pair(self, fusion: Fusion, match: Match, sizes: dict[str, int]) -> Pair:
        """Return the place as two models. Raises Unverifiable."""
        reference, _ = self._alone(self.matched, self.old, sizes)
        # What is built may read what the pattern makes in between, too.
        fused, inputs = self._alone([*self.matched, *self.built], self.new, sizes)
        if fusion.draw is None:
            return Pair(fused, reference)
        operands = {name: inputs.get(value, value) for name, value in match.operands.items()}
        alone = Match(operands, dict(match.attrs), dict(match.ops), dict(match.results))
        return Pair(fused, reference, lambda rng: sampling.draw_special(fusion, rng, alone))

    def _alone(
        self, ops: Sequence[Op], outputs: Sequence[Value], sizes: dict[str, int]
    ) -> tuple[Module, dict[Value, Value]]:
        """Return a model of these ops on inputs of static shapes, and its inputs by those of the place."""
        graph = Graph("pattern_check")
        values: dict[Value, Value] = {}
        for value in self.inputs:
            require_drawable(value)
            values[value] = graph.add_input(value.dtype, _sized(value, sizes), f"x{len(values)}")
        inputs = dict(values)

        def inside(value: Value) -> Value:
            if not value.is_const and value not in values:
                raise NeverComparable(f"it reads {value.name}, which is no part of its pattern")
            return values.get(value, value)

        for op in ops:
            copy = copy_op(op, [None if value is None else inside(value) for value in op.operands])
            for old in op.results:
                values[old] = copy.add_result(old.dtype, _sized(old, sizes), old.name)
                values[old].quantization = old.quantization
            graph.ops.append(copy)
        graph.outputs = [inside(value) for value in outputs]
        names = [f"x{number}" for number in range(len(graph.inputs))], [f"y{n}" for n in range(len(graph.outputs))]
        signature = Signature(["check"], graph, *names)
        return Module([signature], functions_of(ops, self.module)), inputs


def _sized(value: Value, sizes: dict[str, int]) -> tuple | None:
    return None if value.shape is None else tuple(substitute_dim(dim, sizes) for dim in value.shape)


def _in_order(matched: Iterable[Op]) -> list[Op]:
    """Return the ops of a match once each, an op behind those that it reads."""
    left = dict.fromkeys(matched)
    ordered: dict[Op, None] = {}

    def visit(op: Op) -> None:
        for value in op.operands:
            if value is not None and value.op in left and value.op not in ordered:
                visit(value.op)
        ordered[op] = None

    for op in left:
        if op not in ordered:
            visit(op)
    return list(ordered)
