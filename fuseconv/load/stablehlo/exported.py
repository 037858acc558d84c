"""Models that `jax.export` made, as Python objects: their bytes stand in for a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def is_exported(model: Any) -> bool:
    """Return whether a model is a `jax.export.Exported`, which is known by its bytes. JAX is not imported."""
    return isinstance(getattr(model, "mlir_module_serialized", None), bytes | bytearray)


@contextmanager
def on_disk(model: Any) -> Iterator[str | os.PathLike[str]]:
    """Yield the path of a model: of a file that is there for the time being, if it is a `jax.export.Exported`; else the
    model itself."""
    if not is_exported(model):
        yield model
        return
    name = re.sub(r"\W+", "_", f"{getattr(model, 'fun_name', '')}").strip("_") or "module"
    import tempfile  # most models are on disk already

    with tempfile.TemporaryDirectory(prefix="fuseconv-") as folder:
        path = Path(folder, f"{name[:100]}.mlirbc")
        path.write_bytes(model.mlir_module_serialized)
        yield path
