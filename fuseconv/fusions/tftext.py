"""TF.Text's tokenizer, n-grams and projection -> the custom ops of their names.

The contracts are those of tftext_utils.cc of TFLiteConverter, after the API of tensorflow_text and, for the projection,
sequence_projection/sgnn of the TensorFlow models. Ragged tensors are a vector of values and vectors of row splits.
"""

from __future__ import annotations

from collections.abc import Callable

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

TOKENIZER, NGRAMS, PROJECTION = "tftext:WhitespaceTokenizer", "tftext:Ngrams", "tftext:custom:SgnnProjection"
_TOKENIZER_RANKS = 3


def check_tokenizer(m: Match) -> None:
    m.require(m.text.dtype is types.STRING, f"the text is {m.text.dtype}, not strings")
    m.require(m.text.rank is not None and m.text.rank < _TOKENIZER_RANKS, "the text is not known to be of rank 0 to 2")
    splits = len(m.results) - 1
    m.require(splits == m.text.rank, f"a text of rank {m.text.rank} has as many vectors of splits, not {splits}")
    _require_ragged(m, list(m.results.values()), "result")


def check_ngrams(m: Match) -> None:
    m.require(len(m.results) == 1 + len(m.splits), "there must be as many results as operands")
    m.require(m.values.dtype is types.STRING, f"the values are {m.values.dtype}, not strings")
    if m.splits:
        _require_ragged(m, [m.values, *m.splits], "operand")
        _require_ragged(m, list(m.results.values()), "result")


def check_projection(m: Match) -> None:
    m.require(m.values.dtype is types.STRING, f"the values are {m.values.dtype}, not strings")
    m.require(m.splits.dtype.is_integer, f"the splits are {m.splits.dtype}, no whole numbers")
    seeds = m.attrs["hash_seed"]
    m.require(m.result.dtype is types.FLOAT32 and m.result.rank == 2, "the result is not known to be a float32 matrix")
    columns = m.result.shape[1]  # type: ignore[index]
    m.require(columns == len(seeds), f"the result has {columns} columns for {len(seeds)} seeds")


def _require_ragged(m: Match, values: list[Value], what: str) -> None:
    for index, value in enumerate(values):
        dtype = types.STRING if index == 0 else types.INT64
        m.require(value.rank == 1 and value.dtype is dtype, f"{what} {index} is not known to be a vector of {dtype}")


def _custom(name: str) -> Callable[[Builder, Match], list[Value]]:
    def rewrite(tfl: Builder, m: Match) -> list[Value]:
        operands = [v for operand in m.operands.values() for v in (operand if isinstance(operand, list) else [operand])]
        return tfl.custom(name, operands, [(r.dtype, r.shape) for r in m.results.values()], m.attrs or b"")

    return rewrite


_NGRAM_ATTRS = {"width": int, "string_separator": str, "axis": int, "reduction_type": str}
_PROJECTION_ATTRS = {"hash_seed": [int], "buckets": int}
FUSIONS = [
    Fusion(
        "tftext_whitespace_tokenizer", TOKENIZER, composite(TOKENIZER, "text -> tokens splits*"),
        _custom(TOKENIZER), check_tokenizer,
    ),
    Fusion(
        "tftext_ngrams", NGRAMS, composite(NGRAMS, "values splits* -> values splits*", _NGRAM_ATTRS),
        _custom(NGRAMS), check_ngrams,
    ),
    Fusion(
        "tftext_sgnn_projection", PROJECTION, composite(PROJECTION, "values splits -> projection", _PROJECTION_ATTRS),
        _custom(PROJECTION), check_projection,
    ),
]  # fmt: skip
