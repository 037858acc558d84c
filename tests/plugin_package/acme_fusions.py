"""acme.ProjectedLSTM -> UNIDIRECTIONAL_SEQUENCE_LSTM.

The contract: x [batch, time, in], kernel [in, 4n], recurrent [out, 4n] and bias [4n] with the gates in the order input,
forget, cell, output, projection [n, out], the scale [4n] of the layer normalization -> outputs [batch, time, out].
"""

from fuseconv.fuse.match import Fusion, composite
from fuseconv.fuse.pattern import pattern
from fuseconv.fusions.lstm import zero_state
from fuseconv.lower.rules import lowers

LSTM = composite("acme.ProjectedLSTM", "x kernel recurrent bias projection scale -> y")


def check(m):
    m.require(m.x.rank == 3, "the input is not known to be of rank 3")
    m.require(m.kernel.is_static and m.projection.is_static, "the sizes of the weights are not known")
    m.require(m.kernel.shape[1] == 4 * m.projection.shape[0], "there are not four gates")


def rewrite(tfl, m):
    units, width = m.projection.shape

    def gates(stacked):
        rest = len(stacked.shape) - 1
        return [tfl.slice(stacked, [gate * units] + [0] * rest, [units] + [-1] * rest) for gate in range(4)]

    kernel, recurrent, projection = (tfl.transpose(w, [1, 0]) for w in (m.kernel, m.recurrent, m.projection))
    h, c = zero_state(tfl, m.x, width), zero_state(tfl, m.x, units)
    peepholes = None, None, None
    return tfl.unidirectional_sequence_lstm(
        m.x, *gates(kernel), *gates(recurrent), *peepholes, *gates(m.bias), projection, None, h, c, *gates(m.scale),
        fused_activation_function="TANH",
    )  # fmt: skip


@pattern
def fraction(tf, x):
    return tf.Sub(x, tf.Floor(x))


def rewrite_fraction(tfl, m):
    """x - floor(x) -> FLOOR_MOD"""
    return tfl.floor_mod(m.x, 1.0)


@lowers
def AcmeNegate(tfl, x):
    """-x"""
    return tfl.neg(x)


FUSIONS = [
    Fusion("acme_projected_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", LSTM, rewrite, check),
    Fusion("acme_fraction", "FLOOR_MOD", fraction, rewrite_fraction),
]
