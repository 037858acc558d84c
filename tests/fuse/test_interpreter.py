"""Small models run in numpy, and none takes longer or more memory than a child process to begin with."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from fuseconv.fuse.interpreter import Declined, Interpreter
from tests.tf.text_cases import module_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(*graphs: str, x: np.ndarray = X) -> list[np.ndarray]:
    return Interpreter(module_of(*graphs)[0], "it")([x])


LOOP = """
    main {
      input %x: float32[2,3]
      %end: int32[]; %sum: float32[2,3] = tf.StatelessWhile(int32[] 0, %x) {'cond': @going, 'body': @step}
      return %sum
    }
    """
GOING = """
    going {
      input %i: int32[]
      input %sum: float32[2,3]
      %more: bool[] = tf.Less(%i, int32[] 4)
      return %more
    }
    """
STEP = """
    step {
      input %i: int32[]
      input %sum: float32[2,3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %twice: float32[2,3] = tf.AddV2(%sum, %sum)
      return %next, %twice
    }
    """


def test_a_loop_runs():
    np.testing.assert_array_equal(run(LOOP, GOING, STEP)[0], 16 * X)


def test_lists_run():
    (stacked,) = run("""
    main {
      input %x: float32[2,3]
      %rows: variant[2,3] = tf.TensorListFromTensor(%x, int32[1] [3])
      %row: float32[3] = tf.TensorListGetItem(%rows, int32[] 1, int32[1] [3])
      %empty: variant[2,3] = tf.TensorListReserve(int32[1] [3], int32[] 2) {'element_dtype': float32}
      %one: variant[2,3] = tf.TensorListSetItem(%empty, int32[] 0, %row)
      %both: variant[2,3] = tf.TensorListSetItem(%one, int32[] 1, %row)
      %stacked: float32[2,3] = tf.TensorListStack(%both, int32[1] [3]) {'num_elements': 2}
      return %stacked
    }
    """)
    np.testing.assert_array_equal(stacked, X[[1, 1]])


def test_a_list_is_no_tensor():
    with pytest.raises(Declined):
        run("""
    main {
      input %x: float32[2,3]
      %rows: variant[2,3] = tf.TensorListFromTensor(%x, int32[1] [3])
      %same: variant[2,3] = tf.ZerosLike(%rows)
      %y: float32[2,3] = tf.TensorListStack(%same, int32[1] [3])
      return %y
    }
    """)


def one_op(op: str, shape: str = "2,3") -> str:
    return f"main {{\n input %x: float32[2,3]\n %y: float32[{shape}] = {op}\n return %y\n}}"


def test_a_list_that_holds_one_tensor_often_is_declined():
    rows = 800
    sets = "\n".join(
        f" %l{n + 1}: variant[{rows},1000,100] = tf.TensorListSetItem(%l{n}, int32[] {n}, %big)" for n in range(rows)
    )
    with pytest.raises(Declined):
        run(f"""
    main {{
     input %x: float32[2,3]
     %big: float32[1000,100] = tf.Fill(int32[2] [1000, 100], float32[] 1.0)
     %l0: variant[{rows},1000,100] = tf.TensorListReserve(int32[2] [9, 9], int32[] {rows}) {{'element_dtype': float32}}
     {sets}
     %y: float32[{rows},1000,100] = tf.TensorListStack(%l{rows}, int32[2] [1000, 100]) {{'num_elements': {rows}}}
     return %y
    }}
    """)


@pytest.mark.parametrize(
    "op",
    [
        "tf.TensorListGetItem(%x, int32[] 0, int32[1] [3])",
        "tf.TensorListStack(%x, int32[1] [3])",
        "tf.Fill(int32[2] [100000, 100000], float32[] 1.0)",
        "tf.Tile(%x, int32[2] [100000, 100000])",
        "tf.Range(float32[] 0.0, float32[] 1e9, float32[] 1.0)",
        "tf.Lgamma(%x)",
        "tfl.FILL(int32[2] [100000, 100000], float32[] 1.0)",
        "tfl.CUMSUM(%x, int32[] 0)",
    ],
)
def test_what_is_large_or_unknown_is_declined(op):
    tracemalloc.start()
    with pytest.raises(Declined):
        run(one_op(op, "?a,?b"))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_loop_without_end_is_declined_at_once():
    endless = "going {\n input %i: int32[]\n input %sum: float32[2,3]\n return bool[] True\n}"
    start = time.process_time()
    with pytest.raises(Declined):
        run(LOOP, endless, STEP)
    assert time.process_time() - start < 5


def test_a_loop_that_grows_is_declined():
    """x broadcast to itself has as many elements as its square, after each step."""
    grows = STEP.replace("tf.AddV2(%sum, %sum)", "tf.AddV2(%column, %row)").replace("%twice: float32[2,3]", """
      %column: float32[?a,1] = tf.Reshape(%sum, int32[2] [-1, 1])
      %row: float32[1,?a] = tf.Reshape(%sum, int32[2] [1, -1])
      %twice: float32[?a,?a]""".strip())  # fmt: skip
    tracemalloc.start()
    with pytest.raises(Declined):
        run(LOOP, GOING, grows)
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


def test_calls_to_any_depth_are_declined():
    calls = [one_op(f"tf.PartitionedCall(%x) {{'f': @f{n + 1}}}").replace("main", f"f{n}", 1) for n in range(200)]
    last = "f200 {\n input %x: float32[2,3]\n return %x\n}"
    with pytest.raises(Declined):
        run(one_op("tf.PartitionedCall(%x) {'f': @f0}"), *calls, last)
    np.testing.assert_array_equal(run(one_op("tf.PartitionedCall(%x) {'f': @f190}"), *calls[190:], last)[0], X)


def test_a_state_that_outlives_a_run_is_declined():
    with pytest.raises(Declined):
        run("main {\n input %x: float32[2,3]\n variable %s: float32[2,3] {'variable': True}\n"
            " %y: float32[2,3] = tfl.ADD(%x, %s)\n return %y\n}")  # fmt: skip


def test_constants_are_no_states():
    weights = ", ".join(["float32[1,3] [[1.0, 1.0, 1.0]]", "float32[1,1] [[1.0]]", "float32[1] [1.0]"])
    module, _ = module_of(f"""
    main {{
      input %x: float32[2,1,3]
      %y: float32[2,1,1] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, {weights}, float32[2,1] [[0.0], [0.0]]) \
{{'fused_activation_function': 'TANH'}}
      return %y
    }}
    """)
    state = module.signatures[0].graph.ops[0].operands[-1]
    with pytest.raises(Declined):
        Interpreter(module, "it")([X.reshape(2, 1, 3)])
    assert not state.data.any()
