"""The layers of a model, as the names of its nodes tell them: "net/dense/MatMul" belongs to the layer "net/dense"."""

from __future__ import annotations

import re
from collections.abc import Iterable

# The calls that exporters wrap around everything.
_WRAPPING = re.compile(r"^(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+")


def plain(name: str) -> str:
    """Return the name of a node without the calls that exporters wrap around everything."""
    return _WRAPPING.sub("", name)


def layer_of(sources: Iterable[str]) -> str:
    """Return the layer of an op that was built from these nodes; "" outside of all layers.

    The first source is what a composition is named after: the call of a composite, the convolution in front of its
    normalization and activation."""
    return next((plain(name).rpartition("/")[0] for name in sources), "")
