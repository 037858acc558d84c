"""Sizes of inputs that are joined have one name."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_joined_inputs_have_one_batch() -> None:
    check_pass("unify-sizes", """
    main {
      input %x: float32[n,1]
      input %y: float32[m,1]
      input %z: float32[k,1]
      input %other: float32[j,2]
      %yz: float32[m,2] = tf.ConcatV2(%y, %z, int32[] 1)
      %xyz: float32[n,3] = tf.ConcatV2(%x, %yz, int32[] -1)
      return %xyz, %other
    }
    """, """
    main {
      input %x: float32[n,1]
      input %y: float32[n,1]
      input %z: float32[n,1]
      input %other: float32[j,2]
      %yz: float32[m,2] = tf.ConcatV2(%y, %z, int32[] 1)
      %xyz: float32[n,3] = tf.ConcatV2(%x, %yz, int32[] -1)
      return %xyz, %other
    }
    """)


def test_what_is_stacked_or_added_up_has_one_shape() -> None:
    check_pass("unify-sizes", """
    main {
      input %x: float32[n,2]
      input %y: float32[m,2]
      input %a: float32[i,j]
      input %b: float32[j,k]
      %stack: float32[2,n,2] = tf.Pack(%x, %y)
      %sum: float32[i,j] = tf.AddN(%a, %b)
      return %stack, %sum
    }
    """, """
    main {
      input %x: float32[n,2]
      input %y: float32[n,2]
      input %a: float32[i,i]
      input %b: float32[i,i]
      %stack: float32[2,n,2] = tf.Pack(%x, %y)
      %sum: float32[i,j] = tf.AddN(%a, %b)
      return %stack, %sum
    }
    """)


def test_sizes_along_the_axis_and_what_broadcasts_differ() -> None:
    check_pass("unify-sizes", """
    main {
      input %x: float32[n,1]
      input %y: float32[m,1]
      input %z: float32[k,1]
      %xy: float32[n + m,1] = tf.ConcatV2(%x, %y, int32[] 0)
      %xz: float32[?,1] = tf.AddV2(%x, %z)
      return %xy, %xz
    }
    """)


def test_what_only_a_branch_joins_may_differ() -> None:
    check_pass("unify-sizes", """
    main {
      input %c: bool[]
      input %x: float32[n,1]
      input %y: float32[m,1]
      %z: float32[?,2] = tf.StatelessIf(%c, %x, %y) {'then_branch': @then, 'else_branch': @else}
      return %z
    }
    then {
      input %x: float32[n,1]
      input %y: float32[m,1]
      %z: float32[n,2] = tf.ConcatV2(%x, %y, int32[] 1)
      return %z
    }
    else {
      input %x: float32[n,1]
      input %y: float32[m,1]
      %z: float32[n,2] = tf.Pad(%x, int32[2,2] [[0, 0], [0, 1]])
      return %z
    }
    """)
