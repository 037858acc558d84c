"""Layers are the scopes of the first node's name, without the calls that exporters wrap around everything."""

from __future__ import annotations

import pytest

from fuseconv.report.layers import layer_of


@pytest.mark.parametrize(
    ("sources", "layer"),
    [
        (["StatefulPartitionedCall/PartitionedCall_1/net/dense/MatMul", "net/relu/Relu"], "net/dense"),
        (["net/lstm/PartitionedCall"], "net/lstm"),
        (["MatMul"], ""),
        ([], ""),
    ],
)
def test_layers(sources: list[str], layer: str) -> None:
    assert layer_of(sources) == layer
