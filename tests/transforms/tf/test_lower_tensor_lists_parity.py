"""Lists become tensors: through loops and branches, with sizes that only a run tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir.verifier import check as check_ir
from fuseconv.testing import check, check_refused
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.inline import inline
from fuseconv.transforms.tf.lower_tensor_lists import lower_tensor_lists
from tests.tf.text_cases import kinds, module_of

X = tf.TensorSpec([None, 3])
TIME = tf.TensorSpec([None, 4, 3])
LIST = tf.raw_ops


def _array(size: Any, dtype: tf.DType = tf.float32, **options: Any) -> tf.TensorArray:
    return tf.TensorArray(dtype, size, **options)


def test_a_list_of_known_elements_in_ir() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        const %1 "shape": int32[1] = [2]
        const %2 "count": int32[] = 3
        const %3 "i": int32[] = 1
        %4 "reserve": variant[*] = tf.TensorListReserve(%1, %2) {'element_dtype': {'dtype': 'float32'}}
        %5 "set": variant[*] = tf.TensorListSetItem(%4, %3, %0) {}
        %6 "stack": float32[*] = tf.TensorListStack(%5, %1) {}
        return %6
        }"""
    )
    inline(module, report)
    canonicalize(module, report)
    lower_tensor_lists(module, report)
    canonicalize(module, report)
    check_ir(module)
    assert kinds(module) == ["ExpandDims", "XlaDynamicUpdateSlice"]
    assert module.signatures[0].graph.outputs[0].shape == (3, 2)
    assert report.account()["stack"] == "removed"


def test_a_list_that_stands_before_the_sizes_of_its_elements() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[n]
        const %1 "shape": int32[2] = [-1, 1]
        const %2 "count": int32[] = 3
        const %3 "i": int32[] = 1
        %4 "reserve": variant[*] = tf.TensorListReserve(%1, %2) {'element_dtype': {'dtype': 'int64'}}
        %5 "where": int64[*] = tf.Where(%0) {}
        %6 "set": variant[*] = tf.TensorListSetItem(%4, %3, %5) {}
        %7 "stack": int64[*] = tf.TensorListStack(%6, %1) {}
        return %7
        }"""
    )
    inline(module, report)
    canonicalize(module, report)
    lower_tensor_lists(module, report)
    check_ir(module)
    assert not [kind for kind in kinds(module) if kind.startswith("TensorList")]


def test_the_reason_stays_with_the_ops() -> None:
    module, report = module_of(
        """main {
        input %0 "i": int32[]
        const %1 "shape": int32[] = -1
        const %2 "count": int32[] = 3
        %3 "reserve": variant[*] = tf.TensorListReserve(%1, %2) {'element_dtype': {'dtype': 'float32'}}
        %4 "get": float32[*] = tf.TensorListGetItem(%3, %0, %1) {}
        return %4
        }"""
    )
    inline(module, report)
    canonicalize(module, report)
    lower_tensor_lists(module, report)
    check_ir(module)
    assert kinds(module) == ["TensorListReserve", "TensorListGetItem"]
    assert all("not known where the list is made" in str(op.rejection) for op in module.signatures[0].graph.ops)


def running_sum(x: tf.Tensor) -> tf.Tensor:
    """Over the first axis, with an element shape that the model does not state."""
    array = _array(tf.shape(x)[0])
    total = tf.zeros_like(x[0])
    for i in tf.range(tf.shape(x)[0]):
        total += x[i]
        array = array.write(i, total)
    return array.stack()


def read_what_was_written(x: tf.Tensor) -> tf.Tensor:
    array = _array(5, element_shape=x.shape, clear_after_read=False).write(0, x)
    for i in tf.range(1, 5):
        array = array.write(i, array.read(i - 1) * 0.5 + x)
    return array.stack()


def two_lists(x: tf.Tensor) -> list[tf.Tensor]:
    a, b = _array(3), _array(3, tf.int32)
    for i in tf.range(3):
        a = a.write(i, x * tf.cast(i, tf.float32))
        b = b.write(i, tf.shape(x) + i)
    return [a.stack(), b.stack(), a.read(1), b.gather([2, 0])]


def in_a_branch(x: tf.Tensor) -> tf.Tensor:
    array = _array(3).unstack([x, 2.0 * x, 3.0 * x])
    positive = tf.reduce_sum(x) > 0
    return tf.cond(positive, lambda: array.write(0, x + 1.0).stack(), lambda: array.write(2, x - 1.0).stack())


def nested(x: tf.Tensor) -> tf.Tensor:
    outer = _array(2)
    for i in tf.range(2):
        inner = _array(3)
        for j in tf.range(3):
            inner = inner.write(j, x + tf.cast(i * 3 + j, tf.float32))
        outer = outer.write(i, inner.stack())
    return outer.stack()


def growing(x: tf.Tensor) -> tf.Tensor:
    array = _array(0, dynamic_size=True, element_shape=[None, 3])
    for i in tf.range(4):
        array = array.write(i, x + tf.cast(i, tf.float32))
    return array.stack()


def read_from_another(x: tf.Tensor) -> tf.Tensor:
    """The size of the second list's elements can be read only off what was read from the first."""
    options = {"element_shape": [-1, 3], "element_dtype": tf.float32}
    first = LIST.TensorListReserve(num_elements=2, **options)
    first = LIST.TensorListSetItem(input_handle=first, index=1, item=x)
    rows = LIST.TensorListGather(input_handle=first, indices=tf.range(2), **options)
    second = LIST.TensorListReserve(num_elements=tf.shape(rows)[0], **options)
    second = LIST.TensorListSetItem(input_handle=second, index=0, item=2.0 * rows[1])
    return LIST.TensorListStack(input_handle=second, **options)


def concatenated(x: tf.Tensor) -> tf.Tensor:
    array = _array(3, element_shape=[None, 3])
    for i in tf.range(3):
        array = array.write(i, x + tf.cast(i, tf.float32))
    return array.concat()



def pushed(x: tf.Tensor) -> list[tf.Tensor]:
    listed = LIST.EmptyTensorList(element_shape=[-1, 3], max_num_elements=-1, element_dtype=tf.float32)
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(listed, tf.TensorShape(None))])
        listed = LIST.TensorListPushBack(input_handle=listed, tensor=x * tf.cast(i, tf.float32))
    popped, last = LIST.TensorListPopBack(input_handle=listed, element_shape=[-1, 3], element_dtype=tf.float32)
    stacked = LIST.TensorListStack(input_handle=popped, element_shape=[-1, 3], element_dtype=tf.float32)
    return [stacked, last, LIST.TensorListLength(input_handle=listed)]


def scattered(x: tf.Tensor) -> list[tf.Tensor]:
    rows = tf.stack([x, -x, 2.0 * x])
    listed = LIST.TensorListScatterV2(tensor=rows, indices=[4, 0, 2], element_shape=[-1, 3], num_elements=-1)
    more = LIST.TensorListScatterIntoExistingList(input_handle=listed, tensor=rows[:2], indices=[1, 4])
    same = LIST.TensorListScatterV2(tensor=rows, indices=tf.range(3), element_shape=[-1, 3], num_elements=3)
    moved = LIST.TensorListScatterV2(tensor=rows, indices=[2, 0, 1], element_shape=[-1, 3], num_elements=3)
    older = LIST.TensorListScatter(tensor=rows, indices=[1, 2, 0], element_shape=[-1, 3])
    return [
        LIST.TensorListStack(input_handle=each, element_shape=[-1, 3], element_dtype=tf.float32)
        for each in (listed, more, same, moved, older)
    ]


def resized(x: tf.Tensor) -> list[tf.Tensor]:
    listed = LIST.TensorListFromTensor(tensor=tf.stack([x, -x, 2.0 * x]), element_shape=[-1, 3])
    stacks = []
    for size in (2, 5, tf.shape(x)[0]):
        handle = LIST.TensorListResize(input_handle=listed, size=size)
        stacks.append(LIST.TensorListStack(input_handle=handle, element_shape=[-1, 3], element_dtype=tf.float32))
    return stacks


@pytest.mark.parametrize(
    "function",
    [
        running_sum,
        read_what_was_written,
        two_lists,
        in_a_branch,
        nested,
        growing,
        read_from_another,
        concatenated,
        pushed,
        scattered,
        resized,
    ],
)
def test_parity(function: Callable[..., Any]) -> None:
    check(tf.function(function), X, batches=(2, 4))


def test_elements_of_unknown_sizes_in_two_dimensions() -> None:
    check(tf.function(running_sum), tf.TensorSpec([None, None, 3]))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.bool, tf.float16, tf.uint8, tf.int16])
def test_types(dtype: tf.DType) -> None:
    def pick(x: tf.Tensor, i: tf.Tensor) -> list[tf.Tensor]:
        array = _array(3, dtype).unstack(tf.stack([x, tf.reverse(x, [1]), x])).write(i, tf.reverse(x, [0]))
        return [array.stack(), array.read(1)]

    indices = tf.TensorSpec([], tf.int32)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        if not shape:
            return np.array(rng.integers(0, 3), kind)
        return rng.integers(0, 2, shape).astype(kind)

    check(pick, tf.TensorSpec([2, 3], dtype), indices, inputs=draw)


def test_lists_of_strings_are_read_only() -> None:
    def pick(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return _array(3, tf.string, element_shape=[]).unstack(x).gather([i, 0])

    def write(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return _array(3, tf.string, element_shape=[]).unstack(x).write(i, "new").stack()

    specs = [tf.TensorSpec([3], tf.string), tf.TensorSpec([], tf.int32)]
    check(pick, *specs, inputs=[np.array([b"a", b"bc", b""], object), np.array(1, np.int32)])
    check_refused(write, *specs, match="no kernel that takes strings from two tensors")


def test_a_list_that_is_handed_to_a_function() -> None:
    @tf.function
    def double(array: Any) -> Any:
        return tf.stack([array * 2.0, array])

    def call(x: tf.Tensor) -> tf.Tensor:
        return _array(2).unstack(double(x)).read(1)

    check(call, X)


def test_elements_of_different_shapes_are_refused() -> None:
    def uneven(x: tf.Tensor) -> tf.Tensor:
        array = _array(2, infer_shape=False, element_shape=[None, 3], clear_after_read=False)
        array = array.write(0, x).write(1, tf.concat([x, x], 0))
        return array.concat() + tf.reduce_sum(array.read(1))

    check_refused(uneven, X, match="different shapes|not known where")
    check_refused(uneven, tf.TensorSpec([2, 3]), match="elements of different shapes are written into the list")


def test_elements_whose_shape_changes_in_the_loop_are_refused() -> None:
    def longer(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        array = _array(3, infer_shape=False, element_shape=[None, 3], clear_after_read=False)
        for i in tf.range(3):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, 3]))])
            array = array.write(i, x)
            x = tf.concat([x, x], 0)
        return array.concat(), tf.reduce_sum(array.read(1))

    check_refused(tf.function(longer), X, match="different shapes|not known where")


def test_a_row_of_unknown_size_that_is_stacked_with_others_is_as_large() -> None:
    """If not, TensorFlow does not stack it either."""

    def rows(x: tf.Tensor) -> tf.TensorArray:
        return _array(2, infer_shape=False).write(0, x[:2]).write(1, tf.boolean_mask(x, x[:, 0] > 0))

    def stacked(x: tf.Tensor) -> tf.Tensor:
        return rows(x).stack()

    def read(x: tf.Tensor) -> list[tf.Tensor]:
        return [rows(x).read(0), rows(x).read(1)]

    spec = tf.TensorSpec([3, 2])
    check_refused(read, spec, match="elements of different shapes are written into the list")
    converted = check(stacked, spec, inputs=[np.array([[1, 2], [-1, 2], [3, 4]], np.float32)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        stacked(tf.zeros([3, 2]))
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros([3, 2], np.float32))
    with pytest.raises(RuntimeError, match="RESHAPE"):
        interpreter.invoke()


def test_the_translator_of_the_tutorial() -> None:
    """It decodes all words so far in each step, takes the last of what comes out, and ends with the last word."""
    draw = np.random.default_rng(1).standard_normal
    words, mix = draw((7, 4)).astype(np.float32), draw((4, 7)).astype(np.float32)

    def decode(context: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        h = tf.gather(words, ids)
        h += tf.matmul(tf.nn.softmax(tf.matmul(h, context, transpose_b=True)), context)
        return tf.matmul(h, mix)

    def translate(context: tf.Tensor) -> list[tf.Tensor]:
        output = _array(0, tf.int64, dynamic_size=True).write(0, tf.constant([3], tf.int64))
        for i in tf.range(6):
            predictions = decode(context, tf.transpose(output.stack()))[:, -1:, :]
            predicted = tf.argmax(predictions, -1)
            output = output.write(i + 1, predicted[0])
            if predicted == 5:
                break
        ids = tf.transpose(output.stack())
        return [ids, decode(context, ids[:, :-1])]

    check(tf.function(translate), tf.TensorSpec([1, None, 4]))


def test_lists_of_lists_are_refused() -> None:
    def nest(x: tf.Tensor) -> tf.Tensor:
        inner = LIST.TensorListFromTensor(tensor=x, element_shape=[3])
        outer = LIST.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.variant)
        outer = LIST.TensorListPushBack(input_handle=outer, tensor=inner)
        return LIST.TensorListLength(input_handle=outer)

    check_refused(nest, X, match="it holds lists or other handles")


def test_equal_empty_lists_are_filled_with_different_shapes() -> None:
    def fn(x: tf.Tensor) -> list[tf.Tensor]:
        def step(row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return row[:2] * 2.0, tf.tensordot(row, row, 0)

        return list(tf.map_fn(step, x, fn_output_signature=(tf.TensorSpec(None), tf.TensorSpec(None))))

    check(fn, X)


def test_an_empty_list_that_two_loops_share() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        input %1 "y": float32[3]
        const %2 "shape": int32[] = -1
        const %3 "count": int32[] = 3
        const %4 "i": int32[] = 1
        %5 "reserve": variant[*] = tf.TensorListReserve(%2, %3) {'element_dtype': {'dtype': 'float32'}}
        %6 "set x": variant[*] = tf.TensorListSetItem(%5, %4, %0) {}
        %7 "set y": variant[*] = tf.TensorListSetItem(%5, %4, %1) {}
        %8 "stack x": float32[*] = tf.TensorListStack(%6, %2) {}
        %9 "stack y": float32[*] = tf.TensorListStack(%7, %2) {}
        return %8, %9
        }"""
    )
    inline(module, report)
    canonicalize(module, report)
    lower_tensor_lists(module, report)
    canonicalize(module, report)
    check_ir(module)
    assert [value.shape for value in module.signatures[0].graph.outputs] == [(3, 2), (3, 3)]
