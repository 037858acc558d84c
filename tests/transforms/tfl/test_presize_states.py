"""States of recurrent ops have a size before a run, where all that comes before them has."""

from __future__ import annotations

from tests.check_pass import check_pass

_RNN = (
    "tfl.UNIDIRECTIONAL_SEQUENCE_RNN("
    "%x, float32[2,3] [1, 2, 3, 4, 5, 6], float32[2,2] [1, 2, 3, 4], float32[2] [1, 2], "
)


def test_a_state_of_zeros_is_sized_before_a_run() -> None:
    check_pass("presize-states", f"""
    main {{
      input %x: float32[n,5,3]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 2)
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%sizes, float32[] 0.0)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,5,3]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 2)
      %batch: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %known: int32[2] = tfl.CONCATENATION(%batch, int32[1] [2])
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%known, float32[] 0.0)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """)


def test_a_state_that_is_given_is_sized_before_a_run() -> None:
    check_pass("presize-states", f"""
    main {{
      input %x: float32[n,5,3]
      input %h0: float32[n,2]
      %s: int32[2] = tfl.SHAPE(%h0)
      %times: int32[2] = tfl.MINIMUM(%s, int32[2] [1, 1])
      %h: float32[n,2] {{'variable': True}} = tfl.TILE(%h0, %times)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,5,3]
      input %h0: float32[n,2]
      %s: int32[2] = tfl.SHAPE(%h0)
      %times: int32[2] = tfl.MINIMUM(%s, int32[2] [1, 1])
      %h: float32[n,2] {{'variable': True}} = tfl.TILE(%h0, int32[2] [1, 1])
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """)


def test_a_state_that_the_runtime_would_compute_once_is_computed_on_every_invoke() -> None:
    # TILE of what is known as tensors are allocated is computed then, and so is a TILE of that.
    check_pass("presize-states", f"""
    main {{
      input %x: float32[n,5,3]
      %s: int32[3] = tfl.SHAPE(%x)
      %batch: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %multiples: int32[2] = tfl.CONCATENATION(%batch, int32[1] [1])
      %h0: float32[n,2] = tfl.TILE(float32[1,2] [1, 2], %multiples)
      %own: int32[2] = tfl.SHAPE(%h0)
      %times: int32[2] = tfl.MINIMUM(%own, int32[2] [1, 1])
      %h: float32[n,2] {{'variable': True}} = tfl.TILE(%h0, %times)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,5,3]
      %s: int32[3] = tfl.SHAPE(%x)
      %batch: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %multiples: int32[2] = tfl.CONCATENATION(%batch, int32[1] [1])
      %h0: float32[n,2] = tfl.TILE(float32[1,2] [1, 2], %multiples)
      %own: int32[2] = tfl.SHAPE(%h0)
      %times: int32[2] = tfl.MINIMUM(%own, int32[2] [1, 1])
      %zero: float32[1] = tfl.FILL(int32[1] [1], float32[] 0.0)
      %again: float32[n,2] = tfl.ADD(%h0, %zero)
      %h: float32[n,2] {{'variable': True}} = tfl.TILE(%again, int32[2] [1, 1])
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """)


def test_a_state_behind_a_tensor_of_dynamic_size_stays_one() -> None:
    # The runtime would keep the place of one row for it.
    check_pass("presize-states", f"""
    main {{
      input %given: float32[m,3]
      input %sizes0: int32[3]
      %x: float32[n,5,3] = tfl.RESHAPE(%given, %sizes0)
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 2)
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%sizes, float32[] 0.0)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """)


_LOOP = """
    main {{
      input %given: float32[n,5,3]
      %at: int32[]; %x: float32[n,5,3] = tfl.WHILE(int32[] 0, %given) \
{{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}}
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 2)
      {state}
      %y: float32[n,5,2] = {rnn}%h)
      return %y
    }}
    cond {{
      input %i: int32[]
      input %v: float32[n,5,3]
      %go: bool[] = tfl.LESS(%i, int32[] 3)
      return %go
    }}
    body {{
      input %i: int32[]
      input %v: float32[n,5,3]
      %next: int32[] = tfl.ADD(%i, int32[] 1)
      {step}
      return %next, %w
    }}
"""


def test_a_state_behind_a_loop_is_sized_before_a_run_if_no_step_makes_anything_of_dynamic_size() -> None:
    packed = "%h: float32[n,2] {'variable': True} = tfl.FILL(%sizes, float32[] 0.0)"
    known = """%batch: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %known: int32[2] = tfl.CONCATENATION(%batch, int32[1] [2])
      %h: float32[n,2] {'variable': True} = tfl.FILL(%known, float32[] 0.0)"""
    fixed = "%w: float32[n,5,3] = tfl.TANH(%v)"
    sliced = "%w: float32[n,5,3] = tfl.SLICE(%v, int32[3] [0, 0, 0], int32[3] [-1, -1, -1])"
    before, after = (_LOOP.format(state=state, rnn=_RNN, step=fixed) for state in (packed, known))
    check_pass("presize-states", before, after)
    check_pass("presize-states", _LOOP.format(state=packed, rnn=_RNN, step=sliced))


def test_sizes_are_looked_at_once_however_they_are_joined() -> None:
    """There are 2 ** 64 ways from the last of these to the shape."""
    joins = "".join(f"%s{at + 1}: int32[0] = tfl.CONCATENATION(%s{at}, %s{at})\n" for at in range(64))
    text = f"""
    main {{
      input %x: float32[n,5,3]
      input %scalar: float32[]
      %s0: int32[0] = tfl.SHAPE(%scalar)
      {joins}
      %zero: float32[] = tfl.RESHAPE(%scalar, %s64)
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 2)
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%sizes, %zero)
      %y: float32[n,5,2] = {_RNN}%h)
      return %y
    }}
    """
    check_pass("presize-states", text, text.replace(
        "tfl.FILL(%sizes", "tfl.FILL(%known").replace("%h: ", """
      %batch: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %known: int32[2] = tfl.CONCATENATION(%batch, int32[1] [2])
      %h: """))
