"""Cuts the graph of a signature at tensors that the user names, which become its inputs and outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from fuseconv.errors import InputError
from fuseconv.input_shapes import ONLY
from fuseconv.ir import dims
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, replace_uses
from fuseconv.ir.op_slices import backward_slice, forward_slice
from fuseconv.ir.rewriter import erase_ops, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Cut, Report
from fuseconv.tf.annotated_functions import callee_of
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.side_effects import has_effect, is_local
from fuseconv.tf.tensor_names import Tensor, TensorNames
from fuseconv.tf.traits import CALLS, TABLES, VARIABLES
from fuseconv.transforms.tf.canonicalize import infer_shapes
from fuseconv.transforms.tf.dead_code_elimination import remove_dead_code
from fuseconv.transforms.tf.inline import move_body

_MOST_LISTED = 4


@module_pass("cut-signature")
def cut_signature(
    module: Module,
    inputs: Sequence[str],
    outputs: Sequence[str],
    input_shapes: Mapping[str, Sequence[int | None]],
    rename: Mapping[str, str],
    report: Report,
) -> bool:
    """Make tensors that the user names the ends of a signature: y = g(f(x)) of x -> y = g(h) of h.

    inputs, outputs: names of tensors, see `TensorNames.find`, or of the signature's own inputs and outputs; nothing:
    the signature's, inputs as far as the outputs need them. A new input has the type and shape of the tensor, with
    sizes of its own where they are not known. What only fed the inputs is removed; of what changes state, only that
    stays which the inputs suffice for and that no input stands in for: the report warns of the rest.

    Raises InputError for names of no tensor or of several; for inputs that do not suffice, or that no output needs; for
    an input of unknown rank, unless input_shapes has it by the name that `rename` gives. So it does where a variable is
    still read that a removed op writes. Returns whether there was anything to cut."""
    first = module.signatures[0]
    inputs, outputs = _short(inputs, first.inputs), _short(outputs, first.outputs)
    if inputs in ([], first.inputs) and outputs in ([], first.outputs):
        return False  # a frozen graph was cut as it was loaded
    if len(module.signatures) > 1:
        there = ", ".join(signature.names[0] for signature in module.signatures)
        raise InputError(f"--inputs and --outputs are of one signature: choose it with --signature; there are {there}")
    (signature,) = module.signatures
    names = TensorNames(module, signature.graph, [name for name, type in report.sources.items() if type == "Const"])
    given = _found(inputs, dict(zip(signature.inputs, signature.graph.inputs)), names, "--inputs")
    wanted = _found(outputs, dict(zip(signature.outputs, signature.graph.outputs)), names, "--outputs")
    report.cut = Cut(*({name: tensor.name for name, tensor in found.items()} for found in (given, wanted)))
    values = _move_out(module, signature.graph, [*given.values(), *wanted.values()], report)
    if wanted:
        signature.graph.outputs = [values[found.value] for found in wanted.values()]
        signature.outputs = list(wanted)
    dropped, before = dict(zip(signature.inputs, signature.graph.inputs)), set[Op]()
    if given:
        before = _feed(module, signature, {name: values[found.value] for name, found in given.items()})
        for name, value in zip(signature.inputs, signature.graph.inputs):
            new = rename.get(name, rename.get(f"{name}:0", name))
            if value.shape is None and not {new, ONLY} & input_shapes.keys():
                raise InputError(f"the rank of the tensor {name} is not known: give --input-shape {new}=...")
    kept = set(signature.graph.inputs)
    dropped = {name: value for name, value in dropped.items() if value not in kept}
    with report.rewriting(module, "cut", "the inputs and outputs that were asked for do without it"):
        _prune(module, signature.graph, dropped, before, report)
    _check_inputs(signature, bool(given))
    return True


def _short(names: Iterable[str], own: Collection[str]) -> list[str]:
    return [name if name in own else name.removesuffix(":0") for name in names]


def _found(wanted: Sequence[str], own: Mapping[str, Value], names: TensorNames, option: str) -> dict[str, Tensor]:
    """Return the tensors of these names, which may be the signature's own."""
    found: dict[str, Tensor] = {}
    for name in wanted:
        tensor = Tensor(own[name], ()) if name in own else names.find(name, option)
        dtype = tensor.value.dtype
        if dtype.is_handle or dtype.tflite is None:
            raise InputError(f"{option} {name}: it is a {dtype}, and a TFLite file takes and returns none of these")
        if name in found or (option == "--inputs" and tensor in found.values()):
            raise InputError(f"{option} names the tensor {tensor.name} twice")
        found[name] = tensor
    return found


def _move_out(module: Module, graph: Graph, tensors: Iterable[Tensor], report: Report) -> dict[Value, Value]:
    """Inline the annotated functions that the tensors are in; return what each tensor is then."""
    tensors = list(tensors)
    opened = {call for tensor in tensors for call in tensor.calls}
    moved: dict[Value, Value] = {}

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        callee = callee_of(op, module.functions)
        if op not in opened or callee is None:
            return None
        report.removed(op, "inline", f"--inputs or --outputs name a tensor in {callee.name}")
        results = move_body(callee, op.operands, out)
        moved.update(zip(op.results, results))
        return results

    if opened:
        rewrite_ops(graph, CALLS, rewrite, revisit=True)
    values = {}
    for value in (tensor.value for tensor in tensors):
        now = values[value] = moved.get(value, value)
        while now in moved:
            now = values[value] = moved[now]
    return values


def _feed(module: Module, signature: Signature, given: Mapping[str, Value]) -> set[Op]:
    """Let inputs stand for tensors, or stay where these are inputs already; return the ops that made the tensors."""
    graph = signature.graph
    own = set(graph.inputs)
    cut = {name: value for name, value in given.items() if value not in own}
    before = backward_slice(cut.values())
    shapes = _shapes(module, cut.values()) if cut else {}
    graph.inputs = []
    for name, value in given.items():
        if value in own:
            graph.inputs.append(value)
            continue
        if value.op is None:
            raise InputError(f"--inputs {name}: it only hands on '{value.name}', which is a constant or an input")
        shape = shapes[value]
        sizes = shape and tuple(n if isinstance(n, int) else dims.symbol(f"{name}.{i}") for i, n in enumerate(shape))
        replace_uses(value, graph.add_input(value.dtype, sizes, name))
    signature.inputs = list(given)
    return before


def _shapes(module: Module, values: Collection[Value]) -> dict[Value, Shape | None]:
    """Infer the shapes of these values. In the module they stay unknown, as they may tell of inputs that are to go."""
    known = [(result, result.shape) for graph in module.graphs() for op in graph.ops for result in op.results]
    infer_shapes(module)
    shapes = {value: value.shape for value in values}
    for result, shape in known:
        result.shape, result.content = shape, None
    return shapes


def _prune(module: Module, graph: Graph, dropped: Mapping[str, Value], before: set[Op], report: Report) -> None:
    """Remove what neither the outputs need nor changes state, and what changes state but needs inputs that are dropped
    or only made what is fed now (before)."""
    needed = backward_slice(graph.outputs) | {graph.terminator}
    missing = [name for name, value in dropped.items() if not needed.isdisjoint(value.uses)]
    if missing:
        raise InputError(f"--inputs: the outputs need {', '.join(missing)} too; name it as well, or a tensor behind it")
    known: dict[str, bool] = {}
    effects = {op for op in graph.ops if not is_local(op) and has_effect(op, module, known)}
    lost = (effects & (forward_slice(dropped.values()) | before)) - needed
    kept = effects - lost
    kept |= needed | backward_slice(value for op in kept for value in op.operands)
    _warn_of(lost, kept, module, report)
    erase_ops(graph, {op for op in graph.ops if op not in kept})
    remove_dead_code(module, report)


def _warn_of(lost: Collection[Op], kept: Collection[Op], module: Module, report: Report) -> None:
    """Warn of ops that change state and are removed. Raises InputError if what is kept knows that state."""
    if not lost:
        return
    handles = aliases(module, VARIABLES | TABLES)

    def state(op: Op) -> set[str]:
        return {name for value in op.operands if value is not None for name in handles.get(value, ())}

    readers = {name: op.name for op in kept for name in state(op)}
    for op in lost:
        for name in state(op) & readers.keys():
            raise InputError(
                f"--inputs leaves out '{op.name}' ({op.type}), which changes '{name}', but '{readers[name]}' still "
                "reads it; name a tensor behind that as well"
            )
    names = sorted(f"{op.name} ({op.type})" for op in lost)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    report.warnings.append(
        f"what changes state before the inputs that --inputs names is left out: {', '.join(names[:_MOST_LISTED])}{more}"
    )


def _check_inputs(signature: Signature, asked_for: bool) -> None:
    """Remove inputs that nothing reads; refuse them if the user asked for them."""
    graph = signature.graph
    used = [(name, value) for name, value in zip(signature.inputs, graph.inputs) if value.uses]
    unused = [name for name, value in zip(signature.inputs, graph.inputs) if not value.uses]
    if asked_for and unused:
        raise InputError(f"--inputs: no output needs {', '.join(unused)}; leave it out, or name other --outputs")
    signature.inputs, graph.inputs = [name for name, _ in used], [value for _, value in used]
