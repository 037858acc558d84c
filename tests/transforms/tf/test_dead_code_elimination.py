"""What nobody reads goes, what leaves something behind stays, and both are said."""

from __future__ import annotations

from fuseconv.transforms.tf.dead_code_elimination import remove_dead_code
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of


def test_what_nothing_reads_goes() -> None:
    check_pass("dead-code-elimination", """
    main {
      input %x: float32[2]
      %a: float32[2] = tf.Neg(%x)
      %b: float32[2] = tf.Abs(%a)
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    """)


def test_what_is_read_stays() -> None:
    check_pass("dead-code-elimination", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.Exp(%x)
      %z: float32[2] = tf.Exp(%x)
      return %y, %z
    }
    """)


def test_chains_without_readers_go_at_once() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        %1 "a": float32[2] = tf.Neg(%0) {}
        %2 "b": float32[2] = tf.Abs(%1) {}
        %3 "c": float32[2] = tf.Exp(%0) {}
        return %3
        }"""
    )
    remove_dead_code(module, report)
    assert kinds(module) == ["Exp"]
    assert report.account() == {"a": "removed", "b": "removed", "c": ""}
    assert list(module.signatures[0].graph.inputs[0].uses) == module.signatures[0].graph.ops


def test_writes_stay_and_checks_go() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        %1 "h": resource[] = tf.VarHandleOp() {'shared_name': 'v'}
        %2 "write": float32[] = tf.AssignVariableOp(%1, %0) {}
        %3 "check": float32[] = tf.Assert(%0, %0) {}
        %4 "say": float32[] = tf.PrintV2(%0) {}
        return %0
        }"""
    )
    remove_dead_code(module, report)
    assert kinds(module) == ["VarHandleOp", "AssignVariableOp"]
    assert report.account()["check"] == report.account()["say"] == "removed"


def test_a_loop_that_writes_stays_and_an_idle_one_goes() -> None:
    body = 'body {\n input %0 "h": resource[]\n WRITE return %0\n}'
    write = '%1 "w": float32[] = tf.AssignVariableOp(%0, %0) {}\n'
    main = """main {
        input %0 "h": resource[]
        %1 "loop": resource[] = tf.While(%0) {'body': {'function': 'body'}}
        return %0
        }"""
    for text, expected in ((write, ["While"]), ("", [])):
        module, report = module_of(main, body.replace("WRITE", text))
        remove_dead_code(module, report)
        assert kinds(module) == expected
        assert list(module.functions) == (["body"] if expected else [])


def test_custom_ops_with_effects_stay() -> None:
    """Before lowering and after it: those without results, and those that are said to be stateful."""
    module, report = module_of(
        """main {
        input %x: float32[2]
        %a: float32[2] = tf.MyOwn(%x) {'_stateful': True}
        %b: float32[2] = tf.MyOther(%x)
        tf.MySave(%x)
        %c: float32[2] = tfl.CUSTOM(%x) {'custom_code': 'MyOwn', '_stateful': True}
        %d: float32[2] = tfl.CUSTOM(%x) {'custom_code': 'MyOther'}
        tfl.CUSTOM(%x) {'custom_code': 'FlexSave'}
        return %x
        }"""
    )
    remove_dead_code(module, report)
    kept = [op.attrs.get("custom_code", op.type) for op in module.signatures[0].graph.ops]
    assert kept == ["MyOwn", "MySave", "MyOwn", "FlexSave"]
