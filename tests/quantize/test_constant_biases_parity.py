"""Files whose convolutions go past XNNPACK, quantized and run in TensorFlow's interpreter."""

import numpy as np
import tensorflow as tf

import fuseconv


def test_a_file_of_a_large_stride_is_quantized(tmp_path):
    rng = np.random.default_rng(0)
    kernel, bias = rng.standard_normal((3, 3, 3, 4)).astype(np.float32), np.ones(4, np.float32)
    model = tf.function(
        lambda x: tf.nn.conv2d(x, kernel, 4, "SAME") + bias, input_signature=[tf.TensorSpec((1, None, None, 3))]
    )
    plain, small = tmp_path / "plain.tflite", tmp_path / "small.tflite"
    fuseconv.convert(model, plain)
    x = rng.standard_normal((4, 1, 32, 32, 3)).astype(np.float32)
    fuseconv.quantize_file(plain, small, quantize="int8", calibration_data={"x": x})
    # TensorFlow's, whose XNNPACK is wrong here.
    interpreter = tf.lite.Interpreter(str(small))
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(given["index"], x[0].shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], x[0])
    interpreter.invoke()
    expected = model(x[0]).numpy()
    assert np.abs(interpreter.get_tensor(made["index"]) - expected).max() < 0.03 * np.ptp(expected)
    weights = [t for t in interpreter.get_tensor_details() if tuple(t["shape"]) == (4, 3, 3, 3)]
    assert [t["dtype"] for t in weights] == [np.int8]
