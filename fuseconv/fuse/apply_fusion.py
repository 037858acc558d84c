"""Application of a fusion to one match: check, rewrite, and replacement of the matched results."""

from __future__ import annotations

from typing import Any

from fuseconv.errors import ILL_FITTING, ill_fitting, is_ours, module_error
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.ir.dims import Shape, Sym, more_known, substitute_dim
from fuseconv.ir.graph import Value, replace_uses
from fuseconv.ir.rewriter import Speculative
from fuseconv.ir.terms import op_of
from fuseconv.lower.rules import Unsupported
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder


def check(fusion: Fusion, match: Match) -> None:
    """Check the match, which most do not pass. Raises as `build` does."""
    try:
        passed = fusion.check(match) is not False  # type: ignore[func-returns-value]
    except Refused:
        raise
    except Exception as error:
        # A converter module is anybody's code and may raise anything.
        raise _raised(fusion, error) from error
    if not passed:
        why = "must refuse by m.require(condition, why), and not return False"
        raise module_error(f"the check of the fusion {fusion.name}", fusion.check, why)


def build(fusion: Fusion, match: Match, tfl: Builder) -> dict[str, Value]:
    """Build the fused ops of a match that was checked in `tfl.out`; return the new results by name.

    Raises Refused, with nothing built, if the fusion is not to be made; an error that names fusion, file and line if
    the converter module is wrong."""
    try:
        with Speculative(tfl.functions, tfl.out) as trial:
            made = _named(fusion, match, fusion.rewrite(tfl, match), tfl)
            _require_types(fusion, match, made)
            trial.keep()
        return made
    except Refused:
        raise
    except Exception as error:
        raise _raised(fusion, error) from error


def _raised(fusion: Fusion, error: Exception) -> Exception:
    """Return what is raised where a check or rewrite raised this: a refusal, or an error of the converter module."""
    if isinstance(error, Unsupported):
        return Refused(str(error))
    if isinstance(error, ILL_FITTING) and is_ours(fusion.rewrite):
        return Refused(f"its operands {ill_fitting(error)}")
    return module_error(f"the fusion {fusion.name}", fusion.rewrite, error)


def replace(fusion: Fusion, match: Match, made: dict[str, Value], tfl: Builder, report: Report, why: str = "") -> None:
    """Replace the uses of the matched results by the new ones, and record it."""
    for name, old in match.results.items():
        new = made.get(name)
        if new is not None:
            if new.op in tfl.out:
                new.name = old.name
                # What nobody reads may be another thing: a step instead of a sequence in the body of Keras 2's LSTM.
                if old.uses and not _differ(old.shape, new.shape):
                    new.shape = more_known(old.shape, new.shape)
            replace_uses(old, new)
    emitted = [op.attrs.get("custom_code", op.type) for op in tfl.out]
    emitted.sort(key=lambda type: type != fusion.emits)  # what the fusion is made for comes first
    report.record("fused" if emitted else "removed", fusion.name, tfl.sources, emitted, why=why)


def _named(fusion: Fusion, match: Match, made: Any, tfl: Builder) -> dict[str, Value]:
    """Return what a rewrite made by the names of results: a value, a list or a dict -> a dict. Raises InputError, which
    names the fusion, for anything else, and for values that are neither operands nor built by this call."""
    names = list(match.results)
    if isinstance(made, Value):
        made = [made]
    if isinstance(made, (list, tuple)) and len(made) <= len(names):
        made = dict(zip(names, made))
    if not isinstance(made, dict) or not made.keys() <= match.results.keys():
        raise _wrong(fusion, f"must return a value, a list of at most {len(names)} or a dict of {names}, not {made!r}")
    wrong = {name: value for name, value in made.items() if value is not None and not isinstance(value, Value)}
    if wrong:
        raise _wrong(fusion, f"must return values that the builder made, not {wrong}")
    foreign = {name: value for name, value in made.items() if match.composite and not _is_own(value, match, tfl)}
    if foreign:
        raise _wrong(fusion, f"must return operands and what it has just built, not {foreign}")
    return {name: value for name, value in made.items() if value is not None}


def _is_own(value: Value | None, match: Match, tfl: Builder) -> bool:
    """Return True if a rewrite of a composite may return the value: it was built by the rewrite, or is an operand or
    constant."""
    if value is None or value.is_const or value.op in tfl.out:
        return True
    operands = (v for operand in match.operands.values() for v in (operand if isinstance(operand, list) else [operand]))
    return any(value is operand for operand in operands)


def _require_types(fusion: Fusion, match: Match, made: dict[str, Value]) -> None:
    for name, old in match.results.items():
        new = made.get(name)
        if new is None:
            if old.uses:
                raise _wrong(fusion, f"did not make the result {name}, which is read")
        elif new.dtype is not old.dtype:
            raise _wrong(fusion, f"made {name} a {new.dtype} where it must be a {old.dtype}")
        elif old.uses:
            _require_shape(fusion, match, name, new)


def _require_shape(fusion: Fusion, match: Match, name: str, new: Value) -> None:
    """Refuse a result of another shape than the one that it replaces. A plug-in that makes such is wrong; of its sizes
    it is known, too, that each unknown one of an operand may be any."""
    old, ours = match.results[name], is_ours(fusion.rewrite)
    if _decides_itself(new) and (ours or match.placeholder):
        return
    if _differ(old.shape, new.shape):
        if ours:
            raise Refused(f"the result would have the shape {new.shape} where the model has {old.shape}")
        raise _wrong(fusion, f"made {name} of the shape {new.shape} where the model has {old.shape}")
    if not ours and _differ_in_sizes(old.shape, new.shape, match):
        raise _wrong(fusion, f"made {name} of the shape {new.shape} where the model has {old.shape}")


def _wrong(fusion: Fusion, why: str) -> Exception:
    return module_error(f"the fusion {fusion.name}", fusion.rewrite, why)


def _decides_itself(value: Value) -> bool:
    """Return True for the results of custom ops: the body, often a placeholder, need not know their shapes."""
    return op_of(value, "tfl.CUSTOM") is not None


def _differ_in_sizes(a: Shape | None, b: Shape | None, match: Match) -> bool:
    """Return True for two shapes of which one dimension is an integer, or made of unknown sizes of the operands, in
    both, and differs for some sizes."""
    operands = (v for operand in match.operands.values() for v in (operand if isinstance(operand, list) else [operand]))
    read = [dim for value in operands if isinstance(value, Value) for dim in value.shape or ()]
    free = set().union(*(dim.symbols() for dim in read if isinstance(dim, Sym)))
    # No two of these sizes are alike, and none is one of a model's.
    sizes = {symbol: 10007 + 1009 * index for index, symbol in enumerate(sorted(free))}
    known = [[substitute_dim(dim, sizes) for dim in shape or ()] for shape in (a, b)]
    return any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(*known))


def _differ(a: Shape | None, b: Shape | None) -> bool:
    """Return True for two shapes that cannot be one."""
    if a is None or b is None or a == b:
        return False
    return len(a) != len(b) or any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b))
