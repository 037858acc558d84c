"""Ops without builtins: as custom ops, as ops of the Flex delegate, or refused with what would help."""

import numpy as np
import pytest
import tensorflow as tf
from flatbuffers import flexbuffers
from tensorflow.lite.python import schema_py_generated as schema

from fuseconv.api import convert
from fuseconv.errors import UnsupportedError
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op
from fuseconv.lower.engine.custom import CustomOps, flex_ops
from fuseconv.lower.engine.unsupported_ops import unsupported_reason
from fuseconv.lower.rules import Unsupported
from fuseconv.testing import check_refused, convert_function

raw = tf.raw_ops


def custom_ops(data):
    """The code and the raw options of each custom op of a file."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data))
    ops = [(model.operatorCodes[op.opcodeIndex].customCode, op) for op in model.subgraphs[0].operators]
    return [(code.decode(), bytes(op.customOptions)) for code, op in ops if code]


def nodes(data):
    """The NodeDef of each op of the Flex delegate, without its name."""
    found = []
    for code, options in custom_ops(data):
        name, node = flexbuffers.GetRoot(options).AsVector
        assert code == f"Flex{name.AsString}" and node.IsString
        # The library reads strings as text, which a NodeDef is not.
        node_def = tf.compat.v1.NodeDef.FromString(bytes(_bytes(node)))
        node_def.ClearField("name")
        node_def.ClearField("experimental_debug_info")
        found.append(node_def)
    return found


def _bytes(string):
    return flexbuffers.String(string._Indirect(), string._byte_width).Bytes


def peer(fn, *specs):
    traced = tf.function(fn, input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced.get_concrete_function()], traced)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    return converter.convert()


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


CASES = {
    "strings": (lambda x: tf.strings.as_string(x, precision=3, width=7), [spec(None)]),
    "joined": (lambda x, y: tf.strings.join([x, y], "-"), [spec(2, dtype=tf.string), spec(2, dtype=tf.string)]),
    "split": (lambda x: raw.StringSplit(input=x, delimiter=" "), [spec(3, dtype=tf.string)]),
    "regex": (lambda x: tf.strings.regex_replace(x, "a+", "b"), [spec(3, dtype=tf.string)]),
    "double": (tf.linalg.inv, [spec(3, 3, dtype=tf.float64)]),
    "linear": (tf.linalg.cholesky, [spec(3, 3, dtype=tf.float64)]),
    "qr": (lambda x: list(tf.linalg.qr(x)), [spec(3, 2, dtype=tf.float64)]),
}


@pytest.mark.parametrize("case", CASES)
def test_flex_ops_are_those_of_tflite_converter(case):
    fn, specs = CASES[case]
    converted = convert_function(fn, *specs, select_tf_ops=True)
    assert nodes(converted.data) == nodes(peer(fn, *specs))
    assert any("Flex delegate" in warning for warning in converted.report.warnings)


def test_lists_of_types_and_shapes():
    def parse(serialized):
        features = {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.VarLenFeature(tf.int64)}
        parsed = tf.io.parse_example(serialized, features)
        return parsed["a"], parsed["b"].values

    ours, theirs = (nodes(data) for data in (
        convert_function(parse, spec(None, dtype=tf.string), select_tf_ops=True).data,
        peer(parse, spec(None, dtype=tf.string)),
    ))  # fmt: skip
    assert ours == theirs


def test_without_the_option_it_is_told_of():
    check_refused(lambda x: tf.strings.join([x, x]), spec(2, dtype=tf.string), match="StringJoin.*--select-tf-ops")
    check_refused(tf.math.special.bessel_j0, spec(2), match="BesselJ0.*no kernel")


def test_what_the_delegate_does_not_run_is_refused():
    check_refused(tf.math.special.bessel_j0, spec(3), match="BesselJ0", select_tf_ops=True)


def test_custom_ops_have_the_attributes_as_options():
    def fn(x):
        return raw.AsString(input=x, precision=3, width=7)

    by_name = {"custom_ops": ["AsString"]}
    for options in ({"allow_custom_ops": True}, by_name, {**by_name, "select_tf_ops": True}):
        ((code, raw_options),) = custom_ops(convert_function(fn, spec(3), **options).data)
        assert code == "AsString"
        assert flexbuffers.Loads(raw_options) == {
            "T": types.FLOAT32.tflite, "fill": "", "precision": 3, "scientific": False, "shortest": False, "width": 7,
        }  # fmt: skip
    check_refused(fn, spec(3), match="AsString", custom_ops=["StringJoin"])


def test_a_name_that_serves_for_nothing_is_told_of():
    converted = convert_function(tf.math.special.bessel_j0, spec(3), custom_ops=["BesselJ0", "BesselJJ0"])
    assert converted.ops == ["BesselJ0"]
    assert "register kernels of their own for BesselJ0 (1)" in " ".join(converted.report.warnings)
    assert [warning for warning in converted.report.warnings if "BesselJJ0" in warning]
    assert not any("no operation BesselJ0 " in warning for warning in converted.report.warnings)


def test_what_helps_is_told():
    join, bessel = (lambda x: tf.strings.join([x, x])), tf.math.special.bessel_j0
    check_refused(join, spec(2, dtype=tf.string), match="--select-tf-ops lets.*, --custom-op StringJoin leaves it")
    check_refused(bessel, spec(2), match="; --custom-op BesselJ0 leaves it to a kernel of your own")
    check_refused(bessel, spec(2), match="; --custom-op BesselJ0", select_tf_ops=True)


def test_only_what_would_help_is_told():
    def queue(x):
        handle = raw.FIFOQueueV2(component_types=[tf.float32])
        return raw.QueueDequeueV2(handle=handle, component_types=[tf.float32])[0] + x

    def reduce(x):
        return tf.data.Dataset.from_tensor_slices(x).reduce(0.0, lambda a, b: a + b)

    def parse(x):
        return tf.io.parse_example(x, {"a": tf.io.FixedLenFeature([3], tf.float32)})["a"]

    strings = spec(None, dtype=tf.string)
    why = _why_refused(queue, "QueueDequeueV2", spec(3))
    assert "--custom-op" in why and "--select-tf-ops" not in why  # the delegate shares no resources
    why = _why_refused(reduce, "ReduceDataset", spec(3))
    assert "--custom-op" not in why and "--select-tf-ops" not in why  # its attribute is a function
    for options in ({}, {"custom_ops": ["ParseExampleV2"]}):
        why = _why_refused(parse, "ParseExampleV2", strings, **options)
        assert "--select-tf-ops" in why and "--custom-op" not in why  # its attribute is a list of shapes


def _why_refused(fn, name, *specs, **options):
    with pytest.raises(UnsupportedError) as error:
        convert_function(fn, *specs, **options)
    return next(why for op, _, why in error.value.ops if op == name)


def test_attributes_of_every_kind():
    form = CustomOps(every=True).form

    class Op:
        type, operands, results = "Mine", (), ()

    same = {"ints": [1, 2], "s": "a", "b": b"\xff"}
    code, options = form(Op, {"t": types.INT64, "ts": [types.FLOAT32, types.BOOL], "shape": (2, None), **same})
    assert code == "Mine"
    assert options == {"t": 4, "ts": [0, 6], "shape": [2, -1], **same}
    for wrong in (np.zeros(3), FuncRef("f"), types.QINT8, None):
        with pytest.raises(Unsupported, match="attribute a"):
            form(Op, {"a": wrong})


def test_what_flex_runs_and_why_ops_have_no_rule():
    assert "StringJoin" in flex_ops() and "BesselJ0" not in flex_ops()
    assert unsupported_reason("Spence") != unsupported_reason("AnythingElse") == "no rule lowers this op"


def test_an_op_that_only_the_model_knows(tmp_path):
    """Its defaults and types are those of the signature that the model brings."""
    module = tf.Module()
    module.run = tf.function(lambda x: {"y": raw.AsString(input=x, precision=3)}, input_signature=[spec(3)])
    tf.saved_model.save(module, str(tmp_path), signatures=module.run)
    path = tmp_path / "saved_model.pb"
    path.write_bytes(path.read_bytes().replace(b"AsString", b"MyString"))

    with pytest.raises(UnsupportedError, match="MyString"):
        convert(tmp_path)
    ((code, options),) = custom_ops(convert(tmp_path, custom_ops=["MyString"]).data)
    assert code == "MyString"
    assert flexbuffers.Loads(options) == {
        "T": types.FLOAT32.tflite, "fill": "", "precision": 3, "scientific": False, "shortest": False, "width": -1,
    }  # fmt: skip


def test_ops_in_branches():
    def fn(x):
        return tf.cond(x[0] > 0, lambda: tf.strings.as_string(x), lambda: tf.strings.as_string(x, precision=2))

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(convert_function(fn, spec(3), select_tf_ops=True).data))
    codes = [model.operatorCodes[op.opcodeIndex].customCode for graph in model.subgraphs[1:] for op in graph.operators]
    assert codes == [b"FlexAsString", b"FlexAsString"]


def renamed(function, path, **names):
    """A SavedModel of a function, some of whose ops have other names, equally long, which TensorFlow does not know."""
    module = tf.Module()
    module.run = function
    tf.saved_model.save(module, str(path), signatures=module.run)
    file = path / "saved_model.pb"
    data = file.read_bytes()
    for old, new in names.items():
        assert len(old) == len(new)
        data = data.replace(old.encode(), new.encode())
    file.write_bytes(data)
    return path


def test_side_effects_stay_in_their_order(tmp_path):
    """Ops without results, and ops that the model calls stateful, though nothing reads them; equal ones stay two."""

    @tf.function(input_signature=[spec(3), spec(dtype=tf.string)])
    def run(x, text):
        raw.WriteFile(filename="first", contents=text)
        raw.NonDeterministicInts(shape=[2])
        y = tf.nn.relu(x) * 2
        raw.WriteFile(filename=text, contents=tf.constant("second"))
        raw.NonDeterministicInts(shape=[2])
        raw.WriteFile(filename="first", contents=text)
        return {"y": y}

    names = {"WriteFile": "TellWorld", "NonDeterministicInts": "NoteThatThisWasCount"}
    path = renamed(run, tmp_path, **names)
    with pytest.raises(UnsupportedError) as error:
        convert(path)
    assert [(op, len(nodes)) for op, nodes, _ in error.value.ops] == [("NoteThatThisWasCount", 2), ("TellWorld", 3)]
    conversion = convert(path, custom_ops=list(names.values()))
    ops = [op.type for op in conversion.report.emitted if op.type in names.values()]
    tell, note = names.values()
    assert ops == [tell, note, tell, note, tell]
    assert all(conversion.report.account().values())
    written = schema.ModelT.InitFromObj(schema.Model.GetRootAs(conversion.data)).metadata
    assert [metadata.name for metadata in written] == [b"min_runtime_version", b"model_control_dependencies"]


def test_side_effects_in_branches_and_loops(tmp_path):
    @tf.function(input_signature=[spec(3), spec(dtype=tf.string)])
    def run(x, text):
        if x[0] > 0:
            raw.WriteFile(filename="first", contents=text)
        for _ in tf.range(tf.cast(x[1], tf.int32)):
            raw.WriteFile(filename="second", contents=text)
        return {"y": x + 1}

    path = renamed(run, tmp_path, WriteFile="TellWorld")
    ops = [op.type for op in convert(path, custom_ops=["TellWorld"]).report.emitted]
    assert ops.count("TellWorld") == 2 and {"IF", "WHILE"} <= set(ops)


def test_what_only_orders_or_checks_is_no_effect():
    def run(x):
        tf.debugging.assert_positive(x)
        tf.print("is positive", x)
        return x * 2

    assert convert_function(run, spec(3), allow_custom_ops=True).ops == ["MUL"]


@pytest.mark.parametrize("name", ["a\0b", "\u00e9", "\u202e"])
def test_an_attribute_whose_name_no_flexbuffer_holds_is_refused(name: str):
    op = Op("tf.Acme")
    with pytest.raises(Unsupported, match="cannot be an option"):
        CustomOps(every=True).form(op, {name: 1})


def test_a_list_of_shapes_is_no_option():
    with pytest.raises(Unsupported, match="output_shapes, a list of shapes, cannot be an option"):
        CustomOps(every=True).form(Op("tf.Acme"), {"output_shapes": [[3, 2], [1]]})
    assert CustomOps(every=True).form(Op("tf.Acme"), {"sizes": [3, 2]}) == ("Acme", {"sizes": [3, 2]})
