"""Verification, on files that TensorFlow's own converter made: it must pass what is right and catch what is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv.api import convert
from fuseconv.errors import InputError, VerificationError
from fuseconv.load.through_keras.model_file import trace
from fuseconv.runners import first_line
from fuseconv.verifying import verify
from tests.frozen import FLOAT, Frozen

TESTDATA = Path(__file__).parents[1] / "testdata"


def converted(model: Path, *signatures: str) -> bytes:
    return tf.lite.TFLiteConverter.from_saved_model(str(model), signature_keys=list(signatures) or None).convert()


def saved(path: Path, **signatures: tuple[Callable, dict[str, tf.TensorSpec]]) -> Path:
    """A SavedModel of functions from keyword arguments to a dict."""
    module = tf.Module()
    functions = {}
    for name, (function, specs) in signatures.items():
        traced = tf.function(function).get_concrete_function(**specs)
        setattr(module, name, traced)
        functions[name] = traced
    tf.saved_model.save(module, str(path), functions)
    return path


def spec(*shape: int | None, dtype: tf.DType = tf.float32) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("name", ["conv_bn", "attention", "tf1"])
def test_a_right_file_passes(name: str) -> None:
    result = verify(TESTDATA / name, converted(TESTDATA / name))
    assert result.passed and result.failure is None
    # A dynamic batch runs with two sizes, twice in a row each.
    assert [next(iter(shapes.values()))[0] for _, shapes, _ in result.runs] == [1, 3]
    assert {invokes for _, _, invokes in result.runs} == {2}
    assert all(output.absolute is not None and output.absolute < 1e-5 for output in result.outputs)


def test_every_signature_runs() -> None:
    model = TESTDATA / "two_signatures"
    data = converted(model, "encode", "decode")
    assert {output.signature for output in verify(model, data).outputs} == {"encode", "decode"}
    assert {output.signature for output in verify(model, data, signatures=["encode"]).outputs} == {"encode"}
    fixed = convert(model, input_shapes={"encode/x": (5, None), "code": (4, None)}).data or b""
    shapes = {"encode/x": (5, None), "decode/code": (4, None)}
    runs = {name: each for name, each, _ in verify(model, fixed, input_shapes=shapes).runs}
    assert runs["encode"]["x"][0] == 5 and runs["decode"]["code"][0] == 4
    with pytest.raises(InputError, match="no signature train; there are decode, encode"):
        verify(model, data, signatures=["train"])


def test_a_frozen_graph() -> None:
    converter = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(
        str(TESTDATA / "frozen.pb"), ["image"], ["probabilities"]
    )
    result = verify(TESTDATA / "frozen.pb", converter.convert())
    assert result.passed
    assert [output.output for output in result.outputs] == ["probabilities"]


def test_a_frozen_graph_is_cut_at_the_tensors_that_are_named(tmp_path: Path) -> None:
    graph = Frozen(-1, 3)
    graph.node("first", "Relu", "x", T={"type": FLOAT})
    graph.node("second", "Exp", "first", T={"type": FLOAT})
    path = graph.write(tmp_path)
    data = convert(path, inputs=["first:0"], outputs=["second"]).data or b""
    result = verify(path, data, inputs=["first"], outputs=["second:0"])
    assert result.passed and result.runs[0][1].keys() == {"first"}
    # The file's tensors have names of their own: the options, not these, say what they stand for.
    renamed = convert(path, inputs=["first"], rename={"first": "x"}).data or b""
    assert verify(path, renamed, inputs=["first"], outputs=["second"], rename={"first": "x"}).passed
    with pytest.raises(VerificationError, match="outputs differ from the model"):
        verify(path, renamed).check()
    with pytest.raises(VerificationError, match=r"inputs .* differ: the model has x; the file has first"):
        verify(path, data, inputs=["x"])
    with pytest.raises(VerificationError, match=r"outputs .* differ: the model has first; the file has second"):
        verify(path, data, inputs=["first"], outputs=["first"])
    with pytest.raises(InputError, match=r"no tensor 'nothing', which --inputs or --outputs names"):
        verify(path, data, outputs=["nothing"])


def test_a_frozen_graph_of_ops_that_tensorflow_has_given_up(tmp_path: Path) -> None:
    graph = tf.compat.v1.GraphDef()
    graph.versions.producer = 8
    x = graph.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = tf.float32.as_datatype_enum
    x.attr["shape"].shape.CopyFrom(tf.TensorShape([2, 4, 4, 3]).as_proto())
    names = ["mean", "variance", "beta", "gamma"]
    for name in names:
        node = graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([0.5, 1.0, 2.0]))
    norm = graph.node.add(name="norm", op="BatchNormWithGlobalNormalization", input=["x", *names])
    norm.attr["T"].type = tf.float32.as_datatype_enum
    norm.attr["variance_epsilon"].f = 0.001
    norm.attr["scale_after_normalization"].b = True
    path = tmp_path / "old.pb"
    path.write_bytes(graph.SerializeToString())
    verify(path, convert(path).data or b"").check()


@pytest.mark.parametrize("name", ["keras3.h5", "keras3.keras"])
def test_a_keras_file(name: str, tmp_path: Path) -> None:
    traced = trace(TESTDATA / name)
    specs = traced.function.structured_input_signature[0]

    @tf.function(input_signature=specs)
    def serve(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(traced.outputs, tf.nest.flatten(traced.function(*tensors)), strict=True))

    module = tf.Module()
    module.variables_of_model = [variable.value for variable in traced.model.variables]
    tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": serve})
    result = verify(TESTDATA / name, converted(tmp_path / "model"))
    assert result.passed
    assert [output.output for output in result.outputs] == traced.outputs


def test_state_that_leaks_from_one_invoke_to_the_next_is_caught() -> None:
    # TensorFlow's converter leaves the LSTM's state to the runtime, which does not clear it.
    model = TESTDATA / "keras2_lstm_static"
    result = verify(model, converted(model))
    with pytest.raises(VerificationError, match=r"1 of 1 outputs differ .* 'class' .* 'serving_default'"):
        result.check()


def test_another_model_is_caught(tmp_path: Path) -> None:
    specs = {"x": spec(None, 4)}
    double = saved(tmp_path / "double", serving_default=(lambda x: {"y": 2.0 * x}, specs))
    triple = saved(tmp_path / "triple", serving_default=(lambda x: {"y": 3.0 * x}, specs))
    renamed = saved(tmp_path / "renamed", serving_default=(lambda x: {"z": 2.0 * x}, specs))
    other_input = saved(tmp_path / "input", serving_default=(lambda a: {"y": 2.0 * a}, {"a": spec(None, 4)}))
    other_size = saved(tmp_path / "size", serving_default=(lambda x: {"y": 2.0 * x}, {"x": spec(None, 5)}))
    other_type = saved(tmp_path / "type", serving_default=(lambda x: {"y": x}, {"x": spec(None, 4, dtype=tf.int32)}))
    other_name = saved(tmp_path / "name", train=(lambda x: {"y": 2.0 * x}, specs))
    file = converted(double)

    assert verify(double, file).passed
    result = verify(triple, file)
    assert result.outputs[0].relative == pytest.approx(1 / 3, rel=1e-5)
    assert not result.passed
    for model, why in [
        (renamed, "outputs of the signature 'serving_default' differ: the model has z; the file has y"),
        (other_input, "inputs of the signature 'serving_default' differ: the model has a; the file has x"),
        (other_size, r"'x' has the shape \[\?,5\] in the model, and \[\?,4\] by the file"),
        (other_type, "'x' is int32 in the model and float32 in the file"),
        (other_name, "a signature 'serving_default', which the model has not"),
    ]:
        with pytest.raises(VerificationError, match=why):
            verify(model, file)


def test_a_signature_that_the_model_lacks_is_told_before_anything_runs(tmp_path: Path) -> None:
    specs = {"x": spec(None, 4)}
    one, other = (lambda x: {"y": 2.0 * x}), (lambda x: {"y": 3.0 * x})
    model = saved(tmp_path / "one", serving_default=(one, specs))
    file = converted(saved(tmp_path / "both", serving_default=(one, specs), train=(other, specs)))
    runs: list[str] = []
    with pytest.raises(VerificationError, match="has a signature 'train', which the model has not"):
        verify(model, file, progress=runs.append)
    assert not runs


def test_a_model_that_differs_from_itself_is_told_of(tmp_path: Path) -> None:
    def serve(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"drawn": x + tf.random.uniform([2]), "same": 2.0 * x}

    model = saved(tmp_path / "model", serving_default=(serve, {"x": spec(None, 2)}))
    result = verify(model, converted(model))
    assert {output.output: output.passed for output in result.outputs} == {"drawn": False, "same": True}
    assert "the model differs from itself too" in str(result.failure)
    other = saved(tmp_path / "other", serving_default=(lambda x: {"y": x}, {"x": spec(None, 2)}))
    wrong = saved(tmp_path / "wrong", serving_default=(lambda x: {"y": -x}, {"x": spec(None, 2)}))
    assert "itself" not in str(verify(other, converted(wrong)).failure)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_the_tolerance_of_a_model_follows_the_type_that_it_computes_in(dtype: tf.DType, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((3, 32, 32)).astype(np.float32)

    def model(name: str, factor: float) -> Path:
        def serve(x: tf.Tensor) -> dict[str, tf.Tensor]:
            x = tf.cast(x, dtype)
            for each in weights:
                x = tf.tanh(tf.matmul(x, tf.cast(each, dtype)) * 0.3)
            return {"y": tf.cast(x, tf.float32) * factor}

        return saved(tmp_path / name, serving_default=(serve, {"x": spec(None, 32)}))

    right, wrong = model("rounded", 1.001), model("wrong", 1.05)
    data = convert(model("model", 1.0)).data or b""
    result = verify(right, data)
    assert result.passed and result.to_json()["half"] == dtype.name
    assert f"largest expected value, as the model computes in {dtype.name}" in str(result)
    assert not verify(right, data, rtol=1e-4).passed and verify(right, data, rtol=0.5).half == ""
    with pytest.raises(VerificationError, match=f"is allowed, as the model computes in {dtype.name}$"):
        verify(wrong, data).check()


def test_random_inputs_that_ranges_do_not_hold_are_told(tmp_path: Path) -> None:
    samples = [{"x": np.full((1, 4), 0.1 * number, np.float32)} for number in range(3)]
    model = saved(tmp_path / "model", serving_default=(lambda x: {"y": tf.nn.relu(x) * 3.0}, {"x": spec(None, 4)}))
    data = convert(model, quantize="int8", calibration_data=samples).data or b""
    with pytest.raises(VerificationError, match="; random inputs may lie beyond the ranges of int8: give --data"):
        verify(model, data).check()
    verify(model, data, samples=samples).check()


def test_strings_and_booleans_and_scalars(tmp_path: Path) -> None:
    specs = {"word": spec(None, dtype=tf.string), "flag": spec(dtype=tf.bool), "n": spec(dtype=tf.int64)}
    model = saved(
        tmp_path / "model",
        serving_default=(lambda word, flag, n: {"w": word[:, None], "f": tf.logical_not(flag), "m": n * n}, specs),
    )
    result = verify(model, converted(model))
    assert result.passed
    assert {output.output: output.dtype for output in result.outputs} == {"w": "string", "f": "bool", "m": "int64"}


def test_strings_that_are_scalars(tmp_path: Path) -> None:
    def answer(word):
        return {"word": word, "hot": tf.where(tf.equal(word, "dog"), "yes", "no"), "cold": tf.equal(word, "cat")}

    model = saved(tmp_path / "model", serving_default=(answer, {"word": spec(dtype=tf.string)}))
    file = convert(model).data or b""
    for word in (b"dog", b"cat", b"a\0b"):
        assert verify(model, file, data={"word": np.array(word, object)}).passed
    assert verify(model, file).passed
    with pytest.raises(VerificationError, match="no empty string for a scalar"):
        verify(model, file, data={"word": np.array(b"", object)})


def test_an_output_without_elements(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", serving_default=(lambda x: {"y": tf.reshape(x, [0, 3])}, {"x": spec(0, 5)}))
    assert verify(model, converted(model)).outputs[0].shapes == [(0, 3)]


def test_numbers_that_an_embedding_has_no_row_for_are_not_drawn(tmp_path: Path) -> None:
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    specs = {"token": spec(None, 6, dtype=tf.int32)}
    model = saved(tmp_path / "model", serving_default=(lambda token: {"y": tf.gather(rows, token)}, specs))
    assert verify(model, converted(model)).passed


def test_floats_that_are_ids_are_whole(tmp_path: Path) -> None:
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def looked_up(ids: tf.Tensor, scale: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.gather(rows, tf.cast(ids, tf.int32)) * scale, "ids": ids}

    specs = {"ids": spec(None, 6), "scale": spec(1)}
    model = saved(tmp_path / "model", serving_default=(looked_up, specs))
    assert verify(model, converted(model)).passed


def test_floats_are_not_whole_where_the_model_takes_any(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", serving_default=(lambda x: {"y": tf.math.floor(x)}, {"x": spec(None, 4)}))
    other = saved(tmp_path / "other", serving_default=(lambda x: {"y": tf.identity(x)}, {"x": spec(None, 4)}))
    assert not verify(model, converted(other)).passed


def test_unknown_sizes_grow_until_the_model_takes_them(tmp_path: Path) -> None:
    def halved_and_back(image: tf.Tensor) -> dict[str, tf.Tensor]:
        # An odd size comes back one smaller, and then does not add up.
        half = tf.nn.max_pool2d(image, 2, 2, "VALID")
        return {"y": image + tf.repeat(tf.repeat(half, 2, axis=1), 2, axis=2)}

    model = saved(tmp_path / "model", serving_default=(halved_and_back, {"image": spec(None, None, None, 3)}))
    result = verify(model, converted(model))
    assert result.passed
    assert result.outputs[0].shapes == [(1, 32, 32, 3), (3, 64, 64, 3)]
    given = verify(model, converted(model), input_shapes={"image": (2, 10, None, 3)})
    assert given.outputs[0].shapes == [(2, 10, 32, 3), (2, 10, 64, 3)]
    with pytest.raises(InputError, match="no signature that runs has an input picture"):
        verify(model, converted(model), input_shapes={"picture": (2, 10, None, 3)})


def test_sizes_that_no_guess_meets_are_asked_for(tmp_path: Path) -> None:
    weights = tf.ones([13, 2])
    model = saved(
        tmp_path / "model",
        serving_default=(lambda x: {"y": tf.matmul(tf.reshape(x, [-1, 13]), weights)}, {"x": spec(None, None)}),
    )
    with pytest.raises(InputError, match=r"cannot run .* on x\[1, 7\].*--input-shape"):
        verify(model, converted(model))
    assert verify(model, converted(model), input_shapes={"x": (None, 26)}).passed
    with pytest.raises(InputError, match=r"\[\?,\?\] in the model, and \[26\] by --input-shape"):
        verify(model, converted(model), input_shapes={"x": (26,)})


class TestData:
    """Inputs that the caller gives."""

    @pytest.fixture(scope="class")
    @staticmethod
    def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
        def serve(x: tf.Tensor, n: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x * tf.cast(n, tf.float32)}

        specs = {"x": spec(None, 2), "n": spec(dtype=tf.int32)}
        return saved(tmp_path_factory.mktemp("data") / "model", serving_default=(serve, specs))

    @pytest.fixture(scope="class")
    @staticmethod
    def file(model: Path) -> bytes:
        return converted(model)

    def test_runs_as_it_is_and_with_more_rows(self, model: Path, file: bytes, tmp_path: Path) -> None:
        np.savez(tmp_path / "data.npz", x=np.full((2, 2), 1.5), n=np.int64(3), unused=np.zeros(1))
        result = verify(model, file, data=tmp_path / "data.npz")
        assert result.passed
        assert [shapes["x"] for _, shapes, _ in result.runs] == [(2, 2), (4, 2)]

    def test_no_rows_are_run_as_they_are(self, model: Path, file: bytes) -> None:
        result = verify(model, file, data={"x": np.ones((0, 2)), "n": np.int32(1)})
        assert [shapes["x"] for _, shapes, _ in result.runs] == [(0, 2)]

    def test_more_rows_are_left_out_where_the_model_refuses_them(self, tmp_path: Path) -> None:
        def serve(x: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
            with tf.control_dependencies([tf.debugging.assert_equal(tf.shape(x)[1], tf.shape(lengths)[0])]):
                return {"y": tf.reduce_sum(x, 0)}

        specs = {"x": spec(None, None, 2), "lengths": spec(None, dtype=tf.int32)}
        model = saved(tmp_path / "model", serving_default=(serve, specs))
        file = converted(model)
        result = verify(model, file, data={"x": np.ones((5, 3, 2)), "lengths": np.ones(3, np.int32)})
        assert result.passed
        assert [shapes["x"] for _, shapes, _ in result.runs] == [(5, 3, 2)]
        with pytest.raises(InputError, match="cannot run"):
            verify(model, file, data={"x": np.ones((5, 3, 2)), "lengths": np.ones(2, np.int32)})

    def test_tells_the_rank_that_the_model_does_not(self, tmp_path: Path) -> None:
        specs = {"x": spec(None, 2), "rate": tf.TensorSpec(None, tf.float32)}
        model = saved(tmp_path / "model", serving_default=(lambda x, rate: {"y": x * rate}, specs))
        file = convert(model, input_shapes={"rate": ()}).data
        assert file is not None
        with pytest.raises(InputError, match="the rank of the input 'rate' is not known"):
            verify(model, file)
        assert verify(model, file, data={"x": np.ones((2, 2)), "rate": np.float32(0.5)}).passed

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            ({"x": np.ones((1, 2))}, r"no array 'n': .* takes n int32\[\], x float32\[\?,2\]"),
            ({"x": np.ones((1, 3)), "n": np.int32(1)}, r"'x' has the shape \[1, 3\], where the model takes \[\?,2\]"),
            ({"x": np.ones((1, 2)), "n": np.float32(1)}, "'n' is float32, where the model takes int32"),
            ({"x": np.ones((1, 2)), "n": np.int64(2**40)}, "'n' holds numbers that int32 cannot hold"),
        ],
    )
    def test_that_does_not_fit_is_refused(
        self, model: Path, file: bytes, data: dict[str, np.ndarray], why: str
    ) -> None:
        with pytest.raises(InputError, match=why):
            verify(model, file, data=data)

    def test_that_cannot_be_read_is_refused(self, model: Path, file: bytes, tmp_path: Path) -> None:
        (tmp_path / "text.npz").write_text("not an archive")
        np.save(tmp_path / "array.npy", np.ones(3))
        np.savez(tmp_path / "pickled.npz", x=np.array([object()]), n=np.int32(1))
        for name, why in [
            ("none.npz", "No such file"), ("text.npz", "is not an .npz file"), ("array.npy", "without a name"),
            ("pickled.npz", "its array x holds objects of Python"),
        ]:  # fmt: skip
            with pytest.raises(InputError, match=why):
                verify(model, file, data=tmp_path / name)


def test_what_is_no_model_or_no_file(tmp_path: Path) -> None:
    model = TESTDATA / "two_signatures"
    file = converted(model, "encode")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tflite").write_text("no flatbuffer at all")
    (tmp_path / "cut.tflite").write_bytes(file[:200])
    with pytest.raises(InputError, match="none does not exist"):
        verify(tmp_path / "none", file)
    with pytest.raises(InputError, match="is no SavedModel"):
        verify(tmp_path / "empty", file)
    with pytest.raises(InputError, match=r"none\.tflite does not exist"):
        verify(model, tmp_path / "none.tflite")
    with pytest.raises(InputError, match="is not a TFLite model"):
        verify(model, tmp_path / "text.tflite")
    with pytest.raises(InputError, match="is a damaged TFLite model"):
        verify(model, tmp_path / "cut.tflite")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n  It is wrong.\nmore", "It is wrong"),
        ("", "ValueError"),
        ("Graph execution error:\n\nDetected at node a:\n<no traces>\nBad shapes\n\t [[{{a}}]]", "Bad shapes"),
        ("Graph execution error:", "Graph execution error:"),
    ],
)
def test_the_line_of_an_error_that_says_what_is_wrong(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line


def test_a_model_that_links_elsewhere_is_not_given_to_tensorflow(tmp_path: Path) -> None:
    model = Path(shutil.copytree(TESTDATA / "two_signatures", tmp_path / "model"))
    data = fuseconv.convert(model).data
    assert data
    shard = model / "variables" / "variables.data-00000-of-00001"
    shard.rename(tmp_path / "blob")
    shard.symlink_to(tmp_path / "blob")
    with pytest.raises(InputError, match=f"{shard} is a link to {tmp_path / 'blob'}, outside the model's directory"):
        verify(model, data)
    assert verify(model, data, follow_links=True).passed
    (model / "assets").mkdir()
    os.mkfifo(model / "assets" / "pipe")
    with pytest.raises(InputError, match="pipe is a pipe, no ordinary file"):
        verify(model, data, follow_links=True)


def test_a_verification_is_text_and_its_repr_a_line() -> None:
    data = convert(TESTDATA / "conv_bn").data
    assert data is not None
    result = verify(TESTDATA / "conv_bn", data)
    assert repr(result).startswith("<Verification of a file: all 1 outputs agree, to ")
    assert "Largest difference" in str(result) and "\x1b" not in str(result)


def test_the_shape_of_the_only_input_needs_no_name() -> None:
    data = convert(TESTDATA / "keras2_lstm").data
    assert data is not None
    result = verify(TESTDATA / "keras2_lstm", data, input_shapes=[3, 10, 6])
    assert [inputs for _, inputs, _ in result.runs] == [{"sequence": (3, 10, 6)}]
