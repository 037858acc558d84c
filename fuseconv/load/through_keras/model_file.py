"""A Keras file (.keras, .h5, .hdf5) -> `ir` module.

Keras makes the model, TensorFlow traces it for inference, and the traced graph goes the way of a SavedModel's. The
functions keep their annotations, and what the graph captures becomes handle ops that name the module's variables.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module
from fuseconv.load import keras_container, traced_functions
from fuseconv.load.keras_container import KerasFile, objects
from fuseconv.load.keras_nodes import check_nodes
from fuseconv.load.through_keras import config_check, limits
from fuseconv.load.through_keras.compatibility import incompatibility, legacy_objects
from fuseconv.load.through_keras.trace_model import Untraceable, call_error, trace_model
from fuseconv.load.traced_functions import SIGNATURE, Traced

# tf-keras says 'function' of a function whose own name stands in a configuration.
_UNKNOWN = re.compile(
    r"(?:Unknown [\w ]+|Could not locate (?:class|function)|Cannot deserialize object of type):? "
    r"['`](?!function')([^'`]+)['`]"
)
_OBJECT = re.compile(r"<(?:function )?(?:[\w<>]+\.)*(\w+|<lambda>) (?:object )?at 0x[0-9a-f]+>")
# What Python says where Keras takes a value of a config for one of another type.
_OF_ANOTHER_TYPE = (
    "unhashable type", "not iterable", "indices must be", "not subscriptable", "has no attribute", "has no len()",
    "not supported between instances", "unsupported operand type", "could not convert string", "cannot unpack",
    "values to unpack", "can only concatenate", "must be real number", "must be a mapping", "cannot be interpreted as",
)  # fmt: skip
_ANOTHER_TYPE = "a value of its architecture is of another type than Keras takes"
_LONGEST_REASON = 300
# What a first line announces stands in the next one that is not empty.
_COLON = re.compile(r"\A(.*):\s*\n\s*")
_NOT_SAVED = re.compile(r"Skipping nested container at '(.*?)': no matching group")
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})")


class Unexplained(InputError):
    """The sentence of a Keras that refuses a file, which tells of a type, but not whose value it is."""


def load(
    path: Path,
    *,
    trust_model: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda note: None,
) -> Module:
    """Load a Keras file by way of Keras: a module with the signature "serving_default".

    Inputs are named for their input layers. Outputs are named for the layers that make them, or by the keys of a model
    that returns a dict. trust_model: load Lambda layers and other code of the file's. custom_objects: classes and
    functions by name. warn: is told what the user should know, such as why tf-keras was needed. Raises InputError if
    the file is damaged, holds no model, or needs code that it may not run or does not find."""
    traced = trace(path, trust_model=trust_model, custom_objects=custom_objects)
    for note in traced.notes:
        warn(note)
    return traced_functions.load({SIGNATURE: traced})


def trace(path: Path, *, trust_model: bool = False, custom_objects: Mapping[str, Any] | None = None) -> Traced:
    """Load the model of a Keras file in Keras and trace it for inference. Arguments and errors as for `load`."""
    file = keras_container.read(path)
    custom = config_check.with_registered_names(file.config, custom_objects or {})
    import keras
    import tf_keras

    config_check.check(path, file.config, custom.keys() | _registered(keras) | _registered(tf_keras), trust_model)
    check_nodes(path, file.config)
    if keras.backend.backend() != "tensorflow":
        raise InputError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow to convert {path}.")

    try:
        with contextlib.nullcontext() if trust_model else limits.limited(file.size):
            return _load_and_trace(path, file, custom, trust_model)
    except limits.Exceeded as error:
        trusting = "if you trust where the file comes from, load it with --trust-model"
        raise InputError(f"{path} is not loaded: {error}; {trusting}.") from None


def _load_and_trace(path: Path, file: KerasFile, custom: Mapping[str, Any], trusted: bool) -> Traced:
    """Load and trace a model with the Keras that wrote the file, or else the other. Raises InputError if none can."""
    import keras
    import tensorflow as tf
    import tf_keras

    # A file of Keras 3 means nothing to tf-keras. Of one of Keras 2, Keras 3 may make a model that computes otherwise;
    # so it is asked only if tf-keras refuses the file, as where a layer is registered with Keras 3 alone.
    notes: list[str] = []
    refusals: dict[str, Exception] = {}
    for name, library in (("tf-keras", tf_keras), ("Keras 3", keras)):
        if file.from_keras3 if library is tf_keras else incompatibility(file):
            continue
        known = custom if library is keras else legacy_objects(file.config) | dict(custom)
        try:
            with tf.device("/CPU:0"), _scope(library, known, trusted):
                return trace_model(_made(library, path, known, trusted), library is keras, notes)
        except Untraceable as error:
            refusals[name] = why = _cause(error)
            notes = [f"{path.name} was loaded with Keras 3, as tf-keras refused it: {_reason(why)}."]
    library, package = (keras, "keras") if file.from_keras3 else (tf_keras, "tf-keras")
    raise _refused(path, file, refusals, other_keras(file.keras_version, library.__version__, package))


def _made(library: Any, path: Path, known: Mapping[str, Any], trusted: bool) -> Any:
    """Return the model that a Keras makes of a file. Raises Untraceable for whatever it raises."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = library.models.load_model(path, known, compile=False, safe_mode=not trusted)
    except Exception as error:  # A layer raises whatever it likes at a configuration that is damaged.
        raise Untraceable(str(error)) from error
    # Keras gives such layers their first weights, and goes on.
    lost = next(filter(None, (_NOT_SAVED.match(str(warning.message)) for warning in told)), None)
    if lost is not None:
        raise Untraceable(
            f"the file has no weights for {lost[1]}, since older versions save no layers in lists of lists; export the "
            "model itself as a SavedModel"
        )
    return model


def _cause(error: Untraceable) -> Exception:
    """Return what a Keras or a layer raised, or what `trace_model` says of the model."""
    return error.__cause__ if isinstance(error.__cause__, Exception) else error


def _registered(library: Any) -> set[str]:
    """Return the names under which other packages than Keras itself have registered classes and functions with it."""
    objects = library.saving.get_custom_objects().items()
    own = ("keras", "tf_keras")
    return {name for name, made in objects if str(getattr(made, "__module__", "")).partition(".")[0] not in own}


@contextlib.contextmanager
def _scope(library: Any, known: Mapping[str, Any], trusted: bool) -> Iterator[None]:
    """Let a Keras find the known objects wherever it looks, and no code in the file, whatever its format."""
    from keras.src.saving.serialization_lib import SafeModeScope
    from tf_keras.src.saving.serialization_lib import SafeModeScope as OlderSafeModeScope

    with library.saving.custom_object_scope(known), SafeModeScope(not trusted), OlderSafeModeScope(not trusted):
        yield


def other_keras(wrote: str, installed: str, package: str) -> str:
    """Return what to do about a file that another Keras wrote than is installed; nothing if that is not so."""
    theirs, ours = (_VERSION.match(version) for version in (wrote, installed))
    if theirs is None or ours is None or theirs[0] == ours[0]:
        return ""
    if tuple(map(int, theirs.groups())) > tuple(map(int, ours.groups())):
        do = f"newer than the {ours[0]} here: pip install --upgrade {package}"
    else:
        do = f"older than the {ours[0]} here: with that one, export it as a SavedModel"
    return f"; {package} {theirs[0]} wrote it, which is {do}"


def _refused(path: Path, file: KerasFile, refusals: Mapping[str, Exception], help: str) -> InputError:
    """Return the error message for a file that neither Keras loads."""
    own = next(iter(refusals.values()))
    unknown = _UNKNOWN.search(str(own))
    reasons = [f"{name}: {_reason(error)}" for name, error in refusals.items()]
    # Another Keras would make the same model, where it is one that cannot be traced.
    sentence = f"{path} cannot be loaded. {'; '.join(reasons)}{'' if isinstance(own, Untraceable) else help}."
    if unknown:
        found = [item for item, _ in objects(file.config) if item.get("class_name") == unknown[1]]
        operation = file.from_keras3 and path.suffix != ".keras" and any(map(config_check.is_operation, found))
        sentence = (_unreadable_operation if operation else config_check.unknown_object)(path, unknown[1])
    error = Unexplained(sentence) if _ANOTHER_TYPE in sentence else InputError(sentence)
    error.__cause__ = own
    return error


def _unreadable_operation(path: Path, name: str) -> str:
    """Return the sentence about a function of `keras.ops`, which the mask of a Masking layer or an Embedding is too."""
    return (
        f"Keras cannot load {path}: Keras 3 writes operations ({name}), as those of masks, to .h5 files, but reads "
        "them from .keras files only; save the model as .keras."
    )


def _reason(error: Exception) -> str:
    """Return the sentence of a Keras error that says what is wrong: it wraps errors in whole configurations, and
    names objects by their addresses."""
    text = call_error(error).rpartition("Exception encountered:")[2].strip() or type(error).__name__
    if type(error) is KeyError:
        text = f"its architecture lacks {text}"
    elif any(words in text for words in _OF_ANOTHER_TYPE):
        text = f"{_ANOTHER_TYPE} ({text})"
    line = _OBJECT.sub(r"\1", _COLON.sub(r"\1: ", text).partition("\n")[0].rstrip("."))
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."
