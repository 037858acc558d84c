"""fuseconv converts TensorFlow models to TensorFlow Lite, and fuses compositions of operations on the way.

    import fuseconv
    conversion = fuseconv.convert("model_dir", "out.tflite")
    print(conversion.report.totals())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuseconv.api import Conversion, convert, quantize_file
    from fuseconv.errors import FuseconvError, InputError, UnsupportedError, VerificationError

    __version__: str

__all__ = [
    "Conversion", "FuseconvError", "InputError", "UnsupportedError", "VerificationError", "__version__", "convert",
    "quantize_file",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # The command line must answer at once, so numpy and the converter are imported when they are first asked for.
    if name not in __all__:
        raise AttributeError(f"module 'fuseconv' has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value: Any = version("fuseconv")
        except PackageNotFoundError:  # run from a copy of the source that pip knows nothing of
            value = "unknown"
    else:
        module = importlib.import_module("fuseconv.errors" if name.endswith("Error") else "fuseconv.api")
        value = getattr(module, name)
    globals()[name] = value
    return value
