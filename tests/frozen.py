"""Frozen graphs, built node by node without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
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
        inner = Frozen.body()
        last = "a"
        for index, callee in enumerate(calls):
            inner.call(f"call{index}", callee, last)
            last = f"call{index}:output:0"
        inner.node("sin", "Sin", last, T={"type": FLOAT})
        self.add_function(name, {"a": FLOAT}, {"b": ("sin:y:0", FLOAT)}, inner)

    @classmethod
    def body(cls) -> Frozen:
        """The nodes of a function, none yet: what is fed is none of them."""
        made = cls()
        del made.graph.node[:]
        return made

    def add_function(
        self, name: str, arguments: Mapping[str, int], results: Mapping[str, tuple[str, int]], body: Frozen
    ) -> None:
        """A function of arguments, by names with their types; its results, with what they are in the body."""
        function = self.graph.library.function.add()
        function.signature.name = name
        for argument, dtype in arguments.items():
            function.signature.input_arg.add(name=argument, type=dtype)
        for result, (source, dtype) in results.items():
            function.signature.output_arg.add(name=result, type=dtype)
            function.ret[result] = source
        function.node_def.extend(body.graph.node)

    def write(self, folder: Path) -> Path:
        path = folder / "model.pb"
        path.write_bytes(self.graph.SerializeToString())
        return path
