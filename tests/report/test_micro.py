"""What the head of a C array tells."""

from __future__ import annotations

from fuseconv.report.micro import head
from fuseconv.report.records import EmittedOp
from fuseconv.tfl.arena import Node, Subgraph
from tests.report.test_json import a_report


def test_the_head_of_a_c_array() -> None:
    report = a_report()
    report.emitted.append(EmittedOp(0, 2, "acme", (), custom=True))
    report.emitted.append(EmittedOp(0, 3, "GELU", ()))
    report.subgraphs = [Subgraph([0], [2], [Node([0], [1]), Node([1], [2])], [16, 3200, 16])]
    assert head(report) == [
        "A TensorFlow Lite model, written by fuseconv.",
        "Activations take 3216 bytes by the rule of TFLite Micro's planner.",
        "Variable tensors, scratch buffers and records of the interpreter come on top: see arena_used_bytes().",
        "",
        "tflite::MicroMutableOpResolver<3> resolver;",
        "resolver.AddFullyConnected();",
        "resolver.AddUnidirectionalSequenceLSTM();",
        'resolver.AddCustom("acme", registration);  // a kernel of your own',
        "TFLite Micro does not have GELU.",
    ]
    report.dynamic = True
    assert head(report)[1].endswith(", with unknown sizes as 1.")
