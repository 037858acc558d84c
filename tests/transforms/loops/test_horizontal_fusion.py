"""Ops on parts become one op."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.constant_readers import ConstantReaders
from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check as check_ir
from fuseconv.transforms.loops.horizontal_fusion import fuse_siblings
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of
from tests.transforms.loops.loop_texts import TWO_PRODUCTS, condition


def joined(*lines: str) -> Module:
    text = "\n".join(lines)
    module, report = module_of(
        f"""main {{
        input %0 "x": float32[n,6]
        input %1 "y": float32[n,6]
        const %2 "axis": int32[] = -1
        {text}
        }}""",
        inputs=2,
    )
    canonicalize(module, report)
    fuse_siblings(module.signatures[0].graph, ConstantReaders(module), report)
    check_ir(module)
    canonicalize(module, report)
    check_ir(module)
    return module


SPLITS = """%3 "a": float32[n,2]; %4 "b": float32[n,2]; %5 "c": float32[n,2] = tf.Split(%2, %0) {}
    %6 "d": float32[n,2]; %7 "e": float32[n,2]; %8 "f": float32[n,2] = tf.Split(%2, %1) {}"""


def _gates(*functions: str) -> list[str]:
    """Return the kinds of a cell with two gates that are functions of sums, and a third sum."""
    lines, values = [], {"z": "%9", "r": "%10"}
    for place, kind in enumerate(functions):
        for gate in values:
            number = 20 + 2 * place + (gate == "r")
            lines.append(f'%{number} "{gate}{place}": float32[n,2] = tf.{kind}({values[gate]}) {{}}')
            values[gate] = f"%{number}"
    return kinds(joined(
        SPLITS,
        """%9 "z": float32[n,2] = tf.AddV2(%3, %6) {}
        %10 "r": float32[n,2] = tf.AddV2(%4, %7) {}""",
        *lines,
        f"""%13 "g": float32[n,2] = tf.Mul({values["r"]}, %8) {{}}
        %14 "n": float32[n,2] = tf.AddV2(%13, %5) {{}}
        %15 "h": float32[n,2] = tf.Mul({values["z"]}, %14) {{}}
        return %15""",
    ))  # fmt: skip


def test_gates_of_one_long_function() -> None:
    made = _gates("Neg", "Sigmoid", "Tanh")
    assert made.count("Sigmoid") == 1 and made.count("AddV2") == 2 and made.count("Mul") == 2
    # x and y fall into a pair of gates and a third one; the gates into equal parts.
    assert made.count("StridedSlice") == 4 and made.count("Split") == 1 and len(made) == 12


def test_gates_stay_where_slices_cost_what_they_save() -> None:
    made = _gates("Sigmoid")
    assert made.count("Sigmoid") == 2 and made.count("Split") == 2 and len(made) == 9


def test_parts_in_another_order_stay() -> None:
    module = joined(
        SPLITS,
        """%9 "p": float32[n,2] = tf.AddV2(%3, %7) {}
        %10 "q": float32[n,2] = tf.AddV2(%4, %6) {}
        %11 "r": float32[n,2] = tf.Mul(%9, %10) {}
        return %11""",
    )
    assert kinds(module).count("AddV2") == 2


def test_products_with_biases() -> None:
    module = joined(
        """const %3 "k": float32[6,2] = [[1.0,2.0],[3.0,4.0],[5.0,6.0],[1.0,2.0],[3.0,4.0],[5.0,6.0]]
        const %4 "l": float32[6,1] = [[1.0],[2.0],[3.0],[4.0],[5.0],[6.0]]
        const %5 "u": float32[2] = [1.0, 2.0]
        const %6 "v": float32[1] = [3.0]
        %7 "p": float32[n,2] = tf.MatMul(%0, %3) {}
        %8 "q": float32[n,1] = tf.MatMul(%0, %4) {}
        %9 "r": float32[n,2] = tf.BiasAdd(%7, %5) {}
        %10 "s": float32[n,1] = tf.BiasAdd(%8, %6) {}
        %11 "t": float32[n,2] = tf.Mul(%9, %10) {}
        return %11"""
    )
    assert kinds(module) == ["MatMul", "BiasAdd", "StridedSlice", "StridedSlice", "Mul"]
    product, bias = module.signatures[0].graph.ops[:2]
    assert product.operands[1].shape == (6, 3)  # type: ignore[union-attr]
    np.testing.assert_array_equal(bias.operands[1].data, [1, 2, 3])  # type: ignore[union-attr,arg-type]


def test_products_of_different_operands_stay() -> None:
    module = joined(
        """const %3 "k": float32[6,1] = [[1.0],[2.0],[3.0],[4.0],[5.0],[6.0]]
        const %4 "l": float32[6,1] = [[2.0],[2.0],[3.0],[4.0],[5.0],[6.0]]
        %5 "p": float32[n,1] = tf.MatMul(%0, %3) {}
        %6 "q": float32[n,1] = tf.MatMul(%1, %4) {}
        %7 "r": float32[n,1] = tf.Mul(%5, %6) {}
        return %7"""
    )
    assert kinds(module).count("MatMul") == 2


def test_two_products_of_one_state() -> None:
    check_pass("horizontal-fusion", TWO_PRODUCTS, """
    main {
      input %x: float32[1,2]
      %i: int32[]; %y: float32[1,2] = tf.While(int32[] 0, %x) {'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %a: float32[1,4] = tf.MatMul(%h, float32[2,4] [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]])
      %a2: float32[1,2]; %a_1: float32[1,2] = tf.Split(int32[] -1, %a)
      %g: float32[1,2] = tf.Mul(%a2, %a_1)
      return %next, %g
    }
    """ + condition(5, "h: float32[1,2]"))


def test_a_product_of_a_product() -> None:
    of_one = TWO_PRODUCTS.replace("%b: float32[1,2] = tf.MatMul(%h", "%b: float32[1,2] = tf.MatMul(%a")
    assert of_one != TWO_PRODUCTS
    check_pass("horizontal-fusion", of_one)
