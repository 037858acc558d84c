"""Run the model in TensorFlow and the converted file in LiteRT on the same inputs, and compare the outputs.

A model may be a .tflite file itself, such as the one of floats that a quantized one was made of: that runs in LiteRT.

Each signature of the file runs twice in a row in one interpreter, with different inputs: state that leaks from one
invoke to the next shows. Where a size is not fixed, the input is resized and it runs twice again.

`verification_inputs` says what is run where the caller gives no inputs.

TensorFlow runs the model's own graph, and a Keras file's own layers: verify only what you would run.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.api import convert
from fuseconv.arguments import checked_arguments
from fuseconv.cut_original import cut_by_loader, cut_function
from fuseconv.errors import FuseconvError, InputError, VerificationError, needing_packages, suggestion_or_all
from fuseconv.files import read_file
from fuseconv.fuse.plugins import load_registry
from fuseconv.input_ranges import InputRange, checked_ranges, read_ranges
from fuseconv.input_shapes import ONLY, InputShape, full_names, given_to, named, read_shapes
from fuseconv.load.live import model_name
from fuseconv.load.stablehlo.exported import is_exported
from fuseconv.output_comparison import ATOL, HALF_RTOL, Comparison, compare
from fuseconv.quantize import MEASURED, TOLERANCES
from fuseconv.report.tables import show_verification, text
from fuseconv.runners import (
    Arrays,
    Dims,
    Function,
    Spec,
    TFLiteFile,
    exported_function,
    opened_original,
    original_functions,
    renamed_function,
)
from fuseconv.verification_inputs import (
    Draws,
    call_original,
    data_of,
    dims_text,
    dtype_name,
    given_batches,
    load_data,
    random_batches,
)
from fuseconv.verification_layers import Layer, compare_layers, first_growth

_FROM_SAMPLES = "calibration samples"


@dataclass(repr=False)
class Verification:
    """The result: each output of each signature, and what was run: (signature, shapes of its inputs, invokes).

    form: how the file is quantized, such as "int8"; "" if it is not.
    half: "float16" or "bfloat16" where `rtol` is what a model that computes in it may differ by; else "". drawn:
    (signature, input, how it was drawn); empty where the caller gave the inputs. layers: ops of the first
    subgraph beside those of a file of floats, if that was asked for."""

    model: str
    file: str
    atol: float
    rtol: float
    form: str = ""
    half: str = ""
    outputs: list[Comparison] = field(default_factory=list)
    runs: list[tuple[str, dict[str, tuple[int, ...]], int]] = field(default_factory=list)
    drawn: list[tuple[str, str, str]] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)

    def __repr__(self) -> str:
        failed = self.failure
        worst = max((output.absolute for output in self.outputs if output.absolute is not None), default=0.0)
        told = f"all {len(self.outputs)} outputs agree, to {worst:.2e}" if failed is None else str(failed)
        return f"<Verification of {self.file or 'a file'}: {told}>"

    def __str__(self) -> str:
        """Return what the command line prints."""
        document = self.to_json()
        return text(lambda out: show_verification(out, document), io.StringIO()).rstrip()

    @property
    def passed(self) -> bool:
        return all(output.passed for output in self.outputs)

    @property
    def failure(self) -> VerificationError | None:
        """Return what to raise if an output differs by more than the tolerance."""
        failed = [output for output in self.outputs if not output.passed]
        if not failed:
            return None
        first = failed[0]
        where = f"the output {first.output!r} of the signature {first.signature!r}"
        return VerificationError(
            f"{len(failed)} of {len(self.outputs)} outputs differ from the model: {where} has {first.why}"
            + (f", as the model computes in {self.half}" if self.half else "")
            + (f"; random inputs may lie beyond the ranges of {self.form}: give --data" if self._is_beyond else "")
        )

    @property
    def _is_beyond(self) -> bool:
        """Return whether inputs may lie outside of the ranges that a file of integers was made for."""
        return self.form in MEASURED and any(how != _FROM_SAMPLES for _, _, how in self.drawn)

    def check(self) -> None:
        """Raise VerificationError if an output differs by more than the tolerance."""
        if self.failure:
            raise self.failure

    def to_json(self) -> dict[str, Any]:
        """Return a document of JSON's own types.

        `model` and `file`: the paths; `passed`; `atol` and `rtol`: an output passes if
        |actual - expected| <= atol + rtol * max|expected| for each element of each run (of a file of int8 or int16x8,
        that of all runs); `half`: the type of 16 bits that the model computes in if `rtol` is what that may make, else
        ""; `runs`: `{"signature", "inputs": {name: shape}, "invokes"}`; `drawn`: `{"signature", "input",
        "how"}`, in words, of random inputs; `outputs`: `{"signature", "output", "type", "shapes", "absolute",
        "relative", "passed", "why"}` with the largest differences over all runs, null where they are not finite;
        `layers`: `{"tensor", "op", "type", "error"}` of ops beside those of floats, if that was asked for (`error` as
        in a quantization's report), and `grows`, the first of their tensors whose error is much larger than any before
        it, or null.
        """
        growth = first_growth(self.layers)
        return {
            "layers": [layer.to_json() for layer in self.layers],
            "grows": None if growth is None else growth.tensor,
            "model": self.model,
            "file": self.file,
            "passed": self.passed,
            "atol": self.atol,
            "rtol": self.rtol,
            "half": self.half,
            "runs": [
                {"signature": signature, "inputs": {name: list(shape) for name, shape in shapes.items()}, "invokes": n}
                for signature, shapes, n in self.runs
            ],
            "drawn": [{"signature": signature, "input": name, "how": how} for signature, name, how in self.drawn],
            "outputs": [
                {
                    "signature": output.signature,
                    "output": output.output,
                    "type": output.dtype,
                    "shapes": [list(shape) for shape in output.shapes],
                    "absolute": output.absolute,
                    "relative": output.relative,
                    "passed": output.passed,
                    "why": output.why,
                }
                for output in self.outputs
            ],
        }


@checked_arguments
def verify(
    model: Any,
    tflite: str | os.PathLike | bytes,
    *,
    data: str | os.PathLike | Arrays | None = None,
    atol: float = ATOL,
    rtol: float | None = None,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    input_shapes: Mapping[str, Sequence[int | None]] | str | Sequence[str | int | None] | None = None,
    batch_size: int | None = None,
    input_ranges: Mapping[str, Sequence[int]] | str | Sequence[str] | None = None,
    plugins: Sequence[str | os.PathLike] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    seed: int = 0,
    layers: bool = False,
    samples: Sequence[Arrays] = (),
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Compare a model with the file that was made from it; see the module's docstring for how.

    model: what `convert` takes. tflite: the file's path, or its bytes. data: an .npz file, or arrays, by input name, to
    run in place of random ones: as the signature takes them, or samples of that, of one dimension more. The second
    batch then has two more rows, the first ones again. samples: dicts of arrays, such as a conversion returns, to run
    instead of random ones where they are of a signature. signatures: those to run, by default all of the file, or all
    that the data serves. tags, plugins, trust_model, follow_links, inputs, outputs, rename: as for `convert`.
    input_shapes: sizes for dimensions that the model leaves open, batch_size for first ones, by the names that the file
    has. input_ranges: which whole numbers are drawn. layers: compare the ops of the first subgraph, too, with those of
    the model as a file of floats, which it is converted to if it is none. progress: called with a few words before each
    run. rtol: by default 1e-4; of a quantized file, or a model that computes in 16 bits, what its form may make.

    Returns the differences; call `.check()` to fail on them. Raises InputError if the model or the data cannot be
    used, and VerificationError if the file cannot be run or is not a conversion of the model."""
    _check_numbers(batch_size, atol, rtol or 0.0, seed)
    given, shapes, ranges = load_data(data), read_shapes(input_shapes), read_ranges(input_ranges)
    file = TFLiteFile(tflite)
    reading: dict[str, Any] = {"tags": tags, "trust_model": trust_model, "follow_links": follow_links}
    cutting: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "rename": rename or {}}
    sizes: dict[str, Any] = {"input_shapes": shapes, "batch_size": batch_size}
    result = Verification(model_name(model), "" if isinstance(tflite, bytes) else os.fspath(tflite), atol, rtol or 0.0)
    with needing_packages("to run this model"), opened_original(model) as source:
        names = _signature_names(file, signatures, given)
        originals = _originals(source, file, names, reading, cutting, plugins)
        _check_names(file, names, originals, shapes)
        types = [([name], {key: spec.dtype for key, spec in file.inputs(name).items()}) for name in names]
        drawn_from = dict(zip(names, checked_ranges(ranges, types)))
        result.form = file.form or ""
        if rtol is None:
            _set_tolerance(result, file, [originals[name].half for name in names])
        for name in names:
            of_samples = data_of(samples, name, file.inputs(name)) if given is None else None
            fed = of_samples if given is None else given_to([name], file.inputs(name), given)
            one = {key: array[0] for key, array in of_samples.items()} if of_samples else fed or {}
            specs = _agree(name, originals[name].inputs, file.inputs(name), **sizes, given=one)
            feeds = _verify_signature(result, name, originals[name], file, fed, specs, drawn_from[name], seed, progress)
            result.drawn += [(name, each, _FROM_SAMPLES) for each in of_samples or ()]
            if layers and file.signatures[name][0] == 0 and not result.layers:
                floats = _floats(source, {**reading, **cutting, **sizes, "plugins": plugins})
                made = tflite if isinstance(tflite, bytes) else read_file(tflite)
                result.layers = compare_layers(floats, made, feeds)
    return result


def _set_tolerance(result: Verification, file: TFLiteFile, halves: Sequence[str]) -> None:
    """Set the tolerance to what the file's form, or the 16 bits in which its originals compute, may make."""
    half = max(halves, key=HALF_RTOL.__getitem__, default="")
    result.rtol = max(TOLERANCES.get(file.form or "", 0.0), HALF_RTOL[half])
    result.half = half if result.rtol == HALF_RTOL[half] else ""


def _check_names(
    file: TFLiteFile, signatures: Sequence[str], originals: Mapping[str, Function], shapes: Mapping[str, InputShape]
) -> None:
    """Raise VerificationError for a signature to run that the model lacks, InputError for a shape of no input."""
    for name in signatures:
        if name not in originals:
            raise VerificationError(f"{file.name} has a signature {name!r}, which the model has not")
    known = {name for signature in signatures for name in full_names([signature], file.inputs(signature))}
    unknown = set(shapes) - {ONLY} - known
    if unknown:
        raise InputError(f"--input-shape: no signature that runs has an input {', '.join(sorted(unknown))}")


def _originals(
    source: Any, file: TFLiteFile, names: Sequence[str], reading: dict[str, Any], cutting: dict[str, Any],
    plugins: Sequence[str | os.PathLike],
) -> dict[str, Function]:  # fmt: skip
    """Return the original of each signature, with the names that the file has."""
    reading = reading | {"custom_objects": load_registry(plugins).custom_objects if plugins else None}
    ends = {name: cutting[name] for name in ("inputs", "outputs")}
    if is_exported(source):
        if any(ends.values()) or reading["tags"]:
            raise InputError("--tags, --inputs and --outputs mean nothing here: a module of JAX has a function alone")
        originals = dict.fromkeys(names, exported_function(source))
    elif any(ends.values()) and not cut_by_loader(source):
        originals = dict.fromkeys(names, cut_function(source, names[0], **ends, **reading))
    else:
        originals = original_functions(source, file, renamed=cutting["rename"], **ends, **reading)
    return {name: renamed_function(function, cutting["rename"]) for name, function in originals.items()}


def _floats(model: Any, options: dict[str, Any]) -> bytes:
    """Return the model as a file of floats."""
    if isinstance(model, Path) and model.suffix == ".tflite":
        return read_file(model)
    data = convert(model, **options).data
    assert data is not None
    return data


def _check_numbers(batch_size: int | None, atol: float, rtol: float, seed: int) -> None:
    """Raise InputError for a batch size, a tolerance or a seed that is none."""
    if seed < 0:
        raise InputError(f"a seed is 0 or more, not {seed}")
    if batch_size is not None and batch_size < 1:
        raise InputError(f"a batch size of {batch_size} makes no sense; it must be at least 1")
    for option, tolerance in (("atol", atol), ("rtol", rtol)):
        if not 0 <= tolerance < math.inf:
            raise InputError(f"{option} is {tolerance}, which is no tolerance")


def _verify_signature(
    result: Verification,
    signature: str,
    original: Function,
    file: TFLiteFile,
    given: Arrays | None,
    specs: dict[str, Spec],
    ranges: Mapping[str, InputRange],
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> list[Arrays]:
    """Compare one signature; return what it was fed."""
    feeds: list[Arrays] = []
    dynamic = {name for name, spec in specs.items() if spec.shape and spec.shape[0] is None}
    if given is None:
        draws = Draws(specs, file.index_bounds(signature), np.random.default_rng(seed), ranges)
        batches = random_batches(original, signature, dynamic, draws)
    else:
        batches = given_batches(original, signature, specs, dynamic, given)
    rows: dict[str, Comparison] = {}
    for batch in batches:
        count = 0
        for feed, expected in batch:
            if progress:
                progress(f"verify: {signature} run {len(feeds) + 1}")
            actual = file.run(signature, feed)
            _require_same_names("outputs", signature, expected, actual)
            for name, array in expected.items():
                row = rows.setdefault(name, Comparison(signature, name, dtype_name(array.dtype)))
                if file.form in MEASURED:
                    row.add_unjudged(array, actual[name])
                else:
                    row.add(array, actual[name], result.atol, result.rtol)
            count += 1
            feeds.append(feed)
        result.runs.append((signature, {name: array.shape for name, array in feed.items()}, count))
    if given is None:
        result.drawn += [(signature, name, ", then ".join(how)) for name, how in draws.how.items()]
    for row in rows.values() if file.form in MEASURED else ():
        row.judge(result.atol, result.rtol)
    failed = [row for row in rows.values() if not row.passed]
    if failed:
        # Of random numbers, or state that counts, no file can make the same.
        again = call_original(original, signature, feed)
        for row in failed:
            if compare(expected[row.output], again[row.output], result.atol, result.rtol)[2]:
                row.why += "; run again on the same inputs, the model differs from itself too"
    result.outputs.extend(rows.values())
    return feeds


def _require_same_names(ends: str, signature: str, model: Collection[str], file: Collection[str]) -> None:
    """Refuse to compare what differs in its "inputs" or "outputs"."""
    if set(model) != set(file):
        theirs, ours = (", ".join(sorted(names)) or "none" for names in (model, file))
        raise VerificationError(
            f"the {ends} of the signature {signature!r} differ: the model has {theirs}; the file has {ours}"
        )


def _agree(
    signature: str,
    model: Mapping[str, Spec],
    file: Mapping[str, Spec],
    input_shapes: Mapping[str, InputShape],
    batch_size: int | None,
    given: Arrays,
) -> dict[str, Spec]:
    """Return what each input takes by what the model, the file and the caller say; a known size wins over an unknown
    one."""
    _require_same_names("inputs", signature, model, file)
    specs = {}
    input_shapes = given_to([signature], model, named(input_shapes, model))
    for name, spec in model.items():
        if spec.dtype != file[name].dtype:
            types = f"{dtype_name(spec.dtype)} in the model and {dtype_name(file[name].dtype)} in the file"
            raise VerificationError(f"the input {name!r} is {types}")
        # The file says [] of an input whose rank the model does not tell.
        shape = _merge(spec.shape, file[name].shape or spec.shape, name, "the file", VerificationError)
        shape = _merge(shape, input_shapes.get(name), name, "--input-shape", InputError)
        if shape is None and name in given:
            shape = (None,) * given[name].ndim
        if shape is None:
            raise InputError(f"the rank of the input {name!r} is not known: give --input-shape {name}=...")
        if batch_size is not None and shape and shape[0] is None:
            shape = (batch_size, *shape[1:])
        specs[name] = Spec(spec.dtype, shape)
    return specs


def _merge(
    known: Dims | None, other: Sequence[int | None] | None, name: str, who: str, error: type[FuseconvError]
) -> Dims | None:
    if known is None or other is None:
        return known if other is None else tuple(other)
    if len(other) != len(known) or any(a != b and None not in (a, b) for a, b in zip(known, other, strict=True)):
        theirs = dims_text(other)
        raise error(f"the input {name!r} has the shape {dims_text(known)} in the model, and {theirs} by {who}")
    return tuple(b if a is None else a for a, b in zip(known, other, strict=True))


def _signature_names(file: TFLiteFile, wanted: Sequence[str], given: Arrays | None) -> list[str]:
    """Return the signatures to run: those asked for, else each of the file but second names of the same subgraph; of
    these the ones whose inputs are given, if any are."""
    for name in wanted:
        if name not in file.signatures:
            known = list(filter(None, file.signatures))
            raise InputError(f"{file.name} has no signature {name}{suggestion_or_all(name, known)}")
    if wanted:
        return list(dict.fromkeys(wanted))
    by_subgraph: dict[tuple, str] = {}
    for name, (subgraph, inputs, outputs) in file.signatures.items():
        key = (subgraph, tuple(sorted(inputs.items())), tuple(sorted(outputs.items())))
        if key not in by_subgraph or name == "serving_default":
            by_subgraph[key] = name
    names = list(by_subgraph.values())
    if given is None:
        return names
    served = [name for name in names if len(given_to([name], file.inputs(name), given)) == len(file.inputs(name))]
    return served or names[:1]
