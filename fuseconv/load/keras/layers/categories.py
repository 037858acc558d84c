"""Layers that turn words and numbers into categories, and categories into vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Table, Value
from fuseconv.ir.types import DType
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.tensors import cast
from fuseconv.load.keras.registry import ANY, builtin

_NO_CATEGORY = np.iinfo(np.int64).max
_HASHES: dict[str, Any] = {"salt": None, "oov_method": "floormod", "idf_weights": None, "sparse": False}


def _found(k: Call, x: Value, keys: np.ndarray, values: np.ndarray, dtype: DType, default: Value) -> Value:
    """Look values up in a table of the model's."""
    tf, name = k.tf, k.tf.unique(f"{k.tf.scope}/table")
    k.model.module.tables[name] = Table(name, x.dtype, dtype, keys, values)
    attrs = {"shared_name": name, "key_dtype": x.dtype, "value_dtype": dtype}
    handle = tf.add("HashTableV2", [], attrs, types.RESOURCE, ())
    return tf.add("LookupTableFindV2", [handle, x, default], {}, dtype, x.shape)


def _encoded(k: Call, ids: Value, mode: str, depth: int, dtype: DType) -> Value:
    """Return categories [batch, n] as vectors of a size; those that are out of range are left out."""
    shape = k.shape(ids)
    if mode == "one_hot":
        if len(shape) > 1 and shape[-1] == 1:
            ids = k.tf.Squeeze(ids, squeeze_dims=[len(shape) - 1])
        elif len(shape) > 1 and not k.model.keras3:
            k.refuse("tf-keras encodes tensors of two dimensions at most")
        return _one_hot(k, ids, depth, dtype)
    if mode not in ("multi_hot", "binary", "count") or len(shape) != 2:
        k.refuse(f"output_mode={mode!r} of {len(shape)} dimensions")
    reduce = k.tf.Sum if mode == "count" else k.tf.Max
    return reduce(_one_hot(k, ids, depth, dtype), k.tf.ints([1]))


def _one_hot(k: Call, ids: Value, depth: int, dtype: DType) -> Value:
    if not 0 < depth < 1 << 31:
        k.refuse(f"it has {depth} categories")
    made = k.tf.OneHot(ids, k.tf.ints(depth), k.tf.number(1, types.FLOAT32), k.tf.number(0, types.FLOAT32),
                       dtype=types.FLOAT32)  # fmt: skip
    return cast(k, made, dtype)


@builtin("CategoryEncoding", takes=ANY, sparse=False)
def category_encoding(k: Call, x: Value, *, num_tokens: int, output_mode: str = "multi_hot") -> Value:
    if x.dtype not in (types.INT32, types.INT64) or not k.dtype.is_float:
        k.refuse(f"it is called on {x.dtype}")
    weights = k.option("count_weights")
    if weights is None:
        return _encoded(k, x, output_mode, num_tokens, k.dtype)
    if output_mode != "count" or not isinstance(weights, Value) or weights.dtype is not k.dtype or len(k.shape(x)) != 2:
        k.refuse("it is called with count_weights")
    counted = k.tf.Mul(_one_hot(k, x, num_tokens, k.dtype), k.tf.ExpandDims(weights, -1))
    return k.tf.Sum(counted, k.tf.ints([1]))


@builtin("Discretization", takes=ANY, sparse=False)
def discretization(
    k: Call, x: Value, *, bin_boundaries: list[float], num_bins: Any = None, epsilon: Any = None,
    output_mode: str = "int",
) -> Value:  # fmt: skip
    x = cast(k, x, types.FLOAT32)
    bins = k.tf.Bucketize(x, boundaries=[float(edge) for edge in bin_boundaries], dtype=types.INT32)
    if output_mode == "int":
        return bins if k.model.keras3 else k.tf.Cast(bins, dtype=types.INT64)
    return _encoded(k, bins, output_mode, len(bin_boundaries) + 1, k.dtype)


@dataclass(frozen=True)
class _Tokens:
    """The vocabulary of a layer, with or without the special tokens in front of it, and those.

    spare: how many numbers there are for what is not in the vocabulary."""

    listed: np.ndarray
    mask: Any
    unknown: Any
    spare: int
    dtype: DType

    def without_specials(self, first: int) -> np.ndarray:
        """Return the tokens that have numbers of their own; `first` is the number of the first of unknown ones."""
        special = [self.mask] * first + [self.unknown] * self.spare
        return self.listed[len(special) :] if list(self.listed[: len(special)]) == special else self.listed


def _looked_up(k: Call, x: Value, tokens: _Tokens, invert: bool, mode: str, depth: int | None) -> Value:
    """Return the numbers of tokens, or the tokens of numbers, as Keras' IndexLookup does."""
    first = int(tokens.mask is not None and mode == "int")
    own = tokens.without_specials(first)
    start = first + tokens.spare
    numbers = np.arange(start, start + len(own), dtype=np.int64)
    if tokens.spare < 0 or (tokens.spare == 0 and not invert) or len(set(own)) < len(own):
        k.refuse("it refuses unknown tokens as it runs, or lists a token twice")
    if invert:
        if mode != "int":
            k.refuse(f"invert=True, output_mode={mode!r}")
        if tokens.mask is not None:
            numbers, own = np.append(numbers, 0), np.append(own, tokens.mask)
        unknown = k.tf.array(tokens.unknown, tokens.dtype)
        return _found(k, cast(k, x, types.INT64), numbers, own, tokens.dtype, unknown)
    x = cast(k, x, tokens.dtype)
    found = _found(k, x, own, numbers, types.INT64, k.tf.number(first if tokens.spare == 1 else -1, types.INT64))
    if tokens.mask is not None:
        ignored = k.tf.number(0 if mode == "int" else _NO_CATEGORY, types.INT64)
        masked = k.tf.Equal(x, k.tf.array(tokens.mask, tokens.dtype), dtype=types.BOOL)
        found = k.tf.SelectV2(masked, ignored, found, dtype=types.INT64)
    if tokens.spare > 1:
        rest = k.tf.AddV2(k.tf.FloorMod(x, k.tf.number(tokens.spare, types.INT64)), k.tf.number(first, types.INT64))
        absent = k.tf.Equal(found, k.tf.number(-1, types.INT64), dtype=types.BOOL)
        found = k.tf.SelectV2(absent, rest, found, dtype=types.INT64)
    if mode == "int":
        return found
    size = start + len(own) if depth is None else depth
    return _encoded(k, found, mode, size, types.INT64 if k.model.keras3 else types.FLOAT32)


def _vocabulary_file(k: Call) -> list[str]:
    """Return the tokens that a layer has found in data, special ones in front, as Keras 3 writes them: a line each."""
    tokens = k.lines("vocabulary.txt")
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


@builtin("IntegerLookup", takes=ANY, vocabulary_dtype="int64", **_HASHES)
def integer_lookup(
    k: Call, x: Value, *, vocabulary: list[int] | None, max_tokens: int | None = None, num_oov_indices: int = 1,
    mask_token: int | None = None, oov_token: int = -1, invert: bool = False, output_mode: str = "int",
    pad_to_max_tokens: bool = False, vocabulary_size: Any = None,
) -> Value:  # fmt: skip
    if not x.dtype.is_integer:
        k.refuse(f"it is called on {x.dtype}")
    numbers = list(map(int, _vocabulary_file(k))) if vocabulary is None else vocabulary
    tokens = _Tokens(np.array(numbers, np.int64), mask_token, oov_token, num_oov_indices, types.INT64)
    depth = max_tokens if pad_to_max_tokens else None
    return _looked_up(k, x, tokens, invert, output_mode, depth)


@builtin("StringLookup", takes=ANY, encoding="utf-8", **_HASHES)
def string_lookup(
    k: Call, x: Value, *, vocabulary: list[str] | None, max_tokens: int | None = None, num_oov_indices: int = 1,
    mask_token: str | None = None, oov_token: str = "[UNK]", invert: bool = False, output_mode: str = "int",
    pad_to_max_tokens: bool = False, vocabulary_size: Any = None,
) -> Value:  # fmt: skip
    """Look words up in a vocabulary: "cat" -> 3; inverted, 3 -> "cat". Without `vocabulary`, it stands in a file beside
    the config. Refuses hashes of unknown words."""
    if (x.dtype is not types.STRING and not invert) or (invert and not x.dtype.is_integer):
        k.refuse(f"it is called on {x.dtype}")
    if num_oov_indices > 1 and not invert:
        k.refuse(f"num_oov_indices={num_oov_indices}, for which it computes hashes of words")
    words = np.array([word.encode() for word in vocabulary or _vocabulary_file(k)], object)
    mask = None if mask_token is None else mask_token.encode()
    tokens = _Tokens(words, mask, oov_token.encode(), num_oov_indices, types.STRING)
    depth = max_tokens if pad_to_max_tokens else None
    return _looked_up(k, x, tokens, invert, output_mode, depth)
