"""Fusion of composites: calls of annotated functions -> fused ops."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from fuseconv.errors import suggestion
from fuseconv.fuse.apply_fusion import build, check, replace
from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.match import Composite, Fusion, Match, Refused
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, detach
from fuseconv.ir.rewriter import Speculative, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.annotated_functions import annotation, callee_of
from fuseconv.tf.side_effects import bodies, has_effect
from fuseconv.tf.traits import CALLS
from fuseconv.tfl.builder import Builder

# TensorFlow's own attributes of functions, by which nobody means an option of an op.
_OWN_PREFIXES = ("_", "api_", "forward_function", "backward_function", "experimental_", "tf_quant.", "tf.")
_OWN_ATTRS = frozenset({
    "disable_summaries_at_runtime", "function_runs_at_most_once", "runtime_constant_optimization", "shared_rendezvous",
})  # fmt: skip

# Says that an op of the composite's name may take its place; nothing of what the composite computes.
_FUSABLE = "tfl_fusable_op"
# How much alike two annotations are, of which one is the other, misspelt.
_ALIKE = 0.85


@module_pass("fuse-composites")
def fuse_composites(module: Module, fusions: Iterable[Fusion], report: Report, body_check: BodyCheck) -> None:
    """Replace calls of annotated functions by fused ops: call lstm_1(x, h, c, ...) -> UNIDIRECTIONAL_SEQUENCE_LSTM.

    The fusion's check and the function's body must agree; other calls stay.

    What stands in the body of a composite that is fused goes with it; a composite within one that is not is looked at.
    """
    composites = sorted(
        ((fusion, fusion.root, name) for fusion in fusions if isinstance(fusion.root, Composite)
         for name in fusion.root.names),
        key=lambda entry: (any(c in entry[2] for c in "*?["), -len(entry[2])),
    )  # fmt: skip
    walk = _CompositeRewriter(module, composites, report, body_check)
    with closing(body_check.numeric):
        for signature in module.signatures:
            walk.graph(signature.graph)


class _CompositeRewriter:
    """One walk through the graphs of a module and the functions that stay. composites: the fusions with their patterns
    of names, those first that say most."""

    def __init__(
        self,
        module: Module,
        composites: list[tuple[Fusion, Composite, str]],
        report: Report,
        body_check: BodyCheck,
    ) -> None:
        self.module = module
        self.composites = composites
        self.report = report
        self.body_check = body_check

    def graph(self, graph: Graph) -> None:
        rewrite_ops(graph, CALLS, self.fuse)
        for op in graph.ops:
            for body, _ in bodies(op, self.module):
                self.graph(body)

    def fuse(self, op: Op, out: list[Op]) -> list[Value] | None:
        """Replace a call by the first fusion that agrees; return None if it stays."""
        callee = callee_of(op, self.module.functions)
        implemented = annotation(callee) if callee is not None else None
        if callee is None or implemented is None:
            return None
        attrs = _function_attrs(callee) | implemented.attrs
        tried = False
        for fusion, root, name in self.composites:
            flag = attrs.get(root.only_if, False) if root.only_if else True
            if flag is False or not fnmatch.fnmatchcase(implemented.name, name):
                continue
            tried = True
            try:
                if flag is not True:
                    raise Refused(f"the annotation's attribute {root.only_if} must be of type bool, not {flag!r}")
                out.extend(self.apply(fusion, op, callee, implemented))
            except Refused as refusal:
                self.report.refused(fusion.name, op.sources, str(refusal), expected=True)
            else:
                return []
        if not tried:
            alike = suggestion(implemented.name, [name for _, _, name in self.composites], _ALIKE)
            why = f"none of the fusions in use is for the composite {implemented.name}{alike}"
            self.report.refused(implemented.name, op.sources, why, expected=True)
        return None

    def apply(self, fusion: Fusion, op: Op, callee: Graph, implemented: FuncRef) -> list[Op]:
        """Build the fused ops and replace the call by them. Raises Refused."""
        if has_effect(op, self.module, {}):
            raise Refused("the function writes to a variable or a table, which a fused op would not do")
        match = bind(fusion, op, callee, implemented)
        check(fusion, match)
        inner = [name for part in _all_ops(callee, self.module) for name in part.sources]
        tfl = Builder([], op.name, (*op.sources, *inner), self.module.functions)
        with Speculative(tfl.functions, tfl.out) as trial:
            made = build(fusion, match, tfl)
            why = self.body_check(fusion, op, callee, self.module, fuse_alone)
            trial.keep()
        replace(fusion, match, made, tfl, self.report, why)
        return tfl.out


def fuse_alone(fusion: Fusion, op: Op, callee: Graph, module: Module) -> Match:
    """Replace the only op of a model, a call, by the fused ops. Raises Refused."""
    implemented = annotation(callee)
    assert implemented is not None
    match = bind(fusion, op, callee, implemented)
    check(fusion, match)
    tfl = Builder([], op.name, functions=module.functions)
    replace(fusion, match, build(fusion, match, tfl), tfl, Report())
    detach(op)
    module.signatures[0].graph.ops = tfl.out
    return match


def bind(fusion: Fusion, op: Op, callee: Graph, implemented: FuncRef) -> Match:
    """Bind a call to its contract: operands, results and attributes get the names that the composite gives them. Raises
    Refused if the contract does not hold."""
    root = fusion.root
    assert isinstance(root, Composite)
    if any(value is not None and value.dtype.is_handle for value in op.operands):
        raise Refused("the function reads a variable or a table of the model: hand its value in as an argument")
    operands = _bind_names(root.operands, op.operands)
    results = _bind_names(root.results, op.results)
    if operands is None or results is None:
        raise Refused(
            f"{implemented.name} takes {len(op.operands)} operands and gives {len(op.results)} results, "
            f"where the contract is ({' '.join(root.operands)}) -> ({' '.join(root.results)})"
        )
    named: dict[str, Any] = {}
    for name, value in results.items():
        several = isinstance(value, list)
        named |= {f"{name}{index}": item for index, item in enumerate(value)} if several else {name: value}
    attrs = _bind_attrs(root, implemented, _function_attrs(callee))
    named = {name: value for name, value in named.items() if value is not None}
    placeholder = all(value.is_const for value in callee.outputs)
    return Match(operands, attrs, {}, named, implemented.name, placeholder)


def _bind_names(names: tuple[str, ...], values: list[Any]) -> dict[str, Any] | None:
    """Bind values to names, in their order; None if their number is not the contract's."""
    rest = names[-1:] if names and names[-1].endswith("*") else ()
    single = names[: len(names) - len(rest)]
    required = sum(not name.endswith("?") for name in single)
    if len(values) < required or (len(values) > len(single) and not rest):
        return None
    bound: dict[str, Any] = {name.rstrip("?"): None for name in single}
    bound.update(zip(bound, values))
    if rest:
        bound[rest[0].rstrip("*")] = list(values[len(single) :])
    return bound


def _bind_attrs(root: Composite, implemented: FuncRef, of_function: dict[str, Any]) -> dict[str, Any]:
    """Bind the attributes of an annotation to those that the composite declares: `name: type` must be there, `name:
    default` may. Raises Refused for one that is missing, of another type, or not declared. of_function: those beside
    the annotation."""
    if root.attrs is None:
        return {name: v for name, v in (of_function | implemented.attrs).items() if name != root.only_if}
    unknown = implemented.attrs.keys() - root.attrs.keys() - {_FUSABLE}
    if unknown:
        raise Refused(f"the annotation's attribute {min(unknown)} is not supported")
    given = of_function | implemented.attrs
    bound: dict[str, Any] = {}
    for name, wanted in root.attrs.items():
        required = isinstance(wanted, (type, list))
        if name not in given and required:
            raise Refused(f"the annotation lacks the attribute {name}")
        value = bound[name] = given.get(name, wanted)
        if wanted is not None and not _is_of_type(value, wanted if required else type(wanted)):
            kind = f"a list of {wanted[0].__name__}" if isinstance(wanted, list) else (
                f"of type {(wanted if required else type(wanted)).__name__}")  # fmt: skip
            raise Refused(f"the annotation's attribute {name} must be {kind}, not {value!r}")
    return bound


def _is_of_type(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(value, list) and all(type(item) is wanted[0] for item in value)
    return type(value) is wanted


def _function_attrs(callee: Graph) -> dict[str, Any]:
    """Return the attributes of the function itself, such as Keras's `time_major`, without TensorFlow's internal
    ones."""
    return {
        name: value
        for name, value in callee.attrs.items()
        if not name.startswith(_OWN_PREFIXES) and name not in _OWN_ATTRS
    }


def _all_ops(graph: Graph, module: Module) -> Iterator[Op]:
    for op in graph.ops:
        yield op
        for body, _ in bodies(op, module):
            yield from _all_ops(body, module)
