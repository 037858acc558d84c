"""Layers around layers: in both directions of time, and on each step of it."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call, Object
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.layers.recurrent import RECURRENT
from fuseconv.load.keras.model import MODELS, class_of, config_of, flat
from fuseconv.load.keras.registry import ANY, LAYERS, OWN, builtin


@builtin("Bidirectional", masks=OWN, half=True)
def bidirectional(
    k: Call, x: Value, initial_state: Any = None, *, layer: dict, merge_mode: str | None = "concat",
    backward_layer: dict | None = None,
) -> Any:  # fmt: skip
    """Run a layer forwards and another backwards, and merge what they return, turned about again if it is sequences.
    Initial states: the first half for the one, the second for the other. Returns the states of both behind the
    result."""
    kind, config = class_of(layer), _with_zeros(k, class_of(layer), config_of(layer))
    forward = k.inner(("forward_layer", "layer"), kind, config)
    if backward_layer is None:
        turned = config | {"go_backwards": not config.get("go_backwards", False)}
        backward = k.inner("backward_layer", kind, turned)
    else:
        other = class_of(backward_layer)
        backward = k.inner("backward_layer", other, _with_zeros(k, other, config_of(backward_layer)))
    if not {kind, backward.class_name} <= RECURRENT or config.get("time_major"):
        k.refuse(f"its layer {kind} is not read as data")
    if k.model.keras3:
        k.of_own_type(forward)
        k.of_own_type(backward)
    if isinstance(x, list):  # as tf-keras hands over the input and the first states
        x, initial_state = x[0], x[1:] or initial_state
    given = [] if initial_state is None else list(flat(initial_state))
    if len(given) % 2:
        k.refuse("its initial states are not those of two layers")
    mask, heeded = k.given_mask(x), k.given_mask(x, alone=not given)
    options = {"mask": heeded} if heeded is not None else {}
    halves = given[: len(given) // 2], given[len(given) // 2 :]
    results = [made.call([x], options | ({"initial_state": half} if half else {}))
               for made, half in zip((forward, backward), halves)]  # fmt: skip
    states = [state for made in results if isinstance(made, list) for state in made[1:]]
    ahead, back = (made[0] if isinstance(made, list) else made for made in results)
    sequences = bool(config.get("return_sequences", False))
    if sequences:
        back = k.tf.ReverseV2(back, k.tf.ints([1]), dtype=back.dtype)
    merged = _merged(k, merge_mode, ahead, back)
    for each in merged:
        k.set_mask(each, mask if sequences else None)
    return [*merged, *states] if len(merged) + len(states) > 1 else merged[0]


def _with_zeros(k: Call, kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a layer of which all steps are returned, with zeros where a mask leaves them out, whatever
    the layer says. Convolutional ones of tf-keras do not heed that, and those of cuDNN know no masks."""
    if kind.startswith("CuDNN") or (kind.startswith("Conv") and not k.model.keras3):
        return config
    return config | {"zero_output_for_mask": bool(config.get("return_sequences", False))}


def _merged(k: Call, mode: str | None, a: Value, b: Value) -> list[Value]:
    tf = k.tf
    if mode is None:
        return [a, b]
    if mode == "concat":
        return [tf.ConcatV2(a, b, tf.ints(-1), dtype=a.dtype)]
    if mode == "mul":
        return [tf.Mul(a, b)]
    if mode not in ("sum", "ave"):
        k.refuse(f"merge_mode={mode!r}")
    return [tf.AddV2(a, b) if mode == "sum" else tf.RealDiv(tf.AddV2(a, b), number(k, a, 2))]


@builtin("TimeDistributed", masks=OWN, takes=ANY, half=True)
def time_distributed(k: Call, x: Value, *, layer: dict) -> Value:
    """Call a layer on all time steps at once, as parts of the batch."""
    shape, mask = k.shape(x), k.given_mask(x)
    if len(shape) < 3:
        k.refuse("its input has no features")
    inner = k.inner("layer", class_of(layer), config_of(layer))
    if k.model.keras3 and inner.class_name not in MODELS:
        k.of_own_type(inner)
    rest = [k.known(x, at) for at in range(2, len(shape))]
    variables = k.model.module.variables
    before = len(variables)
    made = _called_at_once(k, inner, k.tf.reshaped(x, [-1, *rest]))
    if len(variables) > before:
        k.refuse("its layer is stateful: each step goes on from the one before")
    if not isinstance(made, Value):
        k.refuse("its layer returns several tensors")
    if k.mask(made) is not None or (mask is not None and _sees_to_masks(layer)):
        k.refuse("its layer sees to masks itself")
    batch, time = (k.tf.dim(x, at) for at in range(2))
    result = k.tf.reshaped(made, [batch, time, *(k.known(made, at) for at in range(1, len(k.shape(made))))])
    k.set_mask(result, mask)
    return result


def _called_at_once(k: Call, inner: Object, steps: Value) -> Any:
    """Call a layer on the examples of all steps, as tf-keras does and Keras 3 does not, which may have to be told."""
    outer, k.model.at_once = k.model.at_once, k.model.keras3
    try:
        return inner.call([steps], {})
    finally:
        k.model.at_once = outer


def _sees_to_masks(data: dict[str, Any]) -> bool:
    """Return whether a layer, or one in a model, may compute otherwise where its input is masked."""
    kind = class_of(data)
    if kind in MODELS:
        return any(map(_sees_to_masks, config_of(data)["layers"]))
    known = LAYERS.get(kind)
    return kind != "InputLayer" and (known is None or known.masks == OWN)


@builtin("SpectralNormalization", masks=OWN, takes=ANY)
def spectral_normalization(k: Call, x: Value, *, layer: dict, power_iterations: int = 1) -> Any:
    """Call a layer, whose kernel is normalized in training only."""
    inner = k.inner("layer", class_of(layer), config_of(layer))
    made = inner.call([x], {})
    kernel = inner.weights.get("kernel", inner.weights.get("embeddings"))
    if kernel is None or k.given_mask(x) is not None or not isinstance(made, Value) or k.mask(made) is not None:
        k.refuse("its layer has no kernel, or sees to masks")
    if k.model.keras3:  # which saves the kernel here too, and casts what the layer returns
        k.share("kernel", kernel)
        made = made if made.dtype is x.dtype else k.tf.Cast(made, dtype=x.dtype)
    k.weight("vector_u" if k.model.keras3 else "sn_u", [1, k.known(kernel, -1)], trainable=False)
    return made
