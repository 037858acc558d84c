"""Layers that see steps: recurrent ones, attention, and those that wrap others."""

from __future__ import annotations

from typing import Any

from tests.load.keras.walk.case import Case, each

_X = (6, 4)


def _then_lstm(layers: Any, layer: Any) -> Any:
    return lambda x: layers.LSTM(3)(layer(x))


def _recurrent(**known: Any) -> list[Case]:
    settings: list[dict[str, Any]] = [
        {}, {"return_sequences": True, "go_backwards": True}, {"return_state": True}, {"use_bias": False},
        {"return_sequences": True, "return_state": True, "activation": "relu"}, {"unroll": True, "dropout": 0.2},
        {"return_sequences": True, "zero_output_for_mask": True},
    ]  # fmt: skip
    return [
        *each(_X, *({"units": 3} | each | known for each in settings)),
        *each((None, 4), {"units": 3, "return_sequences": True}, {"units": 3, "go_backwards": True}),
        *each(_X, {"units": 3}, {"units": 3, "return_sequences": True},
              {"units": 3, "return_sequences": True, "zero_output_for_mask": True, "return_state": True}, masked=True),
        Case([(6, 4)], {"units": 3, "time_major": True, "return_sequences": True}, only="tf_keras"),
    ]  # fmt: skip


def _cell(*settings: dict[str, Any]) -> list[Case]:
    found: list[dict[str, Any]] = [
        {"units": 3}, {"units": 2, "use_bias": False}, {"units": 3, "activation": "relu", "dropout": 0.1}, *settings,
    ]  # fmt: skip
    return [
        *each(_X, *found, within=lambda L, cell: L.RNN(cell)),
        *each(_X, *found[:2], within=lambda L, cell: L.RNN(cell, return_sequences=True, return_state=True)),
        *each(_X, *found[:2], within=lambda L, cell: L.Bidirectional(L.RNN(cell, return_sequences=True))),
        *each((None, 4), *found[:1], within=lambda L, cell: L.RNN(cell, go_backwards=True), masked=True),
    ]


def _convolutional(rank: int) -> list[Case]:
    shape = [(5, 6, 7)[:rank], (4, 5, 3)[:rank], (3, 4, 3)][rank - 1]
    base: dict[str, Any] = {"filters": 2, "kernel_size": 3, "padding": "same"}
    settings = [
        base, base | {"return_sequences": True}, {"filters": 3, "kernel_size": 2, "strides": 2, "use_bias": False},
        base | {"dilation_rate": 2, "return_state": True, "recurrent_activation": "sigmoid"},
        base | {"go_backwards": True, "activation": "relu"}, base | {"padding": "valid", "unit_forget_bias": False},
    ]  # fmt: skip
    return [
        *each((3, *shape, 2), *settings), *each((None, *shape, 2), *settings[:2]),
        *each((3, 2, *shape), base | {"data_format": "channels_first"}),
    ]  # fmt: skip


def _attention() -> dict[str, list[Case]]:
    heads: list[dict[str, Any]] = [
        {"num_heads": 2, "key_dim": 3}, {"num_heads": 3, "key_dim": 2, "value_dim": 5, "use_bias": False},
        {"num_heads": 2, "key_dim": 3, "output_shape": 5}, {"num_heads": 1, "key_dim": 4, "dropout": 0.1},
    ]  # fmt: skip
    pair: list[tuple[int | None, ...]] = [(5, 4), (6, 4)]
    grouped: list[dict[str, Any]] = [
        {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}, {"head_dim": 2, "num_query_heads": 3,
        "num_key_value_heads": 1, "use_bias": False}, {"head_dim": 2, "num_query_heads": 2, "num_key_value_heads": 2},
    ]  # fmt: skip
    found: dict[str, list[Case]] = {
        "MultiHeadAttention": [
            *each(pair, *heads, by_list=False), *each([(None, 4), (None, 4)], heads[0], by_list=False),
            *each([(5, 4), (5, 4)], heads[0], by_list=False, call={"use_causal_mask": True}),
            *each(pair, heads[0], by_list=False, call={"return_attention_scores": True}),
            *each(pair, heads[0], heads[3], by_list=False, masked=True),
            *each([(5, 4)] * 3, heads[0], by_list=False, masked=True),
            *each(pair, heads[0], by_list=False, masked=True, call={"return_attention_scores": True}),
            *each([(5, 4), (5, 4)], heads[0], heads[3], by_list=False, masked=True, call={"use_causal_mask": True}),
            *each([(3, 5, 4), (3, 5, 4)], heads[0] | {"attention_axes": [2]}, heads[0] | {"attention_axes": [1, 2]},
                  by_list=False),
        ],
        "GroupQueryAttention": [
            *each(pair, *grouped, by_list=False),
            *each([(5, 4), (5, 4)], grouped[0], by_list=False, call={"use_causal_mask": True}),
        ],
        "Attention": [
            *each(pair, {}, {"use_scale": True}, {"score_mode": "concat"}), *each([*pair, (6, 4)], {}),
            *each([(5, 4), (5, 4)], {}, call={"use_causal_mask": True}),
            *each(pair, {}, call={"return_attention_scores": True}), *each(pair, {}, masked=True),
            *each([*pair, (6, 4)], {}, masked=True, call={"use_causal_mask": True}),
        ],
        "AdditiveAttention": [
            *each(pair, {}, {"use_scale": False}), *each([*pair, (6, 4)], {}),
            *each([(5, 4), (5, 4)], {}, call={"use_causal_mask": True}), *each(pair, {}, masked=True),
        ],
    }  # fmt: skip
    return found


def _wrappers() -> dict[str, list[Case]]:
    def of(*layers: Any, **more: Any) -> list[dict[str, Any]]:
        return [{"layer": layer, **more} for layer in layers]

    cells = [lambda L: [L.LSTMCell(3), L.LSTMCell(2)], lambda L: [L.GRUCell(3), L.SimpleRNNCell(3), L.LSTMCell(2)],
             lambda L: [L.SimpleRNNCell(5)],
             lambda L: [L.GRUCell(3), L.SimpleRNNCell(3), L.LSTMCell(3)]]  # fmt: skip
    modes = ("concat", "sum", "mul", "ave", None)
    return {
        "Bidirectional": [
            *each(_X, *({"layer": lambda L: L.LSTM(3, return_sequences=True), "merge_mode": mode} for mode in modes),
                  *({"layer": lambda L: L.GRU(3, return_state=True), "merge_mode": mode} for mode in modes),
                  {"layer": lambda L: L.LSTM(3),
                   "backward_layer": lambda L: L.LSTM(3, go_backwards=True, use_bias=False)},
                  {"layer": lambda L: L.SimpleRNN(3, go_backwards=True)}),
            *each(_X, *of(lambda L: L.LSTM(3, return_sequences=True), lambda L: L.GRU(3)), masked=True),
            *each((None, 4), *of(lambda L: L.LSTM(3, return_sequences=True))),
            *each((4, 5, 3, 2), *of(lambda L: L.ConvLSTM2D(2, 3, return_sequences=True))),
        ],
        "TimeDistributed": [
            *each((3, 9, 7, 4), *of(lambda L: L.Conv2D(3, 3), lambda L: L.Flatten(), lambda L: L.BatchNormalization())),
            *each((None, 4), *of(lambda L: L.Dense(3))), *each(_X, *of(lambda L: L.Dense(3)), masked=True),
            *each(_X, *of(lambda L: L.Dense(3)), masked=True, within=_then_lstm),
            *each((3, 5, 4), *of(lambda L: L.LSTM(3))), *each((None, 5, 4), *of(lambda L: L.LSTM(3))),
        ],
        "RNN": [
            *each(_X, *({"cell": lambda L, make=make: make(L)} for make in cells)),
            *each(_X, {"cell": lambda L: L.LSTMCell(3), "return_state": True, "unroll": True},
                  {"cell": lambda L: [L.GRUCell(3), L.LSTMCell(2)], "return_sequences": True, "return_state": True}),
            *each(_X, {"cell": lambda L: [L.GRUCell(3), L.GRUCell(2)], "return_sequences": True}, masked=True),
        ],
        "StackedRNNCells": [
            *each(_X, *({"cells": lambda L, make=make: make(L)} for make in cells),
                  within=lambda L, cell: L.RNN(cell, return_sequences=True)),
            *each(_X, {"cells": cells[0], }, within=lambda L, cell: L.RNN(cell, return_state=True)),
            *each(_X, {"cells": cells[0]}, within=lambda L, cell: L.Bidirectional(L.RNN(cell)), masked=True),
        ],
        "Masking": [*each(_X, {}, {"mask_value": 0.5}), *each((None, 4), {}), *each((3, 5, 4), {})],
    }  # fmt: skip


CASES = {
    "LSTM": [*_recurrent(), *_recurrent(recurrent_activation="hard_sigmoid")[:3]],
    "GRU": [*_recurrent(), *_recurrent(reset_after=False)],
    "SimpleRNN": _recurrent(),
    "LSTMCell": _cell({"units": 3, "unit_forget_bias": False}),
    "GRUCell": _cell({"units": 3, "reset_after": False}),
    "SimpleRNNCell": _cell(),
    **{f"ConvLSTM{rank}D": _convolutional(rank) for rank in (1, 2, 3)},
    **_attention(),
    **_wrappers(),
}
