"""A loop over the five rows of a sequence as IR text, and the call of a simple RNN that it is raised to."""

from __future__ import annotations

KERNEL = "float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"
RECURRENT = "float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]"
PRODUCTS = f"""
      %wx: float32[1,3] = tf.MatMul(%x, {KERNEL})
      %uh: float32[1,3] = tf.MatMul(%h, {RECURRENT})
"""
SUM = f"{PRODUCTS}%sum: float32[1,3] = tf.AddV2(%wx, %uh)\n"


def loop(step: str, *, before: str = "", sequence: str = "%x") -> str:
    """Return a module that loops over %x [5, 1, 2] from a state %h of zeros, and stacks the outputs.

    step: makes %new, the next state, of %x and %h; and %out where that is not the output. before: ops in front of the
    loop. sequence: what it loops over."""
    return _lines(f"""
    main {{
      input %x: float32[5,1,2]
      {before}
      %xs: variant[] = tf.TensorListFromTensor({sequence}, int32[2] [1, 2])
      %list: variant[] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {{'element_dtype': float32}}
      %t: int32[]; %ys: variant[]; %h: float32[1,3]; %l: variant[] = tf.While(int32[] 0, %list, \
float32[1,3] [[0.0, 0.0, 0.0]], %xs) {{'cond': @cond, 'body': @body}}
      %y: float32[5,1,3] = tf.TensorListStack(%ys, int32[2] [1, 3])
      return %y
    }}
    {_functions(step)}""")


def raised(
    step: str, *, before: str = "", sequence: str = "%x", backwards: bool = False, in_call: str = "",
    weights: str = f"{KERNEL}, {RECURRENT}", shapes: tuple[str, str] = ("[2,3]", "[3,3]"),
    bias: str = "[0.0, 0.0, 0.0]",
) -> str:  # fmt: skip
    """Return what `loop` becomes: a call of `rnn_raised`, whose function holds the loop itself.

    in_call: ops in front of the call, which make `weights`. shapes: of the weights, as the function declares them."""
    attrs = {"time_major": True, "go_backwards": backwards}
    return _lines(f"""
    main {{
      input %x: float32[5,1,2]
      {before}
      %xs: variant[] = tf.TensorListFromTensor({sequence}, int32[2] [1, 2])
      %list: variant[] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {{'element_dtype': float32}}
      {in_call}
      %t: float32[1,3]; %t_1: float32[5,1,3]; %t_2: float32[1,3] = tf.PartitionedCall(%x, \
float32[1,3] [[0.0, 0.0, 0.0]], {weights}, float32[3] {bias}) {{'f': @t/rnn_raised}}
      return %t_1
    }}
    t/rnn_raised {{
      attrs {{'_implements': {{'function': 'rnn_raised', 'attrs': {attrs}}}}}
      input %x: float32[5,1,2]
      input %h0: float32[1,3]
      input %kernel: float32{shapes[0]}
      input %recurrent: float32{shapes[1]}
      input %bias: float32[3]
      {before}
      %list: variant[*] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {{'element_dtype': float32}}
      %xs: variant[*] = tf.TensorListFromTensor({sequence}, int32[2] [1, 2])
      %t: int32[]; %t_1: variant[]; %t_2: float32[1,3]; %t_3: variant[] = tf.While(int32[] 0, %list, %h0, %xs) \
{{'body': @body, 'cond': @cond}}
      %t2: float32[*] = tf.TensorListStack(%t_1, int32[2] [-1, 3])
      return %t_2, %t2, %t_2
    }}
    {_functions(step)}""")


def _functions(step: str) -> str:
    return f"""
    cond {{
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %more: bool[] = tf.Less(%t, int32[] 5)
      return %more
    }}
    body {{
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %x: float32[1,2] = tf.TensorListGetItem(%xs, %t, int32[2] [1, 2])
      {step}
      %set: variant[] = tf.TensorListSetItem(%ys, %t, {"%out" if "%out:" in step else "%new"})
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      return %next, %set, %new, %xs
    }}"""


def _lines(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())
