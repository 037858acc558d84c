"""Tables of types that TFLite lacks."""

from __future__ import annotations

import numpy as np

from tests.check_pass import check_pass


def test_numbers_are_gathered_from_the_rows_that_are_found() -> None:
    check_pass("legalize-hash-tables", """
    main {
      input %x: string[2]
      %h: resource[] = tf.HashTableV2() {'shared_name': 't', 'key_dtype': string, 'value_dtype': float32}
      %y: float32[2] = tf.LookupTableFindV2(%h, %x, float32[] -1.0)
      return %y
    }
    """, """
    main {
      input %x: string[2]
      %h: resource[] = tf.HashTableV2() {'key_dtype': string, 'shared_name': 't', 'value_dtype': float32}
      %y: resource[*] = tf.HashTableV2() {'key_dtype': string, 'shared_name': 't rows', 'value_dtype': int64}
      %y2: int64[*] = tf.LookupTableFindV2(%y, %x, int64[] 2)
      %y3: float32[*] = tf.Reshape(float32[] -1.0, int32[1] [1])
      %y4: float32[*] = tf.ConcatV2(float32[2] [1.0, 2.0], %y3, int32[] 0)
      %y5: float32[*] = tf.GatherV2(%y4, %y2, int32[] 0)
      return %y5
    }
    """, tables={"t": (np.array([b"a", b"b"], object), np.array([1, 2], np.float32))})


def test_a_table_that_the_runtime_has() -> None:
    check_pass("legalize-hash-tables", """
    main {
      input %x: string[2]
      %h: resource[] = tf.HashTableV2() {'shared_name': 't', 'key_dtype': string, 'value_dtype': int64}
      %y: int64[2] = tf.LookupTableFindV2(%h, %x, int64[] -1)
      return %y
    }
    """, tables={"t": (np.array([b"a", b"b"], object), np.array([1, 2], np.int64))})
