"""Frozen graphs, built node by node without TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.load import protos

FLOAT, INT32, INT64, STRING = (dtype.tf for dtype in (types.FLOAT32, types.INT32, types.INT64, types.STRING))


class Frozen:
    """A GraphDef in the making. `x` is a placeholder of floats of this shape, -1 for a size that is not known."""

    def __init__(self, *shape: int) -> None:
        self.graph = protos.classes["GraphDef"]()
        dims = [{"size": size} for size in shape]
        self.node("x", "Placeholder", dtype={"type": FLOAT}, shape={"shape": {"dim": dims}})

    def node(self, name: str, op: str, *inputs: str, **attrs: dict[str, Any]) -> Any:
        node = self.graph.node.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            node.attr[key].CopyFrom(protos.classes["AttrValue"](**value))
        return node

    def constant(self, name: str, array: Any) -> str:
        array = np.asarray(array)
        node = self.node(name, "Const", dtype={"type": types.of_array(array).tf})
        tensor = node.attr["value"].tensor
        tensor.dtype = types.of_array(array).tf
        tensor.tensor_shape.SetInParent()
        for size in array.shape:
            tensor.tensor_shape.dim.add(size=size)
        if array.dtype.kind == "S":
            tensor.string_val.extend(array.reshape(-1).tolist())
        else:
            tensor.tensor_content = array.tobytes()
        return name

    def call(self, name: str, function: str, x: str) -> None:
        self.node(
            name, "PartitionedCall", x, f={"func": {"name": function}}, Tin={"list": {"type": [FLOAT]}},
            Tout={"list": {"type": [FLOAT]}},
        )  # fmt: skip

    def function(self, name: str, calls: list[str]) -> None:
        """A function that hands its argument through these others in turn."""
        function = self.graph.library.function.add()
        function.signature.name = name
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.signature.output_arg.add(name="b", type=FLOAT)
        inner = Frozen()
        del inner.graph.node[:]  # what is fed is no node of a function
        last = "a"
        for index, callee in enumerate(calls):
            inner.call(f"call{index}", callee, last)
            last = f"call{index}:output:0"
        inner.node("sin", "Sin", last, T={"type": FLOAT})
        function.node_def.extend(inner.graph.node)
        function.ret["b"] = "sin:y:0"

    def write(self, folder: Path) -> Path:
        path = folder / "model.pb"
        path.write_bytes(self.graph.SerializeToString())
        return path
