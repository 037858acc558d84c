"""Recognize functions that JAX spells out in arithmetic: erfc, for which StableHLO has no op, in some fifty ops; the
logarithm of a sum, of logarithms; and numbers with one zero and one NaN.

They are told by their exact structure: each op, each constant and how they hang together, as a digest.
"""

from __future__ import annotations

import hashlib

import numpy as np

from fuseconv.load.stablehlo.bytecode import Operation, Region, Var

# What JAX writes, by its digest; `lax.erfc` of a float32 and `lax.cumlogsumexp` with jaxlib 0.10.
_KNOWN = {"66261162de465aa6e8e277bbd736ce7f": "Erfc"}
_JOINS = {"8ee33c380a6149a3f3024a79ea22c964": "LogAddExp"}
# select(x != x, NaN, select(x == 0, 0, x)), which JAX compares in the total order.
_ORDERED = "627b59eca8baa3e1e5b36fb18114296a"
_BROADCASTS = frozenset({"broadcast_in_dim", "dynamic_broadcast_in_dim"})
_ARITHMETIC = frozenset({
    "abs", "add", "compare", "divide", "exponential", "log", "log_plus_one", "maximum", "minimum", "multiply", "negate",
    "select", "sqrt", "subtract",
})  # fmt: skip
_MOST_OPS = 200


def spelled_function(op: Operation) -> tuple[str, Var] | None:
    """Return the TF op that a `select` is the result of, and what it is a function of; None if it is another thing."""
    test = op.operands[0].op
    size = test.operands[0].op if test is not None and test.name == "compare" else None
    if size is None or size.name != "abs":
        return None
    (leaf,) = size.operands
    found = digest(op.results[0], leaf)
    return (_KNOWN[found], leaf) if found in _KNOWN else None


def spelled_join(body: Region) -> str:
    """Return by which function of two numbers a body joins its arguments; "" if it is another thing."""
    if len(body.returned) != 1 or len(body.arguments) != 2:
        return ""
    return _JOINS.get(digest(body.returned[0], *body.arguments), "")


def ordered_number(var: Var) -> Var | None:
    """Return the number that a value is, but for its zeros, of which all are 0, and its NaNs; None if it is none."""
    choice = var.op
    test = choice.operands[0].op if choice is not None and choice.name == "select" else None
    if test is None or test.name != "compare":
        return None
    leaf = test.operands[0]
    return leaf if digest(var, leaf) == _ORDERED else None


def digest(root: Var, *leaves: Var) -> str:
    """Return a digest of how a value is computed of others and constants; "" if it is of other things too."""
    known = dict(zip(leaves, "xyz"))
    lines: list[str] = []
    pending = [root]
    while pending:
        var = pending[-1]
        if var in known:
            pending.pop()
            continue
        op = _inside(var).op
        if op is None or len(known) > _MOST_OPS:
            return ""
        if op.name == "constant":
            known[var] = _number(op)
        elif op.name not in _ARITHMETIC:
            return ""
        elif all(each in known for each in op.operands):
            how = f" {op.attribute('comparison_direction')}" if op.name == "compare" else ""
            lines.append(f"{op.name}{how} {[known[each] for each in op.operands]}")
            known[var] = f"{len(lines)}"
        else:
            pending += [each for each in reversed(op.operands) if each not in known]
        if not known.get(var, "-"):
            return ""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def _inside(var: Var) -> Var:
    """Return the constant that a variable is a broadcast of; the variable itself if it is none."""
    inner = var
    while inner.op is not None and inner.op.name in _BROADCASTS:
        inner = inner.op.operands[0]
    return inner if inner.op is not None and inner.op.name == "constant" else var


def _number(op: Operation) -> str:
    """Return the number that a constant repeats as text; "" if it is no such float32."""
    value = np.asarray(op.attribute("value"))
    if not value.size or value.dtype != np.float32:
        return ""
    first = value.flat[0]
    return float(first).hex() if np.array_equal(value, np.full_like(value, first), equal_nan=True) else ""
