"""Random numbers that a variable seeds."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_seed_that_the_model_moves() -> None:
    check_pass("legalize-seeded-random", """
    main {
      input %shape: int32[1]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'seed'}
      %seed: int64[2] = tf.ReadVariableOp(%h)
      %next: int64[2] = tf.AddV2(%seed, int64[2] [1, 1])
      tf.AssignVariableOp(%h, %next)
      %y: float32[2] = tf.StatelessRandomUniform(%shape, %seed)
      return %y
    }
    """, """
    main {
      input %shape: int32[1]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'seed'}
      %seed: int64[2] = tf.ReadVariableOp(%h)
      %next: int64[2] = tf.AddV2(%seed, int64[2] [1, 1])
      tf.AssignVariableOp(%h, %next)
      %y: float32[*] = tf.RandomUniform(%shape)
      return %y
    }
    """)


def test_a_seed_that_is_drawn() -> None:
    check_pass("legalize-seeded-random", """
    main {
      input %x: float32[3,5]
      %seed: int32[2] = tf.RandomUniformInt(int32[1] [2], int32[] -9, int32[] 9)
      %y: int32[3,4] = tf.StatelessMultinomial(%x, int32[] 4, %seed)
      return %y
    }
    """, """
    main {
      input %x: float32[3,5]
      %seed: int32[2] = tf.RandomUniformInt(int32[1] [2], int32[] -9, int32[] 9)
      %y: int32[*] = tf.Multinomial(%x, int32[] 4)
      return %y
    }
    """)


def test_a_seed_that_stays_the_same() -> None:
    check_pass("legalize-seeded-random", """
    main {
      input %shape: int32[1]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'seed'}
      %seed: int64[2] = tf.ReadVariableOp(%h)
      %next: int64[2] = tf.AddV2(%seed, int64[2] [1, 1])
      %y: float32[2] = tf.StatelessRandomUniform(%shape, %seed)
      return %y
    }
    """)
