"""A drop-in for `tf.lite.TFLiteConverter`, for those who migrate: one import line changes.

    from fuseconv import lite

    converter = lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [lite.Optimize.DEFAULT]
    data = converter.convert()

The names are those of `tf.lite`, whose own enums and types are taken as well. What is not known here is refused by
name: a setting that fuseconv has not would otherwise be lost in silence. `fuseconv.convert` has more to offer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from fuseconv.api import convert
from fuseconv.errors import InputError, UnsupportedError, suggestion
from fuseconv.inspecting import describe
from fuseconv.quantize.io_types import FLOAT
from fuseconv.report.records import Report

__all__ = ["OpsSet", "Optimize", "RepresentativeDataset", "TFLiteConverter", "TargetSpec"]


class Optimize(Enum):
    """What to optimize for; the first three all mean quantization."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"


class OpsSet(Enum):
    """Which ops the file may have."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"
    EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8 = (
        "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
    )


_INT16 = OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
_IO_TYPES = {"float32": "float", "int8": "int8", "uint8": "uint8", "int16": "int16"}
# Settings of TFLiteConverter's that leave fuseconv nothing to do, with the values that ask for what it does. Lists of
# tensors are lowered here whatever the batch, so that nobody needs what people set to get loops past TFLiteConverter.
_WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "experimental_new_converter": (True,), "experimental_new_quantizer": (True,),
    "experimental_enable_resource_variables": (True,), "exclude_conversion_metadata": (True,),
    "experimental_lower_to_saved_model": (True,), "unfold_batchmatmul": (False,),
    "legalize_custom_tensor_list_ops": (False,), "_experimental_lower_tensor_list_ops": (True, False),
    "_experimental_default_to_single_batch_in_tensor_list_ops": (False, True),
    "experimental_new_dynamic_range_quantizer": (False, True), "_experimental_use_buffer_offset": (False,),
    "_experimental_guarantee_all_funcs_one_use": (False, True),
    "_experimental_enable_dynamic_update_slice": (False, True),
    **dict.fromkeys((
        "experimental_use_stablehlo_quantizer", "_experimental_allow_all_select_tf_ops",
        "_experimental_calibrate_only", "_experimental_disable_fuse_mul_and_fc", "_experimental_disable_per_channel",
        "_experimental_disable_per_channel_quantization_for_dense_layers", "_experimental_low_bit_qat",
        "_experimental_preserve_assert_op", "_experimental_sparsify_model", "_experimental_variable_quantization",
    ), (False,)),
}  # fmt: skip
# Where TFLiteConverter takes models from, and what takes its place.
_ELSEWHERE = {
    "experimental_from_jax": "call fuseconv.convert(jax.export.export(jax.jit(function), platforms=['cpu'])(shapes))",
    "from_frozen_graph": "call fuseconv.convert('graph.pb', inputs=[...], outputs=[...])",
    "from_keras_model_file": "call fuseconv.convert('model.h5')",
    "from_session": "save a SavedModel, or freeze the graph, and call fuseconv.convert",
}
# What runs files is no part of a converter.
_RUNTIME = {
    "Interpreter": "from ai_edge_litert.interpreter import Interpreter",
    "load_delegate": "from ai_edge_litert.interpreter import load_delegate",
    "experimental": "from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate",
}
# Settings of TensorFlow 1's converter.
_FORMER = {
    "post_training_quantize": "optimizations", "target_ops": "target_spec.supported_ops",
    "inference_type": "optimizations and representative_dataset", "quantized_input_stats": "inference_input_type",
}  # fmt: skip
# Ops of models that were trained for integers, which need no samples.
_TRAINED_FOR_INTEGERS = ("FakeQuant", "QuantizeAndDequantize")


def __getattr__(name: str) -> Any:
    help = f"; {_RUNTIME[name]}" if name in _RUNTIME else suggestion(name, __all__)
    raise AttributeError(f"fuseconv.lite has no {name}{help}")


class RepresentativeDataset:
    """Samples for quantization: `input_gen` is a function that returns an iterable of them."""

    def __init__(self, input_gen: Callable[[], Iterable[Any]]) -> None:
        self.input_gen = input_gen


class _Settings:
    """An object whose attributes are those that it has: another one is refused when it is set."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name in _WITHOUT_EFFECT and kind == "TFLiteConverter":
            if value not in _WITHOUT_EFFECT[name]:
                raise AttributeError(f"fuseconv has no {name} = {value!r}: remove the line, and see what it converts")
            return
        known = getattr(self, "_known", ())
        if not name.startswith("_fuseconv") and known and name not in known:
            help = f"; use {_FORMER[name]}" if name in _FORMER else suggestion(name, known)
            raise AttributeError(f"fuseconv's {kind} has no {name}{help}")
        super().__setattr__(name, value)


class TargetSpec(_Settings):
    """What the file may hold.

    supported_ops: a set of `OpsSet`. supported_types: types of weights; float16 is one that quantization knows, int8
    asks for integers everywhere."""

    _known = ("supported_ops", "supported_types")

    def __init__(
        self, supported_ops: Iterable[Any] | None = None, supported_types: Iterable[Any] | None = None
    ) -> None:
        self.supported_ops = {OpsSet.TFLITE_BUILTINS} if supported_ops is None else supported_ops
        self.supported_types = set() if supported_types is None else supported_types


class _Elsewhere(type):
    """Say what takes the place of a constructor that is not here."""

    def __getattr__(cls, name: str) -> Any:
        help = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else suggestion(name, dir(cls))
        raise AttributeError(f"fuseconv's {cls.__name__} has no {name}{help}")


class TFLiteConverter(_Settings, metaclass=_Elsewhere):
    """Convert a model as `fuseconv.convert` does, by the settings of `tf.lite.TFLiteConverter`.

    optimizations: with `Optimize.DEFAULT` in it weights are stored in 8 bits, or in 16 if `target_spec.supported_types`
    is {float16}, or all is computed in integers if there is a `representative_dataset`.
    representative_dataset: a function that yields samples. Each is a list of arrays in the order of the inputs, a dict
    by their names, or (signature, dict).
    inference_input_type, inference_output_type: types of inputs and outputs of files in integers.
    allow_custom_ops: write ops that TFLite does not know as custom ones.
    Attributes that are not named here are refused with AttributeError when they are set.
    """

    _known = (
        "optimizations", "representative_dataset", "target_spec", "inference_input_type", "inference_output_type",
        "allow_custom_ops",
    )  # fmt: skip

    def __init__(self, funcs: Any, trackable_obj: Any = None) -> None:
        """Use the functions `from_saved_model`, `from_keras_model` and `from_concrete_functions`, or give these."""
        self.optimizations: Iterable[Any] | None = set()
        self.representative_dataset: Any = None
        self.target_spec: Any = TargetSpec()
        self.inference_input_type: Any = np.float32
        self.inference_output_type: Any = np.float32
        self.allow_custom_ops = False
        self._fuseconv_model, self._fuseconv_owner = funcs, trackable_obj
        self._fuseconv_reading: dict[str, Any] = {}
        self._fuseconv_report: Report | None = None

    @classmethod
    def from_saved_model(
        cls, saved_model_dir: str | os.PathLike, signature_keys: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
    ) -> TFLiteConverter:  # fmt: skip
        """Return a converter of a SavedModel directory, of all its signatures or of these."""
        converter = cls(saved_model_dir)
        converter._fuseconv_reading = {
            "signatures": _list(signature_keys, "signature_keys"), "tags": _list(tags, "tags"),
        }  # fmt: skip
        return converter

    @classmethod
    def from_keras_model(cls, model: Any) -> TFLiteConverter:
        """Return a converter of a model of Keras 3 or tf-keras."""
        return cls(model)

    @classmethod
    def from_concrete_functions(cls, funcs: Iterable[Any], trackable_obj: Any = None) -> TFLiteConverter:
        """Return a converter of functions, each a signature by its name; of one alone, "serving_default".

        trackable_obj: what owns their variables."""
        functions = _list(funcs, "funcs")
        for function in functions:
            if not hasattr(function, "structured_outputs"):
                raise ValueError(f"{function!r} is no ConcreteFunction: call its get_concrete_function")
        return cls(functions, trackable_obj)

    @property
    def report(self) -> Report | None:
        """Return what became of the model in the last conversion, which TFLiteConverter does not tell."""
        return self._fuseconv_report

    def convert(self) -> bytes:
        """Convert the model and return the file's bytes. Raises as `fuseconv.convert` does, and UnsupportedError if
        `target_spec` asks for integers only and an op has no integer kernel."""
        ops, types = self._target()
        options = self._fuseconv_reading | {
            "allow_custom_ops": bool(self.allow_custom_ops), "select_tf_ops": OpsSet.SELECT_TF_OPS in ops,
        }  # fmt: skip
        quantize = self._quantization(ops, types)
        allows_floats = bool({OpsSet.TFLITE_BUILTINS, OpsSet.SELECT_TF_OPS} & ops) and types != {"int8"}
        conversion = convert(self._fuseconv_model, **options, **self._quantizing(quantize, options, allows_floats))
        if quantize == "dynamic" and _was_trained_for_integers(conversion.report):
            quantize = "int8"
            conversion = convert(self._fuseconv_model, **options, **self._quantizing(quantize, options, allows_floats))
        super().__setattr__("_fuseconv_report", conversion.report)
        if quantize in ("int8", "int16x8") and not allows_floats:
            _refuse_floats(conversion.report)
        assert conversion.data is not None
        return conversion.data

    def _target(self) -> tuple[set[OpsSet], set[str]]:
        """Return which ops and types the file may have. Raises InputError for what fuseconv does not write."""
        spec = self.target_spec
        if not hasattr(spec, "supported_ops") or not hasattr(spec, "supported_types"):
            raise InputError(f"target_spec is a TargetSpec, not {spec!r}")
        for name in ("experimental_select_user_tf_ops", "experimental_supported_backends"):
            if getattr(spec, name, None):
                raise InputError(f"target_spec.{name} is not known to fuseconv: leave it out")
        ops = _members(OpsSet, spec.supported_ops, "target_spec.supported_ops")
        types = {_type_name(item) for item in _list(spec.supported_types, "target_spec.supported_types")}
        if unknown := types - {"float32", "float16", "int8"}:
            raise InputError(f"target_spec.supported_types: fuseconv has no {', '.join(sorted(unknown))}")
        if not ops or ops == {OpsSet.SELECT_TF_OPS}:
            raise InputError("target_spec.supported_ops: fuseconv writes TFLITE_BUILTINS where it can; add them")
        return ops, types

    def _quantization(self, ops: set[OpsSet], types: set[str]) -> str | None:
        """Return how `fuseconv.convert` is to quantize. Raises InputError for settings that contradict each other."""
        wanted = bool(_members(Optimize, self.optimizations, "optimizations"))
        integers = bool(ops & {OpsSet.TFLITE_BUILTINS_INT8, _INT16}) or types == {"int8"}
        has_samples = self.representative_dataset is not None
        for asked, what in ((integers or types, "target_spec"), (has_samples, "representative_dataset")):
            if asked and not wanted:
                raise InputError(f"{what} asks for quantization: set optimizations = [Optimize.DEFAULT], or remove it")
        if not wanted:
            return None
        if "float16" in types:
            if has_samples or integers:
                raise InputError("float16 weights need no representative_dataset and no integers: remove one of them")
            return "float16"
        if _INT16 in ops:
            return "int16x8"
        return "int8" if has_samples or integers else "dynamic"

    def _quantizing(self, quantize: str | None, options: dict[str, Any], allows_floats: bool) -> dict[str, Any]:
        """Return the options of quantization: samples by names, and the types of inputs and outputs. Where no op may be
        of floats, ends that are have names each: by default they would let recurrent layers sum up floats."""
        kinds = [_io_type(self.inference_input_type), _io_type(self.inference_output_type)]
        if quantize not in ("int8", "int16x8"):
            if kinds != [FLOAT, FLOAT]:
                raise InputError("inference_input_type and inference_output_type are for models in integers only")
            return {"quantize": quantize}
        ends = _Ends(lambda: convert(self._fuseconv_model, **options).data or b"")
        default = kinds[0]
        if not allows_floats and FLOAT in kinds:
            default = "int16" if quantize == "int16x8" else "int8"
        named = [
            f"{name}={kind}"
            for kind, where in zip(kinds, ("inputs", "outputs"))
            if kind != default
            for name in ends.names(where)
        ]
        io_types = ",".join([default, *named])
        samples = self.representative_dataset
        given = None if samples is None else ends.samples(getattr(samples, "input_gen", samples))
        return {"quantize": quantize, "io_types": io_types, "calibration_data": given}


class _Ends:
    """The names of inputs and outputs in the file, which is asked for them only if they are needed."""

    def __init__(self, convert: Callable[[], bytes]) -> None:
        self._convert = convert
        self._found: dict[str, Any] = {}

    def names(self, ends: str) -> list[str]:
        """Return the names of the "inputs" or "outputs" of all signatures, in the order of the subgraphs."""
        found: dict[str, None] = {}
        for signature in self.file["signatures"]:
            order = self.file["subgraphs"][signature["subgraph"]][ends]
            found |= dict.fromkeys(sorted(signature[ends], key=lambda name: order.index(signature[ends][name])))
        return list(found)

    @property
    def file(self) -> dict[str, Any]:
        """Return the description of the file of floats."""
        self._found = self._found or describe(self._convert(), "the model")
        return self._found

    def samples(self, generate: Any) -> Iterator[dict[str, np.ndarray]]:
        """Yield dicts by names for samples in any of TFLiteConverter's forms. Raises InputError for others."""
        if not callable(generate):
            raise InputError("representative_dataset is a function that yields samples, or a RepresentativeDataset")
        for sample in generate():
            if isinstance(sample, Mapping):
                yield {str(name): np.asarray(array) for name, array in sample.items()}
            elif isinstance(sample, tuple) and len(sample) == 2 and isinstance(sample[1], Mapping):
                yield self._of_signature(*sample)
            elif isinstance(sample, (list, tuple)):
                names = self.names("inputs")
                if self.file["signatures"][1:] or len(names) != len(sample):
                    raise InputError(f"a sample has {len(sample)} arrays: give a dict of {', '.join(names)}")
                yield dict(zip(names, map(np.asarray, sample)))
            else:
                found = type(sample).__name__
                raise InputError(f"a sample is a list of arrays, or a dict by names, not {found}: yield [array]")

    def _of_signature(self, key: str, sample: Mapping[str, Any]) -> dict[str, np.ndarray]:
        first = key in (None, self.file["signatures"][0]["key"])
        return {name if first else f"{key}/{name}": np.asarray(array) for name, array in sample.items()}


def _members(kind: type[Enum], items: Any, where: str) -> set[Any]:
    """Return our own members for those of TensorFlow's, or for their names."""
    names = [item if isinstance(item, str) else getattr(item, "name", repr(item)) for item in _list(items, where)]
    for name in names:
        if name not in kind.__members__:
            raise InputError(f"{where}: fuseconv has no {name}{suggestion(name, kind.__members__)}")
    return {kind[name] for name in names}


def _list(items: Any, where: str) -> list[Any]:
    """Return items as a list, none for None. Raises InputError for a single one, which is none of several."""
    if isinstance(items, str) or not isinstance(items, (Iterable, type(None))):
        raise InputError(f"{where} is a list, not {items!r}")
    return list(items or ())


def _type_name(kind: Any) -> str:
    """Return the name of a type of TensorFlow's or numpy's."""
    return str(getattr(kind, "name", None) or getattr(kind, "__name__", kind))


def _io_type(kind: Any) -> str:
    name = _type_name(kind)
    if name not in _IO_TYPES:
        raise InputError(f"inputs and outputs are of {', '.join(_IO_TYPES)}, not {name}")
    return _IO_TYPES[name]


def _was_trained_for_integers(report: Report) -> bool:
    return any(kind.startswith(_TRAINED_FOR_INTEGERS) for kind in report.sources.values())


def _refuse_floats(report: Report) -> None:
    """Raise UnsupportedError if an op of the file computes in floats."""
    left = [item for item in report.quantized if not item.name and item.type == "float32"]
    if left:
        ops = [(item.op, list(item.sources), item.why) for item in left]
        why = {item.op: item.why for item in reversed(left)}
        named = ", ".join(f"{op} ({why[op]})" for op in sorted(why))
        count = "1 op stays" if len(left) == 1 else f"{len(left)} ops stay"
        error = UnsupportedError(
            f"{count} float where target_spec asks for integers only: {named}; add OpsSet.TFLITE_BUILTINS to "
            "supported_ops if floats may be there", ops,
        )  # fmt: skip
        error.report = report
        raise error
