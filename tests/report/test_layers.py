"""Layers are the scopes of the first node's name, without the calls that exporters wrap around everything."""

from __future__ import annotations

import pytest

from fuseconv.report.layers import layer_of, short, shortened


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("PartitionedCall/net/while/net/while/cell/add", "net/while/…/cell/add"),
        ("net/a/a/b", "net/a/a/b"),
        ("a/b/a/b", "a/b/a/b"),
        ("MatMul", "MatMul"),
        ("net/one_long_name/another_long_name/MatMul", "net/…/another_long_name/MatMul"),
        ("net/" + "x" * 50, "net/" + "x" * 50),
    ],
)
def test_short_names(name: str, shown: str) -> None:
    assert short(name, 32) == shown


def test_names_in_a_sentence_are_short() -> None:
    assert shortened("at 'n/while/n/while/a' 1/x is not PartitionedCall/b") == "at 'n/while/…/a' 1/x is not b"
