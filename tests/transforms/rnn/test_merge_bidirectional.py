"""Layers of both directions become one composite."""

from __future__ import annotations

from tests.check_pass import check_pass

MAIN = """
    main {
      input %x: float32[1,5,2]
      input %h: float32[1,3]
      %w: float32[2,3] = tf.Zeros()
      %last: float32[1,3]; %ys: float32[1,5,3]; %state: float32[1,3] = tf.PartitionedCall(%x, %h, %w, %w, %w) {'f': \
@forwards}
      %last2: float32[1,3]; %back: float32[1,5,3]; %state2: float32[1,3] = tf.PartitionedCall(%x, %h, %w, %w, %w) \
{'f': @backwards}
      %turned: float32[1,5,3] = tf.ReverseV2(%back, int32[1] [1])
      return %ys, %turned
    }
"""
MERGED = """
    main {
      input %x: float32[1,5,2]
      input %h: float32[1,3]
      %w: float32[2,3] = tf.Zeros()
      %last: float32[1,3]; %last_1: float32[1,5,3]; %last_2: float32[1,3]; %last_3: float32[1,3]; %last_4: \
float32[1,5,3]; %last_5: float32[1,3] = tf.PartitionedCall(%x, %h, %w, %w, %w, %h, %w, %w, %w) {'f': \
@last/bidirectional_rnn_paired}
      return %last_1, %last_4
    }
    last/bidirectional_rnn_paired {
      attrs {'_implements': {'function': 'bidirectional_rnn_paired', 'attrs': {'time_major': False}}}
      input %x0: float32[1,5,2]
      input %x1: float32[1,3]
      input %x2: float32[2,3]
      input %x3: float32[2,3]
      input %x4: float32[2,3]
      input %x5: float32[1,3]
      input %x6: float32[2,3]
      input %x7: float32[2,3]
      input %x8: float32[2,3]
      %last: float32[1,3]; %last_1: float32[1,5,3]; %last_2: float32[1,3] = tf.PartitionedCall(%x0, %x1, %x2, %x3, \
%x4) {'f': @forwards}
      %last2: float32[1,3]; %last2_1: float32[1,5,3]; %last2_2: float32[1,3] = tf.PartitionedCall(%x0, %x5, %x6, %x7, \
%x8) {'f': @backwards}
      %turned: float32[1,5,3] = tf.ReverseV2(%last2_1, int32[1] [1])
      return %last, %last_1, %last_2, %last2, %turned, %last2_2
    }
"""


def layer(name: str, backwards: str = "") -> str:
    return f"""
    {name} {{
      attrs {{'_implements': {{'function': 'rnn_1'}}, 'time_major': False{backwards}}}
      input %x: float32[1,5,2]
      input %h: float32[1,3]
      input %w: float32[2,3]
      input %u: float32[2,3]
      input %b: float32[2,3]
      return %h, %x, %h
    }}
    """


def test_two_layers_of_one_sequence() -> None:
    layers = layer("forwards") + layer("backwards", ", 'go_backwards': True")
    check_pass("merge-bidirectional", MAIN + layers, MERGED + layers)


def test_two_layers_of_one_direction() -> None:
    check_pass("merge-bidirectional", MAIN + layer("forwards") + layer("backwards"))
