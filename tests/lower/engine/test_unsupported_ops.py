"""Why ops cannot be converted, each in a sentence."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from fuseconv.lower.engine.unsupported_ops import how_to_feed, reasons, unsupported_reason
from tests.tf.text_cases import module_of


def test_each_op_has_the_sentence_that_speaks_of_it() -> None:
    told = [(op, why) for why, ops in reasons().items() for op in ops.split()]
    assert len(told) > 50 and len({op for op, _ in told}) == len(told)
    assert all(unsupported_reason(op) == why and not why.endswith(".") for op, why in told)
    assert unsupported_reason("Betainc2") == "no rule lowers this op"


def test_no_op_with_a_rule_is_among_them() -> None:
    named = {op for ops in reasons().values() for op in ops.split()}
    ruled = sorted(named & Registry.builtin().rules.keys())
    assert ruled == [], "they have a rule: take them out of unsupported_ops.py"


def test_what_can_be_fed_is_named_with_the_inputs_that_are_needed_besides() -> None:
    module, _ = module_of("""
    main {
      input %file: string[]
      input %gain: float32[]
      input %rate: float32[]
      %size: int32[]; %wave: float32[n] = tf.DecodeWav(%file)
      %g: float32[n] = tf.Mul(%wave, %gain)
      %r: float32[] = tf.Neg(%rate)
      %q: float32[n] = tf.Svd(%g)
      return %q
    }
    """)
    graph = module.signatures[0].graph
    decode, last = graph.ops[0], graph.ops[-1]
    decode.sources, last.sources = ("size",), ("q",)
    assert how_to_feed(decode, module) == "; --inputs size:1,i1 cuts the model behind it"
    assert how_to_feed(last, module) == ""  # it may be what the model is for
    decode.sources = ("another",)
    assert how_to_feed(decode, module) == ""  # a pass made it: no node of the model has its name


def test_a_dataset_cannot_be_fed() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[3]
      %set: variant[] = tf.TensorSliceDataset(%x)
      %y: float32[] = tf.ReduceDataset(%set)
      return %y
    }
    """)
    dataset, _ = module.signatures[0].graph.ops
    dataset.sources = ("set",)
    assert how_to_feed(dataset, module) == ""
