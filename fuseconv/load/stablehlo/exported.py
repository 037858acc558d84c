"""Models that `jax.export` made, as Python objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module


@dataclass(frozen=True)
class ExportedModel:
    """What `jax.export` made: its name, its bytes and the platforms that it is for."""

    name: str
    data: bytes
    platforms: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.data)

    def load(
        self, *, signatures: Sequence[str] = (), tags: Sequence[str] = (), inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> Module:  # fmt: skip
        """Load it as a module; inputs and outputs are for a pass to take from it. Raises InputError as for a file."""
        from fuseconv.load.stablehlo import module_file  # few models are modules of JAX

        if signatures or tags:
            raise InputError(f"{self.name} has no {'tags' if tags else 'signatures'} to choose from")
        return module_file.module_of_bytes(self.data, self.name, self.platforms)


def is_exported(model: Any) -> bool:
    """Return whether a model is a `jax.export.Exported`, which is known by its bytes. JAX is not imported."""
    return isinstance(getattr(model, "mlir_module_serialized", None), bytes | bytearray)


def exported_model(model: Any) -> ExportedModel:
    """Return a `jax.export.Exported` as a model to load."""
    name = re.sub(r"\W+", "_", f"{getattr(model, 'fun_name', '')}").strip("_") or "module"
    return ExportedModel(name[:100], bytes(model.mlir_module_serialized), tuple(getattr(model, "platforms", ())))
