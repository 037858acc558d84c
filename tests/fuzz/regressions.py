"""The defects that the fuzzer found, as the cases that showed them. Each is run again with the tests.

A case is a recipe: its name makes the same model as long as the mutations of its kind stay as they are. The checksum
tells when it no longer does; then the kind has changed, and the defect needs a case anew or a test where it was.
`python -m tests.fuzz.regressions NAME` prints a row for the table.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from pathlib import Path

from tests.fuzz.cases import Case, prepare

# Name of the case, checksum of its model, what went wrong.
REGRESSIONS: tuple[tuple[str, int, str], ...] = (
    ("blow-up/names/1000003", 0xdd9ce6e6,
     "20000 characters, or some that do not print: 'the model has operations that TFLite's builtins c"),
    ("disk/opcases/resize_bilinear__002/1000101", 0xa7a2b6f4,
     "a link to /dev/zero is read until memory ends"),
    ("disk/opcases/padv2__001/1000133", 0xec4e513e,
     "a link that leads out of the model is followed"),
    ("disk/opcases/roll_with_constant__002/1000197", 0xa113f76b,
     "a link that leads out of the model is followed"),
    ("disk/opcases/gather__001/1000389", 0x4ed95b7f,
     "a link that leads out of the model is followed"),
    ("graph/opcases/while__000/1000154", 0x588acbb7,
     "ir/verifier.py:_check_operand: <ir.return serving_default> in serving_default reads <while: int"),
    ("graph/opcases/reduce_prod__002/1000190", 0x9766d07c,
     "lower/engine/driver.py:_apply: the rule for Prod made a int32 where the op makes a float32"),
    ("graph/opcases/broadcast_to__000/1000237", 0x5917ce31,
     "lower/engine/driver.py:_apply: the rule for BroadcastTo made a float32 where the op makes a qint32"),
    ("graph/opcases/maximum__000/1000312", 0x149116c3,
     "lower/engine/driver.py:_apply: the rule for Maximum made a float32 where the op makes a float64"),
    ("graph/opcases/while__000/1000415", 0x09c9bb7e,
     "lower/engine/driver.py:_apply: the rule for AddV2 made a int32 where the op makes a float16"),
    ("graph/opcases/split__002/1000446", 0x5c393650,
     "lower/engine/driver.py:_apply: the rule for Split made a quint8 where the op makes a float32"),
    ("graph/opcases/roll_with_constant__002/1000506", 0x2fa23d2b,
     "lower/engine/driver.py:_apply: the rule for Roll made a float32 where the op makes a int32"),
    ("graph/opcases/tensor_list_set_item__001/1000191", 0xeca87e11,
     "transforms/tf/lower_tensor_lists.py:_element_dtype: IndexError: list index out of range"),
    ("graph/opcases/cumsum__001/1000221", 0x988e67f7,
     "lower/ops/math/reduction.py:_axis: ValueError: invalid literal for int() with base 10: b''"),
    ("graph/opcases/fill__001/1000269", 0x25b26347,
     "transforms/tf/canonicalize.py:_zeros: IndexError: list index out of range"),
    ("graph/opcases/fully_connected__001/1000280", 0x2e0c55f7,
     "LiteRT: accum_dim_lhs != accum_dim_rhs, BATCH_MATMUL failed to prepare"),
    ("disk/opcases/max_pool__002/1000357", 0x00000000,
     "a pipe in the place of saved_model.pb is read without end"),
    ("graph/opcases/dynamic_update_slice__002/1000380", 0x4bada9ca,
     "transforms/tf/lower_tensor_lists.py:_made: TypeError: TensorListStack() takes 5 positional arguments but 6 w"),
    ("graph/opcases/tensor_list_resize__001/1000536", 0xb079b726,
     "transforms/tf/lower_tensor_lists.py:_stated: IndexError: list index out of range"),
    ("graph/opcases/unsorted_segment_sum__002/2000007", 0x36049c1e,
     "LiteRT: (num_segments.dims->size == 1 && num_segments.dims->data[0] == 1) || num_segments.dims->"),
    ("graph/frozen.pb/2000038", 0x0a782e20,
     "LiteRT: accum_dim_lhs != accum_dim_rhs (4 != 1)Node number 3 (BATCH_MATMUL) failed to prepare."),
    ("graph/two_signatures/2000084", 0xe4ac504f,
     "tfl/ops/nn.py:batch_matmul: IndexError: tuple index out of range"),
    ("graph/opcases/conv__000/2000086", 0x31519af2,
     "LiteRT: input_channel % filter_input_channel != 0 (3 != 0)Node number 1 (CONV_2D) failed to prep"),
    ("graph/attention/2000090", 0xab32a9e2,
     "tf/folders/slicing.py:gather_v2: TypeError: only 0-dimensional arrays can be converted to P"),
    ("blow-up/results/2000113", 0xc112a05a,
     "passes/shapes/__init__.py:infer: TypeError: the shape function of ShapeN made 1 shapes where th"),
    ("graph/conv_bn/2000168", 0x7cca981f,
     "tfl/infer.py:broadcast_dim: ValueError: dimensions 4 and 2147483647 do not broadcast"),
    ("graph/opcases/resize_bilinear__002/2000187", 0xe500168b,
     "LiteRT: size_data[1] > 0 was not true.Node number 1 (RESIZE_BILINEAR) failed to prepare."),
    ("graph/opcases/padv2__001/2000262", 0x75dd36bd,
     "LiteRT: constant_values_count != 1 (8 != 1)Node number 0 (PADV2) failed to prepare."),
    ("graph/opcases/conv__000/2000275", 0xa56bcda1,
     "lower/ops/nn/convolution.py:_options_2d: ValueError: not enough values to unpack (expected 2, got 1)"),
    ("graph/opcases/atan2__002/2000282", 0x8052bc93,
     "LiteRT: NumElements(axis) != 1 (2 != 1)Node number 1 (ARG_MAX) failed to prepare."),
    ("graph/opcases/while__000/2000326", 0x5b39d7c7,
     "transforms/tf/simplify_control_flow.py:_prune_loop: IndexError: list index out of range"),
    ("blow-up/concats/2000333", 0x58355be2,
     "write/encode.py:_vector: error: 'i' format requires -2147483648 <= number <= 2147483647"),
    ("graph/opcases/add__001/2000447", 0xe38427b1,
     "transforms/tf/propagate_splats.py:untouched: IndexError: list index out of range"),
    ("graph/opcases/tensor_list_dynamic_shape__001/2000460", 0xee8c5948,
     "transforms/tf/lower_tensor_lists.py:state_elements: OverflowError: Python integer 1099511627776 out of bound"),
    ("graph/opcases/matrix_diag__001/2000480", 0xec15bb85,
     "lower/ops/array/matrix_diag.py:MatrixDiagV3: ValueError: negative dimensions are not allowed"),
    ("graph/opcases/depth_to_space__002/2000656", 0x2bcd2398,
     "LiteRT: BytesRequired number of elements overflowed. Tensor 1 is invalidly specified in schema."),
    ("blow-up/tiles/2000751", 0x2f6f93f6,
     "transforms/tf/canonicalize.py:_contents: OverflowError: Python integer 4294967296 out of bounds for int32"),
    ("graph/opcases/tensor_list_dynamic_shape__001/2000833", 0x17503608,
     "tf/shape_functions/tensor_lists.py:TensorListStack: IndexError: tuple index out of range"),
    ("graph/tf1/2000953", 0xc37dbaf6,
     "write/flatbuffer.py:_tensor: the tensor features has the type quint8, which TFLite does not hav"),
    ("graph/opcases/strided_slice_np_style__001/2001050", 0xb0bb00a6,
     "lower/ops/array/slice.py:takes_none: TypeError: slice indices must be integers or None or have an __ind"),
    ("graph/opcases/tensor_list_set_item__001/4000023", 0xeecc4efe,
     "tf/shape_functions/tensor_lists.py:TensorListSetItem: IndexError: tuple index out of range"),
    ("graph/opcases/resize_bilinear__002/4000096", 0x50b11268,
     "tfl/ops/nn.py:resized: IndexError: tuple index out of range"),
    ("graph/attention/4000148", 0x526bc4b6,
     "LiteRT: input_condition->type != kTfLiteBool (INT32 != BOOL)Node number 13 (SELECT_V2) failed to"),
    ("disk/attention/20261122004725", 0x67e505f9,
     "does os.scandir: a linked folder outside the model is listed to tell the model's size"),
    ("graph/opcases/batch_to_space_nd__002/20261122008600", 0xfd86e75d,
     "LiteRT refuses BATCH_TO_SPACE_ND: output_batch_size % block_shape[dim] != 0"),
    ("config/keras2.h5/20261122008134", 0xe43642d7,
     "0x7f: tf-keras: <tf_keras.src.layers.rnn.lstm.LSTM object at 0x...> argument after ** must be a mapping"),
    ("graph/opcases/tensor_list_resize__001/777001680", 0x3c745ac8,
     "transforms/tf/lower_tensor_lists.py: IndexError for a list that is a scalar"),
    ("graph/frozen.pb/777000791", 0xa3bfda50,
     "LiteRT: BytesRequired number of elements overflowed: a shape with sizes below -1"),
    ("message/opcases/where__002/31337003368", 0xb1a56849,
     "ValueError: key contains zero byte, of an attribute that is an option of a custom op"),
    ("message/opcases/scatter_nd__002/31337005999", 0x66e72859,
     "LiteRT refuses SCATTER_ND: indices of more dimensions than the result has"),
    ("message/opcases/reverse_sequence__002/31337007911", 0x4ca1a0b7,
     "a custom op has a name, and not ''"),
    ("message/opcases/tensor_list_length__000/31337009433", 0x1a81e679,
     "TensorListLength: tuple index out of range, of a list that is a scalar"),
    ("graph/opcases/topk__001/4242006889", 0xca8b0f9c,
     "LiteRT refuses TOPK_V2: more elements are asked for than there are"),
    ("graph/opcases/topk__001/20261124000371", 0xa1afec4d,
     "LiteRT refuses TOPK_V2: a count of two elements"),
    ("disk/keras2.h5/20261124000136", 0x00000000,
     "does os.listdir: the folder of a model that is gone is listed to name a neighbor"),
    ("config/keras2.h5/14", 0x5fe2370c,
     "code of the model's runs: SlicingOpLambda calls tf.io.write_file"),
    ("config/keras2.h5/31", 0xd7464a1e,
     "code of the model's runs: SlicingOpLambda calls tf.io.gfile.copy"),
    ("config/keras2.h5/65", 0x730a1657,
     "ClassMethod names a function of TensorFlow's"),
    ("config/keras2.h5/73", 0xece6c26a,
     "code of the model's runs: bytecode of ResidualWrapper.residual_fn is unmarshalled"),
    ("config/keras2.h5/185", 0x2b219e20,
     "code of the model's runs: bytecode of DropoutWrapper.dropout_fn is unmarshalled"),
    ("config/keras3.keras/777002493", 0x031752f3,
     "load/keras/model.py:_input_spec: TypeError: unhashable type: 'dict'"),
    ("config/keras3.h5/777004128", 0x4ea5f42a,
     "load/keras/model.py:inputs_of: KeyError: 'nothing'"),
    ("message/opcases/arg_min_max__001/424243004709", 0x8a62dce9,
     "LiteRT refuses ARG_MAX: an axis without elements"),
    ("sizes/keras2_lstm_static/5001201", 0xec4464cf,
     "LiteRT refuses UNIDIRECTIONAL_SEQUENCE_LSTM: its weights take 6 inputs, and there are 7"),
    ("sizes/keras2_lstm_static/5000289", 0xe35081b4,
     "LiteRT refuses GATHER: the last of no steps"),
    ("graph/opcases/tensor_list_resize__001/22112026005016", 0x12dba599,
     "LiteRT refuses the file: a list is resized to -918928025 elements"),
    ("graph/keras2_lstm/31415007192", 0x727dea6b,
     "does not end within 84 s: --rnn unroll of a loop of millions of steps"),
    ("graph/opcases/broadcast_to__000/20261123001671", 0xa533741d,
     "LiteRT refuses the file: BROADCAST_TO of -1 elements in one dimension"),
    ("graph/opcases/batch_to_space_nd__002/271828001523", 0x3d27ebf3,
     "LiteRT refuses BATCH_TO_SPACE_ND: crops in one row"),
    ("node/InTopK/23000208", 0x42976d40,
     "LiteRT refuses GATHER: predictions of four rows for one target"),
    ("node/GatherV2/20261123006906", 0x2bf28a4e,
     "LiteRT refuses GATHER: an axis of 100 in one dimension, taken for an axis that is not known"),
    ("node/SparseSegmentSum/20261123001566", 0x51412e98,
     "LiteRT refuses GATHER: an index beyond the rows of a constant"),
    ("node/DynamicPartition/20261124002391", 0x5ba4144f,
     "LiteRT refuses RESHAPE: one partition for two rows"),
    ("sections/stablehlo/elementwise/select.mlirbc/20261124004756", 0xe7a1caea,
     "LiteRT refuses SELECT_V2: a choice by floats"),
)  # fmt: skip


def checksum(name: str, base: Path) -> int:
    """The CRC-32 of the files of a case's model, which is written under `base`."""
    model = Path(prepare(Case.parse(name), base).model)
    crc = 0
    for file in sorted(path for path in (model, *model.rglob("*")) if path.is_file()):
        with file.open("rb") as stream:
            start = stream.read(1 << 20)  # some are of 100 GB
        crc = zlib.crc32(start, zlib.crc32(str(file.relative_to(base)).encode(), crc))
    return crc


if __name__ == "__main__":
    for case in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(f'    ("{case}", {checksum(case, Path(folder)):#010x},\n     ""),')
