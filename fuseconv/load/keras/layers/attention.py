"""Attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.registry import OWN, builtin


@builtin(
    "MultiHeadAttention", masks=OWN, use_gate=False, sliding_window=None, flash_attention=None,
    query_shape=None, key_shape=None, value_shape=None,
)  # fmt: skip
def multi_head_attention(
    k: Call, query: Value, value: Value, key: Value | None = None, *, num_heads: int, key_dim: int,
    value_dim: int | None = None, dropout: float = 0.0, use_bias: bool = True, output_shape: Any = None,
    attention_axes: list[int] | None = None,
) -> Value:  # fmt: skip
    key = value if key is None else key
    masked = [x for x in (query, value, key) if k.mask(x) is not None]
    causal = k.option("use_causal_mask", False)
    if attention_axes not in (None, [1]):
        k.refuse(f"attention_axes={attention_axes}")
    if masked or causal or k.option("return_attention_scores", False) or output_shape:
        k.refuse("masks, scores or an output_shape")
    for x in (query, value, key):
        k.shape(x, 3)
    tf, sizes = k.tf, {"query": key_dim, "key": key_dim, "value": value_dim or key_dim}
    q, s, v = (
        _projected(k, x, name, "abc,cde->abde", [None, num_heads, sizes[name]], "de" if use_bias else None)
        for x, name in ((query, "query"), (key, "key"), (value, "value"))
    )
    scores = tf.Mul(tf.Einsum(q, s, equation="BTNH,BSNH->BNTS"), number(k, q, key_dim**-0.5))
    made = tf.Einsum(tf.Softmax(scores), v, equation="BNTS,BSNH->BTNH")
    return _projected(k, made, "output", "abcd,cde->abe", [None, k.known(query, -1)], "e" if use_bias else None)


def _projected(k: Call, x: Value, name: str, equation: str, shape: list[int | None], bias_axes: str | None) -> Value:
    """Call one of the dense layers that the layer is made of."""
    config = {"name": "attention_output" if name == "output" else name, "equation": equation, "output_shape": shape,
              "bias_axes": bias_axes, "trainable": k.owner.config.get("trainable", True)}  # fmt: skip
    return k.inner((f"{name}_dense", f"_{name}_dense"), "EinsumDense", config).call([x], {})  # type: ignore[no-any-return]


def _attended(k: Call, inputs: Any, scores: Callable[[Value, Value], Value]) -> Value:
    """Return the values [batch, time, size] that keys like a query stand for, by softmax of their scores."""
    if not isinstance(inputs, list) or len(inputs) not in (2, 3):
        k.refuse("it is called on other than two or three tensors")
    masked = any(k.mask(x) is not None for x in inputs) or k.option("mask") is not None
    if masked or k.option("use_causal_mask", False) or k.option("return_attention_scores", False):
        k.refuse("masks or scores")
    for x in inputs:
        k.shape(x, 3)
    query, value, key = inputs[0], inputs[1], inputs[-1]
    weights = k.tf.Softmax(scores(query, value if len(inputs) == 2 else key))
    return k.tf.BatchMatMulV2(weights, value)


@builtin("Attention", masks=OWN, score_mode="dot")
def attention(k: Call, inputs: Any, *, use_scale: bool = False, dropout: float = 0.0) -> Value:
    def scores(query: Value, key: Value) -> Value:
        made = k.tf.BatchMatMulV2(query, key, adj_y=True)
        return k.tf.Mul(made, k.weight("scale", [])) if use_scale else made

    return _attended(k, inputs, scores)


@builtin("AdditiveAttention", masks=OWN)
def additive_attention(k: Call, inputs: Any, *, use_scale: bool = True, dropout: float = 0.0) -> Value:
    def scores(query: Value, key: Value) -> Value:
        made = k.tf.Tanh(k.tf.AddV2(k.tf.ExpandDims(query, -2), k.tf.ExpandDims(key, -3)))
        if use_scale:
            made = k.tf.Mul(k.weight("scale", [k.known(query, -1)]), made)
        return k.tf.Sum(made, k.tf.ints([3]))

    return _attended(k, inputs, scores)
