"""The objects of a Keras model that own weights, as its file has them: what each expects, in Keras' order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fuseconv.ir.graph import Value

# The name of a weight that has none in Keras 3.
UNNAMED = "variable"


@dataclass(frozen=True)
class Weight:
    """A weight that a layer expects. value: a constant to be, whose data is read at the end."""

    name: str
    value: Value
    trainable: bool


@dataclass(eq=False)
class Part:
    """A layer or a cell or model within one.

    name: the layer's; label: its class and name, for messages. trainable: whether Keras was to train it. weights: its
    own, as they are created. parts: what it is made of, by the attribute (a path of the archive's weights), in the
    order in which they are created; several attributes where Kerases differ. archived: the names of its weights in the
    order of a .keras archive, if it is another."""

    name: str
    label: str
    trainable: bool = True
    weights: list[Weight] = field(default_factory=list)
    parts: list[tuple[tuple[str, ...], Part]] = field(default_factory=list)
    archived: tuple[str, ...] = ()

    def own(self) -> list[Weight]:
        """Return its own weights in the order of files: trainable ones first."""
        return sorted(self.weights, key=lambda weight: not weight.trainable)

    def in_archive(self) -> list[Weight]:
        """Return its own weights in the order of a .keras archive."""
        if not self.archived:
            return self.own()
        return sorted(self.weights, key=lambda weight: self.archived.index(weight.name))

    def all_weights(self) -> list[Weight]:
        """Return all weights in the order of an .h5 file's groups: trainable ones first, frozen layers' behind; those
        that several objects share once."""
        found = (weight for weight, _ in sorted(self._walk(True), key=lambda pair: not pair[1]))
        return list({weight.value: weight for weight in found}.values())

    def _walk(self, trainable: bool) -> Iterator[tuple[Weight, bool]]:
        trainable = trainable and self.trainable
        yield from ((weight, trainable and weight.trainable) for weight in self.own())
        for _, part in self.parts:
            yield from part._walk(trainable)
