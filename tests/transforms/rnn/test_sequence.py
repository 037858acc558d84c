"""The order in which a layer reads its sequence."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import SUM, loop, raised


def test_the_last_row_first() -> None:
    step = SUM + "%new: float32[1,3] = tf.Tanh(%sum)"
    back = "%back: float32[5,1,2] = tf.ReverseV2(%x, int32[1] [0])"
    after = raised(step, before=back, sequence="%back", backwards=True)
    check_pass("raise-rnn-loops", loop(step, before=back, sequence="%back"), after)
