"""Attention, and the masks of what may attend to what."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import MASKED, masked_softmax, number, softmax_along
from fuseconv.load.keras.layers.reshaping import repeated
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import OWN, builtin

# What Keras 3 puts in the place of masked scores, where its attention is one operation.
_LOWEST = -0.7 * 3.38953e38
_MOST_OF_HALF = 65504.0


def _all_of(k: Call, *masks: Value | None) -> Value | None:
    """Return where all masks are true; None if there are none."""
    made: Value | None = None
    for mask in masks:
        if mask is not None:
            made = mask if made is None else k.tf.LogicalAnd(made, mask, dtype=types.BOOL)
    return made


def _wide(k: Call, mask: Value | None, axis: int) -> Value | None:
    return None if mask is None else k.tf.ExpandDims(mask, axis)


def _steps(k: Call, query: Value, value: Value) -> tuple[Value, Value]:
    """Return the numbers of the steps of `query` [1, T, 1] and of `value` [1, 1, S]."""
    tf = k.tf
    rows, columns = (tf.Range(tf.ints(0), tf.dim(x, 1), tf.ints(1)) for x in (query, value))
    return tf.reshaped(rows, [1, -1, 1]), tf.reshaped(columns, [1, 1, -1])


def causal_mask(k: Call, query: Value, value: Value) -> Value:
    """Return a mask [1, T, S] of the steps of `value` that are no later than those of `query`."""
    return k.tf.GreaterEqual(*_steps(k, query, value), dtype=types.BOOL)


def _window(k: Call, query: Value, value: Value, size: int) -> Value:
    """Return a mask [1, T, S] of the steps of `value` that are less than `size` steps away from those of `query`."""
    away = k.tf.Abs(k.tf.Sub(*_steps(k, query, value)))
    return k.tf.Less(away, k.tf.ints(size), dtype=types.BOOL)


def _masks(k: Call, query: Value, value: Value, key: Value | None) -> list[Value | None]:
    """Return the masks of query, value and key. Keras 3 takes them from the tensors, and heeds others that it is called
    with."""
    if not k.model.keras3:
        return [k.mask(x) for x in (query, value, value if key is None else key)]
    tensors = [query, value] if key is None else [query, value, key]
    if k.owner.class_name == "MultiHeadAttention":
        k.option("query_mask")  # which it does not look at
        return _given_masks(k, [k.mask(x) for x in tensors], 1)
    return _given_masks(k, [k.mask(x) for x in tensors], 0)


def _given_masks(k: Call, masks: list[Value | None], first: int) -> list[Value | None]:
    """Return masks of query, value and key, from the first on those that the layer is called with instead."""
    for at, name in list(enumerate(("query_mask", "value_mask", "key_mask")))[first:]:
        given = k.option(name)
        if given is not None and (not isinstance(given, Value) or at >= len(masks)):
            k.refuse(f"it is called with {name}")
        masks[at : at + 1] = [given] if given is not None else masks[at : at + 1]
    return masks


def _attention_mask(
    k: Call, query: Value, value: Value, key: Value | None, window: int | None
) -> tuple[Value | None, Value | None]:
    """Return where a step of the query [T] may attend to one of the value [S], of a rank that spreads to
    [B, heads, T, S], and the mask of the query. window: how many steps away one may be; None for any."""
    given = _given_attention_mask(k, 4)
    first, *others = _masks(k, query, value, key)
    causal = causal_mask(k, query, value) if k.option("use_causal_mask", False) else None
    near = None if window is None else _window(k, query, value, window)
    each = _all_of(k, _wide(k, first, 2), *(_wide(k, mask, 1) for mask in others))
    if each is not None and given is not None and len(k.shape(given)) > 3:
        k.refuse("its attention_mask tells heads apart, and its inputs are masked")
    if given is not None and len(k.shape(given)) == 3:
        given = _wide(k, given, 1)
    return _all_of(k, _wide(k, _all_of(k, each, causal, near), 1), given), first


def _given_attention_mask(k: Call, most: int) -> Value | None:
    """Return the mask of scores that the layer is called with, of at most so many dimensions. Keras 3 takes numbers
    that are not 0 for true."""
    given = k.option("attention_mask")
    if given is None:
        return None
    if not isinstance(given, Value) or given.shape is None or not 2 <= len(given.shape) <= most:
        k.refuse("its attention_mask is no tensor of a rank that its scores have")
    if given.dtype is types.BOOL:
        return given
    if not k.model.keras3:
        k.refuse("its attention_mask is no tensor of booleans")
    return k.tf.NotEqual(given, k.tf.number(0, given.dtype), dtype=types.BOOL)


@builtin(
    "MultiHeadAttention", masks=OWN, half=True, flash_attention=None, softmax_robust_masking=False,
    unread=("query_shape", "key_shape", "value_shape"),
)  # fmt: skip
def multi_head_attention(
    k: Call, query: Value, value: Value, key: Value | None = None, *, num_heads: int, key_dim: int,
    value_dim: int | None = None, dropout: float = 0.0, use_bias: bool = True,
    output_shape: int | list[int] | None = None, attention_axes: list[int] | None = None, use_gate: bool = False,
    sliding_window: int | None = None,
) -> Any:  # fmt: skip
    """Attend as many heads, each with a query, key and value of its own: [batch, T, n] -> [batch, T, output_shape]. A
    query of more dimensions attends along `attention_axes`."""
    wide = [output_shape] if isinstance(output_shape, int) else output_shape or [k.known(query, -1)]
    if len(wide) != 1:
        k.refuse(f"output_shape={output_shape}")
    heads = _Heads(num_heads, num_heads, key_dim, value_dim or key_dim, wide[0], dropout, use_bias, use_gate)
    axes = _attention_axes(k, attention_axes, len(k.shape(query)))
    if len(k.shape(query)) == 3:
        made = _attend(k, query, value, key, heads, sliding_window)
    else:
        made = _attend_along(k, query, value, key, heads, axes, sliding_window)
    if k.model.keras3:
        k.drop_masks(query, value, value if key is None else key)
    return made


def _attention_axes(k: Call, axes: list[int] | None, rank: int) -> list[int]:
    """Return the dimensions along which tensors attend: all but the batch and the last if none are said."""
    if axes is None:
        return list(range(1, rank - 1))
    found = axes_of(k, axes, rank)
    if not 0 < found[0] <= found[-1] < rank - 1 or [axis % rank for axis in axes] != found:
        k.refuse(f"attention_axes={axes} of tensors of {rank} dimensions")
    if min(axes) < 0 and not k.model.keras3:
        k.refuse(f"attention_axes={axes}, which tf-keras counts from behind the heads")
    return found


@builtin("GroupQueryAttention", "GroupedQueryAttention", masks=OWN, half=True, flash_attention=None)
def group_query_attention(
    k: Call, query: Value, value: Value, key: Value | None = None, *, head_dim: int, num_query_heads: int,
    num_key_value_heads: int, dropout: float = 0.0, use_bias: bool = True, use_gate: bool = False,
    sliding_window: int | None = None,
) -> Any:  # fmt: skip
    if num_key_value_heads < 1 or num_query_heads % num_key_value_heads:
        k.refuse(f"{num_query_heads} heads of queries, {num_key_value_heads} of keys")
    width = k.known(query, -1)
    heads = _Heads(num_query_heads, num_key_value_heads, head_dim, head_dim, width, dropout, use_bias, use_gate)
    return _attend(k, query, value, key, heads, sliding_window)


@dataclass(frozen=True)
class _Heads:
    """How an attention of several heads is made: how many heads queries have, and keys and values, and their sizes."""

    queries: int
    keys: int
    key_size: int
    value_size: int
    width: int
    dropout: float
    use_bias: bool
    use_gate: bool


def _attend(k: Call, query: Value, value: Value, key: Value | None, heads: _Heads, window: int | None) -> Any:
    """Return what each step of a query [B, T, n] attends to of the steps of a value [B, S, m]."""
    mask, first = _attention_mask(k, query, value, key, window)
    shown = bool(k.option("return_attention_scores", False))
    key = value if key is None else key
    for x in (query, value, key):
        k.shape(x, 3)
    split, bias = "abc,cde->abde", "de" if heads.use_bias else None
    q = _projected(k, query, "query", split, [None, heads.queries, heads.key_size], bias)
    s = _projected(k, key, "key", split, [None, heads.keys, heads.key_size], bias)
    gated = [None, heads.queries, heads.value_size]
    gate = _projected(k, query, "gate", split, gated, bias, "sigmoid") if heads.use_gate else None
    v = _projected(k, value, "value", split, [None, heads.keys, heads.value_size], bias)
    tf, times = k.tf, heads.queries // heads.keys
    s, v = repeated(k, s, times, 2), repeated(k, v, times, 2)
    weights = softmax_of_scores(k, q, s, mask, shown or heads.dropout > 0)
    made = tf.Einsum(weights, v, equation="BNTS,BSNH->BTNH")
    made = made if gate is None else tf.Mul(made, gate)
    made = _projected(k, made, "output", "abcd,cde->abe", [None, heads.width], "e" if heads.use_bias else None)
    k.set_mask(made, first)
    return [made, weights] if shown else made


def _attend_along(
    k: Call, query: Value, value: Value, key: Value | None, heads: _Heads, axes: list[int], window: int | None
) -> Any:
    """Return what each place of a query attends to of the places of a value along some axes, in tensors of any rank."""
    rank, shown = len(k.shape(query)), bool(k.option("return_attention_scores", False))
    masks = [*_masks(k, query, value, key), window, k.option("use_causal_mask", None)]
    key = value if key is None else key
    if any(each is not None and each is not False for each in masks) or not axes or rank > 8:
        k.refuse("it attends along other axes than the steps, and its inputs are masked")
    for x in (value, key):
        k.shape(x, rank)
    letters, bias = string.ascii_lowercase[: rank - 1], "yz" if heads.use_bias else None
    free: list[int | None] = [None] * (rank - 2)
    split, size = f"{letters}x,xyz->{letters}yz", [heads.queries, heads.key_size]
    q = _projected(k, query, "query", split, [*free, *size], bias)
    s = _projected(k, key, "key", split, [*free, *size], bias)
    size = [heads.queries, heads.value_size]
    gate = _projected(k, query, "gate", split, [*free, *size], bias, "sigmoid") if heads.use_gate else None
    v = _projected(k, value, "value", split, [*free, *size], bias)
    source = "".join(letter.upper() if at in axes else letter for at, letter in enumerate(letters))
    rest = "".join(letter for at, letter in enumerate(letters) if at not in axes)
    seen = rest + "y" + "".join(letters[at] for at in axes) + "".join(source[at] for at in axes)
    tf = k.tf
    scores = tf.Einsum(s, tf.Mul(q, number(k, q, heads.key_size**-0.5)), equation=f"{source}yz,{letters}yz->{seen}")
    weights = _softmax_along_last(k, scores, len(axes))
    made = tf.Einsum(weights, v, equation=f"{seen},{source}yz->{letters}yz")
    made = made if gate is None else tf.Mul(made, gate)
    made = _projected(k, made, "output", f"{letters}yz,yzx->{letters}x", [*free, heads.width], bias and "x")
    return [made, weights] if shown else made


def _softmax_along_last(k: Call, scores: Value, count: int) -> Value:
    """Return the softmax of scores [B, ..., heads, T..., S...] along the S, so many dimensions, where the mask that the
    layer is called with is true. The mask has the first dimensions, and all T and S."""
    rank, mask = len(k.shape(scores)), _given_attention_mask(k, len(k.shape(scores)))
    last = list(range(rank - count, rank))
    if mask is None:
        return softmax_along(k, scores, last)
    ahead = len(k.shape(mask)) - 2 * count
    if ahead < 0:
        k.refuse("its attention_mask is no tensor of a rank that its scores have")
    for _ in range(rank - len(k.shape(mask))):
        mask = k.tf.ExpandDims(mask, ahead)
    return masked_softmax(k, scores, mask, lambda x: softmax_along(k, x, last))


def softmax_of_scores(k: Call, query: Value, key: Value, mask: Value | None, by_layer: bool) -> Value:
    """Return the softmax of the scores of a query [B, T, N, H] and a key [B, S, N, H] where a mask is true.

    by_layer: whether Keras 3 does so by its layer Softmax, which leaves zeros where nothing is true, or at once with
    the attention, in 32 bits."""
    tf, scale, equation = k.tf, k.known(query, 3) ** -0.5, "BTNH,BSNH->BNTS"
    if by_layer or not k.model.keras3:
        scores = tf.Einsum(tf.Mul(query, number(k, query, scale)), key, equation=equation)
        return tf.Softmax(scores) if mask is None else masked_softmax(k, scores, mask, lambda x: tf.Softmax(x))
    scores = k.single(tf.Einsum(query, key, equation=equation))
    scores = tf.Mul(scores, number(k, scores, scale))
    if mask is not None:
        scores = tf.SelectV2(mask, scores, number(k, scores, _LOWEST), dtype=scores.dtype)
    return k.computed(tf.Softmax(scores))


def _projected(
    k: Call, x: Value, name: str, equation: str, shape: list[int | None], bias_axes: str | None,
    activation: str | None = None,
) -> Value:  # fmt: skip
    """Call one of the dense layers that the layer is made of."""
    config = {"name": "attention_output" if name == "output" else name, "equation": equation, "output_shape": shape,
              "bias_axes": bias_axes, "activation": activation, "dtype": k.owner.config.get("dtype"),
              "trainable": k.owner.config.get("trainable", True)}  # fmt: skip
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
    mask = _all_of(k, _wide(k, given[1], 1), causal_mask(k, query, key) if causal else None)
    if mask is not None:
        low = number(k, made, -_MOST_OF_HALF if made.dtype is types.FLOAT16 else MASKED)
        made = tf.SelectV2(mask, made, tf.AddV2(made, low), dtype=made.dtype)
    weights = tf.Softmax(made)
    made = tf.BatchMatMulV2(weights, value)
    if given[0] is not None:
        made = tf.SelectV2(_wide(k, given[0], 2), made, number(k, made, 0), dtype=made.dtype)
        k.set_mask(made, given[0])
    return [made, weights] if shown else made


@builtin("Attention", masks=OWN, half=True)
def attention(
    k: Call, inputs: Any, *, use_scale: bool = False, score_mode: str = "dot", dropout: float = 0.0,
    causal: bool = False,
) -> Any:  # fmt: skip
    """Average the values by how well keys fit a query: softmax(query · key), or of concat, Σ tanh(query + key)."""

    def dot(query: Value, key: Value) -> Value:
        made = k.tf.BatchMatMulV2(query, key, adj_y=True)
        return k.tf.Mul(made, k.weight("scale", [])) if use_scale else made

    def concat(query: Value, key: Value) -> Value:
        made = _every_sum(k, query, key)
        made = k.tf.Tanh(k.tf.Mul(k.weight("scale", []), made) if use_scale else made)
        return k.tf.Mul(k.weight("concat_score_weight", []), k.tf.Sum(made, k.tf.ints([3])))

    if score_mode not in ("dot", "concat"):
        k.refuse(f"score_mode={score_mode!r}")
    return _attended(k, inputs, causal, dot if score_mode == "dot" else concat)


def _every_sum(k: Call, query: Value, key: Value) -> Value:
    """Return the sums [B, T, S, n] of each step of a query [B, T, n] and each of a key [B, S, n]."""
    return k.tf.AddV2(k.tf.ExpandDims(query, -2), k.tf.ExpandDims(key, -3))


@builtin("AdditiveAttention", masks=OWN, half=True)
def additive_attention(
    k: Call, inputs: Any, *, use_scale: bool = True, dropout: float = 0.0, causal: bool = False
) -> Any:
    def scores(query: Value, key: Value) -> Value:
        made = k.tf.Tanh(_every_sum(k, query, key))
        if use_scale:
            made = k.tf.Mul(k.weight("scale", [k.known(query, -1)]), made)
        return k.tf.Sum(made, k.tf.ints([3]))

    return _attended(k, inputs, causal, scores)
