"""How arrays are taken for what inputs take: as samples one behind the other, or as the rows of a batch. Their rank
tells which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Signature, Value

Sample = Mapping[str, np.ndarray]
Sizes = Sequence[int | None]


def fits(shape: Sequence[int], wanted: Sizes) -> bool:
    """Return whether an array of a shape is what an input takes. wanted: its sizes, None for any."""
    return len(shape) == len(wanted) and all(dim in (None, size) for dim, size in zip(wanted, shape))


def stacked(array: np.ndarray, wanted: Sizes) -> np.ndarray | None:
    """Return the samples that an array holds, [samples, *wanted]; None if it holds none.

    An array of one dimension more has the samples along its first one. One of the same rank has rows: a sample each,
    or so many as make the batch that the input takes."""
    if fits(array.shape[1:], wanted) and array.ndim:
        return array
    if not wanted or not fits(array.shape[1:], wanted[1:]) or array.ndim == 0:
        return None
    batch = 1 if wanted[0] is None else wanted[0]
    if not batch or len(array) % batch:
        return None
    return array.reshape(len(array) // batch, batch, *array.shape[1:])


def cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Return an array as numbers of a type that hold its own, but for precision; None if they cannot."""
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        return None
    with np.errstate(over="ignore"):
        made = array.astype(dtype, copy=False)
    return made if dtype.kind not in "iu" or np.array_equal(made, array) else None


def checked(
    sample: Sample, signature: Signature, number: int, signatures: Sequence[Signature] = ()
) -> dict[str, np.ndarray]:
    """Return the arrays of a sample. Raises InputError if they are not those that the inputs take, which tells how the
    inputs of the other `signatures` are named."""
    if not isinstance(sample, Mapping) or sample.keys() != set(signature.inputs):
        names = ", ".join(signature.inputs)
        if not isinstance(sample, Mapping):
            form = "{" + ", ".join(f"{name!r}: array" for name in signature.inputs) + "}"
            raise InputError(f"a sample is a dict {form}; sample {number} is {type(sample).__name__!r}")
        missing = ", ".join(name for name in signature.inputs if name not in sample)
        unknown = ", ".join(str(name) for name in sample if name not in signature.inputs)
        told = " and ".join([f"lacks {missing}"] * bool(missing) + [f"holds {unknown}"] * bool(unknown))
        others = ", ".join(name for each in signatures[1:] for name in names_of_arrays(each))
        of = f" of the signature {signature.names[0]}" if others else ""
        names += f" (of others: {others})" if others else ""
        raise InputError(f"a sample{of} holds an array for each input, {names}; sample {number} {told}")
    arrays = {}
    for name, value in zip(signature.inputs, signature.graph.inputs):
        array, wanted = _as_array(sample[name], name, number), sizes_of(value)
        if not _has_type(array, value) or not (wanted is None or fits(array.shape, wanted)):
            shape = "any shape" if wanted is None else shape_text(wanted)
            takes = f"the input {name} takes {value.dtype} {shape}"
            raise InputError(f"{takes}, with the batch; sample {number} holds {array.dtype} {list(array.shape)}")
        if value.dtype.is_float and not np.isfinite(array).all():
            raise InputError(f"sample {number} of the input {name} holds numbers that are not finite")
        arrays[name] = array
    if arrays and not any(array.size for array in arrays.values()):
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise InputError(f"sample {number} holds no numbers: {shapes}")
    return arrays


def names_of_arrays(signature: Signature) -> list[str]:
    """Return what arrays are called in samples of a signature that is not the first."""
    return [f"{signature.names[0]}/{name}" for name in signature.inputs]


def _as_array(given: Any, name: str, number: int) -> np.ndarray:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise InputError(f"sample {number} of the input {name} is no array: {error}") from error


def _has_type(array: np.ndarray, value: Value) -> bool:
    return array.dtype.kind in "SUO" if value.dtype is types.STRING else array.dtype == value.dtype.numpy


def inputs_of(signatures: Sequence[Signature]) -> dict[str, Value]:
    """Return the inputs of signatures by the names that samples give them."""
    found = {
        f"{name}/{key}": value
        for signature in signatures for name in signature.names
        for key, value in zip(signature.inputs, signature.graph.inputs)
    }  # fmt: skip
    return found | (dict(zip(signatures[0].inputs, signatures[0].graph.inputs)) if signatures else {})


def fitted(sample: Sample, inputs: Mapping[str, Value]) -> Sample:
    """Return a sample with arrays of the types and ranks that inputs take: other numbers are cast, as float64 is, and
    a row becomes a batch of one. What does not fit is left as it is; labels beside inputs are left out."""
    if not isinstance(sample, Mapping) or not sample.keys() & inputs.keys():
        return sample
    return {name: _fitted(array, inputs[name]) for name, array in sample.items() if name in inputs}


def _fitted(given: Any, value: Value) -> Any:
    try:
        array = np.asarray(given)
    except ValueError:  # of lists of different lengths
        return given
    wanted = sizes_of(value)
    made = array if value.dtype is types.STRING else cast(array, value.dtype.numpy)
    if made is None:
        return array
    return made[None] if wanted is not None and fits((1, *made.shape), wanted) else made


def sizes_of(value: Value) -> list[int | None] | None:
    """Return the sizes of an input, None for what is not fixed; None if its rank is not known."""
    return None if value.shape is None else [dim if isinstance(dim, int) else None for dim in value.shape]


def shape_text(wanted: Sequence[int | None]) -> str:
    return str(list(wanted)).replace("None", "?")
