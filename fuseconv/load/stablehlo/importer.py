"""Import a StableHLO module: its functions -> graphs of `tf` ops."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fuseconv.errors import ILL_FITTING, UnsupportedError
from fuseconv.ir import budget
from fuseconv.ir.graph import FuncRef, Graph, Op, Rejection, Value, detach
from fuseconv.load.stablehlo import bytecode
from fuseconv.load.stablehlo.attributes import FunctionType, TensorType, UnreadError
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.op_types import refuse_ill_typed
from fuseconv.load.stablehlo.ops import TABLE
from fuseconv.load.stablehlo.ops.elementwise import BROADCASTING
from fuseconv.load.stablehlo.ops.registry import takes
from fuseconv.load.stablehlo.platforms import taken_branches
from fuseconv.load.stablehlo.scope import RefusedError, Scope, symbolic, tensor_type
from fuseconv.load.stablehlo.shape_facts import argument_shapes

MAIN = "main"
_MOST_DEPTH = 64


class ModuleImporter:
    """Import the functions of a module that `main` needs.

    name: of the file or node that holds the module; it comes first in the names of functions. taken: names that
    functions may not have. graphs: what is built, by the names of the IR's functions. branches: what runs of the cases
    that the platform decides."""

    def __init__(self, data: bytes, name: str, taken: Collection[str] = ()) -> None:
        self.name = name
        self.module = bytecode.read_bytecode(data, name)
        with bytecode.told(name):
            refuse_ill_typed(self.module)
        self.graphs: dict[str, Graph] = {}
        self.branches: dict[Operation, Region] = {}
        self._platform: int | None = None
        self._taken = set(taken)
        self._by_name: dict[str, Graph] = {}
        self._building: list[str] = []
        self._expanded: set[str] = set()
        self._nodes: dict[str, int] = {}
        self._depth = 0

    def main(self, platform: int | None = None) -> Graph:
        """Return the graph of `main`. platform: the number of the one that it is to run on, if `main` takes one.

        Raises InputError if the module is damaged, UnsupportedError for ops that have no form in `tf` ops."""
        try:
            with bytecode.told(self.name):
                if platform is not None:
                    self._platform, self.branches = platform, taken_branches(self.module, platform)
                return self.graph(MAIN)
        except RefusedError as error:  # of an op it is caught where that is imported
            why = f"an argument of its function cannot be taken: {error}"
            raise UnsupportedError(f"{self.name}: {why}.", [("stablehlo.func", [self.name], why)]) from error

    def graph(self, name: str) -> Graph:
        """Return the graph of a function, built if it is not yet."""
        if name in self._by_name:
            return self._by_name[name]
        if name in self._building:
            raise DamagedError(f"the function {name} calls itself")
        function = self._function(name)
        self._building.append(name)
        graph = Graph(self.unique(f"{self.name}/{name}"))
        scope = Scope(graph, self)
        self._add_inputs(scope, function)
        self.fill(scope, function.regions[0])
        self._check_results(graph, function)
        self._building.pop()
        self._by_name[name] = self.graphs[graph.name] = graph
        return graph

    def _function(self, name: str) -> Operation:
        function = self.module.functions.get(name)
        if function is None:
            raise DamagedError(f"there is no function {name}")
        return function

    def region(self, name: str) -> Region:
        return self._function(name).regions[0]

    def _add_inputs(self, scope: Scope, function: Operation) -> None:
        kind, region = function.attribute("function_type"), function.regions[0]
        if not isinstance(kind, FunctionType) or list(kind.inputs) != [var.type for var in region.arguments]:
            raise DamagedError("a function has arguments of other types than it says")
        is_main = function is self.module.functions.get(MAIN)
        shapes = argument_shapes(function, self.module.functions) if is_main else None
        for index, var in enumerate(region.arguments):
            held = tensor_type(var)
            if is_main and index == 0 and self._platform is not None:
                scope.values[var] = scope.const(self._platform, held.dtype)
                continue
            shape = shapes[index] if shapes is not None else symbolic(held)
            scope.values[var] = scope.graph.add_input(held.dtype, shape, f"args_{len(scope.graph.inputs)}")

    def _check_results(self, graph: Graph, function: Operation) -> None:
        kind = function.attribute("function_type")
        said = [getattr(result, "dtype", None) for result in kind.outputs]
        if said != [value.dtype for value in graph.outputs]:
            raise DamagedError("a function returns other types than it says")

    def expand(self, scope: Scope, name: str, operands: Sequence[Value]) -> list[Value] | None:
        """Build the body of a function in the graph that calls it; return what it returns. None if it is to be called:
        only the first call of each is expanded, so that no module is longer than it is."""
        function = self.module.functions.get(name)
        if function is None or name in self._expanded or scope.outer is not None:
            return None
        self._expanded.add(name)
        arguments = function.regions[0].arguments
        if [value.dtype for value in operands] != [tensor_type(var).dtype for var in arguments]:
            raise DamagedError(f"{name} is called with other types than it takes")
        return self.inline(scope, function.regions[0], dict(zip(arguments, operands)))

    def inline(self, scope: Scope, region: Region, values: dict[Var, Value]) -> list[Value]:
        """Build the ops of a region in a graph that is being built; return what it returns. values: what it reads."""
        inner = Scope(scope.graph, self)
        inner.values = values
        self.fill(inner, region)
        return scope.graph.outputs

    def fill(self, scope: Scope, region: Region) -> None:
        """Build the ops of a region in a scope, and the outputs of its graph."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise DamagedError(f"its functions and regions stand in each other more than {_MOST_DEPTH} deep")
        if not region.ops or region.ops[-1].name != "return":
            raise DamagedError("a function does not end with a return")
        budget.spend_results(len(region.ops), scope.graph.name)
        for op in region.ops[:-1]:
            self._import(scope, op)
        scope.graph.outputs = [scope.value(var) for var in region.returned]
        scope.drop_unread_broadcasts()
        self._depth -= 1

    def _import(self, scope: Scope, op: Operation) -> None:
        scope.enter(op)
        given = operands = [scope.value(var) for var in op.operands]
        if scope.spread and op.name in BROADCASTING:
            operands = scope.bare(op, given)
        importer = TABLE.get(op.name, _unknown)
        count = len(scope.out)
        if not takes(importer, len(operands)):
            raise DamagedError(f"{scope.op.name} ({op.name}) has {len(operands)} operands")
        try:
            made = importer(scope, op, *operands)
            values = [made] if isinstance(made, Value) else list(made)
            scope.bind(op, values)
            if given:
                scope.note_narrow(given, values)
        except RefusedError as error:
            for built in scope.out[count:]:
                detach(built)
            del scope.out[count:]
            self._refuse(scope, op, operands, f"{error}")
        except (DamagedError, UnreadError):
            raise
        except ILL_FITTING as error:
            raise DamagedError(f"{scope.op.name} ({op.name}) is not made as the op is: {error!r}") from error

    def _refuse(self, scope: Scope, op: Operation, operands: list[Value], why: str) -> None:
        """Let an op stand that lowering refuses, if something needs it."""
        refused = Op(f"tf.stablehlo.{op.name}", operands, {}, scope.op.name, scope.op.sources)
        refused.rejection = Rejection(why)
        for var in op.results:
            kind = var.type
            if not isinstance(kind, TensorType):
                raise UnsupportedError(
                    f"{refused.name} (stablehlo.{op.name}) cannot be converted: {why}.",
                    [(f"stablehlo.{op.name}", [refused.name], why)],
                )
            scope.values[var] = refused.add_result(kind.dtype, symbolic(kind))
        scope.out.append(refused)

    def node_name(self, op: Operation, outer: Operation | None) -> str:
        """Return a name for what an op becomes, as its program names it, and as no other op is named. outer: the op
        whose region holds it."""
        place = op.place
        if outer is not None and outer.place:
            # The name of what is around it comes first where the region is put in its place.
            place = place.removeprefix(f"{outer.place}/")
        plain = op.name == "call" or place.rpartition("/")[2] == op.name
        name = place if place and plain else f"{place}/{op.name}".lstrip("/")
        count = self._nodes[name] = self._nodes.get(name, -1) + 1
        return f"{name}_{count}" if count else name

    def unique(self, name: str) -> str:
        """Return a name that no function has."""
        made, count = name, 0
        while made in self._taken:
            count += 1
            made = f"{name}_{count}"
        self._taken.add(made)
        return made

    def add(self, graph: Graph) -> FuncRef:
        """Add the graph of a region to the functions of the IR."""
        self.graphs[graph.name] = graph
        return FuncRef(graph.name)


def _unknown(scope: Scope, op: Operation, *operands: Value) -> Value:
    raise RefusedError("TFLite has nothing that computes it")
