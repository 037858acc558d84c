"""Each class that the Kerases can make of a configuration is either allowed on purpose, or refused on purpose."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load.through_keras import allow_list, config_check


def _words(text: str) -> list[str]:
    return text.split()


# Refused for what they would do: run code, read files, take functions, bring data sets.
_HARMFUL = _words("""
    AssociativeScan AWQConfig Cond DenseFeatures Distiller FeatureSpace FlaxLayer ForiLoop Function GPTQConfig
    IndexLookup JaxLayer JVP Lambda LinearModel Map Scan SequenceFeatures Switch TFSMLayer TorchModuleWrapper
    VectorizedMap Vectorize WhileLoop WideDeepModel
""")
# Bases of others: no file has them.
_BASES = _words("""
    AbstractRNNCell BaseAdaptiveAveragePooling BaseAdaptiveMaxPooling BaseAdaptivePooling BaseConv BaseConvTranspose
    BaseDepthwiseConv BaseGlobalPooling BaseImagePreprocessingLayer BasePooling BaseRandomLayer BaseSeparableConv
    BaseSpatialDropout BatchNormalizationBase Constraint ConvLSTM DataLayer Initializer InputSpec Layer
    LearningRateSchedule Loss Merge Metric Operation Optimizer QuantizationConfig Quantizer Reduction Regularizer
    SegmentReduction Wrapper _RNNCellWrapper
""")
# Of training only, and of no use to a model that is converted.
_UNUSED = ["CTCDecode", "CTCLoss", "OptimizerMap"]
_REFUSED = {*_HARMFUL, *_BASES, *_UNUSED}
_PARTS = (
    "layers", "initializers", "regularizers", "constraints", "optimizers", "losses", "metrics", "dtype_policies",
    "mixed_precision", "quantizers", "optimizers.schedules", "optimizers.legacy",
)  # fmt: skip


def public(library: Any) -> Iterator[str]:
    """The classes in the public parts of a Keras."""
    for part in _PARTS:
        module: Any = library
        for step in part.split("."):
            module = getattr(module, step, None)
        yield from (name for name in dir(module or object) if inspect.isclass(getattr(module, name)) and name[0] != "_")


def descendants(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def serializable() -> set[str]:
    import keras
    import keras.src.ops
    import tf_keras
    from keras.src.layers.layer import Layer
    from keras.src.ops.operation import Operation
    from tf_keras.src.layers import serialization

    for _, name, _ in pkgutil.walk_packages(keras.src.ops.__path__, "keras.src.ops."):
        if not name.endswith("_test"):
            importlib.import_module(name)
    serialization.populate_deserializable_objects()
    older = {name for name, kind in serialization.LOCAL.ALL_OBJECTS.items() if inspect.isclass(kind)}
    newer = {kind for base in (Layer, Operation) for kind in descendants(base)}
    own = {kind.__name__ for kind in newer if kind.__module__.startswith(("keras.src.layers.", "keras.src.ops."))}
    return {*public(keras), *public(tf_keras), *older, *own}


def test_each_class_is_allowed_or_refused_on_purpose() -> None:
    known = allow_list.CLASSES | allow_list.CALLS.keys() | _REFUSED
    assert sorted(serializable() - known) == []


def test_none_is_both() -> None:
    assert sorted(_REFUSED & (allow_list.CLASSES | allow_list.CALLS.keys())) == []


@pytest.mark.parametrize("module", [None, "keras.layers", "tf_keras.src.layers.core"])
@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_what_is_refused(name: str, module: str | None) -> None:
    item = {"class_name": name, "config": {"name": "x"}} | ({"module": module} if module else {})
    with pytest.raises(InputError, match="--trust-model"):
        config_check.check(Path("m.h5"), {"layers": [item]}, known=(), trusted=False)
    config_check.check(Path("m.h5"), {"layers": [item]}, known=(), trusted=True)


def test_what_is_allowed() -> None:
    for name in allow_list.CLASSES - allow_list.MARKERS:
        item = {"class_name": name, "module": "keras.layers", "config": {"name": "x"}, "registered_name": None}
        config_check.check(Path("m.h5"), {"layers": [item]}, known=(), trusted=False)


def test_functions_are_tensorflows_own() -> None:
    """Each name that this TensorFlow knows is a function of its ops: no class, no module, nothing of its tools."""
    from tensorflow.python.util.tf_export import get_symbol_from_name

    found = {
        name: get_symbol_from_name(f"{prefix}{name}")
        for name in allow_list.TENSORFLOW_FUNCTIONS
        for prefix in ("", "compat.v1.")
    }
    homes = ("tensorflow.python.ops.", "tensorflow.python.framework.", "tf_keras.src.")
    strange = [name for name, made in found.items() if made is not None and not made.__module__.startswith(homes)]
    assert strange == []
    assert not any(
        word in name
        for name in allow_list.TENSORFLOW_FUNCTIONS
        for word in ("image.decode_", "image.encode_", "io.", "file")
    )


@pytest.mark.parametrize("name", ["floor_div", "depth_to_space", "space_to_depth"])
def test_functions_that_are_read_as_data_are_allowed(name: str) -> None:
    """tf-keras writes them so where a model says x // y, tf.nn.depth_to_space or tf.nn.space_to_depth."""
    config = {"name": "x", "function": f"compat.v1.{name}"}
    item = {"class_name": "TFOpLambda", "module": "keras.layers", "config": config, "registered_name": "TFOpLambda"}
    config_check.check(Path("m.h5"), {"layers": [item]}, known=(), trusted=False)


def test_ops_take_no_handles_and_no_functions() -> None:
    from fuseconv.load.op_defs import OpDefs

    defs = OpDefs()
    for name in allow_list.TENSORFLOW_OPS:
        definition = defs.get(name)
        assert definition is not None, name
        assert not definition.stateful, name
        assert "func" not in " ".join(definition.attr_types.values()), name
