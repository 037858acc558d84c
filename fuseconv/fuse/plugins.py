"""Discovery of converter modules: the built-in ones, files, importable modules, and entry points of installed
packages."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from fuseconv.errors import InputError, raised
from fuseconv.fuse.registry import Registry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "fuseconv.plugins"
# Installed packages declare entry points in the file of this name, in folders of `sys.path` that end so.
_DECLARATION = "entry_points.txt"
_FOLDERS = (".dist-info", ".egg-info", "EGG-INFO")


def load_registry(plugins: Sequence[str | os.PathLike] = ()) -> Registry:
    """Load the registry of one conversion: built-in modules, installed plug-ins, and the modules given by name or .py
    file."""
    registry = Registry.builtin()
    for entry_point in _installed(tuple(sys.path)):
        package = entry_point.dist.name if entry_point.dist else ""
        registry.add(_guarded(entry_point.value, entry_point.load), f"{entry_point.value} of {package}")
    names = [os.fspath(plugin) for plugin in plugins]
    files = {str(Path(name).resolve()) if name.endswith(".py") else name: name for name in names}
    for plugin in files.values():
        registry.add(load_module(plugin), plugin)
    return registry


@functools.cache
def _installed(path: tuple[str, ...]) -> list[EntryPoint]:
    """Return the plug-ins of the packages on this `sys.path`, which are read from the disk."""
    if not any(map(_may_declare, path)):
        return []
    from importlib.metadata import entry_points  # which takes longer to load than most models to convert

    return sorted(entry_points(group=ENTRY_POINTS), key=lambda e: e.name)


def _may_declare(folder: str) -> bool:
    """Return whether a package in a folder of `sys.path`, or in an archive there, may declare plug-ins."""
    try:
        names = os.listdir(folder or os.curdir)
    except NotADirectoryError:
        return True
    except OSError:
        return False  # importlib passes over it as well
    declarations = [os.path.join(folder, name, _DECLARATION) for name in names if name.endswith(_FOLDERS)]
    return any(map(_mentions_plugins, declarations))


def _mentions_plugins(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return ENTRY_POINTS.encode() in file.read()
    except OSError:
        return False  # most packages declare nothing


def load_module(plugin: str) -> ModuleType:
    """Import a plug-in: the path of a .py file, or a module's name. Raises an InputError that says where it broke."""
    if plugin.endswith(".py") or plugin.startswith("."):  # importlib takes a dot for a package that it is not told
        path = Path(plugin)
        if path.suffix != ".py" or not path.is_file():
            raise InputError(f"there is no plug-in file {plugin}")
        return _guarded(plugin, lambda: _load_file(path))
    return _guarded(plugin, lambda: importlib.import_module(plugin))


def _load_file(path: Path) -> ModuleType:
    name = f"fuseconv_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered as importing does, so that what the module defines can be found again by its module's name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _guarded(plugin: str, load) -> ModuleType:
    """Return the module that `load` loads. Raises InputError, which names the plug-in and its line, for whatever that
    raises."""
    try:
        return load()
    except ModuleNotFoundError as error:
        if error.name != plugin:  # of what the plug-in imports
            raise InputError(f"the plug-in {plugin} cannot be loaded: {raised(error)}") from error
        is_file = Path(f"{plugin}.py").is_file()
        help = f"did you mean the file {plugin}.py?" if is_file else "a plug-in's file ends with .py"
        raise InputError(f"there is no module {plugin}; {help}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A plug-in is code of the user's and may raise anything; the error says which line of it did.
        raise InputError(f"the plug-in {plugin} cannot be loaded: {raised(error)}") from error
