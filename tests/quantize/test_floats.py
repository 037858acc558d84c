"""What is kept of a module before it is quantized."""

from __future__ import annotations

from fuseconv.quantize.floats import Floats, constant_bytes, constants_of
from fuseconv.write.flatbuffer_export import to_named_bytes
from tests.check_pass import check_pass


def test_the_file_is_kept() -> None:
    floats = Floats(True)
    context = check_pass("keep-floats", """
    main {
      input %x: float32[2]
      %y: float32[2] = tfl.ADD(%x, float32[2] [1, 2])
      return %y
    }
    """, floats=floats)
    graph = context.module.signatures[0].graph
    assert floats.data[4:8] == b"TFL3" and floats.ops == {graph.ops[0]: 8}
    _, names = to_named_bytes(context.module)
    assert floats.pairs(names) == {name: name for name in names}
    assert floats.pairs({"new": graph.outputs[0], "other": graph.inputs[0]}) == {
        floats.names[graph.outputs[0]]: "new", floats.names[graph.inputs[0]]: "other",
    }  # fmt: skip


def test_constants_that_are_expanded_count() -> None:
    graph = check_pass("keep-floats", """
    main {
      input %x: float32[n,2]
      %w: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [1.5, 2, 3, 4])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, float32[2] [1, 2])
      return %y
    }
    """, floats=Floats(True)).module.signatures[0].graph
    op = graph.ops[1]
    assert next(constants_of(op)) is graph.ops[0].operands[0] and constant_bytes(op) == 8 + 8


def test_ops_of_branches_and_their_conditions() -> None:
    floats = Floats(True)
    context = check_pass("keep-floats", """
    main {
      input %x: float32[2]
      input %c: bool[]
      %y: float32[2] = tfl.IF(%c, %x) {'then_subgraph_index': @negative, 'else_subgraph_index': @absolute}
      return %y
    }
    negative {
      input %p: float32[2]
      %m: float32[2] = tfl.NEG(%p)
      return %m
    }
    absolute {
      input %q: float32[2]
      %a: float32[2] = tfl.ABS(%q)
      return %a
    }
    """, floats=floats)
    assert [op.type for op in floats.ops] == ["NEG", "ABS", "IF"]
    condition = floats.names[context.module.signatures[0].graph.inputs[1]]
    names = [floats.names[op.result] for op in floats.ops]
    assert floats.guards == {names[0]: ((condition, True),), names[1]: ((condition, False),)}
