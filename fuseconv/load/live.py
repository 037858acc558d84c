"""Models that live in this process -> `ir` module: Keras models, functions, modules and graphs of TensorFlow.

TensorFlow is not imported for this: whoever holds such an object has imported it. Only what nobody can trace goes by
way of a folder, through its own `export`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.ir.graph import Module
from fuseconv.load.unique_names import unique

if TYPE_CHECKING:
    from fuseconv.load.traced_functions import Traced

TAKEN = (
    "a path, a Keras model, a tf.function or concrete function (or a list of some, or a dict of some by the names of "
    "signatures), a tf.Module, a loaded SavedModel, a GraphDef, a jax.export.Exported, or what has a method "
    "export(directory)"
)
SIGNATURE = "serving_default"
_CALL = "__call__"


@dataclass(frozen=True)
class LiveModel:
    """A model in memory. name: how reports call it. functions: its signatures; or graph: a frozen GraphDef."""

    name: str
    functions: dict[str, Traced] = field(default_factory=dict)
    graph: Any = None

    @property
    def size(self) -> int:
        """Return the bytes that it takes."""
        from fuseconv.load import traced_functions

        return self.graph.ByteSize() if self.graph is not None else traced_functions.size(self.functions)

    def load(
        self, *, signatures: Sequence[str] = (), tags: Sequence[str] = (), inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> Module:  # fmt: skip
        """Load it as a module. Arguments and errors as for `fuseconv.load.load`."""
        from fuseconv.load import frozen_graph, traced_functions

        if tags or (signatures and self.graph is not None):
            raise InputError(f"{self.name} has no {'tags' if tags else 'signatures'} to choose from")
        if self.graph is not None:
            return frozen_graph.load_proto(self.graph, self.name, inputs=inputs, outputs=outputs)
        for name in signatures:
            if name not in self.functions:
                raise InputError(f"{self.name} has no signature {name}{suggestion_or_all(name, self.functions)}")
        return traced_functions.load({name: self.functions[name] for name in signatures or self.functions})


Source: TypeAlias = Path | LiveModel


def is_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def model_name(model: Any) -> str:
    """Return how reports call a model: its path, or what it is, and its own name if it has one."""
    if is_path(model):
        return os.fspath(model)
    if isinstance(model, LiveModel):
        return model.name
    if isinstance(model, (list, tuple, Mapping)):
        return f"{len(model)} functions"
    own = getattr(model, "name", None) or getattr(model, "__name__", None)
    own = own.decode() if isinstance(own, bytes) else own
    kind = type(model).__name__
    return f"{kind} '{own}'" if isinstance(own, str) and own != kind else kind


@contextlib.contextmanager
def opened(model: Any) -> Iterator[Source]:
    """Yield the path of a model, which lives as long as the block, or the model in memory.

    model: what `fuseconv.convert` takes. Raises InputError if it is nothing of that, or TensorFlow cannot trace it."""
    if is_path(model):
        yield Path(model)
        return
    found = model if isinstance(model, LiveModel) else _live(model)
    if found is not None:
        yield found
        return
    if not callable(getattr(model, "export", None)):
        raise InputError(f"{_told(model)} cannot be converted: {_advice(model)}")
    import tempfile  # most models are on disk already

    with tempfile.TemporaryDirectory(prefix="fuseconv-") as folder:
        yield _exported(model, Path(folder, "model"))


def _live(model: Any) -> LiveModel | None:
    """Return a model in memory, None if it is none that can be read as it is."""
    name = model_name(model)
    if getattr(getattr(model, "DESCRIPTOR", None), "full_name", "") == "tensorflow.GraphDef":
        from fuseconv.load import protos

        return LiveModel(name, graph=protos.classes["GraphDef"].FromString(model.SerializeToString()))
    if "tensorflow" not in sys.modules:
        return None
    functions = _functions(model)
    return LiveModel(name, functions) if functions else None


def _functions(model: Any) -> dict[str, Traced]:
    """Return the signatures of a model by their names: none if it has none."""
    if isinstance(model, (list, tuple, Mapping)):
        return _several(model)
    keras = _keras_of(model)
    if keras is not None:
        return _keras_signature(model, keras)
    single = _function(model, model)
    if single is not None:
        return {SIGNATURE: single}
    from fuseconv.load.traced_functions import traced

    signatures = getattr(model, "signatures", None)
    if isinstance(signatures, Mapping) and signatures:
        ordered = sorted(signatures, key=lambda name: (name != SIGNATURE, name))
        return {name: traced(signatures[name], model) for name in ordered}
    return _methods(model)


def _several(models: Any) -> dict[str, Traced]:
    """Return the signatures of a list of functions, or of a dict of functions by the names of the signatures."""
    items = list(models.values() if isinstance(models, Mapping) else models)
    found = []
    for item in items:
        function = _function(item, models)
        if function is None:
            raise InputError(f"{model_name(item)} cannot be a signature: {_advice(item)}")
        found.append(function)
    if isinstance(models, Mapping):
        names = list(map(str, models))
    else:
        names = [SIGNATURE] if len(found) == 1 else unique([item.function.graph.name for item in found])
    return dict(zip(names, found))


def _keras_of(model: Any) -> Any:
    """Return the Keras that a model is of, None if it is no Keras model."""
    for name in ("keras", "tf_keras"):
        library = sys.modules.get(name)
        kind = getattr(library, "Model", None)
        if isinstance(kind, type) and isinstance(model, kind):
            return library
    return None


def _keras_signature(model: Any, library: Any) -> dict[str, Traced]:
    """Trace a Keras model as its only signature; return none if only its own `export` knows what it takes. library: its
    module, `keras` or `tf_keras`."""
    from fuseconv.load.through_keras.trace_model import NoInputs, Untraceable, trace_model

    is_keras3 = library.__name__ == "keras"
    if is_keras3 and library.backend.backend() != "tensorflow":
        backend = library.backend.backend()
        raise InputError(f"Keras runs on {backend}; set KERAS_BACKEND=tensorflow to convert {model_name(model)}")
    try:
        return {SIGNATURE: trace_model(model, is_keras3)}
    except NoInputs:
        return {}  # its own `export` knows what it was called with
    except Untraceable as error:
        raise InputError(f"{model_name(model)} cannot be traced: {error}") from error.__cause__


def _function(item: Any, owner: Any) -> Traced | None:
    """Return a ConcreteFunction, or the trace of a tf.function; None of something else."""
    from tensorflow.types import experimental as kinds

    from fuseconv.load.traced_functions import traced

    if isinstance(item, kinds.ConcreteFunction):
        return traced(item, owner)
    if not isinstance(item, kinds.GenericFunction):
        return None
    if item.input_signature is not None:
        return traced(item.get_concrete_function(), owner)
    best = _most_open(item)
    if best is None:
        raise InputError(
            f"the function {getattr(item, '__name__', '')} was never traced: give it an input_signature, or convert "
            "f.get_concrete_function(tf.TensorSpec(...))"
        )
    return traced(best, owner)


def _most_open(function: Any) -> Any:
    """Return the trace of a tf.function that was not made for training and leaves most sizes open; the first of equals.
    None if it has none: the rule for SavedModels without signatures, see `concrete_functions`."""
    import tensorflow as tf

    best, most = None, -1
    for concrete in function._list_all_concrete_functions_for_serialization():
        leaves = tf.nest.flatten(concrete.structured_input_signature)
        specs = [leaf for leaf in leaves if isinstance(leaf, tf.TypeSpec)]
        if any(leaf is True for leaf in leaves) or not all(isinstance(spec, tf.TensorSpec) for spec in specs):
            continue
        openness = sum(1 if dims is None else dims.count(None) for dims in map(_dims, specs))
        if openness > most:
            best, most = concrete, openness
    return best


def _dims(spec: Any) -> list[int | None] | None:
    return None if spec.shape.rank is None else spec.shape.as_list()


def _methods(model: Any) -> dict[str, Traced]:
    """Return the functions of a module: what it is called by, or else each public one that has a trace."""
    from tensorflow.types import experimental as kinds

    def held(name: str) -> Any:
        # A property computes what it returns, and may fail; a function is there.
        static = inspect.getattr_static(model, name, None)
        return getattr(model, name) if isinstance(static, (kinds.GenericFunction, kinds.ConcreteFunction)) else None

    call = held(_CALL)
    if call is not None and (call.input_signature is not None or _most_open(call) is not None):
        function = _function(call, model)
        assert function is not None
        return {SIGNATURE: function}
    found = {name: held(name) for name in sorted(dir(model)) if not name.startswith("_")}
    there = {name: item for name, item in found.items() if item is not None}
    functions = {name: _function(item, model) for name, item in there.items() if _has_trace(item)}
    if there and not functions:
        raise InputError(
            f"{model_name(model)} has no traced function: give {next(iter(there))} an input_signature, or call it once"
        )
    return {name: function for name, function in functions.items() if function is not None}


def _has_trace(item: Any) -> bool:
    return not hasattr(item, "input_signature") or item.input_signature is not None or _most_open(item) is not None


def _exported(model: Any, folder: Path) -> Path:
    """Let a model write its SavedModel, and return where it is."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Keras tells of it
            model.export(str(folder))
    except Exception as error:  # a method of the user's may raise anything
        raise InputError(f"{model_name(model)}.export() failed: {type(error).__name__}: {error}") from error
    if not folder.is_dir():
        raise InputError(f"{model_name(model)}.export(directory) wrote no SavedModel there")
    return folder


def _told(model: Any) -> str:
    """Return what was given that is no model: "list of str"."""
    if not isinstance(model, (list, tuple, Mapping)):
        return model_name(model)
    kinds = dict.fromkeys(type(item).__name__ for item in (model.values() if isinstance(model, Mapping) else model))
    return f"{type(model).__name__} of {' and '.join(kinds) or 'nothing'}"


def _advice(model: Any) -> str:
    if type(model).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return "give jax.export.export(jax.jit(function), platforms=['cpu'])(shapes)"
    if is_path(model):
        return "give one path, and not a list"
    if callable(model) and not isinstance(model, type):
        return "make a tf.function of it with an input_signature"
    return f"give {TAKEN}"
