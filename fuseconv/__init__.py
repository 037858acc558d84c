"""fuseconv converts TensorFlow models to TensorFlow Lite, and fuses compositions of operations on the way.

    import fuseconv
    conversion = fuseconv.convert("model_dir", "out.tflite")
    print(conversion.report.totals())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuseconv.api import Conversion, convert, quantize_file

__all__ = ["Conversion", "convert", "quantize_file"]


def __getattr__(name: str) -> Any:
    # The command line must answer at once, so numpy and the converter are imported when they are first asked for.
    if name not in __all__:
        raise AttributeError(f"module 'fuseconv' has no attribute {name!r}")
    import importlib

    module = importlib.import_module("fuseconv.api")
    globals().update({export: getattr(module, export) for export in __all__})
    return globals()[name]
