"""Attention, and the masks of what may attend to what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import MASKED, masked_softmax, number
from fuseconv.load.keras.registry import OWN, builtin

# What Keras 3 puts in the place of masked scores, where its attention is one operation.
_LOWEST = -0.7 * 3.38953e38


def _all_of(k: Call, *masks: Value | None) -> Value | None:
    """Return where all masks are true; None if there are none."""
    made: Value | None = None
    for mask in masks:
        if mask is not None:
            made = mask if made is None else k.tf.LogicalAnd(made, mask, dtype=types.BOOL)
    return made


def _wide(k: Call, mask: Value | None, axis: int) -> Value | None:
    return None if mask is None else k.tf.ExpandDims(mask, axis)


def _causal(k: Call, query: Value, value: Value) -> Value:
    """Return a mask [1, T, S] of the steps of `value` that are no later than those of `query`."""
    tf = k.tf
    rows, columns = (tf.Range(tf.ints(0), tf.dim(x, 1), tf.ints(1)) for x in (query, value))
    return tf.GreaterEqual(tf.reshaped(rows, [1, -1, 1]), tf.reshaped(columns, [1, 1, -1]), dtype=types.BOOL)


def _masks(k: Call, query: Value, value: Value, key: Value | None) -> list[Value | None]:
    """Return the masks of query, value and key. Keras 3 takes them from the tensors, and heeds others that it is called
    with."""
    if not k.model.keras3:
        return [k.mask(x) for x in (query, value, value if key is None else key)]
    tensors = [query, value] if key is None else [query, value, key]
    masks = k.only_masks(*tensors)
    for at, name in enumerate(("value_mask", "key_mask"), 1):
        given = k.option(name)
        if given is not None and (not isinstance(given, Value) or at >= len(masks)):
            k.refuse(f"it is called with {name}")
        masks[at : at + 1] = [given] if given is not None else masks[at : at + 1]
    return masks


def _attention_mask(k: Call, query: Value, value: Value, key: Value | None) -> tuple[Value | None, Value | None]:
    """Return where a step of the query [T] may attend to one of the value [S], of a rank that spreads to [B, T, S], and
    the mask of the query."""
    given = k.option("attention_mask")
    if given is not None:
        if not isinstance(given, Value) or given.dtype is not types.BOOL:
            k.refuse("its attention_mask is no tensor of booleans")
        k.shape(given, 3)
    first, *others = _masks(k, query, value, key)
    causal = _causal(k, query, value) if k.option("use_causal_mask", False) else None
    return _all_of(k, _wide(k, first, 2), *(_wide(k, mask, 1) for mask in others), causal, given), first


@builtin(
    "MultiHeadAttention", masks=OWN, use_gate=False, sliding_window=None, flash_attention=None,
    softmax_robust_masking=False, unread=("query_shape", "key_shape", "value_shape"),
)  # fmt: skip
def multi_head_attention(
    k: Call, query: Value, value: Value, key: Value | None = None, *, num_heads: int, key_dim: int,
    value_dim: int | None = None, dropout: float = 0.0, use_bias: bool = True,
    output_shape: int | list[int] | None = None, attention_axes: list[int] | None = None,
) -> Any:  # fmt: skip
    mask, first = _attention_mask(k, query, value, key)
    shown = bool(k.option("return_attention_scores", False))
    key = value if key is None else key
    wide = [output_shape] if isinstance(output_shape, int) else output_shape or [k.known(query, -1)]
    if attention_axes not in (None, [1]) or len(wide) != 1:
        k.refuse(f"attention_axes={attention_axes}, output_shape={output_shape}")
    for x in (query, value, key):
        k.shape(x, 3)
    tf, sizes = k.tf, {"query": key_dim, "key": key_dim, "value": value_dim or key_dim}
    q, s, v = (
        _projected(k, x, name, "abc,cde->abde", [None, num_heads, sizes[name]], "de" if use_bias else None)
        for x, name in ((query, "query"), (key, "key"), (value, "value"))
    )
    scores = tf.Mul(tf.Einsum(q, s, equation="BTNH,BSNH->BNTS"), number(k, q, key_dim**-0.5))
    weights = _masked_softmax(k, scores, _wide(k, mask, 1), shown or dropout > 0)
    made = tf.Einsum(weights, v, equation="BNTS,BSNH->BTNH")
    made = _projected(k, made, "output", "abcd,cde->abe", [None, *wide], "e" if use_bias else None)
    if k.model.keras3:
        k.take_masks(query, value, key)
    k.set_mask(made, first)
    return [made, weights] if shown else made


def _masked_softmax(k: Call, scores: Value, mask: Value | None, by_layer: bool) -> Value:
    """Return the softmax of scores where a mask is true. by_layer: whether Keras 3 does so by its layer Softmax,
    which leaves zeros where nothing is true, or at once with the attention."""
    if mask is None:
        return k.tf.Softmax(scores)
    if by_layer or not k.model.keras3:
        return masked_softmax(k, scores, mask, lambda x: k.tf.Softmax(x))
    return k.tf.Softmax(k.tf.SelectV2(mask, scores, number(k, scores, _LOWEST), dtype=scores.dtype))


def _projected(k: Call, x: Value, name: str, equation: str, shape: list[int | None], bias_axes: str | None) -> Value:
    """Call one of the dense layers that the layer is made of."""
    config = {"name": "attention_output" if name == "output" else name, "equation": equation, "output_shape": shape,
              "bias_axes": bias_axes, "trainable": k.owner.config.get("trainable", True)}  # fmt: skip
    return k.inner((f"{name}_dense", f"_{name}_dense"), "EinsumDense", config).call([x], {})  # type: ignore[no-any-return]


def _attended(k: Call, inputs: Any, causal: bool, scores: Callable[[Value, Value], Value]) -> Any:
    """Return the values [batch, time, size] that keys like a query stand for, by softmax of their scores."""
    if not isinstance(inputs, list) or len(inputs) not in (2, 3):
        k.refuse("it is called on other than two or three tensors")
    for x in inputs:
        k.shape(x, 3)
    query, value, key = inputs[0], inputs[1], inputs[2] if len(inputs) > 2 else inputs[1]
    given = k.option("mask") or [k.mask(x) for x in inputs]
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(mask, Value | None) for mask in given):
        k.refuse("it is called with masks of another structure")
    causal = causal or bool(k.option("use_causal_mask", False))
    tf, shown = k.tf, k.option("return_attention_scores", False)
    made = scores(query, key)
    mask = _all_of(k, _wide(k, given[1], 1), _causal(k, query, key) if causal else None)
    if mask is not None:
        made = tf.SelectV2(mask, made, tf.AddV2(made, number(k, made, MASKED)), dtype=made.dtype)
    weights = tf.Softmax(made)
    made = tf.BatchMatMulV2(weights, value)
    if given[0] is not None:
        made = tf.SelectV2(_wide(k, given[0], 2), made, number(k, made, 0), dtype=made.dtype)
        k.set_mask(made, given[0])
    return [made, weights] if shown else made


@builtin("Attention", masks=OWN, score_mode="dot")
def attention(k: Call, inputs: Any, *, use_scale: bool = False, dropout: float = 0.0, causal: bool = False) -> Any:
    def scores(query: Value, key: Value) -> Value:
        made = k.tf.BatchMatMulV2(query, key, adj_y=True)
        return k.tf.Mul(made, k.weight("scale", [])) if use_scale else made

    return _attended(k, inputs, causal, scores)


@builtin("AdditiveAttention", masks=OWN)
def additive_attention(
    k: Call, inputs: Any, *, use_scale: bool = True, dropout: float = 0.0, causal: bool = False
) -> Any:
    def scores(query: Value, key: Value) -> Value:
        made = k.tf.Tanh(k.tf.AddV2(k.tf.ExpandDims(query, -2), k.tf.ExpandDims(key, -3)))
        if use_scale:
            made = k.tf.Mul(k.weight("scale", [k.known(query, -1)]), made)
        return k.tf.Sum(made, k.tf.ints([3]))

    return _attended(k, inputs, causal, scores)
