"""The architecture in a Keras file, judged before Keras makes objects of it.

Keras makes objects by class name and module path; tf-keras imports any module and calls what it finds there, and looks
for code in an .h5 file whether it may or not. So a file may name what `allow_list` lists, wherever in the
configuration a class or function can stand, and what plug-ins bring; all else is refused here.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.load.keras_container import objects
from fuseconv.load.through_keras import allow_list

_MODULE = re.compile(r"(?:keras|tf_keras)(?:\.src)?(?:\.([a-z0-9_]+))?(?:\.[A-Za-z0-9_]+)*")
# Settings whose value may be the bare name of a class or function.
_NAMING = re.compile(r"(?:\w+_)?(?:activation|initializer|regularizer|constraint)")
_CLASSES = allow_list.CLASSES | allow_list.CALLS.keys()
_NAMES = _CLASSES | allow_list.FUNCTIONS
_LOOKUPS = frozenset({"IntegerLookup", "StringLookup", "TextVectorization"})
_WRAPPERS = frozenset({"DropoutWrapper", "ResidualWrapper"})
_ARRAY = re.compile(r"(?:bool|b?float(?:16|32|64)|u?int(?:4|8|16|32|64)|complex(?:64|128))?")
# Markers whose class names code that their contents are given to.
_SPECS = frozenset({"__typespec__", "CompositeTensor", "TypeSpec"})
# Keras nests its own parts, a dozen levels of JSON for a model in a model.
_MAX_DEPTH = 400


def check(path: Path, config: dict[str, Any], known: Collection[str], trusted: bool) -> None:
    """Refuse an architecture with objects that may run code or read files (unless it is trusted), or a class or
    function of a module other than Keras's that is not among the `known` custom ones.

    Raises InputError, also if a class or module is named by what is no name."""
    for item, depth in objects(config):
        if depth > _MAX_DEPTH:
            raise InputError(f"{path} is damaged: its architecture nests {depth} levels deep.")
        if "class_name" in item:
            _check_object(path, item, known, trusted)
        if not trusted:
            _check_names(path, item, known)
        _check_lambdas(path, item)


def with_registered_names(config: dict[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
    """Return the custom objects, also under the names ("package>Class") that the file has them registered under."""
    found = dict(custom)
    for item, _ in objects(config):
        registered_name = item.get("registered_name")
        if "class_name" in item and isinstance(registered_name, str) and _name(item) in custom:
            found.setdefault(registered_name, custom[_name(item)])
    return found


def unknown_object(path: Path, name: str, module: str = "") -> str:
    """Return the sentence about a class or function that Keras does not have."""
    origin = f" of the module '{module}'" if module else ""
    return f"{path} uses '{name}'{origin}, which Keras does not know; {_plugin_for(name)}."


def _unlisted_object(path: Path, name: str) -> str:
    return (
        f"{path} uses '{name}', which Keras does not know, or which is not known to only compute; {_plugin_for(name)}, "
        "or, if you trust where the file comes from, load it with --trust-model."
    )


def _plugin_for(name: str) -> str:
    given = f"CUSTOM_OBJECTS = {{{name!r}: {name.rpartition('>')[2]}}}"
    return f"give a file that defines it, and says {given}, with --plugin"


def _check_object(path: Path, item: dict[str, Any], known: Collection[str], trusted: bool) -> None:
    """Refuse an object of an architecture that Keras does not know or that could do more than compute. known: names of
    the user's own classes; trusted: whether the user vouches for the file. Raises InputError."""
    for key in ("class_name", "module", "registered_name"):
        value = item.get(key)
        if not isinstance(value, str) and (value is not None or key == "class_name"):
            raise InputError(f"{path} is damaged: a {key} in its architecture is {_kind(value)}, not a name.")
    if item["class_name"] == "function" and not isinstance(item.get("config"), str):
        raise InputError(f"{path} is damaged: a function in its architecture is {_kind(item.get('config'))}, no name.")
    if _is_known(item, known):
        return
    module, name = item.get("module"), _name(item)
    if module is not None and module != "builtins" and not _MODULE.fullmatch(module):
        raise InputError(unknown_object(path, name, module))
    if trusted:
        return
    danger = _function_danger(item) if item["class_name"] == "function" else _class_danger(item)
    if danger:
        raise InputError(f"{path} holds {danger}. If you trust where the file comes from, load it with --trust-model.")
    if name not in (allow_list.FUNCTIONS if item["class_name"] == "function" else _CLASSES):
        # Keras 3 names no module of a class or function that is not its own.
        foreign = "module" in item and module is None
        raise InputError(unknown_object(path, name) if foreign else _unlisted_object(path, name))


def _is_known(item: dict[str, Any], known: Collection[str]) -> bool:
    """Return whether Keras finds a known object in each way that it may look one up: by its registered name, if the
    configuration has modules at all, else by the name of its class. Functions are looked up by their own names."""
    if item["class_name"] == "function":
        return item["config"] in known
    if "module" in item:
        return item.get("registered_name", item["class_name"]) in known
    return item["class_name"] in known


def _class_danger(item: dict[str, Any]) -> str:
    """Return the possible effect of an object beyond computing, in words; "" if there is none."""
    kind, module, config = item["class_name"], item.get("module"), item.get("config")
    settings = config if isinstance(config, dict) else {}
    label = f"the {kind} layer '{settings.get('name', 'without a name')}'"
    if kind in allow_list.REFUSED:
        return f"{label}, {allow_list.REFUSED[kind]}"
    if kind == "__lambda__":
        return "a Python lambda, whose code would run on this machine"
    if kind in _SPECS:
        return f"a {kind} of its own, which may be of any class"
    registered = item.get("registered_name")
    if registered and registered.rpartition(">")[2] != kind.rpartition(">")[2]:
        return f"the class {kind} under the name of another, '{registered}'"
    if module is not None and not _is_part(module, allow_list.CLASS_MODULES, kind):
        return f"a reference to {module}.{kind}, which is not known to only compute"
    if kind in allow_list.CALLS:
        call = _call_danger(kind, settings)
        return f"{label}, which would call {call}" if call else ""
    return _setting_danger(kind, label, settings)


def _is_part(module: str, parts: Collection[str], name: str) -> bool:
    """Return whether a module is a part of Keras's that classes (or functions) come from, and the name is one of
    theirs."""
    match = _MODULE.fullmatch(module)
    return match is not None and (match[1] is None or match[1] in parts) and name in _NAMES


def _setting_danger(kind: str, label: str, settings: dict[str, Any]) -> str:
    """Return the possible effect of an allowed class beyond computing, by one of its settings; "" if there is none."""
    if kind in _LOOKUPS:
        for key in ("vocabulary", "idf_weights"):
            if not isinstance(settings.get(key), (list, type(None))):
                return f"{label}, which would read the file '{settings[key]}'"
    carried = (
        [key for key in settings if re.search(r"_fn(_type|_module)?$|_visitor$", key)] if kind in _WRAPPERS else []
    )
    if carried:
        return f"{label}, whose code ('{carried[0]}') would run on this machine"
    if kind in ("__numpy__", "__tensor__") and not _ARRAY.fullmatch(str(settings.get("dtype", ""))):
        return f"an array of '{settings['dtype']}', which holds no numbers"
    return ""


def _call_danger(kind: str, settings: dict[str, Any]) -> str:
    """Return the TensorFlow function that a layer would call if that is not on the allow-list; else ""."""
    what = settings.get(allow_list.CALLS[kind])
    if kind == "TensorFlowOpLayer":
        op = what.get("op") if isinstance(what, dict) else None
        known = isinstance(op, str) and op in allow_list.TENSORFLOW_OPS
        return "" if known else f"the op {op or 'that it holds as bytes'}"
    name = what if isinstance(what, str) else ""
    if kind == "ClassMethod":
        owner = settings.get("cls_symbol")
        return "" if owner == "RaggedTensor" and name in allow_list.RAGGED_CONSTRUCTORS else f"tf.{owner}.{what}"
    if kind in ("InstanceMethod", "InstanceProperty"):
        listed = allow_list.TENSOR_METHODS if kind == "InstanceMethod" else allow_list.TENSOR_PROPERTIES
        return "" if name in listed else f"'{what}' of its input"
    return "" if name.removeprefix("compat.v1.") in allow_list.TENSORFLOW_FUNCTIONS else f"tf.{what}"


def _function_danger(item: dict[str, Any]) -> str:
    """Return a function that is none of Keras's activations, losses and metrics, in words; "" if a plug-in may have
    it."""
    module, name, registered = item.get("module"), item["config"], item.get("registered_name")
    if registered not in (None, "", name, "function"):
        return f"the function {name} under the name of another, '{registered}'"
    if module in (None, "builtins"):
        harmful = hasattr(builtins, name) and name not in allow_list.FUNCTIONS
    else:
        harmful = not _is_part(module, allow_list.FUNCTION_MODULES, name)
    return f"a reference to the function {module}.{name}, which would be called" if harmful else ""


def _check_names(path: Path, item: dict[str, Any], known: Collection[str]) -> None:
    """Refuse bare names of functions and initializers, say, that are neither Keras's nor known."""
    for key, value in item.items():
        listed = not isinstance(value, str) or not value or value in _NAMES or value in known
        if not listed and _NAMING.fullmatch(key):
            raise InputError(_unlisted_object(path, value))


def _check_lambdas(path: Path, item: dict[str, Any]) -> None:
    """Refuse an activation, say, that is a lambda: Keras writes its code, and reads it for Lambda layers alone."""
    for key, value in item.items():
        if _NAMING.fullmatch(key) and isinstance(value, dict) and value.keys() == {"value"}:
            owner = f" of '{item['name']}'" if isinstance(item.get("name"), str) else ""
            raise InputError(
                f"{path} cannot be loaded: the {key}{owner} is a Python lambda, which Keras writes, but does not read; "
                "give the function a name and keras.saving.register_keras_serializable, or export the model as a "
                "SavedModel."
            )


def is_operation(item: dict[str, Any]) -> bool:
    """Return whether an object in a file of Keras 3 is a function of `keras.ops` rather than a layer, of whatever name:
    layers tell whether they are trained."""
    config = item.get("config")
    return item.get("class_name") in allow_list.OPERATIONS and isinstance(config, dict) and "trainable" not in config


def _name(item: dict[str, Any]) -> str:
    return str(item.get("config") if item["class_name"] == "function" else item["class_name"])


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", bool: "true or false", type(None): "missing"}.get(
        type(value), "a number"
    )
