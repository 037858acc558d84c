"""The order of custom ops with side effects is written, where the runtime would not keep it."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph
from fuseconv.tfl.builder import Builder
from fuseconv.write.control_dependencies import control_dependencies


def graph_of(build) -> Graph:
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "x")
    build(Builder(graph.ops, "op"), x)
    graph.outputs = [x]
    return graph


def parsed(data: bytes) -> list[list[tuple[int, int]]]:
    """Read what ParseModelControlDependencies does."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number, shift = 0, 0
    rest = iter(numbers)
    assert next(rest) == 1
    graphs = []
    for _ in range(next(rest)):
        pairs = [(next(rest), next(rest)) for _ in range(next(rest))]
        assert all(end % 2 == 0 for pair in pairs for end in pair)
        graphs.append([(first // 2, second // 2) for first, second in pairs])
    assert not list(rest)
    return graphs


def test_effects_are_chained_with_what_they_may_meet() -> None:
    def build(tfl, x):
        tfl.custom("Tell", [tfl.relu(x)], [])
        handle = tfl.var_handle(shared_name="v")
        tfl.assign_variable(handle, tfl.abs_(x))
        tfl.custom("Ask", [x], [(types.FLOAT32, (2,))])
        for count in (58, 62, 0):
            for _ in range(count):
                tfl.neg(x)
            tfl.custom("Tell", [x], [])

    data = control_dependencies([graph_of(build), graph_of(lambda tfl, x: tfl.relu(x))])
    # RELU 0, CUSTOM 1, VAR_HANDLE 2, ABS 3, ASSIGN_VARIABLE 4, CUSTOM 5, NEG 6 to 63, CUSTOM 64, 127, 128: numbers of
    # two bytes.
    assert data is not None and parsed(data) == [[(1, 2), (2, 4), (4, 5), (5, 64), (64, 127), (127, 128)], []]


def test_nothing_is_written_where_the_runtime_keeps_the_order() -> None:
    def variables(tfl, x):
        tfl.assign_variable(tfl.var_handle(shared_name="v"), x)

    def pure(tfl, x):
        for _ in range(2):
            tfl.custom("Ask", [x], [(types.FLOAT32, (2,))])

    for build in (variables, pure, lambda tfl, x: tfl.custom("Tell", [x], [])):
        assert control_dependencies([graph_of(build)]) is None


def test_a_custom_op_with_results_may_be_stateful() -> None:
    def build(tfl, x):
        for _ in range(2):
            tfl.custom("Count", [x], [(types.FLOAT32, (2,))], stateful=True)

    data = control_dependencies([graph_of(build)])
    assert data is not None and parsed(data) == [[(0, 1)]]


def test_what_runs_functions_may_meet_effects() -> None:
    def build(tfl, x):
        for _ in range(2):
            tfl.custom("Tell", [x], [])
            tfl.op("CALL_ONCE", (), {"init_subgraph_index": FuncRef("start")})

    data = control_dependencies([graph_of(build)])
    assert data is not None and parsed(data) == [[(0, 1), (1, 2), (2, 3)]]
