"""Lowering driver: applies the rule of every TF op, tf.Relu6(x) -> tfl.RELU6(x)."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from fuseconv.errors import ILL_FITTING, UnsupportedError, ill_fitting, is_ours, module_error
from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.op_function import OpFunction
from fuseconv.ir.rewriter import Speculative
from fuseconv.ir.types import COMPLEX128, FLOAT64, STRING
from fuseconv.lower.engine.custom import CustomOps
from fuseconv.lower.engine.unsupported_ops import how_to_feed, unsupported_reason
from fuseconv.lower.rules import Lowering, Unsupported
from fuseconv.lower.support.distinct_rows import numbering_variables
from fuseconv.lower.support.legalize_operands import filled
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.shape_functions import DAMAGED, contradiction
from fuseconv.tf.side_effects import has_effect
from fuseconv.tfl.kernel_limits import LARGEST_RANK, LARGEST_SIZE
from fuseconv.tfl.type_inference import ShapeError


@module_pass("lower", ensures=(TFL_ONLY,))
def lower(
    module: Module, rules: Mapping[str, OpFunction], report: Report, custom: CustomOps | None = None
) -> None:
    """Replace TF ops by the TFLite ops that their rules build: tf.Relu6(x) -> tfl.RELU6(x).

    Raises UnsupportedError with every op that cannot be lowered.

    custom: which ops that no rule serves may become CUSTOM ops.
    """
    custom = custom or CustomOps()
    refused: list[tuple[Op, str]] = []
    known: dict[str, bool] = {}
    made: Counter[str] = Counter()
    functions: dict[str, Graph] = {}
    variables = numbering_variables(module)
    for graph in module.graphs():
        effects = functools.partial(has_effect, module=module, known=known)
        form = functools.partial(_build_custom, module=module, custom=custom, made=made, effects=effects)
        _lower_graph(graph, rules, report, effects, form, refused, functions, variables)
    module.functions.update(functions)
    if refused:
        unranked = [
            name
            for signature in module.signatures
            for name, value in zip(signature.inputs, signature.graph.inputs)
            if value.shape is None and not value.dtype.is_handle
        ]
        advised = [(op, _with_advice(op, why, module, op.type in rules, custom)) for op, why in refused[::-1]]
        count = Counter(op.type for op, _ in advised)
        raise unsupported(
            [(op, why + (how_to_feed(op, module) if count[op.type] == 1 else "")) for op, why in advised], unranked
        )
    _warn_of_custom_ops(made, custom, report)


def _lower_graph(
    graph: Graph,
    rules: Mapping[str, OpFunction],
    report: Report,
    effects: Callable[[Op], bool],
    custom: Callable[[Op], tuple[str, list[Value], list[Op]]],
    refused: list[tuple[Op, str]],
    functions: dict[str, Graph],
    variables: Mapping[Value, int],
) -> None:
    """Lower the ops of a graph, the last one first. A rule may need only facts about an operand, such as a shape that a
    chain of ops computes: that chain then has no uses before it is reached."""
    lowered: list[list[Op]] = []
    for op in reversed(graph.ops):
        if op.dialect == "tfl":
            lowered.append([op])
            continue
        if not any(result.uses for result in op.results) and not effects(op):
            report.removed(op, "lower", "nothing reads it once shapes are known")
            detach(op)
            continue
        empty = _fill_empty(op) if _is_empty(op) and not effects(op) and not contradiction(op) else None
        why, results, emitted = empty or _apply(op, rules, functions, variables)
        if why and not _cannot_run(op, why):
            instead, made, ops = custom(op)
            if instead or ops:
                why, results, emitted = instead, made, ops
        if why:
            report.record("unsupported", "lower", op.sources, why=why)
            refused.append((op, why))
            lowered.append([op])
            continue
        lowered.append(emitted)
        for old, new in zip(op.results, results):
            if new is not None:
                replace_result(old, new)
        types = [new.type for new in emitted]
        why = "" if types else "what it would compute is there already, or is known"
        report.record("lowered" if types else "removed", f"lower {op.type}", op.sources, types, why)
        detach(op)
    graph.ops = [op for emitted in reversed(lowered) for op in emitted]


def _apply(
    op: Op, rules: Mapping[str, OpFunction], functions: dict[str, Graph], variables: Mapping[Value, int]
) -> tuple[str, Sequence[Value | None], list[Op]]:
    """Lower one op -> why that is refused ("" if it is not), the values for its results, and the ops that make them.
    What a refused rule has built is undone. Raises InputError for a rule of a plug-in that raises or makes other
    results."""
    if op.rejection is not None:
        return op.rejection.why, (), []
    rule = rules.get(op.type)
    if rule is None:
        return unsupported_reason(op.type), (), []
    why = rule.unhandled(op) or _oversized(op) or contradiction(op)
    if why:
        return why, (), []
    trial = Speculative(functions)
    tfl = Lowering(trial.ops, op, functions, variables)
    try:
        made = rule(tfl, op, op.operands)
    except (Unsupported, *ILL_FITTING) as refusal:
        if not isinstance(refusal, (Unsupported, OverflowError)) and not is_ours(rule.function):
            raise module_error(f"the rule for {op.type}", rule.function, refusal) from refusal
        trial.undo()
        return _refusal(refusal), (), []
    except Exception as error:
        # A rule may be a plug-in's, which is anybody's code and may raise anything.
        raise module_error(f"the rule for {op.type}", rule.function, error) from error
    results = made if isinstance(made, (list, tuple)) else [made]
    for old, new in zip_longest(op.results, results):
        if old is None or (new is None and old.uses):
            why = f"made {len(results)} results where the op has {len(op.results)}, or not those that are read"
        elif new is not None and new.dtype is not old.dtype:
            why = f"made a {new.dtype} where the op makes a {old.dtype}"
        else:
            continue
        raise module_error(f"the rule for {op.type}", rule.function, why)
    return "", results, trial.ops


def _is_empty(op: Op) -> bool:
    """Return whether an op's results are known to have no elements."""
    return bool(op.results) and all(
        result.shape is not None and 0 in result.shape and not result.dtype.is_handle for result in op.results
    )


def _fill_empty(op: Op) -> tuple[str, Sequence[Value], list[Op]] | None:
    """Build FILL for the results of an op that have no elements, as `_apply` builds what its rule does: kernels divide
    by their sizes, or read what there is not. None if the sizes cannot be computed, or one is too large."""
    trial = Speculative({})
    tfl = Lowering(trial.ops, op)
    sources = [value for value in op.operands if value is not None and value.shape is not None]
    try:
        made = [filled(tfl, r.shape, b"" if r.dtype is STRING else 0, r.dtype, *sources) for r in op.results]
    except (Unsupported, ShapeError):
        trial.undo()
        return None
    return "", made, trial.ops


def _refusal(error: Exception) -> str:
    """Return the reason why a rule refused its op, as a sentence."""
    if isinstance(error, Unsupported):
        return str(error)
    if isinstance(error, OverflowError):
        # What numpy says where a size that the rule computed does not fit int32.
        return f"TFLite counts in 32 bits: {error}"
    return f"its operands {ill_fitting(error)}"


def _oversized(op: Op) -> str:
    """Return the reason to refuse an op with tensors of a size or rank beyond TFLite's; empty if there is none."""
    for value in (*op.operands, *op.results):
        if value is not None and value.shape and (why := _too_large(value.shape)):
            return why
    return ""


@functools.lru_cache(maxsize=4096)
def _too_large(shape: Shape) -> str:
    if len(shape) > LARGEST_RANK:
        return f"a tensor has {len(shape)} dimensions, and fuseconv writes up to {LARGEST_RANK}"
    # Kernels count elements as they do sizes: the product of those that are known and not 0.
    elements = math.prod(size for size in shape if isinstance(size, int) and size)
    return f"TFLite counts in 32 bits, and a tensor has {elements} elements" if elements > LARGEST_SIZE else ""


def _build_custom(
    op: Op, module: Module, custom: CustomOps, made: Counter[str], effects: Callable[[Op], bool]
) -> tuple[str, list[Value], list[Op]]:
    """Build a CUSTOM op for `op`, with its side effects: return the reason why that is not possible (empty if it was
    not asked for), the results and the ops built. Counts the codes of custom ops in `made`."""
    attributes = module.attributes(op)
    try:
        form = custom.form(op, attributes)
    except Unsupported as refusal:
        return str(refusal), [], []
    if form is None:
        return "", [], []
    made[form[0]] += 1
    emitted: list[Op] = []
    types = [(result.dtype, result.shape) for result in op.results]
    results = Lowering(emitted, op).custom(form[0], op.operands, types, form[1], stateful=effects(op))
    return "", results, emitted


def _cannot_run(op: Op, why: str) -> bool:
    """Return True for an op that no kernel can run, not even TensorFlow's."""
    return (op.rejection is not None and op.rejection.hopeless) or why.endswith(DAMAGED)


def _with_advice(op: Op, why: str, module: Module, has_rule: bool, custom: CustomOps) -> str:
    """Return the reason, followed by advice for the user."""
    if _cannot_run(op, why):
        return why
    values = [value for value in (*op.operands, *op.results) if value is not None]
    if has_rule and any(value.dtype in (FLOAT64, COMPLEX128) for value in values):
        return f"{why}; --downcast-float64 computes in float32 instead"
    help = custom.help(op, module.attributes(op), has_rule)
    return f"{why}; {help}" if help else why


def _warn_of_custom_ops(made: Counter[str], custom: CustomOps, report: Report) -> None:
    """Warn that the file needs more than the runtime's builtins: `made` counts the custom ops by their codes. And of
    names that were given for custom ops and served for nothing."""
    codes = {code: f"{code} ({count})" for code, count in sorted(made.items())}
    flex = [text for code, text in codes.items() if code.startswith("Flex")]
    own = [text for code, text in codes.items() if not code.startswith("Flex")]
    if flex:
        report.warnings.append(
            f"TensorFlow's own kernels run {', '.join(flex)}: whoever runs the file needs the Flex delegate, "
            "which is many times the size of the runtime"
        )
    if own:
        report.warnings.append(f"whoever runs the file has to register kernels of their own for {', '.join(own)}")
    for name in custom.names:
        if name not in made:
            report.warnings.append(f"no operation {name} became a custom one: the model has none, or a rule lowers it")


def replace_result(old: Value, new: Value) -> None:
    """Replace all uses of `old` by `new`, which takes its name if built for it, and the dimensions that only `old`
    knows."""
    if new.op is not None and new.op.dialect == "tfl" and new.op.name == (old.op.name if old.op else ""):
        new.name = old.name
        if new.shape is None:
            new.shape = old.shape
        elif old.shape is not None and old.shape != new.shape and len(old.shape) == len(new.shape):
            new.shape = tuple(n if isinstance(n, int) else o for o, n in zip(old.shape, new.shape))
    replace_uses(old, new)


def unsupported(refused: list[tuple[Op, str]], unranked: Sequence[str] = ()) -> UnsupportedError:
    """Return one UnsupportedError for all refused ops, grouped by op and reason. unranked: the names of the
    inputs whose rank the model does not tell, on which that may lie."""
    groups: dict[tuple[str, str], list[str]] = {}
    for op, why in refused:
        groups.setdefault((op.type, why), []).append(op.name)
    ops = [(type, names, why) for (type, why), names in sorted(groups.items())]
    kinds = sorted({type for type, _, _ in ops})
    text = ", ".join(kinds[:5]) + (f" and {len(kinds) - 5} more" if len(kinds) > 5 else "")
    if unranked:
        shapes = " ".join(f"--input-shape {name}=..." for name in dict.fromkeys(unranked))
        text += f" (the rank of an input is not known, which may be why: give {shapes}, empty for a scalar)"
    return UnsupportedError(f"the model has operations that TFLite's builtins cannot express yet: {text}", ops)
