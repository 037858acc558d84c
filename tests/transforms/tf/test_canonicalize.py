"""Shapes flow, constants fold, equal ops merge: once for each, and never where it would be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import dims, types
from fuseconv.ir.graph import Graph, Module, Op, Signature, constant
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.transforms.tf import canonicalize as simplify_module
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of


def test_a_chain_over_a_dynamic_batch_is_known() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[b,4,6]
        %1 "shape": int32[*] = tf.Shape(%0) {}
        const %2 "zero": int32[1] = [0]
        const %3 "one": int32[1] = [1]
        %4 "batch": int32[*] = tf.StridedSlice(%1, %2, %3, %3) {'shrink_axis_mask': 1}
        const %5 "n": int32[] = 24
        %6 "pack": int32[*] = tf.Pack(%4, %5) {}
        %7 "flat": float32[*] = tf.Reshape(%0, %6) {}
        return %7
        }"""
    )
    canonicalize(module, report)
    assert module.signatures[0].graph.outputs[0].shape == (dims.symbol("b"), 24)


def test_a_static_chain_folds_away() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2,3]
        %1 "shape": int32[*] = tf.Shape(%0) {}
        %2 "twice": int32[*] = tf.AddV2(%1, %1) {}
        return %2
        }"""
    )
    canonicalize(module, report)
    assert kinds(module) == []
    np.testing.assert_array_equal(module.signatures[0].graph.outputs[0].data, [4, 6])
    assert report.account() == {"shape": "folded", "twice": "folded"}


def test_what_has_no_elements_is_a_constant_whatever_makes_it() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,0]
      input %y: float32[2,0]
      input %z: float32[2,3]
      %a: float32[*] = tf.Exp(%y)
      %b: float32[*] = tf.Exp(%x)
      %c: float32[*] = tf.Sum(%y, int32[] 1)
      %d: float32[*]; %e: int32[*] = tf.TopKV2(%z, int32[] 0)
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      input %x: float32[n,0]
      input %y: float32[2,0]
      input %z: float32[2,3]
      %b: float32[n,0] = tf.Exp(%x)
      %c: float32[2] = tf.Sum(%y, int32[] 1)
      return float32[2,0] [[], []], %b, %c, float32[2,0] [[], []], int32[2,0] [[], []]
    }
    """)


def test_equal_ops_merge_and_random_ones_do_not() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        const %1 "p": float32[] = 2.0
        const %2 "q": float32[] = 2.0
        %3 "a": float32[2] = tf.Mul(%0, %1) {}
        %4 "b": float32[2] = tf.Mul(%0, %2) {}
        const %5 "s": int32[1] = [2]
        %6 "r1": float32[2] = tf.RandomUniform(%5) {}
        %7 "r2": float32[2] = tf.RandomUniform(%5) {}
        return %3, %4, %6, %7
        }""",
        outputs=4,
    )
    canonicalize(module, report)
    assert kinds(module) == ["Mul", "RandomUniform", "RandomUniform"]
    assert module.signatures[0].graph.ops[0].sources == ("a", "b")


def test_casts_to_the_same_type_and_identities_forward() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[*]
        %1 "id": float32[2] = tf.Identity(%0) {}
        %2 "cast": float32[*] = tf.Cast(%1) {}
        %3 "neg": float32[*] = tf.Neg(%2) {}
        return %3
        }"""
    )
    canonicalize(module, report)
    assert kinds(module) == ["Neg"]
    assert module.signatures[0].graph.outputs[0].shape == (2,)


@pytest.mark.parametrize(("narrow", "wide", "exact"), [
    ("int32", "int64", True), ("int32", "float64", True), ("bool", "float32", True), ("float32", "float64", True),
    ("int64", "float64", False), ("uint64", "float64", False), ("int64", "complex128", False),
    ("int32", "float32", False), ("float32", "int64", False), ("int64", "int32", False), ("float32", "float16", False),
])  # fmt: skip
def test_casts_there_and_back_forward_what_the_type_between_holds(narrow: str, wide: str, exact: bool) -> None:
    module, report = module_of(
        f"""main {{
        input %x: {narrow}[2]
        %a: {wide}[2] = tf.Cast(%x)
        %y: {narrow}[2] = tf.Cast(%a)
        return %y
        }}"""
    )
    canonicalize(module, report)
    assert kinds(module) == ([] if exact else ["Cast", "Cast"])


def test_equal_constants_of_a_few_hundred_numbers_are_one() -> None:
    rows = np.arange(200.0, dtype=np.float32)
    others = np.where(rows == 100, -1, rows).astype(np.float32)
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (200,), "x")
    tfl = Builder(graph.ops)
    graph.outputs = [tfl.mul(x, rows), tfl.mul(x, rows.copy()), tfl.mul(x, others), tfl.mul(x, rows[::-1].copy())]
    canonicalize(Module([Signature(["main"], graph, ["x"], list("abcd"))]), Report())
    first, second, third, fourth = graph.outputs
    assert first is second and len({first, third, fourth}) == 3 == len(graph.ops)


def test_an_op_without_results_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow would be imported for an assertion of constants."""
    op = Op("tf.Assert", [constant(np.array(True)), constant(np.array(b"text", object))], {}, "assert", ("assert",))
    graph = Graph("main")
    graph.ops = [op]
    monkeypatch.setattr(simplify_module, "evaluate_with_tensorflow", lambda *_: pytest.fail("TensorFlow was asked"))
    report = Report()
    report.source("assert", "Assert")
    canonicalize(Module([Signature(["main"], graph, [], [])]), report)
    assert not graph.ops


@pytest.mark.parametrize(("said", "made", "is_defect"), [("[]", (1,), True), ("[1]", (), False), ("[2]", (2,), True)])
def test_a_folder_that_makes_another_shape_is_a_defect(
    said: str, made: tuple[int, ...], is_defect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a condition, a vector of one element is true whatever it holds. What the model says of the shape is not held
    against the folder."""
    module, _ = module_of("main {", f"%y: float32{said} = tf.Atan(float32[] 0.5)", "return %y", "}")
    monkeypatch.setattr(simplify_module, "evaluate", lambda *_: [np.zeros(made, np.float32)])
    if is_defect:
        with pytest.raises(TypeError, match=r"the kernel of Atan made \[.\] where the op makes \[\]"):
            canonicalize(module, Report())
    else:
        canonicalize(module, Report())
        assert module.signatures[0].graph.outputs[0].data is not None


def test_what_grows_is_folded_where_its_readers_are_no_larger_than_what_they_are_made_from() -> None:
    text = """main {
        input %0 "x": float32[600000]
        const %1 "one": float32[1] = [2.0]
        const %2 "times": int32[1] = [600000]
        %3 "many": float32[*] = tf.Tile(%1, %2) {}
        %4 "negative": float32[*] = tf.Neg(%3) {}
        %5 "product": float32[*] = tf.Mul(%4, OTHER) {}
        return %5
        }"""
    module, report = module_of(text.replace("OTHER", "%0"))
    canonicalize(module, report)
    assert kinds(module) == ["Tile", "Neg", "Mul"]

    module, report = module_of(text.replace("OTHER", "%0"))
    graph = module.signatures[0].graph
    weights = constant(np.arange(600000, dtype=np.float32))
    graph.ops[-1].set_operand(1, weights)
    canonicalize(module, report)
    check(module)
    (product,) = graph.outputs
    assert graph.ops == [] and product.data is not None
    np.testing.assert_array_equal(product.data, weights.data * np.float32(-2))


def test_what_is_made_of_large_results_is_computed_once_each() -> None:
    """Each op reads the one before it twice."""
    depth = 60
    squares = "\n".join(f'%{i + 3} "s{i}": float32[*] = tf.Mul(%{i + 2}, %{i + 2}) {{}}' for i in range(depth))
    text = f"""main {{
        const %0 "one": float32[1] = [1.0]
        const %1 "times": int32[1] = [300000]
        %2 "many": float32[*] = tf.Tile(%0, %1) {{}}
        {squares}
        %{depth + 3} "product": float32[*] = tf.Mul(%{depth + 2}, %0) {{}}
        return %{depth + 3}
        }}"""
    module, report = module_of(text)
    graph = module.signatures[0].graph
    graph.ops[-1].set_operand(1, constant(np.arange(300000, dtype=np.float32)))
    canonicalize(module, report)
    assert graph.ops == []


def test_what_would_fill_the_memory_is_not_made_to_fold_its_reader() -> None:
    module, report = module_of(
        """main {
        const %0 "sizes": int32[2] = [100000, 100000]
        const %1 "one": float32[] = 1.0
        const %2 "axes": int32[2] = [0, 1]
        %3 "many": float32[*] = tf.Fill(%0, %1) {}
        %4 "sum": float32[*] = tf.Sum(%3, %2) {}
        return %4
        }"""
    )
    canonicalize(module, report)
    assert kinds(module) == ["Fill", "Sum"]


def test_minus_zeros_are_no_zeros() -> None:
    """Else 1 / them would be another infinity."""
    module, report = module_of(
        """main {
        input %0 "sizes": int32[1]
        const %1 "zero": float32[] = 0.0
        const %2 "less": float32[] = -0.0
        %3 "zeros": float32[*] = tf.Fill(%0, %1) {}
        %4 "again": float32[*] = tf.Fill(%0, %1) {}
        %5 "minus": float32[*] = tf.Fill(%0, %2) {}
        return %3, %4, %5
        }""",
        outputs=3,
    )
    canonicalize(module, report)
    assert kinds(module) == ["Fill", "Fill"]


def test_shapes_constants_equal_ops_and_dead_ones() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2]
      %a: float32[*] = tf.Neg(%x)
      %b: float32[*] = tf.Identity(%a)
      %c: float32[*] = tf.Neg(%x)
      %four: float32[*] = tf.AddV2(float32[] 1.0, float32[] 3.0)
      %dead: float32[*] = tf.Exp(%x)
      %d: float32[*] = tf.Mul(%b, %four)
      %e: float32[*] = tf.AddV2(%c, %d)
      return %e
    }
    """, """
    main {
      input %x: float32[n,2]
      %a: float32[n,2] = tf.Neg(%x)
      %d: float32[n,2] = tf.Mul(%a, float32[] 4.0)
      %e: float32[n,2] = tf.AddV2(%a, %d)
      return %e
    }
    """)


def test_what_tensorflow_refuses_is_not_folded() -> None:
    # numpy adds these; TensorFlow takes a vector for a bias, and says so as it loads the model.
    check_pass("canonicalize", """
    main {
      input %x: float32[2]
      %y: float32[2,2] = tf.BiasAdd(float32[2,2] [[1.0, 2.0], [3.0, 4.0]], float32[2,2] [[1.0, 2.0], [3.0, 4.0]])
      %z: float32[2,2] = tf.Add(%x, %y)
      return %z
    }
    """)  # fmt: skip


def test_what_cannot_run_is_held_though_only_its_shape_is_read() -> None:
    module, report = module_of("""main {
        input %x: float32[4,4,3]
        const %c: int32[2] = [3, 2]
        %norm: float32[*] = tf.LRN(%x) {'alpha': 1.0}
        %exp: float32[*] = tf.Exp(%norm)
        %shape: int32[*] = tf.Shape(%exp)
        return %shape
    }""")
    module.is_held = False
    with pytest.raises(InputError, match=r"'norm' \(LRN\) cannot run: its operand 0 has the shape \[4,4,3\]"):
        canonicalize(module, report)


@pytest.mark.parametrize("op", [
    "%y: float32[*] = tf.LRN(%x)",  # of no elements, and of three dimensions too few
    "%y: float32[*] = tf.EnsureShape(%x) {'shape': (3,)}",
    "%y: float32[*] = tf.PlaceholderWithDefault(%x) {'shape': (0, 3)}",
])  # fmt: skip
def test_what_cannot_run_stays_for_lowering_to_refuse(op: str) -> None:
    module, _ = module_of(f"main {{\n input %x: float32[0]\n {op}\n return %y\n }}")
    canonicalize(module, Report())
    assert [made.kind for made in module.signatures[0].graph.ops] == [op.partition("= ")[2].partition("(")[0]]
