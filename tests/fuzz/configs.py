"""Damage to a Keras file: its architecture as a tree of JSON, its archive or HDF5 file rewritten around it."""

from __future__ import annotations

import base64
import copy
import io
import json
import marshal
import zipfile
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.fuzz.child import CANARY
from tests.fuzz.damage import damage

Place = tuple[Any, Any]  # a dict or list of the tree, and a key or index

_CODE = marshal.dumps(compile(f"open('{CANARY}', 'w')", CANARY, "exec"))
_LAMBDA = [base64.b64encode(_CODE).decode(), None, None]
# Classes that run code, fetch files, or make models of other files; and ordinary ones in places where they are not.
_CLASSES = (
    "Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper", "TFOpLambda", "SlicingOpLambda",
    "ClassMethod", "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer", "ResidualWrapper", "DropoutWrapper",
    "DeviceWrapper",
    "RNN", "StackedRNNCells", "StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "Dense", "LSTM",
    "LSTMCell",
    "Bidirectional", "TimeDistributed", "Wrapper", "Functional", "Sequential", "Model", "InputLayer", "Add", "Conv2D",
    "Activation", "GaussianNoise", "MultiHeadAttention", "__lambda__", "function", "bytes", "__numpy__", "__tensor__",
    "__typespec__", "__ellipsis__", "__class__", "object", "type", "Popen", "system", "write_file", "keras>Lambda", "",
)  # fmt: skip
_MODULES = (
    "os", "subprocess", "builtins", "keras.layers", "keras.src.layers", "tf_keras.src.layers", "tensorflow", "keras",
    "tensorflow.python.ops.gen_io_ops", "keras.src.legacy.saving", "this", "antigravity", "smtplib", "importlib",
    "keras.ops", "keras.src.utils.file_utils", "numpy", "webbrowser", "tests.fuzz.child", "", "..", "a.b.c",
)  # fmt: skip
_FUNCTIONS = (
    "system", "io.write_file", "io.gfile.copy", "load_library", "load_op_library", "io.read_file", "py_function",
    "numpy_function", "math.add", "nn.relu", "eval", "exec", "open", "raw_ops.ReadFile", "raw_ops.PyFunc", "relu",
    "io.gfile.remove", "saved_model.load", "io.matching_files", "data.TextLineDataset", "__operators__.getitem",
)  # fmt: skip
_REFERENCES = {"class_name": _CLASSES, "registered_name": _CLASSES, "module": _MODULES, "function": _FUNCTIONS,
               "cls_symbol": _MODULES, "activation": _FUNCTIONS, "method_name": _FUNCTIONS}  # fmt: skip
_MEMBERS = ("../../outside/evil", "/tmp/evil", "model.weights.h5", "assets/x", "config.json")
_CONNECTIONS = frozenset({"inbound_nodes", "input_layers", "output_layers", "keras_history"})
_SIZES = (0, -1, 1, 2, 7, 1 << 15, 1 << 20, 1 << 31, 1 << 40, 1 << 63, 10**30)
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 0.5, float("nan"), float("inf"), "", "x", CANARY, [], {}, [None], [[]], [1, [2]],
    {"a": 1}, "float99", "string", "mixed_float16", "../../outside/secret", "channels_first", "same", "é\n", "x" * 5000,
)  # fmt: skip


def damage_config(rng: Random, data: bytes, suffix: str) -> bytes:
    """A Keras file whose architecture has one to four changes."""
    config = json.loads(_read_config(data, suffix))
    for _ in range(min(4, 1 + int(rng.expovariate(0.9)))):
        rng.choice(_WAYS)(rng, config)
    text = json.dumps(config)
    if rng.random() < 0.03:
        text = rng.choice(("[" * 100_000, "[]", "1", "", text[:-1], text.replace(":", ":[", 1), f"[{text}]", "\0", "é"))
    return _write_config(data, suffix, text)


def damage_settings(rng: Random, data: bytes, suffix: str) -> bytes:
    """A Keras file in which one to three settings of layers are others."""
    config = json.loads(_read_config(data, suffix))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        (_setting if rng.random() < 0.8 else rng.choice(_WAYS))(rng, config)
    return _write_config(data, suffix, json.dumps(config))


def damage_members(rng: Random, data: bytes, suffix: str) -> bytes:
    """An archive whose members are damaged, missing, doubled or renamed, but which is a valid archive; and an HDF5 file
    in which a group, data set or attribute is missing, of another type or shape, or a link."""
    if suffix != ".keras":
        return _rewrite_hdf5(rng, data)
    members = _members(data)
    name = rng.choice(sorted(members))
    way = rng.randrange(6)
    if way == 0:
        del members[name]
    elif way == 1:
        members[name] = damage(rng, members[name], members["config.json"])
    elif way == 2:
        members[rng.choice(_MEMBERS)] = members[name]
    elif way == 3 and "model.weights.h5" in members:
        members["model.weights.h5"] = _rewrite_hdf5(rng, members["model.weights.h5"])
    elif way == 4:
        other = rng.choice(sorted(members))
        members[name], members[other] = members[other], members[name]
    else:
        members[name] = bytes(rng.choice((0, 1, 50_000_000)))
    return _archive(members)


def _read_config(data: bytes, suffix: str) -> str:
    import h5py

    if suffix == ".keras":
        return _members(data)["config.json"].decode()
    with h5py.File(io.BytesIO(data), "r") as file:
        found = file.attrs.get("model_config", "{}")
    return found.decode() if isinstance(found, bytes) else found


def _write_config(data: bytes, suffix: str, text: str) -> bytes:
    import h5py

    if suffix == ".keras":
        return _archive(_members(data) | {"config.json": text.encode()})
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        if "model_config" in file.attrs:
            del file.attrs["model_config"]
        file.attrs.create("model_config", text.encode().rstrip(b"\0") or b" ")
    return buffer.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), members[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _rewrite_hdf5(rng: Random, data: bytes) -> bytes:
    import h5py
    import numpy as np

    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        if not names:
            return data
        name = rng.choice(names)
        way = rng.randrange(7)
        if way == 0:
            del file[name]
        elif way == 1:
            del file[name]
            file[name] = h5py.ExternalLink("../outside/secret", "/")
        elif way == 2:
            del file[name]
            file[name] = h5py.SoftLink("/" if rng.random() < 0.5 else "/nowhere")
        elif way == 3:
            del file[name]
            file.create_dataset(name, shape=(4, 4), dtype="f4", external=[("../outside/secret", 0, 64)])
        elif way == 4:
            del file[name]
            file.create_dataset(name, data=rng.choice((np.zeros((2, 3)), np.array([1j]), b"text", np.float32(np.nan))))
        elif way == 5:
            del file[name]
            file.create_dataset(name, shape=(1 << 18, 1 << 12), dtype="f4", chunks=(1 << 10, 1 << 10))
        else:
            attributes = file[name].attrs if rng.random() < 0.5 else file.attrs
            for key in sorted(attributes)[:2]:
                attributes[key] = rng.choice((1, "x", b"\xff", np.array([b"a", b"b"]), 2.5))
    return buffer.getvalue()


def _places(tree: Any) -> Iterator[Place]:
    stack = [tree]
    while stack:
        node = stack.pop()
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in pairs:
            yield node, key
            if isinstance(value, (dict, list)):
                stack.append(value)


def _place(rng: Random, tree: Any, wanted: Callable[[Any, Any], bool] = lambda key, value: True) -> Place | None:
    found = [(node, key) for node, key in _places(tree) if wanted(key, node[key])]
    return rng.choice(found) if found else None


def _drop(rng: Random, tree: Any) -> None:
    place = _place(rng, tree)
    if place:
        del place[0][place[1]]


def _double(rng: Random, tree: Any) -> None:
    place = _place(rng, tree, lambda key, value: isinstance(key, int))
    if place:
        place[0].append(copy.deepcopy(place[0][place[1]]))


def _other_value(rng: Random, tree: Any) -> None:
    place = _place(rng, tree)
    if place:
        place[0][place[1]] = rng.choice(_VALUES)


def _exchange(rng: Random, tree: Any) -> None:
    first, second = _place(rng, tree), _place(rng, tree)
    if first and second:
        first[0][first[1]] = copy.deepcopy(second[0][second[1]])


def _size(rng: Random, tree: Any) -> None:
    place = _place(rng, tree, lambda key, value: isinstance(value, int) and not isinstance(value, bool))
    if place:
        place[0][place[1]] = rng.choice(_SIZES)


def _reference(rng: Random, tree: Any) -> None:
    """The name of a class, module or function replaced by that of another."""
    place = _place(rng, tree, lambda key, value: key in _REFERENCES)
    if place:
        place[0][place[1]] = rng.choice(_REFERENCES[place[1]])


def _payload(rng: Random, tree: Any) -> None:
    """A value that some deserializer runs, imports or fetches, in the place of any."""
    place = _place(rng, tree, lambda key, value: key not in ("class_name", "name"))
    if place:
        place[0][place[1]] = copy.deepcopy(rng.choice(_PAYLOADS))


def _layer(rng: Random, tree: Any) -> None:
    """A layer that some deserializer runs code for, in the place of any."""
    layers = _place(rng, tree, lambda key, value: key == "layers" and isinstance(value, list) and len(value) > 0)
    if layers is None:
        return
    items = layers[0][layers[1]]
    at = rng.randrange(len(items))
    old = items[at] if isinstance(items[at], dict) else {}
    new = copy.deepcopy(rng.choice(_LAYERS))
    new["config"]["name"] = old.get("config", {}).get("name", "x") if isinstance(old.get("config"), dict) else "x"
    items[at] = old | new


def _connect(rng: Random, tree: Any) -> None:
    """Layers that read themselves, layers after them, or none that there are."""
    place = _place(rng, tree, lambda key, value: key in _CONNECTIONS and isinstance(value, (list, dict)))
    names = [node[key] for node, key in _places(tree) if key == "name" and isinstance(node[key], str)]
    target = _place(rng, place[0][place[1]], lambda key, value: isinstance(value, str)) if place else None
    if target:
        target[0][target[1]] = rng.choice([*names, "nothing"])


def _deepen(rng: Random, tree: Any) -> None:
    place = _place(rng, tree)
    if place:
        value = place[0][place[1]]
        for _ in range(rng.choice((1, 3, 150))):
            value = {"class_name": "Sequential", "config": {"layers": [value]}} if rng.random() < 0.5 else [value]
        place[0][place[1]] = value


_PAYLOADS: tuple[Any, ...] = (
    {"class_name": "__lambda__", "config": {"value": _LAMBDA[0], "defaults": None, "closure": None}},
    {"class_name": "function", "config": "system", "module": "os", "registered_name": "system"},
    {"class_name": "function", "config": "exec", "module": "builtins", "registered_name": None},
    {"class_name": "Popen", "config": {"args": ["touch", CANARY]}, "module": "subprocess", "registered_name": None},
    {"class_name": "TFSMLayer", "config": {"filepath": "../outside", "name": "t"}, "module": "keras.layers",
     "registered_name": None},
    {"class_name": "antigravity", "config": {}, "module": "antigravity", "registered_name": None},
    {"class_name": "__numpy__", "config": {"value": [1, 2], "dtype": "object"}},
    {"class_name": "__tensor__", "config": {"value": [[1]] * 99, "dtype": "float32"}},
    {"class_name": "__class__", "config": {"module": "subprocess", "name": "Popen"}},
    {"class_name": "Identity", "config": {"gain": 1}, "module": "keras.initializers", "registered_name": None},
    {"class_name": "Dense", "config": {"units": 1 << 34, "name": "d"}, "module": "keras.layers"},
    {"class_name": "Dense", "config": {"units": 1 << 17, "name": "d"}},
    {"class_name": "ResidualWrapper", "config": {"cell": {"class_name": "LSTMCell", "config": {"units": 2}},
     "residual_fn": _LAMBDA, "residual_fn_type": "lambda", "residual_fn_module": "os"}},
    _LAMBDA, "io.write_file", {"class_name": "bytes", "config": {"value": "\ud800"}}, CANARY,
)  # fmt: skip
_LAYERS: tuple[dict[str, Any], ...] = (
    {"class_name": "Lambda", "config": {"function": _LAMBDA, "function_type": "lambda", "module": "os"}},
    {"class_name": "Lambda", "config": {"function": "system", "function_type": "function", "module": "os"}},
    {"class_name": "RNN", "config": {"cell": _PAYLOADS[12]}},
    {"class_name": "RNN", "config": {"cell": {"class_name": "DropoutWrapper", "config": {
        "cell": {"class_name": "GRUCell", "config": {"units": 2}}, "dropout_fn": _LAMBDA,
        "dropout_fn_type": "lambda", "dropout_fn_module": "os"}}}},
    {"class_name": "TFOpLambda", "config": {"function": "io.write_file"},
     "inbound_nodes": [["_CONSTANT_VALUE", -1, "../outside/written", {"contents": CANARY}]]},
    {"class_name": "SlicingOpLambda", "config": {"function": "io.write_file"},
     "inbound_nodes": [["_CONSTANT_VALUE", -1, "../outside/written", {"contents": CANARY}]]},
    {"class_name": "SlicingOpLambda", "config": {"function": "io.gfile.copy"},
     "inbound_nodes": [["_CONSTANT_VALUE", -1, "../outside/secret", {"dst": "../outside/copied", "overwrite": True}]]},
    {"class_name": "ClassMethod", "config": {"cls_symbol": "io.write_file", "method_name": "__call__"},
     "inbound_nodes": [["_CONSTANT_VALUE", -1, "../outside/written", {"contents": CANARY}]]},
    {"class_name": "TensorFlowOpLayer", "config": {"node_def": {"name": "r", "op": "ReadFile", "input": ["x"]},
     "constants": {"0": "../outside/secret"}}},
    {"class_name": "TFSMLayer", "config": {"filepath": "../outside"}, "module": "keras.layers"},
    {"class_name": "StringLookup", "config": {"vocabulary": "../outside/secret"}, "module": "keras.layers"},
    {"class_name": "TextVectorization", "config": {"vocabulary": "../outside/secret"}, "module": "keras.layers"},
    {"class_name": "Dense", "config": {"units": 1 << 33}, "module": "keras.layers"},
    {"class_name": "Embedding", "config": {"input_dim": 1 << 28, "output_dim": 1 << 10}, "module": "keras.layers"},
    {"class_name": "ZeroPadding2D", "config": {"padding": 1 << 20}, "module": "keras.layers"},
    {"class_name": "Activation", "config": {"activation": "os.system"}, "module": "keras.layers"},
    {"class_name": "Bidirectional", "config": {"layer": {"class_name": "Lambda", "config": {"function": _LAMBDA,
     "function_type": "lambda"}}}, "module": "keras.layers"},
)  # fmt: skip
_TEXTS = (
    "same", "valid", "causal", "full", "channels_first", "channels_last", "relu", "softmax", "linear", "tanh", "gelu",
    "float16", "float64", "int32", "bfloat16", "mixed_float16", "string", "bool", "concat", "sum", "ave", "mul",
    "nearest", "bilinear", "bicubic", "lanczos5", "int", "one_hot", "multi_hot", "count", "tf_idf", "constant",
    "reflect", "wrap", "ab,bc->ac", "...ab,bc->...ac", "->", "a,b", "aa->a", "zeros", "ones", "axis", "", "x", "\0",
    "é", "%s", "0", "\ud800",
)  # fmt: skip
_NUMBERS = (
    0, 1, 2, 3, 4, 5, 7, -1, -2, -3, 9, 100, 1 << 15, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, 1 << 63,
    10**30, -(1 << 31), 0.5, 1.0, -0.5, 0.0, 1e-30, 1e30, 1e308, float("nan"), float("inf"), -float("inf"),
)  # fmt: skip


def _setting(rng: Random, tree: Any) -> None:
    """A setting of a layer, or a size of its input, by another one of its kind or of another."""
    configs = [value for node, key in _places(tree) if key == "config" and isinstance(value := node[key], dict)]
    places = [(config, key) for config in configs for key in config if key not in ("layers", "name")]
    if not places:
        return
    node, key = rng.choice(places)
    while isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.7:
        node = node[key]
        key = rng.choice(sorted(node) if isinstance(node, dict) else range(len(node)))
    node[key] = _other(rng, node[key])


def _other(rng: Random, value: Any) -> Any:
    if isinstance(value, bool) and rng.random() < 0.8:
        return not value
    if isinstance(value, (int, float)) and rng.random() < 0.8:
        return rng.choice((*_NUMBERS, value + 1, value - 1, value * 2, [value], [value] * 2, [value] * 3))
    if isinstance(value, str) and rng.random() < 0.8:
        return rng.choice((*_TEXTS, value.upper(), value + "x", [value]))
    if isinstance(value, list) and rng.random() < 0.8:
        return rng.choice((value[:-1], value[1:], value[::-1], value + value[:1], value * 2, value * 40, [value], [],
                           None, (value or [1])[0], [_other(rng, item) for item in value]))  # fmt: skip
    return rng.choice((None, True, False, *_NUMBERS, *_TEXTS, [], {}, [1], [1, 1], [0, 0], [[1, 1], [2, 2]], [None],
                       [-1], *_VALUES))  # fmt: skip


def _whole(rng: Random, tree: Any) -> None:
    """A functional model of an input and a layer that some deserializer runs code for."""
    first = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "dtype": "float32", "name": "i"}}
    last = copy.deepcopy(rng.choice(_LAYERS))
    last["config"] |= {"name": "x", "dtype": "float32"}
    layers = [first | {"name": "i", "inbound_nodes": []}, {"name": "x", "inbound_nodes": [[["i", 0, 0, {}]]]} | last]
    ends = {"input_layers": [["i", 0, 0]], "output_layers": [["x", 0, 0]]}
    tree.clear()
    tree.update({"class_name": "Functional", "config": {"name": "m", "layers": layers} | ends})


_WAYS: tuple[Callable[[Random, Any], None], ...] = (
    _drop, _double, _other_value, _other_value, _exchange, _size, _size, _reference, _reference, _reference, _payload,
    _layer, _layer, _whole, _whole, _connect, _deepen,
)  # fmt: skip
