"""The C++ that registers ops with TFLite Micro."""

from __future__ import annotations

from fuseconv.tfl.micro import METHODS, Resolver, resolver
from fuseconv.tfl.opdef import TABLE


def test_ops_are_registered_once() -> None:
    assert resolver(["CONV_2D", "ADD", "CONV_2D", "GELU"]) == Resolver(
        ["tflite::MicroMutableOpResolver<2> resolver;", "resolver.AddAdd();", "resolver.AddConv2D();"], ["GELU"]
    )


def test_custom_ops() -> None:
    own = 'acme";\n#include </etc/passwd>\\'
    found = resolver(["TFLite_Detection_PostProcess", own], ["TFLite_Detection_PostProcess", own])
    assert found.lines == [
        "tflite::MicroMutableOpResolver<2> resolver;", "resolver.AddDetectionPostprocess();",
        'resolver.AddCustom("acme????include??/etc/passwd??", registration);  // a kernel of your own',
    ]  # fmt: skip
    assert found.lacks == []


def test_the_ops_are_builtin_operators() -> None:
    """But for TFLite Micro's own, those that we never write, and the one custom op."""
    assert METHODS.keys() - set(TABLE) <= {
        "TFLite_Detection_PostProcess", "CIRCULAR_BUFFER", "BROADCAST_ARGS", "L2_POOL_2D", "ZEROS_LIKE", "ADD_N",
    }  # fmt: skip
    assert METHODS["BATCH_TO_SPACE_ND"] == "AddBatchToSpaceNd" and METHODS["RELU6"] == "AddRelu6"
