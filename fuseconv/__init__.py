"""fuseconv converts TensorFlow models to TensorFlow Lite, and fuses compositions of operations on the way.

    import fuseconv
    conversion = fuseconv.convert("model_dir", "out.tflite")
    print(conversion.report.totals())
"""

from __future__ import annotations

import importlib

from fuseconv.collector import importing

TYPE_CHECKING = False  # not typing's, which takes longer than all that is imported before signals are handled
if TYPE_CHECKING:
    from typing import Any

    from fuseconv.api import Conversion, convert, quantize_file
    from fuseconv.errors import DefectError, FuseconvError, InputError, UnsupportedError, VerificationError
    from fuseconv.inspecting import inspect
    from fuseconv.options import Options
    from fuseconv.verifying import verify

__version__ = "0.1.0"

_MODULES = {
    "Conversion": "api", "convert": "api", "quantize_file": "api",
    "DefectError": "errors", "FuseconvError": "errors", "InputError": "errors", "UnsupportedError": "errors",
    "VerificationError": "errors", "Options": "options", "inspect": "inspecting", "verify": "verifying",
}  # fmt: skip

__all__ = [
    "Conversion", "DefectError", "FuseconvError", "InputError", "Options", "UnsupportedError", "VerificationError",
    "__version__", "convert", "inspect", "quantize_file", "verify",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # The command line must answer at once, so numpy and the converter are imported when they are first asked for.
    if name not in _MODULES:
        raise AttributeError(f"module 'fuseconv' has no attribute {name!r}")
    with importing():
        value = getattr(importlib.import_module(f"fuseconv.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
