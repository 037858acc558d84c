"""Decide how loops that no fused op stands for are made fast: what they carry, what a step computes, how many steps are
one.

`rnn` says what becomes of a loop whose steps multiply matrices, of a known number of steps: "loop" leaves a loop,
"unroll" none that makes fewer than `MOST_UNROLLED` ops; "auto" goes by what was measured. So does "fused" where no
fused op took the loop, but all loops together make the file larger by a fiftieth of its constants at most. (28 steps of
a GRU of 32 units are 84 kB in place of 30.)

The rule. XNNPACK keeps the weights of each op that reads them once more, in its own order. While the copies of all
steps fit into a core's second-level cache, steps without a loop around them are faster; beyond that each step waits for
memory. So a loop is unrolled if its steps times the bytes of the weights that a step reads are at most
`UNROLLED_BYTES`, or the steps are few. In every iteration WHILE copies twice each sequence that the loop writes,
whether an iteration has one step or k. So a loop takes `STEPS` steps an iteration if it writes a sequence, or if the
weights are small. The latency of a Keras GRU in microseconds (1 thread, batch 1, XNNPACK, 1 MB of second-level cache):

    steps x units, weights           last output alone                 all outputs
                             1 step  4 steps  8 steps  unrolled   1 step  4 steps  8 steps  unrolled
      28 x 64      48 kB         28       28                 26       38       33                 27
     100 x 32      12 kB         64       61                 56      113       77                 62
     200 x 32      12 kB        125      109      107       117      265      156      135       126
      60 x 64      48 kB         59       54                 58       88       67                 66
     100 x 64      48 kB         97       89                100      162      110                102
      28 x 128    192 kB         60       70                 76       72       78                 76
      50 x 128    192 kB        105                         134      142                         155
       4 x 256    768 kB         34                          30       36                          30
     100 x 256    768 kB        778     1041                         1107     1088     1044
     400 x 128    192 kB                                             2307     1497     1382
    1000 x 256    768 kB                                            71880    29979    21102

An iteration costs, besides its ops, as much as a few of them, so a loop of many ops stays one. A loop in which a
sequence grows does not: its sizes are known only without the loop, and XNNPACK takes no others. A decoder of 12 steps:

      ops a step                          loop          unrolled
          42       fixed buffer     112   53 kB       98    99 kB
          74       fixed buffer     195   90 kB      184   172 kB
          38       it grows         175   53 kB       48    97 kB
          69       it grows         302   90 kB      107   168 kB
"""

from __future__ import annotations

import sys

from fuseconv.ir import budget
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Module, Op
from fuseconv.tf.traits import CONVOLUTIONS, PRODUCTS
from fuseconv.transforms.loops.loop_info import LoopForm

MODES = ("fused", "loop", "unroll", "auto")
UNROLLED_BYTES = 2 << 20
# More ops than this make files and conversions large before they make anything fast.
UNROLLED_OPS = 2048
# More ops than this are not made of one loop even where the user asks for no loops: a damaged model may claim any
# number of steps.
MOST_UNROLLED = 1 << 16
_FEW = 4
# Of a step with more ops than this, they are what takes the time.
_MANY_OPS = 64
STEPS = 8
# What the copies of the weights may take where a loop takes several steps an iteration.
_CACHED_BYTES = 512 << 10
_MOST_BYTES = 8 << 20


# What an op and its results take in a file, and how many ops a loop takes besides those of a step: about.
_OP_BYTES, _LOOP_OPS = 160, 16
_SHARE = 50


class UnrollPolicy:
    """Decide, once for each loop, how many of its steps one iteration takes; `rnn` as above."""

    def __init__(self, rnn: str) -> None:
        self.rnn = rnn
        self._chosen: dict[Op, int] = {}
        self._room: int | None = None if rnn == "fused" else sys.maxsize

    def steps_an_iteration(self, loop: LoopForm, steps: int) -> int:
        """Return how many of a loop's known number of steps an iteration takes: all of them, if the loop is to go."""
        if loop.op not in self._chosen:
            if self._room is None:
                self._room = _constant_bytes(loop.module) // _SHARE
            ops = self._room // _OP_BYTES
            chosen = self._chosen[loop.op] = _steps_an_iteration(loop, steps, self.rnn, ops)
            self._room -= max(_more_ops(loop, chosen, steps), 0) * _OP_BYTES
        return self._chosen[loop.op]

    def unrolls(self, loop: LoopForm) -> bool:
        """Return whether nothing is to be left of a loop."""
        steps = loop.steps()
        return isinstance(steps, int) and self.steps_an_iteration(loop, steps) >= steps


def _steps_an_iteration(loop: LoopForm, steps: int, rnn: str, room: int) -> int:
    """Choose how many steps an iteration takes. room: how many ops more the file may get."""
    ops = loop.body.ops
    if not any(op.kind in PRODUCTS or op.kind in CONVOLUTIONS for op in ops):
        return 1
    if rnn == "unroll" and budget.allows_operations(steps * len(ops), MOST_UNROLLED):
        return steps
    weights = sum(value.data.nbytes for value in loop.body.constants() if value.data is not None)
    gains = len(ops) <= _MANY_OPS or _tells_sizes(loop)
    few = steps <= _FEW or (gains and steps * weights <= UNROLLED_BYTES)
    few = few and steps * len(ops) <= UNROLLED_OPS and _more_ops(loop, steps, steps) <= room
    if rnn != "loop" and few:
        return steps
    writes = any(value.op is not None and value.op.type == "XlaDynamicUpdateSlice" for value in loop.body.outputs)
    most = min(STEPS, (_MOST_BYTES if writes else _CACHED_BYTES) // max(weights, 1), room // len(ops) + 1)
    if steps < 2 * STEPS or most < 2 or (len(ops) > _MANY_OPS and not writes):
        return 1
    # A divisor leaves no steps over to stand behind the loop.
    return next((k for k in range(most, most // 2, -1) if steps % k == 0), most)


def _tells_sizes(loop: LoopForm) -> bool:
    """Return whether a variable has known sizes before the loop, but not in it."""
    pairs = zip(loop.op.operands, loop.body.inputs)
    return any(value is not None and is_static(value.shape) and not is_static(inner.shape) for value, inner in pairs)


def _more_ops(loop: LoopForm, chosen: int, steps: int) -> int:
    """Return how many ops more there are than in a loop of one step an iteration, about, without steps left over."""
    return (chosen - 1) * len(loop.body.ops) - (_LOOP_OPS if chosen == steps else 0)


def _constant_bytes(module: Module) -> int:
    """Return what the constants of a module take, those that several functions read once."""
    constants = {id(value): value for graph in module.graphs() for value in graph.constants()}
    return sum(value.stored.nbytes for value in constants.values() if value.stored is not None)
