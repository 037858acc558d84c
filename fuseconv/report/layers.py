"""The layers of a model, as the names of its nodes tell them: "net/dense/MatMul" belongs to the layer "net/dense"."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A name with scopes, in a sentence.
_PATH = re.compile(r"[\w.:-]+(?:/[\w.:-]+)+")
_DEEPEST = 16  # scopes that are looked for as repeated at once
# The calls that exporters wrap around everything.
_WRAPPING = re.compile(r"^(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+")


def plain(name: str) -> str:
    """Return the name of a node without the calls that exporters wrap around everything."""
    return _WRAPPING.sub("", name)


def short(name: str, longest: int | None = None) -> str:
    """Return the name of a node for a table: without the calls around everything, and "…" for scopes that are repeated,
    as in the bodies of loops ("net/while/net/while/add" -> "net/while/…/add"). Of a name of more than `longest`
    letters, scopes behind the first one are left out."""
    parts = plain(name).split("/")
    for size in range(min((len(parts) - 1) // 2, _DEEPEST), 1, -1):
        start = next((i for i in range(len(parts) - 2 * size) if _repeats(parts, i, size)), None)
        if start is not None:
            parts[start + size : start + 2 * size] = ["…"]
            break
    text = "/".join(parts)
    if longest is None or len(text) <= longest or len(parts) < 3:
        return text
    first, last = f"{parts[0]}/…", parts[-1]
    for part in reversed(parts[1:-1]):
        if part == "…" or len(first) + len(part) + len(last) + 2 > longest:
            break
        last = f"{part}/{last}"
    return f"{first}/{last}"


def _repeats(parts: list[str], start: int, size: int) -> bool:
    """Return whether `size` scopes are those before them."""
    return parts[start : start + size] == parts[start + size : start + 2 * size]


def shortened(sentence: str) -> str:
    """Return a sentence with the names of nodes in it as `short` has them."""
    return _PATH.sub(lambda match: short(match[0]), sentence)


def layer_of(sources: Iterable[str]) -> str:
    """Return the layer of an op that was built from these nodes; "" outside of all layers.

    The first source is what a composition is named after: the call of a composite, the convolution in front of its
    normalization and activation."""
    return next((plain(name).rpartition("/")[0] for name in sources), "")
