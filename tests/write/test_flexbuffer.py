"""Options of custom ops."""

from flatbuffers import flexbuffers

from fuseconv.write.flexbuffer import encode

OPTIONS = {
    "z": 1, "a": -(2**40), "f": 0.5, "t": True, "s": "x", "ints": [1, 300], "floats": [0.5, 1.5],
    "bools": [True, False], "strings": ["a", "bc"], "mixed": [1, 0.5], "nothing": [], "tuple": (1, 2),
}  # fmt: skip


def test_a_map_with_sorted_keys():
    data = encode(OPTIONS)
    assert flexbuffers.Loads(data) == {**OPTIONS, "tuple": [1, 2]}
    assert list(flexbuffers.Loads(data)) == sorted(OPTIONS)


def test_lists_of_numbers_are_typed_and_booleans_are_booleans():
    root = flexbuffers.GetRoot(encode(OPTIONS)).AsMap
    assert root["ints"].IsTypedVector and root["floats"].IsTypedVector and root["bools"].IsTypedVector
    assert not root["mixed"].IsTypedVector and not root["strings"].IsTypedVector
    assert root["t"].IsBool and root["z"].IsInt and root["f"].IsFloat
