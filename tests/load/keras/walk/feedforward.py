"""Layers that see each example alone: products, convolutions, poolings, normalizations, moves of elements."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from tests.load.keras.walk.case import Case, each

_FIRST = {"data_format": "channels_first"}
_SPATIAL: dict[int, tuple[int | None, ...]] = {1: (11, 4), 2: (9, 7, 4), 3: (5, 6, 7, 4)}
_DYNAMIC: dict[int, tuple[int | None, ...]] = {1: (None, 4), 2: (None, 7, 4), 3: (None, 6, 7, 4)}


def _then_lstm(layers: Any, layer: Any) -> Any:
    return lambda x: layers.LSTM(3)(layer(x))


def _with_channels_first(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return (shape[-1], *shape[:-1])


def _convolutions() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for rank, kind in product((1, 2, 3), ("Conv", "Transpose", "DepthwiseConv", "SeparableConv")):
        if rank == 3 and "Conv" in kind[1:]:
            continue
        name = f"Conv{rank}DTranspose" if kind == "Transpose" else f"{kind}{rank}D"
        filters = {} if kind == "DepthwiseConv" else {"filters": 3}
        window = [3, 2, 3][:rank]
        settings: list[Mapping[str, Any]] = [
            {"kernel_size": window}, {"kernel_size": 3, "strides": 2, "padding": "same", "activation": "relu"},
            {"kernel_size": 3, "strides": 2, "use_bias": False}, {"kernel_size": 2, "strides": 3, "padding": "valid"},
        ]  # fmt: skip
        if rank < 3 or kind == "Conv":
            settings.append({"kernel_size": 2, "dilation_rate": 2, "padding": "same"})
        if kind in ("DepthwiseConv", "SeparableConv"):
            settings.append({"kernel_size": 2, "depth_multiplier": 3, "activation": "tanh"})
        if kind == "Conv":
            settings.append({"kernel_size": 2, "groups": 1, "activation": "gelu"})
        if kind == "Transpose":
            settings += [{"kernel_size": 3, "strides": 3, "output_padding": 1, "padding": padding}
                         for padding in ("same", "valid")]  # fmt: skip
            settings += [{"kernel_size": 4, "strides": 3, "padding": "same"}]
        if kind in ("Conv", "SeparableConv") and rank == 1:
            settings += [{"kernel_size": 3, "padding": "causal", **more} for more in ({}, {"dilation_rate": 2})]
        settings = [filters | dict(more) for more in settings]
        grouped = [{"filters": 4, "kernel_size": 3, "groups": 2}] if kind == "Conv" and rank < 3 else []
        first = [filters | {"kernel_size": 3, "strides": step, "padding": padding, **_FIRST}
                 for step, padding in ((1, "valid"), (2, "same"))]  # fmt: skip
        found[name] = [
            *each(_SPATIAL[rank], *settings, *grouped), *each(_DYNAMIC[rank], *settings[:3]),
            *each(_with_channels_first(_SPATIAL[rank]), *first),
        ]  # fmt: skip
    return found


def _poolings() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for rank, kind in product((1, 2, 3), ("Max", "Average")):
        shape, dynamic = _SPATIAL[rank], _DYNAMIC[rank]
        found[f"{kind}Pooling{rank}D"] = [
            *each(shape, {}, {"pool_size": 3, "strides": 2, "padding": "same"}, {"pool_size": 2, "strides": 1}),
            *each(dynamic, {}, {"pool_size": 3, "padding": "same"}),
            *each(_with_channels_first(shape), {"pool_size": 3, "padding": "same", **_FIRST}),
        ]
        found[f"Global{kind}Pooling{rank}D"] = [
            *each(shape, {}, {"keepdims": True}), *each(dynamic, {}), *each(_with_channels_first(shape), _FIRST),
        ]  # fmt: skip
        found[f"Adaptive{kind}Pooling{rank}D"] = [
            *each(shape, {"output_size": 2}, {"output_size": 3}, {"output_size": [4, 3, 2][:rank]}),
            *each(_with_channels_first(shape), {"output_size": 2, **_FIRST}),
        ]
    found["GlobalAveragePooling1D"] += each((7, 4), {}, {"keepdims": True}, masked=True)
    return found


def _moves() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {
        "Flatten": [
            *each((3, 5, 4), {}, _FIRST), *each((None, 4), {}), *each((6,), {}), *each((3, 2), {}, dtype="int32"),
        ],
        "Reshape": [
            *each((6, 4), *({"target_shape": shape} for shape in ([8, 3], [-1, 2], [2, -1, 3]))),
            *each((None, 4), {"target_shape": [-1, 2]}),
        ],
        "Permute": [*each((3, 5, 4), {"dims": [2, 1, 3]}, {"dims": [3, 1, 2]}), *each((None, 4), {"dims": [2, 1]})],
        "RepeatVector": [*each((5,), {"n": 3}, {"n": 1}, {"n": 7}), *each((5,), {"n": 2}, dtype="int32")],
    }  # fmt: skip
    for rank in (1, 2, 3):
        shape, dynamic = _SPATIAL[rank], _DYNAMIC[rank]
        pairs = [[1, 2], [2, 0], [1, 1]][:rank]
        ends: Any = pairs[0] if rank == 1 else pairs
        for name, key in (("Cropping", "cropping"), ("ZeroPadding", "padding")):
            found[f"{name}{rank}D"] = [*each(shape, {key: 1}, {key: ends}), *each(dynamic, {key: ends})]
        found[f"UpSampling{rank}D"] = [*each(shape, {"size": 2}, {"size": 3}), *each(dynamic, {"size": 2})]
        if rank > 1:
            first = _with_channels_first(shape)
            found[f"Cropping{rank}D"] += each(first, {"cropping": ends, **_FIRST})
            found[f"ZeroPadding{rank}D"] += each(first, {"padding": ends, **_FIRST})
            found[f"UpSampling{rank}D"] += each(first, {"size": 2, **_FIRST})
    kinds = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
    found["UpSampling2D"] += each(_SPATIAL[2], *({"size": [2, 3], "interpolation": kind} for kind in kinds))
    return found


def _normalizations() -> dict[str, list[Case]]:
    three = (9, 7, 4)
    plain: list[dict[str, Any]] = [{}, {"epsilon": 1e-2, "center": False}, {"scale": False}]
    return {
        "BatchNormalization": [
            *each(three, *plain, {"axis": 1}, {"axis": [3]}, {"momentum": 0.9, "epsilon": 1e-5}),
            *each((None, 4), {}), *each((5,), {}), *each((5, 4), {"axis": 1}, masked=True),
            *each(three, {"renorm": True}, only="tf_keras"),
        ],
        "LayerNormalization": [
            *each(three, *plain, {"axis": 1}, {"axis": [2, 3]}, {"axis": [1, 2]}), *each((None, 4), {}),
            *each(three, {"rms_scaling": True}, only="keras"),
        ],
        "GroupNormalization": [
            *each(three, {"groups": 2}, {"groups": 4, "center": False}, {"groups": -1}, {"groups": 1, "scale": False}),
            *each((4, 9, 7), {"groups": 2, "axis": 1}), *each((None, 4), {"groups": 2}),
        ],
        "RMSNormalization": [*each(three, {}, {"epsilon": 1e-2}, {"axis": [2, 3]}, {"axis": 1}), *each((None, 4), {})],
        "UnitNormalization": [*each(three, {}, {"axis": 1}, {"axis": [1, 2]}), *each((None, 4), {})],
        "SpectralNormalization": [
            *each(three, {"layer": lambda L: L.Conv2D(3, 3)}, {"layer": lambda L: L.Dense(3), "power_iterations": 3}),
            *each((6,), {"layer": lambda L: L.Dense(3, use_bias=False)}),
            *each((6,), {"layer": lambda L: L.Embedding(9, 3)}, dtype="int32"),
        ],
    }  # fmt: skip


def _products() -> dict[str, list[Case]]:
    dense: list[dict[str, Any]] = [{"units": 3}, {"units": 1, "use_bias": False}, {"units": 5, "activation": "gelu"}]
    return {
        "Dense": [*each((6,), *dense), *each((3, 5, 4), *dense), *each((None, 4), *dense)],
        "EinsumDense": [
            *each((5, 4), {"equation": "abc,cd->abd", "output_shape": [None, 3], "bias_axes": "d"},
                  {"equation": "abc,cde->abde", "output_shape": [5, 3, 2], "bias_axes": "de", "activation": "relu"},
                  {"equation": "...x,xy->...y", "output_shape": 3, "bias_axes": "y"},
                  {"equation": "abc,bd->adc", "output_shape": [3, 4]}),
            *each((None, 4), {"equation": "abc,cd->abd", "output_shape": [None, 3], "bias_axes": "d"}),
            *each((5, 4), {"equation": "abc,cd->abd", "output_shape": [None, 3]}, masked=True, within=_then_lstm),
        ],
        "Embedding": [
            *each((5,), {"input_dim": 7, "output_dim": 3}, {"input_dim": 9, "output_dim": 4, "mask_zero": True},
                  dtype="int32"),
            *each((5, 2), {"input_dim": 7, "output_dim": 3}, dtype="int32"),
            *each((), {"input_dim": 7, "output_dim": 3}, dtype="int64"),
        ],
        "ReversibleEmbedding": [
            *each((5,), {"input_dim": 7, "output_dim": 3}, {"input_dim": 9, "output_dim": 4, "mask_zero": True},
                  {"input_dim": 9, "output_dim": 4, "tie_weights": False}, dtype="int32"),
            *each((5, 3), {"input_dim": 7, "output_dim": 3}, call={"reverse": True}),
        ],
        **{f"LocallyConnected{rank}D": each(
            shape, {"filters": 3, "kernel_size": 3}, {"filters": 2, "kernel_size": 2, "strides": 2},
            {"filters": 2, "kernel_size": 3, "implementation": 2},
        ) for rank, shape in ((1, (7, 4)), (2, (5, 7, 4)))},
    }  # fmt: skip


def _activations() -> dict[str, list[Case]]:
    names = ("relu", "relu6", "sigmoid", "tanh", "softplus", "softsign", "exponential", "elu", "selu", "linear", "silu",
             "swish", "hard_sigmoid", "hard_silu", "mish", "gelu", "leaky_relu", "log_sigmoid", "hard_tanh", "celu",
             "glu", "hard_shrink", "log_softmax", "soft_shrink", "softmax", "sparse_plus", "sparse_sigmoid",
             "sparsemax", "squareplus", "tanh_shrink", "threshold")  # fmt: skip
    noise = ("Dropout", "GaussianDropout", "AlphaDropout", "SpatialDropout1D")
    return {
        "Activation": each((5, 6), *({"activation": name} for name in names)),
        "ELU": each((5, 4), {}, {"alpha": 0.5}, {"alpha": 1.5}),
        "LeakyReLU": [*each((5, 4), {}, {"negative_slope": 0.1}, {"negative_slope": 1.5}, only="keras"),
                      *each((5, 4), {}, {"alpha": 0.1}, {"alpha": 1.5}, only="tf_keras")],
        "PReLU": [*each((5, 6, 4), {}, {"shared_axes": [1, 2]}, {"shared_axes": [1]}),
                  *each((None, 4), {"shared_axes": [1]})],
        "ReLU": each((5, 4), {}, {"max_value": 0.8}, {"negative_slope": 0.2}, {"threshold": 0.3},
                     {"threshold": 0.3, "max_value": 6.0, "negative_slope": 0.2}, {"max_value": 6.0}),
        "Softmax": [*each((5, 4), {}, {"axis": 1}, {"axis": [1, 2]}), *each((None, 4), {}),
                    *each((5, 4), {}, masked=True)],
        "ThresholdedReLU": each((5, 4), {}, {"theta": 0.2}, {"theta": 0.0}),
        "Identity": [*each((5, 4), {}), *each((3,), {}, dtype="int32"), *each((5, 4), {}, masked=True)],
        "ActivityRegularization": each((5, 4), {}, {"l1": 0.1}, {"l2": 0.1}),
        "GaussianNoise": each((5, 4), {"stddev": 0.1}, {"stddev": 0.0}, {"stddev": 1.0}),
        "SpatialDropout2D": each((5, 6, 4), {"rate": 0.1}, {"rate": 0.4}, {"rate": 0.2, **_FIRST}),
        "SpatialDropout3D": each((2, 5, 6, 4), {"rate": 0.1}, {"rate": 0.4}, {"rate": 0.2, **_FIRST}),
        **{name: each((5, 4), {"rate": 0.1}, {"rate": 0.4}, {"rate": 0.2}) for name in noise},
    }  # fmt: skip


def _mergers() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {
        name: [
            *each([(5, 4), (5, 4)], {}), *each([(5, 4), (4,)], {}), *each([(None, 4), (None, 4)], {}),
            *each([(5, 4), (1, 4)], {}), *each([(5, 4), (5, 4)], {}, masked=True),
        ]
        for name in ("Add", "Multiply", "Maximum", "Minimum", "Average", "Subtract")
    }  # fmt: skip
    found["Add"] += [*each([(5, 4)] * 3, {}), *each([(5, 4)] * 2, {}, dtype="int32")]
    found["Average"] += each([(5, 4)] * 3, {})
    found["Concatenate"] = [
        *each([(5, 4), (5, 2)], {}), *each([(5, 4), (3, 4)], {"axis": 1}), *each([(5, 4), (5, 4), (5, 4)], {"axis": 2}),
        *each([(None, 4), (None, 2)], {}), *each([(5, 4), (5, 2)], {}, masked=True),
        *each([(5, 4), (3, 4)], {"axis": 1}, masked=True, within=_then_lstm),
        *each([(5, 4), (5, 2)], {}, masked=True, within=_then_lstm), *each([(5, 4), (5, 2)], {}, dtype="int32"),
    ]  # fmt: skip
    found["Dot"] = [
        *each([(4,), (4,)], {"axes": 1}, {"axes": 1, "normalize": True}), *each([(5, 4), (3, 4)], {"axes": 2}),
        *each([(5, 4), (4, 3)], {"axes": [2, 1]}), *each([(5, 4), (5, 3)], {"axes": 1}),
        *each([(4,), (3, 4)], {"axes": [1, 2]}), *each([(2, 5, 4), (4, 3)], {"axes": [3, 1]}),
        *each([(5, 4), (3, 4)], {"axes": -1, "normalize": True}),
    ]  # fmt: skip
    return found


CASES = {
    **_convolutions(), **_poolings(), **_moves(), **_normalizations(), **_products(), **_activations(), **_mergers(),
}  # fmt: skip
